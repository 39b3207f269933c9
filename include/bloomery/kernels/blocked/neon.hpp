// kernels/blocked/neon.hpp: the blocked layouts with NEON, which every 64-bit ARM processor has. Same bits and answers
// as kernels/blocked.hpp.
//
// A block of split32 is two registers, a block of split64 four. NEON shifts each lane by the lowest byte of a count of
// its own and ignores the rest of that count. So for split64 the salts are in the order 0 2 1 3, 4 6 5 7: the lower of
// two products, shifted down in its 32 bits, counts for one register, and the upper, shifted down in 64, for the next.
#pragma once

#include <bloomery/core/intrinsics.hpp>
#include <bloomery/kernels/blocked.hpp>

#ifdef BLOOMERY_NEON

namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::neon {

#define BLOOMERY_TARGET
#define BLOOMERY_INLINE BLOOMERY_ALWAYS_INLINE inline

using vector = uint64x2_t;
struct two_vectors {
  static constexpr unsigned size = 2;
  vector at[size];
};
struct four_vectors {
  static constexpr unsigned size = 4;
  vector at[size];
};

BLOOMERY_INLINE vector load(const std::uint64_t* from) { return vld1q_u64(from); }
BLOOMERY_INLINE void store(std::uint64_t* to, vector value) { vst1q_u64(to, value); }
BLOOMERY_INLINE vector both(vector a, vector b) { return vandq_u64(a, b); }
BLOOMERY_INLINE vector either(vector a, vector b) { return vorrq_u64(a, b); }
BLOOMERY_INLINE vector only_first(vector a, vector b) { return vbicq_u64(a, b); }

constexpr std::array<std::uint32_t, 16> interleaved_salts() noexcept {
  std::array<std::uint32_t, 16> order{};
  for (unsigned i = 0; i < 16; i += 4) {
    order[i] = blocked_salts[i];
    order[i + 1] = blocked_salts[i + 2];
    order[i + 2] = blocked_salts[i + 1];
    order[i + 3] = blocked_salts[i + 3];
  }
  return order;
}
alignas(16) inline constexpr std::array<std::uint32_t, 16> salts = interleaved_salts();

BLOOMERY_INLINE two_vectors bits32(std::uint64_t y) {
  const uint32x4_t x = vdupq_n_u32(static_cast<std::uint32_t>(y));
  two_vectors masks;
  for (unsigned half = 0; half < 2; ++half) {
    const uint32x4_t bit = vshrq_n_u32(vmulq_u32(x, vld1q_u32(&blocked_salts[4 * half])), 27);
    masks.at[half] = vreinterpretq_u64_u32(vshlq_u32(vdupq_n_u32(1), vreinterpretq_s32_u32(bit)));
  }
  return masks;
}

BLOOMERY_INLINE four_vectors bits64(std::uint64_t y, unsigned first_salt) {
  const uint32x4_t x = vdupq_n_u32(static_cast<std::uint32_t>(y >> 32U));
  const vector one = vdupq_n_u64(1);
  four_vectors masks;
  for (unsigned half = 0; half < 2; ++half) {
    const uint32x4_t products = vmulq_u32(x, vld1q_u32(&salts[first_salt + 4 * half]));
    const vector lower = vreinterpretq_u64_u32(vshrq_n_u32(products, 26));
    const vector upper = vshrq_n_u64(vreinterpretq_u64_u32(products), 58);
    masks.at[2 * half] = vshlq_u64(one, vreinterpretq_s64_u64(lower));
    masks.at[2 * half + 1] = vshlq_u64(one, vreinterpretq_s64_u64(upper));
  }
  return masks;
}

BLOOMERY_INLINE bool one_present(vector missing) { return vmaxvq_u32(vreinterpretq_u32_u64(missing)) == 0; }

// Maxima of pairs, twice: one lane is left of each vector, zero where the vector is.
alignas(16) inline constexpr std::array<std::uint32_t, 8> places = {1, 2, 4, 8, 16, 32, 64, 128};
BLOOMERY_INLINE uint32x4_t pack2(vector a, vector b) {
  return vpmaxq_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b));
}
BLOOMERY_INLINE uint32x4_t pack4(uint32x4_t ab, uint32x4_t cd) { return vpmaxq_u32(ab, cd); }
BLOOMERY_INLINE unsigned contains_mask8(uint32x4_t abcd, uint32x4_t efgh) {
  const uint32x4_t first = vandq_u32(vceqzq_u32(abcd), vld1q_u32(places.data()));
  const uint32x4_t second = vandq_u32(vceqzq_u32(efgh), vld1q_u32(places.data() + 4));
  return vaddvq_u32(vorrq_u32(first, second));
}

#include <bloomery/kernels/blocked/lanes128.inc>
#include <bloomery/kernels/blocked/loops.inc>

#undef BLOOMERY_INLINE
#undef BLOOMERY_TARGET

}  // namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::neon

#endif
