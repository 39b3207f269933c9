// hash/fnv.hpp: FNV-1 and FNV-1a, 64 bits, by Fowler, Noll and Vo.
//
// Here because DCSO's filters and much else use them. They take a byte at a time, so they are slow on long keys, and
// the last bytes of a key hardly reach the high bits of the digest: both are weak and finished with mix64. They take no
// seed.
#pragma once

#include <bloomery/hash/concept.hpp>

namespace bloomery::inline BLOOMERY_ABI {

namespace detail {
inline constexpr std::uint64_t fnv_offset_basis = 0xcbf29ce484222325ULL;
inline constexpr std::uint64_t fnv_prime = 0x100000001b3ULL;
}  // namespace detail

struct fnv1 {
  static constexpr hash_info info{.id = 6,
                                  .name = "fnv1",
                                  .bits = 64,
                                  .seed_bits = 0,
                                  .key_bytes = 0,
                                  .weak = true,
                                  .summary = "FNV-1, 64 bits, no seed: as in DCSO's bloom"};

  std::uint64_t operator()(const void* bytes, std::size_t size) const noexcept {
    const auto* at = static_cast<const unsigned char*>(bytes);
    std::uint64_t h = detail::fnv_offset_basis;
    for (std::size_t i = 0; i < size; ++i) h = (h * detail::fnv_prime) ^ at[i];
    return h;
  }
};

struct fnv1a {
  static constexpr hash_info info{.id = 7,
                                  .name = "fnv1a",
                                  .bits = 64,
                                  .seed_bits = 0,
                                  .key_bytes = 0,
                                  .weak = true,
                                  .summary = "FNV-1a, 64 bits, no seed: for foreign data"};

  std::uint64_t operator()(const void* bytes, std::size_t size) const noexcept {
    const auto* at = static_cast<const unsigned char*>(bytes);
    std::uint64_t h = detail::fnv_offset_basis;
    for (std::size_t i = 0; i < size; ++i) h = (h ^ at[i]) * detail::fnv_prime;
    return h;
  }
};

}  // namespace bloomery::inline BLOOMERY_ABI
