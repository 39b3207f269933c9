// kernels/redis_bloom.hpp: batches over the bits of one Bloom sub-filter of RedisBloom: same positions and bytes as one
// key after the other, with the memory of many keys prefetched.
//
//     position i of a digest (a, b) = (a + i b mod 2^64) mod bits        bit x is bit x mod 8 of byte x / 8
//
// A key has k lines of cache all over the filter, so a batch is bound by how many of them are under way at once. A
// query goes in waves: two positions of every key, then two more of those that are left, then the rest; most absent
// keys read two lines. An insert computes and prefetches all positions of all keys first. The remainder is taken by
// multiplication (core/divisor.hpp): a division would keep the processor from sending requests.
#pragma once

#include <bloomery/core/divisor.hpp>
#include <bloomery/hash/concept.hpp>
#include <cstddef>
#include <span>

namespace bloomery::inline BLOOMERY_ABI::kernels {

struct redis_bits {
  std::byte* bytes = nullptr;
  std::uint64_t size_bytes = 0;
  std::uint64_t modulus = 1;  // positions are below; 1 to 8 size_bytes
  std::uint64_t hashes = 0;
};

// Keys of one wave, at most.
inline constexpr std::size_t redis_wave = 64;

// One key after the other, by division.
inline bool redis_contains(const redis_bits& in, const digest128& key) noexcept {
  std::uint64_t x = key.low;
  for (std::uint64_t i = 0; i < in.hashes; ++i, x += key.high) {
    const std::uint64_t bit = x % in.modulus;
    if ((in.bytes[bit / 8] >> (bit % 8) & std::byte{1}) == std::byte{0}) return false;
  }
  return true;
}
// Whether a bit changed.
inline bool redis_insert(const redis_bits& into, const digest128& key) noexcept {
  std::byte clear{0};
  std::uint64_t x = key.low;
  for (std::uint64_t i = 0; i < into.hashes; ++i, x += key.high) {
    const std::uint64_t bit = x % into.modulus;
    const std::byte mask = std::byte{1} << (bit % 8);
    clear |= ~into.bytes[bit / 8] & mask;
    into.bytes[bit / 8] |= mask;
  }
  return clear != std::byte{0};
}

// Writes a key's bytes in a filter without keys, as they are. The first key of a large filter touches k pages that the system
// has not provided yet: reading first would take two page faults each.
inline void redis_touch(const redis_bits& empty, const digest128& key) noexcept {
  std::uint64_t x = key.low;
  for (std::uint64_t i = 0; i < empty.hashes; ++i, x += key.high) {
    *const_cast<volatile std::byte*>(&empty.bytes[x % empty.modulus / 8]) = std::byte{0};
  }
}

// Of up to redis_wave keys: bit i when all bits of key i are set.
BLOOMERY_API std::uint64_t redis_contains_wave(const redis_bits& in, std::span<const digest128> keys) noexcept;

struct redis_inserted {
  std::size_t taken = 0;    // keys from the front that are there now
  std::uint64_t fresh = 0;  // bit i when key i changed a bit
};
// Of up to redis_wave keys, in their order. Stops at the first new key after `room` new ones.
BLOOMERY_API redis_inserted redis_insert_wave(const redis_bits& into, std::span<const digest128> keys,
                                              std::uint64_t room) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI::kernels

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kernels/redis_bloom.cpp>
#endif
