// kernels/growing/dispatch.hpp: the look-ups of the growing filter, a table for each instruction set.
//
// Batches call through the table. So do single keys, except in a program that is compiled for AVX2: there they are
// inlined. Sets without vector code of their own take the portable code, of which compilers make vectors.
#pragma once

#include <bloomery/core/dispatch.hpp>
#include <bloomery/core/target.hpp>
#include <bloomery/hash/digest_feed.hpp>
#include <bloomery/kernels/growing.hpp>
#if defined(BLOOMERY_X86) && defined(BLOOMERY_COMPILED_FOR)
#include <bloomery/kernels/growing/avx2.hpp>
#endif

namespace bloomery::inline BLOOMERY_ABI::kernels {

template <class Slots>
struct growing_kernels {
  bool (*contains)(const growing_view& view, std::uint64_t digest, const growing_overflow& overflow) noexcept;
  void (*contains_batch)(const growing_view& view, std::size_t count, const digest_feed& feed, std::uint64_t* mask,
                         const growing_overflow& overflow) noexcept;

  BLOOMERY_API static const growing_kernels& for_isa(isa level) noexcept;
};

#ifndef BLOOMERY_HEADER_ONLY
extern template struct growing_kernels<growing_slots<16>>;
extern template struct growing_kernels<growing_slots<24>>;
extern template struct growing_kernels<growing_slots<32>>;
#endif

inline namespace BLOOMERY_TARGET_ABI {

template <class Slots>
BLOOMERY_ALWAYS_INLINE inline bool growing_contains_one(const growing_view& view, std::uint64_t digest,
                                                        const growing_overflow& overflow) noexcept {
#if defined(BLOOMERY_X86) && defined(BLOOMERY_COMPILED_FOR)
  return avx2::growing_contains_one<Slots>(view, digest, overflow);
#else
  return active_kernels<growing_kernels<Slots>>().contains(view, digest, overflow);
#endif
}

}  // namespace BLOOMERY_TARGET_ABI

}  // namespace bloomery::inline BLOOMERY_ABI::kernels

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kernels/growing.cpp>
#endif
