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
  bitmap copy(engine_, set);
  copy.refused_ = refused_;
  return copy;
}

BLOOMERY_BODY std::uint64_t bitmap::add_batch(std::span<const std::uint64_t> keys) noexcept {
  std::uint64_t inserted = 0;
  for (const std::uint64_t key : keys) inserted += insert(key) == insert_result::inserted ? 1U : 0U;
  return inserted;
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

BLOOMERY_BODY result<void> bitmap::serialize(std::span<std::byte> out) const noexcept {
  if (auto intact = check_memory(); !intact) return intact;
  const std::uint64_t needed = serialized_bytes();
  if (out.size() < needed) return fail(errc::bad_span, "the output", {out.size(), needed});
  engine_->serialize(set_, out.data());
  return {};
}

BLOOMERY_BODY result<bitmap> bitmap::deserialize(const stored_shape& shape, std::span<const std::byte> bytes) noexcept {
  const bitmap_engine* with = engine();
  if (with == nullptr) return fail(errc::not_linked, "kind bitmap");
  for (const std::uint64_t number : shape.field) {
    if (number != 0) return fail(errc::bad_field, "unused number", {number});
  }
  const char* why = nullptr;
  void* set = with->deserialize(bytes, &why);
  if (set == nullptr) {
    return why == nullptr ? result<bitmap>(fail(errc::out_of_memory, "the bitmap", {bytes.size()}))
                          : result<bitmap>(fail(errc::codec_failed, why));
  }
  bitmap loaded(with, set);
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
  if (refused_) out.add_note({}, "memory was refused to a change: any key may be there", true);
  return out;
}

}  // namespace bloomery::inline BLOOMERY_ABI
