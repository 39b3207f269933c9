// kernels/blocked/dispatch.hpp: one choice of kernel per batch, and one indirect call per single key.
//
// The pointers for single keys start at a function that makes the choice and puts it into their place, so that they are
// right from the first call on, also before main. A program compiled for AVX2, AVX-512 or 64-bit ARM calls the kernel
// itself, and BLOOMERY_ISA does not change that.
#pragma once

#include <atomic>
#include <bloomery/hash/digest_feed.hpp>
#include <bloomery/kernels/blocked.hpp>
#include <bloomery/kernels/blocked/avx2.hpp>
#include <bloomery/kernels/blocked/avx512.hpp>
#include <bloomery/kernels/blocked/neon.hpp>
#include <bloomery/kernels/blocked/sse2.hpp>

namespace bloomery::inline BLOOMERY_ABI::kernels {

// The set for batches of a layout. A block of split32 is one register of AVX2: longer ones gain nothing, and the loops of AVX2 hash
// while memory answers (1.6 ns a key in cache against 2.0).
template <class Layout>
constexpr isa blocked_batch_isa(isa level) noexcept {
  return level == isa::avx512 && Layout::lane_bits == 32 ? isa::avx2 : level;
}

// `next` gives the digests; see kernels/blocked.hpp. Loops that do not hash take it as a digest_feed, so that they are
// compiled once. The vectors of AVX2 and AVX-512 count fewer than 2^32 blocks.
template <class Layout, class Next>
void blocked_contains_batch(const blocked_view& view, std::size_t count, Next&& next, std::uint64_t* mask,
                            isa given = active_isa()) noexcept {
  const isa level = blocked_batch_isa<Layout>(given);
  const digest_feed feed(next);
#ifdef BLOOMERY_X86
  if (view.blocks >> 32U == 0) {
    if (level == isa::avx512) return avx512::blocked_contains_batch<Layout>(view, count, feed, mask);
    if constexpr (avx2::can_hash4<std::remove_reference_t<Next>>) {
      if (level == isa::avx2) return avx2::blocked_contains_batch<Layout>(view, count, next, mask);
    } else {
      if (level == isa::avx2) return avx2::blocked_contains_batch<Layout>(view, count, feed, mask);
    }
  }
  if (level != isa::scalar && level != isa::neon) return sse2::blocked_contains_batch<Layout>(view, count, feed, mask);
#endif
#ifdef BLOOMERY_NEON
  if (level == isa::neon) return neon::blocked_contains_batch<Layout>(view, count, feed, mask);
#endif
  static_cast<void>(level);
  blocked_contains_batch_scalar<Layout>(view, count, feed, mask);
}

template <class Layout, class Next>
std::uint64_t blocked_insert_many(std::uint64_t* words, const blocked_view& view, std::size_t count, Next&& next,
                                  isa given = active_isa()) noexcept {
  const isa level = blocked_batch_isa<Layout>(given);
  const digest_feed feed(next);
#ifdef BLOOMERY_X86
  if (view.blocks >> 32U == 0) {
    if (level == isa::avx512) return avx512::blocked_insert<Layout>(words, view, count, feed);
    if constexpr (avx2::can_hash4<std::remove_reference_t<Next>>) {
      if (level == isa::avx2) return avx2::blocked_insert<Layout>(words, view, count, next);
    } else {
      if (level == isa::avx2) return avx2::blocked_insert<Layout>(words, view, count, feed);
    }
  }
  if (level != isa::scalar && level != isa::neon) return sse2::blocked_insert<Layout>(words, view, count, feed);
#endif
#ifdef BLOOMERY_NEON
  if (level == isa::neon) return neon::blocked_insert<Layout>(words, view, count, feed);
#endif
  static_cast<void>(level);
  return blocked_insert_scalar<Layout>(words, view, count, feed);
}

// The functions for single keys, as pointers.
template <class Layout>
struct blocked_single {
  using contains_function = bool (*)(const blocked_view&, std::uint64_t) noexcept;
  using insert_function = bool (*)(std::uint64_t*, const blocked_view&, std::uint64_t) noexcept;

