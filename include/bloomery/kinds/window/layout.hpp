// kinds/window/layout.hpp: the layouts of the window filter and their sizes.
//
// A filter is sized by its guaranteed window: `kept` generations of g keys each, kept * g >= the number of keys
// requested. The FPR depends on the load g / lines and on k; for an FPR the load is found by secants of its logarithm,
// which is almost a line, and k by walking downhill.
#pragma once

#include <algorithm>
#include <bloomery/kinds/window/fpr.hpp>
#include <bloomery/sizing/sizing.hpp>
#include <cstdint>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI {

// Layout stamped has one slot; layout rotating has one slot for each generation kept, and one for the one that is
// filled.
struct BLOOMERY_API window_layout {
  static constexpr unsigned usual_generations = 3;
  static constexpr unsigned min_generations = 2;
  static constexpr unsigned max_generations = 14;
  // After the lines: of 15 generations when they began and their keys, and where stamps are renewed.
  static constexpr std::uint64_t trailer_bytes = 256;

  // 18 years for a generation, so that 15 of them can be counted.
  static constexpr std::uint64_t longest_tick_ns = std::uint64_t{1} << 59U;
  static constexpr std::uint64_t longest_window_ns = longest_tick_ns * min_generations;

  unsigned slots = 1;

  // "", "stamped", "rotating", or "rotating" with a number of generations: "rotating8".
  static result<window_layout> find(std::string_view name) noexcept;

  [[nodiscard]] unsigned min_hashes() const noexcept { return 3; }
  [[nodiscard]] unsigned max_hashes() const noexcept {
    return slots == 1 ? window_fpr::max_stamped_hashes : window_fpr::max_rotating_hashes;
  }
  // Generations that are kept whole before the one that is filled.
  [[nodiscard]] unsigned kept(unsigned hashes) const noexcept {
    return slots == 1 ? kernels::window_lanes - hashes : slots - 1;
  }
  [[nodiscard]] std::uint64_t line_bits() const noexcept { return std::uint64_t{512} * slots; }
  [[nodiscard]] std::uint64_t max_lines() const noexcept { return max_filter_bits / line_bits(); }
  [[nodiscard]] std::uint64_t generation_keys(std::uint64_t keys, unsigned hashes) const noexcept {
    return (keys + kept(hashes) - 1) / kept(hashes);
  }
  [[nodiscard]] double rate(unsigned hashes, std::uint64_t keys, std::uint64_t lines) const noexcept {
    return window_fpr::rate(slots, hashes, static_cast<double>(keys), static_cast<double>(lines));
  }

  // Of keys and an FPR, of keys and a size, of an FPR and a size; see sizing/sizing.hpp.
  [[nodiscard]] result<size_plan> solve(const size_request& request) const noexcept;

 private:
  // Keys a line at which a large filter has this FPR.
  [[nodiscard]] double load_for(unsigned hashes, double fpr) const noexcept;
  [[nodiscard]] std::uint64_t lines_for(std::uint64_t keys, unsigned hashes, double fpr) const noexcept;
  [[nodiscard]] std::uint64_t keys_for(std::uint64_t lines, unsigned hashes, double fpr) const noexcept;
  [[nodiscard]] result<std::uint64_t> lines_probed(const size_request& request) const noexcept;
  // The k with the smallest cost(k).
  template <class Cost>
  [[nodiscard]] unsigned best_hashes(const size_request& request, Cost&& cost) const noexcept;
};

template <class Cost>
unsigned window_layout::best_hashes(const size_request& request, Cost&& cost) const noexcept {
  if (request.hashes) return *request.hashes;
  unsigned best = 7;
  auto least = cost(best);
  for (const int step : {1, -1}) {
    for (int next = static_cast<int>(best) + step;
         next >= static_cast<int>(min_hashes()) && next <= static_cast<int>(max_hashes()); next += step) {
      const auto found = cost(static_cast<unsigned>(next));
      if (!(found < least)) break;
      best = static_cast<unsigned>(next);
      least = found;
    }
  }
  return best;
}

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds/window/layout.cpp>
#endif
