#include <bloomery/kinds/scalable.hpp>

namespace bloomery::inline BLOOMERY_ABI {
namespace detail {

BLOOMERY_BODY result<chain_layout> find_chain_layout(std::string_view name) noexcept {
  if (name.empty() || name == "split64") return chain_layout::split64;
  if (name == "redis") return chain_layout::redis;
  return fail(errc::unknown_layout, "kind scalable has the layouts split64 and redis");
}

BLOOMERY_BODY result<chain_mode> find_chain_mode(std::string_view name) noexcept {
  if (name.empty() || name == "scaling") return chain_mode::scaling;
  if (name == "fixed") return chain_mode::fixed;
  return fail(errc::unknown_mode, "kind scalable has the modes scaling and fixed");
}

// As far as the bits of a digest serve for the FPR: see sizing::hash_bits_needed.
BLOOMERY_BODY std::uint64_t chain_grows_to(chain_layout layout, double fpr) noexcept {
  if (layout == chain_layout::redis) return max_keys;
  const double most = std::ldexp(fpr, 57);
  return most < static_cast<double>(max_keys) ? static_cast<std::uint64_t>(most) : max_keys;
}

BLOOMERY_BODY result<size_plan> plan_redis_chain(const size_request& request) noexcept {
  if (auto checked = sizing::check(request); !checked) return fail(checked.error());
  if (!request.keys || !request.fpr) {
    return fail(errc::unsupported, "layout redis is sized by a number of keys and a false-positive rate");
  }
  const auto size = redis_sub_filter::size_for(*request.keys, *request.fpr * redis_sub_filters::share(0));
  if (!size) return fail(size.error());
  size_plan plan{.keys = *request.keys, .bits = size->bits, .memory_bytes = size->bits / 8, .digest_bits = 128};
  plan.fpr = redis_sub_filter::expected_fpr(plan.keys, *size);
  plan.bits_per_key = static_cast<double>(plan.bits) / static_cast<double>(plan.keys);
  return plan;
}

}  // namespace detail
}  // namespace bloomery::inline BLOOMERY_ABI

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY result<size_plan> scalable::plan(const size_request& request, std::string_view layout) noexcept {
  const auto found = detail::find_chain_layout(layout);
  if (!found) return fail(found.error());
  if (request.hashes.value_or(0) != 0) {
    return fail(errc::unsupported,
                "kind scalable chooses the hash functions of each sub-filter: leave their number out");
  }
  size_request first = request;
  first.hashes.reset();
  const double share = blocked_sub_filters::share(0);
  if (request.fpr && *request.fpr > 0 && *request.fpr < 1) first.fpr = *request.fpr * share;
  auto solved = *found == chain_layout::redis ? detail::plan_redis_chain(request)
                                              : blocked::plan(first, blocked_sub_filters::layout);
  if (!solved) return solved;
  solved->hashes = 0;
  solved->grows_to_keys = detail::chain_grows_to(*found, request.fpr.value_or(std::min(solved->fpr / share, 1.0)));
  return solved;
}

BLOOMERY_BODY result<scalable> scalable::make(const filter_params& params) noexcept {
  const auto mode = detail::find_chain_mode(params.mode);
  if (!mode) return fail(mode.error());
  const std::uint64_t growth = params.growth.value_or(usual_growth);
  if (growth < 1 || growth > max_growth) return fail(errc::bad_growth, {}, {growth, max_growth});
  const auto solved = plan(params.sizes(), params.layout);
  if (!solved) return fail(solved.error());
  const double rate = params.fpr ? *params.fpr : std::min(solved->fpr / blocked_sub_filters::share(0), 0.999);
  const chain_settings settings{.first_keys = solved->keys,
                                .growth = growth,
                                .fpr = rate,
                                .scales = *mode == chain_mode::scaling,
                                .memory = params.memory};
  scalable filter;
  filter.layout_ = *detail::find_chain_layout(params.layout);
  filter.capacity_ = settings.scales ? std::max(solved->keys, solved->grows_to_keys) : solved->keys;
  const auto made = filter.with_chain([&](auto& sub_filters) -> result<void> {
    auto first = std::remove_reference_t<decltype(sub_filters)>::make(settings);
    if (!first) return fail(first.error());
    sub_filters = std::move(*first);
    return {};
  });
  if (!made) return fail(made.error());
  return filter;
}

BLOOMERY_BODY result<scalable> scalable::clone() const noexcept {
  scalable copy;
  copy.layout_ = layout_;
  copy.capacity_ = capacity_;
  if (layout_ == chain_layout::redis) {
    auto sub_filters = redis_.clone();
    if (!sub_filters) return fail(sub_filters.error());
    copy.redis_ = std::move(*sub_filters);
  } else {
    auto sub_filters = lines_.clone();
    if (!sub_filters) return fail(sub_filters.error());
    copy.lines_ = std::move(*sub_filters);
  }
  return copy;
}

