// Kind counting: merges, intersections and folds, its sizes, and what of parameters and files it refuses.
#include <algorithm>
#include <bloomery/kinds/bloom.hpp>

#include "kinds/counting_support.hpp"

namespace bloomery::counting_testing {
namespace {

TEST(Counting, AMergeIsTheFilterOfAllTheInserts) {
  for (const char* layout : layouts) {
    auto a = make(layout, 1000);
    auto b = make(layout, 1000);
    auto both = make(layout, 1000);
    std::mt19937_64 digests(11);
    for (int i = 0; i < 400; ++i) {
      const std::uint64_t key = digests();
      // Counts from 0 to 20 on each side, sums up to 40: also where one side or both are stuck.
      for (int times = 0; times < i % 21; ++times) {
        a.insert(key);
        both.insert(key);
      }
      for (int times = 0; times < i % 17; ++times) {
        b.insert(key);
        both.insert(key);
      }
    }
    EXPECT_GT(a.saturated(), 0U);
    ASSERT_TRUE(a.merge(b));
    EXPECT_TRUE(a == both) << layout;
    EXPECT_EQ(a.saturated(), both.saturated());
    EXPECT_FALSE(a.keys().exact);
  }
}

TEST(Counting, MergedKeysCanBeErasedFromBothSides) {
  for (const char* layout : layouts) {
    auto a = make(layout, 1000);
    auto b = make(layout, 1000);
    a.insert(1234567891011ULL << 20U);
    b.insert(1234567891011ULL << 20U);
    ASSERT_TRUE(a.merge(b));
    EXPECT_EQ(a.count(1234567891011ULL << 20U), 2U);
    EXPECT_TRUE(a.erase(1234567891011ULL << 20U));
    EXPECT_TRUE(a.may_contain(1234567891011ULL << 20U));
    EXPECT_TRUE(a.erase(1234567891011ULL << 20U));
    EXPECT_FALSE(a.may_contain(1234567891011ULL << 20U));
  }
}

TEST(Counting, AnIntersectionHoldsEveryKeyAsOftenAsBothDo) {
  for (const char* layout : layouts) {
    auto a = make(layout, 1000);
    auto b = make(layout, 1000);
    std::mt19937_64 digests(12);
    std::vector<std::uint64_t> keys(600);
    for (auto& key : keys) key = digests();
    const auto in_a = [](std::size_t i) { return i % 18; };
    const auto in_b = [](std::size_t i) { return i / 2 % 20; };
    for (std::size_t i = 0; i < keys.size(); ++i) {
      for (std::size_t times = 0; times < in_a(i); ++times) a.insert(keys[i]);
      for (std::size_t times = 0; times < in_b(i); ++times) b.insert(keys[i]);
    }
    const auto first = a.clone();
    ASSERT_TRUE(a.intersect(b));
    for (std::uint64_t i = 0; i < a.counters(); ++i) {
      ASSERT_EQ(counter(a, i), std::min(counter(*first, i), counter(b, i))) << i;
    }
    // They can also all be erased again: no counter holds less than the keys need together.
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::uint64_t times = std::min<std::uint64_t>(std::min(in_a(i), in_b(i)), 15);
      ASSERT_GE(a.count(keys[i]), times) << layout;
      for (std::uint64_t n = 0; n < times; ++n) ASSERT_TRUE(a.erase(keys[i]));
    }
  }
}

TEST(Counting, WhatDiffersDoesNotMergeAndSaysWhat) {
  auto base = counting::make({.keys = 100, .bits = 512 * 8, .hashes = 5});
  const auto line = counting::make({.keys = 100, .bits = 512 * 8, .hashes = 5, .layout = "line"});
  const auto larger = counting::make({.keys = 100, .bits = 512 * 9, .hashes = 5});
  const auto other_k = counting::make({.keys = 100, .bits = 512 * 8, .hashes = 6});
  const auto before = base->clone();
  for (const auto& [other, word] :
       {std::pair{&*line, "layouts"}, {&*larger, "counters"}, {&*other_k, "hash functions"}}) {
    for (const auto& outcome : {base->merge(*other), base->intersect(*other)}) {
      ASSERT_FALSE(outcome);
      EXPECT_EQ(outcome.error().code, errc::mismatch);
      EXPECT_NE(describe(outcome.error()).view().find(word), std::string_view::npos);
    }
  }
  EXPECT_TRUE(*base == *before);
}

TEST(Counting, AFoldedFilterErasesAndCountsLikeTheSmallerOne) {
  for (const char* layout : layouts) {
    auto large = counting::make({.keys = 100, .bits = 512 * 12, .hashes = 5, .layout = layout});
    auto small = counting::make({.keys = 100, .bits = 512 * 4, .hashes = 5, .layout = layout});
    std::mt19937_64 digests(13);
    std::vector<std::uint64_t> keys(40);
    for (auto& key : keys) key = digests();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      for (std::size_t times = 0; times <= i % 20; ++times) {
        large->insert(keys[i]);
        small->insert(keys[i]);
      }
    }
    auto folded = large->fold(3);
    ASSERT_TRUE(folded);
    EXPECT_TRUE(*folded == *small) << layout;
    EXPECT_FALSE(large->fold(7));
  }
}

