// kinds/cuckoo/layout.hpp: the layouts of kind cuckoo, how full they get, and their sizes.
//
// How full. With random keys an insert first finds no space at these shares of the slots: the mean, and the worst of 20
// fillings (2 for 1e8 keys); tests/kinds/cuckoo_size_test.cpp measures them again.
//
//     layout       slot bits    1e4 keys         1e6 keys         1e8 keys
//     slots4       12           0.978   0.974    0.976   0.975    0.975   0.975
//     slots4       8            0.978   0.972    0.976   0.975    0.974   0.974
//     slots4       5            0.976   0.972    0.969   0.965
//     slots4       4            0.971   0.969    0.935   0.701
//     slots2       12           0.894   0.886    0.889   0.888
//     window       12           0.959   0.955    0.953   0.951    0.949   0.948
//     window       9            0.957   0.951    0.952   0.949
//
// A filter is made for a little less (`load`), and small ones for still less (`spare`): what is measured varies by the
// root of the number of keys. Beside that, a fingerprint and its two buckets are one class of keys, and a class with
// more keys than two buckets have slots is the end. Buckets of 4 slots and 8 bits do not meet that; with 2 slots, or
// few bits, many keys do. `overfull` is how many such classes are to be expected: a filter is made only where that is
// next to none (`most_overfull`).
#pragma once

#include <bloomery/kernels/cuckoo.hpp>
#include <bloomery/sizing/sizing.hpp>
#include <cmath>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI {

struct cuckoo_model {
  static constexpr std::string_view name = "cuckoo";
  kernels::cuckoo_geometry geometry;

  [[nodiscard]] static constexpr unsigned least_bits(kernels::cuckoo_form form) noexcept {
    if (form == kernels::cuckoo_form::redis) return 8;
    return form == kernels::cuckoo_form::sorted ? 5 : 4;
  }
  [[nodiscard]] static constexpr unsigned most_bits(kernels::cuckoo_form form) noexcept {
    return form == kernels::cuckoo_form::redis ? 8 : 32;
  }
  [[nodiscard]] static constexpr bool can_have_slots(kernels::cuckoo_form form, std::uint64_t slots) noexcept {
    if (form == kernels::cuckoo_form::redis) return slots >= 1 && slots <= 255;
    return (slots == 2 && form != kernels::cuckoo_form::sorted) || (slots == 4 && form != kernels::cuckoo_form::window);
  }
  [[nodiscard]] static constexpr bool can_have_buckets(kernels::cuckoo_form form, std::uint64_t buckets) noexcept {
    if (form == kernels::cuckoo_form::redis) return std::has_single_bit(buckets);
    return buckets >= 2 && buckets % 2 == 0;
  }
  [[nodiscard]] double load() const noexcept {
    if (geometry.form == kernels::cuckoo_form::window) return 0.94;
    if (geometry.slots == 2) return 0.87;
    return geometry.slot_bits >= 6 ? 0.96 : geometry.slot_bits == 5 ? 0.95 : 0.94;
  }
  [[nodiscard]] double spare(double keys) const noexcept {
    return (geometry.slots == 2 && geometry.form == kernels::cuckoo_form::slots ? 2.0 : 1.0) * std::sqrt(keys) + 16.0;
  }
  [[nodiscard]] double slots_for(double keys) const noexcept { return std::ceil(keys / load() + spare(keys)); }
  // Whether it is sure to hold so many keys, but for `overfull`; and the number of keys that it is sure to hold.
  [[nodiscard]] bool holds(double keys) const noexcept {
    return slots_for(keys) <= static_cast<double>(geometry.total_slots());
  }
  [[nodiscard]] std::uint64_t room() const noexcept {
    const auto slots = static_cast<double>(geometry.total_slots());
    double keys = slots * load();
    // A contraction: a handful of rounds settles it to below one key.
    for (int i = 0; i < 64; ++i) keys = std::max(0.0, (slots - spare(keys)) * load());
    auto whole = static_cast<std::uint64_t>(keys);
    while (whole > 0 && !holds(static_cast<double>(whole))) --whole;
    return whole;
  }
  // The fewest buckets that hold this many keys; the most that fit into so many bits, or 0.
  [[nodiscard]] std::uint64_t buckets_for(double keys) const noexcept {
    const double slots = slots_for(keys);
    const bool shared = geometry.form == kernels::cuckoo_form::window;
    const auto buckets = static_cast<std::uint64_t>(shared ? slots - 1 : std::ceil(slots / geometry.slots));
    return buckets + buckets % 2;
  }
  [[nodiscard]] std::uint64_t buckets_in(std::uint64_t bits) const noexcept {
    const bool shared = geometry.form == kernels::cuckoo_form::window;
    const std::uint64_t buckets = bits / geometry.stride();
    return (buckets - (shared && buckets != 0 ? 1 : 0)) / 2 * 2;
  }
  [[nodiscard]] double fingerprint_values() const noexcept { return static_cast<double>(geometry.fingerprints() + 1); }

