// Kind dleft: where keys lie, what goes in and out, how full it gets, its sizes, and what of parameters and files it refuses.
#include <algorithm>
#include <bloomery/hash/xxh3.hpp>
#include <bloomery/kinds/batch.hpp>
#include <map>
#include <string>

#include "kinds/dleft_support.hpp"

namespace bloomery::dleft_testing {
namespace {

TEST(Dleft, AKeyLiesWhereItIsPublishedToAtEveryWidth) {
  for (unsigned bits = 6; bits <= 38; ++bits) {
    auto filter = of_shape(bits == 10 ? 1 : 97, bits);
    for (const std::uint64_t digest : random_digests(bits, 40)) {
      filter.clear();
      ASSERT_EQ(filter.insert(digest), insert_result::inserted);
      const places at = places_of(digest, filter.geometry().buckets, bits);
      const cell first = cell_at(filter, 0, at.bucket[0], 0);
      ASSERT_EQ(first.counter, 1U) << bits;
      ASSERT_EQ(first.remainder, at.remainder) << bits;
      ASSERT_EQ(bits_set(filter), 1U + static_cast<unsigned>(std::popcount(at.remainder))) << "and nowhere else";
      ASSERT_EQ(filter.count(digest), 1U);
    }
  }
}

TEST(Dleft, AnInsertTakesTheEmptiestBucketAndTheLeftmostOfSeveral) {
  auto filter = of_shape(5, 20);
  std::array<std::array<unsigned, 5>, 4> used{};
  for (const std::uint64_t digest : random_digests(1, 100)) {
    const places at = places_of(digest, 5, 20);
    unsigned best = 0;
    for (unsigned table = 1; table < 4; ++table) {
      if (used[table][at.bucket[table]] < used[best][at.bucket[best]]) best = table;
    }
    ASSERT_EQ(filter.insert(digest), insert_result::inserted);
    const unsigned index = used[best][at.bucket[best]]++;
    const cell written = cell_at(filter, best, at.bucket[best], index);
    ASSERT_EQ(written.counter, 1U);
    ASSERT_EQ(written.remainder, at.remainder);
  }
}

TEST(Dleft, FillingsHaveTheBytesThatFilesOfThemHave) {
  struct frozen {
    unsigned bits;
    std::uint64_t checksum;
  };
  for (const auto& [bits, checksum] : {frozen{6, 13182980091159615844ULL},
                                       {12, 12590141938333933967ULL},
                                       {17, 123328243996503283ULL},
                                       {38, 18440103056296143001ULL}}) {
    auto filter = of_shape(70, bits);
    for (const std::uint64_t digest : random_digests(1, 2000)) ASSERT_NE(filter.insert(digest), insert_result::full);
    EXPECT_EQ(xxh3{}(filter.payload().data(), filter.payload().size()), checksum) << bits;
  }
}

TEST(Dleft, EveryWidthHoldsItsKeysAndGivesThemBackOneByOne) {
  for (unsigned bits = 6; bits <= 38; ++bits) {
    auto filter = of_shape(20, bits);
    const auto empty = filter.clone();
    const auto digests = random_digests(100 + bits, 560);
    for (const std::uint64_t digest : digests) ASSERT_NE(filter.insert(digest), insert_result::full) << bits;
    ASSERT_EQ(filter.used().occurrences, 560U);
    for (std::size_t i = 0; i < digests.size(); ++i) {
      ASSERT_TRUE(filter.erase(digests[i]));
      if (i % 50 != 0) continue;
      for (std::size_t j = i + 1; j < digests.size(); ++j) ASSERT_TRUE(filter.may_contain(digests[j])) << bits;
    }
    EXPECT_TRUE(filter == *empty) << bits << ": nothing is left behind";
    EXPECT_EQ(filter.keys().keys, 0U);
  }
}

TEST(Dleft, FifteenCopiesOfAKeyFitAndTheSixteenthIsRefused) {
  for (const unsigned bits : {6U, 12U, 20U, 33U}) {
    auto filter = of_shape(40, bits);
    const auto empty = filter.clone();
    const std::uint64_t digest = 0x123456789abcdefULL * 97;
    for (unsigned i = 0; i < 15; ++i) {
      ASSERT_EQ(filter.insert(digest), i == 0 ? insert_result::inserted : insert_result::present);
      ASSERT_EQ(filter.count(digest), i + 1);
      ASSERT_EQ(filter.used().cells, i / 3 + 1) << "a counter ends at 3";
      ASSERT_EQ(filter.used().occurrences, i + 1);
    }
    const auto before = filter.clone();
    EXPECT_EQ(filter.insert(digest), insert_result::full);
    EXPECT_EQ(filter.why_full(digest).code, errc::too_many_copies);
    EXPECT_EQ(filter.why_full(digest).number[0], 15U);
    EXPECT_TRUE(filter == *before);
    for (unsigned i = 15; i > 0; --i) {
      ASSERT_EQ(filter.count(digest), i);
      ASSERT_EQ(filter.keys().keys, 1U);
      ASSERT_EQ(filter.used().cells, (i + 2) / 3) << "copies stay together";
      ASSERT_TRUE(filter.erase(digest));
    }
    EXPECT_FALSE(filter.erase(digest));
    EXPECT_TRUE(filter == *empty);
    EXPECT_EQ(filter.keys().keys, 0U);
  }
}

TEST(Dleft, WhatFindsItsBucketsFullIsStashedAndComesHomeWhenThereIsSpace) {
  // One bucket a table: 32 cells, and 8 entries.
  auto filter = of_shape(1, 30);
  const auto digests = random_digests(2, 41);
  for (std::size_t i = 0; i < 40; ++i) {
    ASSERT_EQ(filter.insert(digests[i]), insert_result::inserted);
    ASSERT_EQ(filter.stashed(), i < 32 ? 0 : i - 31);
  }
  const auto full = filter.clone();
  EXPECT_EQ(filter.insert(digests[40]), insert_result::full);
  EXPECT_EQ(filter.why_full(digests[40]).code, errc::full);
  EXPECT_EQ(filter.why_full(digests[40]).number[0], 40U);
  EXPECT_TRUE(filter == *full) << "refused, and nothing has changed";
  EXPECT_EQ(filter.keys().keys, 40U);
  EXPECT_EQ(filter.stashed(), 8U);
  for (std::size_t i = 0; i < 40; ++i) {
    ASSERT_TRUE(filter.may_contain(digests[i]));
    ASSERT_EQ(filter.count(digests[i]), 1U);
  }
  std::vector<std::uint64_t> mask(1);
  filter.may_contain_batch(digests, mask);
  EXPECT_EQ(mask[0], (std::uint64_t{1} << 40U) - 1);
  // A key of the stash counts there, too, and leaves from there first.
  EXPECT_TRUE(filter.erase(digests[39]));
  EXPECT_EQ(filter.stashed(), 7U);
  EXPECT_EQ(filter.insert(digests[38]), insert_result::present);
  EXPECT_EQ(filter.count(digests[38]), 2U);
  EXPECT_TRUE(filter.erase(digests[38]));
  EXPECT_EQ(filter.stashed(), 7U);
  // Room in the buckets brings the others home.
  for (std::size_t i = 0; i < 7; ++i) {
    ASSERT_TRUE(filter.erase(digests[i]));
    ASSERT_EQ(filter.stashed(), 6 - i);
    for (std::size_t j = i + 1; j < 39; ++j) ASSERT_TRUE(filter.may_contain(digests[j])) << i << " " << j;
  }
  EXPECT_EQ(filter.used().cells, 32U);
  EXPECT_EQ(filter.facts()[3].name, "stashed");
  EXPECT_EQ(full->facts()[3].value.integer(), 8U);
}

TEST(Dleft, IsAtLeast88PercentFullBeforeAnInsertIsRefused) {
  for (const unsigned bits : {6U, 12U, 15U}) {
    for (const std::uint64_t buckets : {1U, 3U, 10U, 100U, 10'000U}) {
      const unsigned seeds = buckets < 100 ? 200 : buckets == 100 ? 50 : 1;
      for (unsigned seed = 0; seed < seeds; ++seed) {
        auto filter = of_shape(buckets, bits);
        const auto outcome = filter.add_until_full(random_digests(seed, filter.geometry().cells() * 2));
        // What is of one value takes one cell: keys beyond the cells, where remainders are short.
        const double load = static_cast<double>(outcome.taken) / static_cast<double>(filter.geometry().cells());
        ASSERT_GE(load, 0.90) << bits << " bits, " << buckets << " buckets, seed " << seed;
        // With few values some key of the 64 comes 16 times before the stash is full.
        ASSERT_TRUE(filter.stashed() == 8 || filter.geometry().values() == 64);
      }
    }
  }
}

TEST(NightlyDleft, IsAsFullWith1e8Keys) {
  for (const std::uint64_t buckets : {400'000U, 4'000'000U}) {
    auto filter = of_shape(buckets, 12);
    std::uint64_t held = 0;
    for (std::uint64_t seed = 1;; ++seed) {
      const auto outcome = filter.add_until_full(random_digests(seed, 1 << 20));
      held += outcome.taken;
      if (outcome.taken != 1 << 20) break;
    }
    EXPECT_GE(static_cast<double>(held), 0.888 * static_cast<double>(filter.geometry().cells()));
  }
}

TEST(Dleft, SmallFiltersHoldWhatTheyAreMadeFor) {
  for (const std::uint64_t keys : {1U, 2U, 5U, 10U, 30U, 100U, 300U}) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      auto filter = make({.keys = keys, .fpr = 0.001});
      ASSERT_EQ(filter.add_until_full(random_digests(seed, keys)).taken, keys) << " seed " << seed;
    }
  }
}

TEST(Dleft, AFullFilterIsExactlyAsItWasAndLosesNothing) {
  for (const unsigned bits : {9U, 16U, 30U}) {
    auto filter = of_shape(30, bits);
    const auto digests = random_digests(7, 3000);
    std::vector<std::uint64_t> held;
    std::uint64_t refused = 0;
    for (const std::uint64_t digest : digests) {
      const auto before = filter.clone();
      if (filter.insert(digest) != insert_result::full) {
        held.push_back(digest);
        continue;
      }
      ASSERT_TRUE(filter == *before) << bits;
      ASSERT_EQ(filter.keys().keys, before->keys().keys);
      ASSERT_EQ(filter.stashed(), before->stashed());
      ++refused;
    }
    EXPECT_GT(refused, 1000U);
    EXPECT_EQ(filter.used().occurrences, held.size());
    for (const std::uint64_t digest : held) ASSERT_TRUE(filter.may_contain(digest)) << bits;
    EXPECT_EQ(erase_batch(filter, held), held.size());
    EXPECT_TRUE(filter == of_shape(30, bits));
  }
}

TEST(Dleft, RandomInsertsAndErasesAgreeWithAListOfKeys) {
  for (const unsigned bits : {12U, 24U}) {
    // So few buckets that the stash comes and goes.
    auto filter = of_shape(6, bits);
    std::mt19937_64 random(12);
    std::map<std::uint64_t, unsigned> held;  // by value: two keys of one value are one
    std::uint64_t refused = 0;
    std::uint64_t stashed = 0;
    for (int step = 0; step < 30'000; ++step) {
      const std::uint64_t key = mix64(random() % 230 + 1);
      unsigned& there = held[high_word(key, filter.geometry().values())];
      if (random() % 100 < 70) {
        const insert_result outcome = filter.insert(key);
        if (outcome == insert_result::full) {
          ++refused;
        } else {
          ASSERT_EQ(outcome, there == 0 ? insert_result::inserted : insert_result::present);
          ++there;
        }
      } else if (there > 0) {
        // All of it sometimes, so that cells become free.
        for (unsigned i = random() % 2 == 0 ? 1 : there; i > 0; --i, --there) ASSERT_TRUE(filter.erase(key));
      } else {
        ASSERT_FALSE(filter.erase(key));
      }
      ASSERT_EQ(filter.count(key), there);
      ASSERT_EQ(filter.may_contain(key), there != 0);
      stashed += filter.stashed() != 0 ? 1 : 0;
      if (step % 500 != 0) continue;
      std::uint64_t distinct = 0;
      for (std::uint64_t i = 1; i <= 230; ++i) {
        ASSERT_EQ(filter.count(mix64(i)), held[high_word(mix64(i), filter.geometry().values())]);
      }
      for (const auto& [value, count] : held) distinct += count != 0 ? 1 : 0;
      ASSERT_EQ(filter.keys().keys, distinct);
    }
    EXPECT_GT(refused, 100U);
    EXPECT_GT(stashed, 1000U);
  }
}

TEST(Dleft, ASetHoldsAKeyOnceAndErasesNothing) {
  auto filter = make({.keys = 1000, .fpr = 0.001, .mode = "set"});
  const auto digests = random_digests(9, 1000);
  for (int round = 0; round < 20; ++round) ASSERT_EQ(filter.add_until_full(digests).taken, digests.size());
  EXPECT_EQ(filter.used().occurrences, filter.keys().keys);
  for (const std::uint64_t digest : digests) ASSERT_EQ(filter.count(digest), 1U);
  const auto before = filter.clone();
  EXPECT_FALSE(filter.erase(digests[0]));
  EXPECT_TRUE(filter == *before);
  EXPECT_EQ(filter.check_erase().error().code, errc::unsupported);
  EXPECT_TRUE(make({.keys = 10, .fpr = 0.01}).check_erase());
  EXPECT_EQ(dleft::make({.keys = 10, .fpr = 0.01, .mode = "bag"}).error().code, errc::unknown_mode);
  EXPECT_FALSE(filter == make({.keys = 1000, .fpr = 0.001}));
}

TEST(Dleft, ErasingAKeyThatWasNeverInsertedCanTakeAnotherAway) {
  // The limit that the manual states: a false positive cannot be distinguished from a key.
  auto filter = make({.keys = 200, .fpr = 0.1});
  const auto digests = random_digests(10, 200);
  filter.add_batch(digests);
  std::mt19937_64 generator(11);
  std::uint64_t stranger = generator();
  while (filter.count(stranger) != 1) stranger = generator();
  EXPECT_TRUE(filter.erase(stranger));
  std::uint64_t lost = 0;
  for (const std::uint64_t digest : digests) lost += filter.may_contain(digest) ? 0U : 1U;
  EXPECT_EQ(lost, 1U);
}

TEST(Dleft, AMergeCountsTheKeysOfBoth) {
  for (const char* mode : {"multiset", "set"}) {
    auto a = make({.keys = 3000, .fpr = 0.001, .mode = mode});
    auto b = make({.keys = 3000, .fpr = 0.001, .mode = mode});
    auto both = make({.keys = 3000, .fpr = 0.001, .mode = mode});
    const auto digests = random_digests(13, 2500);
    // 500 of them in both, the first hundred of which twice in each.
    const auto first = std::span(digests).first(1500);
    const auto second = std::span(digests).subspan(1000);
    for (dleft* to : {&a, &both}) to->add_batch(first);
    for (dleft* to : {&b, &both}) to->add_batch(second);
    for (dleft* to : {&a, &b, &both, &both}) to->add_batch(std::span(digests).subspan(1000, 100));
    ASSERT_TRUE(a.merge(b));
    for (const std::uint64_t digest : digests) ASSERT_EQ(a.count(digest), both.count(digest)) << mode;
    EXPECT_EQ(a.keys().keys, both.keys().keys);
    EXPECT_EQ(a.used().occurrences, both.used().occurrences);
    if (a.mode() == dleft_mode::set) continue;
    // And everything can leave again.
    EXPECT_EQ(erase_batch(a, first) + erase_batch(a, second), 3000U);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(erase_batch(a, std::span(digests).subspan(1000, 100)), 100U);
    EXPECT_EQ(a.keys().keys, 0U);
    a.clear();
    EXPECT_TRUE(a == make({.keys = 3000, .fpr = 0.001}));
  }
}

TEST(Dleft, AMergeThatDoesNotFitIsRefusedAndChangesNothing) {
  auto a = of_shape(10, 20);
  auto b = of_shape(10, 20);
  a.add_batch(random_digests(14, 250));
  b.add_batch(random_digests(15, 250));
  auto before = a.clone();
  EXPECT_EQ(a.merge(b).error().code, errc::full);
  EXPECT_TRUE(a == *before);
  EXPECT_EQ(a.keys().keys, before->keys().keys);
  a.clear();
  b.clear();
  for (int i = 0; i < 8; ++i) a.insert(77);
  for (int i = 0; i < 8; ++i) b.insert(77);
  before = a.clone();
  EXPECT_EQ(a.merge(b).error().code, errc::too_many_copies);
  EXPECT_TRUE(a == *before);
  EXPECT_EQ(a.merge(of_shape(11, 20)).error().code, errc::mismatch);
  EXPECT_EQ(a.merge(of_shape(10, 21)).error().code, errc::mismatch);
  EXPECT_EQ(a.merge(of_shape(10, 20, dleft_mode::set)).error().code, errc::mismatch);
  EXPECT_TRUE(a == *before);
  // The stash of the other one comes along.
  auto one = of_shape(1, 30);
  auto two = of_shape(1, 30);
  const auto digests = random_digests(2, 38);
  two.add_batch(digests);
  EXPECT_EQ(two.stashed(), 6U);
  ASSERT_TRUE(one.merge(two));
  for (const std::uint64_t digest : digests) ASSERT_EQ(one.count(digest), 1U);
}

}  // namespace
}  // namespace bloomery::dleft_testing
