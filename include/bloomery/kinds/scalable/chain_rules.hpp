// kinds/scalable/chain_rules.hpp: what the sub-filters of a chain (kinds/scalable/chain.hpp) are, and which share of
// its FPR each gets.
#pragma once

#include <bloomery/kinds/blocked.hpp>
#include <bloomery/kinds/scalable/redis_sub_filter.hpp>

namespace bloomery::inline BLOOMERY_ABI {

struct blocked_sub_filters {
  using sub_filter = blocked;
  using digest = std::uint64_t;
  static constexpr unsigned digest_bits = 64;
  static constexpr bool sends_ahead = true;
  static constexpr bool slow_sizing = true;
  static double share(std::size_t index) noexcept {
    constexpr double sum_of_inverse_squares = 1.6449340668482264365;  // pi^2 / 6
    const double number = static_cast<double>(index) + 1;
    return 1 / (sum_of_inverse_squares * number * number);
  }
  static digest from(std::uint64_t given) noexcept { return given; }
  static digest from(const digest128& given) noexcept { return given.low; }
};

struct redis_sub_filters {
  using sub_filter = redis_sub_filter;
  using digest = digest128;
  static constexpr unsigned digest_bits = 128;
  static constexpr bool slow_sizing = false;
  static constexpr bool sends_ahead = false;  // a probe needs a division: prefetching its line costs as much as a read
  static double share(std::size_t index) noexcept { return std::ldexp(1.0, -1 - static_cast<int>(index)); }
  static digest from(std::uint64_t given) noexcept { return {given, mix64(given)}; }
  static digest from(const digest128& given) noexcept { return given; }
};

struct chain_settings {
  std::uint64_t first_keys = 0;  // capacity of the first sub-filter
  std::uint64_t growth = 2;      // capacity of a sub-filter by that of the one before
  double fpr = 0;                // of the whole chain
  bool scales = true;            // false: one sub-filter, with the whole FPR
  const memory_hooks* memory = nullptr;
};

}  // namespace bloomery::inline BLOOMERY_ABI
