// kernels/ribbon/dispatch.hpp: the look-ups of the ribbon filter, and the solving when it is built, a table for each
// instruction set and number of columns.
//
// A filter holds the table that it uses. A single look-up calls through it, except in a program that is compiled for
// AVX2: there it is inlined.
#pragma once

#include <bloomery/core/dispatch.hpp>
#include <bloomery/core/target.hpp>
#include <bloomery/hash/digest_feed.hpp>
#include <bloomery/kernels/ribbon.hpp>
#if defined(BLOOMERY_X86) && defined(BLOOMERY_COMPILED_FOR)
#include <bloomery/kernels/ribbon/avx2.hpp>
#endif

namespace bloomery::inline BLOOMERY_ABI::kernels {

struct ribbon_kernels {
  bool (*contains)(const ribbon_view& view, std::uint64_t digest) noexcept;
  void (*contains_batch)(const ribbon_view& view, std::size_t count, const digest_feed& feed,
                         std::uint64_t* mask) noexcept;
  void (*solve)(const std::uint64_t* coefficients, const std::uint32_t* fingerprints, std::uint64_t blocks,
                unsigned columns, std::uint64_t first_wide, std::uint64_t* words) noexcept;

  // For blocks of at most so many columns, up to 32.
  BLOOMERY_API static const ribbon_kernels& for_isa(isa level, unsigned columns) noexcept;
};

}  // namespace bloomery::inline BLOOMERY_ABI::kernels

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kernels/ribbon.cpp>
#endif
