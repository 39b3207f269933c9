// compat/redis/cuckoo_records.hpp: what RedisBloom stores about a cuckoo filter, how it sizes one, and which of them can be.
//
//     SCANDUMP header (little-endian, no gaps), 38 bytes
//       keys u64, buckets u64, removed u64, sub-filters u64, slots u16, moves u16, growth u16
//
// RDB has the same numbers in another order, and the buckets of each sub-filter; before encoding 4 it had neither removals nor
// settings. docs/formats/redisbloom.md has the rules.
#pragma once

#include <bloomery/core/bytes.hpp>
#include <bloomery/core/result.hpp>
#include <cstdint>
#include <optional>
#include <span>

namespace bloomery::inline BLOOMERY_ABI::redis {

struct BLOOMERY_API cuckoo_head {
  std::uint64_t keys = 0;     // slots in use
  std::uint64_t buckets = 0;  // of the first sub-filter
  std::uint64_t removed = 0;  // since sub-filters were last emptied
  std::uint64_t sub_filters = 1;
  std::uint64_t slots = 2;   // of a bucket
  std::uint64_t moves = 20;  // before it grows
  std::uint64_t growth = 1;  // 0: it does not grow

  static constexpr std::size_t stored_bytes = 38;
  static constexpr std::uint64_t max_buckets = std::uint64_t{1} << 56U;
  // The product keeps the place of a bucket in 32 bits: beyond that it looks up other places than it moves keys to.
  static constexpr std::uint64_t max_sub_filter_bytes = std::uint64_t{1} << 32U;
  static constexpr std::uint64_t max_sub_filters = 65535;
  static constexpr std::uint64_t max_growth = 32768;

  // 0 where the number is too large.
  [[nodiscard]] std::uint64_t buckets_of(std::uint64_t sub_filter) const noexcept;
  // 0 where it would be larger than a sub-filter may be.
  [[nodiscard]] std::uint64_t bytes_of(std::uint64_t sub_filter) const noexcept;
  // Of all sub-filters; nothing where there are more than `most`.
  [[nodiscard]] std::optional<std::uint64_t> size_bytes(std::uint64_t most) const noexcept;
  // `bytes` are at least stored_bytes.
  static cuckoo_head read(std::span<const std::byte> bytes) noexcept;
  void write(byte_writer& to) const noexcept;
};
BLOOMERY_API result<void> check_cuckoo(const cuckoo_head& head) noexcept;

struct cuckoo_settings {
  std::uint64_t capacity = 1024;  // slots of the first sub-filter, rounded up to a power of two of buckets
  std::uint32_t slots = 2;
  std::uint32_t moves = 20;
  std::uint32_t growth = 1;  // rounded up to a power of two; 0: it does not grow

  // The head of such a filter.
  [[nodiscard]] BLOOMERY_API result<cuckoo_head> head() const noexcept;
};

}  // namespace bloomery::inline BLOOMERY_ABI::redis

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/compat/redis/cuckoo_records.cpp>
#endif
