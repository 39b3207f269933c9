// kinds/growing/fpr.hpp: the false-positive rate of the growing filter, and its size.
//
// A code of full length is stored when its key comes; each doubling of the filter halves what new codes cover, so that
// every generation of keys covers as much as the one before. With c used slots a line when pages split (three quarters),
// slots of w bits and a first capacity of n0 keys, n = n0 * 2^j * f keys (1 <= f < 2) cover
//
//     c * (j + 1 + f) / 2^w        for n >= n0, and 2c * (n / n0) / 2^w before,
//
// and the rate is 1 - e^-covered: it rises by the same small step with each doubling. The width is the smallest one
// that keeps the rate for 20 doublings: a thousand keys to a billion. For slots of 16 bits that is 0.8 %, of 24 bits
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

  // The number of keys up to which the rate is kept. A digest has 63 bits, which is less than some rates would let in.
  [[nodiscard]] std::uint64_t capacity(double rate) const noexcept {
    const double steps = -std::log1p(-rate) / step();
    const double doublings = std::floor(steps) - 2;
    double keys = first_keys() * (steps < 2 ? steps / 2 : (steps - 1 - doublings) * std::exp2(doublings));
    keys = std::min(keys, std::ldexp(static_cast<double>(page_keys()), static_cast<int>(deepest())));
    keys = std::min(keys, std::ldexp(rate, 56));
    return keys < static_cast<double>(max_keys) ? static_cast<std::uint64_t>(keys) : max_keys;
  }
  // At the usual growth: what a filter promises that was asked for no rate.
  [[nodiscard]] double usual_fpr() const noexcept { return -std::expm1(-(usual_doublings + 2) * step()); }

  [[nodiscard]] std::uint64_t pages() const noexcept { return std::uint64_t{1} << first_depth; }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
    return pages() * (growing_pages::page_stride + sizeof(void*));
  }
};

namespace sizing {

inline result<unsigned> growing_width_of(std::string_view layout) noexcept {
  for (const unsigned width : growing_model::widths) {
    const std::string_view layout_name = width == 16 ? "slots16" : width == 24 ? "slots24" : "slots32";
    if (layout == layout_name) return width;
  }
  return fail(errc::unsupported, "kind growing has the layouts slots16, slots24 and slots32");
}

// The narrowest slots that keep the rate for the usual growth, or failing that the widest.
inline unsigned growing_width_for(double rate) noexcept {
  for (const unsigned width : growing_model::widths) {
    if (growing_model{width}.usual_fpr() <= rate) return width;
  }
  return growing_model::widths.back();
}

inline result<growing_model> growing_for_keys(unsigned width, std::uint64_t keys) noexcept {
  growing_model model{width};
  while (model.first_keys() < static_cast<double>(keys)) {
    if (++model.first_depth > model.deepest()) return too_large(growing_model::name, 64.0 * static_cast<double>(keys));
  }
  return model;
}

// The largest filter whose first pages take no more than so many bytes.
inline result<growing_model> growing_in_memory(unsigned width, std::uint64_t bytes) noexcept {
  growing_model model{width};
  if (model.memory_bytes() > bytes) return fail(errc::bad_memory, {}, {bytes, model.memory_bytes()});
  while (growing_model{width, model.first_depth + 1}.memory_bytes() <= bytes && model.first_depth < model.deepest()) {
    ++model.first_depth;
  }
  return model;
}

// By a number of keys and a size: the widest slots with which they fit.
inline result<growing_model> growing_that_fits(std::optional<unsigned> width, std::uint64_t keys,
                                               std::uint64_t bytes) noexcept {
  result<growing_model> found = growing_for_keys(width.value_or(16), keys);
  for (const unsigned wider : growing_model::widths) {
    const auto model = growing_for_keys(wider, keys);
    if (!width && model && model->memory_bytes() <= bytes) found = model;
  }
  if (found && found->memory_bytes() > bytes) return fail(errc::bad_memory, {}, {bytes, found->memory_bytes()});
  return found;
}

inline result<growing_model> solve_growing(const size_request& request, std::string_view layout) noexcept {
  if (auto checked = check(request); !checked) return fail(checked.error());
  if (request.hashes.value_or(0) != 0) {
    return fail(errc::unsupported, "kind growing has no hash functions to choose: leave their number out");
  }
  std::optional<unsigned> width;
  if (!layout.empty()) {
    const auto named = growing_width_of(layout);
    if (!named) return fail(named.error());
    width = *named;
  }
  double bytes = 0;
  if (request.bits) bytes = static_cast<double>(*request.bits) / 8;
  if (request.memory_bytes) bytes = static_cast<double>(*request.memory_bytes);
  if (request.bits_per_key) bytes = *request.bits_per_key * static_cast<double>(*request.keys) / 8;
  if (bytes > static_cast<double>(max_filter_bits) / 8) return too_large(growing_model::name, bytes * 8);
  const auto whole_bytes = static_cast<std::uint64_t>(bytes);
  if (!request.fpr) return growing_that_fits(width, *request.keys, whole_bytes);
  const unsigned chosen = width.value_or(growing_width_for(*request.fpr));
  const auto model = request.keys ? growing_for_keys(chosen, *request.keys) : growing_in_memory(chosen, whole_bytes);
  if (!model) return model;
  if (static_cast<double>(model->capacity(*request.fpr)) < (request.keys ? static_cast<double>(*request.keys) : 1.0)) {
    return fail(errc::cannot_reach_fpr, growing_model::name, {std::uint64_t{4} * chosen});
  }
  return model;
}

inline result<size_plan> plan_growing(const size_request& request, std::string_view layout) noexcept {
  const auto model = solve_growing(request, layout);
  if (!model) return fail(model.error());
  size_plan plan;
  const double rate = request.fpr.value_or(model->usual_fpr());
  plan.grows_to_keys = model->capacity(rate);
  plan.keys =
      request.keys ? *request.keys : std::min(static_cast<std::uint64_t>(model->first_keys()), plan.grows_to_keys);
  plan.fpr = model->fpr(static_cast<double>(plan.keys));
  plan.bits = model->pages() * kernels::growing_page_bytes * 8;
  if (plan.bits > max_filter_bits) return too_large(growing_model::name, static_cast<double>(plan.bits));
  plan.bits_per_key = static_cast<double>(plan.bits) / static_cast<double>(plan.keys);
  plan.memory_bytes = model->memory_bytes();
  return plan;
}

}  // namespace sizing
}  // namespace bloomery::inline BLOOMERY_ABI