  static contains_function contains_of(isa level) noexcept {
#ifdef BLOOMERY_X86
    if (level == isa::avx512) return avx512::blocked_contains_one<Layout>;
    if (level == isa::avx2) return avx2::blocked_contains_one<Layout>;
    if (level == isa::sse2) return sse2::blocked_contains_one<Layout>;
#endif
#ifdef BLOOMERY_NEON
    if (level == isa::neon) return neon::blocked_contains_one<Layout>;
#endif
    static_cast<void>(level);
    return blocked_contains<Layout>;
  }
  static insert_function insert_of(isa level) noexcept {
#ifdef BLOOMERY_X86
    if (level == isa::avx512) return avx512::blocked_insert_one<Layout>;
    if (level == isa::avx2) return avx2::blocked_insert_one<Layout>;
    if (level == isa::sse2) return sse2::blocked_insert_one<Layout>;
#endif
#ifdef BLOOMERY_NEON
    if (level == isa::neon) return neon::blocked_insert_one<Layout>;
#endif
    static_cast<void>(level);
    return blocked_insert<Layout>;
  }

  static bool choose_contains(const blocked_view& view, std::uint64_t digest) noexcept {
    const contains_function chosen = contains_of(active_isa());
    contains.store(chosen, std::memory_order_relaxed);
    return chosen(view, digest);
  }
  static bool choose_insert(std::uint64_t* words, const blocked_view& view, std::uint64_t digest) noexcept {
    const insert_function chosen = insert_of(active_isa());
    insert.store(chosen, std::memory_order_relaxed);
    return chosen(words, view, digest);
  }
  static inline constinit std::atomic<contains_function> contains{choose_contains};
  static inline constinit std::atomic<insert_function> insert{choose_insert};
};

template <class Layout>
bool blocked_contains_one(const blocked_view& view, std::uint64_t digest) noexcept {
#if defined(BLOOMERY_COMPILED_FOR)
  return BLOOMERY_COMPILED_FOR::blocked_contains_one<Layout>(view, digest);
#else
  return blocked_single<Layout>::contains.load(std::memory_order_relaxed)(view, digest);
#endif
}

// Calls f with a function of digests that answers as blocked_contains_one does, and has taken every decision that
// depends on the filter alone.
template <class Layout, class F>
decltype(auto) with_blocked_lookup(const blocked_view& view, F&& f) {
#if defined(BLOOMERY_COMPILED_FOR)
  const lane_rows* rows = rows_for(view.hashes);
  if constexpr (!Layout::fixed) {
    if (view.hashes < block_lanes) {
      return f([view, rows](std::uint64_t digest) noexcept {
        return BLOOMERY_COMPILED_FOR::contains_case<Layout, lane_case::some>(view, rows, digest);
      });
    }
    if (view.hashes > block_lanes) {
      return f([view, rows](std::uint64_t digest) noexcept {
        return BLOOMERY_COMPILED_FOR::contains_case<Layout, lane_case::twice>(view, rows, digest);
      });
    }
  }
  return f([view, rows](std::uint64_t digest) noexcept {
    return BLOOMERY_COMPILED_FOR::contains_case<Layout, lane_case::every>(view, rows, digest);
  });
#else
  const auto contains = blocked_single<Layout>::contains_of(active_isa());
  return f([view, contains](std::uint64_t digest) noexcept { return contains(view, digest); });
#endif
}

template <class Layout>
bool blocked_insert_one(std::uint64_t* words, const blocked_view& view, std::uint64_t digest) noexcept {
#if defined(BLOOMERY_COMPILED_FOR)
  return BLOOMERY_COMPILED_FOR::blocked_insert_one<Layout>(words, view, digest);
#else
  return blocked_single<Layout>::insert.load(std::memory_order_relaxed)(words, view, digest);
#endif
}

}  // namespace bloomery::inline BLOOMERY_ABI::kernels
