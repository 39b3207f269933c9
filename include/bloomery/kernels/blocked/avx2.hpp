// kernels/blocked/avx2.hpp: the blocked layouts with AVX2. Same bits and answers as kernels/blocked.hpp.
//
// A block of split32 is one register, a block of split64 two. The eight products of a key are computed by one
// multiplication of 32-bit lanes; for split64 the salts are in the order 0 4 1 5 2 6 3 7, so that the upper half of
// each 64-bit lane belongs to the second register and two shifts take the products apart.
#pragma once

#include <bloomery/core/vector_avx2.hpp>
#include <bloomery/hash/vector/digests4_avx2.hpp>
#include <bloomery/kernels/blocked.hpp>
#include <cstring>

#ifdef BLOOMERY_X86

namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::avx2 {

#define BLOOMERY_TARGET BLOOMERY_FOR_AVX2
#define BLOOMERY_INLINE BLOOMERY_FOR_AVX2 BLOOMERY_ALWAYS_INLINE inline

struct split64_masks {
  __m256i low;   // lanes 0 to 3
  __m256i high;  // lanes 4 to 7
};

constexpr std::array<std::uint32_t, 8> interleaved(unsigned first) noexcept {
  std::array<std::uint32_t, 8> order{};
  for (unsigned i = 0; i < 4; ++i) {
    order[2 * i] = blocked_salts[first + i];
    order[2 * i + 1] = blocked_salts[first + 4 + i];
  }
  return order;
}
alignas(32) inline constexpr std::array<std::uint32_t, 8> first_salts = interleaved(0);
alignas(32) inline constexpr std::array<std::uint32_t, 8> second_salts = interleaved(8);

// A 32-bit half of a word in memory, in every lane: a load that broadcasts.
BLOOMERY_INLINE __m256i all_lanes(const std::uint64_t* word, unsigned half) {
  std::int32_t value = 0;
  std::memcpy(&value, reinterpret_cast<const std::byte*>(word) + 4 * half, sizeof(value));
  return _mm256_set1_epi32(value);
}

BLOOMERY_INLINE void prepare_four(split32 /*layout*/, const blocked_view& view, __m256i four,
                                  const std::uint64_t** block, std::uint64_t* y) {
  store(y, four);
  // The upper halves of the products are the indexes; the bytes before a block are 32 times as many.
  const __m256i product = _mm256_mul_epu32(_mm256_srli_epi64(four, 32), all64(view.blocks));
  const __m256i offset = _mm256_and_si256(_mm256_srli_epi64(product, 27), all64(~std::uint64_t{31}));
  store(block, _mm256_add_epi64(all64(reinterpret_cast<std::uint64_t>(view.words)), offset));
}
BLOOMERY_INLINE void prepare_four(split64 /*layout*/, const blocked_view& view, __m256i four,
                                  const std::uint64_t** block, std::uint64_t* y) {
  // 64-bit products: the integer units have them, and the vector units have enough to do.
  alignas(32) std::array<std::uint64_t, 4> digests;
  store(digests.data(), four);
  for (unsigned i = 0; i < 4; ++i) {
    y[i] = split64::in_block(digests[i]);
    block[i] = view.words + split64::block(digests[i], view.blocks) * split64::words;
  }
}

BLOOMERY_INLINE split64_masks one_bit_a_lane(const std::uint64_t* y, const std::uint32_t* salts) {
  const __m256i x = all_lanes(y, 1);
  const __m256i products = _mm256_mullo_epi32(x, load(salts));
  const __m256i one = _mm256_set1_epi64x(1);
  return {_mm256_sllv_epi64(one, _mm256_srli_epi64(_mm256_slli_epi64(products, 32), 58)),
          _mm256_sllv_epi64(one, _mm256_srli_epi64(products, 58))};
}

BLOOMERY_INLINE split64_masks only(split64_masks masks, const std::uint64_t* lanes) {
  return {_mm256_and_si256(masks.low, load(lanes)), _mm256_and_si256(masks.high, load(lanes + 4))};
}

BLOOMERY_INLINE split64_masks masks_of(case_tag<lane_case::every> /*case*/, const std::uint64_t* y,
                                       const lane_rows* /*rows*/) {
  return one_bit_a_lane(y, first_salts.data());
}
BLOOMERY_INLINE split64_masks masks_of(case_tag<lane_case::some> /*case*/, const std::uint64_t* y,
                                       const lane_rows* rows) {
  return only(one_bit_a_lane(y, first_salts.data()), row_of(rows, *y));
}
BLOOMERY_INLINE split64_masks masks_of(case_tag<lane_case::twice> /*case*/, const std::uint64_t* y,
                                       const lane_rows* rows) {
  const split64_masks first = one_bit_a_lane(y, first_salts.data());
  const split64_masks second = only(one_bit_a_lane(y, second_salts.data()), row_of(rows, *y));
  return {_mm256_or_si256(first.low, second.low), _mm256_or_si256(first.high, second.high)};
}

alignas(32) inline constexpr std::array<std::uint32_t, 8> lane_ones = {1, 1, 1, 1, 1, 1, 1, 1};
// A call for a single key, which cannot keep them in a register, loads them in one instruction: a compiler that sees
// the value takes three. A batch keeps them.
BLOOMERY_INLINE __m256i loaded_lane_ones() {
  __m256i ones;
  BLOOMERY_LOAD_AVX2(ones, lane_ones);
  return ones;
}

// Of the lower half of a digest, in every lane.
BLOOMERY_INLINE __m256i split32_mask(__m256i x, __m256i ones) {
  const __m256i bit = _mm256_srli_epi32(_mm256_mullo_epi32(x, load(blocked_salts.data())), 27);
  return _mm256_sllv_epi32(ones, bit);
}
BLOOMERY_INLINE __m256i split32_mask(const std::uint64_t* y) {
  return split32_mask(all_lanes(y, 0), _mm256_set1_epi32(1));
}

template <lane_case Case>
BLOOMERY_INLINE __m256i missing_bits(split32 /*layout*/, case_tag<Case> /*case*/, const std::uint64_t* block,
                                     const std::uint64_t* y, const lane_rows* /*rows*/) {
  return _mm256_andnot_si256(load(block), split32_mask(y));
}
template <lane_case Case>
BLOOMERY_INLINE __m256i missing_bits(split64 /*layout*/, case_tag<Case> which, const std::uint64_t* block,
                                     const std::uint64_t* y, const lane_rows* rows) {
  const split64_masks masks = masks_of(which, y, rows);
  return _mm256_or_si256(_mm256_andnot_si256(load(block), masks.low), _mm256_andnot_si256(load(block + 4), masks.high));
}

template <lane_case Case>
BLOOMERY_INLINE __m256i put_bits(split32 /*layout*/, case_tag<Case> /*case*/, std::uint64_t* block,
                                 const std::uint64_t* y, const lane_rows* /*rows*/) {
  const __m256i before = load(block);
  const __m256i mask = split32_mask(y);
  store(block, _mm256_or_si256(before, mask));
  return _mm256_andnot_si256(before, mask);
}
template <lane_case Case>
BLOOMERY_INLINE __m256i put_bits(split64 /*layout*/, case_tag<Case> which, std::uint64_t* block, const std::uint64_t* y,
                                 const lane_rows* rows) {
  const split64_masks masks = masks_of(which, y, rows);
  const __m256i low = load(block);
  const __m256i high = load(block + 4);
  store(block, _mm256_or_si256(low, masks.low));
  store(block + 4, _mm256_or_si256(high, masks.high));
  return _mm256_or_si256(_mm256_andnot_si256(low, masks.low), _mm256_andnot_si256(high, masks.high));
}

BLOOMERY_INLINE bool one_present(__m256i missing) { return _mm256_testz_si256(missing, missing) != 0; }

// A single key of split32. Its block, too, is computed in a vector unit: what bounds a loop of calls whose lines are far
// away is how many of them the processor holds at a time, and on Zen that is the number of integer registers they write
// (docs/performance.md). A filter of this layout has fewer than 2^32 blocks.
struct split32_place {
  __m256i mask;
  std::uint64_t first_byte;
};
BLOOMERY_INLINE split32_place place_of(std::uint64_t blocks, std::uint64_t digest) {
  const __m128i d = _mm_cvtsi64_si128(static_cast<long long>(digest));
  const __m128i scaled = _mm_mul_epu32(_mm_srli_epi64(d, 32), _mm_cvtsi32_si128(static_cast<int>(blocks)));
  const __m128i first_byte = _mm_slli_epi64(_mm_srli_epi64(scaled, 32), 5);
  return {split32_mask(_mm256_broadcastd_epi32(d), loaded_lane_ones()),
          static_cast<std::uint64_t>(_mm_cvtsi128_si64(first_byte))};
}

// A block as the words that it is. The compiler's own vectors may be anything in memory, so that after a store of one it
// loads everything that it knew of the filter again.
using four_words = std::uint64_t __attribute__((vector_size(32), aligned(8)));

// The answer is the carry flag, which a caller adds up in one instruction.
template <lane_case Case>
BLOOMERY_INLINE bool contains_key(split32 /*layout*/, case_tag<Case> /*case*/, const std::uint64_t* words,
                                  std::uint64_t blocks, const lane_rows* /*rows*/, std::uint64_t digest) {
  const split32_place place = place_of(blocks, digest);
  const __m256i block = load(reinterpret_cast<const std::byte*>(words) + place.first_byte);
  return _mm256_testc_si256(block, place.mask) != 0;
}
template <lane_case Case>
BLOOMERY_INLINE bool insert_key(split32 /*layout*/, case_tag<Case> /*case*/, std::uint64_t* words, std::uint64_t blocks,
                                const lane_rows* /*rows*/, std::uint64_t digest) {
  const split32_place place = place_of(blocks, digest);
  auto* block = reinterpret_cast<four_words*>(reinterpret_cast<std::byte*>(words) + place.first_byte);
  const four_words before = *block;
  *block = before | reinterpret_cast<four_words>(place.mask);
  return _mm256_testc_si256(reinterpret_cast<__m256i>(before), place.mask) == 0;
}

// Packing keeps zero zero and anything else something else, so that each vector ends as 32 bits in either half of a
// register.
BLOOMERY_INLINE __m256i pack2(__m256i a, __m256i b) { return _mm256_packs_epi32(a, b); }
BLOOMERY_INLINE __m256i pack4(__m256i ab, __m256i cd) { return _mm256_packs_epi16(ab, cd); }
// All ones in lane i when the i-th of the eight is zero.
BLOOMERY_INLINE __m256i zero_lanes(__m256i abcd, __m256i efgh) {
  const __m256i all =
      _mm256_or_si256(_mm256_permute2x128_si256(abcd, efgh, 0x20), _mm256_permute2x128_si256(abcd, efgh, 0x31));
  return _mm256_cmpeq_epi32(all, _mm256_setzero_si256());
}
BLOOMERY_INLINE unsigned contains_mask8(__m256i abcd, __m256i efgh) {
  return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(zero_lanes(abcd, efgh))));
}

// Counts in the lanes of a register, which have space for far more than a group.
#define BLOOMERY_OWN_COUNTER
struct present_counter {
  std::uint64_t total = 0;
  __m256i lanes{};

  BLOOMERY_INLINE void add_eight(__m256i abcd, __m256i efgh) {
    lanes = _mm256_sub_epi32(lanes, zero_lanes(abcd, efgh));
  }
  BLOOMERY_INLINE void add_one(bool present) { total += present ? 1U : 0U; }
  BLOOMERY_INLINE void end_of_group() {
    const __m128i fours = _mm_add_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
    const __m128i pairs = _mm_add_epi32(fours, _mm_unpackhi_epi64(fours, fours));
    const auto sums = static_cast<std::uint64_t>(_mm_cvtsi128_si64(pairs));
    total += (sums & 0xffffffffU) + (sums >> 32U);
    lanes = _mm256_setzero_si256();
  }
};

#include <bloomery/kernels/blocked/loops.inc>

#undef BLOOMERY_OWN_COUNTER
#undef BLOOMERY_INLINE
#undef BLOOMERY_TARGET

}  // namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::avx2

#endif
