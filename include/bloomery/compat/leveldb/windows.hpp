// compat/leveldb/windows.hpp: what a look-up in a filter of windows does with a digest. This code defines the bits.
//
// docs/formats/leveldb-windows.md has the layout and the reasons.
#pragma once

#include <algorithm>
#include <array>
#include <bloomery/core/bytes.hpp>
#include <bloomery/core/size.hpp>
#include <bloomery/core/wide.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bloomery::inline BLOOMERY_ABI::leveldb {

inline constexpr unsigned least_slot_bits = 3;
inline constexpr unsigned most_slot_bits = 16;
inline constexpr unsigned window_seeds = 16;
inline constexpr unsigned first_window_code = 31;  // of the last byte
inline constexpr unsigned table_code = 255;
inline constexpr std::size_t least_window_bytes = 9;  // of a filter, the last byte included
inline constexpr std::size_t most_window_bytes = 512;
inline constexpr unsigned windows_of_key = 3;
inline constexpr unsigned window_slots = 4;

namespace detail {
// floor(bits / r) == bits * reciprocal >> 20 for all sizes that a filter can have.
inline constexpr std::array<std::uint32_t, 14> slot_reciprocals = [] {
  std::array<std::uint32_t, 14> all{};
  for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = ((1U << 20U) + i + 2) / (i + 3);
  return all;
}();
static_assert([] {
  for (std::uint32_t r = least_slot_bits; r <= most_slot_bits; ++r) {
    for (std::uint32_t bits = 0; bits <= 8 * most_window_bytes; bits += 8) {
      if (bits * slot_reciprocals[r - least_slot_bits] >> 20U != bits / r) return false;
    }
  }
  return true;
}());
}  // namespace detail

// What the size and the last byte of a filter state.
struct window_shape {
  std::uint32_t size_bytes;  // without the last byte
  std::uint32_t slot_bits;
  std::uint32_t slots;
  std::uint32_t seed;

  // The last byte is at least first_window_code, and not table_code.
  static window_shape read(std::size_t filter_bytes, unsigned code) noexcept {
    const unsigned number = code - first_window_code;
    const auto size = static_cast<std::uint32_t>(filter_bytes - 1);
    return {.size_bytes = size,
            .slot_bits = least_slot_bits + number / window_seeds,
            .slots = 8 * size * detail::slot_reciprocals[number / window_seeds] >> 20U,
            .seed = number % window_seeds};
  }
  [[nodiscard]] unsigned code() const noexcept {
    return first_window_code + (slot_bits - least_slot_bits) * window_seeds + seed;
  }
};

// What of a digest does not depend on the filter.
struct window_hash {
  std::uint64_t base;
  std::uint64_t step;

  explicit window_hash(std::uint64_t digest) noexcept {
    const uint128 product = multiply_wide(digest, 0x452821e638d01377ULL);
    step = static_cast<std::uint64_t>(product >> 64U);
    base = static_cast<std::uint64_t>(product) ^ step;
  }
};

// Late keys, about 12 of a filter: all seeds place them anew. The others are placed anew by bit 0 of the seed alone, so that
// a maker that tries seeds solves most of the system once or twice.
constexpr bool is_late(std::uint64_t digest, const window_shape& shape) noexcept {
  return (digest >> 16U & 0xffffU) * shape.size_bytes < std::uint64_t{3 * shape.slot_bits} << 15U;
}

// The three windows of a key, and which of their slots are its own: the first one always, the others by a common mask.
struct window_key {
  std::uint64_t x;

  window_key(const window_hash& hash, bool late, std::uint32_t seed) noexcept
      : x(hash.base + hash.step * (seed & (late ? window_seeds - 1 : 1U))) {}
  [[nodiscard]] std::uint32_t first_slot(unsigned window, std::uint32_t slots) const noexcept {
    return static_cast<std::uint32_t>(x >> (16 * window) & 0xffffU) * slots >> 16U;
  }
  // Bit k: slot k of a window. Windows of 4 slots of 15 bits could reach over 64 bits.
  [[nodiscard]] std::uint32_t mask(std::uint32_t slot_bits) const noexcept {
    return 1U | (static_cast<std::uint32_t>(x >> 48U) & (slot_bits == 15 ? 3U : 7U)) << 1U;
  }
};

