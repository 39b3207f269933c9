// Digests of four words, against the hash that they are made of.
#include <gtest/gtest.h>
#include <bloomery/hash/murmur3.hpp>

#include <bloomery/hash/hasher.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace bloomery;

TEST(Widest, AreTheHashOfTheKeyAndOfTheKeyWithOneByteMore) {
  // All sizes around blocks of 16: where the byte begins a word, ends one, and ends a block.
  for (std::size_t size = 0; size < 100; ++size) {
    std::string key;
    for (std::size_t i = 0; i < size; ++i) key.push_back(static_cast<char>(i * 37 + size));
    const std::string longer = key + '\x01';
    for (const std::uint32_t seed : {0U, 1U, 0xffffffffU}) {
      const murmur3_x64_128 hash{.seed = seed};
      const digest128 first = hash.hash128(key.data(), key.size());
      const digest128 second = hash.hash128(longer.data(), longer.size());
      const digest256 expected{{first.low, first.high, second.low, second.high}};
      ASSERT_EQ(hash.hash256(key.data(), key.size()), expected) << size << " bytes, seed " << seed;
    }
  }
}

TEST(Widest, ComeInBatchesFromAHashChosenAtRunTime) {
  const std::vector<std::string_view> keys = {"", "a", "fifteen bytes..", "sixteen bytes...", "seventeen bytes.."};
  std::vector<digest256> all(keys.size());
  const murmur3_x64_128 hash{.seed = 7};
  hasher::of(hash).digests256(keys, all);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(all[i], hash.hash256(keys[i].data(), keys[i].size())) << keys[i];
  }
}

// Other hashes have no such digests; what they give instead is of use, and always the same.
TEST(Widest, OfOtherHashesBeginWithTheirWideDigest) {
  const std::vector<std::string_view> keys = {"", "alice", "bob"};
  for (const char* name : {"xxh3", "fnv1", "xxh64"}) {
    const auto hash = hasher::make(name);
    ASSERT_TRUE(hash);
    std::vector<digest256> widest(keys.size());
    std::vector<digest128> wide(keys.size());
    hash->digests256(keys, widest);
    hash->digests128(keys, wide);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      EXPECT_EQ((digest128{widest[i].word[0], widest[i].word[1]}), wide[i]) << name;
      EXPECT_NE(widest[i].word[2], widest[i].word[3]) << name;
    }
    EXPECT_NE(widest[1], widest[2]) << name;
  }
}

}  // namespace
