#include <gtest/gtest.h>

#include <algorithm>
#include <bloomery/hash/xxh3.hpp>
#include <bloomery/kinds/bitmap.hpp>
#include <iterator>
#include <random>
#include <set>
#include <vector>

namespace {

using namespace bloomery;

std::vector<std::byte> bytes_of(const bitmap& set) {
  std::vector<std::byte> bytes(set.serialized_bytes());
  EXPECT_TRUE(set.serialize(bytes));
  return bytes;
}

class Bitmap : public testing::Test {
 protected:
  void SetUp() override { enable_bitmap(); }
};

TEST_F(Bitmap, AgreesWithAStdSetUnderRandomInsertsAndErases) {
  std::mt19937_64 generator(1);
  std::set<std::uint64_t> reference;
  auto set = bitmap::make({});
  ASSERT_TRUE(set);
  for (int i = 0; i < 200'000; ++i) {
    // Dense low part, sparse high part: every container form occurs.
    const std::uint64_t key = i % 3 == 0 ? generator() : generator() % 300'000;
    if (generator() % 4 == 0) {
      ASSERT_EQ(set->erase(key), reference.erase(key) == 1);
    } else {
      ASSERT_EQ(set->insert(key) == insert_result::inserted, reference.insert(key).second);
    }
  }
  EXPECT_EQ(set->keys().keys, reference.size());
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t key = generator() % 300'000;
    ASSERT_EQ(set->may_contain(key), reference.count(key) == 1);
  }
}

