// kernels/window/avx2.hpp: the lines of the window filter with AVX2. Same bits and answers as kernels/window.hpp.
//
// A line is two registers of 8 lanes. A mask of lanes becomes all ones or zeros in each lane by comparing it with the
// lane's own bit.
#pragma once

#include <bloomery/core/intrinsics.hpp>
#include <bloomery/core/vector_avx2.hpp>
#include <bloomery/hash/digest_feed.hpp>
#include <bloomery/kernels/window.hpp>

#ifdef BLOOMERY_X86

namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::avx2 {

#define BLOOMERY_TARGET BLOOMERY_FOR_AVX2
#define BLOOMERY_INLINE BLOOMERY_FOR_AVX2 BLOOMERY_ALWAYS_INLINE inline

// The probe's bits in 8 lanes from the first on.
BLOOMERY_INLINE __m256i window_bits(__m256i probe, unsigned first) {
  const __m256i shifts = _mm256_srli_epi32(_mm256_mullo_epi32(probe, load(window_multipliers.data() + first)), 27);
  return _mm256_sllv_epi32(_mm256_set1_epi32(1), shifts);
}

BLOOMERY_INLINE std::uint32_t window_hits_of(__m256i lanes, __m256i bits) {
  const __m256i held = _mm256_cmpeq_epi32(_mm256_and_si256(lanes, bits), bits);
  return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(held)));
}

BLOOMERY_INLINE std::uint32_t window_hits(const std::byte* line, std::uint32_t probe) {
  const __m256i all = _mm256_set1_epi32(static_cast<int>(probe));
  const std::uint32_t low = window_hits_of(load(line), window_bits(all, 0));
  const std::uint32_t high = window_hits_of(load(line + 32), window_bits(all, 8));
  return (low | high << 8U) & window_all_lanes;
}

// All ones in the lanes of the mask, for 8 lanes from the first on.
BLOOMERY_INLINE __m256i window_lanes_of(std::uint32_t mask, unsigned first) {
  const __m256i own = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const __m256i all = _mm256_set1_epi32(static_cast<int>(mask >> first));
  return _mm256_cmpeq_epi32(_mm256_and_si256(all, own), own);
}

BLOOMERY_INLINE __m256i window_written(__m256i lanes, __m256i bits, std::uint32_t kept, std::uint32_t set,
                                       unsigned first) {
  return _mm256_or_si256(_mm256_and_si256(lanes, window_lanes_of(kept, first)),
                         _mm256_and_si256(bits, window_lanes_of(set, first)));
}

BLOOMERY_INLINE void window_write(std::byte* line, std::uint32_t probe, std::uint32_t kept, std::uint32_t set,
                                  std::uint32_t stamp) {
  const __m256i all = _mm256_set1_epi32(static_cast<int>(probe));
  store(line, window_written(load(line), window_bits(all, 0), kept, set, 0));
  const __m256i high = window_written(load(line + 32), window_bits(all, 8), kept, set, 8);
  store(line + 32, _mm256_insert_epi32(high, static_cast<int>(stamp), 7));
}

#include <bloomery/kernels/window/loops.inc>

#undef BLOOMERY_INLINE
#undef BLOOMERY_TARGET

}  // namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::avx2

#endif
