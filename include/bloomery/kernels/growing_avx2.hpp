// kernels/growing_avx2.hpp: the lines of the growing filter with AVX2. Same answers as kernels/growing.hpp.
//
// A line of 16- or 32-bit slots is two registers. Slots of 24 bits are spread into lanes of 32, with zeros below, by a
// shuffle of bytes: four slots from each of six loads of 16 bytes, of which the last holds one slot only.
#pragma once

#include <bloomery/kernels/digest_feed.hpp>
#include <bloomery/kernels/growing.hpp>
#include <bloomery/kernels/intrinsics.hpp>

#ifdef BLOOMERY_X86

namespace bloomery::kernels::avx2 {

#define BLOOMERY_TARGET BLOOMERY_FOR_AVX2
#define BLOOMERY_INLINE BLOOMERY_FOR_AVX2 BLOOMERY_ALWAYS_INLINE inline

// All ones in the lanes that match.
BLOOMERY_INLINE __m256i matches16(__m256i slots, __m256i digest) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i above_end = _mm256_xor_si256(slots, _mm256_sub_epi16(zero, slots));
  const __m256i differs = _mm256_and_si256(_mm256_xor_si256(slots, digest), above_end);
  return _mm256_andnot_si256(_mm256_cmpeq_epi16(slots, zero), _mm256_cmpeq_epi16(differs, zero));
}
BLOOMERY_INLINE __m256i matches32(__m256i slots, __m256i digest) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i above_end = _mm256_xor_si256(slots, _mm256_sub_epi32(zero, slots));
  const __m256i differs = _mm256_and_si256(_mm256_xor_si256(slots, digest), above_end);
  return _mm256_andnot_si256(_mm256_cmpeq_epi32(slots, zero), _mm256_cmpeq_epi32(differs, zero));
}
BLOOMERY_INLINE bool any(__m256i lanes) { return _mm256_testz_si256(lanes, lanes) == 0; }
BLOOMERY_INLINE __m256i half_line(const std::byte* line, unsigned half) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(line) + half);
}

template <unsigned Fingerprint>
BLOOMERY_INLINE bool match(growing_slots<16, Fingerprint> /*slots*/, const std::byte* line, std::uint16_t digest) {
  const __m256i all = _mm256_set1_epi16(static_cast<short>(digest));
  return any(_mm256_or_si256(matches16(half_line(line, 0), all), matches16(half_line(line, 1), all)));
}

template <unsigned Fingerprint>
BLOOMERY_INLINE bool match(growing_slots<32, Fingerprint> /*slots*/, const std::byte* line, std::uint32_t digest) {
  const __m256i all = _mm256_set1_epi32(static_cast<int>(digest));
  return any(_mm256_or_si256(matches32(half_line(line, 0), all), matches32(half_line(line, 1), all)));
}

BLOOMERY_INLINE __m256i two_loads(const std::byte* low, const std::byte* high) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(low))),
                                 _mm_loadu_si128(reinterpret_cast<const __m128i*>(high)), 1);
}

template <unsigned Fingerprint>
BLOOMERY_INLINE bool match(growing_slots<24, Fingerprint> /*slots*/, const std::byte* line, std::uint32_t digest) {
  const __m256i all = _mm256_set1_epi32(static_cast<int>(digest << 8U));
  const __m256i spread = _mm256_setr_epi8(-1, 0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11,  //
                                          -1, 0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11);
  // Slots 16 to 19, and slot 20 from the same 16 bytes.
  const __m256i spread_last = _mm256_setr_epi8(-1, 0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11,  //
                                               -1, 12, 13, 14, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
  const __m256i first = _mm256_shuffle_epi8(two_loads(line, line + 12), spread);
  const __m256i second = _mm256_shuffle_epi8(two_loads(line + 24, line + 36), spread);
  const __m256i last = _mm256_shuffle_epi8(two_loads(line + 48, line + 48), spread_last);
  return any(_mm256_or_si256(_mm256_or_si256(matches32(first, all), matches32(second, all)), matches32(last, all)));
}

#include <bloomery/kernels/growing_loops.inc>

#undef BLOOMERY_INLINE
#undef BLOOMERY_TARGET

}  // namespace bloomery::kernels::avx2

#endif
