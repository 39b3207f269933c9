// kernels/blocked_dispatch.hpp: one choice of kernel per batch, and one indirect call per single key.
//
// The pointers for single keys start at a function that makes the choice and puts it into their place, so that they are
// right from the first call on, also before main. A program compiled for AVX2 calls the kernel itself.
#pragma once

#include <atomic>
#include <bloomery/kernels/blocked.hpp>
#include <bloomery/kernels/blocked_avx2.hpp>

namespace bloomery::kernels {

// `next` gives the digests; see kernels/blocked.hpp.
template <class Layout, class Next>
void blocked_ask(const blocked_view& view, std::size_t count, Next&& next, std::uint64_t* mask,
                 isa level = active_isa()) noexcept {
#ifdef BLOOMERY_X86
  if (level == isa::avx2 && view.blocks >> 32U == 0) return avx2::blocked_ask<Layout>(view, count, next, mask);
#endif
  static_cast<void>(level);
  blocked_ask_scalar<Layout>(view, count, next, mask);
}

template <class Layout, class Next>
std::uint64_t blocked_insert_many(std::uint64_t* words, const blocked_view& view, std::size_t count, Next&& next,
                                  isa level = active_isa()) noexcept {
#ifdef BLOOMERY_X86
  if (level == isa::avx2 && view.blocks >> 32U == 0) return avx2::blocked_insert<Layout>(words, view, count, next);
#endif
  static_cast<void>(level);
  return blocked_insert_scalar<Layout>(words, view, count, next);
}

#ifdef BLOOMERY_X86

template <class Layout>
struct blocked_single {
  using contains_function = bool (*)(const blocked_view&, std::uint64_t) noexcept;
  using insert_function = bool (*)(std::uint64_t*, const blocked_view&, std::uint64_t) noexcept;

  static bool choose_contains(const blocked_view& view, std::uint64_t digest) noexcept {
    const bool vector = active_isa() == isa::avx2;
    const contains_function chosen = vector ? avx2::blocked_contains_one<Layout> : blocked_contains<Layout>;
    contains.store(chosen, std::memory_order_relaxed);
    return chosen(view, digest);
  }
  static bool choose_insert(std::uint64_t* words, const blocked_view& view, std::uint64_t digest) noexcept {
    const bool vector = active_isa() == isa::avx2;
    const insert_function chosen = vector ? avx2::blocked_insert_one<Layout> : blocked_insert<Layout>;
    insert.store(chosen, std::memory_order_relaxed);
    return chosen(words, view, digest);
  }
  static inline constinit std::atomic<contains_function> contains{choose_contains};
  static inline constinit std::atomic<insert_function> insert{choose_insert};
};

#endif

template <class Layout>
bool blocked_contains_one(const blocked_view& view, std::uint64_t digest) noexcept {
#if defined(BLOOMERY_X86) && defined(__AVX2__)
  return avx2::blocked_contains_one<Layout>(view, digest);
#elif defined(BLOOMERY_X86)
  return blocked_single<Layout>::contains.load(std::memory_order_relaxed)(view, digest);
#else
  return blocked_contains<Layout>(view, digest);
#endif
}

template <class Layout>
bool blocked_insert_one(std::uint64_t* words, const blocked_view& view, std::uint64_t digest) noexcept {
#if defined(BLOOMERY_X86) && defined(__AVX2__)
  return avx2::blocked_insert_one<Layout>(words, view, digest);
#elif defined(BLOOMERY_X86)
  return blocked_single<Layout>::insert.load(std::memory_order_relaxed)(words, view, digest);
#else
  return blocked_insert<Layout>(words, view, digest);
#endif
}

}  // namespace bloomery::kernels
