// kernels/blocked_dispatch.hpp: one choice of kernel per batch.
#pragma once

#include <bloomery/kernels/blocked.hpp>
#include <bloomery/kernels/blocked_avx2.hpp>

namespace bloomery::kernels {

template <class Layout>
void blocked_ask(const blocked_view& view, std::span<const std::uint64_t> digests, std::span<std::uint64_t> mask,
                 isa level = active_isa()) noexcept {
#ifdef BLOOMERY_X86
  if (level == isa::avx2) return avx2::blocked_ask<Layout>(view, digests, mask);
#endif
  static_cast<void>(level);
  blocked_ask_scalar<Layout>(view, digests, mask);
}

template <class Layout>
std::uint64_t blocked_insert_many(std::uint64_t* words, const blocked_view& view,
                                  std::span<const std::uint64_t> digests, isa level = active_isa()) noexcept {
#ifdef BLOOMERY_X86
  if (level == isa::avx2) return avx2::blocked_insert<Layout>(words, view, digests);
#endif
  static_cast<void>(level);
  return blocked_insert_scalar<Layout>(words, view, digests);
}

}  // namespace bloomery::kernels
