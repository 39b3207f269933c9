#include <bloomery/kinds/growing/fpr.hpp>

namespace bloomery::inline BLOOMERY_ABI {
namespace sizing {

BLOOMERY_BODY result<unsigned> growing_width_of(std::string_view layout) noexcept {
  for (const unsigned width : growing_model::widths) {
    const std::string_view layout_name = width == 16 ? "slots16" : width == 24 ? "slots24" : "slots32";
    if (layout == layout_name) return width;
  }
  return fail(errc::unknown_layout, "kind growing has the layouts slots16, slots24 and slots32");
}

// The narrowest slots that keep the FPR for the usual growth, or failing that the widest.
BLOOMERY_BODY unsigned growing_width_for(double rate) noexcept {
  for (const unsigned width : growing_model::widths) {
    if (growing_model{width}.usual_fpr() <= rate) return width;
  }
  return growing_model::widths.back();
}

BLOOMERY_BODY result<growing_model> growing_for_keys(unsigned width, std::uint64_t keys) noexcept {
  growing_model model{width};
  while (model.first_keys() < static_cast<double>(keys)) {
    if (++model.first_depth > model.deepest()) return too_large(growing_model::name, 64.0 * static_cast<double>(keys));
  }
  return model;
}

// The largest filter whose first pages take no more than so many bytes.
BLOOMERY_BODY result<growing_model> growing_in_memory(unsigned width, std::uint64_t bytes) noexcept {
  growing_model model{width};
  if (model.memory_bytes() > bytes) return fail(errc::bad_memory, {}, {bytes, model.memory_bytes()});
  while (growing_model{width, model.first_depth + 1}.memory_bytes() <= bytes && model.first_depth < model.deepest()) {
    ++model.first_depth;
  }
  return model;
}

// By a number of keys and a size: the widest slots with which they fit.
BLOOMERY_BODY result<growing_model> growing_that_fits(std::optional<unsigned> width, std::uint64_t keys,
                                                      std::uint64_t bytes) noexcept {
  result<growing_model> found = growing_for_keys(width.value_or(16), keys);
  for (const unsigned wider : growing_model::widths) {
    const auto model = growing_for_keys(wider, keys);
    if (!width && model && model->memory_bytes() <= bytes) found = model;
  }
  if (found && found->memory_bytes() > bytes) return fail(errc::bad_memory, {}, {bytes, found->memory_bytes()});
  return found;
}

BLOOMERY_BODY result<growing_model> solve_growing(const size_request& request, std::string_view layout) noexcept {
  if (auto checked = check(request); !checked) return fail(checked.error());
  if (request.hashes.value_or(0) != 0) {
    return fail(errc::kind_has_no_hashes, "growing");
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

BLOOMERY_BODY result<size_plan> plan_growing(const size_request& request, std::string_view layout) noexcept {
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
