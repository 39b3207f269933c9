#include <gtest/gtest.h>

#include <array>
#include <bloomery/filter.hpp>
#include <bloomery/hash/list.hpp>
#include <bloomery/kinds/blocked.hpp>
#include <bloomery/kinds/bloom.hpp>
#include <cmath>
#include <string>
#include <vector>

namespace {

using namespace bloomery;

// Computed from the definition at the top of hash/mum.hpp by another program, with integers of any size.
TEST(Mum, HasTheDigestsOfItsDefinition) {
  struct row {
    std::uint64_t key;
    std::uint64_t seed;
    std::uint64_t digest;
  };
  constexpr std::array rows = {
      row{0x0ULL, 0x0ULL, 0x581221456f68dc30ULL},
      row{0x1ULL, 0x0ULL, 0xdf76227a43f99a03ULL},
      row{0x2ULL, 0x0ULL, 0xf45bce85c2f26831ULL},
      row{0x2aULL, 0x0ULL, 0x65344f16d4d16781ULL},
      row{0xffffffffffffffffULL, 0x0ULL, 0xc1d697132a0bd632ULL},
      row{0x123456789abcdefULL, 0x0ULL, 0xe12ef3ed8fa765e1ULL},
      row{0xa4093822299f31d0ULL, 0x0ULL, 0x0000000000000000ULL},
      row{0x1ULL, 0x1ULL, 0x581221456f68dc30ULL},
      row{0x1ULL, 0xffffffffffffffffULL, 0xb9ac04ce52f9c171ULL},
      row{0x8000000000000000ULL, 0x9e3779b97f4a7c15ULL, 0x1fadd05c4f8c0080ULL},
  };
  for (const row& each : rows) EXPECT_EQ(mum{each.seed}.integer(each.key), each.digest) << each.key;
}

// Computed from the definition at the top of hash/mum2.hpp by another program, with integers of any size.
TEST(Mum2, HasTheDigestsOfItsDefinition) {
  struct row {
    std::uint64_t key;
    std::uint64_t seed;
    std::uint64_t digest;
  };
  constexpr std::array rows = {
      row{0x0ULL, 0x0ULL, 0x0000000000000000ULL},
      row{0x1ULL, 0x0ULL, 0x233362f924c17fd2ULL},
      row{0x2ULL, 0x0ULL, 0x479695f4a5d0ff95ULL},
      row{0x2aULL, 0x0ULL, 0x4997ca646d4675aeULL},
      row{0xffffffffffffffffULL, 0x0ULL, 0xffffffffffffffffULL},
      row{0x123456789abcdefULL, 0x0ULL, 0x6005010f94687bb3ULL},
      row{0x8000000000000000ULL, 0x0ULL, 0x55e4397ca97abf85ULL},
      row{0x1ULL, 0x1ULL, 0xed9c980869de6ba6ULL},
      row{0x1ULL, 0xffffffffffffffffULL, 0xa3aa74fa8af17feaULL},
      row{0x8000000000000000ULL, 0x9e3779b97f4a7c15ULL, 0x3441286b02199cb7ULL},
  };
  for (const row& each : rows) EXPECT_EQ(mum2{each.seed}.integer(each.key), each.digest) << each.key;
}

// Wide digests are those of XXH3 for keys of every size, so that no bits of an integer are lost to a product.
TEST(Mum2, HasTheWideDigestsOfXxh3) {
  const std::string text(40, 'x');
  for (std::size_t size = 0; size <= text.size(); ++size) {
    EXPECT_EQ(mum2{7}.hash128(text.data(), size), xxh3{7}.hash128(text.data(), size)) << size;
  }
}

TEST(Mum2, TakesAnIntegerItsBytesAndTheStringOfTheseBytesForOneKey) {
  const std::string text("\x2a\0\0\0\0\0\0\0", 8);
  const std::array<unsigned char, 8> bytes = {42};
  const hasher by = hasher::of(mum2{9});
  const std::uint64_t digest = digest_of(mum2{9}, 42);
  EXPECT_EQ(digest_of(mum2{9}, std::uint8_t{42}), digest);
  EXPECT_EQ(digest_of(mum2{9}, text), digest);
  EXPECT_EQ(digest_of(mum2{9}, bytes), digest);
  EXPECT_EQ(digest_of(by, 42), digest);
  EXPECT_EQ(digest_of(by, text), digest);
  EXPECT_NE(digest_of(mum2{9}, -1), digest_of(mum2{9}, 0xffffffffU));
}

// The definition at the top of hash/aes2.hpp, computed byte by byte by another program.
TEST(Aes2, HasTheDigestsOfItsDefinition) {
  struct row {
    std::uint64_t key;
    std::uint64_t seed;
    std::uint64_t digest;
  };
  constexpr std::array rows = {
      row{0x0ULL, 0x0ULL, 0xb84de95e5c08e932ULL},
      row{0x1ULL, 0x0ULL, 0xf3557b2150589d26ULL},
      row{0x2ULL, 0x0ULL, 0x3a5532287b4d5eafULL},
      row{0x2aULL, 0x0ULL, 0x70f4cc51ff1b1a59ULL},
      row{0xffffffffffffffffULL, 0x0ULL, 0x64e1b4fca1448c06ULL},
      row{0x123456789abcdefULL, 0x0ULL, 0x3ff18b9e25a968b9ULL},
      row{0x13198a2e03707344ULL, 0x0ULL, 0xe139d15cf829fa96ULL},
      row{0x1ULL, 0x1ULL, 0xd5f7799cb8d00297ULL},
      row{0x1ULL, 0xffffffffffffffffULL, 0x2fd90af2071d13a6ULL},
      row{0x8000000000000000ULL, 0x9e3779b97f4a7c15ULL, 0x84003038032f9a5dULL},
  };
  for (const row& each : rows) {
    EXPECT_EQ(aes2{each.seed}.integer(each.key), each.digest) << each.key;
    EXPECT_EQ(aes2::by_table(each.key, aes2{each.seed}.first_key()), each.digest) << each.key;
  }
}

// integer() takes what the machine has; the table is for machines that have nothing.
TEST(Aes2, HasTheSameDigestsFromTheTable) {
  std::uint64_t key = 1;
  for (unsigned i = 0; i < 20'000; ++i) {
    key = key * 6'364'136'223'846'793'005ULL + 1'442'695'040'888'963'407ULL;
    const aes2 hash{key * 77};
    ASSERT_EQ(hash.integer(key), aes2::by_table(key, hash.first_key())) << key;
  }
}

template <class H>
class IntegerHash : public testing::Test {};
using integer_hashes = testing::Types<mum, aes2, mum2>;
struct hash_names {
  template <class H>
  static std::string GetName(int /*index*/) {
    return std::string(H::info.name);
  }
};
TYPED_TEST_SUITE(IntegerHash, integer_hashes, hash_names);

TYPED_TEST(IntegerHash, TakesEightBytesForAnIntegerAndOtherSizesAsXxh3Does) {
  constexpr std::array<unsigned char, 8> bytes = {1, 2, 3, 4, 5, 6, 7, 0x88};
  EXPECT_EQ(TypeParam{7}(bytes.data(), 8), TypeParam{7}.integer(0x8807060504030201ULL));
  const std::string text(40, 'x');
  for (std::size_t size = 0; size <= text.size(); ++size) {
    if (size == 8) continue;
    EXPECT_EQ(TypeParam{7}(text.data(), size), xxh3{7}(text.data(), size)) << size;
  }
}

// How many standard deviations the false positives of a filter lie from those that the kind has with random digests. The
// keys are number(0), number(1) and so on; the filter holds the first half.
template <class K, class H, class Number>
double deviation(const filter_params& size, std::uint64_t keys, Number number) {
  auto seen = filter<K, H>::make(size);
  auto random = filter<K, xxh3>::make(size);
  EXPECT_TRUE(seen && random);
  for (std::uint64_t i = 0; i < keys; ++i) {
    seen->insert(number(i));
    random->insert(i);
  }
  std::uint64_t found = 0;
  std::uint64_t expected = 0;
  for (std::uint64_t i = keys; i < 4 * keys; ++i) {
    found += seen->may_contain(number(i)) ? 1U : 0U;
    expected += random->may_contain(i) ? 1U : 0U;
  }
  // Both counts vary.
  return (static_cast<double>(found) - static_cast<double>(expected)) /
         std::sqrt(static_cast<double>(found + expected) + 1);
}

// 81 comparisons of each hash that a hash without fault passes: one of them exceeds 5 by chance once in 20,000 runs of another seed.
// A single multiplication fails at several steps, by 100 and more, and so do AES rounds of a block that is half zeros.
TYPED_TEST(IntegerHash, KeepsTheRateOnCountersStepsAndGrids) {
  constexpr std::uint64_t keys = 60'000;
  const filter_params narrow{.keys = keys, .bits_per_key = 10.0, .layout = "split32"};
  const filter_params usual{.keys = keys, .bits_per_key = 10.0};
  const auto compare = [&](const std::string& what, auto number) {
    EXPECT_LT((deviation<blocked, TypeParam>(narrow, keys, number)), 5) << "split32, " << what;
    EXPECT_LT((deviation<blocked, TypeParam>(usual, keys, number)), 5) << "split64, " << what;
    EXPECT_LT((deviation<bloom, TypeParam>(usual, keys, number)), 5) << "bloom, " << what;
  };
  for (unsigned shift = 0; shift <= 44; shift += 4) {
    compare("steps of 2^" + std::to_string(shift), [&](std::uint64_t i) { return i << shift; });
  }
  for (const std::uint64_t step : {10ULL, 48ULL, 1000ULL, 65'537ULL, 86'400'000'000ULL}) {
    compare("steps of " + std::to_string(step), [&](std::uint64_t i) { return 1'700'000'000'000'000ULL + i * step; });
  }
  for (const unsigned shift : {10U, 17U, 24U, 31U, 32U, 40U, 48U}) {
    compare("a grid with 2^" + std::to_string(shift), [&](std::uint64_t i) { return i % 500 | ((i / 500) << shift); });
  }
  compare("bytes in the other order", [](std::uint64_t i) { return __builtin_bswap64(i); });
  compare("powers of two", [](std::uint64_t i) { return (std::uint64_t{1} << (i % 64)) + i / 64 * 65'537; });
}

// A bit of the key flips every bit of the digest half of the time. 4,096 keys: a fair bit lies within 6 standard deviations.
TYPED_TEST(IntegerHash, EveryBitOfAKeyFlipsEveryBitOfTheDigestHalfOfTheTime) {
  constexpr unsigned keys = 4096;
  std::uint64_t key = 1;
  std::vector<std::array<unsigned, 64>> flips(64);
  for (unsigned i = 0; i < keys; ++i) {
    key = key * 6'364'136'223'846'793'005ULL + 1'442'695'040'888'963'407ULL;
    const std::uint64_t digest = TypeParam{}.integer(key ^ (key >> 32U));
    for (unsigned bit = 0; bit < 64; ++bit) {
      const std::uint64_t change = digest ^ TypeParam {}.integer(key ^ (key >> 32U) ^ (std::uint64_t{1} << bit));
      for (unsigned out = 0; out < 64; ++out) flips[bit][out] += static_cast<unsigned>((change >> out) & 1U);
    }
  }
  for (unsigned bit = 0; bit < 64; ++bit) {
    for (unsigned out = 0; out < 64; ++out) {
      EXPECT_NEAR(flips[bit][out], keys / 2, 6 * 32 + keys / 256) << "key bit " << bit << ", digest bit " << out;
    }
  }
}

// Two filters of the same keys with other seeds do not err on the same keys.
TYPED_TEST(IntegerHash, AnotherSeedIsAnotherFunction) {
  constexpr std::uint64_t keys = 50'000;
  auto first = filter<blocked, TypeParam>::make({.keys = keys, .fpr = 0.02}, TypeParam{1});
  auto second = filter<blocked, TypeParam>::make({.keys = keys, .fpr = 0.02}, TypeParam{2});
  ASSERT_TRUE(first && second);
  for (std::uint64_t i = 0; i < keys; ++i) {
    first->insert(i);
    second->insert(i);
  }
  std::uint64_t one = 0;
  std::uint64_t both = 0;
  for (std::uint64_t i = keys; i < 21 * keys; ++i) {
    const bool found = first->may_contain(i);
    one += found ? 1U : 0U;
    both += found && second->may_contain(i) ? 1U : 0U;
  }
  EXPECT_GT(one, 15'000U);
  // Expected: 400, give or take 20.
  EXPECT_LT(both, 540U);
}

}  // namespace
