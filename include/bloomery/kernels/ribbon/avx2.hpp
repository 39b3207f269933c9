// kernels/ribbon/avx2.hpp: look-ups in a ribbon filter with AVX2, eight columns at a time. Same answers as the portable
// code.
#pragma once

#include <bloomery/core/vector_avx2.hpp>
#include <bloomery/hash/digest_feed.hpp>
#include <bloomery/kernels/ribbon.hpp>

#ifdef BLOOMERY_X86

namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::avx2 {

#define BLOOMERY_TARGET BLOOMERY_FOR_AVX2
#define BLOOMERY_INLINE BLOOMERY_FOR_AVX2 BLOOMERY_ALWAYS_INLINE inline

// The parities of eight columns as bits: the upper halves of the first four columns and the lower halves of the others
// take in the other halves and share a vector, whose lanes are then folded into their highest bits.
BLOOMERY_INLINE unsigned ribbon_parities(__m256i first, __m256i second) {
  const __m256i upper = _mm256_xor_si256(first, _mm256_slli_epi64(first, 32));
  const __m256i lower = _mm256_xor_si256(second, _mm256_srli_epi64(second, 32));
  __m256i all = _mm256_blend_epi32(upper, lower, 0x55);
  all = _mm256_xor_si256(all, _mm256_slli_epi32(all, 16));
  all = _mm256_xor_si256(all, _mm256_slli_epi32(all, 8));
  all = _mm256_xor_si256(all, _mm256_slli_epi32(all, 4));
  all = _mm256_xor_si256(all, _mm256_slli_epi32(all, 2));
  all = _mm256_xor_si256(all, _mm256_slli_epi32(all, 1));
  return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(all)));
}

// Columns up to a multiple of eight are read, and those that the block does not have are not compared.
template <unsigned Eights>
BLOOMERY_INLINE bool ribbon_matches(const std::uint64_t* words, const ribbon_place& at, std::uint32_t fingerprint,
                                    std::uint32_t wanted) {
  const __m256i here = all64(at.here);
  const __m256i next = all64(at.next);
  const std::uint64_t* behind = words + at.columns;
  std::uint32_t bits = 0;
  for (unsigned q = 0; q < Eights; ++q) {
    const __m256i first =
        _mm256_or_si256(_mm256_and_si256(load(words + 8 * q), here), _mm256_and_si256(load(behind + 8 * q), next));
    const __m256i second = _mm256_or_si256(_mm256_and_si256(load(words + 8 * q + 4), here),
                                           _mm256_and_si256(load(behind + 8 * q + 4), next));
    bits |= ribbon_parities(first, second) << (8 * q);
  }
  return ((bits ^ fingerprint) & wanted) == 0;
}

#include <bloomery/kernels/ribbon/loops.inc>

#undef BLOOMERY_INLINE
#undef BLOOMERY_TARGET

}  // namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::avx2

#endif
