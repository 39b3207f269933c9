// kernels/growing/avx2.hpp: the lines of the growing filter with AVX2. Same answers as kernels/growing.hpp.
//
// A line of 16- or 32-bit slots is two registers. Slots of 24 bits are spread into lanes of 32, with zeros below, by a
// shuffle of bytes: four slots from each of six loads of 16 bytes, of which the last holds one slot only.
#pragma once

#include <bloomery/core/intrinsics.hpp>
#include <bloomery/hash/digest_feed.hpp>
#include <bloomery/kernels/growing.hpp>

#ifdef BLOOMERY_X86

namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::avx2 {

#define BLOOMERY_TARGET BLOOMERY_FOR_AVX2
#define BLOOMERY_INLINE BLOOMERY_FOR_AVX2 BLOOMERY_ALWAYS_INLINE inline

// Not zero in the lanes that match. A slot matches when what differs from the digest is at or below its last 1: half of
// that is then less than the last 1. Nothing is less than the last 1 of an empty slot, which is 0.
BLOOMERY_INLINE __m256i matches16(__m256i slots, __m256i digest) {
  const __m256i last = _mm256_and_si256(slots, _mm256_sub_epi16(_mm256_setzero_si256(), slots));
  return _mm256_subs_epu16(last, _mm256_srli_epi16(_mm256_xor_si256(slots, digest), 1));
}
BLOOMERY_INLINE __m256i matches32(__m256i slots, __m256i digest) {
  const __m256i last = _mm256_and_si256(slots, _mm256_sub_epi32(_mm256_setzero_si256(), slots));
  const __m256i half = _mm256_srli_epi32(_mm256_xor_si256(slots, digest), 1);
  return _mm256_xor_si256(_mm256_max_epu32(last, half), half);
}
BLOOMERY_INLINE __m256i half_line(const std::byte* line, unsigned half) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(line) + half);
}
BLOOMERY_INLINE __m256i two_loads(const std::byte* low, const std::byte* high) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(low))),
                                 _mm_loadu_si128(reinterpret_cast<const __m128i*>(high)), 1);
}

// Not zero when a slot of the line matches.
template <unsigned Fingerprint>
BLOOMERY_INLINE __m256i found(growing_slots<16, Fingerprint> /*slots*/, const std::byte* line, std::uint16_t digest) {
  const __m256i all = _mm256_set1_epi16(static_cast<short>(digest));
  return _mm256_or_si256(matches16(half_line(line, 0), all), matches16(half_line(line, 1), all));
}
template <unsigned Fingerprint>
BLOOMERY_INLINE __m256i found(growing_slots<32, Fingerprint> /*slots*/, const std::byte* line, std::uint32_t digest) {
  const __m256i all = _mm256_set1_epi32(static_cast<int>(digest));
  return _mm256_or_si256(matches32(half_line(line, 0), all), matches32(half_line(line, 1), all));
}
template <unsigned Fingerprint>
BLOOMERY_INLINE __m256i found(growing_slots<24, Fingerprint> /*slots*/, const std::byte* line, std::uint32_t digest) {
  const __m256i all = _mm256_set1_epi32(static_cast<int>(digest << 8U));
  const __m256i spread = _mm256_setr_epi8(-1, 0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11,  //
                                          -1, 0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11);
  // Slots 16 to 19, and slot 20 from the same 16 bytes.
  const __m256i spread_last = _mm256_setr_epi8(-1, 0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11,  //
                                               -1, 12, 13, 14, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
  const __m256i first = _mm256_shuffle_epi8(two_loads(line, line + 12), spread);
  const __m256i second = _mm256_shuffle_epi8(two_loads(line + 24, line + 36), spread);
  const __m256i last = _mm256_shuffle_epi8(two_loads(line + 48, line + 48), spread_last);
  return _mm256_or_si256(_mm256_or_si256(matches32(first, all), matches32(second, all)), matches32(last, all));
}

BLOOMERY_INLINE bool is_found(__m256i any) { return _mm256_testz_si256(any, any) == 0; }
// Packing keeps zero zero and anything else something else.
struct eight_found {
  __m256i of[8];  // NOLINT(*-avoid-c-arrays): a vector type as an argument of a template loses its attributes

  [[nodiscard]] BLOOMERY_INLINE unsigned bits() const {
    const __m256i abcd = _mm256_packs_epi16(_mm256_packs_epi32(of[0], of[1]), _mm256_packs_epi32(of[2], of[3]));
    const __m256i efgh = _mm256_packs_epi16(_mm256_packs_epi32(of[4], of[5]), _mm256_packs_epi32(of[6], of[7]));
    const __m256i all =
        _mm256_or_si256(_mm256_permute2x128_si256(abcd, efgh, 0x20), _mm256_permute2x128_si256(abcd, efgh, 0x31));
    const __m256i none = _mm256_cmpeq_epi32(all, _mm256_setzero_si256());
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(none))) ^ 0xffU;
  }
};

#include <bloomery/kernels/growing/loops.inc>

#undef BLOOMERY_INLINE
#undef BLOOMERY_TARGET

}  // namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::avx2

#endif
