#include <gtest/gtest.h>

#include <bloomery/kinds/bloom.hpp>
#include <set>

namespace {

using namespace bloomery;

TEST(Bloom, ProbesAreThePublishedSequence) {
  auto filter = bloom::make({.keys = 10, .bits = 1000, .hashes = 5});
  ASSERT_TRUE(filter);
  const std::uint64_t digest = 0x123456789abcdef0ULL;
  filter->insert(digest);
  std::set<std::uint64_t> expected;
  std::uint64_t x = digest;
  for (int i = 0; i < 5; ++i) {
    expected.insert(static_cast<std::uint64_t>((static_cast<uint128>(x) * 1000) >> 64U));
    x *= 0xd1342543de82ef95ULL;
  }
  std::set<std::uint64_t> set_bits;
  const auto bytes = filter->payload();
  for (std::uint64_t i = 0; i < 1000; ++i) {
    if ((std::to_integer<unsigned>(bytes[i / 8]) >> (i % 8) & 1U) != 0) set_bits.insert(i);
  }
  EXPECT_EQ(set_bits, expected);
}

TEST(Bloom, WideDigestsUseBothWords) {
  auto filter = bloom::make({.keys = 1000, .fpr = 1e-9});
  ASSERT_TRUE(filter);
  EXPECT_EQ(filter->insert(digest128{1ULL << 63U, 1}), insert_result::inserted);
  EXPECT_TRUE(filter->may_contain(digest128{1ULL << 63U, 1}));
  EXPECT_FALSE(filter->may_contain(digest128{1ULL << 63U, 0x9000000000000001ULL}));
}

// Few probes, as many as there is a loop of their own for, and more; in the caches and beyond; digests of both widths.
TEST(Bloom, BatchesAnswerAsSingleKeysDoForEveryNumberOfProbes) {
  for (const std::uint64_t bits : {std::uint64_t{40'000}, std::uint64_t{40'000'000}}) {
    for (unsigned hashes = 1; hashes <= 16; ++hashes) {
      for (const bool wide : {false, true}) {
        auto filter = bloom::make({.keys = 1000, .bits = bits, .hashes = hashes, .takes_digest128 = wide});
        ASSERT_TRUE(filter);
        std::vector<std::uint64_t> narrow_digests;
        std::vector<digest128> takes_digest128;
        for (std::uint64_t i = 0; i < 1000; ++i) {
          narrow_digests.push_back(mix64(i));
          takes_digest128.push_back({mix64(i), mix64(i + 1'000'000)});
          // Every third key, so that answers differ from one to the next.
          if (i % 3 != 0) continue;
          wide ? filter->insert(takes_digest128.back()) : filter->insert(narrow_digests.back());
        }
        std::vector<std::uint64_t> mask(mask_words(1000), ~std::uint64_t{0});
        wide ? filter->may_contain_batch(std::span<const digest128>(takes_digest128), mask)
             : filter->may_contain_batch(std::span<const std::uint64_t>(narrow_digests), mask);
        for (std::uint64_t i = 0; i < 1000; ++i) {
          const bool one = wide ? filter->may_contain(takes_digest128[i]) : filter->may_contain(narrow_digests[i]);
          ASSERT_EQ(mask[i / 64] >> (i % 64) & 1U, one ? 1U : 0U)
              << hashes << " probes, " << bits << " bits, key " << i;
          ASSERT_TRUE(one || i % 3 != 0);
        }
      }
    }
  }
}

TEST(Bloom, BitsPastTheEndAreRefused) {
  auto filter = bloom::make({.keys = 10, .bits = 100});
  auto buffer = aligned_buffer::make(16, "test");
  buffer->data()[15] = std::byte{0x80};
  const auto loaded = bloom::adopt(filter->shape(), std::move(*buffer));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, errc::bad_field);
}

TEST(Bloom, FoldingByAFactorThatDoesNotDivideIsRefused) {
  auto filter = bloom::make({.keys = 10, .bits = 1000});
  EXPECT_EQ(filter->fold(3).error().code, errc::cannot_fold);
  EXPECT_EQ(filter->fold(0).error().code, errc::cannot_fold);
  EXPECT_TRUE(filter->fold(125));
  EXPECT_EQ(filter->fold(250).error().code, errc::cannot_fold);
}

TEST(Bloom, HostileShapesAreRefusedBeforeAnythingIsAllocated) {
  const auto good = bloom::make({.keys = 10, .bits = 1000})->shape();
  for (const auto& [index, value] : {std::pair<std::size_t, std::uint64_t>{0, 0},
                                     {0, 7},
                                     {0, max_filter_bits + 1},
                                     {0, ~std::uint64_t{0}},
                                     {1, 0},
                                     {1, 65},
                                     {1, ~std::uint64_t{0}},
                                     {2, 1},
                                     {7, 1}}) {
    auto shape = good;
    shape.field[index] = value;
    EXPECT_FALSE(bloom::payload_bytes(shape)) << index << " " << value;
  }
}

}  // namespace
