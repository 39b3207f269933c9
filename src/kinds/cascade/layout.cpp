#include <bloomery/kinds/cascade/layout.hpp>

namespace bloomery::inline BLOOMERY_ABI {
namespace sizing {

BLOOMERY_BODY result<void> check_cascade(const size_request& request, std::string_view layout) noexcept {
  if (!layout.empty()) return fail(errc::kind_has_one_layout, "cascade");
  if (request.hashes.value_or(0) != 0) {
    return fail(errc::kind_has_no_hashes, "cascade");
  }
  if (request.bits || request.memory_bytes || request.bits_per_key) {
    return fail(errc::unsupported, "kind cascade is as large as its two lists need: leave the size out");
  }
  if (request.fpr && !(*request.fpr > 0.0 && *request.fpr < 1.0)) return fail_number(errc::bad_fpr, *request.fpr);
  if (!request.excluded_keys && !request.fpr) {
    return fail(errc::missing_parameter,
                "kind cascade takes keys to exclude beside those to include, or else a false-positive rate");
  }
  return {};
}

BLOOMERY_BODY result<size_plan> plan_cascade(const size_request& request, std::string_view layout) noexcept {
  if (auto checked = check_cascade(request, layout); !checked) return fail(checked.error());
  if (!request.keys) return fail(errc::missing_parameter, "kind cascade needs the number of keys");
  const universe keys{.included = *request.keys, .excluded = request.excluded_keys.value_or(0)};
  if (keys.included == 0 || keys.included > max_keys || keys.excluded > max_keys) {
    const std::uint64_t wrong = keys.excluded > max_keys ? keys.excluded : keys.included;
    return fail_number(errc::bad_keys, static_cast<double>(wrong), {max_keys});
  }
  const auto geometry = cascade_geometry::for_keys(keys, request.fpr);
  if (!geometry) return fail(geometry.error());
  size_plan out;
  out.keys = keys.included;
  out.fpr = geometry->fpr();
  out.memory_bytes = geometry->payload_bytes();
  out.bits = out.memory_bytes * 8;
  if (out.bits > max_filter_bits) return too_large("cascade", static_cast<double>(out.bits));
  out.bits_per_key = static_cast<double>(out.bits) / static_cast<double>(out.keys);
  out.lines = geometry->lines();
  if (const unsigned needed = hash_bits_needed(out.keys, out.fpr); needed > 64) {
    return fail(errc::not_enough_hash_bits, "kind cascade", {out.keys, needed, 64});
  }
  return out;
}

}  // namespace sizing
}  // namespace bloomery::inline BLOOMERY_ABI