  // A key seems to be there when its class holds another one. Fingerprint 0 counts as 1, which is twice as frequent.
  [[nodiscard]] double fpr(double keys) const noexcept {
    const double values = fingerprint_values();
    const double one = keys * std::log1p(-2.0 / (static_cast<double>(geometry.buckets) * values));
    return ((values - 2.0) * -std::expm1(one) + 2.0 * -std::expm1(2.0 * one)) / values;
  }
  // The same from the number of classes in use.
  [[nodiscard]] double fpr_of_classes(double used) const noexcept {
    const double values = fingerprint_values();
    const double one = 2.0 * used / (static_cast<double>(geometry.buckets) * values);
    const double rate = one + -std::expm1(-2.0 * one) / values;
    return rate < 1.0 ? rate : 1.0;
  }
  // Classes that are expected to hold more keys than their slots: the first term of the Poisson tail, of fingerprint 1
  // and of the others.
  [[nodiscard]] double overfull(double keys) const noexcept {
    const double pairs = static_cast<double>(geometry.buckets) / 2.0;
    const double mean = keys / (pairs * fingerprint_values());
    const auto tail = [most = 2.0 * geometry.slots](double of) {
      return std::exp((most + 1.0) * std::log(of) - std::lgamma(most + 2.0) - of);
    };
    return pairs * ((fingerprint_values() - 2.0) * tail(mean) + tail(2.0 * mean));
  }
};

// The same of layout redis, which guarantees nothing but its slots.
struct cuckoo_redis_model {
  kernels::cuckoo_geometry geometry;

  [[nodiscard]] static bool holds(double /*keys*/) noexcept { return true; }
  [[nodiscard]] std::uint64_t room() const noexcept { return geometry.total_slots(); }
  [[nodiscard]] std::uint64_t buckets_for(double keys) const noexcept {
    return std::bit_ceil(static_cast<std::uint64_t>(keys) / geometry.slots);
  }
  [[nodiscard]] std::uint64_t buckets_in(std::uint64_t bits) const noexcept {
    return std::bit_floor(bits / geometry.stride());
  }
  // One of 255 fingerprints in the slots of two buckets. No more keys than slots are ever in it.
  [[nodiscard]] double fpr(double keys) const noexcept {
    const double load = std::min(1.0, keys / static_cast<double>(geometry.total_slots()));
    return -std::expm1(2.0 * geometry.slots * load * std::log1p(-1.0 / 255.0));
  }
  [[nodiscard]] double fpr_of_classes(double used) const noexcept { return fpr(used); }
  [[nodiscard]] static double overfull(double /*keys*/) noexcept { return 0; }
};

// Calls f with the model of this geometry.
template <class F>
decltype(auto) with_cuckoo_model(const kernels::cuckoo_geometry& geometry, F&& f) {
  return geometry.form == kernels::cuckoo_form::redis ? f(cuckoo_redis_model{geometry}) : f(cuckoo_model{geometry});
}

// The value of --layout: a form, slots of a bucket, and a width or 0 (redis: what follows are the slots). Empty: all is
// chosen by what is smallest.
struct cuckoo_choice {
  bool any_form = true;
  kernels::cuckoo_form form = kernels::cuckoo_form::slots;
  unsigned slots = 4;
  unsigned slot_bits = 0;

  [[nodiscard]] double most_overfull() const noexcept { return any_form ? 1e-6 : 1e-3; }
};

BLOOMERY_API std::string_view cuckoo_layout_name(kernels::cuckoo_form form, std::uint64_t slots) noexcept;

// A number of up to three digits, the first of which is not 0; or 0.
BLOOMERY_API unsigned number_in(std::string_view digits) noexcept;

BLOOMERY_API result<cuckoo_choice> find_cuckoo_layout(std::string_view text) noexcept;

