// Kind scalable: its rate after many growths, where exactly it grows, what it refuses and leaves as it was. Merges, sizes
// and files: scalable_file_test.cpp; layout redis against RedisBloom's own bytes: scalable_redis_test.cpp.
//
// Rates are claims about the one-sided Clopper-Pearson upper bound at 99.9 % confidence.
#include <bloomery/core/binomial.hpp>
#include <cstdio>
#include <functional>

#include <bloomery/any_filter.hpp>

#include "kinds/scalable_support.hpp"
#include "support/memory.hpp"

namespace {

using namespace bloomery;
using namespace bloomery::test;

// Inserts keys until the chain has so many sub-filters and the newest is full; how many digests that took.
std::uint64_t fill_sub_filters(scalable& filter, std::size_t sub_filters, const digest_source& keys) {
  std::uint64_t next = 0;
  while (filter.sub_filters() < sub_filters ||
         filter.sub_filter_keys(sub_filters - 1) < filter.sub_filter_capacity(sub_filters - 1)) {
    const std::uint64_t room =
        filter.sub_filter_capacity(filter.sub_filters() - 1) - filter.sub_filter_keys(filter.sub_filters() - 1);
    std::vector<std::uint64_t> digests;
    for (std::uint64_t i = 0; i < std::clamp<std::uint64_t>(room, 1, 4096); ++i) digests.push_back(keys.at(next++));
    filter.add_batch(digests);
  }
  return next;
}

struct measured {
  std::uint64_t positives = 0;
  std::uint64_t queries = 0;
  [[nodiscard]] double rate() const { return static_cast<double>(positives) / static_cast<double>(queries); }
  [[nodiscard]] double upper() const { return binomial::upper_bound(positives, queries, 0.001); }
};

template <class Digest>
void query_absent(const scalable& filter, std::uint64_t queries, std::uint64_t seed, measured& total,
                  const std::function<Digest(std::uint64_t)>& digest_of) {
  constexpr std::size_t group = 8192;
  std::vector<std::uint64_t> mask(mask_words(group));
  const digest_source absent(seed);
  std::vector<Digest> digests(group);
  for (std::uint64_t asked = 0; asked < queries; asked += group) {
    for (std::size_t i = 0; i < group; ++i) digests[i] = digest_of(absent.at(asked + i));
    filter.may_contain_batch(digests, mask);
    for (const std::uint64_t word : mask) total.positives += static_cast<std::uint64_t>(std::popcount(word));
    total.queries += group;
  }
}
void query_absent(const scalable& filter, std::uint64_t queries, std::uint64_t seed, measured& total) {
  query_absent<std::uint64_t>(filter, queries, seed, total, [](std::uint64_t digest) { return digest; });
}

// Full to the last sub-filter after so many growths, every key found, and the rate of absent keys.
void expect_promise_after(std::size_t growths, const filter_params& params, unsigned filters, double at_least) {
  measured total;
  double bits_per_key = 0;
  for (unsigned seed = 0; seed < filters; ++seed) {
    auto filter = make_scalable(params);
    const digest_source keys(2 * seed + 1);
    const std::uint64_t given = fill_sub_filters(filter, growths + 1, keys);
    ASSERT_EQ(filter.sub_filters(), growths + 1);
    for (std::uint64_t i = 0; i < given; ++i) ASSERT_TRUE(filter.may_contain(keys.at(i))) << i;
    query_absent(filter, 6'000'000 / filters, 2 * seed + 2, total);
    const double now = filter.fpr_now();
    EXPECT_LE(now, *params.fpr);
    bits_per_key = static_cast<double>(filter.memory_bytes()) * 8 / static_cast<double>(filter.keys().keys);
  }
  std::printf("%zu growths by %llu from %llu: measured %.4f p, upper(99.9%%) %.4f p, %.2f bits per key\n", growths,
              static_cast<unsigned long long>(params.growth.value_or(2)), static_cast<unsigned long long>(*params.keys),
              total.rate() / *params.fpr, total.upper() / *params.fpr, bits_per_key);
  EXPECT_LE(total.upper(), *params.fpr);
  EXPECT_GE(total.rate(), at_least * *params.fpr);
}

TEST(Scalable, TheTotalRateIsAtMostThePromiseAfter10Growths) {
  expect_promise_after(10, {.keys = 400, .fpr = 0.01}, 2, 0.6);
  expect_promise_after(10, {.keys = 3000, .fpr = 0.01, .growth = 1}, 10, 0.8);
}

TEST(Scalable, TheTotalRateIsAtMostThePromiseAfter17Growths) {
  expect_promise_after(17, {.keys = 5000, .fpr = 0.01, .growth = 1}, 4, 0.85);
  expect_promise_after(17, {.keys = 5, .fpr = 0.01}, 1, 0);  // sub-filters of one block have bits to spare
}

TEST(Scalable, TheSharesOfTheRateAddUpToAtMostAll) {
  double blocked_sum = 0;
  double redis_sum = 0;
  for (std::size_t i = 0; i < chain<blocked_sub_filters>::max_sub_filters; ++i) {
    EXPECT_LT(blocked_sub_filters::share(i + 1), blocked_sub_filters::share(i));
    blocked_sum += blocked_sub_filters::share(i);
    redis_sum += redis_sub_filters::share(i);
  }
  EXPECT_LT(blocked_sum, 1.0);
  EXPECT_GT(blocked_sum, 0.99);
  EXPECT_LE(redis_sum, 1.0);
}

TEST(Scalable, GrowsExactlyWhenAKeyThatNoLinkHasComesToAFullLink) {
  for (const std::uint64_t growth : {1U, 2U, 3U}) {
    auto filter = make_scalable({.keys = 7, .fpr = 0.001, .growth = growth});
    digest_source source(growth);
    std::uint64_t held = 0;
    std::uint64_t capacity = 7;
    std::size_t sub_filters = 1;
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t digest = source();
      const bool was_there = filter.may_contain(digest);
      if (!was_there && held == capacity) {
        held = 0;
        capacity *= growth;
        ++sub_filters;
      }
      ASSERT_EQ(filter.insert(digest), was_there ? insert_result::present : insert_result::inserted);
      held += was_there ? 0 : 1;
      ASSERT_EQ(filter.sub_filters(), sub_filters);
      ASSERT_EQ(filter.sub_filter_capacity(sub_filters - 1), capacity);
      ASSERT_EQ(filter.sub_filter_keys(sub_filters - 1), held);
      // A key that is there never makes it grow.
      ASSERT_EQ(filter.insert(digest), insert_result::present);
      ASSERT_EQ(filter.sub_filters(), sub_filters);
    }
    EXPECT_GT(sub_filters, 3U);
  }
}

