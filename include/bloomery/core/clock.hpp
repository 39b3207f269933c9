// core/clock.hpp: the time, for kinds that forget by it.
//
// Nanoseconds since 1970 of the system's clock, so that a filter in a file knows how old it is when it is loaded. A
// program with a clock of its own, or a test, passes another:
//
//     bloomery::clock_hook clock{.now_ns = my_time, .context = &my_state};
//     auto filter = bloomery::window::make({.keys = 1000, .fpr = 0.01, .window_ns = 60'000'000'000, .clock = &clock});
//
// The hook must outlive every object it was passed to.
#pragma once

#include <bloomery/core/config.hpp>
#include <cstdint>
#include <ctime>

namespace bloomery::inline BLOOMERY_ABI {

struct clock_hook {
  std::uint64_t (*now_ns)(void* context) = nullptr;
  void* context = nullptr;
};

// Of the hook, or of the system where there is none.
BLOOMERY_API std::uint64_t now_ns(const clock_hook* clock) noexcept;

// For durations: from some moment on, never back.
BLOOMERY_API std::uint64_t steady_ns() noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/core/clock.cpp>
#endif
