#include <bloomery/kinds/growing.hpp>

namespace bloomery::inline BLOOMERY_ABI {
namespace detail {

BLOOMERY_BODY result<growing_mode> find_growing_mode(std::string_view name) noexcept {
  if (name.empty() || name == "multiset") return growing_mode::multiset;
  if (name == "set") return growing_mode::set;
  return fail(errc::unknown_mode, "kind growing has the modes multiset and set");
}

}  // namespace detail
}  // namespace bloomery::inline BLOOMERY_ABI

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY result<growing> growing::make(const filter_params& params) noexcept {
  const auto mode = detail::find_growing_mode(params.mode);
  if (!mode) return fail(mode.error());
  const auto solved = plan(params.sizes(), params.layout);
  if (!solved) return fail(solved.error());
  const auto model = sizing::solve_growing(params.sizes(), params.layout);
  if (!model) return fail(model.error());
  auto pages = growing_pages::make(model->pages(), params.memory);
  if (!pages) return fail(pages.error());
  growing filter;
  filter.state_.pages = std::move(*pages);
  filter.state_.first_depth = model->first_depth;
  if (!filter.state_.pages.fill(model->first_depth)) {
    return fail(errc::out_of_memory, "the filter", {model->memory_bytes()});
  }
  filter.width_ = model->width;
  filter.mode_ = *mode;
  filter.fpr_ = params.fpr.value_or(model->usual_fpr());
  filter.capacity_ = solved->grows_to_keys;
  return filter;
}

BLOOMERY_BODY result<growing> growing::clone() const noexcept {
  auto pages = state_.pages.clone();
  if (!pages) return fail(pages.error());
  growing copy;
  copy.state_ = {.pages = std::move(*pages),
                 .occurrences = state_.occurrences,
                 .slots_used = state_.slots_used,
                 .spilled = state_.spilled,
                 .covered = state_.covered,
                 .first_depth = state_.first_depth,
                 .occurrences_known = state_.occurrences_known};
  copy.take_settings(*this);
  return copy;
}

BLOOMERY_BODY insert_result growing::insert(std::uint64_t digest) noexcept {
  return detail::with_slots(width_, [&](auto engine) {
    const bool was_there = engine.may_contain(state_, digest);
    if (was_there && mode_ == growing_mode::set) return insert_result::present;
    if (!engine.insert(state_, digest)) return insert_result::full;
    keys_ += was_there ? 0U : 1U;
    return was_there ? insert_result::present : insert_result::inserted;
  });
}

BLOOMERY_BODY batch_outcome growing::insert_many(std::size_t count, const digest_feed& feed) noexcept {
  constexpr std::size_t group = 64;
  std::array<std::uint64_t, group> room;
  batch_outcome done;
  for (std::size_t first = 0; first < count; first += group) {
    const std::size_t size = std::min(group, count - first);
    const std::uint64_t* digests = feed(first, size, room.data());
    detail::with_slots(width_, [&](auto engine) {
      for (std::size_t i = 0; i < size; ++i) engine.prefetch(state_, digests[i]);
    });
    for (std::size_t i = 0; i < size; ++i) {
      const insert_result outcome = insert(digests[i]);
      if (outcome == insert_result::full) return done;
      ++done.taken;
      done.inserted += outcome == insert_result::inserted ? 1U : 0U;
    }
  }
  return done;
}

BLOOMERY_BODY void growing::may_contain_stream(std::size_t count, const digest_feed& feed,
                                               std::span<std::uint64_t> mask) const noexcept {
  detail::with_slots(width_, [&](auto engine) {
    using slots = typename decltype(engine)::slots;
    active_kernels<kernels::growing_kernels<slots>>().contains_batch(state_.pages.view(), count, feed, mask.data(),
                                                                     engine.beyond());
  });
}

BLOOMERY_BODY result<void> growing::check_erase() const noexcept {
  if (mode_ == growing_mode::multiset) return {};
  return fail(errc::unsupported, "kind growing erases in mode multiset only, and this filter is of mode set");
}

