#include <array>
#include <bit>
#include <bloomery/hash/vector/digests4_avx2.hpp>
#include <bloomery/kernels/split_digests.hpp>

namespace bloomery::inline BLOOMERY_ABI::kernels {

inline namespace BLOOMERY_TARGET_ABI {

namespace portable {

inline void split_ready(const std::uint64_t* digests, std::size_t count, std::uint64_t limit,
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

inline void split_digests(const digest_feed& feed, std::size_t first, std::size_t count, std::uint64_t limit,
                          digest_lists& ends) noexcept {
  std::array<std::uint64_t, 64> buffer;
  split_ready(feed(first, count, buffer.data()), count, limit, ends);
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

template <class Source>
BLOOMERY_FOR_AVX2 void split_from(const Source& next, std::size_t first, std::size_t count, std::uint64_t limit,
                                  digest_lists& ends) noexcept {
  std::array<std::uint64_t, 64> buffer;
  const std::uint64_t* digests = nullptr;
  if constexpr (!can_hash4<Source>) digests = next(first, count, buffer.data());
  const vector_source<Source> from(next);
  const __m256i sign = all64(std::uint64_t{1} << 63U);
  const __m256i signed_limit = _mm256_xor_si256(all64(limit), sign);
  digest_lists to = ends;
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const __m256i four = fetch_four(from, digests, first, i);
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
  portable::split_ready(next(first + i, count - i, buffer.data()), count - i, limit, ends);
}

inline void split_digests(const digest_feed& feed, std::size_t first, std::size_t count, std::uint64_t limit,
                          digest_lists& ends) noexcept {
  with_source(feed, [&](const auto& source) { split_from(source, first, count, limit, ends); });
}

}  // namespace avx2

#endif

}  // namespace BLOOMERY_TARGET_ABI

BLOOMERY_BODY const split_kernels& split_kernels::for_isa(isa level) noexcept {
#ifdef BLOOMERY_X86
  static constexpr split_kernels with_avx2{avx2::split_digests};
  if (level == isa::avx2 || level == isa::avx512) return with_avx2;
#endif
  static_cast<void>(level);
  static constexpr split_kernels plain{portable::split_digests};
  return plain;
}

}  // namespace bloomery::inline BLOOMERY_ABI::kernels
