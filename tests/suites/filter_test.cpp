// filter<Kind, Hash>: the front that most programs use. It is generic over the kind: one kind of each sort that it treats differently
// is enough.
#include <algorithm>
#include <array>
#include <bloomery/filter.hpp>
#include <bloomery/hash/murmur3.hpp>
#include <bloomery/hash/xxh64.hpp>
#include <list>
#include <numeric>
#include <thread>
#include <tuple>

#include "support/typed_kinds.hpp"

namespace bloomery::test {
namespace {

template <class K>
class KeyedFilter : public testing::Test {};
TYPED_TEST_SUITE(KeyedFilter, kinds_with<first_of_each<keyed_kinds>>, kind_name);

template <class K>
class KeyedMergedFilter : public testing::Test {};
TYPED_TEST_SUITE(KeyedMergedFilter, kinds_with<first_of_each<keyed_mergeable_kinds>>, kind_name);

template <class K>
class KeyedStaticFilter : public testing::Test {};
TYPED_TEST_SUITE(KeyedStaticFilter, kinds_with<is_static>, kind_name);

template <class K>
class KeyedConcurrentFilter : public testing::Test {};
TYPED_TEST_SUITE(KeyedConcurrentFilter, kinds_with<has_concurrent_writers_of_any_key>, kind_name);

TYPED_TEST(KeyedFilter, TakesKeysOfManyTypes) {
  auto seen = filter<TypeParam>::make({.keys = 1000, .fpr = 0.001});
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->insert("alice"), insert_result::inserted);
  EXPECT_EQ(seen->insert(std::string("alice")), insert_result::present);
  EXPECT_EQ(seen->insert(42), insert_result::inserted);
  EXPECT_EQ(seen->insert(std::uint64_t{42}), insert_result::present);
  EXPECT_EQ(seen->insert(std::tuple("ab", "c")), insert_result::inserted);
  EXPECT_EQ(seen->insert(std::tuple("a", "bc")), insert_result::inserted);
  EXPECT_EQ(seen->insert(prehashed{7}), insert_result::inserted);
  EXPECT_TRUE(seen->may_contain(prehashed{7}));
  EXPECT_TRUE(seen->may_contain("alice"));
  EXPECT_FALSE(seen->may_contain("bob"));
}

TYPED_TEST(KeyedFilter, BatchesOfKeysAgreeWithSingleKeys) {
  auto one = filter<TypeParam>::make({.keys = 1000, .fpr = 0.01});
  auto many = filter<TypeParam>::make({.keys = 1000, .fpr = 0.01});
  std::vector<std::string> keys;
  for (int i = 0; i < 700; ++i) keys.push_back(std::to_string(i));
  std::uint64_t inserted = 0;
  for (const auto& key : keys) inserted += one->insert(key) == insert_result::inserted ? 1U : 0U;
  EXPECT_EQ(many->add_batch(std::span<const std::string>(keys)), inserted);
  EXPECT_TRUE(one->kind() == many->kind());
  for (int i = 700; i < 1400; ++i) keys.push_back(std::to_string(i));
  std::vector<std::uint64_t> mask(mask_words(keys.size()));
  many->may_contain_batch(std::span<const std::string>(keys), mask);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ((mask[i / 64] >> (i % 64)) & 1U, many->may_contain(keys[i]) ? 1U : 0U);
  }
}

TYPED_TEST(KeyedFilter, BatchesAreVectorsArraysSpansAndIterators) {
  const auto make = [] { return std::move(*filter<TypeParam>::make({.keys = 1000, .fpr = 0.01})); };
  auto expected = make();
  for (int i = 0; i < 300; ++i) expected.insert(i);
  std::vector<int> keys(300);
  std::iota(keys.begin(), keys.end(), 0);
  const auto check = [&](const char* what, auto&& insert) {
    auto seen = make();
    insert(seen);
    EXPECT_TRUE(seen == expected) << what;
  };
  check("vector", [&](auto& seen) { seen.add_batch(keys); });
  check("span of keys that may change", [&](auto& seen) { seen.add_batch(std::span<int>(keys)); });
  check("span of constant keys", [&](auto& seen) { seen.add_batch(std::span<const int>(keys)); });
  check("array", [&](auto& seen) {
    std::array<int, 300> array{};
    std::copy(keys.begin(), keys.end(), array.begin());
    seen.add_batch(array);
  });
  check("iterators of a vector", [&](auto& seen) {
    const batch_outcome outcome = seen.insert(keys.begin(), keys.end());
    EXPECT_EQ(outcome.taken, 300U);
    EXPECT_EQ(outcome.inserted, expected.keys().keys);
  });
  check("iterators of a list", [&](auto& seen) {
    const std::list<int> list(keys.begin(), keys.end());
    const batch_outcome outcome = seen.insert(list.begin(), list.end());
    EXPECT_EQ(outcome.taken, 300U);
    EXPECT_EQ(outcome.inserted, expected.keys().keys);
  });
  std::vector<std::uint64_t> mask(mask_words(keys.size()));
  expected.may_contain_batch(keys, mask);
  for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_EQ((mask[i / 64] >> (i % 64)) & 1U, 1U) << i;
}

