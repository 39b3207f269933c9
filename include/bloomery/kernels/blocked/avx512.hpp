// kernels/blocked/avx512.hpp: the blocked layouts with AVX-512 (F, VL, DQ, BW). Same bits and answers as
// kernels/blocked.hpp.
//
// A block of split64 is one register: one multiplication gives the eight products, each in 64 bits of its own, one
// shift brings the bit numbers to the bottom, and a rotation of 1, whose count is taken modulo 64, makes the bits. What
// a block lacks is a mask of lanes, so that an answer is whether a mask is zero. split32 is the code of AVX2 with such
// masks, for single keys; its batches are those of AVX2 (kernels/blocked/dispatch.hpp).
// The places of the blocks are those of AVX2, four keys at a time. The loops do not hash: 64 digests at a time come
// from the code of AVX2, because hashing inside the loops bought 4 % there and doubles what a program has to compile.
#pragma once

#include <bloomery/kernels/blocked/avx2.hpp>

#ifdef BLOOMERY_X86

namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::avx512 {

#define BLOOMERY_TARGET BLOOMERY_FOR_AVX512
#define BLOOMERY_INLINE BLOOMERY_FOR_AVX512 BLOOMERY_ALWAYS_INLINE inline

using avx2::can_hash4;
using avx2::fetch_four;
using avx2::prepare_four;
using avx2::vector_source;

BLOOMERY_INLINE __m512i load(const void* from) { return _mm512_loadu_si512(from); }
BLOOMERY_INLINE void store(void* to, __m512i value) { _mm512_storeu_si512(to, value); }

// The forms without a mask make g++ 12 warn of what they leave undefined, so these have one, of all lanes.
inline constexpr __mmask8 all_lanes = 0xff;
BLOOMERY_INLINE __m512i only_first(__m512i a, __m512i b) { return _mm512_maskz_andnot_epi64(all_lanes, b, a); }

// Each lane shifted down by 26. As an operator, for the reason above; that it keeps the sign is no matter, because only
// the lowest six bits count.
BLOOMERY_INLINE __m512i down_by_26(__m512i a) {
  using words = long long __attribute__((vector_size(64)));
  return reinterpret_cast<__m512i>(reinterpret_cast<words>(a) >> 26);
}

BLOOMERY_INLINE __m512i one_bit_a_lane(const std::uint64_t* y, unsigned first_salt) {
  std::int32_t x = 0;  // the upper half of y; loaded into all lanes together
  std::memcpy(&x, reinterpret_cast<const std::byte*>(y) + 4, sizeof(x));
  __m512i products = _mm512_maskz_mul_epu32(all_lanes, _mm512_set1_epi32(x), load(&wide_salts[first_salt]));
  BLOOMERY_OPAQUE(products);
  return _mm512_maskz_rolv_epi64(all_lanes, _mm512_set1_epi64(1), down_by_26(products));
}

template <lane_case Case>
BLOOMERY_INLINE __m512i mask_of(case_tag<Case> /*case*/, const std::uint64_t* y, const lane_rows* rows) {
  const __m512i first = one_bit_a_lane(y, 0);
  if constexpr (Case == lane_case::every) return first;
  const __m512i lanes = load(row_of(rows, *y));
  if constexpr (Case == lane_case::some) return _mm512_and_si512(first, lanes);
  return _mm512_or_si512(first, _mm512_and_si512(one_bit_a_lane(y, block_lanes), lanes));
}

// The lanes in which a block lacks a bit: what the loops call a vector of missing bits.
BLOOMERY_INLINE __mmask8 lanes_of(__m512i missing) { return _mm512_test_epi64_mask(missing, missing); }
BLOOMERY_INLINE __mmask8 lanes_of(__m256i missing) { return _mm256_test_epi32_mask(missing, missing); }

template <lane_case Case>
BLOOMERY_INLINE __mmask8 missing_bits(split32 layout, case_tag<Case> which, const std::uint64_t* block,
                                      const std::uint64_t* y, const lane_rows* rows) {
  return lanes_of(avx2::missing_bits(layout, which, block, y, rows));
}
template <lane_case Case>
BLOOMERY_INLINE __mmask8 missing_bits(split64 /*layout*/, case_tag<Case> which, const std::uint64_t* block,
                                      const std::uint64_t* y, const lane_rows* rows) {
  return lanes_of(only_first(mask_of(which, y, rows), load(block)));
}

template <lane_case Case>
BLOOMERY_INLINE __mmask8 put_bits(split32 layout, case_tag<Case> which, std::uint64_t* block, const std::uint64_t* y,
                                  const lane_rows* rows) {
  return lanes_of(avx2::put_bits(layout, which, block, y, rows));
}
template <lane_case Case>
BLOOMERY_INLINE __mmask8 put_bits(split64 /*layout*/, case_tag<Case> which, std::uint64_t* block,
                                  const std::uint64_t* y, const lane_rows* rows) {
  const __m512i before = load(block);
  const __m512i mask = mask_of(which, y, rows);
  store(block, _mm512_or_si512(before, mask));
  return lanes_of(only_first(mask, before));
}

BLOOMERY_INLINE bool one_present(__mmask8 missing) { return missing == 0; }

BLOOMERY_INLINE unsigned pack2(__mmask8 a, __mmask8 b) { return unsigned{a == 0} | unsigned{b == 0} << 1U; }
BLOOMERY_INLINE unsigned pack4(unsigned ab, unsigned cd) { return ab | cd << 2U; }
BLOOMERY_INLINE unsigned contains_mask8(unsigned abcd, unsigned efgh) { return abcd | efgh << 4U; }

#include <bloomery/kernels/blocked/loops.inc>

#undef BLOOMERY_INLINE
#undef BLOOMERY_TARGET

}  // namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::avx512

#endif