BLOOMERY_BODY bool growing::erase(std::uint64_t digest) noexcept {
  if (mode_ == growing_mode::set) return false;
  if (!detail::with_slots(width_, [&](auto engine) { return engine.erase(state_, digest); })) return false;
  // A key that is still matched may be there once more, or only seem to be. There are never more keys than occurrences.
  keys_ -= keys_ != 0 && !may_contain(digest) ? 1U : 0U;
  keys_ = std::min(keys_, state_.occurrences);
  keys_exact_ = state_.occurrences == 0;
  return true;
}

BLOOMERY_BODY std::uint64_t growing::count(std::uint64_t digest) const noexcept {
  if (mode_ == growing_mode::set) return may_contain(digest) ? 1 : 0;
  return detail::with_slots(width_, [&](auto engine) { return engine.count(state_, digest); });
}

BLOOMERY_BODY result<void> growing::reserve(std::uint64_t keys) noexcept {
  // All pages split at about the same number of keys, when they are three quarters full, and a little sooner or later.
  const double page_keys = static_cast<double>(model().page_keys());
  const double total = 2.15 * (static_cast<double>(state_.codes()) + static_cast<double>(keys)) / page_keys + 2;
  const double wanted = std::min(total - static_cast<double>(pages()), 0x1p50);
  if (!(wanted > 0) || state_.pages.reserve(static_cast<std::uint64_t>(wanted))) return {};
  return fail(errc::out_of_memory, "the filter",
              {static_cast<std::uint64_t>(wanted * static_cast<double>(growing_pages::page_stride))});
}

BLOOMERY_BODY result<void> growing::check_same(const growing& other) const noexcept {
  if (this == &other) return fail(errc::mismatch, "a filter is not merged with itself");
  if (width_ != other.width_) return fail(errc::mismatch, "their slots differ in width (slots16, slots24, slots32)");
  if (mode_ != other.mode_) return fail(errc::mismatch, "one is of mode multiset and one of mode set");
  return {};
}

BLOOMERY_BODY result<void> growing::merge(const growing& other, merge_fpr rate) noexcept {
  if (auto same = check_same(other); !same) return same;
  const double together = -std::expm1(-(state_.coverage() + other.state_.coverage()));
  if (rate == merge_fpr::keep_target && together > std::max(fpr_, other.fpr_)) {
    return fail_number(errc::merge_exceeds_target, together * 100);
  }
  const bool is_set = mode_ == growing_mode::set;
  auto both = clone();
  if (!both) return fail(both.error());
  if (!detail::with_slots(width_, [&](auto engine) { return engine.merge(both->state_, other.state_, is_set); })) {
    return fail(errc::out_of_memory, "the union", {other.memory_bytes()});
  }
  state_ = std::move(both->state_);
  // Keys that are in both were counted twice.
  keys_ = std::min(keys_ + other.keys_, occurrences());
  keys_exact_ = false;
  return {};
}

BLOOMERY_BODY void growing::clear() noexcept {
  detail::with_slots(width_, [&](auto engine) { engine.clear(state_); });
  keys_ = 0;
  keys_exact_ = true;
}

BLOOMERY_BODY stored_shape growing::shape() const noexcept {
  return {.capacity_keys = capacity_,
          .fpr = fpr_,
          .keys = keys_,
          .keys_exact = keys_exact_,
          .digest_bits = 64,
          .field = {width_, static_cast<std::uint64_t>(mode_), state_.first_depth, pages(), state_.occurrences}};
}

BLOOMERY_BODY result<growing> growing::deserialize(const stored_shape& shape, const byte_feed& bytes,
                                                   const memory_hooks* hooks) noexcept {
  const auto& field = shape.field;
  if (field[0] != 16 && field[0] != 24 && field[0] != 32) return fail(errc::bad_field, "slot bits", {field[0]});
  if (field[1] > 1) return fail(errc::bad_field, "mode", {field[1]});
  growing loaded;
  loaded.width_ = static_cast<unsigned>(field[0]);
  loaded.mode_ = static_cast<growing_mode>(field[1]);
  loaded.fpr_ = shape.fpr;
  loaded.capacity_ = shape.capacity_keys;
  if (field[2] > loaded.model().deepest()) return fail(errc::bad_field, "first depth", {field[2]});
  for (std::size_t i = 5; i < field.size(); ++i) {
    if (field[i] != 0) return fail(errc::bad_field, "unused number", {field[i]});
  }
  auto state = detail::with_slots(loaded.width_, [&](auto engine) {
    return stored<decltype(engine)>::read(bytes, field[3], static_cast<unsigned>(field[2]), hooks);
  });
  if (!state) return fail(state.error());
  // Every occurrence has a code. Fewer occurrences than codes are possible: a void has a code in several lines.
  if (field[4] > state->codes()) return fail(errc::bad_field, "occurrences", {field[4]});
  loaded.state_ = std::move(*state);
  loaded.state_.occurrences = field[4];
  loaded.state_.occurrences_known = field[4] == loaded.state_.codes();
  // Earlier versions wrote more keys than occurrences after some erases: what is left is an estimate then.
  loaded.keys_ = std::min(shape.keys, field[4]);
  loaded.keys_exact_ = shape.keys_exact && shape.keys <= field[4];
  return loaded;
}

