// bench/clock.hpp: how everything here is timed.
//
// Work is timed in chunks of 32,768 keys: long enough that reading the clock costs nothing, short enough that most
// chunks are not disturbed by other processes. `low_percentile` over many chunks is the figure to show.
//
//     std::vector<double> times;
//     for (int i = 0; i < 40; ++i) times.push_back(seconds_of([&] { work(); }));
//     double ns = ns_per_key(low_percentile(times));
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace bloomery::bench {

inline constexpr std::size_t chunk_keys = 32'768;

// Stands between timed work and an optimiser that would drop it.
inline void keep(const void* result) noexcept { asm volatile("" : : "r"(result) : "memory"); }

template <class F>
double seconds_of(F&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Other processes only ever make a repeat slower; the very lowest may be luck.
inline double low_percentile(std::vector<double> times) {
  if (times.empty()) return 0;
  const auto at = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 10);
  std::nth_element(times.begin(), at, times.end());
  return *at;
}

inline double ns_per_key(double seconds, std::size_t keys = chunk_keys) {
  return seconds * 1e9 / static_cast<double>(keys);
}

}  // namespace bloomery::bench
