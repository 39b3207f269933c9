#include <gtest/gtest.h>

#include <bit>
#include <bloomery/filter.hpp>
#include <bloomery/kernels/blocked_dispatch.hpp>
#include <bloomery/kinds/blocked.hpp>
#include <random>
#include <vector>

namespace {

using namespace bloomery;
using namespace bloomery::kernels;

std::vector<std::uint64_t> random_digests(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<std::uint64_t> digests(count);
  for (auto& digest : digests) digest = generator();
  return digests;
}

// The instruction sets that this processor can run.
std::vector<isa> runnable() {
  std::vector<isa> levels{isa::scalar};
  if (best_isa() == isa::avx2) levels.push_back(isa::avx2);
  return levels;
}

template <class Layout>
void expect_same_bits_and_answers(unsigned hashes) {
  for (const std::uint64_t blocks : {1ULL, 3ULL, 1000ULL}) {
    for (const std::size_t count : {0U, 1U, 3U, 4U, 63U, 64U, 65U, 127U, 128U, 1000U}) {
      const auto digests = random_digests(count, 1);
      const auto queries = random_digests(count + 70, 2);
      std::vector<std::uint64_t> expected_words;
      std::vector<std::uint64_t> expected_mask;
      std::uint64_t expected_inserted = 0;
      for (const isa level : runnable()) {
        std::vector<std::uint64_t> words(blocks * Layout::words);
        std::vector<std::uint64_t> mask((queries.size() + 63) / 64, ~std::uint64_t{0});
        const blocked_view view{words.data(), blocks, hashes};
        const std::uint64_t inserted =
            blocked_insert_many<Layout>(words.data(), view, digests.size(), given_digests{digests.data()}, level);
        blocked_ask<Layout>(view, queries.size(), given_digests{queries.data()}, mask.data(), level);
        for (std::size_t i = 0; i < queries.size(); ++i) {
          ASSERT_EQ((mask[i / 64] >> (i % 64)) & 1U, blocked_contains<Layout>(view, queries[i]) ? 1U : 0U);
        }
        if (level == isa::scalar) {
          expected_words = words;
          expected_mask = mask;
          expected_inserted = inserted;
        }
        ASSERT_EQ(words, expected_words) << isa_name(level) << " k " << hashes;
        ASSERT_EQ(mask, expected_mask) << isa_name(level) << " k " << hashes;
        ASSERT_EQ(inserted, expected_inserted) << isa_name(level) << " k " << hashes;
      }
    }
  }
}

TEST(BlockedKernels, EveryInstructionSetGivesTheSameBitsAndAnswersForSplit64) {
  for (unsigned hashes = 1; hashes <= 16; ++hashes) expect_same_bits_and_answers<split64>(hashes);
}

TEST(BlockedKernels, EveryInstructionSetGivesTheSameBitsAndAnswersForSplit32) {
  expect_same_bits_and_answers<split32>(8);
}

template <class Layout>
void expect_single_calls_to_agree(unsigned hashes) {
  std::vector<std::uint64_t> scalar(100 * Layout::words);
  std::vector<std::uint64_t> single(100 * Layout::words);
  const blocked_view scalar_view{scalar.data(), 100, hashes};
  const blocked_view single_view{single.data(), 100, hashes};
  for (const std::uint64_t digest : random_digests(3000, hashes)) {
    ASSERT_EQ(blocked_insert_one<Layout>(single.data(), single_view, digest),
              blocked_insert<Layout>(scalar.data(), scalar_view, digest));
  }
  ASSERT_EQ(single, scalar);
  for (const std::uint64_t digest : random_digests(3000, hashes + 100)) {
    ASSERT_EQ(blocked_contains_one<Layout>(single_view, digest), blocked_contains<Layout>(scalar_view, digest));
  }
}

TEST(BlockedKernels, SingleCallsGiveTheBitsAndAnswersOfTheScalarCode) {
  for (unsigned hashes = 1; hashes <= 16; ++hashes) expect_single_calls_to_agree<split64>(hashes);
  expect_single_calls_to_agree<split32>(8);
}

TEST(BlockedKernels, MaskBitsPastTheLastAnswerAreZero) {
  std::vector<std::uint64_t> words(8, ~std::uint64_t{0});
  const auto queries = random_digests(70, 3);
  for (const isa level : runnable()) {
    std::vector<std::uint64_t> mask(2, ~std::uint64_t{0});
    blocked_ask<split64>({words.data(), 1, 8}, queries.size(), given_digests{queries.data()}, mask.data(), level);
    EXPECT_EQ(mask[0], ~std::uint64_t{0});
    EXPECT_EQ(mask[1], 63U);
  }
}

TEST(BlockedKernels, AKeySetsTheBitsThatItsLayoutStates) {
  for (unsigned hashes = 1; hashes <= 16; ++hashes) {
    unsigned least = 64;
    unsigned most = 0;
    for (const std::uint64_t digest : random_digests(2000, hashes)) {
      const auto masks = split64::bits(digest, hashes);
      unsigned bits = 0;
      for (const std::uint64_t mask : masks) {
        bits += static_cast<unsigned>(std::popcount(mask));
        ASSERT_LE(std::popcount(mask), hashes <= 8 ? 1 : 2);
      }
      least = std::min(least, bits);
      most = std::max(most, bits);
    }
    EXPECT_EQ(most, hashes);
    EXPECT_EQ(hashes <= 8 ? least : hashes, hashes);
  }
}

// The worked values of the layout's definition in kernels/blocked.hpp, computed by hand from the formula: a change of
// the bits is a change of the file format.
TEST(BlockedKernels, TheBitsOfSplit64AreFrozen) {
  const auto masks = split64::bits(0x0123456789abcdefULL, 5);
  const std::uint64_t y = 0x0123456789abcdefULL * 0x9e3779b97f4a7c15ULL;
  const auto x = static_cast<std::uint32_t>(y >> 32U);
  const unsigned rotation = static_cast<unsigned>(y >> 29U) % 8;
  const std::uint32_t salts[] = {0x47b6137bU, 0x44974d91U, 0x8824ad5bU, 0xa2b7289dU,
                                 0x705495c7U, 0x2df1424bU, 0x9efc4947U, 0x5c6bfb31U};
  for (unsigned lane = 0; lane < 8; ++lane) {
    const bool used = (lane + 8 - rotation) % 8 < 5;
    EXPECT_EQ(masks[lane], used ? std::uint64_t{1} << ((x * salts[lane]) / (1U << 26U)) : 0U);
  }
  EXPECT_EQ(split64::block(0x8000000000000000ULL, 7), 3U);
  EXPECT_EQ(split32::block(0x8000000000000000ULL, 7), 3U);
}

// Each key has memory of its own, so that a sanitizer sees a read past it.
std::vector<std::string> keys_of_length(std::size_t shortest, std::size_t longest, std::size_t count) {
  std::mt19937_64 generator(shortest * 1000 + longest);
  std::vector<std::string> keys(count);
  for (auto& key : keys) {
    key.resize(shortest + generator() % (longest - shortest + 1));
    for (char& c : key) c = static_cast<char>(generator());
  }
  return keys;
}

// What a batch of keys answers and sets must be what the keys one by one do, whatever their lengths.
template <class Key>
void expect_batches_like_single_keys(const std::vector<Key>& keys, std::uint64_t seed) {
  const filter_params size{.keys = 400, .fpr = 0.01};
  auto batch = filter<blocked>::make(size, xxh3{seed});
  auto single = filter<blocked>::make(size, xxh3{seed});
  ASSERT_TRUE(batch && single);
  const std::span<const Key> all(keys);
  const std::span<const Key> half = all.first(keys.size() / 2);
  std::uint64_t inserted = 0;
  for (const Key& key : half) inserted += single->insert(key) == insert_result::inserted ? 1U : 0U;
  EXPECT_EQ(batch->insert_batch(half), inserted);
  EXPECT_TRUE(batch->kind() == single->kind());
  std::vector<std::uint64_t> mask(mask_words(keys.size()));
  batch->may_contain_batch(all, mask);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ((mask[i / 64] >> (i % 64)) & 1U, single->may_contain(keys[i]) ? 1U : 0U) << i;
  }
}

