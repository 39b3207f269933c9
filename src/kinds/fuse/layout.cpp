#include <bloomery/kinds/fuse/layout.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY std::string_view fuse_layout_name(unsigned wise, unsigned cell_bits) noexcept {
  if (wise == 3) return cell_bits == 8 ? "wise3:8" : cell_bits == 16 ? "wise3:16" : "wise3:32";
  return cell_bits == 8 ? "wise4:8" : cell_bits == 16 ? "wise4:16" : "wise4:32";
}

BLOOMERY_BODY result<fuse_choice> find_fuse_layout(std::string_view text) noexcept {
  if (text.empty() || text == "wise3") return fuse_choice{};
  if (text == "wise4") return fuse_choice{.wise = 4};
  for (const unsigned wise : {3U, 4U}) {
    for (const unsigned bits : fuse_model::widths) {
      if (text == fuse_layout_name(wise, bits)) return fuse_choice{wise, bits};
    }
  }
  return fail(errc::unknown_layout,
              "kind fuse has the layouts wise3 and wise4, also with a width of 8, 16 or 32: wise3:8");
}

}  // namespace bloomery::inline BLOOMERY_ABI

namespace bloomery::inline BLOOMERY_ABI {
namespace sizing {

BLOOMERY_BODY fuse_sized fuse_for(const fuse_model& model, std::uint64_t keys) noexcept {
  fuse_sized out;
  out.geometry = model.geometry_for(keys);
  out.plan.keys = keys;
  out.plan.fpr = model.fpr();
  out.plan.bits = out.geometry.cells() * model.cell_bits;
  out.plan.memory_bytes = out.geometry.payload_bytes();
  out.plan.bits_per_key = static_cast<double>(out.plan.bits) / static_cast<double>(keys == 0 ? 1 : keys);
  out.plan.lines = model.wise;
  return out;
}

BLOOMERY_BODY double fuse_room(const size_request& request) noexcept {
  if (request.bits) return std::max(1.0, static_cast<double>(*request.bits));
  if (request.memory_bytes) return std::max(1.0, static_cast<double>(*request.memory_bytes) * 8.0);
  if (request.bits_per_key) return std::ceil(*request.bits_per_key * static_cast<double>(*request.keys));
  return 0;
}

// The most keys that the space holds.
BLOOMERY_BODY std::uint64_t fuse_keys_in(const fuse_model& model, const size_request& request, double room) noexcept {
  std::uint64_t keys = 0;
  for (std::uint64_t step = max_filter_bits / 64; step != 0; step /= 2) {
    if (fuse_fits(request, room, fuse_for(model, keys + step).plan)) keys += step;
  }
  return keys;
}

BLOOMERY_BODY result<fuse_sized> size_fuse(const size_request& request, std::string_view layout) noexcept {
  if (auto checked = check(request); !checked) return fail(checked.error());
  if (request.hashes.value_or(0) != 0) {
    return fail(errc::kind_has_no_hashes, fuse_model::name);
  }
  const auto choice = find_fuse_layout(layout);
  if (!choice) return fail(choice.error());
  const double room = fuse_room(request);
  if (room > static_cast<double>(max_filter_bits)) return too_large(fuse_model::name, room);
  if (request.keys && static_cast<double>(*request.keys) * 8.0 > static_cast<double>(max_filter_bits)) {
    return too_large(fuse_model::name, static_cast<double>(*request.keys) * 8.0);
  }
  // The narrowest cells for an FPR, the widest ones for a size.
  fuse_sized best;
  std::uint64_t least_bytes = 0;
  bool rate_reached = false;
  for (const unsigned bits : fuse_model::widths) {
    if (choice->cell_bits != 0 && bits != choice->cell_bits) continue;
    const fuse_model model{.wise = choice->wise, .cell_bits = bits};
    if (request.fpr && model.fpr() > *request.fpr) continue;
    rate_reached = true;
    const std::uint64_t keys = request.keys ? *request.keys : fuse_keys_in(model, request, room);
    const fuse_sized found = fuse_for(model, keys);
    if (least_bytes == 0) least_bytes = found.plan.memory_bytes;
    if (found.plan.bits > max_filter_bits) return too_large(fuse_model::name, static_cast<double>(found.plan.bits));
    if (keys != 0 && fuse_fits(request, room, found.plan)) best = found;
    if (request.fpr) break;
  }
  if (!rate_reached && choice->cell_bits != 0) {
    return fail(errc::unsupported, "so low a rate needs wider cells: leave the layout's width out");
  }
  if (!rate_reached) return fail(errc::cannot_reach_fpr, fuse_model::name, {fuse_model::widths.back()});
  if (best.plan.keys == 0) return fail(errc::bad_memory, {}, {static_cast<std::uint64_t>(room / 8.0), least_bytes});
  // The cells' own FPR, or the one requested where that is larger.
  const unsigned needed = hash_bits_needed(best.plan.keys, std::max(best.plan.fpr, request.fpr.value_or(0)));
  if (needed > 64) return fail(errc::not_enough_hash_bits, "kind fuse", {best.plan.keys, needed, 64});
  best.room = room;
  return best;
}

}  // namespace sizing
}  // namespace bloomery::inline BLOOMERY_ABI
