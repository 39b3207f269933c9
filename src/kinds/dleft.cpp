#include <bloomery/kinds/dleft.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY result<dleft> dleft::make(const filter_params& params) noexcept {
  const bool is_set = params.mode == "set";
  if (!is_set && !params.mode.empty() && params.mode != "multiset") {
    return fail(errc::unknown_mode, "kind dleft has the modes multiset and set");
  }
  const auto sized = sizing::size_dleft(params.sizes(), params.layout);
  if (!sized) return fail(sized.error());
  auto store = bit_store::make(sized->plan.memory_bytes / 8, "the filter", params.memory);
  if (!store) return fail(store.error());
  dleft filter;
  filter.memory_.store = std::move(*store);
  filter.memory_.geometry = sized->geometry;
  filter.mode_ = is_set ? dleft_mode::set : dleft_mode::multiset;
  filter.capacity_ = sized->plan.keys;
  filter.fpr_ = params.fpr ? *params.fpr : sized->plan.fpr;
  return filter;
}

// Of a mapped file the stash and the keys are checked here: only copies of it are changed.
BLOOMERY_BODY result<dleft> dleft::clone() const noexcept {
  auto store = memory_.store.clone("a copy of the filter");
  if (!store) return fail(store.error());
  dleft copy;
  copy.set_geometry(shape());
  copy.memory_.store = std::move(*store);
  if (auto counted = copy.count_copies(); !counted) return fail(counted.error());
  return copy;
}

// Into a copy, so that what does not fit changes nothing.
BLOOMERY_BODY result<void> dleft::merge(const dleft& other) noexcept {
  if (mode_ != other.mode_) return fail(errc::mismatch, "their modes differ (multiset and set)");
  if (memory_.geometry.remainder_bits != other.memory_.geometry.remainder_bits ||
      memory_.geometry.buckets != other.memory_.geometry.buckets) {
    return fail(errc::mismatch,
                "their numbers of buckets or cell bits differ; build them for as many keys and one rate");
  }
  if (auto good = other.check_stash(); !good) return good;
  auto sum = clone();
  if (!sum) return fail(sum.error());
  insert_result done = insert_result::inserted;
  bool often = false;
  const bool fits = other.memory_.ask([&](const auto& table) {
    return kernels::dleft_each(table, [&](std::uint64_t value, unsigned counter) {
      for (unsigned i = 0; i < counter && done != insert_result::full; ++i) done = sum->insert_value(value);
      if (done != insert_result::full) return true;
      const kernels::dleft_key key = kernels::dleft_key_of(memory_.geometry, value);
      often = sum->memory_.ask([&key](const auto& all) { return all.count(key) >= kernels::dleft_most_copies; });
      return false;
    });
  });
  if (!fits && often) return fail(errc::too_many_copies, {}, {kernels::dleft_most_copies});
  if (!fits) return fail(errc::full, {}, {sum->keys_});
  *this = std::move(*sum);
  return {};
}

BLOOMERY_BODY dleft::usage dleft::used() const noexcept {
  usage sum{.cells = 0, .occurrences = memory_.stashed};
  const std::byte* bytes = memory_.store.bytes().data();
  for (std::uint64_t at = kernels::dleft_stash_bytes; at < memory_.geometry.end(); at += memory_.geometry.stride()) {
    const auto low = std::to_integer<unsigned>(bytes[at]);
    const auto high = std::to_integer<unsigned>(bytes[at + 1]);
    sum.cells += static_cast<std::uint64_t>(std::popcount(low | high));
    sum.occurrences += static_cast<std::uint64_t>(std::popcount(low) + 2 * std::popcount(high));
  }
  return sum;
}

BLOOMERY_BODY result<void> dleft::check_stash() const noexcept {
  if (memory_.store.words() == 0) return {};
  for (std::uint64_t i = 0; i < kernels::dleft_stash_entries; ++i) {
    const std::uint64_t entry = memory_.store.word(i);
    if ((entry != 0) != (i < memory_.stashed) || entry > memory_.geometry.values())
      return fail(errc::bad_field, "stash entry", {entry});
  }
  return {};
}

BLOOMERY_BODY result<void> dleft::count_copies() noexcept {
  if (auto good = check_stash(); !good) return good;
  const std::uint64_t occurrences = used().occurrences;
  if (keys_ > occurrences || (mode_ == dleft_mode::set && keys_ != occurrences)) {
    return fail(errc::bad_field, "keys", {keys_});
  }
  copies_ = occurrences - keys_;
  return {};
}

BLOOMERY_BODY void dleft::set_geometry(const stored_shape& shape) noexcept {
  memory_.geometry = {.buckets = shape.field[0], .remainder_bits = static_cast<unsigned>(shape.field[1])};
  mode_ = static_cast<dleft_mode>(shape.field[2]);
  memory_.stashed = shape.field[3];
  capacity_ = shape.capacity_keys;
  fpr_ = shape.fpr;
  keys_ = shape.keys;
}

