#include <bloomery/core/binomial.hpp>

namespace bloomery::inline BLOOMERY_ABI::binomial {
namespace detail {

// lgamma without the global `signgam`, which two threads may not write at once.
BLOOMERY_BODY double log_gamma(double x) noexcept {
#if defined(__GLIBC__) || defined(__APPLE__)
  int sign = 0;
  return ::lgamma_r(x, &sign);
#else
  return std::lgamma(x);
#endif
}

// The continued fraction of the incomplete beta function, by the modified Lentz method; converges fast for
// x < (a + 1) / (a + b + 2).
BLOOMERY_BODY double beta_fraction(double a, double b, double x) noexcept {
  constexpr double tiny = 1e-300;
  const auto away_from_zero = [](double value) { return std::fabs(value) < tiny ? tiny : value; };
  double c = 1.0;
  double d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
  double fraction = d;
  // Needs of the order of sqrt(max(a, b)) steps; 1e10 trials converge well within the limit.
  for (int m = 1; m <= 1'000'000; ++m) {
    const double even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
    d = 1.0 / away_from_zero(1.0 + even * d);
    c = away_from_zero(1.0 + even / c);
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
    d = 1.0 / away_from_zero(1.0 + odd * d);
    c = away_from_zero(1.0 + odd / c);
    const double step = d * c;
    fraction *= step;
    if (std::fabs(step - 1.0) < 1e-14) break;
  }
  return fraction;
}

}  // namespace detail
}  // namespace bloomery::inline BLOOMERY_ABI::binomial

namespace bloomery::inline BLOOMERY_ABI::binomial {

// I_x(a, b), the distribution function of the beta distribution.
BLOOMERY_BODY double incomplete_beta(double a, double b, double x) noexcept {
  if (!(x > 0.0)) return 0.0;
  if (!(x < 1.0)) return 1.0;
  const double log_front =
      detail::log_gamma(a + b) - detail::log_gamma(a) - detail::log_gamma(b) + a * std::log(x) + b * std::log1p(-x);
  if (x < (a + 1.0) / (a + b + 2.0)) return std::exp(log_front) * detail::beta_fraction(a, b, x) / a;
  return 1.0 - std::exp(log_front) * detail::beta_fraction(b, a, 1.0 - x) / b;
}

BLOOMERY_BODY double upper_bound(std::uint64_t events, std::uint64_t trials, double alpha) noexcept {
  if (events >= trials) return 1.0;
  const double a = static_cast<double>(events) + 1.0;
  const double b = static_cast<double>(trials - events);
  double low = 0.0;
  double high = 1.0;
  for (int i = 0; i < 200 && high - low > 1e-12 * high; ++i) {
    const double middle = (low + high) / 2.0;
    (incomplete_beta(a, b, middle) < 1.0 - alpha ? low : high) = middle;
  }
  return high;
}

BLOOMERY_BODY double lower_bound(std::uint64_t events, std::uint64_t trials, double alpha) noexcept {
  return events == 0 ? 0.0 : 1.0 - upper_bound(trials - events, trials, alpha);
}

}  // namespace bloomery::inline BLOOMERY_ABI::binomial
