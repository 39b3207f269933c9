// hash/mum2.hpp: integers by two multiplications of 128 bits, every other key by XXH3. The default hash.
//
// A key of 8 bytes, as the integer that it is in little-endian order, is multiplied, and the two halves of the 128-bit
// product are united by exclusive or; then the same again:
//
//     unite(p) = low 64 bits of p ^ high 64 bits of p
//     x = unite(key * 0x9e3779b97f4a7c15)
//     digest = unite((x ^ seed) * 0xbe5466cf34e90c6d)
//
// That is five instructions, where XXH3 has thirteen. One multiplication is not enough for a filter: keys in steps of 8
// then collide fifty standard deviations more often than they may. With two, counters, steps, grids, sparse and
// reversed bits, floating-point numbers and pointers behave as random numbers do (tests/hash/integer_hashes_test.cpp).
// The seed enters between the two, so that dense keys give unrelated digests under neighbouring seeds.
// Keys of any other size get their XXH3 digest under the same seed, and 128-bit digests are those of XXH3 for every
// size. So the integer 42, its 8 bytes and a string of these 8 bytes are one key, as with every hash.
// Whoever may choose keys finds colliding ones without effort: for those take siphash13.
#pragma once

#include <bloomery/core/bytes.hpp>
#include <bloomery/core/wide.hpp>
#include <bloomery/hash/xxh3.hpp>

namespace bloomery::inline BLOOMERY_ABI {

struct mum2 {
  std::uint64_t seed = 0;

  static constexpr hash_info info{.id = 23,
                                  .name = "mum2",
                                  .bits = 128,
                                  .seed_bits = 64,
                                  .key_bytes = 0,
                                  .weak = false,
                                  .summary = "the default: two multiplications for 8 bytes, XXH3 for other keys"};

  // The golden ratio, and fractional bits of pi.
  static constexpr std::uint64_t first_multiplier = 0x9e3779b97f4a7c15ULL;
  static constexpr std::uint64_t second_multiplier = 0xbe5466cf34e90c6dULL;

  [[nodiscard]] std::uint64_t integer(std::uint64_t key) const noexcept {
    return folded_product_of_computed(folded_product(key, first_multiplier) ^ seed, second_multiplier);
  }
  std::uint64_t operator()(const void* bytes, std::size_t size) const noexcept {
    if (size == 8) return integer(load_le<std::uint64_t>(static_cast<const std::byte*>(bytes)));
    return xxh3{.seed = seed}(bytes, size);
  }
  [[nodiscard]] digest128 hash128(const void* bytes, std::size_t size) const noexcept {
    return xxh3{.seed = seed}.hash128(bytes, size);
  }
};

// Of a filter for which no hash was chosen.
using default_hash = mum2;

}  // namespace bloomery::inline BLOOMERY_ABI
