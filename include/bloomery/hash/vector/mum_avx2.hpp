// hash/vector/mum_avx2.hpp: the hash `mum` of four integers at once with AVX2. Same digests as hash/mum.hpp.
#pragma once

#include <bloomery/core/vector_avx2.hpp>
#include <bloomery/hash/mum.hpp>

#ifdef BLOOMERY_X86

namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::avx2 {

// `flip` is mum::flip plus the seed, in every lane.
BLOOMERY_FOR_AVX2 BLOOMERY_ALWAYS_INLINE inline __m256i mum_four_integers(__m256i keys, __m256i flip) {
  const __m256i factor = all64(mum::second_multiplier);
  const __m256i united = fold(_mm256_xor_si256(keys, flip), all64(mum::first_multiplier));
  const __m256i x = multiply64(united, factor, _mm256_shuffle_epi32(factor, 0xb1));
  return _mm256_xor_si256(x, _mm256_srli_epi64(x, 32));
}

}  // namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::avx2

#endif