TEST(Scalable, BatchesAcrossGrowthsGiveTheBitsAndAnswersOfSingleCalls) {
  for (const std::uint64_t first : {1U, 3U, 64U, 1000U}) {
    for (const std::uint64_t growth : {1U, 2U, 5U}) {
      digest_source source(first * 10 + growth);
      // A thousand sub-filters take long to size.
      auto digests = source.take(growth == 1 ? first == 1000 ? 4000 : 40 * first : 3000);
      // Equal keys in one batch, next to each other and apart.
      for (std::size_t i = 0; i + 20 < digests.size(); i += 17) digests[i + 1] = digests[i];
      for (std::size_t i = 0; i + 150 < digests.size(); i += 61) digests[i + 140] = digests[i];
      auto one_by_one = make_scalable({.keys = first, .fpr = 0.02, .growth = growth});
      auto batched = make_scalable({.keys = first, .fpr = 0.02, .growth = growth});
      std::uint64_t inserted = 0;
      for (const std::uint64_t digest : digests) {
        inserted += one_by_one.insert(digest) == insert_result::inserted ? 1U : 0U;
      }
      EXPECT_EQ(batched.add_batch(digests), inserted);
      EXPECT_TRUE(batched == one_by_one);
      EXPECT_EQ(batched.keys().keys, inserted);
      EXPECT_TRUE(batched.keys().exact);
      for (std::size_t i = 0; i < batched.sub_filters(); ++i)
        ASSERT_EQ(batched.sub_filter_keys(i), one_by_one.sub_filter_keys(i)) << i;

      // All present, half, none: what is found is left out of later sub-filters in different ways.
      for (const std::size_t absent : {0U, 1U, 50U, 700U, 1500U, 3000U}) {
        auto queries = source.take(absent);
        queries.insert(queries.end(), digests.begin(), digests.end());
        std::reverse(queries.begin(), queries.begin() + static_cast<std::ptrdiff_t>(queries.size() / 2));
        std::vector<std::uint64_t> mask(mask_words(queries.size()), ~std::uint64_t{0});
        batched.may_contain_batch(queries, mask);
        for (std::size_t i = 0; i < queries.size(); ++i) {
          ASSERT_EQ(mask[i / 64] >> (i % 64) & 1U, batched.may_contain(queries[i]) ? 1U : 0U) << i;
        }
      }
    }
  }
}

