// kernels/gf2/dispatch.hpp: the kernels of systems over GF(2), a table for each instruction set. loops.inc states what
// each of them does.
#pragma once

#include <bloomery/core/dispatch.hpp>
#include <bloomery/kernels/gf2.hpp>

namespace bloomery::inline BLOOMERY_ABI::kernels {

struct gf2_kernels {
  using reduce_function = bool(std::uint64_t* rows, unsigned count, unsigned columns, std::uint16_t* pivots) noexcept;

  std::array<reduce_function*, gf2_most_words> reduce;  // of rows of 1, 2, 3 and 4 words
  void (*gather)(const std::uint64_t* rows, unsigned count, const std::uint16_t* columns, unsigned bits,
                 std::uint64_t* out) noexcept;
  void (*combine)(const std::uint64_t* sums, unsigned count, const std::uint64_t* values, unsigned bits,
                  std::uint64_t* out) noexcept;

  BLOOMERY_API static const gf2_kernels& for_isa(isa level) noexcept;
};

}  // namespace bloomery::inline BLOOMERY_ABI::kernels

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kernels/gf2.cpp>
#endif
