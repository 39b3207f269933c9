#include <bloomery/kinds/bitmap.hpp>

namespace bloomery::inline BLOOMERY_ABI {
namespace detail {

BLOOMERY_BODY std::atomic<const bitmap_engine*>& bitmap_engine_slot() noexcept {
  static std::atomic<const bitmap_engine*> slot{nullptr};
  return slot;
}

}  // namespace detail
}  // namespace bloomery::inline BLOOMERY_ABI

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY result<size_plan> bitmap::plan(const size_request& request, std::string_view layout) noexcept {
  if (!layout.empty()) return fail(errc::kind_has_one_layout, info.name);
  if (!request.keys) return fail(errc::missing_parameter, "a bitmap needs a number of keys");
  if (*request.keys == 0 || *request.keys > max_keys) {
    return fail_number(errc::bad_keys, static_cast<double>(*request.keys), {max_keys});
  }
  constexpr std::uint64_t bits_a_key = 16;  // an array container: two bytes a key
  return size_plan{.keys = *request.keys,
                   .bits = *request.keys * bits_a_key,
                   .bits_per_key = static_cast<double>(bits_a_key),
                   .memory_bytes = *request.keys * bits_a_key / 8};
}

BLOOMERY_BODY result<bitmap> bitmap::make(const filter_params& params) noexcept {
  if (!params.layout.empty()) return fail(errc::kind_has_one_layout, info.name);
  const bitmap_engine* with = engine();
  if (with == nullptr) return fail(errc::not_linked, "kind bitmap");
  void* set = with->create();
  if (set == nullptr) return fail(errc::out_of_memory, "the bitmap", {sizeof(void*) * 6});
  return bitmap(with, set);
}

BLOOMERY_BODY result<bitmap> bitmap::clone() const noexcept {
  void* set = engine_->clone(set_);
  if (set == nullptr) return fail(errc::out_of_memory, "a copy of the bitmap", {serialized_bytes()});
  return bitmap(engine_, set);
}

BLOOMERY_BODY batch_outcome bitmap::add_until_full(std::span<const std::uint64_t> keys) noexcept {
  batch_outcome done;
  for (const std::uint64_t key : keys) {
    const insert_result outcome = insert(key);
    if (outcome == insert_result::full) break;
    ++done.taken;
    done.inserted += outcome == insert_result::inserted ? 1U : 0U;
  }
  return done;
}

BLOOMERY_BODY void bitmap::may_contain_batch(std::span<const std::uint64_t> keys,
                                             std::span<std::uint64_t> mask) const noexcept {
  for (std::size_t word = 0; word < mask_words(keys.size()); ++word) mask[word] = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) mask[i / 64] |= std::uint64_t{may_contain(keys[i])} << (i % 64);
}

BLOOMERY_BODY double bitmap::fill() const noexcept {
  const double count = static_cast<double>(keys().keys);
  return count == 0 ? 0.0 : count / (static_cast<double>(engine_->range(set_)) + 1.0);
}

BLOOMERY_BODY result<bitmap> bitmap::deserialize(const stored_shape& shape, const byte_feed& bytes,
                                                 const memory_hooks* /*hooks*/) noexcept {
  const bitmap_engine* with = engine();
  if (with == nullptr) return fail(errc::not_linked, "kind bitmap");
  for (const std::uint64_t number : shape.field) {
    if (number != 0) return fail(errc::bad_field, "unused number", {number});
  }
  const auto set = with->deserialize(bytes);
  if (!set) return fail(set.error());
  bitmap loaded(with, *set);
  if (loaded.keys().keys != shape.keys) return fail(errc::bad_field, "keys", {shape.keys});
  return loaded;
}

BLOOMERY_BODY fact_list bitmap::facts() const noexcept {
  return {
      {.name = "range", .label = "range", .value = engine_->range(set_), .help = "integers from 0 to its largest key"}};
}

BLOOMERY_BODY explanation bitmap::explain(std::uint64_t key) const noexcept {
  explanation out(key);
  const bool there = engine_->contains(set_, key);
  out.begin({});
  out.add({.position = key,
           .read = there ? 1U : 0U,
           .expected = 1,
           .unit = probe_unit::integer,
           .has_expected = true,
           .matches = there});
  out.end();
  return out;
}

}  // namespace bloomery::inline BLOOMERY_ABI
