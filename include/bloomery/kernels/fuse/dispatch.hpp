// kernels/fuse/dispatch.hpp: the batches of binary fuse filters, a table for each instruction set. AVX-512 runs what
// AVX2 does, other sets the scalar code. For the bodies of the kinds, which instantiate it: a program does not include
// it.
#pragma once

#include <bloomery/core/dispatch.hpp>
#include <bloomery/core/intrinsics.hpp>
#include <bloomery/kernels/fuse.hpp>
#include <bloomery/kernels/fuse/avx2.hpp>

namespace bloomery::inline BLOOMERY_ABI::kernels {

inline namespace BLOOMERY_TARGET_ABI {

namespace portable {

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

}  // namespace portable

}  // namespace BLOOMERY_TARGET_ABI

template <class Cell, unsigned Wise>
struct fuse_kernels {
  void (*contains_batch)(const fuse_table<Cell, Wise>& table, std::size_t count, const digest_feed& feed,
                         std::uint64_t* mask) noexcept;
  // The cells of 64 digests.
  void (*find)(const fuse_places& places, const std::uint64_t* digests, fuse_group<Wise>& group) noexcept;

  static const fuse_kernels& for_isa(isa level) noexcept {
#ifdef BLOOMERY_X86
    static constexpr fuse_kernels with_avx2{avx2::fuse_contains_batch, avx2::fuse_find};
    if (level == isa::avx2 || level == isa::avx512) return with_avx2;
#endif
    static_cast<void>(level);
    static constexpr fuse_kernels plain{portable::fuse_contains_batch, portable::fuse_find};
    return plain;
  }
};

// With the best instruction set there is.
template <class Cell, unsigned Wise>
void fuse_contains_best(const fuse_table<Cell, Wise>& table, std::size_t count, const digest_feed& feed,
                        std::uint64_t* mask) noexcept {
  active_kernels<fuse_kernels<Cell, Wise>>().contains_batch(table, count, feed, mask);
}

}  // namespace bloomery::inline BLOOMERY_ABI::kernels
