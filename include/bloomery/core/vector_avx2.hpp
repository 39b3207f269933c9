// core/vector_avx2.hpp: what several AVX2 kernels need: loads, stores, and multiplications that AVX2 does not have.
#pragma once

#include <bloomery/core/intrinsics.hpp>
#include <cstdint>

#ifdef BLOOMERY_X86

namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::avx2 {

#define BLOOMERY_INLINE BLOOMERY_FOR_AVX2 BLOOMERY_ALWAYS_INLINE inline

BLOOMERY_INLINE __m256i load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
BLOOMERY_INLINE void store(void* to, __m256i value) { _mm256_storeu_si256(static_cast<__m256i*>(to), value); }
BLOOMERY_INLINE __m256i all64(std::uint64_t value) { return _mm256_set1_epi64x(static_cast<long long>(value)); }

// x * factor mod 2^64, from 32-bit products. `swapped` is the factor with its halves exchanged.
BLOOMERY_INLINE __m256i multiply64(__m256i x, __m256i factor, __m256i swapped) {
  const __m256i cross = _mm256_mullo_epi32(x, swapped);  // low * high and high * low, in the two halves
  const __m256i sum = _mm256_add_epi32(_mm256_slli_epi64(cross, 32), cross);
  const __m256i upper = _mm256_blend_epi32(_mm256_setzero_si256(), sum, 0xaa);
  return _mm256_add_epi64(_mm256_mul_epu32(x, factor), upper);
}

// The two halves of the 128-bit products of a and b, one xor the other.
BLOOMERY_INLINE __m256i fold(__m256i a, __m256i b) {
  const __m256i a_high = _mm256_srli_epi64(a, 32);
  const __m256i b_high = _mm256_srli_epi64(b, 32);
  const __m256i low = _mm256_mul_epu32(a, b);
  const __m256i one = _mm256_mul_epu32(a_high, b);
  const __m256i two = _mm256_mul_epu32(a, b_high);
  const __m256i high = _mm256_mul_epu32(a_high, b_high);
  // one + (low >> 32) cannot overflow; nor can two + the lower half of that.
  const __m256i middle = _mm256_add_epi64(one, _mm256_srli_epi64(low, 32));
  const __m256i carried = _mm256_add_epi64(two, _mm256_blend_epi32(middle, _mm256_setzero_si256(), 0xaa));
  const __m256i upper =
      _mm256_add_epi64(high, _mm256_add_epi64(_mm256_srli_epi64(middle, 32), _mm256_srli_epi64(carried, 32)));
  const __m256i lower = _mm256_blend_epi32(low, _mm256_slli_epi64(carried, 32), 0xaa);
  return _mm256_xor_si256(lower, upper);
}

#undef BLOOMERY_INLINE

}  // namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::avx2

#endif
