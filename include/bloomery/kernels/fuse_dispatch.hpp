// kernels/fuse_dispatch.hpp: one choice of kernel per batch of look-ups. AVX-512 runs what AVX2 does, other sets the scalar
// code.
#pragma once

#include <bloomery/core/cpu.hpp>
#include <bloomery/kernels/fuse.hpp>
#include <bloomery/kernels/fuse_avx2.hpp>

namespace bloomery::kernels {

template <unsigned Wise>
fuse_finder<Wise> fuse_finder_of(isa level) noexcept {
#ifdef BLOOMERY_X86
  if (level == isa::avx2 || level == isa::avx512) return avx2::fuse_find<Wise>;
#endif
  static_cast<void>(level);
  return fuse_find_scalar<Wise>;
}

template <class Cell, unsigned Wise>
void fuse_ask_with(isa level, const fuse_table<Cell, Wise>& table, std::size_t count, const digest_feed& next,
                   std::uint64_t* mask) noexcept {
  fuse_ask(table, fuse_finder_of<Wise>(level), count, next, mask);
}

}  // namespace bloomery::kernels
