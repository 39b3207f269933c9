// kernels/window/dispatch.hpp: the window filter with the best instruction set there is.
//
// A batch pays for the choice once. A single key calls through a pointer, or nothing at all in a program that is compiled
// for AVX2. Sets without vector code of their own here take the portable code.
#pragma once

#include <atomic>
#include <bloomery/core/cpu.hpp>
#include <bloomery/core/intrinsics.hpp>
#include <bloomery/hash/digest_feed.hpp>
#include <bloomery/kernels/window.hpp>
#include <bloomery/kernels/window/avx2.hpp>

namespace bloomery::inline BLOOMERY_ABI::kernels {

namespace portable {

#define BLOOMERY_TARGET
#define BLOOMERY_INLINE BLOOMERY_ALWAYS_INLINE inline

#include <bloomery/kernels/window/loops.inc>

#undef BLOOMERY_INLINE
#undef BLOOMERY_TARGET

}  // namespace portable

// The functions of one instruction set.
struct window_functions {
  bool (*ask_one)(const window_view&, std::uint64_t) noexcept;
  void (*ask)(const window_view&, std::size_t, const digest_feed&, std::uint64_t*) noexcept;
  window_insert_outcome (*insert)(std::byte*, const window_view&, const std::uint64_t*, std::size_t,
                                  std::uint64_t) noexcept;

  static const window_functions& of(isa level) noexcept;
  // Those of the best set, chosen by the first who asks.
  static const window_functions& best() noexcept {
    const window_functions* found = chosen.load(std::memory_order_relaxed);
    if (found != nullptr) return *found;
    found = &of(active_isa());
    chosen.store(found, std::memory_order_relaxed);
    return *found;
  }

 private:
  static std::atomic<const window_functions*> chosen;
};

inline constinit std::atomic<const window_functions*> window_functions::chosen{nullptr};

inline constexpr window_functions window_portable{portable::window_contains_one, portable::window_contains_batch,
                                                  portable::window_insert};
#ifdef BLOOMERY_X86
inline constexpr window_functions window_vectors{avx2::window_contains_one, avx2::window_contains_batch,
                                                 avx2::window_insert};
#endif

inline const window_functions& window_functions::of(isa level) noexcept {
#ifdef BLOOMERY_X86
  if (level == isa::avx2 || level == isa::avx512) return window_vectors;
#endif
  static_cast<void>(level);
  return window_portable;
}

// Sends for the lines of keys that are about to be inserted.
inline void window_prefetch(const window_view& view, const std::uint64_t* digests, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) portable::window_prefetch(view, digests[i]);
}

inline bool window_contains_one(const window_view& view, std::uint64_t digest) noexcept {
#if defined(BLOOMERY_X86) && defined(BLOOMERY_COMPILED_FOR)
  return avx2::window_contains_one(view, digest);
#else
  return window_functions::best().ask_one(view, digest);
#endif
}

}  // namespace bloomery::inline BLOOMERY_ABI::kernels