TEST(Scalable, AFixedFilterTakesItsCapacityAndRefusesTheNextKey) {
  auto filter = make_scalable({.keys = 1000, .fpr = 0.01, .mode = "fixed"});
  EXPECT_EQ(filter.capacity_keys(), 1000U);
  EXPECT_EQ(filter.sub_filter_fpr(0), 0.01);
  digest_source source(1);
  std::vector<std::uint64_t> keys;
  while (filter.keys().keys < 1000) {
    keys.push_back(source());
    ASSERT_NE(filter.insert(keys.back()), insert_result::full);
  }
  const auto before = filter.clone();
  ASSERT_TRUE(before);
  std::uint64_t refused = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t digest = source();
    if (filter.may_contain(digest)) {
      ASSERT_EQ(filter.insert(digest), insert_result::present);
    } else {
      ASSERT_EQ(filter.insert(digest), insert_result::full);
      ++refused;
    }
  }
  EXPECT_GT(refused, 950U);
  EXPECT_TRUE(filter == *before);
  EXPECT_EQ(filter.keys().keys, 1000U);
  for (const std::uint64_t key : keys) ASSERT_EQ(filter.insert(key), insert_result::present);
}

TEST(Scalable, ABatchIntoAFixedFilterStopsAtTheFirstKeyThatDoesNotFit) {
  digest_source source(2);
  const auto digests = source.take(3000);
  auto one_by_one = make_scalable({.keys = 1500, .fpr = 0.01, .mode = "fixed"});
  batch_outcome expected;
  for (const std::uint64_t digest : digests) {
    const insert_result outcome = one_by_one.insert(digest);
    if (outcome == insert_result::full) break;
    ++expected.taken;
    expected.inserted += outcome == insert_result::inserted ? 1U : 0U;
  }
  auto batched = make_scalable({.keys = 1500, .fpr = 0.01, .mode = "fixed"});
  const batch_outcome outcome = batched.add_until_full(std::span<const std::uint64_t>(digests));
  EXPECT_EQ(outcome.taken, expected.taken);
  EXPECT_EQ(outcome.inserted, 1500U);
  EXPECT_TRUE(batched == one_by_one);
  // What it has is taken even when it is full.
  const auto again = batched.add_until_full(std::span<const std::uint64_t>(digests).first(expected.taken));
  EXPECT_EQ(again.taken, expected.taken);
  EXPECT_EQ(again.inserted, 0U);
  EXPECT_EQ(batched.add_batch(digests), 0U);

  auto any = any_filter::make("scalable", {.keys = 1500, .fpr = 0.01, .mode = "fixed"}, hasher::of(xxh3{}).spec());
  ASSERT_TRUE(any);
  const auto refused = any->add(as_prehashed(digests));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::full);
  EXPECT_EQ(refused.error().number[0], 1500U);
  EXPECT_EQ(refused.error().number[1], expected.taken);
}

