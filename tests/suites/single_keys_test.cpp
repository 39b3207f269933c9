// The functions of a kind that take one digest, against its batches: the same bits, answers and counts. The other suites use
// batches, through any_filter; this one shows that what they claim holds for single calls, too. Typed, because any_filter has no
// such functions.
#include <algorithm>
#include <bloomery/kinds/batch.hpp>

#include "support/kind_table.hpp"
#include "support/typed_kinds.hpp"

namespace bloomery::test {
namespace {

template <class K>
class SingleKeys : public testing::Test {};
TYPED_TEST_SUITE(SingleKeys, kinds_with<is_dynamic>, kind_name);

template <class K>
class SingleKeysOfStatic : public testing::Test {};
TYPED_TEST_SUITE(SingleKeysOfStatic, kinds_with<is_static>, kind_name);

template <class K>
class SingleKeysOfBounded : public testing::Test {};
TYPED_TEST_SUITE(SingleKeysOfBounded, kinds_with<is_bounded>, kind_name);

template <class K>
class SingleErases : public testing::Test {};
TYPED_TEST_SUITE(SingleErases, kinds_with<erases>, kind_name);

template <class K>
class SingleCounts : public testing::Test {};
TYPED_TEST_SUITE(SingleCounts, kinds_with<counts>, kind_name);

template <class K>
class SingleKeysOfLosing : public testing::Test {};
TYPED_TEST_SUITE(SingleKeysOfLosing, kinds_with<loses>, kind_name);

// What a batch answers, against one call a key; selections as well.
template <class K>
void expect_batches_as_single_calls(const K& filter, std::span<const std::uint64_t> queries) {
  std::vector<std::uint64_t> mask(mask_words(queries.size()), ~std::uint64_t{0});
  filter.may_contain_batch(queries, mask);
  std::vector<std::uint32_t> expected;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const bool found = filter.may_contain(queries[i]);
    ASSERT_EQ((mask[i / 64] >> (i % 64)) & 1U, found ? 1U : 0U) << i;
    if (found) expected.push_back(static_cast<std::uint32_t>(i));
  }
  if (queries.size() % 64 != 0) {
    EXPECT_EQ(mask.back() >> (queries.size() % 64), 0U);
  }
  std::vector<std::uint32_t> selection(queries.size());
  selection.resize(may_contain_select(filter, queries, selection));
  EXPECT_EQ(selection, expected);
}

TYPED_TEST(SingleKeys, BatchesGiveTheBitsAndAnswersOfSingleCalls) {
  for (const std::size_t count : {0U, 1U, 15U, 16U, 17U, 63U, 64U, 65U, 127U, 1000U, 5000U}) {
    digest_source source(count);
    const auto digests = source.take(count);
    constexpr std::uint64_t capacity = bounded_kind<TypeParam> ? 5000 : 2000;
    auto one_by_one = make_filter<TypeParam>(capacity);
    auto batched = make_filter<TypeParam>(capacity);
    std::uint64_t inserted = 0;
    for (const std::uint64_t digest : digests) {
      const bool was_there = one_by_one.may_contain(digest);
      const insert_result outcome = one_by_one.insert(digest);
      ASSERT_EQ(outcome, was_there ? insert_result::present : insert_result::inserted);
      ASSERT_TRUE(one_by_one.may_contain(digest));
      inserted += was_there ? 0U : 1U;
    }
    EXPECT_EQ(batched.add_batch(digests), inserted);
    EXPECT_TRUE(one_by_one == batched);
    EXPECT_EQ(batched.keys().keys, inserted);
    auto queries = source.take(count);
    queries.insert(queries.end(), digests.begin(), digests.end());
    expect_batches_as_single_calls(batched, queries);
  }
}

TYPED_TEST(SingleKeysOfBounded, BothStopAtTheSameKeyOfAFullFilter) {
  auto one_by_one = make_filter<TypeParam>(100);
  auto batched = make_filter<TypeParam>(100);
  digest_source source(16);
  const auto digests = source.take(5000);
  std::size_t taken = 0;
  while (taken < digests.size() && one_by_one.insert(digests[taken]) != insert_result::full) ++taken;
  EXPECT_EQ(batched.add_until_full(digests).taken, taken);
  EXPECT_TRUE(one_by_one == batched);
}

TYPED_TEST(SingleKeys, MovingKeepsTheContent) {
  auto filter = make_filter<TypeParam>(1000);
  digest_source digests(5);
  const auto keys = digests.take(500);
  filter.add_batch(keys);
  auto copy = filter.clone();
  TypeParam moved = std::move(filter);
  EXPECT_TRUE(moved == *copy);
  auto other = make_filter<TypeParam>(10);
  other = std::move(moved);
  EXPECT_TRUE(other == *copy);
  for (const std::uint64_t key : keys) ASSERT_TRUE(other.may_contain(key));
}

TYPED_TEST(SingleKeysOfStatic, BatchesGiveTheAnswersOfSingleCalls) {
  digest_source source(4);
  const auto digests = source.take(5000);
  const auto filter = build_filter<TypeParam>(digests);
  for (const std::uint64_t digest : digests) ASSERT_TRUE(filter.may_contain(digest));
  for (const std::size_t count : {0U, 1U, 15U, 63U, 64U, 65U, 1000U}) {
    auto queries = source.take(count);
    queries.insert(queries.end(), digests.begin(), digests.begin() + static_cast<std::ptrdiff_t>(count));
    expect_batches_as_single_calls(filter, queries);
  }
}

TYPED_TEST(SingleKeysOfStatic, MovingKeepsTheContent) {
  digest_source source(6);
  const auto digests = source.take(2000);
  auto filter = build_filter<TypeParam>(digests);
  const auto copy = filter.clone();
  ASSERT_TRUE(copy);
  TypeParam moved = std::move(filter);
  EXPECT_TRUE(moved == *copy);
  for (const std::uint64_t digest : digests) ASSERT_TRUE(moved.may_contain(digest));
}

TYPED_TEST(SingleErases, BatchesEraseAsOneByOne) {
  for (const std::size_t count : {0U, 1U, 11U, 12U, 13U, 1000U}) {
    auto filter = make_filter<TypeParam>(2000);
    digest_source digests(13);
    filter.add_batch(digests.take(500));
    const auto gone = digests.take(count);
    filter.add_batch(gone);
    auto one_by_one = filter.clone();
    std::uint64_t erased = 0;
    for (const std::uint64_t digest : gone) erased += one_by_one->erase(digest) ? 1U : 0U;
    EXPECT_EQ(erase_batch(filter, gone), erased);
    EXPECT_TRUE(filter == *one_by_one);
    for (const std::uint64_t digest : digests.take(500)) {
      if (!filter.may_contain(digest)) {
        EXPECT_FALSE(filter.erase(digest));
      }
    }
    EXPECT_TRUE(filter == *one_by_one);
  }
}

TYPED_TEST(SingleCounts, BatchesCountAsOneByOne) {
  for (const std::size_t count : {0U, 1U, 11U, 12U, 13U, 1000U}) {
    auto filter = make_filter<TypeParam>(2000);
    digest_source digests(14);
    auto keys = digests.take(count);
    filter.add_batch(keys);
    filter.add_batch(std::span(keys).first(count / 2));
    const auto absent = digests.take(count);
    keys.insert(keys.end(), absent.begin(), absent.end());
    std::vector<std::uint64_t> counts(keys.size(), 99);
    count_batch(filter, keys, counts);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(counts[i], filter.count(keys[i])) << i;
      ASSERT_EQ(counts[i] == 0, !filter.may_contain(keys[i])) << i;
    }
  }
}

