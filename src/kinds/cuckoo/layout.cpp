#include <bloomery/kinds/cuckoo/layout.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY std::string_view cuckoo_layout_name(kernels::cuckoo_form form, std::uint64_t slots) noexcept {
  if (form == kernels::cuckoo_form::window) return "window";
  if (form == kernels::cuckoo_form::sorted) return "sorted";
  if (form == kernels::cuckoo_form::redis) return "redis";
  return slots == 2 ? "slots2" : "slots4";
}

BLOOMERY_BODY unsigned number_in(std::string_view digits) noexcept {
  unsigned number = 0;
  if (digits.starts_with('0')) return 0;
  for (const char c : digits) {
    if (c < '0' || c > '9' || digits.size() > 3) return 0;
    number = number * 10 + static_cast<unsigned>(c - '0');
  }
  return number;
}

BLOOMERY_BODY result<cuckoo_choice> find_cuckoo_layout(std::string_view text) noexcept {
  if (text.empty()) return cuckoo_choice{};
  const std::size_t colon = text.find(':');
  const std::string_view form_name = text.substr(0, colon);
  for (const cuckoo_choice choice : {cuckoo_choice{false, kernels::cuckoo_form::slots, 4, 0},
                                     cuckoo_choice{false, kernels::cuckoo_form::slots, 2, 0},
                                     cuckoo_choice{false, kernels::cuckoo_form::window, 2, 0},
                                     cuckoo_choice{false, kernels::cuckoo_form::sorted, 4, 0},
                                     cuckoo_choice{false, kernels::cuckoo_form::redis, 2, 8}}) {
    if (cuckoo_layout_name(choice.form, choice.slots) != form_name) continue;
    cuckoo_choice chosen = choice;
    if (colon == std::string_view::npos) return chosen;
    const unsigned number = number_in(text.substr(colon + 1));
    if (chosen.form == kernels::cuckoo_form::redis) {
      chosen.slots = number;
      if (cuckoo_model::can_have_slots(chosen.form, number)) return chosen;
      return fail(errc::unknown_layout, "buckets of layout redis have 1 to 255 slots: redis:4");
    }
    chosen.slot_bits = number;
    if (number >= cuckoo_model::least_bits(chosen.form) && number <= cuckoo_model::most_bits(chosen.form))
      return chosen;
    return fail(errc::unknown_layout, "slots of kind cuckoo have 4 to 32 bits (sorted ones 5 to 32): window:12");
  }
  return fail(errc::unknown_layout,
              "kind cuckoo has the layouts window, slots4, slots2, sorted and redis, also with a width: slots4:12");
}

}  // namespace bloomery::inline BLOOMERY_ABI

namespace bloomery::inline BLOOMERY_ABI {
namespace sizing {

BLOOMERY_BODY failure cuckoo_refusal(const size_request& request, const cuckoo_choice& choice,
                                     std::uint64_t bits) noexcept {
  if (choice.form == kernels::cuckoo_form::redis && !choice.any_form && request.fpr) {
    return fail(errc::unsupported, "layout redis has fingerprints of 8 bits: ask for a rate of 2 %, redis:4 of 4 %");
  }
  if (!request.keys || (request.fpr && bits == 0)) {
    if (request.keys && choice.slot_bits != 0) {
      return fail(errc::unsupported, "so many keys at this rate need wider slots: leave the layout's width out");
    }
    return fail(errc::cannot_reach_fpr, cuckoo_model::name, {cuckoo_model::most_bits(choice.form)});
  }
  // The least memory that holds the keys at any FPR.
  std::uint64_t least = ~std::uint64_t{0};
  const cuckoo_candidate any_fpr{{.keys = request.keys}, 0, choice.most_overfull()};
  for_each_cuckoo(choice, [&](const kernels::cuckoo_geometry& geometry) {
    cuckoo_sized found;
    if (any_fpr.solve(geometry, found)) least = std::min(least, found.plan.memory_bytes);
  });
  return fail(errc::bad_memory, {}, {bits / 8, least});
}

BLOOMERY_BODY result<cuckoo_sized> size_cuckoo(const size_request& request, std::string_view layout) noexcept {
  if (auto checked = check(request); !checked) return fail(checked.error());
  if (request.hashes.value_or(0) != 0) {
    return fail(errc::kind_has_no_hashes, cuckoo_model::name);
  }
  const auto choice = find_cuckoo_layout(layout);
  if (!choice) return fail(choice.error());
  double bits = 0;
  if (request.bits) bits = static_cast<double>(*request.bits);
  if (request.memory_bytes) bits = static_cast<double>(*request.memory_bytes) * 8.0;
  if (request.bits_per_key) bits = std::ceil(*request.bits_per_key * static_cast<double>(*request.keys));
  if (bits > static_cast<double>(max_filter_bits)) return too_large(cuckoo_model::name, bits);
  if (request.keys && request.fpr) {
    const double lower = static_cast<double>(*request.keys) * -std::log2(*request.fpr);  // information bound
    if (lower > static_cast<double>(max_filter_bits)) return too_large(cuckoo_model::name, lower);
  }
  auto whole = static_cast<std::uint64_t>(bits);
  // A filter is some bytes larger than its bits, for the last load.
  if (request.memory_bytes) whole -= std::min<std::uint64_t>(whole, 128);
  const bool size_provided = request.bits || request.memory_bytes || request.bits_per_key;
  const cuckoo_candidate candidate{request, size_provided ? std::max<std::uint64_t>(whole, 1) : 0,
                                   choice->most_overfull()};
  cuckoo_sized best;
  for_each_cuckoo(*choice, [&](const kernels::cuckoo_geometry& geometry) {
    cuckoo_sized found;
    if (candidate.solve(geometry, found) && (best.plan.keys == 0 || candidate.better(found.plan, best.plan)))
      best = found;
  });
  if (best.plan.keys == 0) return cuckoo_refusal(request, *choice, static_cast<std::uint64_t>(bits));
  const unsigned needed = hash_bits_needed(best.plan.keys, best.plan.fpr);
  if (needed > 64) return fail(errc::not_enough_hash_bits, "kind cuckoo", {best.plan.keys, needed, 64});
  return best;
}

}  // namespace sizing
}  // namespace bloomery::inline BLOOMERY_ABI
