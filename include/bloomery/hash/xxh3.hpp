// hash/xxh3.hpp: XXH3 by Yann Collet, 64 and 128 bits.
//
// Fast on short keys and the fastest of the list on long ones, well mixed in all bits, seeded, wide where wanted, and
// the same on every machine. The seed varies the function between filters; it is not a secret: whoever knows or guesses
// it can search for colliding keys, and the seed was never designed to withstand guessing. For keys that an opponent
// chooses use siphash13.
#pragma once

#include <bloomery/hash/concept.hpp>
#include <bloomery/hash/xxh3_short.hpp>
#include <bloomery/hash/xxhash_inline.hpp>

namespace bloomery::inline BLOOMERY_ABI {

struct xxh3 {
  std::uint64_t seed = 0;

  static constexpr hash_info info{.id = 1,
                                  .name = "xxh3",
                                  .bits = 128,
                                  .seed_bits = 64,
                                  .key_bytes = 0,
                                  .weak = false,
                                  .summary = "XXH3, 64 or 128 bits: fast at every key length"};

  std::uint64_t operator()(const void* bytes, std::size_t size) const noexcept {
    // The same function, but one that compilers inline: a filter without a seed knows that it has none.
    if (__builtin_constant_p(seed) && seed == 0) return XXH3_64bits(bytes, size);
    return XXH3_64bits_withSeed(bytes, size, seed);
  }
  // The 8 little-endian bytes of an integer key, without a call.
  [[nodiscard]] std::uint64_t integer(std::uint64_t key) const noexcept { return xxh3_short::integer(key, seed); }
  // The low word differs from the 64-bit digest for most key lengths: they are two functions.
  [[nodiscard]] digest128 hash128(const void* bytes, std::size_t size) const noexcept {
    const XXH128_hash_t digest = XXH3_128bits_withSeed(bytes, size, seed);
    return {.low = digest.low64, .high = digest.high64};
  }
};

}  // namespace bloomery::inline BLOOMERY_ABI
