#include <bloomery/kinds/cascade.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY result<cascade> cascade::build(const filter_params& params, std::span<std::uint64_t> included,
                                             std::span<std::uint64_t> excluded, unsigned threads) noexcept {
  if (!params.mode.empty()) return fail(errc::kind_has_no_modes, info.name);
  size_request request = params.sizes();
  request.excluded_keys = excluded.size();
  if (auto checked = sizing::check_cascade(request, params.layout); !checked) return fail(checked.error());
  const unsigned used = threads == 0 ? machine_threads() : threads;
  included = included.first(detail::sort_distinct(included, used));
  excluded = excluded.first(detail::sort_distinct(excluded, used));
  if (auto apart = detail::check_apart(included, excluded); !apart) return fail(apart.error());
  cascade filter;
  filter.keys_ = {.included = included.size(), .excluded = excluded.size()};
  const auto chosen = cascade_geometry::for_keys(filter.keys_, params.fpr);
  if (!chosen) return fail(chosen.error());
  const bool reversed = chosen->reversed;
  auto made = detail::new_cascade::build(*chosen, reversed ? excluded : included, reversed ? included : excluded, used,
                                         params.memory);
  if (!made) return fail(made.error());
  filter.geometry_ = made->geometry;
  // One that answers no to everything keeps any target FPR; 1/2 is that of a table alone.
  const double rate = made->geometry.fpr();
  filter.fpr_ = params.fpr ? *params.fpr : (rate > 0 ? rate : 0.5);
  filter.set(filter.shape(), bit_store::adopt(std::move(made->payload)));
  return filter;
}

BLOOMERY_BODY result<cascade> cascade::build(const filter_params& params, std::span<std::uint64_t> included,
                                             unsigned threads) noexcept {
  if (auto checked = sizing::check_cascade(params.sizes(), params.layout); !checked) return fail(checked.error());
  return build(params, included, std::span<std::uint64_t>{}, threads);
}

BLOOMERY_BODY result<cascade> cascade::clone() const noexcept {
  auto store = store_.clone("a copy of the filter");
  if (!store) return fail(store.error());
  cascade copy;
  copy.set(shape(), std::move(*store));
  return copy;
}

BLOOMERY_BODY void cascade::may_contain_stream(std::size_t count, const digest_feed& feed,
                                               std::span<std::uint64_t> mask) const noexcept {
  std::array<std::uint64_t, group> digests;
  for (std::size_t first = 0; first < count; first += group) {
    const std::size_t here = std::min(group, count - first);
    for (std::size_t i = 0; i < here; i += 64) {
      const std::size_t some = std::min<std::size_t>(64, here - i);
      const std::uint64_t* made = feed(first + i, some, digests.data() + i);
      if (made != digests.data() + i) std::copy_n(made, some, digests.data() + i);
    }
    ask(std::span<const std::uint64_t>(digests).first(here), mask.data() + first / 64);
  }
}

BLOOMERY_BODY void cascade::ask(std::span<const std::uint64_t> digests, std::uint64_t* mask) const noexcept {
  const digest_feed feed(digests.data());
  if (geometry_.has_sieve()) {
    sieve_kernels_->contains_batch(sieve_, digests.size(), feed, mask);
    ask_table_too(digests, mask);
  } else {
    table_kernels_->contains_batch(table_, digests.size(), feed, mask);
  }
  if (!geometry_.reversed) return;
  for (std::size_t i = 0; i < digests.size(); i += 64) {
    const std::size_t here = std::min<std::size_t>(64, digests.size() - i);
    mask[i / 64] ^= ~std::uint64_t{0} >> (64 - here);
  }
}

BLOOMERY_BODY void cascade::ask_table_too(std::span<const std::uint64_t> digests, std::uint64_t* mask) const noexcept {
  std::array<std::uint64_t, group> left;
  std::array<std::uint16_t, group> places;
  std::size_t count = 0;
  for (std::size_t word = 0; word < mask_words(digests.size()); ++word) {
    for (std::uint64_t bits = mask[word]; bits != 0; bits &= bits - 1) {
      const std::size_t place = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
      left[count] = digests[place];
      places[count++] = static_cast<std::uint16_t>(place);
    }
    mask[word] = 0;
  }
  std::array<std::uint64_t, group / 64> matches;
  const digest_feed feed(left.data());
  table_kernels_->contains_batch(table_, count, feed, matches.data());
  for (std::size_t i = 0; i < count; ++i)
    mask[places[i] / 64] |= (matches[i / 64] >> (i % 64) & 1U) << (places[i] % 64);
}