TEST(Counting, CountersPastTheEndAreRefused) {
  auto filter = counting::make({.keys = 10, .bits = 4 * 17});
  ASSERT_EQ(filter->memory_bytes(), 16U);
  auto buffer = aligned_buffer::make(16, "test");
  buffer->data()[8] = std::byte{0x10};
  const auto loaded = counting::adopt(filter->shape(), std::move(*buffer));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, errc::bad_field);
}

TEST(Counting, HostileShapesAreRefusedBeforeAnythingIsAllocated) {
  const auto good = counting::make({.keys = 10, .fpr = 0.01})->shape();
  const auto good_line = counting::make({.keys = 10, .fpr = 0.01, .layout = "line"})->shape();
  using change = std::pair<std::size_t, std::uint64_t>;
  for (const auto& [index, value] : {change{0, 0},
                                     {0, 7},
                                     {0, max_filter_bits / 4 + 1},
                                     {0, ~std::uint64_t{0}},
                                     {1, 0},
                                     {1, 65},
                                     {2, 2},
                                     {3, 1},
                                     {7, 1}}) {
    auto shape = good;
    shape.field[index] = value;
    EXPECT_FALSE(counting::payload_bytes(shape)) << index << " " << value;
  }
  for (const auto& [index, value] : {change{0, 0}, {0, max_filter_bits / 512 + 1}, {1, 17}}) {
    auto shape = good_line;
    shape.field[index] = value;
    EXPECT_FALSE(counting::payload_bytes(shape)) << index << " " << value;
  }
  auto wide = good;
  wide.digest_bits = 128;
  EXPECT_FALSE(counting::payload_bytes(wide));
}

TEST(Counting, BadParametersAreOneClearError) {
  EXPECT_EQ(counting::make({.keys = 10, .fpr = 0.01, .layout = "split64"}).error().code, errc::unknown_layout);
  EXPECT_EQ(counting::make({.keys = 10, .fpr = 0.0}).error().code, errc::bad_fpr);
  EXPECT_EQ(counting::make({.keys = 10, .bits = 512, .hashes = 17, .layout = "line"}).error().code, errc::bad_hashes);
  EXPECT_EQ(counting::make({.keys = 10, .memory_bytes = 63, .layout = "line"}).error().code, errc::bad_memory);
  // More hash bits than digests have: 34 + 34 + 7.
  EXPECT_EQ(counting::plan({.keys = 10'000'000'000, .fpr = 1e-10}).error().code, errc::not_enough_hash_bits);
}

TEST(Counting, TakesFourTimesTheBitsOfABloomFilter) {
  const auto counters = counting::plan({.keys = 1'000'000, .fpr = 0.01});
  const auto bits = bloom::plan({.keys = 1'000'000, .fpr = 0.01});
  ASSERT_TRUE(counters && bits);
  EXPECT_EQ(counters->hashes, bits->hashes);
  EXPECT_NEAR(static_cast<double>(counters->bits) / static_cast<double>(bits->bits), 4.0, 0.001);
  const auto within = counting::plan({.fpr = 0.01, .memory_bytes = 1 << 20U});
  ASSERT_TRUE(within);
  EXPECT_LE(within->memory_bytes, 1U << 20U);
}

}  // namespace
}  // namespace bloomery::counting_testing