TYPED_TEST(SingleKeysOfLosing, BatchesAnswerAsSingleCallsAfterRemovals) {
  auto filter = make_filter<TypeParam>(10'000);
  digest_source digests(22);
  auto keys = digests.take(10'000);
  filter.add_batch(keys);
  erase_batch(filter, std::span<const std::uint64_t>(keys).first(7000));
  filter.add_batch(std::span(keys).first(30));
  const auto more = digests.take(10'001);
  keys.insert(keys.end(), more.begin(), more.end());
  for (const std::size_t count : {std::size_t{1}, std::size_t{64}, std::size_t{1025}, keys.size()}) {
    expect_batches_as_single_calls(filter, std::span<const std::uint64_t>(keys).first(count));
  }
}

// ---- the list itself ----

class ListedKind : public KindTest {};
BLOOMERY_FOR_KINDS(ListedKind, kind_table());

TEST_P(ListedKind, IsFoundByItsNameAndItsId) {
  EXPECT_EQ(find_kind(GetParam().info->name)->info, GetParam().info);
  EXPECT_EQ(find_kind(GetParam().info->id)->info, GetParam().info);
  EXPECT_FALSE(GetParam().info->summary.empty());
}

TEST(KindList, NamesAndIdsAreUnique) {
  std::vector<std::string_view> names;
  std::vector<std::uint32_t> ids;
  for (const kind_case& kind : kind_table()) {
    names.push_back(kind.info->name);
    ids.push_back(kind.info->id);
  }
  std::sort(names.begin(), names.end());
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
  EXPECT_EQ(std::unique(ids.begin(), ids.end()), ids.end());
  EXPECT_EQ(find_kind("no such kind"), nullptr);
}

}  // namespace
}  // namespace bloomery::test
