// compat/leveldb/window_solver.hpp: solves the system of one filter of windows.
//
// A row is the equation of a key: a bit for each slot, three for the slots behind the end, and the fingerprint. Early keys
// are eliminated first, once or twice. What is left of the slots are some free columns, and every slot is a sum of
// those. Late keys then are equations of the free columns, small ones, which each seed tries anew.
#pragma once

#include <bloomery/compat/leveldb/windows.hpp>
#include <bloomery/kernels/gf2/dispatch.hpp>

namespace bloomery::inline BLOOMERY_ABI::leveldb {

// Memory for one system.
struct window_system {
  static constexpr unsigned most_bits = 64 * kernels::gf2_most_words;  // of a row
  static constexpr unsigned most_late = 32;

  template <std::size_t Count>
  using words = std::array<std::uint64_t, Count>;

  alignas(64) words<std::size_t{kernels::gf2_most_words} * kernels::gf2_stride> rows;
  alignas(64) words<kernels::gf2_stride> sums;   // of each row, in the free columns
  alignas(64) words<kernels::gf2_stride> slots;  // of each slot, first as such a sum, then its value
  alignas(64) words<most_late> late_rows;
  alignas(64) words<most_late> late_values;
  words<most_late + 3> values;         // of the free columns and the slots behind the end
  words<kernels::gf2_stride> digests;  // early ones from the front, late ones from the back
  std::array<std::uint16_t, kernels::gf2_stride> pivots;
  std::array<std::uint16_t, most_late> late_pivots;
  std::array<std::uint16_t, most_late + 3 + most_slot_bits> columns;  // of the bits of a sum
  std::array<std::byte, most_window_bytes + 16> bytes;
};

// A row has columns for the slots, the three behind the end, and the fingerprint.
constexpr bool fits_system(std::uint64_t slots, unsigned slot_bits) noexcept {
  return slots + 3 + slot_bits <= window_system::most_bits;
}

// Writes the filter whose bytes, but for the last, are shape.size_bytes; out has one more. false: no seed solves it, or a
// digest is there twice. There are at most as many digests as slots, and the shape fits the system.
BLOOMERY_API bool solve_windows(window_system& system, std::span<const std::uint64_t> digests, window_shape shape,
                                std::span<std::byte> out) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI::leveldb

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/compat/leveldb/window_solver.cpp>
#endif
