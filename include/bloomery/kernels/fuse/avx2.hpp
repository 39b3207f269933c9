// kernels/fuse/avx2.hpp: the cells of binary fuse keys with AVX2, four keys at a time. Same cells as kernels/fuse.hpp.
//
// Only finding the cells is vector code: reading them is three or four loads a key on any instruction set. A gather
// saves a tenth of that where it is quick and costs several times as much where it was made slow to be safe.
#pragma once

#include <bloomery/core/vector_avx2.hpp>
#include <bloomery/kernels/fuse.hpp>

#ifdef BLOOMERY_X86

namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::avx2 {

#define BLOOMERY_TARGET BLOOMERY_FOR_AVX2
#define BLOOMERY_INLINE BLOOMERY_FOR_AVX2 BLOOMERY_ALWAYS_INLINE inline

struct fuse_finder {
  __m256i seed;
  __m256i starts;
  __m256i shard_cells;
  __m256i segment_cells;
  __m128i shard_bits;
  __m128i shard_shift;
  __m128i segment_bits;
  __m128i segment_shift;

  BLOOMERY_INLINE explicit fuse_finder(const fuse_places& places)
      : seed(all64(places.seed)),
        starts(all64(places.starts)),
        shard_cells(all64(places.shard_cells)),
        segment_cells(all64(places.segment_cells)),
        shard_bits(_mm_cvtsi64_si128(static_cast<long long>(places.shard_bits))),
        shard_shift(_mm_cvtsi64_si128(64LL - static_cast<long long>(places.shard_bits))),
        segment_bits(_mm_cvtsi64_si128(static_cast<long long>(places.segment_bits))),
        segment_shift(_mm_cvtsi64_si128(64LL - static_cast<long long>(places.segment_bits))) {}

  template <unsigned Wise>
  BLOOMERY_INLINE void eight(const std::uint64_t* digests, std::size_t i, fuse_group<Wise>& group) const {
    four(digests, i, group);
    four(digests, i + 4, group);
  }

 private:
  static BLOOMERY_INLINE __m256i times(__m256i x, std::uint64_t factor) {
    return multiply64(x, all64(factor), all64(factor << 32U | factor >> 32U));
  }
  template <unsigned Wise>
  BLOOMERY_INLINE void four(const std::uint64_t* digests, std::size_t i, fuse_group<Wise>& group) const {
    const __m256i x = times(_mm256_xor_si256(load(digests + i), seed), fuse_scatter);
    const __m256i y = times(_mm256_xor_si256(x, _mm256_srli_epi64(x, 32)), fuse_spread);
    const __m256i shard = _mm256_srl_epi64(x, shard_shift);
    const __m256i r = _mm256_srli_epi64(_mm256_sll_epi64(x, shard_bits), 32);
    __m256i start =
        _mm256_add_epi64(_mm256_mul_epu32(shard, shard_cells), _mm256_srli_epi64(_mm256_mul_epu32(r, starts), 32));
    store(group.y.data() + i, y);
    store(group.at[0].data() + i, start);
    __m256i left = y;
    for (unsigned cell = 1; cell < Wise; ++cell) {
      start = _mm256_add_epi64(start, segment_cells);
      store(group.at[cell].data() + i, _mm256_xor_si256(start, _mm256_srl_epi64(left, segment_shift)));
      left = _mm256_sll_epi64(left, segment_bits);
    }
  }
};

#include <bloomery/kernels/fuse/loops.inc>

#undef BLOOMERY_INLINE
#undef BLOOMERY_TARGET

}  // namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::avx2

#endif