TEST(Scalable, MemoryRefusedAtAGrowthLeavesItAsItWasAndCanComeBack) {
  // The second sub-filter needs one allocation, the third a longer list of sub-filters, too.
  for (const std::uint64_t failing : {0U, 1U, 2U, 3U}) {
    counting_memory memory;
    auto filter = make_scalable({.keys = 50, .fpr = 0.01, .memory = &memory.hooks});
    digest_source source(4);
    memory.refuse_at = memory.requests + failing;
    std::uint64_t refused = 0;
    std::vector<std::uint64_t> taken;
    for (int i = 0; i < 2000; ++i) {
      const std::uint64_t digest = source();
      const auto before = refused == 0 && filter.sub_filter_keys(filter.sub_filters() - 1) ==
                                              filter.sub_filter_capacity(filter.sub_filters() - 1)
                              ? std::optional(filter.sub_filters())
                              : std::nullopt;
      const insert_result outcome = filter.insert(digest);
      if (outcome == insert_result::full) {
        ++refused;
        ASSERT_TRUE(before);
        ASSERT_EQ(filter.sub_filters(), *before);
        ASSERT_FALSE(filter.may_contain(digest));
        ASSERT_EQ(filter.insert(digest), insert_result::inserted);  // only one request fails
        ASSERT_EQ(filter.sub_filters(), *before + 1);
      }
      taken.push_back(digest);
    }
    EXPECT_EQ(refused, 1U) << failing;
    for (const std::uint64_t digest : taken) ASSERT_TRUE(filter.may_contain(digest));
  }
}

TEST(Scalable, ABatchStopsWhereMemoryIsRefused) {
  counting_memory memory;
  auto filter = make_scalable({.keys = 100, .fpr = 0.01, .memory = &memory.hooks});
  digest_source source(5);
  const auto digests = source.take(5000);
  memory.refuse_at = memory.requests + 2;
  const batch_outcome first = filter.add_until_full(std::span<const std::uint64_t>(digests));
  ASSERT_LT(first.taken, digests.size());
  EXPECT_EQ(first.inserted, filter.keys().keys);
  for (std::size_t i = 0; i < first.taken; ++i) ASSERT_TRUE(filter.may_contain(digests[i]));
  EXPECT_FALSE(filter.may_contain(digests[first.taken]));
  const auto rest = std::span<const std::uint64_t>(digests).subspan(first.taken);
  EXPECT_EQ(filter.add_until_full(rest).taken, rest.size());
  auto whole = make_scalable({.keys = 100, .fpr = 0.01});
  whole.add_batch(digests);
  EXPECT_TRUE(filter == whole);
}

TEST(Scalable, KeysAreExactAndEstimatesFollowThemOverManyLinks) {
  auto filter = make_scalable({.keys = 500, .fpr = 0.01});
  digest_source source(6);
  std::uint64_t inserted = 0;
  for (std::uint64_t size = 1000; size <= 256'000; size *= 2) {
    inserted += filter.add_batch(source.take(size - (size == 1000 ? 0 : size / 2)));
    EXPECT_EQ(filter.keys().keys, inserted);
    EXPECT_TRUE(filter.keys().exact);
    EXPECT_NEAR(filter.estimated_keys() / static_cast<double>(size), 1.0, 0.01) << size;
    measured total;
    query_absent(filter, 1'000'000, size, total);
    EXPECT_NEAR(total.rate() / filter.fpr_now(), 1.0, 5 / std::sqrt(1e6 * filter.fpr_now()) + 0.03) << size;
  }
  EXPECT_EQ(filter.sub_filters(), 9U);
}

// Long: a chain of 18 sub-filters from a first capacity of 100, 26 million keys.
TEST(NightlyScalable, TheTotalRateIsAtMostThePromiseAfter17GrowthsBy2) {
  expect_promise_after(17, {.keys = 100, .fpr = 0.01}, 1, 0.3);  // the first sub-filters have bits to spare
}

TEST(Scalable, LayoutRedisKeepsItsRateToAFewPercentAfter10Growths) {
  auto filter = make_scalable({.keys = 200, .fpr = 0.01, .layout = "redis"});
  const digest_source keys(13);
  const auto wide = [](std::uint64_t digest) { return digest128{digest, mix64(digest + 1)}; };
  std::uint64_t next = 0;
  while (filter.sub_filters() < 11 || filter.sub_filter_keys(10) < filter.sub_filter_capacity(10))
    filter.insert(wide(keys.at(next++)));
  for (std::uint64_t i = 0; i < next; ++i) ASSERT_TRUE(filter.may_contain(wide(keys.at(i))));
  measured total;
  query_absent<digest128>(filter, 2'000'000, 14, total, wide);
  EXPECT_LE(total.upper(), 1.1 * 0.01);
  EXPECT_GE(total.rate(), 0.8 * 0.01);
}

}  // namespace
