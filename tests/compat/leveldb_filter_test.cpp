// compat/leveldb: the filter for few keys. Every filter here is looked up in a copy on the heap of exactly its size, so that a
// sanitizer sees a read beside it.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <bloomery/compat/leveldb/encoder.hpp>
#include <bloomery/compat/leveldb/windows.hpp>
#include <bloomery/hash/hasher.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "support/golden.hpp"

namespace {

using namespace bloomery;
using namespace bloomery::leveldb;
using bloomery::leveldb::digests_of;  // of a key
using bytes = std::vector<std::byte>;

std::vector<std::uint64_t> random_digests(std::uint64_t stream, std::size_t count) {
  std::vector<std::uint64_t> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = mix64(stream << 32U | (i + 1));
  return all;
}

bytes encoded(std::span<const std::uint64_t> digests, unsigned bits_per_key) {
  static filter_encoder encoder;  // whose memory was used before
  const auto filter = encoder.encode(digests, bits_per_key);
  if (!filter) return {};
  return {filter->begin(), filter->end()};
}
bytes encoded_keys(const std::vector<std::string>& keys, unsigned bits_per_key) {
  static filter_encoder encoder;
  const auto filter = encoder.encode_keys(keys, bits_per_key);
  if (!filter) return {};
  return {filter->begin(), filter->end()};
}

// ---- what must hold for every set ----

TEST(LeveldbFilter, EveryKeyMatchesAndNoFilterIsLargerThanTheBuiltInOne) {
  for (unsigned bits = 1; bits <= 20; ++bits) {
    for (std::size_t n = 0; n <= 1000; n += n < 260 ? 3 : 37) {
      const auto digests = random_digests(bits, n);
      const bytes filter = encoded(digests, bits);
      ASSERT_GE(filter.size(), 2U);
      ASSERT_LE(filter.size(), builtin_bytes_of(n, bits) + 1);
      for (const std::uint64_t digest : digests) ASSERT_TRUE(may_match(filter, digest)) << n << " keys, " << bits;
      if (n != 0 && bits >= 4) {
        ASSERT_LT(describe(filter).fpr, 0.2) << n << " keys, " << bits;
      }
    }
  }
}

TEST(LeveldbFilter, ManyKeysAllMatch) {
  for (const std::size_t n : {20'000U, 60'000U, 120'000U}) {
    const auto digests = random_digests(n, n);
    const bytes filter = encoded(digests, 10);
    EXPECT_LE(filter.size(), n * 10 / 8 + 1);
    EXPECT_EQ(describe(filter).layout, filter_layout::table);
    EXPECT_LT(describe(filter).fpr, 0.00135);
    EXPECT_EQ(std::count_if(digests.begin(), digests.end(), [&](auto digest) { return !may_match(filter, digest); }),
              0);
  }
}

TEST(LeveldbFilter, TheBytesDependOnTheSetAlone) {
  for (const std::size_t n : {1U, 2U, 12U, 35U, 100U, 220U, 300U, 1000U}) {
    auto digests = random_digests(77, n);
    const bytes filter = encoded(digests, 10);
    std::reverse(digests.begin(), digests.end());
    EXPECT_EQ(encoded(digests, 10), filter) << n;
    std::sort(digests.begin(), digests.end());
    EXPECT_EQ(encoded(digests, 10), filter) << n;
    // Copies behind each other, as versions of a key are, and anywhere.
    digests.insert(digests.begin() + static_cast<std::ptrdiff_t>(n / 2), 3, digests[n / 2]);
    EXPECT_EQ(encoded(digests, 10), filter) << n;
    for (std::size_t i = 0; i < n; i += 5) digests.push_back(digests[i]);
    EXPECT_EQ(encoded(digests, 10), filter) << n;
    filter_encoder fresh;
    const auto again = fresh.encode(digests, 10);
    ASSERT_TRUE(again);
    EXPECT_TRUE(std::equal(again->begin(), again->end(), filter.begin(), filter.end()));
  }
}

TEST(LeveldbFilter, FewKeysAndOddNumbersOfBits) {
  const std::vector<std::string> none;
  const bytes empty = encoded_keys(none, 10);
  ASSERT_EQ(empty.size(), 9U);
  EXPECT_FALSE(may_match(empty, "any"));
  const std::vector<std::string> odd = {"", std::string(1, '\0'), std::string(2, '\0'), std::string(100'000, 'x')};
  for (const unsigned bits : {0U, 1U, 2U, 3U, 4U, 10U, 16U, 17U, 44U, 1000U, ~0U}) {
    for (std::size_t n = 1; n <= odd.size(); ++n) {
      const std::vector<std::string> keys(odd.begin(), odd.begin() + static_cast<std::ptrdiff_t>(n));
      const bytes filter = encoded_keys(keys, bits);
      for (const std::string& key : keys) EXPECT_TRUE(may_match(filter, key)) << bits;
      EXPECT_LE(filter.size(), 9U);
      EXPECT_FALSE(may_match(filter, "absent")) << bits;
      EXPECT_EQ(is_builtin(filter), bits < least_slot_bits);
    }
  }
  // As many as 16 bits per key need, and no more.
  EXPECT_EQ(encoded(random_digests(3, 100), 100), encoded(random_digests(3, 100), 16));
  EXPECT_EQ(encoded(random_digests(3, 100), 16).size(), 201U);
}

// At 3 bits a table of systems has no room for where its groups start.
TEST(LeveldbFilter, WhereThereIsNoRoomForWindowsKeysGetTheBuiltInLayout) {
  std::vector<std::string> keys;
  for (int i = 0; i < 2000; ++i) keys.push_back("key" + std::to_string(i));
  for (const unsigned bits : {1U, 2U, 3U}) {
    const bytes filter = encoded_keys(keys, bits);
    EXPECT_TRUE(is_builtin(filter));
    std::vector<std::uint32_t> hashes;
    for (const std::string& key : keys) hashes.push_back(builtin_digest_of(key));
    filter_encoder encoder;
    const auto builtin = encoder.encode_builtin(hashes, bits);
    ASSERT_TRUE(builtin);
    EXPECT_TRUE(std::equal(builtin->begin(), builtin->end(), filter.begin(), filter.end()));
  }
  EXPECT_FALSE(is_builtin(encoded_keys(keys, 4)));
}

TEST(LeveldbFilter, RefusedMemoryIsAnErrorAndTheNextFilterIsRight) {
  static int allowed;
  const memory_hooks hooks{
      .allocate = [](void*, std::size_t size, std::size_t alignment) -> void* {
        return allowed-- > 0 ? default_memory().allocate(nullptr, size, alignment) : nullptr;
      },
      .release = [](void*, void* memory, std::size_t size,
                    std::size_t alignment) { default_memory().release(nullptr, memory, size, alignment); }};
  const auto digests = random_digests(5, 50);
  const bytes expected = encoded(digests, 10);
  for (int grants = 0; grants < 3; ++grants) {
    filter_encoder encoder(&hooks);
    allowed = grants;
    const auto refused = encoder.encode(digests, 10);
    ASSERT_FALSE(refused) << grants;
    EXPECT_EQ(refused.error().code, errc::out_of_memory);
    allowed = 100;
    const auto made = encoder.encode(digests, 10);
    ASSERT_TRUE(made);
    EXPECT_TRUE(std::equal(made->begin(), made->end(), expected.begin(), expected.end()));
  }
}

// ---- false-positive rates ----

std::size_t matching(const bytes& filter, std::span<const std::uint64_t> digests) {
  std::size_t count = 0;
  for (const std::uint64_t digest : digests) count += may_match(filter, digest) ? 1U : 0U;
  return count;
}

// Of filters of n keys each.
double measured_fpr(std::size_t n, unsigned bits, std::size_t filters, std::size_t absent) {
  const auto queries = random_digests(1, absent);
  std::size_t wrong = 0;
  for (std::size_t f = 0; f < filters; ++f) wrong += matching(encoded(random_digests(1000 + f, n), bits), queries);
  return static_cast<double>(wrong) / static_cast<double>(filters * absent);
}

TEST(LeveldbFilter, DeliversTheFprOfItsBits) {
  for (const std::size_t n : {10U, 20U, 35U, 50U, 100U, 155U}) {
    EXPECT_LE(measured_fpr(n, 10, 500, 3000), 0.00105) << n;
  }
  EXPECT_LE(measured_fpr(500, 10, 150, 8000), 0.0015);
  EXPECT_LE(measured_fpr(5000, 10, 20, 50'000), 0.00135);
  EXPECT_LE(measured_fpr(35, 16, 400, 3000), 0.00002);
}

// Filters of 36 neighbours, every fourth key of a sequence; the absent keys are those between them.
template <class KeyOf>
double fpr_of_neighbours(KeyOf&& key_of) {
  constexpr std::size_t range = std::size_t{4} * 36;
  const auto hash = *hasher::make("xxh3");
  std::vector<std::string> keys(range);
  std::vector<std::string_view> views(range);
  std::vector<std::uint64_t> digests(range);
  std::vector<std::uint64_t> present;
  std::vector<std::uint64_t> absent;
  std::size_t wrong = 0;
  std::size_t asked = 0;
  for (std::uint64_t f = 0; f < 3000; ++f) {
    const std::uint64_t from = mix64(f) % 1'000'000'000'000;
    for (std::size_t i = 0; i < range; ++i) views[i] = keys[i] = key_of(from + i);
    hash.digests(std::span<const std::string_view>(views), digests);
    present.clear();
    absent.clear();
    for (std::size_t i = 0; i < range; ++i) (i % 4 == 0 ? present : absent).push_back(digests[i]);
    const bytes filter = encoded(present, 10);
    EXPECT_EQ(matching(filter, present), present.size());
    wrong += matching(filter, absent);
    asked += absent.size();
  }
  return static_cast<double>(wrong) / static_cast<double>(asked);
}

std::string big_endian(std::uint64_t i) {
  std::string key(8, ' ');
  for (unsigned b = 0; b < 8; ++b) key[b] = static_cast<char>(i >> (56 - 8 * b));
  return key;
}

// The built-in policy has 37 %, 5 % and 4 %.
TEST(LeveldbFilter, NeighboursAmongKeysAreNoWorse) {
  EXPECT_LE(fpr_of_neighbours(big_endian), 0.0011);
  EXPECT_LE(fpr_of_neighbours([](std::uint64_t i) { return std::to_string(1'000'000'000'000'000 + i); }), 0.0011);
  EXPECT_LE(fpr_of_neighbours([](std::uint64_t i) { return "https://www.example.com/articles/" + std::to_string(i); }),
            0.0011);
}

// ---- the bytes ----

// docs/formats/leveldb-windows.md, bit by bit.
struct documented {
  const bytes& filter;

  [[nodiscard]] unsigned bit(std::uint64_t t) const {
    return t / 8 < filter.size() ? std::to_integer<unsigned>(filter[t / 8]) >> (t % 8) & 1U : 0;
  }
  [[nodiscard]] bool matches(std::uint64_t digest) const {
    if (filter.size() < 2) return false;
    const auto last = std::to_integer<unsigned>(filter.back());
    if (last == 255) return table_matches(digest);
    if (last < 31 || filter.size() < 9 || filter.size() > 512) return true;
    const unsigned r = (last - 31) / 16 + 3;
    const unsigned seed = (last - 31) % 16;
    const std::uint64_t bits = 8 * (filter.size() - 1);
    const std::uint64_t m = bits / r;
    const uint128 product = multiply_wide(digest, 0x452821e638d01377ULL);
    const auto step = static_cast<std::uint64_t>(product >> 64U);
    const std::uint64_t base = static_cast<std::uint64_t>(product) ^ step;
    const bool late = (digest >> 16U) % 65'536 * (filter.size() - 1) < std::uint64_t{3 * r} * 32'768;
    const std::uint64_t x = base + step * (late ? seed : seed % 2);
    std::uint64_t sum = 0;
    for (unsigned i = 0; i < 3; ++i) {
      const std::uint64_t first = (x >> 16 * i) % 65'536 * m >> 16U;
      for (unsigned k = 0; k < (r == 15 ? 3U : 4U); ++k) {
        if (k != 0 && (x >> (47 + k) & 1U) == 0) continue;
        for (unsigned b = 0; b < r; ++b) sum ^= std::uint64_t{bit((first + k) * r + b)} << b;
      }
    }
    return sum == digest % (std::uint64_t{1} << r);
  }
  [[nodiscard]] std::uint64_t number(std::uint64_t at, unsigned size) const {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < size; ++i) value |= std::to_integer<std::uint64_t>(filter[at + i]) << 8 * i;
    return value;
  }
  [[nodiscard]] bool table_matches(std::uint64_t digest) const {
    const std::uint64_t kind = number(filter.size() - 2, 1);
    if (kind == 0 || kind >= 240 || (kind == 1 && filter.size() < 6)) return true;
    const unsigned wide = kind == 1 ? 4 : 2;
    const std::uint64_t groups = kind == 1 ? number(filter.size() - 6, 4) : kind;
    const std::uint64_t tail = kind == 1 ? 6 : 2;
    if (groups < 2 || (groups - 1) * wide + tail > filter.size()) return true;
    const std::uint64_t place = filter.size() - tail - (groups - 1) * wide;
    const auto g = static_cast<std::uint64_t>(multiply_wide(digest, groups) >> 64U);
    const std::uint64_t start = g == 0 ? 0 : number(place + (g - 1) * wide, wide);
    const std::uint64_t end = g == groups - 1 ? place : number(place + g * wide, wide);
    if (start > end || end > place) return true;
    if (start == end) return false;
    const bytes part(filter.begin() + static_cast<std::ptrdiff_t>(start),
                     filter.begin() + static_cast<std::ptrdiff_t>(end));
    if (part.size() < 9 || part.size() > 512 || part.back() < std::byte{31} || part.back() == std::byte{255})
      return true;
    return documented{part}.matches(digest);
  }
};

bytes golden_bytes(const std::string& name) {
  const std::string text = test::golden("leveldb/windows/" + name + ".bin");
  const auto all = std::as_bytes(std::span(text));
  return {all.begin(), all.end()};
}

TEST(LeveldbFilter, FrozenFiltersAreMadeAgain) {
  std::size_t cases = 0;
  for (const auto& row : test::rows_of(test::golden("leveldb/windows/cases.tsv"))) {
    std::vector<std::string> keys;
    for (std::uint64_t i = 0; i < std::stoull(row[2]); ++i) keys.push_back("key" + std::to_string(i));
    EXPECT_TRUE(encoded_keys(keys, static_cast<unsigned>(std::stoul(row[1]))) == golden_bytes(row[0])) << row[0];
    ++cases;
  }
  EXPECT_EQ(cases, 36U);
}

TEST(LeveldbFilter, AReaderOfTheDocumentedBytesAnswersTheSame) {
  for (const auto& row : test::rows_of(test::golden("leveldb/windows/cases.tsv"))) {
    const bytes filter = golden_bytes(row[0]);
    for (const std::uint64_t digest : random_digests(4, 500)) {
      ASSERT_EQ(may_match(filter, digest), documented{filter}.matches(digest)) << row[0];
    }
    for (std::uint64_t i = 0; i < std::stoull(row[2]); i += 1 + i / 8) {
      ASSERT_TRUE(documented{filter}.matches(digest_of("key" + std::to_string(i)))) << row[0];
    }
  }
}

// Bytes of any kind: the two readers agree, an explanation ends in the same answer, and what cannot be a filter matches.
TEST(LeveldbFilter, DamagedFiltersAnswerAsDocumented) {
  const auto digests = random_digests(6, 12);
  const auto check = [&](const bytes& filter) {
    for (const std::uint64_t digest : digests) {
      const bool answer = may_match(filter, digest);
      if (!is_builtin(filter)) {
        ASSERT_EQ(answer, documented{filter}.matches(digest));
      }
      explanation why(digest);
      explain(why, filter, {.windows = digest, .builtin = static_cast<std::uint32_t>(digest)});
      if (!is_builtin(filter)) {
        ASSERT_EQ(why.may_contain(), answer);
      }
    }
    const auto what = describe(filter);
    EXPECT_TRUE(what.fpr >= 0 && what.fpr <= 1);
  };
  for (const char* name : {"bpk10_n7", "bpk3_n100", "bpk15_n35", "bpk16_n7", "bpk10_n240", "bpk10_n500"}) {
    const bytes whole = golden_bytes(name);
    for (std::size_t size = 0; size < whole.size(); size += 1 + size / 40) {
      check({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    }
    for (std::size_t at = 0; at < whole.size(); at += at + 12 < whole.size() ? 1 + at / 40 : 1) {
      for (const unsigned value : {0U, 1U, 2U, 30U, 31U, 47U, 239U, 240U, 254U, 255U}) {
        bytes damaged = whole;
        damaged[at] = static_cast<std::byte>(value);
        check(damaged);
      }
    }
  }
}

TEST(LeveldbFilter, WhatCannotBeAFilterMatchesEveryKey) {
  const auto all_match = [](const bytes& filter) {
    for (const std::uint64_t digest : random_digests(8, 300)) {
      if (!may_match(filter, digest)) return false;
    }
    return describe(filter).layout == filter_layout::opaque && describe(filter).fpr == 1.0;
  };
  for (unsigned code = 31; code < 255; ++code) {
    for (const std::size_t size : {2U, 3U, 8U, 513U, 1000U}) {
      bytes filter(size);
      filter.back() = static_cast<std::byte>(code);
      ASSERT_TRUE(all_match(filter)) << code << " in " << size;
    }
    bytes filter(9);
    filter.back() = static_cast<std::byte>(code);
    ASSERT_EQ(describe(filter).layout, filter_layout::windows);
  }
  for (unsigned kind = 0; kind < 256; ++kind) {
    for (const std::size_t size : {2U, 3U, 5U, 6U}) {
      bytes filter(size, std::byte{0xff});
      filter[size - 2] = static_cast<std::byte>(kind);
      const bool is_table = kind >= 2 && kind < 240 && (kind - 1) * 2 + 2 <= size;
      if (!is_table) {
        ASSERT_TRUE(all_match(filter)) << kind << " in " << size;
      }
    }
  }
  EXPECT_TRUE(all_match({filter_encoder::matches_all().begin(), filter_encoder::matches_all().end()}));
  EXPECT_FALSE(may_match(bytes{}, "key"));
  EXPECT_FALSE(may_match(bytes{std::byte{255}}, "key"));
}

TEST(LeveldbFilter, FiltersOfTheBuiltInPolicyAreLookedUpAsLevelDBDoes) {
  std::vector<std::uint32_t> hashes;
  for (int i = 0; i < 100; ++i) hashes.push_back(builtin_digest_of("key" + std::to_string(i)));
  filter_encoder encoder;
  const auto made = encoder.encode_builtin(hashes, 10);
  ASSERT_TRUE(made);
  std::size_t matched = 0;
  for (int i = 0; i < 1100; ++i) {
    const std::string key = "key" + std::to_string(i);
    const bool answer = may_match(*made, std::string_view(key));
    EXPECT_EQ(answer, builtin_may_match(*made, builtin_digest_of(key)));
    EXPECT_EQ(answer, may_match(*made, digests_of(key)));
    if (i < 100) {
      EXPECT_TRUE(answer);
    }
    matched += answer ? 1U : 0U;
  }
  EXPECT_LT(matched, 140U);
}

}  // namespace