TYPED_TEST(KeyedFilter, ABatchInsertSetsTheBitsOfTheKeysThatWereNew) {
  auto one = filter<TypeParam>::make({.keys = 1000, .fpr = 0.01});
  auto many = filter<TypeParam>::make({.keys = 1000, .fpr = 0.01});
  std::vector<std::string> keys;
  for (int i = 0; i < 700; ++i) keys.push_back(std::to_string(i % 500));
  std::vector<std::uint64_t> fresh(mask_words(keys.size()), ~std::uint64_t{0});
  const batch_outcome outcome = many->insert_batch(keys, fresh);
  EXPECT_EQ(outcome.taken, keys.size());
  std::uint64_t inserted = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const bool is_new = one->insert(keys[i]) == insert_result::inserted;
    inserted += is_new ? 1U : 0U;
    ASSERT_EQ((fresh[i / 64] >> (i % 64)) & 1U, is_new ? 1U : 0U) << i;
  }
  EXPECT_EQ(outcome.inserted, inserted);
  EXPECT_TRUE(*one == *many);
}

TYPED_TEST(KeyedFilter, AddIsInsertWithoutItsAnswer) {
  auto added = filter<TypeParam>::make({.keys = 1000, .fpr = 0.01});
  auto inserted = filter<TypeParam>::make({.keys = 1000, .fpr = 0.01});
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(added->add(i));
    inserted->insert(i);
  }
  EXPECT_TRUE(*added == *inserted);
  if constexpr (bounded_kind<TypeParam> && !TypeParam::info.grows && !losing<TypeParam>) {
    int key = 1000;
    while (added->add(key)) {
      ASSERT_TRUE(added->may_contain(key));
      ASSERT_LT(++key, 100'000) << "it is never full";
    }
    EXPECT_EQ(added->insert(key), insert_result::full);
  }
}

TYPED_TEST(KeyedFilter, ReportsWhatItHoldsAndIsEmptyAfterClear) {
  auto seen = filter<TypeParam>::make({.keys = 1000, .fpr = 0.01});
  const auto empty = filter<TypeParam>::make({.keys = 1000, .fpr = 0.01});
  const auto seeded = filter<TypeParam>::make({.keys = 1000, .fpr = 0.01}, default_hash{.seed = 1});
  EXPECT_TRUE(*seen == *empty);
  EXPECT_FALSE(*seeded == *empty) << "another seed";
  for (int i = 0; i < 500; ++i) seen->insert(i);
  EXPECT_FALSE(*seen == *empty);
  EXPECT_NEAR(static_cast<double>(seen->keys().keys), 500.0, 10.0);
  EXPECT_NEAR(seen->estimated_keys(), 500.0, 25.0);
  EXPECT_GT(seen->fpr_now(), 0.0);
  EXPECT_GT(seen->fill(), 0.0);
  EXPECT_GT(seen->memory_bytes(), 0U);
  EXPECT_EQ(seen->target_fpr(), seen->kind().target_fpr());
  EXPECT_EQ(seen->capacity_keys(), seen->kind().capacity_keys());
  seen->clear();
  EXPECT_EQ(seen->keys().keys, 0U);
  EXPECT_FALSE(seen->may_contain(1));
}

TEST(KeyedBlocked, IntersectsFiltersOfOneHash) {
  auto a = filter<blocked>::make({.keys = 1000, .fpr = 0.001});
  auto b = filter<blocked>::make({.keys = 1000, .fpr = 0.001});
  for (int i = 0; i < 600; ++i) a->insert(i);
  for (int i = 400; i < 1000; ++i) b->insert(i);
  ASSERT_TRUE(a->intersect(*b));
  for (int i = 400; i < 600; ++i) ASSERT_TRUE(a->may_contain(i)) << i;
  int others = 0;
  for (int i = 0; i < 400; ++i) others += a->may_contain(i) ? 1 : 0;
  EXPECT_LT(others, 20);
  const auto seeded = filter<blocked>::make({.keys = 1000, .fpr = 0.001}, default_hash{.seed = 1});
  EXPECT_EQ(a->intersect(*seeded).error().code, errc::mismatch);
}