TEST(BatchHashing, TextOfEveryRangeOfLengthsIsHashedAsOneByOne) {
  constexpr std::array<std::pair<std::size_t, std::size_t>, 11> ranges = {
      {{0, 3}, {4, 8}, {9, 15}, {16, 16}, {9, 16}, {17, 32}, {33, 64}, {65, 96}, {97, 128}, {33, 128}, {0, 300}}};
  for (const auto& [shortest, longest] : ranges) {
    for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{0x123456789abcdef0}}) {
      expect_batches_like_single_keys(keys_of_length(shortest, longest, 411), seed);
    }
  }
}

TEST(BatchHashing, TextOfEachLengthGivesTheDigestOfTheLibrary) {
  for (std::size_t size = 0; size <= 140; ++size) {
    const auto keys = keys_of_length(size, size, 8);
    for (const std::uint64_t seed : {std::uint64_t{0}, ~std::uint64_t{0}}) {
      const xxh3 hash{seed};
      const digest_source<xxh3, std::string> source{hash, keys};
      std::array<std::uint64_t, 8> digests{};
      ASSERT_EQ(source(0, keys.size(), digests.data()), digests.data());
      for (std::size_t i = 0; i < keys.size(); ++i) {
        ASSERT_EQ(digests[i], hash(keys[i].data(), keys[i].size())) << "length " << size;
      }
    }
  }
}

TEST(BatchHashing, IntegersAreHashedAsTheirEightBytes) {
  const auto keys = random_digests(411, 7);
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{5}, ~std::uint64_t{0}}) {
    expect_batches_like_single_keys(keys, seed);
    const xxh3 hash{seed};
    for (const std::uint64_t key : keys) {
      const std::uint64_t stored = little_endian(key);
      ASSERT_EQ(hash.integer(key), hash(&stored, sizeof(stored)));
    }
  }
}

}  // namespace
