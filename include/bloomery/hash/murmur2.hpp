// hash/murmur2.hpp: MurmurHash2 by Austin Appleby, 32 bits, and the pair that RedisBloom makes of it.
//
// Here because filters that RedisBloom made before it had 64-bit hashing (without its option FORCE64) use it. The pair
// has 64 bits in all, in the low halves of two words: enough to read such filters, and nothing to build new ones with.
#pragma once

#include <bloomery/core/bytes.hpp>
#include <bloomery/core/wide.hpp>
#include <bloomery/hash/concept.hpp>
#include <bloomery/hash/partial.hpp>

namespace bloomery::inline BLOOMERY_ABI {

namespace detail {
// tail(bytes, size): the last 1 to 3 bytes as a number.
template <class Tail>
std::uint32_t murmur2_with_tail(const void* bytes, std::size_t size, std::uint32_t seed, Tail tail) noexcept {
  constexpr std::uint32_t m = 0x5bd1e995U;
  const auto* at = static_cast<const std::byte*>(bytes);
  std::uint32_t h = seed ^ static_cast<std::uint32_t>(size);
  std::size_t left = size;
  for (; left >= 4; left -= 4, at += 4) {
    std::uint32_t k = load_le<std::uint32_t>(at) * m;
    k ^= k >> 24U;
    h = (h * m) ^ (k * m);
  }
  if (left != 0) h = (h ^ tail(at, left)) * m;
  h = (h ^ (h >> 13U)) * m;
  return h ^ (h >> 15U);
}
}  // namespace detail

inline std::uint32_t murmur2_32(const void* bytes, std::size_t size, std::uint32_t seed) noexcept {
  return detail::murmur2_with_tail(bytes, size, seed, [](const std::byte* at, std::size_t left) {
    return static_cast<std::uint32_t>(load_partial_le(at, left));
  });
}

// The second hash is seeded with the first. As 64 bits, which is for counting keys, both are mixed into one word.
struct paired_murmur2 {
  static constexpr hash_info info{.id = 21,
                                  .name = "murmur2-pair",
                                  .bits = 128,
                                  .seed_bits = 0,
                                  .key_bytes = 0,
                                  .weak = false,
                                  .halves = true,
                                  .summary = "MurmurHash2 twice, 2 x 32 bits, no seed: old filters of RedisBloom"};

  [[nodiscard]] digest128 hash128(const void* bytes, std::size_t size) const noexcept {
    const std::uint32_t first = murmur2_32(bytes, size, 0x9747b28cU);
    return {first, murmur2_32(bytes, size, first)};
  }
  std::uint64_t operator()(const void* bytes, std::size_t size) const noexcept {
    const digest128 both = hash128(bytes, size);
    return mix64(both.low | (both.high << 32U));
  }
};

}  // namespace bloomery::inline BLOOMERY_ABI