// Digests are as wide as the filter takes them, in batches that stop as everywhere else.
TEST(KeyedBoundedFilter, ABatchThatStopsHoldsWhatItTook) {
  std::vector<std::string> keys;
  for (int i = 0; i < 2000; ++i) keys.push_back(std::to_string(i));
  const auto check = [&](auto seen) {
    ASSERT_TRUE(seen);
    const batch_outcome outcome = seen->add_until_full(std::span<const std::string>(keys));
    EXPECT_GE(outcome.taken, 1000U);
    EXPECT_LT(outcome.taken, keys.size());
    for (std::size_t i = 0; i < outcome.taken; ++i) ASSERT_TRUE(seen->may_contain(keys[i])) << i;
    EXPECT_EQ(seen->insert(keys[outcome.taken]), insert_result::full);
  };
  check(filter<scalable>::make({.keys = 1000, .fpr = 0.01, .mode = "fixed"}));
  check(filter<scalable>::make({.keys = 1000, .fpr = 0.01, .layout = "redis", .mode = "fixed"}));
  check(filter<cuckoo>::make({.keys = 1000, .fpr = 0.01}));
}

struct counting_hash {
  static constexpr hash_info info = {.id = 0xffff, .name = "counting", .bits = 64, .seed_bits = 0, .summary = ""};
  static inline std::uint64_t calls = 0;
  std::uint64_t operator()(const void* bytes, std::size_t size) const noexcept {
    ++calls;
    return xxh3{}(bytes, size);
  }
};

