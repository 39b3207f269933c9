// Every hash against a library of another author, or against a second formulation where no library is packaged.
#include "hash/oracles.hpp"

#include <farmhash.h>
#include <gtest/gtest.h>
#include <highwayhash/c_bindings.h>
#include <murmurhash.h>

#include <bloomery/hash/list.hpp>
#include <vector>

namespace {

using namespace bloomery;
using bloomery_test::for_each_key;

constexpr std::array<std::uint64_t, 3> seeds = {0, 1, 0x9e3779b97f4a7c15ULL};

TEST(Xxh3, MatchesLibxxhash) {
  for_each_key([](const void* bytes, std::size_t size) {
    for (const auto seed : seeds) {
      ASSERT_EQ(xxh3{.seed = seed}(bytes, size), bloomery_test::library_xxh3(bytes, size, seed)) << size;
      const auto [low, high] = bloomery_test::library_xxh3_128(bytes, size, seed);
      ASSERT_EQ(xxh3{.seed = seed}.hash128(bytes, size), (digest128{.low = low, .high = high})) << size;
    }
  });
}

TEST(Xxh64, MatchesLibxxhash) {
  for_each_key([](const void* bytes, std::size_t size) {
    for (const auto seed : seeds) {
      ASSERT_EQ(xxh64{.seed = seed}(bytes, size), bloomery_test::library_xxh64(bytes, size, seed)) << size;
    }
  });
}

TEST(Murmur3, X64MatchesLibmurmurhash) {
  for_each_key([](const void* bytes, std::size_t size) {
    for (const auto seed : seeds) {
      const auto seed32 = static_cast<std::uint32_t>(seed);
      std::array<std::uint64_t, 2> expected{};
      lmmh_x64_128(bytes, static_cast<unsigned>(size), seed32, expected.data());
      const murmur3_x64_128 hash{.seed = seed32};
      ASSERT_EQ(hash.hash128(bytes, size), (digest128{.low = expected[0], .high = expected[1]})) << size;
      ASSERT_EQ(hash(bytes, size), expected[0]) << size;
    }
  });
}

TEST(Murmur3, X86MatchesLibmurmurhash) {
  for_each_key([](const void* bytes, std::size_t size) {
    for (const auto seed : seeds) {
      const auto seed32 = static_cast<std::uint32_t>(seed);
      std::array<std::uint32_t, 1> expected{};
      lmmh_x86_32(bytes, static_cast<unsigned>(size), seed32, expected.data());
      ASSERT_EQ(murmur3_x86_32{.seed = seed32}(bytes, size), expected[0]) << size;
    }
  });
}

#if defined(__GLIBCXX__) && __SIZEOF_SIZE_T__ == 8
TEST(Murmur64a, MatchesLibstdcxx) {
  for_each_key([](const void* bytes, std::size_t size) {
    for (const auto seed : seeds) {
      ASSERT_EQ(murmur64a{.seed = seed}(bytes, size), std::_Hash_bytes(bytes, size, seed)) << size;
    }
  });
}
#endif

TEST(Farmhash64, MatchesLibfarmhash) {
  for_each_key([](const void* bytes, std::size_t size) {
    ASSERT_EQ(farmhash64{}(bytes, size), util::Fingerprint64(static_cast<const char*>(bytes), size)) << size;
  });
}

TEST(Siphash, MatchesLibhighwayhash) {
  constexpr std::array<std::uint64_t, 2> key = {0xfedcba9876543210ULL, 0x0123456789abcdefULL};
  for_each_key([&](const void* bytes, std::size_t size) {
    const auto* text = static_cast<const char*>(bytes);
    ASSERT_EQ(siphash13{.key = key}(bytes, size), SipHash13C(key.data(), text, size)) << size;
    ASSERT_EQ(siphash24{.key = key}(bytes, size), SipHashC(key.data(), text, size)) << size;
  });
}

TEST(Highwayhash, MatchesLibhighwayhash) {
  const HHKey key = {0xfedcba9876543210ULL, 0x0123456789abcdefULL, 0x1111111122222222ULL, 0xffffffff00000001ULL};
  const highwayhash64 hash{.key = {key[0], key[1], key[2], key[3]}};
  for_each_key([&](const void* bytes, std::size_t size) {
    ASSERT_EQ(hash(bytes, size), HighwayHash64(key, static_cast<const char*>(bytes), size)) << size;
  });
}

// lookup3 is in no package: this is its description a second time, with the message padded byte by byte and the mixing
// steps read from a table.
lookup3_words lookup3_from_its_description(const unsigned char* bytes, std::size_t size, lookup3_words start) {
  const auto turned = [](std::uint32_t word, unsigned turn) { return (word << turn) | (word >> (32U - turn)); };
  std::array<std::uint32_t, 3> s{};
  s.fill(0xdeadbeefU + static_cast<std::uint32_t>(size) + start.pc);
  s[2] += start.pb;
  const std::size_t blocks = size == 0 ? 0 : (size + 11) / 12;
  for (std::size_t block = 0; block < blocks; ++block) {
    for (std::size_t i = 12 * block; i < 12 * block + 12; ++i) {
      const std::uint32_t byte = i < size ? bytes[i] : 0U;
      s[i / 4 % 3] += byte << (8 * (i % 4));
    }
    if (block + 1 == blocks) break;
    constexpr std::array<unsigned, 6> turns = {4, 6, 8, 16, 19, 4};
    for (std::size_t step = 0; step < 6; ++step) {
      auto& to = s[step % 3];
      auto& from = s[(step + 2) % 3];
      to = (to - from) ^ turned(from, turns[step]);
      from += s[(step + 1) % 3];
    }
  }
  constexpr std::array<unsigned, 7> turns = {14, 11, 25, 16, 4, 14, 24};
  for (std::size_t step = 0; step < 7 && blocks != 0; ++step) {
    auto& to = s[(step + 2) % 3];
    const auto from = s[(step + 1) % 3];
    to = (to ^ from) - turned(from, turns[step]);
  }
  return {.pc = s[2], .pb = s[1]};
}

TEST(Lookup3, MatchesASecondFormulationAtEveryLength) {
  for_each_key([](const void* bytes, std::size_t size) {
    for (const auto seed : seeds) {
      const lookup3_words start = {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)};
      const auto expected = lookup3_from_its_description(static_cast<const unsigned char*>(bytes), size, start);
      const auto actual = lookup3_hashlittle2(bytes, size, start);
      ASSERT_EQ(actual.pc, expected.pc) << size;
      ASSERT_EQ(actual.pb, expected.pb) << size;
      ASSERT_EQ(lookup3{.seed = seed}(bytes, size), expected.pc + (std::uint64_t{expected.pb} << 32U)) << size;
    }
  });
}

TEST(Hashes, TakeANullPointerForTheEmptyKey) {
  for_each_type(hash_list{}, [](auto tag) {
    using hash = typename decltype(tag)::type;
    EXPECT_EQ(hash{}(nullptr, 0), hash{}("x", 0)) << hash::info.name;
    if constexpr (hash128_function<hash>) {
      EXPECT_EQ(hash{}.hash128(nullptr, 0), hash{}.hash128("x", 0)) << hash::info.name;
    }
  });
}

}  // namespace