// Whether an insert can have made every slot. A slot of a window without a fingerprint, or of a bucket beside the
// array, would be another one after a move.
template <class Table>
bool cuckoo_is_possible(const Table& /*table*/) noexcept {
  return true;
}
template <class Word, bool Whole>
bool cuckoo_is_possible(const kernels::cuckoo_table<Word, kernels::cuckoo_form::window, Whole>& table) noexcept {
  const std::uint32_t first = table.lane(table.lanes(0), 0);
  const std::uint32_t last = table.lane(table.lanes(table.buckets - 1), 1);
  if (first % 2 != 0 || last == 1 || (last != 0 && last % 2 == 0)) return false;
  for (std::uint64_t bucket = 0; bucket < table.buckets; bucket += 2) {
    if (table.all_zero(table.lanes(bucket) ^ table.low) != 0) return false;
  }
  return true;
}

namespace sizing {

struct cuckoo_sized {
  kernels::cuckoo_geometry geometry{};
  size_plan plan{};
};

// The largest number of keys with an FPR of at most p.
template <class Model>
std::uint64_t cuckoo_keys_at(const Model& model, double p) noexcept {
  std::uint64_t low = 0;
  for (std::uint64_t step = max_keys; step != 0; step /= 2) {
    if (low + step <= max_keys && model.fpr(static_cast<double>(low + step)) <= p) low += step;
  }
  return low;
}

// One layout and width for the request, if it will do. Of two that will, the better is the one with the smaller size
// (an FPR was requested), the lower FPR, or the more keys.
struct cuckoo_candidate {
  size_request request;
  std::uint64_t bits;  // provided, or 0
  double most_overfull;

  [[nodiscard]] bool solve(const kernels::cuckoo_geometry& geometry, cuckoo_sized& out) const noexcept {
    return with_cuckoo_model(geometry, [&](const auto& model) { return solve_model(model, out); });
  }
  template <class Model>
  [[nodiscard]] bool solve_model(Model model, cuckoo_sized& out) const noexcept {
    auto& buckets = model.geometry.buckets;
    buckets = bits != 0 ? model.buckets_in(bits) : model.buckets_for(static_cast<double>(*request.keys));
    if (!cuckoo_model::can_have_buckets(model.geometry.form, buckets)) return false;
    if (buckets > max_filter_bits / model.geometry.stride()) return false;
    const std::uint64_t keys =
        request.keys ? *request.keys : std::min(model.room(), cuckoo_keys_at(model, *request.fpr));
    if (keys == 0 || !model.holds(static_cast<double>(keys))) return false;
    if (model.overfull(static_cast<double>(keys)) > most_overfull) return false;
    out.geometry = model.geometry;
    out.plan.keys = keys;
    out.plan.fpr = model.fpr(static_cast<double>(keys));
    out.plan.bits = model.geometry.bits();
    out.plan.memory_bytes = model.geometry.payload_bytes();
    out.plan.bits_per_key = static_cast<double>(out.plan.bits) / static_cast<double>(keys);
    if (request.memory_bytes && out.plan.memory_bytes > *request.memory_bytes) return false;
    return !request.fpr || out.plan.fpr <= *request.fpr;
  }
  [[nodiscard]] bool better(const size_plan& a, const size_plan& b) const noexcept {
    if (!request.fpr) return a.fpr < b.fpr;
    return request.keys ? a.bits < b.bits : a.keys > b.keys;
  }
};

// Calls f for every layout and width that the choice leaves open.
template <class F>
void for_each_cuckoo(const cuckoo_choice& choice, F&& f) {
  for (const bool window : {true, false}) {
    if (!choice.any_form && window != (choice.form == kernels::cuckoo_form::window)) continue;
    kernels::cuckoo_geometry geometry;
    geometry.form = choice.any_form && window ? kernels::cuckoo_form::window : choice.form;
    geometry.slots = choice.any_form && window ? 2 : choice.slots;
    const unsigned least = choice.slot_bits != 0 ? choice.slot_bits : cuckoo_model::least_bits(geometry.form);
    const unsigned most = choice.slot_bits != 0 ? choice.slot_bits : cuckoo_model::most_bits(geometry.form);
    for (geometry.slot_bits = least; geometry.slot_bits <= most; ++geometry.slot_bits) f(geometry);
  }
}

BLOOMERY_API result<cuckoo_sized> size_cuckoo(const size_request& request, std::string_view layout) noexcept;

}  // namespace sizing
}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds/cuckoo/layout.cpp>
#endif
