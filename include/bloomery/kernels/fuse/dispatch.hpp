// kernels/fuse/dispatch.hpp: one choice of kernel per batch of look-ups. AVX-512 runs what AVX2 does, other sets the scalar
// code.
#pragma once

#include <bloomery/core/cpu.hpp>
#include <bloomery/kernels/fuse.hpp>

namespace bloomery::inline BLOOMERY_ABI::kernels::portable {

#define BLOOMERY_TARGET
#define BLOOMERY_INLINE inline

struct fuse_finder {
  fuse_places places;

  explicit fuse_finder(const fuse_places& of) noexcept : places(of) {}
  template <unsigned Wise>
  void eight(const std::uint64_t* digests, std::size_t i, fuse_group<Wise>& group) const noexcept {
    for (std::size_t j = i; j < i + 8; ++j) {
      const fuse_key<Wise> key = places.of<Wise>(digests[j]);
      for (unsigned cell = 0; cell < Wise; ++cell) group.at[cell][j] = key.at[cell];
      group.y[j] = key.y;
    }
  }
};

#include <bloomery/kernels/fuse/loops.inc>

#undef BLOOMERY_INLINE
#undef BLOOMERY_TARGET

}  // namespace bloomery::inline BLOOMERY_ABI::kernels::portable

#include <bloomery/kernels/fuse/avx2.hpp>

namespace bloomery::inline BLOOMERY_ABI::kernels {

template <unsigned Wise>
void fuse_find_with(isa level, const fuse_places& places, const std::uint64_t* digests,
                    fuse_group<Wise>& group) noexcept {
#ifdef BLOOMERY_X86
  if (level == isa::avx2 || level == isa::avx512) return avx2::fuse_find(places, digests, group);
#endif
  static_cast<void>(level);
  portable::fuse_find(places, digests, group);
}

template <class Cell, unsigned Wise>
void fuse_contains_batch_with(isa level, const fuse_table<Cell, Wise>& table, std::size_t count,
                              const digest_feed& next, std::uint64_t* mask) noexcept {
#ifdef BLOOMERY_X86
  if (level == isa::avx2 || level == isa::avx512) return avx2::fuse_contains_batch(table, count, next, mask);
#endif
  static_cast<void>(level);
  portable::fuse_contains_batch(table, count, next, mask);
}

}  // namespace bloomery::inline BLOOMERY_ABI::kernels
