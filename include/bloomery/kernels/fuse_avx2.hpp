// kernels/fuse_avx2.hpp: the cells of binary fuse keys with AVX2, four keys at a time. Same cells as kernels/fuse.hpp.
//
// Only finding the cells is vector code: reading them is three or four loads a key on any instruction set, and a gather is no
// faster than those.
#pragma once

#include <bloomery/kernels/fuse.hpp>
#include <bloomery/kernels/vector_avx2.hpp>

#ifdef BLOOMERY_X86

namespace bloomery::kernels::avx2 {

template <unsigned Wise>
BLOOMERY_FOR_AVX2 void fuse_find(const fuse_places& places, const std::uint64_t* digests,
                                 fuse_group<Wise>& group) noexcept {
  constexpr std::uint64_t scatter = fuse_scatter;
  constexpr std::uint64_t spread = fuse_spread;
  const __m256i scatter_all = all64(scatter);
  const __m256i scatter_swapped = all64(scatter << 32U | scatter >> 32U);
  const __m256i spread_all = all64(spread);
  const __m256i spread_swapped = all64(spread << 32U | spread >> 32U);
  const __m256i seed = all64(places.seed);
  const __m256i starts = all64(places.starts);
  const __m256i shard_cells = all64(places.shard_cells);
  const __m256i segment_cells = all64(places.segment_cells);
  const __m128i shard_bits = _mm_cvtsi64_si128(static_cast<long long>(places.shard_bits));
  const __m128i shard_shift = _mm_cvtsi64_si128(64LL - static_cast<long long>(places.shard_bits));
  const __m128i segment_bits = _mm_cvtsi64_si128(static_cast<long long>(places.segment_bits));
  const __m128i segment_shift = _mm_cvtsi64_si128(64LL - static_cast<long long>(places.segment_bits));
  for (std::size_t i = 0; i < fuse_group<Wise>::size; i += 4) {
    const __m256i x = multiply64(_mm256_xor_si256(load(digests + i), seed), scatter_all, scatter_swapped);
    const __m256i y = multiply64(_mm256_xor_si256(x, _mm256_srli_epi64(x, 32)), spread_all, spread_swapped);
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
}

}  // namespace bloomery::kernels::avx2

#endif
