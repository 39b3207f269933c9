// sharded<K>: answers, FPRs, merges, capacity, and many threads. Its files are in shard_set_test.cpp.
#include <gtest/gtest.h>
#include <bloomery/hash/murmur3.hpp>
#include <bloomery/hash/xxh64.hpp>

#include <algorithm>
#include <array>
#include <bloomery/core/binomial.hpp>
#include <bloomery/wrappers/sharded.hpp>
#include <string>
#include <thread>
#include <vector>

#include "support/memory.hpp"
#include "support/typed_kinds.hpp"

namespace {

using namespace bloomery;
using namespace bloomery::test;

std::vector<prehashed> digests_from(std::uint64_t first, std::uint64_t count) {
  std::vector<prehashed> digests;
  digests.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) digests.push_back({sample_digest(first + i)});
  return digests;
}
std::span<const prehashed> view(const std::vector<prehashed>& digests) { return digests; }

template <class K>
sharded<K> make(std::uint64_t keys, unsigned shards, double fpr = 0.01) {
  auto made = sharded<K>::make({.keys = keys, .fpr = fpr}, shards);
  if (!made) ADD_FAILURE() << describe(made.error()).c_str();
  return std::move(*made);
}

template <class Of>
std::uint64_t hits(const Of& filter, const std::vector<prehashed>& digests) {
  std::vector<std::uint64_t> mask(mask_words(digests.size()));
  filter.may_contain_batch(view(digests), mask);
  std::uint64_t found = 0;
  for (const std::uint64_t word : mask) found += static_cast<std::uint64_t>(std::popcount(word));
  return found;
}

TEST(Shard, TheShardOfADigestNeverChanges) {
  EXPECT_EQ(shard_of(std::uint64_t{0}, 16), 15U);
  EXPECT_EQ(shard_of(std::uint64_t{1}, 16), 4U);
  EXPECT_EQ(shard_of(~std::uint64_t{0}, 4096), 289U);
  EXPECT_EQ(shard_of(digest128{.low = 1, .high = 2}, 16), shard_of(std::uint64_t{1}, 16));
}