// Slots from bit `bit` on, in the lowest bits; zeros beyond the filter's end. `filter` has least_window_bytes at least.
inline std::uint64_t window_at(std::span<const std::byte> filter, std::uint32_t bit) noexcept {
  const std::size_t from = std::min<std::size_t>(bit / 8, filter.size() - 8);
  return load_le<std::uint64_t>(filter.data() + from) >> (bit - 8 * from);
}

// Of a filter of least_window_bytes to most_window_bytes, whose last byte is first_window_code at least and not table_code.
inline bool windows_match(std::span<const std::byte> filter, std::uint64_t digest) noexcept {
  const window_hash hash(digest);
  const auto shape = window_shape::read(filter.size(), std::to_integer<unsigned>(filter.back()));
  const window_key key(hash, is_late(digest, shape), shape.seed);
  const unsigned r = shape.slot_bits;
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < windows_of_key; ++i) sum ^= window_at(filter, key.first_slot(i, shape.slots) * r);
  const std::uint64_t mask = key.mask(r);
  const std::uint64_t value = sum ^ (sum >> r & (0 - (mask >> 1U & 1U))) ^ (sum >> 2 * r & (0 - (mask >> 2U & 1U))) ^
                              (sum >> 3 * r & (0 - (mask >> 3U & 1U)));
  return (value ^ digest) << (64 - r) == 0;
}

// A table of filters: which part a digest belongs to.
struct window_table {
  std::span<const std::byte> bytes;
  std::uint64_t groups = 0;  // 0: this is no table
  std::uint64_t place = 0;   // of the first start
  unsigned wide = 2;

  // `filter` has two bytes at least, and table_code as the last.
  static window_table read(std::span<const std::byte> filter) noexcept {
    const auto kind = std::to_integer<unsigned>(filter[filter.size() - 2]);
    if (kind >= 2 && kind < 240) return make(filter, kind, 2, 2);
    if (kind != 1 || filter.size() < 6) return {};
    return make(filter, load_le<std::uint32_t>(filter.data() + filter.size() - 6), 4, 6);
  }
  [[nodiscard]] std::uint64_t group_of(std::uint64_t digest) const noexcept { return fast_range(digest, groups); }
  // Without a branch, which could not be predicted where there are few groups: what is read for the first group and for the
  // end of the last one is not used.
  [[nodiscard]] std::uint64_t start_of(std::uint64_t group) const noexcept {
    const std::uint64_t inner = 0 - std::uint64_t{group != 0 && group != groups};
    const std::uint64_t last = 0 - std::uint64_t{group == groups};
    const std::byte* const at = bytes.data() + to_size(place + wide * (group - std::uint64_t{group != 0}));
    return (last & place) | (inner & (wide == 2 ? load_le<std::uint16_t>(at) : load_le<std::uint32_t>(at)));
  }
  // Whether that part is where it can be; it may be empty then, and is a filter of its own else.
  [[nodiscard]] bool part(std::uint64_t group, std::span<const std::byte>& out) const noexcept {
    const std::uint64_t start = start_of(group);
    const std::uint64_t end = start_of(group + 1);
    if (start > end || end > place) return false;
    out = bytes.subspan(to_size(start), to_size(end - start));
    return true;
  }

 private:
  static window_table make(std::span<const std::byte> filter, std::uint64_t groups, unsigned wide,
                           std::uint64_t tail) noexcept {
    if (groups < 2 || groups - 1 > (filter.size() - tail) / wide) return {};
    return {filter, groups, filter.size() - tail - wide * (groups - 1), wide};
  }
};

inline bool is_window_filter(std::span<const std::byte> filter) noexcept {
  if (filter.size() < least_window_bytes || filter.size() > most_window_bytes) return false;
  const auto code = std::to_integer<unsigned>(filter.back());
  return code >= first_window_code && code != table_code;
}

}  // namespace bloomery::inline BLOOMERY_ABI::leveldb
