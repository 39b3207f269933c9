// hash/murmur3.hpp: MurmurHash3 by Austin Appleby, the x64 128-bit and the x86 32-bit function.
//
// Both are here because other products' filters use them (Guava, Cassandra, Spark, bits-and-blooms). Bytes are read as
// little-endian on every machine. Lengths beyond 2^32 - 1 count modulo 2^32 in the 32-bit function and in full in the
// 128-bit one.
//
// The 32-bit function has only 2^32 digests: from about 40 thousand keys on, digest collisions alone exceed an FPR of
// one in 100,000. It is for small filters and foreign data.
//
// For both, sets of keys are known that collide under every seed: never use them on keys that an opponent chooses.
#pragma once

#include <bit>
#include <bloomery/core/bytes.hpp>
#include <bloomery/hash/concept.hpp>
#include <bloomery/hash/partial.hpp>

namespace bloomery::inline BLOOMERY_ABI {

struct murmur3_x64_128 {
  std::uint32_t seed = 0;

  static constexpr hash_info info{.id = 3,
                                  .name = "murmur3-x64-128",
                                  .bits = 128,
                                  .seed_bits = 32,
                                  .key_bytes = 0,
                                  .weak = false,
                                  .summary = "MurmurHash3 x64, 64 or 128 bits: as in Guava and Cassandra"};

  std::uint64_t operator()(const void* bytes, std::size_t size) const noexcept { return hash128(bytes, size).low; }

  // {h1, h2} of the published function.
  [[nodiscard]] digest128 hash128(const void* bytes, std::size_t size) const noexcept {
    const auto* at = static_cast<const std::byte*>(bytes);
    digest128 h = blocks(at, size / 16);
    at += size / 16 * 16;
    const std::size_t left = size % 16;
    const std::uint64_t high = left > 8 ? load_partial_le(at + 8, left - 8) : 0;
    return finish(h, load_partial_le(at, left < 8 ? left : 8), high, size);
  }

  // {h1, h2} of the key, then {h1, h2} of the key with a byte 01 after it: what bits-and-blooms makes of a key.
  [[nodiscard]] digest256 hash256(const void* bytes, std::size_t size) const noexcept {
    const auto* at = static_cast<const std::byte*>(bytes);
    digest128 h = blocks(at, size / 16);
    at += size / 16 * 16;
    const std::size_t left = size % 16;
    std::uint64_t low = load_partial_le(at, left < 8 ? left : 8);
    std::uint64_t high = left > 8 ? load_partial_le(at + 8, left - 8) : 0;
    const digest128 first = finish(h, low, high, size);
    (left < 8 ? low : high) |= std::uint64_t{1} << (8U * (left % 8U));
    if (left == 15) {  // the byte makes a whole block
      h = with_block(h, low, high);
      low = high = 0;
    }
    const digest128 second = finish(h, low, high, size + 1);
    return {{first.low, first.high, second.low, second.high}};
  }

 private:
  static constexpr std::uint64_t c1 = 0x87c37b91114253d5ULL;
  static constexpr std::uint64_t c2 = 0x4cf5ad432745937fULL;
  static constexpr std::uint64_t scramble_1(std::uint64_t k) noexcept { return std::rotl(k * c1, 31) * c2; }
  static constexpr std::uint64_t scramble_2(std::uint64_t k) noexcept { return std::rotl(k * c2, 33) * c1; }

  static constexpr digest128 with_block(digest128 h, std::uint64_t low, std::uint64_t high) noexcept {
    h.low ^= scramble_1(low);
    h.low = (std::rotl(h.low, 27) + h.high) * 5 + 0x52dce729U;
    h.high ^= scramble_2(high);
    h.high = (std::rotl(h.high, 31) + h.low) * 5 + 0x38495ab5U;
    return h;
  }
  [[nodiscard]] digest128 blocks(const std::byte* at, std::size_t count) const noexcept {
    digest128 h{seed, seed};
    for (; count != 0; --count, at += 16) {
      h = with_block(h, load_le<std::uint64_t>(at), load_le<std::uint64_t>(at + 8));
    }
    return h;
  }
  // A half of the tail without bytes is zero, and scrambling zero gives zero.
  static constexpr digest128 finish(digest128 h, std::uint64_t low, std::uint64_t high, std::size_t size) noexcept {
    h.high ^= scramble_2(high) ^ size;
    h.low ^= scramble_1(low) ^ size;
    h.low += h.high;
    h.high += h.low;
    h.low = mix64(h.low);
    h.high = mix64(h.high);
    h.low += h.high;
    h.high += h.low;
    return h;
  }
};

struct murmur3_x86_32 {
  std::uint32_t seed = 0;

  // Weak: the upper half of the 64-bit digest would be zero, so mix64 spreads the 32 bits over it.
  static constexpr hash_info info{.id = 4,
                                  .name = "murmur3-x86-32",
                                  .bits = 32,
                                  .seed_bits = 32,
                                  .key_bytes = 0,
                                  .weak = true,
                                  .summary = "MurmurHash3 x86, 32 bits: small filters and foreign data only"};

  std::uint64_t operator()(const void* bytes, std::size_t size) const noexcept {
    const auto* at = static_cast<const std::byte*>(bytes);
    std::uint32_t h = seed;
    std::size_t left = size;
    for (; left >= 4; left -= 4, at += 4) {
      h ^= scramble(load_le<std::uint32_t>(at));
      h = std::rotl(h, 13) * 5U + 0xe6546b64U;
    }
    if (left != 0) h ^= scramble(static_cast<std::uint32_t>(load_partial_le(at, left)));
    h ^= static_cast<std::uint32_t>(size);
    h ^= h >> 16U;
    h *= 0x85ebca6bU;
    h ^= h >> 13U;
    h *= 0xc2b2ae35U;
    h ^= h >> 16U;
    return h;
  }

 private:
  static constexpr std::uint32_t scramble(std::uint32_t k) noexcept {
    return std::rotl(k * 0xcc9e2d51U, 15) * 0x1b873593U;
  }
};

}  // namespace bloomery::inline BLOOMERY_ABI
