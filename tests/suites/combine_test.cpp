// Two filters of a kind: merged and intersected; and one made smaller: folded.
#include "support/filters.hpp"

namespace bloomery::test {
namespace {

class Mergeable : public KindTest {};
BLOOMERY_FOR_KINDS(Mergeable, kinds_where(&kind_case::merges));

class Intersectable : public KindTest {};
BLOOMERY_FOR_KINDS(Intersectable, kinds_where(&kind_case::intersects));

class Foldable : public KindTest {};
BLOOMERY_FOR_KINDS(Foldable, kinds_where(&kind_case::folds));

TEST_P(Mergeable, MergeIsTheFilterOfBothSets) {
  digest_source digests(7);
  const auto first = digests.take(500);
  const auto second = digests.take(500);
  auto a = make_filter(GetParam(), 1000);
  auto b = make_filter(GetParam(), 1000);
  auto both = make_filter(GetParam(), 1000);
  insert_all(a, first);
  insert_all(b, second);
  insert_all(both, first);
  insert_all(both, second);
  ASSERT_TRUE(a.merge(b));
  EXPECT_EQ(count_missing(a, first), 0U);
  EXPECT_EQ(count_missing(a, second), 0U);
  if (GetParam().bounded && GetParam().counts) {
    // Keys displace each other in the order in which they come: the same answers, in other places.
    const auto others = digests.take(20'000);
    EXPECT_EQ(find_keys(a, others), find_keys(both, others));
    EXPECT_EQ(stats_of(a).keys.keys, stats_of(both).keys.keys);
  } else {
    EXPECT_TRUE(a == both);
  }
  EXPECT_NEAR(static_cast<double>(stats_of(a).keys.keys), 1000.0, 30.0);
}

TEST_P(Intersectable, IntersectionKeepsEveryCommonKey) {
  digest_source digests(8);
  const auto common = digests.take(300);
  auto a = make_filter(GetParam(), 1000);
  auto b = make_filter(GetParam(), 1000);
  insert_all(a, common);
  insert_all(b, common);
  insert_all(a, digests.take(300));
  insert_all(b, digests.take(300));
  ASSERT_TRUE(a.intersect(b));
  EXPECT_EQ(count_missing(a, common), 0U);
}

TEST_P(Foldable, FiltersOfOtherSizesAreNotMergedSilently) {
  auto a = make_filter(GetParam(), 1000);
  const auto before = copy_of(a);
  const auto b = make_filter(GetParam(), 2000);
  const auto merged = a.merge(b);
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().code, errc::mismatch);
  EXPECT_FALSE(a.intersect(b));
  EXPECT_TRUE(a == before);
}

TEST_P(Foldable, AFoldedFilterIsTheSmallerFilterOfTheSameKeys) {
  digest_source digests(9);
  const auto keys = digests.take(500);
  for (const std::uint64_t factor : {1U, 2U, 3U, 5U, 8U}) {
    std::uint64_t bits = 512 * 8 * 3 * factor;
    auto large = make_filter(GetParam(), {.keys = 1000, .bits = bits, .hashes = 6});
    while (large.fold_units() % factor != 0) {
      large = make_filter(GetParam(), {.keys = 1000, .bits = bits += 512, .hashes = 6});
    }
    insert_all(large, keys);
    const auto folded = large.fold(factor);
    ASSERT_TRUE(folded) << describe(folded.error()).c_str();
    auto small = make_filter(GetParam(), {.keys = 1000, .bits = stats_of(*folded).memory_bytes * 8, .hashes = 6});
    insert_all(small, keys);
    EXPECT_EQ(small.fold_units() * factor, large.fold_units());
    EXPECT_TRUE(*folded == small);
    EXPECT_TRUE(small.merge(*folded));
    EXPECT_LE(stats_of(*folded).capacity_keys, stats_of(large).capacity_keys);
  }
}

}  // namespace
}  // namespace bloomery::test