BLOOMERY_BODY stored_shape cascade::shape() const noexcept {
  stored_shape out{
      .capacity_keys = capacity_keys(), .fpr = fpr_, .keys = keys_.included, .keys_exact = true, .digest_bits = 64};
  const ribbon_geometry& sieve = geometry_.sieve;
  out.field[0] = sieve.rate.columns | (geometry_.reversed ? reversed_bit : 0) | std::uint64_t{sieve.rate.share} << 32U;
  out.field[1] = sieve.seed | geometry_.table.seed << 32U;
  for (unsigned i = 0; i < cascade_geometry::most_layers; ++i) {
    out.field[2 + i] = sieve.blocks[i];
    out.field[5 + i] = geometry_.table.blocks[i];
  }
  return out;
}

BLOOMERY_BODY cascade_geometry cascade::geometry_of(const stored_shape& shape) noexcept {
  cascade_geometry geometry;
  geometry.sieve.rate = {.columns = static_cast<unsigned>(shape.field[0] & 0xffU),
                         .share = static_cast<std::uint32_t>(shape.field[0] >> 32U)};
  geometry.reversed = (shape.field[0] & reversed_bit) != 0;
  geometry.sieve.seed = shape.field[1] & 0xffffffffU;
  geometry.table.seed = shape.field[1] >> 32U;
  for (unsigned i = 0; i < cascade_geometry::most_layers; ++i) {
    geometry.sieve.blocks[i] = shape.field[2 + i];
    geometry.table.blocks[i] = shape.field[5 + i];
  }
  return geometry;
}

BLOOMERY_BODY void cascade::set(const stored_shape& shape, bit_store store) noexcept {
  geometry_ = geometry_of(shape);
  keys_ = {.included = shape.keys, .excluded = shape.capacity_keys - shape.keys};
  fpr_ = shape.fpr;
  store_ = std::move(store);
  const std::uint64_t* words = std::as_const(store_).data();
  sieve_kernels_ = &kernels::ribbon_kernels::for_isa(active_isa(), geometry_.sieve.widest());
  table_kernels_ = &kernels::ribbon_kernels::for_isa(active_isa(), geometry_.table.widest());
  sieve_ = detail::ribbon_view_of(geometry_.sieve, words);
  table_ = detail::ribbon_view_of(geometry_.table, words + geometry_.table_word(), cascade_geometry::table_salt);
}

BLOOMERY_BODY result<std::uint64_t> cascade::payload_bytes(const stored_shape& shape) noexcept {
  const cascade_geometry geometry = geometry_of(shape);
  const ribbon_rate& rate = geometry.sieve.rate;
  if (rate.columns > ribbon_rate::most_columns || (shape.field[0] & 0xfffffe00U) != 0 ||
      (rate.share != 0 && (rate.columns == 0 || rate.columns == ribbon_rate::most_columns))) {
    return fail(errc::bad_field, "fingerprint bits", {shape.field[0]});
  }
  for (const ribbon_geometry* part : {&geometry.sieve, &geometry.table}) {
    if (auto checked = detail::check_ribbon_blocks(*part); !checked) return fail(checked.error());
  }
  if ((geometry.sieve.blocks[0] != 0) != geometry.has_sieve() || (geometry.has_sieve() && !geometry.has_table())) {
    return fail(errc::bad_field, "blocks", {geometry.sieve.blocks[0]});
  }
  if (geometry.payload_words() > max_filter_bits / 64) {
    return fail(errc::bad_field, "blocks", {geometry.table.blocks[0]});
  }
  if (shape.capacity_keys < shape.keys) return fail(errc::bad_field, "capacity", {shape.capacity_keys});
  // Hardly ever are there more keys than slots: an equation may be implied by others.
  const std::uint64_t held = geometry.held({.included = shape.keys, .excluded = shape.capacity_keys - shape.keys});
  if (held > 2 * geometry.table.slots() || (held == 0) == geometry.has_table() ||
      (geometry.has_sieve() && held > 2 * geometry.sieve.slots())) {
    return fail(errc::bad_field, "keys", {shape.keys});
  }
  if (!shape.keys_exact) return fail(errc::bad_field, "keys exact", {0});
  if (shape.digest_bits != 64) return fail(errc::bad_field, "digest bits", {shape.digest_bits});
  return geometry.payload_bytes();
}

