// kinds/dleft/layout.hpp: how full the buckets of kind dleft get, its FPR, and its sizes.
//
// How full. With random keys a stash of 8 entries first has no space at these shares of the cells: the mean, and the
// worst of 40 fillings (4 for 1e7 cells, 1 for 1e8); tests/kinds/dleft_test.cpp measures some of them again.
//
//     remainder bits    1e4 cells        1e6 cells        1e7 cells        1e8 cells
//     6                 0.947   0.936    0.913   0.907    0.903   0.902    0.890
//     12                0.948   0.933    0.916   0.912    0.906   0.906    0.898
//
// The first key for the stash comes at 0.92, 0.90, 0.89 and 0.89. A filter is made for 0.88 of its cells, and beyond
// 2^24 keys for 0.002 less at each doubling.
//
// FPR. A key seems to be there when its value is that of another one: as many values as a table has buckets, times 2^r.
#pragma once

#include <algorithm>
#include <bloomery/kernels/dleft.hpp>
#include <bloomery/sizing/sizing.hpp>
#include <cmath>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI {

struct dleft_model {
  static constexpr std::string_view name = "dleft";
  kernels::dleft_geometry geometry;

  [[nodiscard]] static double load(double keys) noexcept {
    return 0.88 - 0.002 * std::max(0.0, std::log2(std::max(keys, 1.0)) - 24.0);
  }
  [[nodiscard]] static std::uint64_t buckets_for(double keys) noexcept {
    return static_cast<std::uint64_t>(std::ceil(keys / (load(keys) * kernels::dleft_tables * kernels::dleft_cells)));
  }
  [[nodiscard]] bool holds(double keys) const noexcept {
    return keys <= load(keys) * static_cast<double>(geometry.cells());
  }
  // The number of keys that it is sure to hold.
  [[nodiscard]] std::uint64_t room() const noexcept {
    double keys = static_cast<double>(geometry.cells());
    // A contraction: a handful of rounds settles it to below one key.
    for (int i = 0; i < 16; ++i) keys = load(keys) * static_cast<double>(geometry.cells());
    auto whole = static_cast<std::uint64_t>(keys);
    while (whole > 0 && !holds(static_cast<double>(whole))) --whole;
    return whole;
  }
  [[nodiscard]] double fpr(double keys) const noexcept {
    return -std::expm1(keys * std::log1p(-1.0 / static_cast<double>(geometry.values())));
  }
  // The most keys with an FPR of at most p; the fewest buckets for so many keys at that FPR.
  [[nodiscard]] std::uint64_t keys_at(double p) const noexcept {
    return static_cast<std::uint64_t>(std::log1p(-p) / std::log1p(-1.0 / static_cast<double>(geometry.values())));
  }
  [[nodiscard]] double buckets_at(double keys, double p) const noexcept {
    const double values = 1.0 / -std::expm1(std::log1p(-p) / keys);
    return std::ceil(std::ldexp(values, -static_cast<int>(geometry.remainder_bits)));
  }
};

namespace sizing {

struct dleft_sized {
  kernels::dleft_geometry geometry{};
  size_plan plan{};
};

// Of two widths that will do, the better is the one with the smaller size (an FPR was requested), the lower FPR, or the
// more keys.
BLOOMERY_API result<dleft_sized> size_dleft(const size_request& request, std::string_view layout) noexcept;

}  // namespace sizing
}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds/dleft/layout.cpp>
#endif
