// hash/murmur64a.hpp: MurmurHash64A by Austin Appleby, the 64-bit function of the MurmurHash2 family.
//
// Here because RedisBloom and libstdc++ use it. Sets of keys are known that collide under every seed: never use it on
// keys that an opponent chooses.
#pragma once

#include <bloomery/core/bytes.hpp>
#include <bloomery/hash/concept.hpp>
#include <bloomery/hash/partial.hpp>

namespace bloomery::inline BLOOMERY_ABI {

struct murmur64a {
  std::uint64_t seed = 0;

  static constexpr hash_info info{.id = 5,
                                  .name = "murmur64a",
                                  .bits = 64,
                                  .seed_bits = 64,
                                  .key_bytes = 0,
                                  .weak = false,
                                  .summary = "MurmurHash64A, 64 bits: as in RedisBloom"};

  std::uint64_t operator()(const void* bytes, std::size_t size) const noexcept {
    constexpr std::uint64_t m = 0xc6a4a7935bd1e995ULL;
    const auto* at = static_cast<const std::byte*>(bytes);
    std::uint64_t h = seed ^ (size * m);
    std::size_t left = size;
    for (; left >= 8; left -= 8, at += 8) {
      std::uint64_t k = load_le<std::uint64_t>(at) * m;
      k ^= k >> 47U;
      h = (h ^ (k * m)) * m;
    }
    if (left != 0) h = (h ^ load_partial_le(at, left)) * m;
    h = (h ^ (h >> 47U)) * m;
    return h ^ (h >> 47U);
  }
};

// The two numbers that RedisBloom makes of a key: the second hash is seeded with the first.
inline digest128 murmur64a_pair(const void* bytes, std::size_t size) noexcept {
  const std::uint64_t first = murmur64a{.seed = 0xc6a4a7935bd1e995ULL}(bytes, size);
  return {first, murmur64a{.seed = first}(bytes, size)};
}

// Those two numbers as a hash of 128 bits, so that a filter can be queried and filled as RedisBloom does it.
struct paired_murmur64a {
  static constexpr hash_info info{.id = 20,
                                  .name = "murmur64a-pair",
                                  .bits = 128,
                                  .seed_bits = 0,
                                  .key_bytes = 0,
                                  .weak = false,
                                  .summary = "MurmurHash64A twice, 128 bits, no seed: RedisBloom's Bloom filters"};

  std::uint64_t operator()(const void* bytes, std::size_t size) const noexcept {
    return murmur64a_pair(bytes, size).low;
  }
  [[nodiscard]] digest128 hash128(const void* bytes, std::size_t size) const noexcept {
    return murmur64a_pair(bytes, size);
  }
};

}  // namespace bloomery::inline BLOOMERY_ABI
