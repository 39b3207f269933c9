// What double hashing does to small filters: the formula against filters that were filled and queried. Fixed seeds; the
// number of queries leaves an error of 3 % at most.
#include <bloomery/kinds/double_hashing.hpp>

#include <bloomery/kinds/bloom.hpp>

#include "kinds/scalable_support.hpp"

namespace {

using namespace bloomery;
using namespace bloomery::test;

digest128 wide_digest(std::uint64_t i) { return {mix64(2 * i), mix64(2 * i + 1)}; }

struct two_rates {
  double measured = 0;
  double reported = 0;  // the mean of fpr_now
};

two_rates fprs_of_sub_filters(std::uint64_t keys, double rate, unsigned filters, std::uint64_t queries) {
  two_rates out;
  std::uint64_t next = std::uint64_t{1} << 40U;
  std::uint64_t positives = 0;
  for (unsigned i = 0; i < filters; ++i) {
    auto sub_filter = redis_sub_filter::make({.keys = keys, .fpr = rate});
    EXPECT_TRUE(sub_filter);
    for (std::uint64_t key = 0; key < keys; ++key) sub_filter->insert(wide_digest(next++));
    out.reported += sub_filter->fpr_now() / filters;
    for (std::uint64_t query = 0; query < queries / filters; ++query) {
      positives += sub_filter->may_contain(wide_digest(next++)) ? 1U : 0U;
    }
  }
  out.measured = static_cast<double>(positives) / static_cast<double>(queries / filters * filters);
  return out;
}

TEST(DoubleHashing, TheFormulaIsWhatLinksOfRedisBloomDeliver) {
  struct small_sub_filter {
    std::uint64_t keys;
    double rate;
    std::uint64_t bits;
  };
  // The second is a power of two, the third and the last have few odd factors.
  for (const small_sub_filter& each :
       {small_sub_filter{10, 0.005, 128}, small_sub_filter{30, 0.0005, 512}, small_sub_filter{30, 0.005, 384},
        small_sub_filter{100, 0.005, 1152}, small_sub_filter{100, 0.0005, 1600}, small_sub_filter{100, 0.00005, 2112},
        small_sub_filter{50, 0.000005, 1280}}) {
    SCOPED_TRACE(each.bits);
    const auto size = redis_sub_filter::size_for(each.keys, each.rate);
    ASSERT_TRUE(size);
    ASSERT_EQ(size->bits, each.bits);
    const double expected = redis_sub_filter::expected_fpr(each.keys, *size);
    const std::uint64_t queries = expected > 1e-3 ? 1'000'000 : 4'000'000;
    const two_rates found = fprs_of_sub_filters(each.keys, each.rate, 100, queries);
    EXPECT_LT(found.measured, 1.25 * expected);
    EXPECT_GT(found.measured, 0.8 * expected);
    EXPECT_LT(found.measured, 1.25 * found.reported);
    EXPECT_GT(found.measured, 0.8 * found.reported);
  }
}

TEST(DoubleHashing, VanishesAsFiltersGrow) {
  double last = 10;
  for (const std::uint64_t keys : {100U, 1000U, 10'000U, 100'000U, 1'000'000U}) {
    const auto size = redis_sub_filter::size_for(keys, 0.0001);
    ASSERT_TRUE(size);
    const double over = redis_sub_filter::expected_fpr(keys, *size) /
                        sizing::classic_fpr(keys, size->bits, static_cast<unsigned>(size->hashes));
    EXPECT_LT(over, last);
    EXPECT_GE(over, 0.999);
    last = over;
  }
  EXPECT_LT(last, 1.001);
}

TEST(DoubleHashing, HasAValueForEveryShape) {
  for (const std::uint64_t bits : {1ULL, 8ULL, 64ULL, 192ULL, 33'554'432ULL, 1ULL << 60U, (1ULL << 60U) - 64}) {
    for (const std::uint64_t hashes : {0ULL, 1ULL, 2ULL, 3ULL, 30ULL, 1100ULL, 4096ULL}) {
      for (const double keys : {0.0, 1.0, 1000.0, 1e15}) {
        for (const auto steps :
             {progression::wraps_64, progression::wraps_63, progression::turned_over_32, progression::never_wraps}) {
          const double rate = double_hashing(keys, bits, hashes, steps).fpr();
          EXPECT_TRUE(rate >= 0 && rate <= 1) << bits << " " << hashes << " " << keys << " " << rate;
          for (const double fill : {0.0, 1e-12, 0.5, 1.0}) {
            const double at = double_hashing(keys, bits, hashes, steps).fpr(fill);
            EXPECT_TRUE(at >= 0 && at <= 1) << bits << " " << hashes << " " << keys << " " << fill << " " << at;
          }
        }
      }
    }
  }
}

TEST(DoubleHashing, ChainsOfAHundredKeysReportWhatTheyDeliver) {
  constexpr double promise = 0.0001;
  const auto plan = scalable::plan({.keys = 100, .fpr = promise}, "redis");
  ASSERT_TRUE(plan);
  EXPECT_GT(plan->fpr, 1.8 * promise) << "the truth, not what was asked for";
  EXPECT_LT(plan->fpr, 2.5 * promise);
  scalable filter = make_scalable({.keys = 100, .fpr = promise, .layout = "redis"});
  std::uint64_t next = 0;
  while (filter.keys().keys < 100) filter.insert(wide_digest(next++));
  EXPECT_EQ(filter.sub_filters(), 1U);
  EXPECT_EQ(filter.target_fpr(), promise) << "RedisBloom's sizes follow from it";
  EXPECT_NEAR(filter.fpr_now(), plan->fpr, 0.15 * plan->fpr);
  EXPECT_NEAR(filter.delivered_fpr(), plan->fpr, 1e-9);
  // With another sub-filter there are two rates to add up.
  while (filter.sub_filters() < 2) filter.insert(wide_digest(next++));
  EXPECT_GT(filter.delivered_fpr(), plan->fpr);
}

TEST(DoubleHashing, OtherLayoutsKeepWhatIsAskedForAtAnySize) {
  // Kinds bloom and blocked draw each bit from a state of 64 bits: no two keys share theirs by their remainders.
  for (const std::uint64_t keys : {10U, 100U}) {
    constexpr double promise = 0.0005;
    constexpr unsigned filters = 40;
    constexpr std::uint64_t queries = 20'000;
    std::uint64_t next = keys << 32U;
    std::uint64_t classic = 0;
    std::uint64_t chained = 0;
    auto one = bloom::make({.keys = keys, .fpr = promise});
    scalable two = make_scalable({.keys = keys, .fpr = promise});
    ASSERT_TRUE(one);
    for (unsigned i = 0; i < filters; ++i) {
      one->clear();
      two.clear();
      for (std::uint64_t key = 0; key < keys; ++key) {
        one->insert(mix64(next));
        two.insert(mix64(next++));
      }
      for (std::uint64_t query = 0; query < queries; ++query, ++next) {
        classic += one->may_contain(mix64(next)) ? 1U : 0U;
        chained += two.may_contain(mix64(next)) ? 1U : 0U;
      }
    }
    EXPECT_LT(static_cast<double>(classic), 1.25 * promise * filters * queries) << keys;
    EXPECT_LT(static_cast<double>(chained), 1.25 * promise * filters * queries) << keys;
  }
}

}  // namespace