TEST(KeyedBoundedFilter, KeysAfterTheOneThatDoesNotFitAreNotHashed) {
  std::vector<std::string> keys;
  for (int i = 0; i < 20'000; ++i) keys.push_back(std::to_string(i));
  constexpr std::uint64_t group = 512;
  const auto check = [&](auto seen, auto again) {
    counting_hash::calls = 0;
    const batch_outcome outcome = seen->add_until_full(std::span<const std::string>(keys));
    EXPECT_GE(outcome.taken, 1000U);
    EXPECT_GT(counting_hash::calls, outcome.taken);
    EXPECT_LE(counting_hash::calls, outcome.taken + group);
    EXPECT_EQ(again->add_batch(std::span<const std::string>(keys)), outcome.inserted);
    EXPECT_TRUE(seen->kind() == again->kind());
  };
  const filter_params fixed{.keys = 1000, .fpr = 0.01, .mode = "fixed"};
  check(filter<scalable, counting_hash>::make(fixed), filter<scalable, counting_hash>::make(fixed));
  const filter_params usual{.keys = 1000, .fpr = 0.01};
  check(filter<cuckoo, counting_hash>::make(usual), filter<cuckoo, counting_hash>::make(usual));
}

TYPED_TEST(KeyedFilter, SelectionsAgreeWithMasks) {
  auto seen = filter<TypeParam>::make({.keys = 1000, .fpr = 0.01});
  std::vector<int> keys(1500);
  for (int i = 0; i < 1500; ++i) keys[static_cast<std::size_t>(i)] = i;
  seen->add_batch(std::span<const int>(keys).subspan(300, 700));
  std::vector<std::uint32_t> expected;
  for (std::uint32_t i = 0; i < 1500; ++i) {
    if (seen->may_contain(keys[i])) expected.push_back(i);
  }
  std::vector<std::uint32_t> selection(keys.size());
  selection.resize(seen->may_contain_select(std::span<const int>(keys), selection));
  EXPECT_EQ(selection, expected);
}

TYPED_TEST(KeyedConcurrentFilter, WritersInsertTheSameBits) {
  for (const double fpr : {0.01, 1e-6}) {
    auto shared = filter<TypeParam>::make({.keys = 4000, .fpr = fpr});
    auto alone = filter<TypeParam>::make({.keys = 4000, .fpr = fpr});
    ASSERT_TRUE(shared);
    for (int i = 0; i < 4000; ++i) alone->insert(i);
    std::vector<std::thread> threads;
    for (int id = 0; id < 4; ++id) {
      threads.emplace_back([&shared, id] {
        auto writer = shared->concurrent();
        for (int i = id; i < 4000; i += 4) {
          writer.insert(i);
          EXPECT_TRUE(writer.may_contain(i));
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_TRUE(shared->kind() == alone->kind());
  }
}

TEST(KeyedBloom, ConcurrentWritersUse128BitDigestsToo) {
  auto seen = filter<bloom>::make({.keys = 1000, .fpr = 1e-15});
  ASSERT_EQ(seen->kind().digest_bits(), 128U);
  {
    auto writer = seen->concurrent();
    EXPECT_EQ(writer.insert("alice"), insert_result::inserted);
    EXPECT_TRUE(writer.may_contain("alice"));
  }
  EXPECT_TRUE(seen->may_contain("alice"));
  EXPECT_EQ(seen->kind().keys().keys, 1U);
}

TYPED_TEST(KeyedFilter, FilesOfAnotherHashSeedOrKeyAreRefused) {
  const std::string path = testing::TempDir() + "bloomery_keyed_" + std::string(TypeParam::info.name) + ".bloom";
  auto seen = filter<TypeParam>::make({.keys = 100, .fpr = 0.01}, default_hash{.seed = 5});
  seen->insert("alice");
  ASSERT_TRUE(seen->save(path.c_str(), {.replace = true}));
  auto again = filter<TypeParam>::load(path.c_str(), default_hash{.seed = 5});
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->may_contain("alice"));
  EXPECT_EQ(filter<TypeParam>::load(path.c_str()).error().code, errc::mismatch);
  const auto other_hash = filter<TypeParam, xxh64>::load(path.c_str());
  EXPECT_EQ(other_hash.error().code, errc::mismatch);
  std::remove(path.c_str());
}

TYPED_TEST(KeyedMergedFilter, OfDifferentSeedsDoNotMerge) {
  auto a = filter<TypeParam>::make({.keys = 100, .fpr = 0.01});
  auto b = filter<TypeParam>::make({.keys = 100, .fpr = 0.01}, default_hash{.seed = 1});
  auto c = filter<TypeParam>::make({.keys = 100, .fpr = 0.01});
  c->insert("carol");
  EXPECT_EQ(a->merge(*b).error().code, errc::mismatch);
  ASSERT_TRUE(a->merge(*c));
  EXPECT_TRUE(a->may_contain("carol"));
}

TYPED_TEST(KeyedFilter, AHashWithTooFewBitsIsRefused) {
  const auto made = filter<TypeParam, murmur3_x86_32>::make({.keys = 1'000'000, .fpr = 0.01});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, errc::not_enough_hash_bits);
}

TEST(KeyedBloom, Uses128BitDigestsWhereTheFilterNeedsThem) {
  // 128-bit digests from p = 1e-15 at 1000 keys on (10 + 50 + 7 bits).
  auto seen = filter<bloom>::make({.keys = 1000, .fpr = 1e-15});
  ASSERT_TRUE(seen);
  ASSERT_EQ(seen->kind().digest_bits(), 128U);
  EXPECT_EQ(seen->insert("alice"), insert_result::inserted);
  EXPECT_TRUE(seen->may_contain("alice"));
  EXPECT_FALSE(seen->kind().may_contain(seen->digest("alice"))) << "the 64-bit digest is another key";
  const std::vector<std::string> keys{"alice", "bob"};
  std::vector<std::uint64_t> mask(1);
  seen->may_contain_batch(std::span<const std::string>(keys), mask);
  EXPECT_EQ(mask[0], 1U);
  const auto narrow = filter<bloom, xxh64>::make({.keys = 1000, .fpr = 1e-15});
  EXPECT_EQ(narrow.error().code, errc::not_enough_hash_bits);
}

TYPED_TEST(KeyedStaticFilter, IsBuiltFromKeysOfAnyType) {
  std::vector<std::string> keys;
  for (int i = 0; i < 2000; ++i) keys.push_back("key-" + std::to_string(i));
  const auto filter = bloomery::filter<TypeParam>::build(std::span<const std::string>(keys), {.fpr = 0.01});
  ASSERT_TRUE(filter) << describe(filter.error()).c_str();
  for (const std::string& key : keys) ASSERT_TRUE(filter->may_contain(key));
  int others = 0;
  for (int i = 0; i < 2000; ++i) others += filter->may_contain("other-" + std::to_string(i)) ? 1 : 0;
  EXPECT_LT(others, 60);
  std::vector<std::uint64_t> mask(mask_words(keys.size()));
  filter->may_contain_batch(std::span<const std::string>(keys), mask);
  for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_EQ((mask[i / 64] >> (i % 64)) & 1U, 1U) << i;
  // A hash of 32 bits serves few keys only.
  const auto narrow =
      bloomery::filter<TypeParam, murmur3_x86_32>::build(std::span<const std::string>(keys), {.fpr = 1e-6});
  ASSERT_FALSE(narrow);
  EXPECT_EQ(narrow.error().code, errc::not_enough_hash_bits);
}

TEST(KeyedBitmap, IsExactAndErases) {
  enable_everything();
  auto set = filter<bitmap, identity>::make({});
  ASSERT_TRUE(set);
  EXPECT_EQ(set->insert(42), insert_result::inserted);
  EXPECT_EQ(set->insert(std::uint64_t{1} << 60U), insert_result::inserted);
  EXPECT_TRUE(set->may_contain(42));
  EXPECT_TRUE(set->erase(42));
  EXPECT_FALSE(set->may_contain(42));
  EXPECT_FALSE(set->may_contain(43));
}

}  // namespace
}  // namespace bloomery::test