TEST(Shard, NoShardGetsMoreKeysThanItWasMadeFor) {
  for (const unsigned shards : {2U, 3U, 16U, 1000U, 4096U}) {
    for (const std::uint64_t keys : {std::uint64_t{1}, std::uint64_t{100}, std::uint64_t{50'000}}) {
      std::vector<std::uint64_t> counts(shards);
      for (std::uint64_t i = 0; i < keys; ++i) ++counts[shard_of(sample_digest(i), shards)];
      EXPECT_LE(*std::max_element(counts.begin(), counts.end()), shard_keys(keys, shards)) << shards << " of " << keys;
    }
  }
  EXPECT_EQ(shard_keys(1000, 1), 1000U);
  EXPECT_LE(shard_keys(4'000'000, 4), 1'006'000U);
}

TEST(Shard, NamesHaveTheDigitsOfTheirNumber) {
  EXPECT_STREQ(shard_label(0, 1).c_str(), "00-of-01");
  EXPECT_STREQ(shard_label(7, 99).c_str(), "07-of-99");
  EXPECT_STREQ(shard_label(7, 100).c_str(), "007-of-100");
  EXPECT_STREQ(shard_label(4095, 4096).c_str(), "4095-of-4096");
}

template <class K>
class Sharded : public testing::Test {};
TYPED_TEST_SUITE(Sharded, kinds_with<first_of_each<keyed_kinds>>, kind_name);

TYPED_TEST(Sharded, EveryKeyIsFoundHoweverItCame) {
  for (const unsigned shards : {1U, 3U, 64U}) {
    constexpr std::uint64_t keys = 5000;
    auto one_by_one = make<TypeParam>(keys, shards);
    auto at_once = make<TypeParam>(keys, shards);
    const auto digests = digests_from(0, keys);
    std::uint64_t inserted = 0;
    for (const prehashed& key : digests) inserted += one_by_one.insert(key) == insert_result::inserted ? 1U : 0U;
    const guarded_outcome outcome = at_once.add_batch(view(digests));
    EXPECT_EQ(outcome.inserted, inserted);
    EXPECT_EQ(outcome.refused, 0U);
    EXPECT_EQ(at_once.keys().keys, one_by_one.keys().keys);
    EXPECT_EQ(hits(one_by_one, digests), keys);
    EXPECT_EQ(hits(at_once, digests), keys);
    for (const prehashed& key : digests) ASSERT_TRUE(at_once.may_contain(key));
    EXPECT_EQ(at_once.shards(), shards);
    EXPECT_GE(at_once.capacity_keys(), keys);
  }
}

// At 99.9 % confidence a rate above the promise would be seen. A shard chosen by bits that the kind uses would fill a part of
// its blocks only.
TYPED_TEST(Sharded, TheRateIsThePromisedOne) {
  for (const unsigned shards : {2U, 16U}) {
    constexpr std::uint64_t keys = 60'000;
    constexpr std::uint64_t probes = 400'000;
    auto filter = make<TypeParam>(keys, shards);
    filter.add_batch(view(digests_from(0, keys)));
    const std::uint64_t found = hits(filter, digests_from(1'000'000, probes));
    EXPECT_LE(binomial::lower_bound(found, probes, 0.001), 0.01) << shards << " shards: " << found;
    // What it reports of itself agrees: the true FPR lies within a tenth, or the promise has not been used up.
    EXPECT_LE(binomial::lower_bound(found, probes, 0.001), filter.fpr_now() * 1.1);
    EXPECT_GE(binomial::upper_bound(found, probes, 0.001), filter.fpr_now() * 0.8);
  }
}

TYPED_TEST(Sharded, ClearForgetsAndSharesNothing) {
  auto filter = make<TypeParam>(1000, 4);
  const auto digests = digests_from(0, 1000);
  filter.add_batch(view(digests));
  filter.clear();
  EXPECT_EQ(filter.keys().keys, 0U);
  EXPECT_EQ(hits(filter, digests), 0U);
  EXPECT_TRUE(filter == make<TypeParam>(1000, 4));
}

TYPED_TEST(Sharded, MemoryThatIsRefusedIsAnErrorAndNothingIsLost) {
  for (std::uint64_t refused = 0; refused < 100; ++refused) {
    counting_memory memory(refused);
    {
      const auto made = sharded<TypeParam>::make({.keys = 1000, .fpr = 0.01, .memory = &memory.hooks}, 3);
      if (made) {
        EXPECT_GE(refused, 3U);
        return;
      }
      EXPECT_EQ(made.error().code, errc::out_of_memory);
    }
    EXPECT_EQ(memory.live, 0U);
  }
  FAIL() << "it never succeeds";
}

template <class K>
class ShardedMerge : public testing::Test {};
TYPED_TEST_SUITE(ShardedMerge, kinds_with<first_of_each<keyed_mergeable_kinds>>, kind_name);

TYPED_TEST(ShardedMerge, FindsTheKeysOfBoth) {
  auto a = make<TypeParam>(4000, 5);
  auto b = make<TypeParam>(4000, 5);
  a.add_batch(view(digests_from(0, 1500)));
  b.add_batch(view(digests_from(1500, 400)));
  const auto done = a.merge(b);
  ASSERT_TRUE(done) << error_of(done);
  EXPECT_EQ(hits(a, digests_from(0, 1900)), 1900U);
  EXPECT_NEAR(a.estimated_keys(), 1900, 100);
  EXPECT_EQ(hits(b, digests_from(1500, 400)), 400U);
}

TYPED_TEST(ShardedMerge, RefusesWhatIsNotAlike) {
  auto a = make<TypeParam>(1000, 4);
  a.add_batch(view(digests_from(0, 500)));
  auto same = make<TypeParam>(1000, 4);
  same.add_batch(view(digests_from(0, 500)));
  EXPECT_EQ(error_of(a.merge(make<TypeParam>(1000, 5))),
            "the filters do not fit together: one is of 4 shards, the other of 5");
  const auto seeded = sharded<TypeParam>::make({.keys = 1000, .fpr = 0.01}, 4, default_hash{.seed = 9});
  EXPECT_EQ(error_of(a.merge(*seeded)), "the filters do not fit together: they use different seeds or keys");
  EXPECT_TRUE(a == same);
}

TEST(ShardedMergeOfScalable, ARefusalLeavesAllShardsAsTheyWere) {
  const filter_params params{.keys = 4000, .fpr = 0.01, .mode = "fixed"};
  auto a = sharded<scalable>::make(params, 4);
  auto same = sharded<scalable>::make(params, 4);
  auto b = sharded<scalable>::make(params, 4);
  a->add_batch(view(digests_from(0, 3500)));
  same->add_batch(view(digests_from(0, 3500)));
  // Only the last shard is so full that the promise would break.
  for (const prehashed& key : digests_from(10'000, 14'000)) {
    if (shard_of(key.digest, 4) == 3 && b->shard(3).keys().keys < 1000) b->insert(key);
  }
  const auto refused = a->merge(*b);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::merge_exceeds_target) << error_of(refused);
  EXPECT_TRUE(*a == *same);
}

template <class K>
class ShardedErase : public testing::Test {};
struct keyed_erasable_kinds : keyed_kinds {
  template <class K>
  static constexpr bool of = keyed_kinds::of<K>&& erasable<K>&& countable<K>;
};
TYPED_TEST_SUITE(ShardedErase, kinds_with<first_of_each<keyed_erasable_kinds>>, kind_name);

TYPED_TEST(ShardedErase, TakesOutWhatWasPutIn) {
  auto filter = make<TypeParam>(2000, 7, 1e-4);
  filter.add_batch(view(digests_from(0, 2000)));
  const auto first = digests_from(0, 999);
  EXPECT_EQ(filter.erase_batch(view(first)), 999U);
  EXPECT_TRUE(filter.erase(prehashed{sample_digest(999)}));
  EXPECT_LE(hits(filter, first), 5U);
  EXPECT_EQ(hits(filter, digests_from(1000, 1000)), 1000U);
  if constexpr (countable<TypeParam>) {
    EXPECT_GE(filter.count(prehashed{sample_digest(1500)}), 1U);
    EXPECT_EQ(filter.count(prehashed{sample_digest(77'777)}), 0U);
  }
}

TEST(ShardedCuckoo, ABatchTakesWhatFitsAndSaysWhatDoesNot) {
  auto filter = make<cuckoo>(1000, 4);
  const auto digests = digests_from(0, 4000);
  const guarded_outcome outcome = filter.add_batch(view(digests));
  EXPECT_GT(outcome.refused, 0U);
  EXPECT_LE(outcome.inserted + outcome.refused, digests.size());
  EXPECT_EQ(filter.keys().keys, outcome.inserted);
  EXPECT_GE(outcome.inserted, 1000U);
  EXPECT_GE(hits(filter, digests), digests.size() - outcome.refused);
}

TEST(ShardedFuse, IsBuiltFromAllKeysAtOnce) {
  std::vector<std::uint64_t> keys(20'000);
  for (std::uint64_t i = 0; i < keys.size(); ++i) keys[i] = i;
  const auto filter = sharded<fuse>::build(std::span<const std::uint64_t>(keys), {.fpr = 0.01}, 8);
  ASSERT_TRUE(filter) << error_of(filter);
  for (const std::uint64_t key : keys) ASSERT_TRUE(filter->may_contain(key));
  EXPECT_EQ(filter->keys().keys, keys.size());
  std::uint64_t found = 0;
  for (std::uint64_t i = 0; i < 100'000; ++i) found += filter->may_contain(1'000'000 + i) ? 1U : 0U;
  EXPECT_LE(binomial::lower_bound(found, 100'000, 0.001), filter->target_fpr());
}

// Copies count once, as in a filter in one piece: 2^13 keys at 1/512 need 29 bits of the hash, 2^17 need 33.
TEST(ShardedRibbon, CopiesNeedNoMoreBitsOfTheHash) {
  const auto build = [](std::uint64_t different) {
    std::vector<std::uint64_t> keys(std::size_t{1} << 17U);
    for (std::uint64_t i = 0; i < keys.size(); ++i) keys[i] = i % different;
    return sharded<ribbon, murmur3_x86_32>::build(std::span<const std::uint64_t>(keys), {.fpr = 1.0 / 512}, 4);
  };
  const auto copies = build(std::uint64_t{1} << 13U);
  ASSERT_TRUE(copies) << error_of(copies);
  EXPECT_LE(copies->keys().keys, std::uint64_t{1} << 13U);
  const auto others = build(std::uint64_t{1} << 17U);
  ASSERT_FALSE(others);
  EXPECT_EQ(others.error().code, errc::not_enough_hash_bits);
  EXPECT_EQ(others.error().number[1], 33U);
}

TEST(ShardedRibbon, MemoryIsThatOfAllShards) {
  std::vector<std::uint64_t> keys(20'000);
  for (std::uint64_t i = 0; i < keys.size(); ++i) keys[i] = i;
  const auto filter = sharded<ribbon>::build(std::span<const std::uint64_t>(keys), {.memory_bytes = 30'000}, 4);
  ASSERT_TRUE(filter) << error_of(filter);
  std::uint64_t bytes = 0;
  for (unsigned i = 0; i < 4; ++i) {
    bytes += filter->shard(i).memory_bytes();
    EXPECT_LE(filter->shard(i).target_fpr(), filter->target_fpr());
  }
  EXPECT_LE(bytes, 30'000U);
  EXPECT_GE(bytes, 25'000U);
  for (const std::uint64_t key : keys) ASSERT_TRUE(filter->may_contain(key));
}

sharded<cascade> built_from(const std::vector<prehashed>& in, const std::vector<prehashed>& out, unsigned shards,
                            const filter_params& params = {}) {
  auto made = sharded<cascade>::build(view(in), view(out), params, shards, {}, 2);
  if (!made) {
    ADD_FAILURE() << describe(made.error()).c_str();
    std::abort();
  }
  return std::move(*made);
}

TEST(ShardedCascade, IsExactAboutBothListsAtAnyNumberOfShards) {
  const auto in = digests_from(0, 3000);
  const auto out = digests_from(10'000, 50'000);
  const auto few = digests_from(3000, 5);
  for (const unsigned shards : {1U, 2U, 7U, 64U, 4096U}) {
    for (const auto& [one, other] :
         {std::pair(in, out), std::pair(out, in), std::pair(few, out), std::pair(out, few)}) {
      const auto filter = built_from(one, other, shards);
      EXPECT_EQ(hits(filter, one), one.size()) << shards;
      EXPECT_EQ(hits(filter, other), 0U) << shards;
      for (const prehashed& key : few) ASSERT_EQ(filter.may_contain(key), hits(filter, {key}) != 0);
      EXPECT_EQ(filter.keys().keys, one.size());
      EXPECT_EQ(filter.capacity_keys(), one.size() + other.size());
    }
  }
}

// Shards with nothing of one list, or of both, say what is right for the other.
TEST(ShardedCascade, AShardWithNothingOfAListIsExactAboutTheOther) {
  constexpr unsigned shards = 4;
  std::array<std::vector<prehashed>, 2> lists;  // shard 0 has the first alone, 1 the second, 2 both, 3 none
  std::vector<prehashed> strangers;
  for (const prehashed& key : digests_from(0, 8000)) {
    const unsigned at = shard_of(key.digest, shards);
    if (at == 3) {
      strangers.push_back(key);
    } else {
      lists[at == 2 ? lists[0].size() % 2 : at].push_back(key);
    }
  }
  const auto filter = built_from(lists[0], lists[1], shards);
  EXPECT_EQ(hits(filter, lists[0]), lists[0].size());
  EXPECT_EQ(hits(filter, lists[1]), 0U);
  EXPECT_EQ(hits(filter, strangers), 0U) << "of a shard without keys";
  EXPECT_EQ(filter.shard(0).excluded_keys(), 0U);
  EXPECT_EQ(filter.shard(1).keys().keys, 0U);
  EXPECT_EQ(filter.shard(3).memory_bytes(), 0U);
  EXPECT_EQ(filter.target_fpr(), 1.0) << "of shard 0, which excludes nothing and says yes to all";
  const auto bounded = built_from(lists[0], lists[1], shards, {.fpr = 0.01});
  EXPECT_EQ(hits(bounded, lists[0]), lists[0].size());
  EXPECT_EQ(hits(bounded, lists[1]), 0U);
  EXPECT_EQ(bounded.target_fpr(), 0.01);
  EXPECT_LE(bounded.fpr_now(), 0.01);
  const std::vector<prehashed> nothing;
  EXPECT_EQ(hits(built_from(nothing, lists[1], shards), lists[1]), 0U);
  EXPECT_EQ(hits(built_from(lists[0], nothing, shards), lists[0]), lists[0].size());
  EXPECT_EQ(hits(built_from(nothing, nothing, shards), lists[0]), 0U);
}

TEST(ShardedCascade, KeysInBothListsAreCountedOverAllShards) {
  const auto in = digests_from(0, 2000);
  auto out = digests_from(1900, 10'000);
  out.push_back(out[0]);  // counts once
  const auto made = sharded<cascade>::build(view(in), view(out), {}, 16);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, errc::in_both_lists);
  EXPECT_EQ(made.error().number[0], 100U);
  const auto named = std::find_if(in.begin() + 1900, in.end(),
                                  [&](const prehashed& key) { return key.digest == made.error().number[1]; });
  EXPECT_NE(named, in.end());
  EXPECT_FALSE(sharded<cascade>::build(view(in), {}, 16)) << "neither a second list nor a rate";
  EXPECT_TRUE(sharded<cascade>::build(view(in), {.fpr = 0.1}, 16));
  EXPECT_EQ(error_of(sharded<cascade>::build(view(in), view(out), {}, 0)),
            "number of shards 0 is not usable: give 1 to 4096");
}

TEST(ShardedCascade, MemoryThatIsRefusedIsAnErrorAndNothingIsLost) {
  const auto in = digests_from(0, 200);
  const auto out = digests_from(1000, 3000);
  for (std::uint64_t refused = 0; refused < 200; ++refused) {
    counting_memory memory(refused);
    {
      const auto made = sharded<cascade>::build(view(in), view(out), {.memory = &memory.hooks}, 3, {}, 1);
      if (made) {
        EXPECT_GE(refused, 6U);
        return;
      }
      EXPECT_EQ(made.error().code, errc::out_of_memory);
    }
    EXPECT_EQ(memory.live, 0U);
  }
  FAIL() << "it never succeeds";
}

TEST(ShardedBloom, TakesDigestsOf128Bits) {
  auto filter = make<bloom>(1'000'000, 4, 1e-12);
  ASSERT_EQ(filter.shard(0).digest_bits(), 128U);
  std::vector<std::string> keys;
  for (int i = 0; i < 3000; ++i) keys.push_back("key " + std::to_string(i));
  EXPECT_EQ(filter.add_batch(std::span<const std::string>(keys)).inserted, 3000U);
  std::vector<std::uint64_t> mask(mask_words(keys.size()));
  filter.may_contain_batch(std::span<const std::string>(keys), mask);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_TRUE(filter.may_contain(keys[i]));
    EXPECT_EQ(mask[i / 64] >> (i % 64) & 1U, 1U);
  }
  EXPECT_FALSE(filter.may_contain("another"));
}

TEST(ShardedBloom, ADigestMustTellTheKeysOfAllShardsApart) {
  // 64 bits would do for each of them.
  const filter_params params{.keys = 4'000'000, .fpr = 1e-11};
  const auto wide = sharded<bloom>::make(params, 16);
  ASSERT_TRUE(wide) << error_of(wide);
  EXPECT_EQ(wide->shard(15).digest_bits(), 128U);
  const auto refused = sharded<bloom, xxh64>::make(params, 16);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::not_enough_hash_bits);
}

TEST(ShardedBloom, ImpossibleNumbersOfShardsAreRefused) {
  const filter_params params{.keys = 10, .fpr = 0.01};
  EXPECT_EQ(error_of(sharded<bloom>::make(params, 0)), "number of shards 0 is not usable: give 1 to 4096");
  EXPECT_EQ(error_of(sharded<bloom>::make(params, 4097)), "number of shards 4097 is not usable: give 1 to 4096");
  EXPECT_TRUE(sharded<bloom>::make(params, 4096));
}

// Run under ThreadSanitizer as well.
template <class K>
class ShardedConcurrent : public testing::Test {};
TYPED_TEST_SUITE(ShardedConcurrent, kinds_with<first_of_each<keyed_kinds>>, kind_name);

constexpr unsigned thread_count = 4;

template <class F>
void on_threads(F&& f) {
  std::vector<std::thread> threads;
  for (unsigned id = 0; id < thread_count; ++id) threads.emplace_back([&f, id] { f(id); });
  for (auto& thread : threads) thread.join();
}

TYPED_TEST(ShardedConcurrent, NoInsertIsLostByManyWritersAndReaders) {
  constexpr std::uint64_t each = 5000;
  auto filter = make<TypeParam>(thread_count * each, 8, 1e-6);
  std::atomic<std::uint64_t> inserted = 0;
  on_threads([&](unsigned id) {
    const auto digests = digests_from(id * each, each);
    for (std::size_t i = 0; i < each / 2; ++i) {
      inserted += filter.insert(digests[i]) == insert_result::inserted ? 1U : 0U;
      ASSERT_TRUE(filter.may_contain(digests[i])) << "a thread sees its own inserts";
      if (i % 1000 == 0) static_cast<void>(filter.keys());
    }
    const auto rest = view(digests).subspan(each / 2);
    inserted += filter.add_batch(rest).inserted;
    EXPECT_EQ(hits(filter, digests), each);
  });
  EXPECT_EQ(hits(filter, digests_from(0, thread_count * each)), thread_count * each);
  EXPECT_EQ(filter.keys().keys, inserted.load());
}

TYPED_TEST(ShardedConcurrent, EqualKeysOfAllThreadsAreThere) {
  constexpr std::uint64_t keys = 3000;
  auto filter = make<TypeParam>(keys * thread_count, 3);
  const auto digests = digests_from(0, keys);
  std::atomic<std::uint64_t> refused = 0;
  on_threads([&](unsigned /*id*/) { refused += filter.add_batch(view(digests)).refused; });
  // Copies of a key share few places of a kind with an end, and take them from other keys. What is not there was refused
  // by every thread, and each reported it.
  const std::uint64_t missing = keys - hits(filter, digests);
  EXPECT_LE(thread_count * missing, refused.load());
  if (!bounded_kind<TypeParam>) {
    EXPECT_EQ(refused.load(), 0U);
  }
}

TEST(ShardedConcurrentErase, OtherThreadsKeysStay) {
  constexpr std::uint64_t each = 2000;
  auto filter = make<cuckoo>(2 * thread_count * each, 8, 1e-4);
  filter.add_batch(view(digests_from(0, thread_count * each)));
  on_threads([&](unsigned id) {
    const auto mine = digests_from(id * each, each);
    const auto added = digests_from((thread_count + id) * each, each);
    for (std::size_t i = 0; i < each; ++i) {
      ASSERT_TRUE(filter.erase(mine[i]));
      filter.insert(added[i]);
    }
    EXPECT_EQ(hits(filter, added), each);
  });
  EXPECT_EQ(filter.keys().keys, thread_count * each);
  EXPECT_EQ(hits(filter, digests_from(thread_count * each, thread_count * each)), thread_count * each);
}

TEST(SharedLockConcurrent, WritersAreAloneAndReadersSeeWholeStates) {
  shared_lock lock;
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  std::atomic<std::uint64_t> torn = 0;
  on_threads([&](unsigned id) {
    for (int i = 0; i < 5000; ++i) {
      if ((i + static_cast<int>(id)) % 3 == 0) {
        const write_guard alone(lock);
        ++first;
        ++second;
      } else {
        const read_guard with_others(lock);
        torn += first == second ? 0U : 1U;
      }
    }
  });
  EXPECT_EQ(torn.load(), 0U);
  EXPECT_EQ(first, second);
  EXPECT_NEAR(static_cast<double>(first), thread_count * 5000 / 3.0, thread_count);
}

}  // namespace