TEST_F(Bitmap, TheSameSetGivesTheSameBytesHoweverItWasMade) {
  auto up = bitmap::make({});
  auto down = bitmap::make({});
  for (std::uint64_t i = 0; i < 70'000; ++i) up->insert(i);
  up->insert(1ULL << 40U);
  for (std::uint64_t i = 100'000; i-- > 0;) down->insert(i);
  down->insert(1ULL << 40U);
  down->insert(1ULL << 50U);
  down->erase(1ULL << 50U);
  for (std::uint64_t i = 70'000; i < 100'000; ++i) down->erase(i);
  EXPECT_EQ(bytes_of(*up), bytes_of(*down));
  const auto loaded = bitmap::deserialize(up->shape(), bytes_of(*up));
  ASSERT_TRUE(loaded);
  EXPECT_EQ(bytes_of(*loaded), bytes_of(*up));
}

TEST_F(Bitmap, EveryDamagedByteIsRefusedOrAnotherValidSet) {
  auto set = bitmap::make({});
  for (std::uint64_t i = 0; i < 300; ++i) set->insert(i * i);
  for (std::uint64_t i = 0; i < 5000; ++i) set->insert(1'000'000 + 2 * i);
  for (std::uint64_t i = 0; i < 100; ++i) set->insert((5ULL << 33U) + i);
  const auto good = bytes_of(*set);
  for (std::size_t cut = 0; cut < good.size(); cut += cut < 500 ? 1 : 97) {
    EXPECT_FALSE(bitmap::deserialize(set->shape(), std::span(good).first(cut))) << cut;
  }
  std::size_t refused = 0;
  for (std::size_t at = 0; at < good.size(); at += at < 1500 ? 1 : 13) {
    for (const unsigned flip : {1U, 0x80U, 0xffU}) {
      auto bad = good;
      bad[at] ^= static_cast<std::byte>(flip);
      auto loaded = bitmap::deserialize(set->shape(), bad);
      if (!loaded) {
        ++refused;
        continue;
      }
      // Still a set of as many keys: it must hold up under every call.
      EXPECT_EQ(loaded->keys().keys, set->keys().keys);
      loaded->insert(123'456'789);
      EXPECT_TRUE(loaded->may_contain(123'456'789));
      EXPECT_TRUE(loaded->merge(*set));
      EXPECT_FALSE(bytes_of(*loaded).empty());
    }
  }
  EXPECT_GT(refused, 1000U);
}

TEST_F(Bitmap, IntersectionKeepsWhatBothHaveAndDropsEmptyParts) {
  auto a = bitmap::make({});
  auto b = bitmap::make({});
  for (std::uint64_t i = 0; i < 1000; ++i) a->insert(i << 30U);
  for (std::uint64_t i = 0; i < 1000; i += 2) b->insert(i << 30U);
  b->insert(5);
  ASSERT_TRUE(a->intersect(*b));
  EXPECT_EQ(a->keys().keys, 500U);
  EXPECT_FALSE(a->may_contain(1ULL << 30U));
  auto c = bitmap::make({});
  ASSERT_TRUE(a->intersect(*c));
  EXPECT_EQ(a->keys().keys, 0U);
  EXPECT_EQ(bytes_of(*a), bytes_of(*c));
}

// Arrays, bits and runs, as inserts make them and as a file gives them back.
TEST_F(Bitmap, UnionsAndIntersectionsOfEveryFormAgreeWithAStdSet) {
  std::mt19937_64 generator(2);
  const auto random_set = [&] {
    std::set<std::uint64_t> keys;
    for (std::uint64_t high : {0ULL, 1ULL, 2ULL, 3ULL, 1ULL << 20U}) {
      if (generator() % 4 == 0) continue;
      const std::uint64_t step = std::vector<std::uint64_t>{1, 2, 7, 300}[generator() % 4];
      const std::uint64_t count = 1 + generator() % (65536 / step);
      for (std::uint64_t i = 0; i < count; ++i) {
        if (step != 1 || generator() % 500 != 0) keys.insert((high << 16U) + i * step);
      }
    }
    return keys;
  };
  for (int round = 0; round < 5; ++round) {
    const std::set<std::uint64_t> first = random_set();
    const std::set<std::uint64_t> second = random_set();
    const auto make = [](const std::set<std::uint64_t>& keys, bool loaded) {
      auto set = bitmap::make({});
      for (const std::uint64_t key : keys) set->insert(key);
      return loaded ? bitmap::deserialize(set->shape(), bytes_of(*set)) : std::move(set);
    };
    std::set<std::uint64_t> either = first;
    either.insert(second.begin(), second.end());
    std::set<std::uint64_t> both;
    std::set_intersection(first.begin(), first.end(), second.begin(), second.end(), std::inserter(both, both.end()));
    for (const bool loaded : {false, true}) {
      auto merged = make(first, loaded);
      ASSERT_TRUE(merged->merge(*make(second, round % 2 == 0)));
      EXPECT_EQ(merged->keys().keys, either.size()) << round;
      EXPECT_TRUE(*merged == *make(either, false)) << round;
      EXPECT_EQ(bytes_of(*merged), bytes_of(*make(either, true))) << round;
      auto common = make(first, loaded);
      ASSERT_TRUE(common->intersect(*make(second, round % 2 == 0)));
      EXPECT_TRUE(*common == *make(both, false)) << round;
      EXPECT_EQ(bytes_of(*common), bytes_of(*make(both, true))) << round;
    }
    // Changing what was loaded.
    auto changed = make(first, true);
    for (const std::uint64_t key : second) EXPECT_EQ(changed->erase(key), first.count(key) == 1) << key;
    for (const std::uint64_t key : second) changed->insert(key);
    EXPECT_TRUE(*changed == *make(either, false)) << round;
    EXPECT_TRUE(
        std::all_of(either.begin(), either.end(), [&](std::uint64_t key) { return changed->may_contain(key); }));
  }
}

// As CRoaring 0.2.66 writes them, after removeRunCompression and runOptimize.
TEST_F(Bitmap, BytesAreThoseOfCRoaring) {
  auto set = bitmap::make({});
  for (std::uint64_t i = 0; i < 4096; ++i) set->insert(3 * i);
  for (std::uint64_t i = 0; i < 4097; ++i) set->insert((1ULL << 16U) + 3 * i);
  for (std::uint64_t i = 0; i < 65536; ++i) set->insert((2ULL << 16U) + i);
  for (std::uint64_t i = 0; i < 40000; ++i) set->insert((3ULL << 16U) + i + i / 20);
  for (std::uint64_t i = 0; i < 10; ++i) set->insert((4ULL << 16U) + i * i);
  for (std::uint64_t i = 0; i < 100; ++i) set->insert((7ULL << 32U) + i);
  set->insert(~std::uint64_t{0});
  const auto bytes = bytes_of(*set);
  EXPECT_EQ(bytes.size(), 24510U);
  EXPECT_EQ(xxh3{}(bytes.data(), bytes.size()), 0x71a5201f1685dbefU);
}

TEST_F(Bitmap, DenseKeysTakeAboutABitAndSparseOnesSixteen) {
  auto dense = bitmap::make({});
  for (std::uint64_t i = 0; i < 1'000'000; ++i) dense->insert(2 * i);
  EXPECT_NEAR(static_cast<double>(dense->serialized_bytes()) * 8 / 1e6, 2.0, 0.1);
  auto sparse = bitmap::make({});
  for (std::uint64_t i = 0; i < 1'000'000; ++i) sparse->insert(100 * i);
  EXPECT_NEAR(static_cast<double>(sparse->serialized_bytes()) * 8 / 1e6, 16.0, 0.5);
}

TEST_F(Bitmap, AWrongKeyCountInTheHeaderIsRefused) {
  auto set = bitmap::make({});
  set->insert(1);
  auto shape = set->shape();
  shape.keys = 2;
  EXPECT_EQ(bitmap::deserialize(shape, bytes_of(*set)).error().code, errc::bad_field);
}

}  // namespace
