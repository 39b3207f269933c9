// kinds/dleft/layout.hpp: how full the buckets of kind dleft get, its rate, and its sizes.
//
// How full. With random keys a stash of 8 entries first has no room at these shares of the cells: the mean, and the worst of
// 40 fillings (4 for 1e7 cells, 1 for 1e8); tests/kinds/dleft_test.cpp measures some of them again.
//
//     remainder bits    1e4 cells        1e6 cells        1e7 cells        1e8 cells
//     6                 0.947   0.936    0.913   0.907    0.903   0.902    0.890
//     12                0.948   0.933    0.916   0.912    0.906   0.906    0.898
//
// The first key for the stash comes at 0.92, 0.90, 0.89 and 0.89. A filter is made for 0.88 of its cells, and beyond 2^24 keys
// for 0.002 less at each doubling.
//
// Rate. A key seems to be there when its value is that of another one: as many values as a table has buckets, times 2^r.
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
  // The most keys with a rate of at most p; the fewest buckets for so many keys at that rate.
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

// One width of remainders for what is asked, if it will do.
inline bool solve_dleft(const size_request& request, double bits, unsigned remainder_bits, dleft_sized& out) noexcept {
  dleft_model model{{.buckets = 0, .remainder_bits = remainder_bits}};
  const auto unit_bits = static_cast<double>(model.geometry.stride() * 8 * kernels::dleft_tables);
  double buckets = 0;
  if (bits > 0) {
    // The payload holds the stash and the last load beside the buckets.
    const double spare = request.memory_bytes ? static_cast<double>(kernels::dleft_geometry{}.payload_bytes() + 7) : 0;
    buckets = std::floor((bits - 8.0 * spare) / unit_bits);
  } else {
    const auto keys = static_cast<double>(*request.keys);
    buckets = static_cast<double>(dleft_model::buckets_for(keys));
    if (request.fpr) buckets = std::max(buckets, model.buckets_at(keys, *request.fpr));
  }
  if (!(buckets >= 1) || buckets * unit_bits > static_cast<double>(max_filter_bits)) return false;
  if (std::ldexp(buckets, static_cast<int>(remainder_bits)) > 0x1p62) return false;
  model.geometry.buckets = static_cast<std::uint64_t>(buckets);
  out.geometry = model.geometry;
  out.plan.keys = request.keys ? *request.keys : std::min(model.room(), model.keys_at(*request.fpr));
  if (out.plan.keys == 0 || !model.holds(static_cast<double>(out.plan.keys))) return false;
  out.plan.fpr = model.fpr(static_cast<double>(out.plan.keys));
  out.plan.bits = model.geometry.bucket_bytes() * 8;
  out.plan.memory_bytes = model.geometry.payload_bytes();
  out.plan.bits_per_key = static_cast<double>(out.plan.bits) / static_cast<double>(out.plan.keys);
  return !request.fpr || out.plan.fpr <= *request.fpr;
}

inline failure dleft_refusal(const size_request& request, double bits) noexcept {
  if (!request.keys || bits <= 0) {
    return fail(errc::cannot_reach_fpr, dleft_model::name, {kernels::dleft_most_bits + 2});
  }
  dleft_sized least;
  static_cast<void>(solve_dleft({.keys = request.keys}, 0, kernels::dleft_least_bits, least));
  return fail(errc::bad_memory, {}, {static_cast<std::uint64_t>(bits / 8.0), least.plan.memory_bytes + 7});
}

// Of two widths that will do, the better is the one with the smaller size (a rate was asked for), the lower rate, or the more
// keys.
inline result<dleft_sized> size_dleft(const size_request& request, std::string_view layout) noexcept {
  if (!layout.empty()) return fail(errc::unsupported, "kind dleft has one layout: leave --layout out");
  if (auto checked = check(request); !checked) return fail(checked.error());
  if (request.hashes.value_or(0) != 0) {
    return fail(errc::unsupported, "kind dleft has no hash functions to choose: leave their number out");
  }
  double bits = 0;
  if (request.bits) bits = std::max(1.0, static_cast<double>(*request.bits));
  if (request.memory_bytes) bits = std::max(1.0, static_cast<double>(*request.memory_bytes) * 8.0);
  if (request.bits_per_key) bits = std::ceil(*request.bits_per_key * static_cast<double>(*request.keys));
  if (bits > static_cast<double>(max_filter_bits)) return too_large(dleft_model::name, bits);
  if (request.keys && request.fpr) {
    const double lower = static_cast<double>(*request.keys) * -std::log2(*request.fpr);  // information bound
    if (lower > static_cast<double>(max_filter_bits)) return too_large(dleft_model::name, lower);
    const unsigned needed = hash_bits_needed(*request.keys, *request.fpr);
    if (needed > 64) return fail(errc::not_enough_hash_bits, "kind dleft", {*request.keys, needed, 64});
  }
  dleft_sized best;
  for (unsigned r = kernels::dleft_least_bits; r <= kernels::dleft_most_bits; ++r) {
    dleft_sized found;
    if (!solve_dleft(request, bits, r, found)) continue;
    const bool better = !request.fpr   ? found.plan.fpr < best.plan.fpr
                        : request.keys ? found.plan.bits < best.plan.bits
                                       : found.plan.keys > best.plan.keys;
    if (best.plan.keys == 0 || better) best = found;
  }
  if (best.plan.keys == 0) return dleft_refusal(request, bits);
  const unsigned needed = hash_bits_needed(best.plan.keys, request.fpr.value_or(best.plan.fpr));
  if (needed > 64) return fail(errc::not_enough_hash_bits, "kind dleft", {best.plan.keys, needed, 64});
  return best;
}

}  // namespace sizing
}  // namespace bloomery::inline BLOOMERY_ABI
