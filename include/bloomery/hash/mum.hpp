// hash/mum.hpp: integers by two multiplications, for integer keys that nobody chooses. The quickest hash here on
// processors without AES instructions (see hash/aes2.hpp).
//
// "Multiply and unite": the key, combined with the seed, is multiplied by a constant, the two halves of the 128-bit
// product are united by exclusive or, a second multiplication spreads the result upwards, and a shift brings it down:
//
//     p = (key ^ (0xa4093822299f31d0 + seed)) * 0x452821e638d01377                128 bits
//     x = (low 64 bits of p ^ high 64 bits of p) * 0xbe5466cf34e90c6d             mod 2^64
//     digest = x ^ (x >> 32)
//
// That is seven instructions, where XXH3 has thirteen. One multiplication alone is not enough: keys in steps of 2^20
// then gave 7 % false positives instead of 0.5 %. With the second, counters, steps, grids and random keys keep the FPR
// of the kind (tests/hash/integer_hashes_test.cpp), and every bit of a key flips every bit of the digest half of the
// time. Whoever may choose keys finds colliding ones without effort: for those take siphash13. A key of 8 bytes is the
// integer that it is in little-endian order; keys of any other size get their XXH3 digest under the same seed.
#pragma once

#include <bloomery/core/bytes.hpp>
#include <bloomery/core/wide.hpp>
#include <bloomery/hash/xxh3.hpp>

namespace bloomery::inline BLOOMERY_ABI {

struct mum {
  std::uint64_t seed = 0;

  static constexpr hash_info info{.id = 14,
                                  .name = "mum",
                                  .bits = 64,
                                  .seed_bits = 64,
                                  .key_bytes = 0,
                                  .weak = false,
                                  .summary = "two multiplications for integers, quick everywhere; other keys as xxh3"};

  // Fractional bits of pi.
  static constexpr std::uint64_t flip = 0xa4093822299f31d0ULL;
  static constexpr std::uint64_t first_multiplier = 0x452821e638d01377ULL;
  static constexpr std::uint64_t second_multiplier = 0xbe5466cf34e90c6dULL;

  [[nodiscard]] std::uint64_t integer(std::uint64_t key) const noexcept {
    const uint128 product = multiply_wide(key ^ (flip + seed), first_multiplier);
    const std::uint64_t x =
        (static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U)) * second_multiplier;
    return x ^ (x >> 32U);
  }
  std::uint64_t operator()(const void* bytes, std::size_t size) const noexcept {
    if (size == 8) return integer(load_le<std::uint64_t>(static_cast<const std::byte*>(bytes)));
    return xxh3{.seed = seed}(bytes, size);
  }
};

}  // namespace bloomery::inline BLOOMERY_ABI
