#include <bloomery/core/clock.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY std::uint64_t now_ns(const clock_hook* clock) noexcept {
  if (clock != nullptr) return clock->now_ns(clock->context);
  // Not <chrono>, which takes a program longer to read than most of this library.
  std::timespec at{};
  if (std::timespec_get(&at, TIME_UTC) != TIME_UTC || at.tv_sec < 0) return 0;
  return static_cast<std::uint64_t>(at.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(at.tv_nsec);
}

BLOOMERY_BODY std::uint64_t steady_ns() noexcept {
#ifdef CLOCK_MONOTONIC
  std::timespec at{};
  if (::clock_gettime(CLOCK_MONOTONIC, &at) != 0) return 0;
  return static_cast<std::uint64_t>(at.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(at.tv_nsec);
#else
  return now_ns(nullptr);
#endif
}

}  // namespace bloomery::inline BLOOMERY_ABI
