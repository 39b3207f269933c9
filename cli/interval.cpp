#include "cli/interval.hpp"

#include <cmath>

namespace bloomery::cli {
namespace {

// The continued fraction of I_x(a, b), by Lentz's method; converges fast for x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double tiny = 1e-300;
  constexpr double precision = 1e-14;
  constexpr int most_steps = 100000;
  const auto not_zero = [](double value) { return std::fabs(value) < tiny ? tiny : value; };
  double c = 1.0;
  double d = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0));
  double h = d;
  for (int m = 1; m < most_steps; ++m) {
    const double i = m;
    const double even = i * (b - i) * x / ((a + 2.0 * i - 1.0) * (a + 2.0 * i));
    d = 1.0 / not_zero(1.0 + even * d);
    c = not_zero(1.0 + even / c);
    h *= d * c;
    const double odd = -(a + i) * (a + b + i) * x / ((a + 2.0 * i) * (a + 2.0 * i + 1.0));
    d = 1.0 / not_zero(1.0 + odd * d);
    c = not_zero(1.0 + odd / c);
    h *= d * c;
    if (std::fabs(d * c - 1.0) < precision) break;
  }
  return h;
}

// The x with I_x(a, b) = share, by bisection: it rises with x.
double beta_quantile(double a, double b, double share) {
  double low = 0;
  double high = 1;
  for (int i = 0; i < 200 && high - low > 1e-16 * high; ++i) {
    const double middle = 0.5 * (low + high);
    (incomplete_beta(a, b, middle) < share ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace

double incomplete_beta(double a, double b, double x) {
  if (!(x > 0.0)) return 0.0;
  if (!(x < 1.0)) return 1.0;
  // lgamma_r: the plain one writes to a global variable.
  int sign = 0;
  const double front =
      std::exp(lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1.0) / (a + b + 2.0)) return front * beta_fraction(a, b, x) / a;
  return 1.0 - front * beta_fraction(b, a, 1.0 - x) / b;
}

interval clopper_pearson(std::uint64_t hits, std::uint64_t trials, double confidence) {
  if (trials == 0) return {};
  const double k = static_cast<double>(hits);
  const double n = static_cast<double>(trials);
  const double tail = (1.0 - confidence) / 2.0;
  interval out;
  out.low = hits == 0 ? 0.0 : beta_quantile(k, n - k + 1.0, tail);
  out.high = hits == trials ? 1.0 : beta_quantile(k + 1.0, n - k, 1.0 - tail);
  return out;
}

}  // namespace bloomery::cli
