// kernels/ribbon/dispatch.hpp: the look-ups of the ribbon filter, and the solving when it is built, with the best
// instruction set there is.
//
// The choice is made once a filter: it depends on the number of columns as well. A single look-up calls through a pointer,
// or nothing at all in a program that is compiled for AVX2.
#pragma once

#include <bloomery/core/cpu.hpp>
#include <bloomery/core/intrinsics.hpp>
#include <bloomery/hash/digest_feed.hpp>
#include <bloomery/kernels/ribbon.hpp>

namespace bloomery::inline BLOOMERY_ABI::kernels {

namespace portable {

#define BLOOMERY_TARGET
#define BLOOMERY_INLINE BLOOMERY_ALWAYS_INLINE inline

// Compares all columns, eight at a time: a key that is absent differs in some of them, and nobody knows in which.
template <unsigned Eights>
BLOOMERY_INLINE bool ribbon_matches(const std::uint64_t* words, const ribbon_place& at, std::uint32_t fingerprint,
                                    std::uint32_t wanted) {
  const std::uint64_t here = little_endian(at.here);
  const std::uint64_t next = little_endian(at.next);
  const std::uint64_t* behind = words + at.columns;
  std::uint32_t bits = 0;
  for (unsigned j = 0; j < 8 * Eights; ++j) {
    const std::uint64_t used = (words[j] & here) | (behind[j] & next);
    bits |= static_cast<std::uint32_t>(__builtin_parityll(used)) << ribbon_bit_of(j);
  }
  return ((bits ^ fingerprint) & wanted) == 0;
}

#include <bloomery/kernels/ribbon/loops.inc>

#undef BLOOMERY_INLINE
#undef BLOOMERY_TARGET

}  // namespace portable

}  // namespace bloomery::inline BLOOMERY_ABI::kernels

#include <bloomery/kernels/ribbon/avx2.hpp>

namespace bloomery::inline BLOOMERY_ABI::kernels {

struct ribbon_functions {
  bool (*one)(const ribbon_view&, std::uint64_t) noexcept = nullptr;
  void (*many)(const ribbon_view&, std::size_t, const digest_feed&, std::uint64_t*) noexcept = nullptr;

  template <unsigned Eights>
  static ribbon_functions of_eights(isa level) noexcept {
#ifdef BLOOMERY_X86
    if (level == isa::avx2 || level == isa::avx512)
      return {avx2::ribbon_contains_one<Eights>, avx2::ribbon_contains_batch<Eights>};
#endif
    static_cast<void>(level);
    return {portable::ribbon_contains_one<Eights>, portable::ribbon_contains_batch<Eights>};
  }
  // For blocks of so many columns at most, 32.
  static ribbon_functions of(isa level, unsigned columns) noexcept {
    if (columns <= 8) return of_eights<1>(level);
    if (columns <= 16) return of_eights<2>(level);
    return columns <= 24 ? of_eights<3>(level) : of_eights<4>(level);
  }
};

inline void ribbon_solve_with(isa level, const std::uint64_t* coefficients, const std::uint32_t* fingerprints,
                              std::uint64_t blocks, unsigned columns, std::uint64_t first_wide,
                              std::uint64_t* words) noexcept {
#ifdef BLOOMERY_X86
  if (level == isa::avx2 || level == isa::avx512) {
    return avx2::ribbon_solve(coefficients, fingerprints, blocks, columns, first_wide, words);
  }
#endif
  static_cast<void>(level);
  portable::ribbon_solve(coefficients, fingerprints, blocks, columns, first_wide, words);
}

}  // namespace bloomery::inline BLOOMERY_ABI::kernels
