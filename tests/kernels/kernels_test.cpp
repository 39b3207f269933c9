#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <bloomery/filter.hpp>
#include <bloomery/kinds/blocked.hpp>
#include <bloomery/kinds/bloom.hpp>

#include "kernels/check.hpp"

namespace {

using namespace kernels_check;

// The instruction sets that this processor can run.
std::vector<isa> runnable() {
  std::vector<isa> levels;
  std::copy_if(all_isas.begin(), all_isas.end(), std::back_inserter(levels), has_isa);
  return levels;
}

TEST(BlockedKernels, EveryInstructionSetGivesTheSameBitsAndAnswers) {
  for (const isa level : runnable()) EXPECT_EQ(kernel_difference(level), "");
}

TEST(BlockedKernels, BatchesAnswerAsTheScalarCodeDoesForSingleKeys) {
  const auto digests = random_digests(1000, 4);
  for (unsigned hashes = 1; hashes <= 16; ++hashes) {
    const batch_answers<split64> batch(digest_feed(digests.data()), 500, 1000, 100, hashes, isa::scalar);
    for (std::size_t i = 0; i < digests.size(); ++i) {
      ASSERT_EQ((batch.mask[i / 64] >> (i % 64)) & 1U,
                blocked_contains<split64>({batch.words.data(), 100, hashes}, digests[i]) ? 1U : 0U);
    }
  }
}

// What a program calls: the pointers behind single keys after the choice, or inlined code.
template <class Layout>
void expect_single_calls_as_scalar(unsigned hashes) {
  std::vector<std::uint64_t> scalar(100 * Layout::words);
  std::vector<std::uint64_t> single(scalar.size());
  std::vector<std::uint64_t> added(scalar.size());
  const blocked_view scalar_view{scalar.data(), 100, hashes};
  const blocked_view single_view{single.data(), 100, hashes};
  for (const std::uint64_t digest : random_digests(3000, 5)) {
    ASSERT_EQ(blocked_insert_one<Layout>(single.data(), single_view, digest),
              blocked_insert<Layout>(scalar.data(), scalar_view, digest));
    blocked_add_one<Layout>(added.data(), {added.data(), 100, hashes}, digest);
    ASSERT_EQ(blocked_contains_one<Layout>(single_view, ~digest), blocked_contains<Layout>(scalar_view, ~digest));
  }
  EXPECT_EQ(single, scalar);
  EXPECT_EQ(added, scalar);
}
TEST(BlockedKernels, SingleCallsGiveTheBitsAndAnswersOfTheScalarCode) {
  expect_single_calls_as_scalar<split64>(9);
  expect_single_calls_as_scalar<split32>(8);
}

TEST(BlockedKernels, MaskBitsPastTheLastAnswerAreZero) {
  std::vector<std::uint64_t> words(8, ~std::uint64_t{0});
  const auto queries = random_digests(70, 3);
  for (const isa level : runnable()) {
    std::vector<std::uint64_t> mask(2, ~std::uint64_t{0});
    blocked_batch_kernels<split64>::for_isa(level).contains_batch({words.data(), 1, 8}, queries.size(),
                                                                  digest_feed(queries.data()), mask.data());
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

// What a batch of keys answers and sets must be what the keys one by one do, whatever their lengths.
template <class H = xxh3, class Key>
void expect_batches_like_single_keys(const std::vector<Key>& keys, std::uint64_t seed) {
  const filter_params size{.keys = 400, .fpr = 0.01};
  auto batch = filter<blocked, H>::make(size, H{seed});
  auto single = filter<blocked, H>::make(size, H{seed});
  ASSERT_TRUE(batch && single);
  const std::span<const Key> all(keys);
  const std::span<const Key> half = all.first(keys.size() / 2);
  std::uint64_t inserted = 0;
  for (const Key& key : half) inserted += single->insert(key) == insert_result::inserted ? 1U : 0U;
  EXPECT_EQ(batch->add_batch(half), inserted);
  EXPECT_TRUE(batch->kind() == single->kind());
  std::vector<std::uint64_t> mask(mask_words(keys.size()));
  batch->may_contain_batch(all, mask);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ((mask[i / 64] >> (i % 64)) & 1U, single->may_contain(keys[i]) ? 1U : 0U) << i;
  }
}

TEST(BatchHashing, TextOfEveryRangeOfLengthsIsHashedAsOneByOne) {
  for (const auto& [shortest, longest] : length_ranges) {
    for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{0x123456789abcdef0}}) {
      expect_batches_like_single_keys<xxh3>(keys_of_length(shortest, longest, 411), seed);
      expect_batches_like_single_keys<mum2>(keys_of_length(shortest, longest, 411), seed);
    }
  }
}

