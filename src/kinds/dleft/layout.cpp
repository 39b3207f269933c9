#include <bloomery/kinds/dleft/layout.hpp>

namespace bloomery::inline BLOOMERY_ABI {
namespace sizing {

// One width of remainders for the request, if it will do.
BLOOMERY_BODY bool solve_dleft(const size_request& request, double bits, unsigned remainder_bits,
                               dleft_sized& out) noexcept {
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

BLOOMERY_BODY failure dleft_refusal(const size_request& request, double bits) noexcept {
  if (!request.keys || bits <= 0) {
    return fail(errc::cannot_reach_fpr, dleft_model::name, {kernels::dleft_most_bits + 2});
  }
  dleft_sized least;
  static_cast<void>(solve_dleft({.keys = request.keys}, 0, kernels::dleft_least_bits, least));
  return fail(errc::bad_memory, {}, {static_cast<std::uint64_t>(bits / 8.0), least.plan.memory_bytes + 7});
}

BLOOMERY_BODY result<dleft_sized> size_dleft(const size_request& request, std::string_view layout) noexcept {
  if (!layout.empty()) return fail(errc::kind_has_one_layout, dleft_model::name);
  if (auto checked = check(request); !checked) return fail(checked.error());
  if (request.hashes.value_or(0) != 0) {
    return fail(errc::kind_has_no_hashes, dleft_model::name);
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
