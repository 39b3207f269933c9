// The bytes of kind growing: they lead back to the same filter; of wrong ones, keys and occurrences are what the codes
// allow, whatever a file states.
#include <gtest/gtest.h>

#include <bloomery/any_filter.hpp>
#include <bloomery/kinds/growing.hpp>
#include <vector>

#include "support/typed.hpp"

namespace {

using namespace bloomery;
using namespace bloomery::test;

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

growing growing_of(const filter_params& params) {
  auto made = growing::make(params);
  if (!made) {
    ADD_FAILURE() << describe(made.error()).c_str();
    std::abort();
  }
  return std::move(*made);
}

// A filter with deep and shallow pages, voids, full lines and spilled codes of all lengths.
growing varied(std::string_view layout, std::string_view mode, std::uint64_t keys) {
  auto filter = growing_of({.keys = 1000, .fpr = 0.01, .layout = layout, .mode = mode});
  digest_source digests(keys);
  filter.add_batch(digests.take(keys));
  for (std::uint64_t i = 0; i < keys / 4; ++i) filter.insert(digests() >> 3U);
  for (std::uint64_t i = 0; i < keys / 10; ++i) filter.insert(digests.at(0));
  auto small = growing_of({.keys = 1000, .fpr = 0.01, .layout = layout, .mode = mode});
  small.add_batch(digests.take(keys / 2));
  EXPECT_TRUE(filter.merge(small, merge_fpr::any));
  return filter;
}

// A code that was spilled is only found when its page reports that it may be there: in the filter that was filled, in its copy and in what
// a file gave.
TEST(GrowingBytes, SpilledKeysAreFoundInWhatWasLoadedAndInCopies) {
  auto filter = growing_of({.keys = 1000, .fpr = 0.01});
  digest_source digests(5);
  std::vector<std::uint64_t> keys = digests.take(20'000);
  for (std::uint64_t i = 0; i < 200; ++i) {  // more than a line has slots, in each of six lines
    for (std::uint64_t line = 0; line < 6; ++line) keys.push_back((digests() >> 24U) | line << 56U);
  }
  filter.add_batch(keys);
  ASSERT_GT(filter.spilled(), 200U);
  const auto loaded = growing::deserialize(filter.shape(), payload_of(filter));
  const auto copy = filter.clone();
  ASSERT_TRUE(loaded && copy);
  for (const growing* each : {&std::as_const(filter), &*loaded, &*copy}) {
    std::vector<std::uint64_t> mask(mask_words(keys.size()));
    each->may_contain_batch(keys, mask);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      ASSERT_TRUE(each->may_contain(keys[i])) << i;
      ASSERT_EQ(mask[i / 64] >> (i % 64) & 1U, 1U) << i;
    }
  }
  // Those that are left are found while others of their page are erased, and all are gone in the end.
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ASSERT_TRUE(filter.may_contain(keys[i])) << i;
    ASSERT_TRUE(filter.erase(keys[i])) << i;
  }
  EXPECT_EQ(filter.spilled(), 0U);
  EXPECT_EQ(filter.occurrences(), 0U);
}

TEST(GrowingBytes, LeadBackToTheSameFilterAndTheSameBytes) {
  for (const std::string_view layout : {"slots16", "slots24", "slots32"}) {
    for (const std::string_view mode : {"multiset", "set"}) {
      for (const std::uint64_t keys : {0U, 10U, 20'000U}) {
        const auto filter = varied(layout, mode, keys);
        const auto bytes = payload_of(filter);
        auto loaded = growing::deserialize(filter.shape(), bytes);
        ASSERT_TRUE(loaded) << describe(loaded.error()).c_str();
        EXPECT_TRUE(*loaded == filter);
        EXPECT_EQ(loaded->fpr_now(), filter.fpr_now());
        EXPECT_EQ(loaded->shape().field, filter.shape().field);
        EXPECT_EQ(payload_of(*loaded), bytes);
        // It goes on like the one that was saved.
        auto copy = filter.clone();
        digest_source digests(99);
        const auto more = digests.take(5000);
        loaded->add_batch(more);
        copy->add_batch(more);
        EXPECT_TRUE(*loaded == *copy);
        loaded->clear();
        EXPECT_EQ(loaded->keys().keys, 0U);
        EXPECT_FALSE(loaded->may_contain(more[0]));
      }
    }
  }
}

TEST(GrowingBytes, ThatAreWrongAreRefusedOrSafeToUse) {
  // No checksums here: what the loader itself must notice. What it lets through is used in every way.
  digest_source dice(10);
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;
  for (const std::string_view layout : {"slots16", "slots24", "slots32"}) {
    const auto filter = varied(layout, "multiset", 4000);
    const auto good = payload_of(filter);
    for (std::uint64_t round = 0; round < 400; ++round) {
      auto bytes = good;
      stored_shape shape = filter.shape();
      for (std::uint64_t change = dice() % 3; change < 3; ++change) {
        const std::uint64_t kind = dice() % 8;
        const std::uint64_t where = kind < 3 ? dice() % (shape.field[3] * 8) % bytes.size() : dice() % bytes.size();
        bytes[where] ^= static_cast<std::byte>(1U << (dice() % 8));
        if (kind == 7) shape.field[dice() % 6] ^= std::uint64_t{1} << (dice() % 64);
        if (kind == 6) bytes.resize(dice() % 2 == 0 ? where : bytes.size() + 16);
        if (bytes.empty()) break;
      }
      auto loaded = growing::deserialize(shape, bytes);
      if (!loaded) {
        ++refused;
        continue;
      }
      ++accepted;
      digest_source digests(round);
      for (const std::uint64_t key : digests.take(300)) loaded->insert(key);
      for (int i = 0; i < 300; ++i) loaded->erase(digests());
      for (int i = 0; i < 300; ++i)
        ASSERT_LE(loaded->may_contain(digests()) ? 1U : 0U, loaded->count(digests.at(0)) + 1);
      if (loaded->slot_bits() == filter.slot_bits() && loaded->mode() == filter.mode()) {
        ASSERT_TRUE(loaded->merge(filter, merge_fpr::any));
      }
      const auto again = growing::deserialize(loaded->shape(), payload_of(*loaded));
      ASSERT_TRUE(again) << describe(again.error()).c_str();
      EXPECT_TRUE(*again == *loaded);
    }
  }
  EXPECT_GT(accepted, 50U);
  EXPECT_GT(refused, 300U);
}

TEST(GrowingBytes, AreFrozen) {
  // A change of these is a change of the file format.
  for (const auto& [layout, expected] : {std::pair{"slots16", 16229165598205712746ULL},
                                         {"slots24", 8222609656451013387ULL},
                                         {"slots32", 3651597492110859049ULL}}) {
    auto filter = growing_of({.keys = 1000, .fpr = 0.01, .layout = layout});
    for (std::uint64_t i = 0; i < 5000; ++i) filter.insert(mix64(i));
    for (std::uint64_t i = 0; i < 40; ++i) filter.insert(mix64(7));
    for (std::uint64_t i = 0; i < 1000; ++i) filter.erase(mix64(3 * i));
    const auto bytes = payload_of(filter);
    EXPECT_EQ(xxh3{}(bytes.data(), bytes.size()), expected) << layout;
  }
}

}  // namespace
