// kinds/growing/fpr.hpp: the false-positive rate of the growing filter, and its size.
//
// A code of full length is stored when its key comes; each doubling of the filter halves what new codes cover, so that
// every generation of keys covers as much as the one before. With c used slots a line when pages split (three
// quarters), slots of w bits and a first capacity of n0 keys, n = n0 * 2^j * f keys (1 <= f < 2) cover
//
//     c * (j + 1 + f) / 2^w        for n >= n0, and 2c * (n / n0) / 2^w before,
//
// and the FPR is 1 - e^-covered: it rises by the same small step with each doubling. The width is the smallest one
// that keeps the FPR for 20 doublings: a thousand keys to a billion. For slots of 16 bits that is 0.8 %, of 24 bits
// 0.002 %, of 32 bits 0.000006 %.
#pragma once

#include <bloomery/kinds/growing/engine.hpp>
#include <bloomery/sizing/sizing.hpp>

namespace bloomery::inline BLOOMERY_ABI {

struct growing_model {
  static constexpr std::string_view name = "growing";
  static constexpr std::array<unsigned, 3> widths = {16, 24, 32};
  static constexpr int usual_doublings = 20;

  unsigned width = 16;
  unsigned first_depth = 0;

  [[nodiscard]] unsigned slots() const noexcept { return 512 / width; }
  [[nodiscard]] unsigned deepest() const noexcept { return 63 - kernels::growing_line_bits - (width - 1); }
  [[nodiscard]] std::uint64_t page_keys() const noexcept { return kernels::growing_page_lines * slots() * 3 / 4; }
  [[nodiscard]] double first_keys() const noexcept {
    return std::ldexp(static_cast<double>(page_keys()), static_cast<int>(first_depth));
  }
  // What one step of the law adds: c / 2^w.
  [[nodiscard]] double step() const noexcept { return std::ldexp(0.75 * slots(), -static_cast<int>(width)); }

  [[nodiscard]] double coverage(double keys) const noexcept {
    const double share = keys / first_keys();
    if (share < 1) return 2 * share * step();
    int doublings = 0;
    const double f = 2 * std::frexp(share, &doublings);
    return (doublings - 1 + 1 + f) * step();
  }
  [[nodiscard]] double fpr(double keys) const noexcept { return -std::expm1(-coverage(keys)); }

  // The number of keys up to which the FPR is kept. A digest has 63 bits, which is less than some FPRs would let in.
  [[nodiscard]] std::uint64_t capacity(double rate) const noexcept {
    const double steps = -std::log1p(-rate) / step();
    const double doublings = std::floor(steps) - 2;
    double keys = first_keys() * (steps < 2 ? steps / 2 : (steps - 1 - doublings) * std::exp2(doublings));
    keys = std::min(keys, std::ldexp(static_cast<double>(page_keys()), static_cast<int>(deepest())));
    keys = std::min(keys, std::ldexp(rate, 56));
    return keys < static_cast<double>(max_keys) ? static_cast<std::uint64_t>(keys) : max_keys;
  }
  // At the usual growth: the target FPR of a filter for which none was requested.
  [[nodiscard]] double usual_fpr() const noexcept { return -std::expm1(-(usual_doublings + 2) * step()); }

  [[nodiscard]] std::uint64_t pages() const noexcept { return std::uint64_t{1} << first_depth; }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
    return pages() * (growing_pages::page_stride + sizeof(void*));
  }
};

namespace sizing {

BLOOMERY_API result<growing_model> solve_growing(const size_request& request, std::string_view layout) noexcept;

BLOOMERY_API result<size_plan> plan_growing(const size_request& request, std::string_view layout) noexcept;

}  // namespace sizing
}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds/growing/fpr.cpp>
#endif
