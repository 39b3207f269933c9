// hash/vector/mum2_avx2.hpp: the hash `mum2` of four integers at once with AVX2. Same digests as hash/mum2.hpp.
#pragma once

#include <bloomery/core/vector_avx2.hpp>
#include <bloomery/hash/mum2.hpp>

#ifdef BLOOMERY_X86

namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::avx2 {

// `seed` in every lane.
BLOOMERY_FOR_AVX2 BLOOMERY_ALWAYS_INLINE inline __m256i mum2_four_integers(__m256i keys, __m256i seed) {
  const __m256i united = fold(keys, all64(mum2::first_multiplier));
  return fold(_mm256_xor_si256(united, seed), all64(mum2::second_multiplier));
}

}  // namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::avx2

#endif
