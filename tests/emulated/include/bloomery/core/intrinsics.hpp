// Takes the place of the library's header of this name: SIMDe's functions instead of the compiler's, so that the kernels
// of all instruction sets run on any processor.
#pragma once

#include <bloomery/core/target.hpp>

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/arm/neon.h>
#include <simde/x86/avx512.h>
using __mmask8 = simde__mmask8;  // SIMDe has no alias for it

// SIMDe 0.7.4 takes two vectors for disjoint as soon as 64 bits of each 128 are.
inline int testz_of_all_bits(__m256i a, __m256i b) {
  return _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_and_si256(a, b), _mm256_setzero_si256())) == -1 ? 1 : 0;
}
#undef _mm256_testz_si256
#define _mm256_testz_si256(a, b) testz_of_all_bits(a, b)
