#include <bloomery/kernels/fuse/dispatch.hpp>
#include <bloomery/kinds/fuse.hpp>

namespace bloomery::inline BLOOMERY_ABI {

// A size is for as many keys as there are, or as were expected if these are more.
BLOOMERY_BODY result<sizing::fuse_sized> fuse::size_for(const filter_params& params, std::uint64_t keys) noexcept {
  size_request request = params.sizes();
  const bool size_provided = request.bits || request.memory_bytes || request.bits_per_key;
  if (!request.keys && !(request.fpr && size_provided)) request.keys = std::max<std::uint64_t>(keys, 1);
  if (auto checked = sizing::check(request); !checked) return fail(checked.error());
  if (request.bits_per_key) {
    const auto most = static_cast<double>(std::max(*request.keys, keys));
    request.bits = static_cast<std::uint64_t>(std::ceil(*request.bits_per_key * most));
    request.bits_per_key.reset();
  }
  const size_request given = request;
  request.keys = std::max<std::uint64_t>(keys, 1);
  if (request.fpr) {
    request.bits.reset();
    request.memory_bytes.reset();
  }
  auto sized = sizing::size_fuse(request, params.layout);
  if (!sized) return sized;
  sized->room = sizing::fuse_room(given);
  if (sizing::fuse_fits(given, sized->room, sized->plan)) return sized;
  return fail(errc::bad_memory, {}, {static_cast<std::uint64_t>(sized->room / 8.0), sized->plan.memory_bytes});
}

// False when there is no solution with this geometry.
BLOOMERY_BODY result<bool> fuse::fill_cells(const detail::fuse_keys& keys, unsigned threads,
                                            const memory_hooks* memory) noexcept {
  auto store = bit_store::make(geometry_.payload_bytes() / 8, "the filter", memory);
  if (!store) return fail(store.error());
  store_ = std::move(*store);
  if (keys_ == 0) return true;
  auto workers = worker_pool::make({.threads = std::min<std::uint64_t>(threads, geometry_.shards()),
                                    .bytes_each = detail::fuse_work::size_bytes(geometry_.shard_cells())},
                                   memory);
  if (!workers) return fail(workers.error());
  return detail::with_fuse_form(geometry_, [&](auto form) {
    using cell = typename decltype(form)::cell;
    return detail::fuse_fill<cell, decltype(form)::wise>(geometry_, {keys.xs()}, *workers,
                                                         reinterpret_cast<std::byte*>(store_.data()));
  });
}

BLOOMERY_BODY result<fuse> fuse::build(const filter_params& params, std::span<std::uint64_t> digests,
                                       unsigned threads) noexcept {
  threads = threads == 0 ? machine_threads() : std::min(threads, most_threads);
  detail::fuse_keys keys(digests, detail::fuse_seed(0), threads);
  const auto sized = size_for(params, keys.xs().size());
  if (!sized) return fail(sized.error());
  fuse filter;
  filter.keys_ = keys.xs().size();
  for (std::uint64_t attempt = 0; attempt < detail::fuse_most_tries; ++attempt) {
    if (attempt != 0) keys.reseed(detail::fuse_seed(attempt));
    kernels::fuse_geometry geometry = fuse_model::larger(sized->geometry, attempt / detail::fuse_tries);
    const auto bits = static_cast<double>(geometry.payload_bytes()) * 8.0;
    if (sized->room != 0 && bits > sized->room) geometry = sized->geometry;
    if (geometry.shard_cells() >= kernels::fuse_geometry::most_shard_cells) break;
    geometry.seed = keys.seed();
    filter.set_geometry(geometry);
    const auto solved = filter.fill_cells(keys, threads, params.memory);
    if (!solved) return fail(solved.error());
    if (*solved) return filter;
    filter.store_ = bit_store();
  }
  return fail(errc::unsupported, "kind fuse finds no solution for these digests: use another seed of the hash");
}

BLOOMERY_BODY result<fuse> fuse::clone() const noexcept {
  auto store = store_.clone("a copy of the filter");
  if (!store) return fail(store.error());
  fuse copy;
  copy.store_ = std::move(*store);
  copy.set_geometry(geometry_);
  copy.keys_ = keys_;
  return copy;
}

BLOOMERY_BODY kernels::fuse_geometry fuse::geometry_of(const stored_shape& shape) noexcept {
  return {.seed = shape.field[0],
          .segments = shape.field[1],
          .segment_bits = static_cast<unsigned>(shape.field[2]),
          .shard_bits = static_cast<unsigned>(shape.field[3]),
          .wise = static_cast<unsigned>(shape.field[4]),
          .cell_bits = static_cast<unsigned>(shape.field[5])};
}

BLOOMERY_BODY result<std::uint64_t> fuse::payload_bytes(const stored_shape& shape) noexcept {
  using kernels::fuse_geometry;
  const std::uint64_t segments = shape.field[1];
  const std::uint64_t cell_bits = shape.field[5];
  if (shape.field[2] < fuse_model::least_segment_bits || shape.field[2] > fuse_geometry::most_segment_bits) {
    return fail(errc::bad_field, "log2 of a segment's cells", {shape.field[2]});
  }
  if (shape.field[3] > fuse_geometry::most_shard_bits) {
    return fail(errc::bad_field, "log2 of the shards", {shape.field[3]});
  }
  if (shape.field[4] != 3 && shape.field[4] != 4) return fail(errc::bad_field, "cells a key", {shape.field[4]});
  if (cell_bits != 8 && cell_bits != 16 && cell_bits != 32) return fail(errc::bad_field, "cell bits", {cell_bits});
  if (segments == 0 || segments >= fuse_geometry::most_shard_cells) {
    return fail(errc::bad_field, "segments", {segments});
  }
  const fuse_geometry geometry = geometry_of(shape);
  if (geometry.shard_cells() >= fuse_geometry::most_shard_cells || geometry.cells() > max_filter_bits / cell_bits) {
    return fail(errc::bad_field, "segments", {segments});
  }
  if (shape.keys > geometry.cells()) return fail(errc::bad_field, "keys", {shape.keys});
  if (shape.capacity_keys != shape.keys) return fail(errc::bad_field, "capacity", {shape.capacity_keys});
  if (shape.fpr != fuse_model{geometry.wise, geometry.cell_bits}.fpr()) {
    return fail(errc::bad_field, "false-positive rate (bits)", {std::bit_cast<std::uint64_t>(shape.fpr)});
  }
  if (!shape.keys_exact) return fail(errc::bad_field, "keys exact", {0});
  if (shape.digest_bits != 64) return fail(errc::bad_field, "digest bits", {shape.digest_bits});
  for (std::size_t i = 6; i < shape.field.size(); ++i) {
    if (shape.field[i] != 0) return fail(errc::bad_field, "unused number", {shape.field[i]});
  }
  return geometry.payload_bytes();
}

BLOOMERY_BODY result<fuse> fuse::adopt(const stored_shape& shape, aligned_buffer payload) noexcept {
  auto filter = view(shape, payload.bytes());
  if (!filter) return filter;
  const std::uint64_t used = filter->geometry_.cells() * (filter->geometry_.cell_bits / 8);
  for (const std::byte past : payload.bytes().subspan(to_size(used))) {
    if (past != std::byte{0}) return fail(errc::bad_field, "cells past the end", {filter->geometry_.cells()});
  }
  filter->store_ = bit_store::adopt(std::move(payload));
  return filter;
}

BLOOMERY_BODY result<fuse> fuse::view(const stored_shape& shape, std::span<const std::byte> payload) noexcept {
  const auto expected = payload_bytes(shape);
  if (!expected) return fail(expected.error());
  if (*expected != payload.size()) return fail(errc::truncated, {}, {payload.size(), *expected});
  fuse filter;
  filter.set_geometry(geometry_of(shape));
  filter.store_ = bit_store::view(payload);
  filter.keys_ = shape.keys;
  return filter;
}

BLOOMERY_BODY void fuse::may_contain_stream(std::size_t count, const digest_feed& feed,
                                            std::span<std::uint64_t> mask) const noexcept {
  ask([&](const auto& table) { kernels::fuse_contains_best(table, count, feed, mask.data()); });
}

BLOOMERY_BODY fact_list fuse::facts() const noexcept {
  return {layout_fact(fuse_layout_name(geometry_.wise, geometry_.cell_bits)),
          {.name = "shards", .label = "shards", .value = geometry_.shards(), .help = "parts that were built apart"},
          {.name = "segments",
           .label = "segments",
           .value = geometry_.segments + geometry_.wise - 1,
           .help = "of a shard; the cells of a key are in consecutive ones"},
          {.name = "segment_cells",
           .label = "segment cells",
           .value = std::uint64_t{1} << geometry_.segment_bits,
           .help = "cells of a segment"}};
}

BLOOMERY_BODY explanation fuse::explain(std::uint64_t digest) const noexcept {
  explanation out(digest);
  detail::with_fuse_form(geometry_, [&](auto form) {
    using cell_type = typename decltype(form)::cell;
    constexpr unsigned wise = decltype(form)::wise;
    const kernels::fuse_table<cell_type, wise> table(payload().data(), places_, keys_ == 0);
    const kernels::fuse_key<wise> key = places_.of<wise>(digest);
    out.begin({.rule = probe_rule::xor_sum, .expected = static_cast<cell_type>(key.y)});
    for (const std::uint64_t cell : key.at) {
      out.add({.position = cell,
               .byte_offset = cell * sizeof(cell_type),
               .read = table.load(cell),
               .unit = probe_unit::cell});
    }
    out.end();
  });
  if (keys_ == 0) out.add_note({.stage = 1}, "the filter holds no keys", false);
  return out;
}

}  // namespace bloomery::inline BLOOMERY_ABI
