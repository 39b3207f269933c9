// The numbers in the file of kind growing: keys and occurrences are what the codes allow, whatever a file states.
#include <gtest/gtest.h>

#include <bloomery/any_filter.hpp>
#include <bloomery/kinds/growing.hpp>
#include <vector>

namespace {

using namespace bloomery;

std::uint64_t key(std::uint64_t i) { return mix64(i + 1); }

growing filled(std::uint64_t keys, std::uint64_t first = 0) {
  auto made = growing::make({.keys = 16, .fpr = 0.3});
  EXPECT_TRUE(made);
  for (std::uint64_t i = first; i < first + keys; ++i) made->insert(key(i));
  return std::move(*made);
}

std::vector<std::byte> payload_of(const growing& filter) {
  std::vector<std::byte> bytes(filter.serialized_bytes());
  EXPECT_TRUE(filter.serialize(bytes));
  return bytes;
}

// As a file has it, with other numbers in the header.
result<growing> loaded(const growing& filter, std::uint64_t keys, std::uint64_t occurrences) {
  stored_shape shape = filter.shape();
  shape.keys = keys;
  shape.field[4] = occurrences;
  return growing::deserialize(shape, payload_of(filter));
}

TEST(GrowingFile, IsLoadedAfterErasesOfKeysThatOthersCover) {
  // What the keys of one cover of the other's counts as keys after the merge, and is still matched when it is erased.
  growing filter = filled(30'000);
  ASSERT_TRUE(filter.merge(filled(30'000, 30'000)));
  for (std::uint64_t i = 60'000; i-- > 5;) {
    ASSERT_TRUE(filter.erase(key(i)));
    ASSERT_LE(filter.keys().keys, filter.occurrences());
  }
  EXPECT_EQ(filter.occurrences(), 5U);
  const auto again = growing::deserialize(filter.shape(), payload_of(filter));
  ASSERT_TRUE(again) << describe(again.error()).c_str();
  EXPECT_EQ(again->keys().keys, filter.keys().keys);
  EXPECT_TRUE(*again == filter);
}

TEST(GrowingFile, OfAnEarlierVersionWithMoreKeysThanOccurrencesIsLoaded) {
  const growing filter = filled(100);
  const auto again = loaded(filter, 140, 100);
  ASSERT_TRUE(again) << describe(again.error()).c_str();
  EXPECT_EQ(again->keys().keys, 100U);
  EXPECT_FALSE(again->keys().exact);
  EXPECT_TRUE(loaded(filter, 100, 100)->keys().exact);
}

TEST(GrowingFile, WithMoreOccurrencesThanCodesIsRefused) {
  const growing filter = filled(100);
  EXPECT_TRUE(loaded(filter, 100, 100));
  EXPECT_FALSE(loaded(filter, 100, 101));
  EXPECT_FALSE(loaded(filter, 100, ~std::uint64_t{0}));
}

TEST(GrowingFile, WithTooFewOccurrencesLosesNoKey) {
  for (const std::uint64_t occurrences : {0U, 1U, 50U}) {
    auto filter = loaded(filled(100), 0, occurrences);
    ASSERT_TRUE(filter);
    for (std::uint64_t i = 100; i < 120; ++i) filter->insert(key(i));
    for (std::uint64_t i = 0; i < 90; ++i) EXPECT_TRUE(filter->erase(key(i)));
    for (std::uint64_t i = 90; i < 120; ++i) EXPECT_TRUE(filter->may_contain(key(i))) << i << " of " << occurrences;
    const auto again = growing::deserialize(filter->shape(), payload_of(*filter));
    ASSERT_TRUE(again) << describe(again.error()).c_str();
    EXPECT_TRUE(*again == *filter);
  }
}

// One key so often that its line is full and the rest is spilled: the last 16 bytes are code and count.
TEST(GrowingFile, WithAsManyCopiesAsCanBeCountedTakesMoreAndIsLoadedAgain) {
  growing filter = filled(0);
  for (int i = 0; i < 100; ++i) filter.insert(key(7));
  ASSERT_NE(filter.spilled(), 0U);
  std::vector<std::byte> bytes = payload_of(filter);
  constexpr std::uint64_t most = (std::uint64_t{1} << 56U) + 1;
  store_le(bytes.data() + bytes.size() - 8, most);
  auto often = growing::deserialize(filter.shape(), bytes);
  ASSERT_TRUE(often) << describe(often.error()).c_str();
  EXPECT_EQ(often->spilled(), most);
  for (std::uint64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(often->insert(key(7)), insert_result::present);
    often->insert(key(1000 + i));
  }
  const auto copy = often->clone();
  ASSERT_TRUE(copy);
  ASSERT_TRUE(often->merge(*copy, merge_fpr::any));
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_TRUE(often->may_contain(key(1000 + i)));
  EXPECT_LE(often->occurrences(), often->spilled() + 32 * 64 * often->pages());
  const auto again = growing::deserialize(often->shape(), payload_of(*often));
  ASSERT_TRUE(again) << describe(again.error()).c_str();
  EXPECT_TRUE(*again == *often);
  store_le(bytes.data() + bytes.size() - 8, most + 1);
  EXPECT_FALSE(growing::deserialize(filter.shape(), bytes));
}

}  // namespace
