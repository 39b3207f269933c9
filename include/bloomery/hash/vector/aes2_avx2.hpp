// hash/vector/aes2_avx2.hpp: the hash `aes2` of four integers with AVX2 and AES instructions. Same digests as
// hash/aes2.hpp.
#pragma once

#include <bloomery/core/vector_avx2.hpp>
#include <bloomery/hash/aes2.hpp>

#ifdef BLOOMERY_AES

namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::avx2 {

#define BLOOMERY_INLINE BLOOMERY_FOR_AVX2 BLOOMERY_ALWAYS_INLINE inline

BLOOMERY_INLINE __m128i aes_key(const aes2::round_key& key) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(key.data()));
}
BLOOMERY_INLINE __m128i aes2_one(const std::uint64_t* key, __m128i first, __m128i second) {
  const __m128i twice = _mm_set1_epi64x(static_cast<long long>(*key));
  return _mm_aesenc_si128(_mm_aesenc_si128(twice, first), second);
}
BLOOMERY_INLINE __m256i aes2_four_integers(const std::uint64_t* keys, const aes2::round_key& first_key) {
  const __m128i first = aes_key(first_key);
  const __m128i second = aes_key(aes2::second_key);
  const __m128i a = aes2_one(keys, first, second);
  const __m128i b = aes2_one(keys + 1, first, second);
  const __m128i c = aes2_one(keys + 2, first, second);
  const __m128i d = aes2_one(keys + 3, first, second);
  return _mm256_set_m128i(_mm_unpacklo_epi64(c, d), _mm_unpacklo_epi64(a, b));
}

#undef BLOOMERY_INLINE

}  // namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::avx2

#endif
