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

#include <chrono>
#include <cstdint>

namespace bloomery {

struct clock_hook {
  std::uint64_t (*now_ns)(void* context) = nullptr;
  void* context = nullptr;
};

// Of the hook, or of the system where there is none.
inline std::uint64_t now_ns(const clock_hook* clock) noexcept {
  if (clock != nullptr) return clock->now_ns(clock->context);
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(since_1970).count();
  return ns < 0 ? 0 : static_cast<std::uint64_t>(ns);
}

}  // namespace bloomery