BLOOMERY_BODY fact_list growing::facts() const noexcept {
  return {layout_fact(width_ == 16   ? "slots16"
                      : width_ == 24 ? "slots24"
                                     : "slots32"),
          mode_fact(mode_ == growing_mode::multiset ? "multiset" : "set"),
          {.name = "pages", .label = "pages", .value = pages(), .help = "pages of 4 KiB; a key is in one"},
          {.name = "spilled", .label = "spilled", .value = state_.spilled, .help = "keys that no line had room for"}};
}

namespace detail {

// The slots of the digest's line, and what was spilled when it is full.
template <class Slots>
void explain_growing(explanation& out, const growing_state& state, std::uint64_t digest) noexcept {
  using engine = growing_engine<Slots>;
  const kernels::growing_page page = state.pages.page_of(digest);
  const std::byte* bytes = page.pointer();
  const unsigned depth = page.tag();
  const unsigned number = kernels::growing_line_of(digest, depth);
  const std::byte* line = engine::line_at(bytes, number);
  std::uint64_t pages_before = 0;
  std::uint64_t entries_before = 0;
  state.pages.for_each_page([&](std::uint64_t /*prefix*/, unsigned /*depth*/, const std::byte* each) {
    if (each == bytes) return false;
    ++pages_before;
    entries_before += growing_pages::notes_of(each).spilled;
    return true;
  });
  const std::uint64_t line_index = pages_before * kernels::growing_page_lines + number;
  const std::uint64_t first_byte =
      state.pages.pages() * growing_stored<Slots>::page_entry_bytes + line_index * kernels::growing_line_bytes;
  const auto wanted = Slots::wanted(digest, depth);
  out.begin({.place = "line", .place_index = line_index, .rule = probe_rule::any});
  for (unsigned i = 0; i < Slots::count; ++i) {
    const auto slot = Slots::get(line, i);
    out.add({.position = line_index * Slots::count + i,
             .byte_offset = first_byte + i * (Slots::width / 8),
             .read = slot,
             .expected = wanted,
             .unit = probe_unit::slot,
             .has_expected = true,
             .matches = Slots::matches(slot, wanted)});
  }
  out.end();
  if (!kernels::growing_is_full<Slots>(line)) return;
  const growing_page_notes& notes = growing_pages::notes_of(bytes);
  const std::uint32_t at = growing_spill::longest_match(notes, digest, depth + kernels::growing_line_bits);
  if (at == notes.spilled) return out.add_note({}, "none of the codes that the page has spilled matches", false);
  out.begin({.place = "spill of page", .place_index = pages_before, .rule = probe_rule::any});
  out.add({.position = at,
           .byte_offset = state.pages.pages() * growing_stored<Slots>::page_bytes +
                          (entries_before + at) * growing_stored<Slots>::spilled_bytes,
           .read = notes.spill[at].code,
           .expected = digest | 1U,
           .unit = probe_unit::entry,
           .has_expected = true,
           .matches = true});
  out.end();
}

}  // namespace detail

BLOOMERY_BODY explanation growing::explain(std::uint64_t digest) const noexcept {
  explanation out(digest);
  detail::with_slots(
      width_, [&](auto engine) { detail::explain_growing<typename decltype(engine)::slots>(out, state_, digest); });
  return out;
}

}  // namespace bloomery::inline BLOOMERY_ABI
