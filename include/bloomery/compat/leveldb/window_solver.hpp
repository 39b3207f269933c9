// compat/leveldb/window_solver.hpp: solves the system of one filter of windows.
#pragma once

#include <bloomery/compat/leveldb/windows.hpp>

namespace bloomery::inline BLOOMERY_ABI::leveldb {

// Memory for one system.
struct window_system {
  static constexpr unsigned words = 4;  // of a row: coefficients, the slots behind the end, the fingerprint
  static constexpr unsigned most_rows = 256;
  static constexpr unsigned most_late = 32;

  std::array<std::array<std::uint64_t, words>, most_rows> rows;
  // What a column adds to a late row: bits 0..31 the free columns, 32..47 the fingerprint, 48..50 slots behind the end.
  std::array<std::uint64_t, most_rows + 4> column;
  std::array<std::uint64_t, most_late> late;
  std::array<std::uint16_t, most_rows> pivot_of;  // of a row
  std::array<std::uint32_t, most_rows> order;     // of the digests: early ones, then late ones
};

// A row has columns for the slots, the three behind the end, and the fingerprint.
constexpr bool fits_system(std::uint64_t slots, unsigned slot_bits) noexcept {
  return slots + 3 + slot_bits <= 64 * window_system::words;
}

// Writes the filter whose bytes, but for the last, are shape.size_bytes; out has one more. false: no seed solves it.
BLOOMERY_API bool solve_windows(window_system& system, std::span<const std::uint64_t> digests, window_shape shape,
                                std::span<std::byte> out) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI::leveldb

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/compat/leveldb/window_solver.cpp>
#endif
