// hash/xxh3_short.hpp: the parts of XXH3's 64-bit digest for short keys, from which batches are put together.
//
// The library that hash/xxh3.hpp uses takes one key and decides on its length anew each time; a decision that the
// processor guesses wrong costs more than the hash. An integer key is always 8 bytes and needs no decision: `integer`
// is the whole function, inlined. For the vector code (hash/vector/xxh3_avx2.hpp) a value of this class holds what the
// seed and the secret contribute, computed once for a batch. The values are those of the XXH3 specification, for every
// seed; the tests compare them with the library's.
#pragma once

#include <array>
#include <bloomery/core/config.hpp>
#include <cstddef>
#include <cstdint>

namespace bloomery::inline BLOOMERY_ABI {

struct xxh3_short {
  static constexpr std::uint64_t multiplier8 = 0x9fb21c651e98df25ULL;      // of keys of 4 to 8 bytes
  static constexpr std::uint64_t multiplier = 0x165667919e3779f9ULL;       // of the last step of longer ones
  static constexpr std::uint64_t size_multiplier = 0x9e3779b185ebca87ULL;  // of keys of 17 to 128 bytes

  std::uint64_t flip8 = 0;         // 4 to 8 bytes
  std::uint64_t flip16_first = 0;  // 9 to 16 bytes: the first and the last eight
  std::uint64_t flip16_last = 0;
  // 17 to 128 bytes, two words for each piece of 16, in the order in which four loads of 32 bytes find them: bytes 0 to
  // 31, the last 32, bytes 32 to 63, and the 32 before the last 32.
  alignas(32) std::array<std::uint64_t, 16> secret{};

  explicit constexpr xxh3_short(std::uint64_t seed) noexcept
      : flip8(flip_of_8(seed)), flip16_first(0x6782737bea4239b9ULL + seed), flip16_last(0xaf56bc3b0996523aULL - seed) {
    for (std::size_t i = 0; i < secret.size(); i += 2) {
      secret[i] = default_secret[order[i / 2]] + seed;
      secret[i + 1] = default_secret[order[i / 2] + 1] - seed;
    }
  }

  // Eight bytes, as the integer that they are in little-endian order.
  static constexpr std::uint64_t integer(std::uint64_t key, std::uint64_t seed) noexcept {
    return of_8((key << 32U | key >> 32U) ^ flip_of_8(seed));
  }
  [[nodiscard]] constexpr std::uint64_t integer(std::uint64_t key) const noexcept {
    return of_8((key << 32U | key >> 32U) ^ flip8);
  }

 private:
  static constexpr std::array<std::size_t, 8> order = {0, 4, 6, 2, 8, 12, 14, 10};
  // The first 128 bytes of the specification's default secret.
  static constexpr std::array<std::uint64_t, 16> default_secret = {
      0xbe4ba423396cfeb8ULL, 0x1cad21f72c81017cULL, 0xdb979083e96dd4deULL, 0x1f67b3b7a4a44072ULL,
      0x78e5c0cc4ee679cbULL, 0x2172ffcc7dd05a82ULL, 0x8e2443f7744608b8ULL, 0x4c263a81e69035e0ULL,
      0xcb00c391bb52283cULL, 0xa32e531b8b65d088ULL, 0x4ef90da297486471ULL, 0xd8acdea946ef1938ULL,
      0x3f349ce33f76faa8ULL, 0x1d4f0bc7c7bbdcf9ULL, 0x3159b4cd4be0518aULL, 0x647378d9c97e9fc8ULL};

  static constexpr std::uint64_t flip_of_8(std::uint64_t seed) noexcept {
    return 0xc73ab174c5ecd5a2ULL - (seed ^ (std::uint64_t{__builtin_bswap32(static_cast<std::uint32_t>(seed))} << 32U));
  }
  static constexpr std::uint64_t of_8(std::uint64_t x) noexcept {
    x ^= (x << 49U | x >> 15U) ^ (x << 24U | x >> 40U);
    x *= multiplier8;
    x ^= (x >> 35U) + 8;
    x *= multiplier8;
    return x ^ (x >> 28U);
  }
};

}  // namespace bloomery::inline BLOOMERY_ABI
