// The contract of every kind in the list: what filter_kind promises, and what each further concept adds.
#include <algorithm>

#include "suites/support.hpp"

namespace {

using namespace bloomery;
using namespace bloomery::testing_support;

template <class K>
class Contract : public testing::Test {};
TYPED_TEST_SUITE(Contract, all_kinds, kind_name);

template <class K>
class Mergeable : public testing::Test {};
TYPED_TEST_SUITE(Mergeable, kinds_with<merges>, kind_name);

template <class K>
class Intersectable : public testing::Test {};
TYPED_TEST_SUITE(Intersectable, kinds_with<intersects>, kind_name);

template <class K>
class Unordered : public testing::Test {};
TYPED_TEST_SUITE(Unordered, kinds_with<forgets_the_order>, kind_name);

template <class K>
class Foldable : public testing::Test {};
TYPED_TEST_SUITE(Foldable, kinds_with<folds>, kind_name);

template <class K>
class Erasable : public testing::Test {};
TYPED_TEST_SUITE(Erasable, kinds_with<erases>, kind_name);

template <class K>
class Losing : public testing::Test {};
TYPED_TEST_SUITE(Losing, kinds_with<loses_keys>, kind_name);

template <class K>
class Countable : public testing::Test {};
TYPED_TEST_SUITE(Countable, kinds_with<counts>, kind_name);

TYPED_TEST(Contract, NoFalseNegativesAtAnyFill) {
  for (const std::uint64_t capacity : {1U, 10U, 1000U, 50'000U}) {
    auto filter = make_filter<TypeParam>(capacity);
    digest_source digests(capacity);
    // To three times the capacity, or to the end: overfull filters lose rate, never keys.
    std::uint64_t held = 0;
    for (; held < 3 * capacity; ++held) {
      const std::uint64_t digest = digests.at(held);
      if (filter.insert(digest) == insert_result::full) break;
      ASSERT_TRUE(filter.may_contain(digest));
    }
    ASSERT_GE(held, bounded_kind<TypeParam> ? capacity : 3 * capacity);
    // What expires holds at least the last ones.
    const std::uint64_t first = TypeParam::info.expires ? 2 * capacity : 0;
    for (std::uint64_t i = first; i < held; ++i) ASSERT_TRUE(filter.may_contain(digests.at(i)));
  }
}

TYPED_TEST(Contract, AnEmptyFilterContainsNothing) {
  const auto filter = make_filter<TypeParam>(1000);
  digest_source digests(1);
  for (int i = 0; i < 10'000; ++i) ASSERT_FALSE(filter.may_contain(digests()));
  EXPECT_EQ(filter.keys().keys, 0U);
  EXPECT_EQ(filter.fill(), 0.0);
  EXPECT_EQ(filter.fpr_now(), 0.0);
  EXPECT_EQ(filter.estimated_keys(), 0.0);
}

TYPED_TEST(Contract, InsertSaysWhetherAnythingChanged) {
  // Twice the keys, and copies of a key have less choice than other keys.
  auto filter = make_filter<TypeParam>(bounded_kind<TypeParam> ? 4000 : 1000);
  digest_source digests(2);
  std::uint64_t inserted = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t digest = digests();
    const bool was_there = filter.may_contain(digest);
    const insert_result outcome = filter.insert(digest);
    ASSERT_EQ(outcome, was_there ? insert_result::present : insert_result::inserted);
    ASSERT_EQ(filter.insert(digest), insert_result::present);
    inserted += was_there ? 0 : 1;
  }
  EXPECT_EQ(filter.keys().keys, inserted);
  EXPECT_TRUE(filter.keys().exact);
  EXPECT_GT(inserted, 980U);
}

TYPED_TEST(Contract, ExtremeDigestsAreKeysLikeOthers) {
  for (const std::uint64_t digest : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{1} << 63U,
                                     std::uint64_t{0xffffffff}, ~std::uint64_t{0xffffffff}}) {
    auto filter = make_filter<TypeParam>(1);
    EXPECT_EQ(filter.insert(digest), insert_result::inserted);
    EXPECT_TRUE(filter.may_contain(digest));
  }
}

TYPED_TEST(Contract, BatchesGiveTheBitsAndAnswersOfSingleCalls) {
  for (const std::size_t count : {0U, 1U, 15U, 16U, 17U, 63U, 64U, 65U, 127U, 1000U, 5000U}) {
    digest_source source(count);
    const auto digests = source.take(count);
    constexpr std::uint64_t room = bounded_kind<TypeParam> ? 5000 : 2000;
    auto one_by_one = make_filter<TypeParam>(room);
    auto batched = make_filter<TypeParam>(room);
    std::uint64_t inserted = 0;
    for (const std::uint64_t digest : digests)
      inserted += one_by_one.insert(digest) == insert_result::inserted ? 1U : 0U;
    EXPECT_EQ(batched.insert_batch(digests), inserted);
    EXPECT_TRUE(one_by_one == batched);
    EXPECT_EQ(batched.keys().keys, inserted);

    auto queries = source.take(count);
    queries.insert(queries.end(), digests.begin(), digests.end());
    std::vector<std::uint64_t> mask(mask_words(queries.size()), ~std::uint64_t{0});
    batched.may_contain_batch(queries, mask);
    std::vector<std::uint32_t> expected;
    for (std::size_t i = 0; i < queries.size(); ++i) {
      ASSERT_EQ((mask[i / 64] >> (i % 64)) & 1U, batched.may_contain(queries[i]) ? 1U : 0U) << i;
      if (batched.may_contain(queries[i])) expected.push_back(static_cast<std::uint32_t>(i));
    }
    if (queries.size() % 64 != 0) {
      EXPECT_EQ(mask.back() >> (queries.size() % 64), 0U);
    }
    std::vector<std::uint32_t> selection(queries.size());
    selection.resize(may_contain_select(batched, queries, selection));
    EXPECT_EQ(selection, expected);
  }
}

TYPED_TEST(Contract, ClearForgetsEverything) {
  auto filter = make_filter<TypeParam>(1000);
  const auto empty = make_filter<TypeParam>(1000);
  digest_source digests(3);
  filter.insert_batch(digests.take(1000));
  EXPECT_FALSE(filter == empty);
  filter.clear();
  EXPECT_TRUE(filter == empty);
  EXPECT_EQ(filter.keys().keys, 0U);
}

TYPED_TEST(Contract, ACloneIsEqualAndIndependent) {
  auto filter = make_filter<TypeParam>(1000);
  digest_source digests(4);
  filter.insert_batch(digests.take(500));
  auto copy = filter.clone();
  ASSERT_TRUE(copy);
  EXPECT_TRUE(*copy == filter);
  EXPECT_EQ(copy->keys().keys, filter.keys().keys);
  EXPECT_EQ(copy->capacity_keys(), filter.capacity_keys());
  EXPECT_EQ(copy->target_fpr(), filter.target_fpr());
  copy->insert_batch(digests.take(500));
  EXPECT_FALSE(*copy == filter);
}

TYPED_TEST(Contract, MovingKeepsTheContent) {
  auto filter = make_filter<TypeParam>(1000);
  digest_source digests(5);
  const auto keys = digests.take(500);
  filter.insert_batch(keys);
  auto copy = filter.clone();
  TypeParam moved = std::move(filter);
  EXPECT_TRUE(moved == *copy);
  auto other = make_filter<TypeParam>(10);
  other = std::move(moved);
  EXPECT_TRUE(other == *copy);
  for (const std::uint64_t key : keys) ASSERT_TRUE(other.may_contain(key));
}

TYPED_TEST(Unordered, InsertOrderDoesNotMatter) {
  digest_source digests(6);
  auto keys = digests.take(2000);
  auto forwards = make_filter<TypeParam>(2000);
  auto backwards = make_filter<TypeParam>(2000);
  forwards.insert_batch(keys);
  std::reverse(keys.begin(), keys.end());
  backwards.insert_batch(keys);
  EXPECT_TRUE(forwards == backwards);
}

TYPED_TEST(Contract, EstimatesFollowTheTruth) {
  for (const std::uint64_t keys : {1000U, 20'000U, 100'000U}) {
    for (const double share : {0.1, 0.5, 1.0, 1.5}) {
      // There is no room for them, or the first ones are forgotten.
      if ((bounded_kind<TypeParam> || TypeParam::info.expires) && share > 1.0) continue;
      auto filter = make_filter<TypeParam>(keys);
      digest_source digests(keys);
      const auto count = static_cast<std::uint64_t>(static_cast<double>(keys) * share);
      filter.insert_batch(digests.take(count));
      // The standard error is below 0.2 sqrt(m)/k: 2 % covers five of them at 1000 keys.
      EXPECT_NEAR(filter.estimated_keys() / static_cast<double>(count), 1.0,
                  0.02 * std::sqrt(1000.0 / static_cast<double>(keys)) + 0.002);
      if (TypeParam::info.exact) continue;
      std::uint64_t positives = 0;
      constexpr std::uint64_t queries = 400'000;
      for (std::uint64_t i = 0; i < queries; ++i) positives += filter.may_contain(digests()) ? 1U : 0U;
      const double measured = static_cast<double>(positives) / static_cast<double>(queries);
      const double error = std::sqrt(filter.fpr_now() / static_cast<double>(queries));
      // Three single hits are luck where next to none are expected.
      EXPECT_NEAR(measured, filter.fpr_now(), 5 * error + 0.03 * filter.fpr_now() + 3.0 / static_cast<double>(queries));
    }
  }
}

TYPED_TEST(Mergeable, MergeIsTheFilterOfBothSets) {
  digest_source digests(7);
  const auto first = digests.take(500);
  const auto second = digests.take(500);
  auto a = make_filter<TypeParam>(1000);
  auto b = make_filter<TypeParam>(1000);
  auto both = make_filter<TypeParam>(1000);
  a.insert_batch(first);
  b.insert_batch(second);
  both.insert_batch(first);
  both.insert_batch(second);
  ASSERT_TRUE(a.merge(b));
  if constexpr (bounded_kind<TypeParam> && countable<TypeParam>) {
    // Keys make room for each other in the order in which they come: the same answers, in other places.
    for (const std::uint64_t digest : digests.take(20'000)) ASSERT_EQ(a.may_contain(digest), both.may_contain(digest));
    for (const std::uint64_t digest : first) ASSERT_TRUE(a.may_contain(digest));
    for (const std::uint64_t digest : second) ASSERT_TRUE(a.may_contain(digest));
    EXPECT_EQ(a.keys().keys, both.keys().keys);
  } else {
    EXPECT_TRUE(a == both);
  }
  EXPECT_NEAR(static_cast<double>(a.keys().keys), 1000.0, 30.0);
}

TYPED_TEST(Intersectable, IntersectionKeepsEveryCommonKey) {
  digest_source digests(8);
  const auto common = digests.take(300);
  auto a = make_filter<TypeParam>(1000);
  auto b = make_filter<TypeParam>(1000);
  a.insert_batch(common);
  b.insert_batch(common);
  a.insert_batch(digests.take(300));
  b.insert_batch(digests.take(300));
  ASSERT_TRUE(a.intersect(b));
  for (const std::uint64_t digest : common) ASSERT_TRUE(a.may_contain(digest));
}

TYPED_TEST(Foldable, FiltersOfOtherSizesAreNotMergedSilently) {
  auto a = make_filter<TypeParam>(1000);
  auto before = a.clone();
  const auto b = make_filter<TypeParam>(2000);
  const auto merged = a.merge(b);
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().code, errc::mismatch);
  EXPECT_FALSE(a.intersect(b));
  EXPECT_TRUE(a == *before);
}

TYPED_TEST(Foldable, AFoldedFilterIsTheSmallerFilterOfTheSameKeys) {
  digest_source digests(9);
  const auto keys = digests.take(500);
  for (const std::uint64_t factor : {1U, 2U, 3U, 5U, 8U}) {
    std::uint64_t bits = 512 * 8 * 3 * factor;
    auto large = TypeParam::make({.keys = 1000, .bits = bits, .hashes = 6});
    while (large && large->fold_units() % factor != 0) {
      large = TypeParam::make({.keys = 1000, .bits = bits += 512, .hashes = 6});
    }
    ASSERT_TRUE(large);
    large->insert_batch(keys);
    auto folded = large->fold(factor);
    ASSERT_TRUE(folded) << describe(folded.error()).c_str();
    auto small = TypeParam::make({.keys = 1000, .bits = folded->memory_bytes() * 8, .hashes = 6});
    ASSERT_TRUE(small);
    small->insert_batch(keys);
    EXPECT_EQ(small->fold_units() * factor, large->fold_units());
    EXPECT_TRUE(*folded == *small);
    EXPECT_TRUE(small->merge(*folded));
    EXPECT_LE(folded->capacity_keys(), large->capacity_keys());
  }
}

TYPED_TEST(Erasable, EraseRemovesOnlyTheKey) {
  auto filter = make_filter<TypeParam>(1000);
  digest_source digests(10);
  const auto keys = digests.take(500);
  filter.insert_batch(keys);
  EXPECT_TRUE(filter.erase(keys[7]));
  EXPECT_FALSE(filter.erase(keys[7]));
  EXPECT_FALSE(filter.may_contain(keys[7]));
  const auto others = std::span(keys).subspan(8);
  EXPECT_LE(count_missing(filter, others), most_lost(filter, others.size()));
}

TYPED_TEST(Erasable, WhatIsSurelyAbsentIsRefusedAndNothingChanges) {
  auto filter = make_filter<TypeParam>(1000);
  digest_source digests(12);
  filter.insert_batch(digests.take(1000));
  auto before = filter.clone();
  ASSERT_TRUE(before);
  for (const std::uint64_t digest : digests.take(5000)) {
    if (!filter.may_contain(digest)) {
      ASSERT_FALSE(filter.erase(digest));
    }
  }
  EXPECT_TRUE(filter == *before);
  EXPECT_EQ(filter.keys().keys, before->keys().keys);
}

TYPED_TEST(Erasable, WhatIsErasedCanComeBackAndBatchesEraseAsOneByOne) {
  for (const std::size_t count : {0U, 1U, 11U, 12U, 13U, 1000U}) {
    auto filter = make_filter<TypeParam>(2000);
    digest_source digests(13);
    const auto kept = digests.take(500);
    const auto gone = digests.take(count);
    filter.insert_batch(kept);
    const auto before = filter.clone();
    filter.insert_batch(gone);
    auto one_by_one = filter.clone();
    std::uint64_t erased = 0;
    for (const std::uint64_t digest : gone) erased += one_by_one->erase(digest) ? 1U : 0U;
    EXPECT_LE(count - erased, most_lost(filter, count));
    EXPECT_EQ(erase_batch(filter, gone), erased);
    EXPECT_TRUE(filter == *one_by_one);
    EXPECT_LE(count_missing(filter, kept), most_lost(filter, kept.size()));
    if (count == 0) continue;
    EXPECT_EQ(filter.insert(gone[0]), insert_result::inserted);
    EXPECT_TRUE(filter.may_contain(gone[0]));
  }
}

TYPED_TEST(Losing, NothingIsLostBeforeTheFirstRemoval) {
  auto filter = make_filter<TypeParam>(20'000);
  digest_source digests(20);
  const auto keys = digests.take(60'000);
  filter.insert_batch(keys);
  EXPECT_EQ(count_missing(filter, keys), 0U);
  EXPECT_EQ(filter.loss_now().rate, 0.0);
  // Nor by one that was refused, nor after all is forgotten.
  std::uint64_t absent = digests();
  while (filter.may_contain(absent)) absent = digests();
  EXPECT_FALSE(filter.erase(absent));
  EXPECT_EQ(filter.loss_now().removals, 0U);
  EXPECT_TRUE(filter.erase(keys[0]));
  EXPECT_GT(filter.loss_now().removals, 0U);
  filter.clear();
  filter.insert_batch(keys);
  EXPECT_EQ(count_missing(filter, keys), 0U);
  EXPECT_EQ(filter.loss_now().rate, 0.0);
}

TYPED_TEST(Losing, OfTheKeysThatAreLeftNoMoreAreLostThanPromisedAndAsManyAsItSays) {
  for (const double fpr : {0.1, 0.01, 0.001}) {
    constexpr std::uint64_t capacity = 100'000;
    auto filter = make_filter<TypeParam>(capacity, fpr);
    const std::uint64_t room = filter.loss_now().capacity_removals;
    digest_source digests(21);
    // More keys than it was made for, so that many are left when it has all of its removals.
    const auto keys = digests.take(capacity + 300'000);
    filter.insert_batch(keys);
    std::size_t next = 0;
    for (const double share : {0.25, 0.5, 0.75, 1.0}) {
      while (filter.loss_now().removals < static_cast<std::uint64_t>(share * static_cast<double>(room))) {
        const std::uint64_t more =
            static_cast<std::uint64_t>(share * static_cast<double>(room)) - filter.loss_now().removals;
        for (const std::size_t end = next + more; next < end; ++next) filter.erase(keys[next]);
      }
      const auto left = std::span(keys).subspan(next);
      const std::uint64_t lost = count_missing(filter, left);
      const double measured = static_cast<double>(lost) / static_cast<double>(left.size());
      EXPECT_LE(binomial::lower_bound(lost, left.size(), 0.001), fpr) << share;
      const double now = filter.loss_now().rate;
      EXPECT_NEAR(measured, now, 5 * std::sqrt(now / static_cast<double>(left.size())) + 0.02 * now) << share;
      if (share == 1.0) {
        EXPECT_GE(measured, 0.85 * fpr);  // bits are not wasted
      }
    }
  }
}

TYPED_TEST(Losing, BatchesAnswerAsSingleCallsAfterRemovals) {
  auto filter = make_filter<TypeParam>(10'000);
  digest_source digests(22);
  auto keys = digests.take(10'000);
  filter.insert_batch(keys);
  erase_batch(filter, std::span<const std::uint64_t>(keys).first(7000));
  filter.insert_batch(std::span(keys).first(30));
  const auto more = digests.take(10'001);
  keys.insert(keys.end(), more.begin(), more.end());
  for (const std::size_t count : {std::size_t{1}, std::size_t{64}, std::size_t{1025}, keys.size()}) {
    std::vector<std::uint64_t> mask(mask_words(count), ~std::uint64_t{0});
    filter.may_contain_batch(std::span(keys).first(count), mask);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ((mask[i / 64] >> (i % 64)) & 1U, filter.may_contain(keys[i]) ? 1U : 0U) << i;
    }
    if (count % 64 != 0) {
      EXPECT_EQ(mask.back() >> (count % 64), 0U);
    }
  }
}

TYPED_TEST(Countable, BatchesCountAsOneByOne) {
  for (const std::size_t count : {0U, 1U, 11U, 12U, 13U, 1000U}) {
    auto filter = make_filter<TypeParam>(2000);
    digest_source digests(14);
    auto keys = digests.take(count);
    filter.insert_batch(keys);
    filter.insert_batch(std::span(keys).first(count / 2));
    const auto absent = digests.take(count);
    keys.insert(keys.end(), absent.begin(), absent.end());
    std::vector<std::uint64_t> counts(keys.size(), 99);
    count_batch(filter, keys, counts);
    for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(counts[i], filter.count(keys[i])) << i;
  }
}

TYPED_TEST(Countable, CountIsZeroOnlyForAbsentKeys) {
  auto filter = make_filter<TypeParam>(1000);
  digest_source digests(11);
  const auto keys = digests.take(500);
  filter.insert_batch(keys);
  for (const std::uint64_t key : keys) ASSERT_GE(filter.count(key), 1U);
  for (const std::uint64_t key : digests.take(500)) ASSERT_EQ(filter.count(key) == 0, !filter.may_contain(key));
}

TYPED_TEST(Contract, EveryRefusedAllocationIsAnErrorAndLeaksNothing) {
  failing_memory memory;
  const auto attempt = [&]() -> result<void> {
    auto filter = TypeParam::make({.keys = 1000, .fpr = 0.01, .memory = &memory.hooks});
    if (!filter) return fail(filter.error());
    filter->insert(1);
    auto copy = filter->clone();
    if (!copy) {
      EXPECT_TRUE(filter->may_contain(1));
      return fail(copy.error());
    }
    if constexpr (foldable<TypeParam>) {
      auto folded = filter->fold(1);
      if (!folded) return fail(folded.error());
    }
    return {};
  };
  ASSERT_TRUE(attempt());
  const std::uint64_t requests = memory.requests;
  EXPECT_EQ(memory.live_bytes, 0);
  for (std::uint64_t n = 0; n < requests; ++n) {
    memory.requests = 0;
    memory.fail_at = n;
    const auto outcome = attempt();
    ASSERT_FALSE(outcome) << "allocation " << n;
    EXPECT_EQ(outcome.error().code, errc::out_of_memory);
    EXPECT_EQ(memory.live_bytes, 0);
  }
}

TYPED_TEST(Contract, ANameAndIdLeadBackToTheKind) {
  EXPECT_EQ(find_kind(TypeParam::info.name), &TypeParam::info);
  EXPECT_EQ(find_kind(TypeParam::info.id), &TypeParam::info);
  EXPECT_FALSE(TypeParam::info.summary.empty());
}

TEST(KindList, NamesAndIdsAreUnique) {
  std::vector<std::string_view> names;
  std::vector<std::uint32_t> ids;
  for_each_type(kind_list{}, [&](auto tag) {
    names.push_back(decltype(tag)::type::info.name);
    ids.push_back(decltype(tag)::type::info.id);
  });
  std::sort(names.begin(), names.end());
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
  EXPECT_EQ(std::unique(ids.begin(), ids.end()), ids.end());
  EXPECT_EQ(find_kind("no such kind"), nullptr);
}

}  // namespace
