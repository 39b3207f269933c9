#include <gtest/gtest.h>

#include <bloomery/core/binomial.hpp>

namespace {

using bloomery::binomial::lower_bound;
using bloomery::binomial::upper_bound;

// P(X <= x) of a binomial, summed in logs: an independent way to the same number.
double at_most(std::uint64_t events, std::uint64_t trials, double rate) {
  double sum = 0;
  for (std::uint64_t i = 0; i <= events; ++i) {
    const double n = static_cast<double>(trials);
    const double k = static_cast<double>(i);
    sum += std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + k * std::log(rate) +
                    (n - k) * std::log1p(-rate));
  }
  return sum;
}

TEST(Binomial, UpperBoundIsWhereTheTailHasTheStatedProbability) {
  for (const std::uint64_t trials : {10U, 1000U, 100000U}) {
    for (const std::uint64_t events : {std::uint64_t{0}, std::uint64_t{1}, trials / 10, trials / 2, trials - 1}) {
      for (const double alpha : {0.05, 0.001}) {
        const double bound = upper_bound(events, trials, alpha);
        EXPECT_NEAR(at_most(events, trials, bound), alpha, alpha * 1e-3) << events << " of " << trials;
      }
    }
  }
}

TEST(Binomial, LowerBoundMirrorsTheUpperOne) {
  for (const std::uint64_t events : {1U, 10U, 500U, 999U}) {
    const double bound = lower_bound(events, 1000, 0.01);
    EXPECT_NEAR(1.0 - at_most(events - 1, 1000, bound), 0.01, 1e-6);
  }
  EXPECT_EQ(lower_bound(0, 1000, 0.01), 0.0);
  EXPECT_EQ(upper_bound(1000, 1000, 0.01), 1.0);
}

TEST(Binomial, ZeroEventsGiveTheRuleOfThree) { EXPECT_NEAR(upper_bound(0, 1'000'000, 0.05), 2.9957e-6, 1e-9); }

TEST(Binomial, LargeCountsAgreeWithTheNormalApproximation) {
  const std::uint64_t trials = 10'000'000'000;
  const std::uint64_t events = 100'000'000;
  const double rate = 0.01;
  const double error = std::sqrt(rate * (1 - rate) / static_cast<double>(trials));
  EXPECT_NEAR(upper_bound(events, trials, 0.001), rate + 3.0902 * error, 0.01 * error);
}

}  // namespace
