// kernels/counting/dispatch.hpp: one choice of kernel per batch over lines of counters. AVX-512 runs what AVX2 does.
#pragma once

#include <bloomery/core/cpu.hpp>
#include <bloomery/hash/digest_feed.hpp>
#include <bloomery/kernels/counting.hpp>
#include <bloomery/kernels/counting/avx2.hpp>

namespace bloomery::inline BLOOMERY_ABI::kernels {

template <class Next>
void counting_contains_lines(const counting_view& view, std::size_t count, const Next& next, std::uint64_t* mask,
                             isa level = active_isa()) noexcept {
  const digest_feed feed(next);
#ifdef BLOOMERY_X86
  if (level == isa::avx2 || level == isa::avx512) return avx2::counting_contains_lines(view, count, feed, mask);
#endif
  static_cast<void>(level);
  counting_contains_lines_scalar(view, count, feed, mask);
}

template <class Next>
std::uint64_t counting_insert_lines(std::uint64_t* words, const counting_view& view, std::size_t count,
                                    const Next& next, isa level = active_isa()) noexcept {
  const digest_feed feed(next);
#ifdef BLOOMERY_X86
  if (level == isa::avx2 || level == isa::avx512) return avx2::counting_insert_lines(words, view, count, feed);
#endif
  static_cast<void>(level);
  return counting_insert_lines_scalar(words, view, count, feed);
}

}  // namespace bloomery::inline BLOOMERY_ABI::kernels
