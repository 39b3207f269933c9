// kernels/split_digests.hpp: the digests of many keys into two lists, those up to a limit and those above it, each in the
// order of the keys.
//
//     digest_lists ends{low, high};
//     split_digests(source, 0, keys.size(), limit, ends, active_isa());   // ends are now behind what was written
//
// Which list comes next cannot be predicted, so there is no branch on it: every digest is written to both lists, and the one
// that it belongs to keeps it. With AVX2 that is done for four at once, hashing included. Each list needs room for all.
#pragma once

#include <bloomery/hash/vector/digest_batch.hpp>

namespace bloomery::inline BLOOMERY_ABI::kernels {

// Where the next digest of each list goes.
struct digest_lists {
  std::uint64_t* low;
  std::uint64_t* high;
};

namespace portable {

inline void split_digests(const std::uint64_t* digests, std::size_t count, std::uint64_t limit,
                          digest_lists& ends) noexcept {
  digest_lists to = ends;  // in registers
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t upper = digests[i] > limit ? 1 : 0;
    *to.low = digests[i];
    *to.high = digests[i];
    to.low += 1 - upper;
    to.high += upper;
  }
  ends = to;
}

}  // namespace portable

#ifdef BLOOMERY_X86

namespace avx2 {

// For every set of four lanes an order of their halves in which the lanes of the set come first; the others follow.
using lane_orders = std::array<std::array<std::uint32_t, 8>, 16>;
inline constexpr lane_orders lanes_first = [] {
  lane_orders orders{};
  for (unsigned set = 0; set < 16; ++set) {
    unsigned place = 0;
    for (const unsigned wanted : {1U, 0U}) {
      for (unsigned lane = 0; lane < 4; ++lane) {
        if (((set >> lane) & 1U) != wanted) continue;
        orders[set][place++] = lane * 2;
        orders[set][place++] = lane * 2 + 1;
      }
    }
  }
  return orders;
}();

template <class Next>
BLOOMERY_FOR_AVX2 void split_digests(const Next& next, std::size_t first, std::size_t count, std::uint64_t limit,
                                     digest_lists& ends) noexcept {
  std::array<std::uint64_t, 64> room;
  const std::uint64_t* digests = nullptr;
  if constexpr (!can_hash4<Next>) digests = next(first, count, room.data());
  const __m256i sign = all64(std::uint64_t{1} << 63U);
  const __m256i signed_limit = _mm256_xor_si256(all64(limit), sign);
  digest_lists to = ends;
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const __m256i four = fetch_four(next, digests, first, i);
    const __m256i above = _mm256_cmpgt_epi64(_mm256_xor_si256(four, sign), signed_limit);
    const auto upper = static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(above)));
    store(to.low, _mm256_permutevar8x32_epi32(four, load(lanes_first[upper ^ 15U].data())));
    store(to.high, _mm256_permutevar8x32_epi32(four, load(lanes_first[upper].data())));
    const auto uppers = static_cast<std::size_t>(std::popcount(upper));
    to.low += 4 - uppers;
    to.high += uppers;
  }
  ends = to;
  if (i == count) return;
  portable::split_digests(next(first + i, count - i, room.data()), count - i, limit, ends);
}

}  // namespace avx2

#endif

// `count` is at most 64.
template <class Next>
void split_digests(const Next& next, std::size_t first, std::size_t count, std::uint64_t limit, digest_lists& ends,
                   isa level) noexcept {
#ifdef BLOOMERY_X86
  if (level == isa::avx2 || level == isa::avx512) return avx2::split_digests(next, first, count, limit, ends);
#endif
  static_cast<void>(level);
  std::array<std::uint64_t, 64> room;
  portable::split_digests(next(first, count, room.data()), count, limit, ends);
}

}  // namespace bloomery::inline BLOOMERY_ABI::kernels
