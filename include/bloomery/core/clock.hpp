// core/clock.hpp: the time, for kinds that forget by it.
//
// Nanoseconds since 1970 of the system's clock, so that a filter in a file knows how old it is when it is loaded. A program
// with a clock of its own, or a test, hands in another:
//
//     bloomery::clock_hook clock{.now_ns = my_time, .context = &my_state};
//     auto filter = bloomery::window::make({.keys = 1000, .fpr = 0.01, .window_ns = 60'000'000'000, .clock = &clock});
//
// The hook must outlive what was given it.
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
inline std::uint64_t now_ns(const clock_hook* clock) noexcept {
  if (clock != nullptr) return clock->now_ns(clock->context);
  // Not <chrono>, which takes a program longer to read than most of this library.
  std::timespec at{};
  if (std::timespec_get(&at, TIME_UTC) != TIME_UTC || at.tv_sec < 0) return 0;
  return static_cast<std::uint64_t>(at.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(at.tv_nsec);
}

}  // namespace bloomery::inline BLOOMERY_ABI