template <class H>
void expect_digests_of_every_length(const H& hash) {
  for (std::size_t size = 0; size <= 140; ++size) {
    const auto keys = keys_of_length(size, size, 8);
    const key_digests<H, std::string> source{hash, keys};
    std::array<std::uint64_t, 8> digests{};
    ASSERT_EQ(source(0, keys.size(), digests.data()), digests.data());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(digests[i], hash(keys[i].data(), keys[i].size())) << "length " << size;
    }
  }
}
TEST(BatchHashing, TextOfEachLengthGivesTheDigestOfTheLibrary) {
  for (const std::uint64_t seed : {std::uint64_t{0}, ~std::uint64_t{0}}) {
    expect_digests_of_every_length(xxh3{seed});
    expect_digests_of_every_length(mum2{seed});
  }
}

// Pointers and arrays of characters are text too, however much they look like numbers to a template.
TEST(BatchHashing, TextInOtherTypesIsHashedAsOneByOne) {
  const auto text = keys_of_length(20, 40, 411);
  std::vector<const char*> pointers;
  std::vector<std::array<char, 16>> arrays(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    pointers.push_back(text[i].c_str());
    std::copy_n(text[i].begin(), 16, arrays[i].begin());
  }
  expect_batches_like_single_keys(pointers, 3);
  expect_batches_like_single_keys(arrays, 3);
}

TEST(BatchHashing, IntegersAreHashedAsTheirEightBytes) {
  const auto keys = random_digests(411, 7);
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{5}, ~std::uint64_t{0}}) {
    expect_batches_like_single_keys<xxh3>(keys, seed);
    expect_batches_like_single_keys<mum2>(keys, seed);
    expect_batches_like_single_keys<mum>(keys, seed);
    expect_batches_like_single_keys<aes2>(keys, seed);
    const xxh3 hash{seed};
    for (const std::uint64_t key : keys) {
      const std::uint64_t stored = little_endian(key);
      ASSERT_EQ(hash.integer(key), hash(&stored, sizeof(stored)));
    }
  }
}

// Loops over single keys, with what depends on the filter decided beforehand.
TEST(WithLookup, AnswersAsMayContainDoes) {
  const auto keys = random_digests(3000, 8);
  const auto compare = [&](const filter_params& params) {
    auto seen = filter<blocked, mum>::make(params);
    ASSERT_TRUE(seen);
    seen->add_batch(std::span(keys).first(1000));
    const auto differ = seen->with_lookup([&](const auto& asks) {
      return std::count_if(keys.begin(), keys.end(),
                           [&](std::uint64_t key) { return asks(key) != seen->may_contain(key); });
    });
    EXPECT_EQ(differ, 0);
    const auto found =
        seen->with_lookup([&](const auto& asks) { return std::count_if(keys.begin(), keys.begin() + 1000, asks); });
    EXPECT_EQ(found, 1000);
  };
  for (unsigned hashes = 1; hashes <= 16; ++hashes) compare({.keys = 1000, .hashes = hashes, .bits_per_key = 12.0});
  compare({.keys = 1000, .bits_per_key = 12.0, .layout = "split32"});
}

// Kinds that have nothing to decide answer through it too.
TEST(WithLookup, ServesEveryKindAndEveryTypeOfKey) {
  auto seen = filter<bloom>::make({.keys = 100, .fpr = 0.01});
  ASSERT_TRUE(seen);
  seen->insert("alice");
  EXPECT_TRUE(seen->with_lookup([](const auto& asks) { return asks("alice") && !asks(std::string("bob")); }));
}

}  // namespace