BLOOMERY_BODY result<void> scalable::merge(const scalable& other, merge_fpr rate) noexcept {
  if (layout_ != other.layout_) return fail(errc::mismatch, "their layouts differ (split64 and redis)");
  return layout_ == chain_layout::redis ? redis_.merge(other.redis_, rate) : lines_.merge(other.lines_, rate);
}

BLOOMERY_BODY stored_shape scalable::shape() const noexcept {
  const key_count held = keys();
  return {.capacity_keys = capacity_,
          .fpr = target_fpr(),
          .keys = held.keys,
          .keys_exact = held.exact,
          .digest_bits = digest_bits(),
          .field = {static_cast<std::uint64_t>(layout_), static_cast<std::uint64_t>(mode()), growth(), first_keys(),
                    sub_filters(), serialized_bytes()}};
}

BLOOMERY_BODY result<std::uint64_t> scalable::payload_bytes(const stored_shape& shape) noexcept {
  const auto& field = shape.field;
  constexpr std::uint64_t max_sub_filters = chain<blocked_sub_filters>::max_sub_filters;
  if (field[0] > 1) return fail(errc::bad_field, "layout", {field[0]});
  if (field[1] > 1) return fail(errc::bad_field, "mode", {field[1]});
  if (field[2] < 1 || field[2] > max_growth) return fail(errc::bad_field, "growth", {field[2]});
  if (field[3] < 1 || field[3] > max_keys) return fail(errc::bad_field, "first capacity", {field[3]});
  if (field[4] < 1 || field[4] > (field[1] == 1 ? 1 : max_sub_filters))
    return fail(errc::bad_field, "sub-filters", {field[4]});
  if (field[5] % cache_line_bytes != 0 || field[5] > max_filter_bits / 8 * 2 ||
      field[5] < chain<blocked_sub_filters>::table_bytes(field[4]) + field[4] * cache_line_bytes) {
    return fail(errc::bad_field, "bytes of the sub-filters", {field[5]});
  }
  for (std::size_t i = 6; i < field.size(); ++i) {
    if (field[i] != 0) return fail(errc::bad_field, "unused number", {field[i]});
  }
  if (shape.digest_bits != (field[0] == 1 ? 128U : 64U))
    return fail(errc::bad_field, "digest bits", {shape.digest_bits});
  if (!(shape.fpr > 0 && shape.fpr < 1)) return fail(errc::bad_field, "false-positive rate", {0});
  if (field[1] == 1 && shape.capacity_keys != field[3]) return fail(errc::bad_field, "capacity", {shape.capacity_keys});
  return field[5];
}

BLOOMERY_BODY result<scalable> scalable::over(const stored_shape& shape, std::span<const std::byte> payload,
                                              aligned_buffer owned, const memory_hooks* memory) noexcept {
  const auto expected = payload_bytes(shape);
  if (!expected) return fail(expected.error());
  if (*expected != payload.size()) return fail(errc::truncated, {}, {payload.size(), *expected});
  const chain_settings settings{.first_keys = shape.field[3],
                                .growth = shape.field[2],
                                .fpr = shape.fpr,
                                .scales = shape.field[1] == 0,
                                .memory = memory};
  scalable filter;
  filter.layout_ = static_cast<chain_layout>(shape.field[0]);
  filter.capacity_ = shape.capacity_keys;
  const auto made = filter.with_chain([&](auto& sub_filters) -> result<void> {
    auto loaded = std::remove_reference_t<decltype(sub_filters)>::over(settings, shape, shape.field[4], payload,
                                                                       std::move(owned));
    if (!loaded) return fail(loaded.error());
    sub_filters = std::move(*loaded);
    return {};
  });
  if (!made) return fail(made.error());
  return filter;
}

BLOOMERY_BODY result<scalable> scalable::adopt(const stored_shape& shape, aligned_buffer payload) noexcept {
  const auto bytes = payload.bytes();
  const memory_hooks* memory = payload.hooks();
  return over(shape, bytes, std::move(payload), memory);
}

BLOOMERY_BODY result<scalable> scalable::view(const stored_shape& shape, std::span<const std::byte> payload) noexcept {
  return over(shape, payload, {}, nullptr);
}

BLOOMERY_BODY fact_list scalable::facts() const noexcept {
  return {layout_fact(layout_ == chain_layout::redis ? "redis" : "split64"),
          mode_fact(mode() == chain_mode::scaling ? "scaling" : "fixed"), growth_fact(growth()),
          sub_filters_fact(sub_filters())};
}

}  // namespace bloomery::inline BLOOMERY_ABI