BLOOMERY_BODY result<std::uint64_t> dleft::payload_bytes(const stored_shape& shape) noexcept {
  if (shape.field[1] < kernels::dleft_least_bits || shape.field[1] > kernels::dleft_most_bits) {
    return fail(errc::bad_field, "remainder bits", {shape.field[1]});
  }
  const auto remainder_bits = static_cast<unsigned>(shape.field[1]);
  // A bucket takes up to 1,280 bits in all tables, and its values are counted in 62.
  if (shape.field[0] == 0 || shape.field[0] > max_filter_bits / 1280 ||
      shape.field[0] > (1ULL << 62U) >> remainder_bits) {
    return fail(errc::bad_field, "buckets", {shape.field[0]});
  }
  const kernels::dleft_geometry geometry{.buckets = shape.field[0], .remainder_bits = remainder_bits};
  if (shape.field[2] > 1) return fail(errc::bad_field, "mode", {shape.field[2]});
  if (shape.field[3] > kernels::dleft_stash_entries) return fail(errc::bad_field, "stashed", {shape.field[3]});
  // As many as the counters can hold: 3 in a cell. adopt compares with what they do hold.
  if (shape.keys > 3 * geometry.cells() + shape.field[3]) return fail(errc::bad_field, "keys", {shape.keys});
  if (!shape.keys_exact) return fail(errc::bad_field, "keys exact", {0});
  if (shape.digest_bits != 64) return fail(errc::bad_field, "digest bits", {shape.digest_bits});
  for (std::size_t i = 4; i < shape.field.size(); ++i) {
    if (shape.field[i] != 0) return fail(errc::bad_field, "unused number", {shape.field[i]});
  }
  return geometry.payload_bytes();
}

BLOOMERY_BODY result<dleft> dleft::adopt(const stored_shape& shape, aligned_buffer payload) noexcept {
  auto filter = view(shape, payload.bytes());
  if (!filter) return filter;
  filter->memory_.store = bit_store::adopt(std::move(payload));
  if (auto counted = filter->count_copies(); !counted) return fail(counted.error());
  const auto bytes = filter->memory_.store.bytes();
  for (std::uint64_t i = filter->memory_.geometry.end(); i < bytes.size(); ++i) {
    if (bytes[to_size(i)] != std::byte{0})
      return fail(errc::bad_field, "cells past the end", {filter->memory_.geometry.buckets});
  }
  return filter;
}

BLOOMERY_BODY result<dleft> dleft::view(const stored_shape& shape, std::span<const std::byte> payload) noexcept {
  const auto expected = payload_bytes(shape);
  if (!expected) return fail(expected.error());
  if (*expected != payload.size()) return fail(errc::truncated, {}, {payload.size(), *expected});
  dleft filter;
  filter.set_geometry(shape);
  filter.memory_.store = bit_store::view(payload);
  return filter;
}

BLOOMERY_BODY std::uint64_t dleft::add_stream(std::size_t count, const digest_feed& feed) noexcept {
  return insert_many(count, feed).inserted;
}

BLOOMERY_BODY void dleft::may_contain_stream(std::size_t count, const digest_feed& feed,
                                             std::span<std::uint64_t> mask) const noexcept {
  memory_.ask([&](const auto& table) { kernels::dleft_contains_batch(table, count, feed, mask.data()); });
}

BLOOMERY_BODY batch_outcome dleft::insert_many(std::size_t count, const digest_feed& feed) noexcept {
  const batch_outcome done =
      memory_.edit([&](auto& table) { return kernels::dleft_insert_many(table, copies(), count, feed); });
  keys_ += done.inserted;
  copies_ += mode_ == dleft_mode::multiset ? done.taken - done.inserted : 0;
  return done;
}

BLOOMERY_BODY fact_list dleft::facts() const noexcept {
  return {
      mode_fact(mode_ == dleft_mode::multiset ? "multiset" : "set"),
      {.name = "buckets",
       .label = "buckets",
       .value = memory_.geometry.buckets * kernels::dleft_tables,
       .help = "of all four tables; a key is in one of four"},
      {.name = "cell_bits",
       .label = "cell bits",
       .value = memory_.geometry.stride(),
       .unit = fact_unit::bits,
       .help = "bits of a cell"},
      {.name = "stashed", .label = "stashed", .value = memory_.stashed, .help = "cells that no bucket had room for"}};
}

// The cells of a bucket share its bytes, a bit in each.
BLOOMERY_BODY explanation dleft::explain(std::uint64_t digest) const noexcept {
  explanation out(digest);
  memory_.ask([&](const auto& table) {
    const kernels::dleft_key key = table.key(digest);
    const auto wanted = table.wanted(key);
    const std::uint64_t remainder = key.value & ((std::uint64_t{1} << table.geometry.remainder_bits) - 1);
    for (const std::uint64_t at : key.at) {
      const unsigned match = table.look(at, wanted).match;
      const std::uint64_t bucket = (at - kernels::dleft_stash_bytes) / table.geometry.stride();
      out.begin({.place = "bucket", .place_index = bucket, .rule = probe_rule::any});
      for (unsigned cell = 0; cell < kernels::dleft_cells; ++cell) {
        out.add({.position = bucket * kernels::dleft_cells + cell,
                 .byte_offset = at,
                 .read = table.remainder_in(at, cell),
                 .expected = remainder,
                 .unit = probe_unit::cell,
                 .has_expected = true,
                 .matches = (match >> cell & 1U) != 0});
      }
      out.end();
    }
    if (table.stashed == 0) return;
    out.begin({.place = "stash", .rule = probe_rule::any});
    for (std::uint64_t i = 0; i < table.stashed; ++i) {
      out.add({.position = i,
               .byte_offset = 8 * i,
               .read = table.entry(i),
               .expected = key.value + 1,
               .unit = probe_unit::entry,
               .has_expected = true,
               .matches = table.entry(i) == key.value + 1});
    }
    out.end();
  });
  return out;
}

}  // namespace bloomery::inline BLOOMERY_ABI
