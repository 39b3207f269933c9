// kernels/blocked/sse2.hpp: the blocked layouts with SSE2, which every x86-64 processor has. Same bits and answers as
// kernels/blocked.hpp.
//
// SSE2 multiplies two 32-bit lanes at once and shifts all lanes by one count. So 2^n comes from the exponent of a
// float: n + 127 is put there and the float converted to an integer. n = 31 is out of range for a signed integer, and
// what the conversion gives then, 0x80000000, is the bit that is wanted. For lanes of 64 bits that is done with the
// lower five bits of the six, and the sixth puts the result into the lower or the upper half.
#pragma once

#include <bloomery/core/intrinsics.hpp>
#include <bloomery/kernels/blocked.hpp>

#ifdef BLOOMERY_X86

namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::sse2 {

#define BLOOMERY_TARGET
#define BLOOMERY_INLINE BLOOMERY_ALWAYS_INLINE inline

using vector = __m128i;
struct two_vectors {
  static constexpr unsigned size = 2;
  vector at[size];
};
struct four_vectors {
  static constexpr unsigned size = 4;
  vector at[size];
};

BLOOMERY_INLINE vector load(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }
BLOOMERY_INLINE void store(void* to, vector value) { _mm_storeu_si128(static_cast<__m128i*>(to), value); }
BLOOMERY_INLINE vector both(vector a, vector b) { return _mm_and_si128(a, b); }
BLOOMERY_INLINE vector either(vector a, vector b) { return _mm_or_si128(a, b); }
BLOOMERY_INLINE vector only_first(vector a, vector b) { return _mm_andnot_si128(b, a); }

// x * salt mod 2^32 for four salts from the first one on. The multiplication takes each second lane.
BLOOMERY_INLINE vector four_products(vector x, unsigned first) {
  const __m128 low = _mm_castsi128_ps(_mm_mul_epu32(x, load(&wide_salts[first])));
  const __m128 high = _mm_castsi128_ps(_mm_mul_epu32(x, load(&wide_salts[first + 2])));
  return _mm_castps_si128(_mm_shuffle_ps(low, high, _MM_SHUFFLE(2, 0, 2, 0)));
}

// 2^n for the n in bits 23 to 27 of each lane; other bits are ignored.
BLOOMERY_INLINE vector power_of_two(vector exponents) {
  const vector n = _mm_and_si128(exponents, _mm_set1_epi32(31 << 23));
  return _mm_cvttps_epi32(_mm_castsi128_ps(_mm_add_epi32(n, _mm_set1_epi32(127 << 23))));
}

BLOOMERY_INLINE two_vectors bits32(std::uint64_t y) {
  const vector x = _mm_set1_epi32(static_cast<int>(static_cast<std::uint32_t>(y)));
  return {{power_of_two(_mm_srli_epi32(four_products(x, 0), 4)), power_of_two(_mm_srli_epi32(four_products(x, 4), 4))}};
}

BLOOMERY_INLINE four_vectors bits64(std::uint64_t y, unsigned first_salt) {
  const vector x = _mm_set1_epi32(static_cast<int>(static_cast<std::uint32_t>(y >> 32U)));
  four_vectors masks;
  for (unsigned half = 0; half < 2; ++half) {
    const vector products = four_products(x, first_salt + 4 * half);
    const vector bit = power_of_two(_mm_srli_epi32(products, 3));
    const vector upper = _mm_and_si128(_mm_srai_epi32(products, 31), bit);
    const vector lower = _mm_xor_si128(upper, bit);
    masks.at[2 * half] = _mm_unpacklo_epi32(lower, upper);
    masks.at[2 * half + 1] = _mm_unpackhi_epi32(lower, upper);
  }
  return masks;
}

BLOOMERY_INLINE bool one_present(vector missing) {
  return _mm_movemask_epi8(_mm_cmpeq_epi8(missing, _mm_setzero_si128())) == 0xffff;
}

// Packing keeps zero zero and anything else something else: of eight vectors, four words of 16 bits each, then two
// bytes.
BLOOMERY_INLINE vector pack2(vector a, vector b) { return _mm_packs_epi32(a, b); }
BLOOMERY_INLINE vector pack4(vector ab, vector cd) { return _mm_packs_epi16(ab, cd); }
BLOOMERY_INLINE unsigned contains_mask8(vector abcd, vector efgh) {
  const vector none = _mm_setzero_si128();
  const vector zero = _mm_packs_epi32(_mm_cmpeq_epi32(abcd, none), _mm_cmpeq_epi32(efgh, none));
  return static_cast<unsigned>(_mm_movemask_epi8(_mm_packs_epi16(zero, none)));
}

#include <bloomery/kernels/blocked/lanes128.inc>
#include <bloomery/kernels/blocked/loops.inc>

#undef BLOOMERY_INLINE
#undef BLOOMERY_TARGET

}  // namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::sse2

#endif
