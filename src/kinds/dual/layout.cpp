#include <bloomery/kinds/dual/layout.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY result<dual_layout> find_dual_layout(std::string_view name) noexcept {
  for (const dual_layout& each : dual_layouts) {
    if (name == each.name || (name.empty() && each.share == 1)) return each;
  }
  return fail(errc::unknown_layout, "kind dual has the layouts even, half, quarter and tenth");
}

BLOOMERY_BODY result<dual_model> dual_model::of(const stored_shape& shape) noexcept {
  const auto& field = shape.field;
  const bool known = std::any_of(dual_layouts.begin(), dual_layouts.end(),
                                 [&](const dual_layout& each) { return each.share == field[2]; });
  if (!known) return fail(errc::bad_field, "layout", {field[2]});
  const dual_model model{static_cast<unsigned>(field[2])};
  if (field[0] < 1 || field[0] > model.max_units()) return fail(errc::bad_field, "removal blocks", {field[0]});
  if (field[1] < min_hashes() || field[1] > max_hashes()) return fail(errc::bad_field, "hash functions", {field[1]});
  if (field[5] > (field[4] == 0 ? 0 : field[0] + more_slots))
    return fail(errc::bad_field, "keys that came back", {field[5]});
  if (shape.digest_bits != 64) return fail(errc::bad_field, "digest bits", {shape.digest_bits});
  for (std::size_t i = 6; i < field.size(); ++i) {
    if (field[i] != 0) return fail(errc::bad_field, "unused number", {field[i]});
  }
  return model;
}

}  // namespace bloomery::inline BLOOMERY_ABI
