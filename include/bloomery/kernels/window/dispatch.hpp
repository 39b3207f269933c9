// kernels/window/dispatch.hpp: the kernels of the window filter, a table for each instruction set.
//
// Batches call through the table. So do single keys, except in a program that is compiled for AVX2: there look-ups are
// inlined. Sets without vector code of their own take the portable code.
#pragma once

#include <bloomery/core/dispatch.hpp>
#include <bloomery/core/target.hpp>
#include <bloomery/hash/digest_feed.hpp>
#include <bloomery/kernels/window.hpp>
#if defined(BLOOMERY_X86) && defined(BLOOMERY_COMPILED_FOR)
#include <bloomery/kernels/window/avx2.hpp>
#endif

namespace bloomery::inline BLOOMERY_ABI::kernels {

struct window_kernels {
  bool (*contains)(const window_view& view, std::uint64_t digest) noexcept;
  void (*contains_batch)(const window_view& view, std::size_t count, const digest_feed& feed,
                         std::uint64_t* mask) noexcept;
  // Inserts digests until `limit` of them were counted.
  window_insert_outcome (*insert)(std::byte* bytes, const window_view& view, const std::uint64_t* digests,
                                  std::size_t count, std::uint64_t limit) noexcept;

  BLOOMERY_API static const window_kernels& for_isa(isa level) noexcept;
};

// The lines of keys that are about to be inserted.
inline void window_prefetch(const window_view& view, const std::uint64_t* digests, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte* line = view.bytes + view.offset_of(digests[i]);
    for (unsigned slot = 0; slot < view.slots; ++slot) __builtin_prefetch(line + slot * window_line_bytes);
  }
}

inline namespace BLOOMERY_TARGET_ABI {

BLOOMERY_ALWAYS_INLINE inline bool window_contains_one(const window_view& view, std::uint64_t digest) noexcept {
#if defined(BLOOMERY_X86) && defined(BLOOMERY_COMPILED_FOR)
  return avx2::window_contains_one(view, digest);
#else
  return active_kernels<window_kernels>().contains(view, digest);
#endif
}

}  // namespace BLOOMERY_TARGET_ABI

}  // namespace bloomery::inline BLOOMERY_ABI::kernels

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kernels/window.cpp>
#endif
