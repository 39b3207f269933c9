// Kinds that erase, kinds that count, and kinds that may lose keys by a removal.
#include <bloomery/core/binomial.hpp>
#include <cmath>

#include "support/filters.hpp"

namespace bloomery::test {
namespace {

class Erasable : public KindTest {};
BLOOMERY_FOR_KINDS(Erasable, kinds_where(&kind_case::erases));

class Countable : public KindTest {};
BLOOMERY_FOR_KINDS(Countable, kinds_where(&kind_case::counts));

class Losing : public KindTest {};
BLOOMERY_FOR_KINDS(Losing, kinds_where(&kind_case::may_lose));

bool erase_one(any_filter& filter, std::uint64_t digest) {
  const auto erased = filter.erase(prehashed{digest});
  EXPECT_TRUE(erased) << describe(erased.error()).c_str();
  return erased.value_or(false);
}
loss_state loss_of(const any_filter& filter) { return stats_of(filter).loss.value_or(loss_state{}); }

TEST_P(Erasable, EraseRemovesOnlyTheKey) {
  auto filter = make_filter(GetParam(), 1000);
  digest_source digests(10);
  const auto keys = digests.take(500);
  insert_all(filter, keys);
  EXPECT_TRUE(erase_one(filter, keys[7]));
  EXPECT_FALSE(erase_one(filter, keys[7]));
  EXPECT_FALSE(contains(filter, keys[7]));
  const auto others = std::span(keys).subspan(8);
  EXPECT_LE(count_missing(filter, others), most_lost(filter, others.size()));
}

TEST_P(Erasable, WhatIsSurelyAbsentIsRefusedAndNothingChanges) {
  auto filter = make_filter(GetParam(), 1000);
  digest_source digests(12);
  insert_all(filter, digests.take(1000));
  const auto before = copy_of(filter);
  for (const std::uint64_t digest : digests.take(5000)) {
    if (!contains(filter, digest)) {
      ASSERT_FALSE(erase_one(filter, digest));
    }
  }
  EXPECT_TRUE(filter == before);
  EXPECT_EQ(stats_of(filter).keys.keys, stats_of(before).keys.keys);
}

TEST_P(Erasable, WhatIsErasedCanComeBackAndBatchesEraseAsOneByOne) {
  for (const std::size_t count : {0U, 1U, 11U, 12U, 13U, 1000U}) {
    auto filter = make_filter(GetParam(), 2000);
    digest_source digests(13);
    const auto kept = digests.take(500);
    const auto gone = digests.take(count);
    insert_all(filter, kept);
    insert_all(filter, gone);
    auto one_by_one = copy_of(filter);
    std::uint64_t erased = 0;
    for (const std::uint64_t digest : gone) erased += erase_one(one_by_one, digest) ? 1U : 0U;
    EXPECT_LE(count - erased, most_lost(filter, count));
    EXPECT_EQ(erase_all(filter, gone), erased);
    EXPECT_TRUE(filter == one_by_one);
    EXPECT_LE(count_missing(filter, kept), most_lost(filter, kept.size()));
    if (count == 0) continue;
    EXPECT_EQ(insert_one(filter, gone[0]), insert_result::inserted);
    EXPECT_TRUE(contains(filter, gone[0]));
  }
}

TEST_P(Countable, CountIsZeroOnlyForAbsentKeys) {
  auto filter = make_filter(GetParam(), 1000);
  digest_source digests(11);
  const auto keys = digests.take(500);
  insert_all(filter, keys);
  for (const std::uint64_t count : count_all(filter, keys)) ASSERT_GE(count, 1U);
  const auto others = digests.take(500);
  const auto counts = count_all(filter, others);
  const auto found = find_keys(filter, others);
  for (std::size_t i = 0; i < others.size(); ++i) ASSERT_EQ(counts[i] == 0, !found[i]) << i;
}

TEST_P(Losing, NothingIsLostBeforeTheFirstRemoval) {
  auto filter = make_filter(GetParam(), 20'000);
  digest_source digests(20);
  const auto keys = digests.take(60'000);
  insert_all(filter, keys);
  EXPECT_EQ(count_missing(filter, keys), 0U);
  EXPECT_EQ(loss_of(filter).rate, 0.0);
  // Nor by one that was refused, nor after all is forgotten.
  std::uint64_t absent = digests();
  while (contains(filter, absent)) absent = digests();
  EXPECT_FALSE(erase_one(filter, absent));
  EXPECT_EQ(loss_of(filter).removals, 0U);
  EXPECT_TRUE(erase_one(filter, keys[0]));
  EXPECT_GT(loss_of(filter).removals, 0U);
  ASSERT_TRUE(filter.clear());
  insert_all(filter, keys);
  EXPECT_EQ(count_missing(filter, keys), 0U);
  EXPECT_EQ(loss_of(filter).rate, 0.0);
}

TEST_P(Losing, OfTheKeysThatAreLeftNoMoreAreLostThanPromisedAndAsManyAsItReports) {
  for (const double fpr : {0.1, 0.01, 0.001}) {
    constexpr std::uint64_t capacity = 100'000;
    auto filter = make_filter(GetParam(), capacity, fpr);
    const auto removals = static_cast<double>(loss_of(filter).capacity_removals);
    digest_source digests(21);
    // More keys than it was made for, so that many are left when it has all of its removals.
    const auto keys = digests.take(capacity + 300'000);
    insert_all(filter, keys);
    std::size_t next = 0;
    for (const double share : {0.25, 0.5, 0.75, 1.0}) {
      const auto wanted = static_cast<std::uint64_t>(share * removals);
      while (loss_of(filter).removals < wanted) {
        const std::uint64_t more = wanted - loss_of(filter).removals;
        erase_all(filter, std::span(keys).subspan(next, more));
        next += more;
      }
      const auto left = std::span(keys).subspan(next);
      const std::uint64_t lost = count_missing(filter, left);
      const double measured = static_cast<double>(lost) / static_cast<double>(left.size());
      EXPECT_LE(binomial::lower_bound(lost, left.size(), 0.001), fpr) << share;
      const double now = loss_of(filter).rate;
      EXPECT_NEAR(measured, now, 5 * std::sqrt(now / static_cast<double>(left.size())) + 0.02 * now) << share;
      if (share == 1.0) {
        EXPECT_GE(measured, 0.85 * fpr);  // bits are not wasted
      }
    }
  }
}

}  // namespace
}  // namespace bloomery::test
