// compat/redis/bloom_records.hpp: what RedisBloom stores about a chain of Bloom filters: the head, a record for each
// sub-filter, how it sizes one, and which of them can be.
//
//     SCANDUMP header (little-endian, no gaps)
//       head, 20 bytes         keys u64, sub-filters u32, options u32, growth u32
//       record, 53 bytes each  bytes u64, bits u64, keys u64, FPR f64, bits per key f64, hashes u32, capacity u64, n2 u8
//
// RDB has the same numbers in another order; the oldest encoding there has no options, no growth and no bits.
// docs/formats/redisbloom.md has the rules.
#pragma once

#include <bloomery/core/bytes.hpp>
#include <bloomery/core/result.hpp>
#include <bloomery/sizing/sizing.hpp>
#include <span>

namespace bloomery::inline BLOOMERY_ABI::redis {

// The options of a chain. The commands of today make chains with the first and the third.
inline constexpr std::uint32_t no_rounding = 1;    // sizes are multiples of 64 bits, not powers of two
inline constexpr std::uint32_t keys_are_bits = 2;  // the capacity of a new sub-filter is log2 of its bits
inline constexpr std::uint32_t hashes_64 = 4;      // MurmurHash64A, not MurmurHash2
inline constexpr std::uint32_t no_scaling = 8;
inline constexpr std::uint32_t known_options = no_rounding | keys_are_bits | hashes_64 | no_scaling;

inline constexpr std::uint64_t max_growth = 32768;  // as the product lets a user choose
// The product halves the FPR from sub-filter to sub-filter, and a double can be halved 1,074 times before it is 0. The
// smallest takes 1,074 hash functions.
inline constexpr std::uint64_t max_bloom_sub_filters = 1100;
inline constexpr std::uint64_t max_bloom_hashes = 1100;

struct bloom_head {
  std::uint64_t keys = 0;
  std::uint64_t sub_filters = 0;
  std::uint64_t options = 0;
  std::uint64_t growth = 2;

  static constexpr std::size_t size_bytes = 20;
  [[nodiscard]] bool scales() const noexcept { return (options & no_scaling) == 0; }
  // Of the whole header.
  [[nodiscard]] std::uint64_t header_bytes() const noexcept;
  // `bytes` are at least size_bytes.
  BLOOMERY_API static bloom_head read(std::span<const std::byte> bytes) noexcept;
  BLOOMERY_API void write(byte_writer& to) const noexcept;
};

struct BLOOMERY_API bloom_record {
  std::uint64_t size_bytes = 0;
  std::uint64_t bits = 0;
  std::uint64_t keys = 0;
  double error_rate = 0;
  double bits_per_key = 0;
  std::uint64_t hashes = 0;
  std::uint64_t capacity = 0;
  std::uint64_t log2_bits = 0;  // n2; 0: not rounded

  static constexpr std::size_t stored_bytes = 53;
  // As the product sizes a sub-filter. What would have 2^60 bits or more is refused.
  static result<bloom_record> sized(std::uint64_t capacity, double error_rate, std::uint64_t options) noexcept;
  static double bits_per_key_for(double error_rate) noexcept;
  static double hashes_for(double bits_per_key) noexcept;

  // Positions are below this.
  [[nodiscard]] std::uint64_t modulus() const noexcept { return log2_bits == 0 ? bits : std::uint64_t{1} << log2_bits; }
  // `bytes` are at least stored_bytes.
  static bloom_record read(std::span<const std::byte> bytes) noexcept;
  void write(byte_writer& to) const noexcept;
  friend bool operator==(const bloom_record&, const bloom_record&) = default;
};

inline std::uint64_t bloom_head::header_bytes() const noexcept {
  return size_bytes + sub_filters * bloom_record::stored_bytes;
}

// The product's own checks, no more hash functions than an FPR can require, and no more keys than the bits are for.
// `whole_bytes`: every bit of the bytes is used, as everywhere but in the oldest encoding of RDB.
BLOOMERY_API result<void> check_bloom(const bloom_head& head) noexcept;
BLOOMERY_API result<void> check_bloom(const bloom_record& record, bool whole_bytes = true) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI::redis

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/compat/redis/bloom_records.cpp>
#endif
