#include <bloomery/kinds/ribbon.hpp>

namespace bloomery::inline BLOOMERY_ABI {

// With an FPR and a size, the FPR decides and the size is a limit that is checked afterwards; else the keys decide what
// the size means.
BLOOMERY_BODY result<sizing::ribbon_request> ribbon::request_for(const filter_params& params,
                                                                 std::uint64_t keys) noexcept {
  size_request sizes = params.sizes();
  const bool is_limit = params.fpr && !params.keys && (params.bits || params.memory_bytes);
  if (!is_limit) sizes.keys = keys == 0 ? 1 : keys;
  return sizing::ribbon_request::of(sizes, params.layout);
}

BLOOMERY_BODY result<ribbon> ribbon::build(const filter_params& params, std::span<std::uint64_t> digests,
                                           unsigned threads) noexcept {
  if (!params.mode.empty()) return fail(errc::kind_has_no_modes, info.name);
  for (std::uint64_t spared_bytes = 0;;) {
    auto built = build_once(params, digests, threads, spared_bytes);
    if (!built) return built;
    const auto request = request_for(params, built->keys_);
    if (!request || request->limit_bytes == 0 || built->memory_bytes() <= request->limit_bytes) return built;
    if (params.fpr) return fail(errc::bad_memory, {}, {request->limit_bytes, built->memory_bytes()});
    // More keys were bumped than the plan allowed for.
    spared_bytes += built->memory_bytes() - request->limit_bytes;
  }
}

BLOOMERY_BODY result<ribbon> ribbon::build_once(const filter_params& params, std::span<std::uint64_t> digests,
                                                unsigned threads, std::uint64_t spared_bytes) noexcept {
  if (auto request = request_for(params, digests.size()); !request) return fail(request.error());
  const std::uint64_t slots = ribbon_geometry::blocks_that_bump(digests.size()) * kernels::ribbon_width;
  const std::uint64_t chunks = slots / detail::ribbon_new_layer::chunk_slots + 1;
  const std::uint64_t used = std::min<std::uint64_t>(threads == 0 ? machine_threads() : threads, chunks);
  const std::uint64_t bytes = detail::ribbon_band::bytes_for(std::min(slots, detail::ribbon_new_layer::chunk_slots));
  auto workers = worker_pool::make({.threads = used, .bytes_each = bytes}, params.memory);
  if (!workers) return fail(workers.error());
  detail::ribbon_keys keys(digests);
  keys.enter(0, workers->threads());
  const std::uint64_t count = keys.size();
  auto request = request_for(params, count);
  if (!request) return fail(request.error());
  request->limit_bytes -= std::min(request->limit_bytes, spared_bytes);
  const auto rate = request->rate(count == 0 ? 1 : count);
  if (!rate) return fail(rate.error());
  auto layers = detail::ribbon_layers::build({&keys, 1}, *rate, *workers);
  if (!layers) return fail(layers.error());
  auto payload = layers->payload(params.memory);
  if (!payload) return fail(payload.error());
  ribbon filter;
  filter.geometry_ = layers->geometry;
  filter.keys_ = count;
  filter.fpr_ = params.fpr ? *params.fpr : rate->fpr();
  filter.set(filter.shape(), bit_store::adopt(std::move(*payload)));
  return filter;
}

BLOOMERY_BODY result<ribbon> ribbon::clone() const noexcept {
  auto store = store_.clone("a copy of the filter");
  if (!store) return fail(store.error());
  ribbon copy;
  copy.set(shape(), std::move(*store));
  return copy;
}

BLOOMERY_BODY ribbon_geometry ribbon::geometry_of(const stored_shape& shape) noexcept {
  ribbon_geometry geometry;
  geometry.rate = {.columns = static_cast<unsigned>(shape.field[0]),
                   .share = static_cast<std::uint32_t>(shape.field[1])};
  geometry.seed = shape.field[2];
  for (unsigned i = 0; i < ribbon_geometry::most_layers; ++i) geometry.blocks[i] = shape.field[3 + i];
  return geometry;
}

BLOOMERY_BODY void ribbon::set(const stored_shape& shape, bit_store store) noexcept {
  geometry_ = geometry_of(shape);
  keys_ = shape.keys;
  fpr_ = shape.fpr;
  store_ = std::move(store);
  functions_ = &kernels::ribbon_kernels::for_isa(active_isa(), geometry_.widest());
  view_ = detail::ribbon_view_of(geometry_, std::as_const(store_).data());
}

BLOOMERY_BODY result<std::uint64_t> ribbon::payload_bytes(const stored_shape& shape) noexcept {
  if (shape.field[0] < 1 || shape.field[0] > ribbon_rate::most_columns) {
    return fail(errc::bad_field, "fingerprint bits", {shape.field[0]});
  }
  if (shape.field[1] > 0xffffffffU || (shape.field[1] != 0 && shape.field[0] == ribbon_rate::most_columns)) {
    return fail(errc::bad_field, "share of one bit more", {shape.field[1]});
  }
  if (shape.field[2] > 0xffffffffU) return fail(errc::bad_field, "seed", {shape.field[2]});
  const ribbon_geometry geometry = geometry_of(shape);
  if (auto checked = detail::check_ribbon_blocks(geometry); !checked) return fail(checked.error());
  // Hardly ever are there more keys than slots: an equation may be implied by others.
  if (shape.keys > 2 * geometry.slots() || (shape.keys == 0) != (geometry.blocks[0] == 0)) {
    return fail(errc::bad_field, "keys", {shape.keys});
  }
  if (shape.capacity_keys != shape.keys) return fail(errc::bad_field, "capacity", {shape.capacity_keys});
  if (!shape.keys_exact) return fail(errc::bad_field, "keys exact", {0});
  if (shape.digest_bits != 64) return fail(errc::bad_field, "digest bits", {shape.digest_bits});
  return geometry.payload_bytes();
}

BLOOMERY_BODY result<ribbon> ribbon::adopt(const stored_shape& shape, aligned_buffer payload) noexcept {
  auto filter = view(shape, payload.bytes());
  if (!filter) return filter;
  const ribbon_geometry& geometry = filter->geometry_;
  if (!detail::ribbon_gaps_are_zero(geometry, filter->store_)) {
    return fail(errc::bad_field, "bytes past the end", {geometry.blocks[0]});
  }
  filter->set(shape, bit_store::adopt(std::move(payload)));
  return filter;
}

BLOOMERY_BODY result<ribbon> ribbon::view(const stored_shape& shape, std::span<const std::byte> payload) noexcept {
  const auto expected = payload_bytes(shape);
  if (!expected) return fail(expected.error());
  if (*expected != payload.size()) return fail(errc::truncated, {}, {payload.size(), *expected});
  ribbon filter;
  filter.set(shape, bit_store::view(payload));
  return filter;
}

BLOOMERY_BODY fact_list ribbon::facts() const noexcept {
  return {slot_bits_fact(geometry_.rate.columns),
          {.name = "slots", .label = "slots", .value = geometry_.slots(), .help = "of all layers"},
          {.name = "wider_slots",
           .label = "wider slots",
           .value = geometry_.wide_slots(),
           .help = "slots with one bit more, for rates between two powers of two"},
          {.name = "layers", .label = "layers", .value = geometry_.layers(), .help = "tables, one behind the other"}};
}

}  // namespace bloomery::inline BLOOMERY_ABI
