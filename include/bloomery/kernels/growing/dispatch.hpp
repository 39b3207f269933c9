// kernels/growing/dispatch.hpp: the look-ups of the growing filter with the best instruction set there is.
//
// A batch pays for the choice once. A single look-up calls through a pointer, or nothing at all in a program that is
// compiled for AVX2. Sets without vector code of their own here take the portable code, of which compilers make vectors.
#pragma once

#include <atomic>
#include <bloomery/core/cpu.hpp>
#include <bloomery/core/intrinsics.hpp>
#include <bloomery/hash/digest_feed.hpp>
#include <bloomery/kernels/growing.hpp>

namespace bloomery::inline BLOOMERY_ABI::kernels {

namespace portable {

#define BLOOMERY_TARGET
#define BLOOMERY_INLINE BLOOMERY_ALWAYS_INLINE inline

template <class Slots>
BLOOMERY_INLINE bool found(Slots /*slots*/, const std::byte* line, typename Slots::lane digest) {
  return growing_match<Slots>(line, digest);
}
BLOOMERY_INLINE bool is_found(bool any) { return any; }
struct eight_found {
  std::array<bool, 8> of;

  [[nodiscard]] BLOOMERY_INLINE unsigned bits() const {
    unsigned all = 0;
    for (unsigned i = 0; i < 8; ++i) all |= (of[i] ? 1U : 0U) << i;
    return all;
  }
};

#include <bloomery/kernels/growing/loops.inc>

#undef BLOOMERY_INLINE
#undef BLOOMERY_TARGET

}  // namespace portable

}  // namespace bloomery::inline BLOOMERY_ABI::kernels

#include <bloomery/kernels/growing/avx2.hpp>

namespace bloomery::inline BLOOMERY_ABI::kernels {

template <class Slots>
void growing_contains_batch_with(isa level, const growing_view& view, std::size_t count, const digest_feed& next,
                                 std::uint64_t* mask, const growing_overflow& beyond) noexcept {
#ifdef BLOOMERY_X86
  if (level == isa::avx2 || level == isa::avx512)
    return avx2::growing_contains_batch<Slots>(view, count, next, mask, beyond);
#endif
  static_cast<void>(level);
  portable::growing_contains_batch<Slots>(view, count, next, mask, beyond);
}

template <class Slots>
struct growing_single {
  using ask_function = bool (*)(const growing_view&, std::uint64_t, const growing_overflow&) noexcept;

  static ask_function of(isa level) noexcept {
#ifdef BLOOMERY_X86
    if (level == isa::avx2 || level == isa::avx512) return avx2::growing_contains_one<Slots>;
#endif
    static_cast<void>(level);
    return portable::growing_contains_one<Slots>;
  }
  static bool choose(const growing_view& view, std::uint64_t digest, const growing_overflow& beyond) noexcept {
    const ask_function chosen = of(active_isa());
    ask.store(chosen, std::memory_order_relaxed);
    return chosen(view, digest, beyond);
  }
  static inline constinit std::atomic<ask_function> ask{choose};
};

template <class Slots>
bool growing_contains_one(const growing_view& view, std::uint64_t digest, const growing_overflow& beyond) noexcept {
#if defined(BLOOMERY_X86) && defined(BLOOMERY_COMPILED_FOR)
  return avx2::growing_contains_one<Slots>(view, digest, beyond);
#else
  return growing_single<Slots>::ask.load(std::memory_order_relaxed)(view, digest, beyond);
#endif
}

}  // namespace bloomery::inline BLOOMERY_ABI::kernels
