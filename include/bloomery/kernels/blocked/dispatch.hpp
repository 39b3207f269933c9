// kernels/blocked/dispatch.hpp: the kernels of the blocked layouts, a table for each instruction set.
//
// Batches call through the table. So do single keys, except in a program that is compiled for AVX2, AVX-512 or 64-bit
// ARM: there they are inlined, and BLOOMERY_ISA does not change that.
#pragma once

#include <bloomery/core/dispatch.hpp>
#include <bloomery/core/target.hpp>
#include <bloomery/hash/digest_feed.hpp>
#include <bloomery/kernels/blocked.hpp>
#if defined(BLOOMERY_COMPILED_FOR)
#include <bloomery/kernels/blocked/avx2.hpp>
#include <bloomery/kernels/blocked/avx512.hpp>
#include <bloomery/kernels/blocked/neon.hpp>
#endif

namespace bloomery::inline BLOOMERY_ABI::kernels {

template <class Layout>
struct blocked_kernels {
  using hash_count = typename Layout::hash_count;
  bool (*contains)(const std::uint64_t* words, std::uint64_t blocks, hash_count hashes, std::uint64_t digest) noexcept;
  bool (*insert)(std::uint64_t* words, std::uint64_t blocks, hash_count hashes, std::uint64_t digest) noexcept;
  void (*add)(std::uint64_t* words, std::uint64_t blocks, hash_count hashes, std::uint64_t digest) noexcept;

  BLOOMERY_API static const blocked_kernels& for_isa(isa level) noexcept;
};

// Apart from those of single keys, so that a header-only program compiles what it calls.
template <class Layout>
struct blocked_batch_kernels {
  void (*contains_batch)(const blocked_view& view, std::size_t count, const digest_feed& feed,
                         std::uint64_t* mask) noexcept;
  // How many of the digests set a bit that was clear.
  std::uint64_t (*add_batch)(std::uint64_t* words, const blocked_view& view, std::size_t count,
                             const digest_feed& feed) noexcept;

  BLOOMERY_API static const blocked_batch_kernels& for_isa(isa level) noexcept;
};

// Their bodies are in the library, for both layouts.
#ifndef BLOOMERY_HEADER_ONLY
extern template struct blocked_kernels<split32>;
extern template struct blocked_kernels<split64>;
extern template struct blocked_batch_kernels<split32>;
extern template struct blocked_batch_kernels<split64>;
#endif

inline namespace BLOOMERY_TARGET_ABI {

#if defined(BLOOMERY_COMPILED_FOR)

// A block of split32 is a register of AVX2, whose test of all bits is one instruction; the masks of AVX-512 take three.
template <class Layout, lane_case Case>
BLOOMERY_ALWAYS_INLINE inline bool contains_one_of(const blocked_view& view, const lane_rows* rows,
                                                   std::uint64_t digest) noexcept {
#if defined(BLOOMERY_X86)
  if constexpr (Layout::fixed) return avx2::contains_case<Layout, Case>(view.words, view.blocks, rows, digest);
#endif
  return BLOOMERY_COMPILED_FOR::contains_case<Layout, Case>(view.words, view.blocks, rows, digest);
}

template <class Layout>
BLOOMERY_ALWAYS_INLINE inline bool blocked_contains_one(const blocked_view& view, std::uint64_t digest) noexcept {
#if defined(BLOOMERY_X86)
  if constexpr (Layout::fixed) {
    return avx2::blocked_contains_one<Layout>(view.words, view.blocks, typename Layout::hash_count(view.hashes),
                                              digest);
  }
#endif
  return BLOOMERY_COMPILED_FOR::blocked_contains_one<Layout>(view.words, view.blocks,
                                                             typename Layout::hash_count(view.hashes), digest);
}

template <class Layout>
BLOOMERY_ALWAYS_INLINE inline bool blocked_insert_one(std::uint64_t* words, const blocked_view& view,
                                                      std::uint64_t digest) noexcept {
#if defined(BLOOMERY_X86)
  if constexpr (Layout::fixed) {
    return avx2::blocked_insert_one<Layout>(words, view.blocks, typename Layout::hash_count(view.hashes), digest);
  }
#endif
  return BLOOMERY_COMPILED_FOR::blocked_insert_one<Layout>(words, view.blocks, typename Layout::hash_count(view.hashes),
                                                           digest);
}

template <class Layout>
BLOOMERY_ALWAYS_INLINE inline void blocked_add_one(std::uint64_t* words, const blocked_view& view,
                                                   std::uint64_t digest) noexcept {
  static_cast<void>(blocked_insert_one<Layout>(words, view, digest));
}

#else

template <class Layout>
BLOOMERY_ALWAYS_INLINE inline bool blocked_contains_one(const blocked_view& view, std::uint64_t digest) noexcept {
  return active_function<&blocked_kernels<Layout>::contains>(view.words, view.blocks,
                                                             typename Layout::hash_count(view.hashes), digest);
}

template <class Layout>
BLOOMERY_ALWAYS_INLINE inline bool blocked_insert_one(std::uint64_t* words, const blocked_view& view,
                                                      std::uint64_t digest) noexcept {
  return active_function<&blocked_kernels<Layout>::insert>(words, view.blocks, typename Layout::hash_count(view.hashes),
                                                           digest);
}

template <class Layout>
BLOOMERY_ALWAYS_INLINE inline void blocked_add_one(std::uint64_t* words, const blocked_view& view,
                                                   std::uint64_t digest) noexcept {
  active_function<&blocked_kernels<Layout>::add>(words, view.blocks, typename Layout::hash_count(view.hashes), digest);
}

#endif

// Calls f with a function of digests that answers as blocked_contains_one does, and has taken every decision that
// depends on the filter alone.
template <class Layout, class F>
decltype(auto) with_blocked_lookup(const blocked_view& view, F&& f) {
#if defined(BLOOMERY_COMPILED_FOR)
  const lane_rows* rows = rows_for(view.hashes);
  if constexpr (!Layout::fixed) {
    if (view.hashes < block_lanes) {
      return f([view, rows](std::uint64_t digest) noexcept {
        return contains_one_of<Layout, lane_case::some>(view, rows, digest);
      });
    }
    if (view.hashes > block_lanes) {
      return f([view, rows](std::uint64_t digest) noexcept {
        return contains_one_of<Layout, lane_case::twice>(view, rows, digest);
      });
    }
  }
  return f([view, rows](std::uint64_t digest) noexcept {
    return contains_one_of<Layout, lane_case::every>(view, rows, digest);
  });
#else
  const auto contains = active_kernels<blocked_kernels<Layout> >().contains;
  return f([view, contains](std::uint64_t digest) noexcept {
    return contains(view.words, view.blocks, typename Layout::hash_count(view.hashes), digest);
  });
#endif
}

}  // namespace BLOOMERY_TARGET_ABI

}  // namespace bloomery::inline BLOOMERY_ABI::kernels

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kernels/blocked.cpp>
#endif