BLOOMERY_BODY result<cascade> cascade::adopt(const stored_shape& shape, aligned_buffer payload) noexcept {
  auto filter = view(shape, payload.bytes());
  if (!filter) return filter;
  const cascade_geometry& geometry = filter->geometry_;
  const bit_store& store = filter->store_;
  bool zero = detail::ribbon_gaps_are_zero(geometry.sieve, store) &&
              detail::ribbon_gaps_are_zero(geometry.table, store, geometry.table_word());
  for (std::uint64_t i = geometry.sieve.payload_words(); i < geometry.table_word(); ++i)
    zero = zero && store.word(i) == 0;
  if (!zero) return fail(errc::bad_field, "bytes past the end", {geometry.table.blocks[0]});
  filter->set(shape, bit_store::adopt(std::move(payload)));
  return filter;
}

BLOOMERY_BODY result<cascade> cascade::view(const stored_shape& shape, std::span<const std::byte> payload) noexcept {
  const auto expected = payload_bytes(shape);
  if (!expected) return fail(expected.error());
  if (*expected != payload.size()) return fail(errc::truncated, {}, {payload.size(), *expected});
  cascade filter;
  filter.set(shape, bit_store::view(payload));
  return filter;
}

BLOOMERY_BODY fact_list cascade::facts() const noexcept {
  return {
      {.name = "excluded_keys",
       .label = "excluded keys",
       .value = keys_.excluded,
       .unit = fact_unit::keys,
       .help = "keys that it does not match"},
      {.name = "layers", .label = "layers", .value = geometry_.parts(), .help = "tables, one behind the other"},
      {.name = "first_layer", .label = "first layer", .value = text_of_sieve(), .help = "what the first layer holds"},
      slot_bits_fact(geometry_.sieve.rate.columns)};
}

BLOOMERY_BODY fact_list cascade::facts_now() const noexcept {
  if (keys_.included == 0) return {};
  const auto included = static_cast<double>(keys_.included);
  const auto of_size = [](fact one) {
    one.topic = fact_topic::size;
    one.group = "bits_per_included_key";
    one.join = fact_join::mean;
    return one;
  };
  return {of_size({.name = "bits",
                   .label = "size",
                   .value = static_cast<double>(memory_bytes()) * 8.0 / included,
                   .unit = fact_unit::bits,
                   .help = "bits for each included key",
                   .phrase = {.after = " bits per included key"}}),
          of_size({.name = "least",
                   .label = "least possible",
                   .value = sizing::least_exact_bits(keys_) / included,
                   .unit = fact_unit::bits,
                   .help = "what any structure needs that is exact about both lists",
                   .phrase = {.before = "; ", .after = " is the least possible", .continues = true}}),
          of_size({.name = "bloom_cascade",
                   .label = "cascade of Bloom filters",
                   .value = sizing::bloom_cascade_bits(keys_) / included,
                   .unit = fact_unit::bits,
                   .help = "what a cascade of Bloom filters takes",
                   .phrase = {.before = ", a cascade of Bloom filters takes ", .continues = true}}),
          of_size({.name = "digests",
                   .label = "digests",
                   .value = 64U,
                   .unit = fact_unit::bits,
                   .help = "what the digests of the included keys take",
                   .phrase = {.before = ", digests ", .continues = true}}),
          of_size({.name = "bit_each",
                   .label = "a bit each",
                   .value = static_cast<double>(capacity_keys()) / included,
                   .help = "a bit for each key of both lists",
                   .phrase = {.before = ", a bit for each key of both lists ", .continues = true}})};
}

BLOOMERY_BODY explanation cascade::explain(std::uint64_t digest) const noexcept {
  explanation out(digest);
  const bool has_sieve = geometry_.has_sieve();
  if (has_sieve) detail::explain_ribbon(out, geometry_.sieve, sieve_, digest, {.name = "first layer, ribbon layer"});
  detail::explain_ribbon(out, geometry_.table, table_, digest,
                         {.name = has_sieve ? "second layer, ribbon layer" : "ribbon layer",
                          .first_byte = geometry_.table_word() * 8,
                          .stage = static_cast<std::uint8_t>(has_sieve ? 1 : 0)});
  if (geometry_.reversed) out.reverse();
  return out;
}

}  // namespace bloomery::inline BLOOMERY_ABI
