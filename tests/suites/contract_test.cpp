// The contract of every kind that takes keys as they come: what dynamic_kind promises. What further concepts add is in
// combine_test.cpp and erase_test.cpp; static kinds are in static_kinds_test.cpp.
#include <algorithm>
#include <cmath>

#include "support/filters.hpp"
#include "support/memory.hpp"

namespace bloomery::test {
namespace {

class Contract : public KindTest {};
BLOOMERY_FOR_KINDS(Contract, kinds_where(&kind_case::is_dynamic));

class Unordered : public KindTest {};
BLOOMERY_FOR_KINDS(Unordered, kinds_where(&kind_case::ignores_order));

TEST_P(Contract, NoFalseNegativesAtAnyFill) {
  for (const std::uint64_t capacity : {1U, 10U, 1000U, 50'000U}) {
    auto filter = make_filter(GetParam(), capacity);
    digest_source digests(capacity);
    // To three times the capacity, or until it is full: overfull filters answer "maybe" more often, and lose no key. First key by
    // key, then in batches that grow with the filter; each is looked up at once.
    const key_list keys = digests.take(3 * capacity);
    std::uint64_t held = 0;
    for (bool is_full = false; held < keys.size() && !is_full;) {
      const auto batch = std::span(keys).subspan(held, std::min<std::uint64_t>(1 + held / 64, keys.size() - held));
      const auto inserted = filter.add(as_prehashed(batch));
      is_full = !inserted;
      const std::uint64_t taken = inserted ? batch.size() : inserted.error().number[1];
      if (is_full) {
        ASSERT_EQ(inserted.error().code, errc::full);
        ASSERT_LT(taken, batch.size());
      }
      ASSERT_EQ(count_missing(filter, batch.first(taken)), 0U) << held;
      held += taken;
    }
    ASSERT_GE(held, GetParam().bounded ? capacity : 3 * capacity);
    // What expires holds at least the last ones.
    const std::uint64_t first = GetParam().expires ? 2 * capacity : 0;
    ASSERT_EQ(count_missing(filter, std::span(keys).subspan(first, held - first)), 0U);
  }
}

TEST_P(Contract, AnEmptyFilterContainsNothing) {
  const auto filter = make_filter(GetParam(), 1000);
  digest_source digests(1);
  EXPECT_EQ(count_found(filter, digests.take(10'000)), 0U);
  const filter_stats stats = stats_of(filter);
  EXPECT_EQ(stats.keys.keys, 0U);
  EXPECT_EQ(stats.fill, 0.0);
  EXPECT_EQ(stats.fpr_now, 0.0);
  EXPECT_EQ(stats.estimated_keys, 0.0);
}

TEST_P(Contract, InsertReportsWhetherAnythingChanged) {
  // Twice the keys, and copies of a key have less choice than other keys.
  auto filter = make_filter(GetParam(), GetParam().bounded ? 4000 : 1000);
  digest_source digests(2);
  std::uint64_t inserted = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t digest = digests();
    const bool was_there = contains(filter, digest);
    ASSERT_EQ(insert_one(filter, digest), was_there ? insert_result::present : insert_result::inserted);
    ASSERT_EQ(insert_one(filter, digest), insert_result::present);
    inserted += was_there ? 0 : 1;
  }
  const filter_stats stats = stats_of(filter);
  EXPECT_EQ(stats.keys.keys, inserted);
  EXPECT_TRUE(stats.keys.exact);
  EXPECT_GT(inserted, 980U);
}

TEST_P(Contract, ABatchReportsHowManyOfItsKeysWereNew) {
  // The same keys in batches of every size: the filter is the same, and so is the number of new ones.
  digest_source source(15);
  auto digests = source.take(1500);
  digests.insert(digests.end(), digests.begin(), digests.begin() + 300);
  const std::uint64_t capacity = GetParam().bounded ? 4000 : 1500;
  auto one_by_one = make_filter(GetParam(), capacity);
  std::uint64_t expected = 0;
  for (const std::uint64_t digest : digests) {
    expected += insert_one(one_by_one, digest) == insert_result::inserted ? 1U : 0U;
  }
  EXPECT_EQ(count_missing(one_by_one, digests), 0U);
  for (const std::size_t size : {7U, 64U, 1000U, 1800U}) {
    auto filter = make_filter(GetParam(), capacity);
    std::uint64_t inserted = 0;
    for (std::size_t first = 0; first < digests.size(); first += size) {
      inserted += insert_all(filter, std::span(digests).subspan(first, std::min(size, digests.size() - first)));
    }
    EXPECT_EQ(inserted, expected) << size;
    EXPECT_EQ(filter.shape().keys, expected) << size;
    EXPECT_TRUE(filter == one_by_one) << size;
    EXPECT_EQ(saved_bytes(filter), saved_bytes(one_by_one)) << size;
  }
}

TEST_P(Contract, ExtremeDigestsAreKeysLikeOthers) {
  for (const std::uint64_t digest : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{1} << 63U,
                                     std::uint64_t{0xffffffff}, ~std::uint64_t{0xffffffff}}) {
    auto filter = make_filter(GetParam(), 1);
    EXPECT_EQ(insert_one(filter, digest), insert_result::inserted);
    EXPECT_TRUE(contains(filter, digest));
  }
}

TEST_P(Contract, ClearForgetsEverything) {
  auto filter = make_filter(GetParam(), 1000);
  const auto empty = make_filter(GetParam(), 1000);
  digest_source digests(3);
  insert_all(filter, digests.take(1000));
  EXPECT_FALSE(filter == empty);
  ASSERT_TRUE(filter.clear());
  EXPECT_TRUE(filter == empty);
  EXPECT_EQ(stats_of(filter).keys.keys, 0U);
}

TEST_P(Contract, ACloneIsEqualAndIndependent) {
  auto filter = make_filter(GetParam(), 1000);
  digest_source digests(4);
  insert_all(filter, digests.take(500));
  auto copy = copy_of(filter);
  EXPECT_TRUE(copy == filter);
  EXPECT_EQ(stats_of(copy).keys.keys, stats_of(filter).keys.keys);
  EXPECT_EQ(stats_of(copy).capacity_keys, stats_of(filter).capacity_keys);
  EXPECT_EQ(stats_of(copy).target_fpr, stats_of(filter).target_fpr);
  const bytes before = saved_bytes(filter);
  insert_all(copy, digests.take(500));
  EXPECT_FALSE(copy == filter);
  EXPECT_EQ(saved_bytes(filter), before);
}

TEST_P(Unordered, InsertOrderDoesNotMatter) {
  digest_source digests(6);
  auto keys = digests.take(2000);
  auto forwards = make_filter(GetParam(), 2000);
  auto backwards = make_filter(GetParam(), 2000);
  insert_all(forwards, keys);
  std::reverse(keys.begin(), keys.end());
  insert_all(backwards, keys);
  EXPECT_TRUE(forwards == backwards);
}

TEST_P(Contract, EstimatesFollowTheTruth) {
  for (const std::uint64_t keys : {1000U, 20'000U, 100'000U}) {
    for (const double share : {0.1, 0.5, 1.0, 1.5}) {
      // There is no space for them, or the first ones are forgotten.
      if ((GetParam().bounded || GetParam().expires) && share > 1.0) continue;
      auto filter = make_filter(GetParam(), keys);
      digest_source digests(keys);
      const auto count = static_cast<std::uint64_t>(static_cast<double>(keys) * share);
      insert_all(filter, digests.take(count));
      const filter_stats stats = stats_of(filter);
      // The standard error is below 0.2 sqrt(m)/k: 2 % covers five of them at 1000 keys.
      EXPECT_NEAR(stats.estimated_keys / static_cast<double>(count), 1.0,
                  0.02 * std::sqrt(1000.0 / static_cast<double>(keys)) + 0.002);
      if (GetParam().info->exact) continue;
      constexpr std::uint64_t queries = 400'000;
      const double measured =
          static_cast<double>(count_found(filter, digests.take(queries))) / static_cast<double>(queries);
      const double error = std::sqrt(stats.fpr_now / static_cast<double>(queries));
      // Three single hits are luck where next to none are expected.
      EXPECT_NEAR(measured, stats.fpr_now, 5 * error + 0.03 * stats.fpr_now + 3.0 / static_cast<double>(queries));
    }
  }
}

TEST_P(Contract, EveryRefusedAllocationIsAnErrorAndLeaksNothing) {
  enable_everything();
  const auto attempt = [](const memory_hooks* hooks) -> result<void> {
    auto filter =
        any_filter::make(GetParam().info->name, {.keys = 1000, .fpr = 0.01, .memory = hooks}, hash_of(GetParam()));
    if (!filter) return fail(filter.error());
    static_cast<void>(insert_one(*filter, 1));
    auto copy = filter->clone();
    if (!copy) {
      EXPECT_TRUE(contains(*filter, 1));
      return fail(copy.error());
    }
    if (!GetParam().folds) return {};
    auto folded = filter->fold(1);
    if (!folded) return fail(folded.error());
    return {};
  };
  counting_memory counted;
  ASSERT_TRUE(attempt(&counted.hooks));
  EXPECT_EQ(counted.live_bytes, 0U);
  for (std::uint64_t n = 0; n < counted.requests; ++n) {
    counting_memory memory(n);
    const auto outcome = attempt(&memory.hooks);
    ASSERT_FALSE(outcome) << "allocation " << n;
    EXPECT_EQ(outcome.error().code, errc::out_of_memory);
    EXPECT_EQ(memory.live_bytes, 0U);
  }
}

}  // namespace
}  // namespace bloomery::test
