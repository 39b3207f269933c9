#include <gtest/gtest.h>

#include <bit>
#include <bloomery/kernels/blocked_dispatch.hpp>
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
    for (const std::size_t count : {0U, 1U, 63U, 64U, 65U, 1000U}) {
      const auto digests = random_digests(count, 1);
      const auto queries = random_digests(count + 70, 2);
      std::vector<std::uint64_t> expected_words;
      std::vector<std::uint64_t> expected_mask;
      std::uint64_t expected_inserted = 0;
      for (const isa level : runnable()) {
        std::vector<std::uint64_t> words(blocks * Layout::words);
        std::vector<std::uint64_t> mask((queries.size() + 63) / 64, ~std::uint64_t{0});
        const blocked_view view{words.data(), blocks, hashes};
        const std::uint64_t inserted = blocked_insert_many<Layout>(words.data(), view, digests, level);
        blocked_ask<Layout>(view, queries, mask, level);
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
    blocked_ask<split64>({words.data(), 1, 8}, queries, mask, level);
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

}  // namespace
