#include <bloomery/kernels/cuckoo/dispatch.hpp>
#include <bloomery/kinds/cuckoo.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY result<cuckoo> cuckoo::make(const filter_params& params) noexcept {
  const bool is_set = params.mode == "set";
  if (!is_set && !params.mode.empty() && params.mode != "multiset") {
    return fail(errc::unknown_mode, "kind cuckoo has the modes multiset and set");
  }
  const auto sized = sizing::size_cuckoo(params.sizes(), params.layout);
  if (!sized) return fail(sized.error());
  auto store = bit_store::make(sized->plan.memory_bytes / 8, "the filter", params.memory);
  if (!store) return fail(store.error());
  cuckoo filter;
  filter.slots_.store = std::move(*store);
  filter.slots_.set(sized->geometry);
  filter.mode_ = is_set ? cuckoo_mode::set : cuckoo_mode::multiset;
  filter.capacity_ = sized->plan.keys;
  filter.fpr_ = params.fpr ? *params.fpr : sized->plan.fpr;
  return filter;
}

// Of a mapped file the keys are counted here: only copies of it are changed.
BLOOMERY_BODY result<cuckoo> cuckoo::clone() const noexcept {
  auto store = slots_.store.clone("a copy of the filter");
  if (!store) return fail(store.error());
  cuckoo copy;
  copy.set_geometry(shape());
  copy.slots_.store = std::move(*store);
  if (auto counted = copy.count_copies(); !counted) return fail(counted.error());
  return copy;
}

BLOOMERY_BODY result<void> cuckoo::count_copies() noexcept {
  if (!slots_.ask([](const auto& table) { return cuckoo_is_possible(table); })) {
    return fail(errc::bad_field, "slots without a fingerprint", {slots_.geometry.buckets});
  }
  const std::uint64_t used = used_slots();
  if (keys_ > used || (mode_ == cuckoo_mode::set && keys_ != used)) return fail(errc::bad_field, "keys", {keys_});
  copies_ = used - keys_;
  return {};
}

BLOOMERY_BODY std::uint64_t cuckoo::used_slots() const noexcept {
  return slots_.ask([](const auto& table) { return table.used_slots(); });
}

BLOOMERY_BODY void cuckoo::set_geometry(const stored_shape& shape) noexcept {
  slots_.set({.buckets = shape.field[0],
              .slot_bits = static_cast<unsigned>(shape.field[1]),
              .slots = static_cast<unsigned>(shape.field[2]),
              .form = static_cast<kernels::cuckoo_form>(shape.field[3])});
  mode_ = static_cast<cuckoo_mode>(shape.field[4]);
  capacity_ = shape.capacity_keys;
  fpr_ = shape.fpr;
  keys_ = shape.keys;
}

BLOOMERY_BODY result<std::uint64_t> cuckoo::payload_bytes(const stored_shape& shape) noexcept {
  if (shape.field[3] > 3) return fail(errc::bad_field, "layout", {shape.field[3]});
  const auto form = static_cast<kernels::cuckoo_form>(shape.field[3]);
  if (!cuckoo_model::can_have_slots(form, shape.field[2])) {
    return fail(errc::bad_field, "slots a bucket", {shape.field[2]});
  }
  if (shape.field[1] < cuckoo_model::least_bits(form) || shape.field[1] > cuckoo_model::most_bits(form)) {
    return fail(errc::bad_field, "slot bits", {shape.field[1]});
  }
  kernels::cuckoo_geometry geometry{.buckets = shape.field[0],
                                    .slot_bits = static_cast<unsigned>(shape.field[1]),
                                    .slots = static_cast<unsigned>(shape.field[2]),
                                    .form = form};
  if (!cuckoo_model::can_have_buckets(form, geometry.buckets) ||
      geometry.buckets > max_filter_bits / geometry.stride()) {
    return fail(errc::bad_field, "buckets", {geometry.buckets});
  }
  if (shape.field[4] > 1) return fail(errc::bad_field, "mode", {shape.field[4]});
  if (shape.keys > geometry.total_slots()) return fail(errc::bad_field, "keys", {shape.keys});
  if (!shape.keys_exact) return fail(errc::bad_field, "keys exact", {0});
  if (shape.digest_bits != 64) return fail(errc::bad_field, "digest bits", {shape.digest_bits});
  for (std::size_t i = 5; i < shape.field.size(); ++i) {
    if (shape.field[i] != 0) return fail(errc::bad_field, "unused number", {shape.field[i]});
  }
  return geometry.payload_bytes();
}

BLOOMERY_BODY result<cuckoo> cuckoo::adopt(const stored_shape& shape, aligned_buffer payload) noexcept {
  auto filter = view(shape, payload.bytes());
  if (!filter) return filter;
  filter->slots_.store = bit_store::adopt(std::move(payload));
  const std::uint64_t used = filter->slots_.geometry.bits();
  for (std::uint64_t i = used / 64; i < filter->slots_.store.words(); ++i) {
    const std::uint64_t past =
        i == used / 64 ? filter->slots_.store.word(i) >> (used % 64) : filter->slots_.store.word(i);
    if (past != 0) return fail(errc::bad_field, "slots past the end", {filter->slots_.geometry.buckets});
  }
  if (auto counted = filter->count_copies(); !counted) return fail(counted.error());
  return filter;
}

BLOOMERY_BODY result<cuckoo> cuckoo::view(const stored_shape& shape, std::span<const std::byte> payload) noexcept {
  const auto expected = payload_bytes(shape);
  if (!expected) return fail(expected.error());
  if (*expected != payload.size()) return fail(errc::truncated, {}, {payload.size(), *expected});
  cuckoo filter;
  filter.set_geometry(shape);
  filter.slots_.store = bit_store::view(payload);
  return filter;
}

BLOOMERY_BODY std::uint64_t cuckoo::add_stream(std::size_t count, const digest_feed& feed) noexcept {
  return insert_many(count, feed).inserted;
}

BLOOMERY_BODY void cuckoo::may_contain_stream(std::size_t count, const digest_feed& feed,
                                              std::span<std::uint64_t> mask) const noexcept {
  slots_.ask([&](const auto& table) { kernels::cuckoo_contains_best(table, count, feed, mask.data()); });
}

BLOOMERY_BODY batch_outcome cuckoo::insert_many(std::size_t count, const digest_feed& feed) noexcept {
  const batch_outcome done =
      slots_.edit([&](const auto& table) { return kernels::cuckoo_insert_many(table, copies(), count, feed); });
  keys_ += done.inserted;
  copies_ += mode_ == cuckoo_mode::multiset ? done.taken - done.inserted : 0;
  return done;
}

BLOOMERY_BODY fact_list cuckoo::facts() const noexcept {
  return {layout_fact(cuckoo_layout_name(slots_.geometry.form, slots_.geometry.slots)),
          mode_fact(mode_ == cuckoo_mode::multiset ? "multiset" : "set"),
          {.name = "buckets", .label = "buckets", .value = slots_.geometry.buckets, .help = "a key is in one of two"},
          slot_bits_fact(slots_.geometry.slot_bits)};
}

}  // namespace bloomery::inline BLOOMERY_ABI
