// kinds/growing/merge.hpp: how one growing filter takes in another. Included by kinds/growing/engine.hpp, whose
// functions these are; not for use on its own.
//
// The codes of the other filter, page by page, as prefixes of digests: one that is shorter than the addresses of this
// filter's lines becomes a void in every line that it covers. The sum of two multisets drops nothing, so that every key
// can be erased as often as it was inserted into either.
#pragma once

#include <bloomery/kinds/growing/engine.hpp>

namespace bloomery::inline BLOOMERY_ABI {

// In a set: whether the code needs no place of its own, because another code of the line covers all that it covers, or
// gave it its place because it covers less.
template <class Slots>
bool growing_engine<Slots>::unite(growing_state& state, std::uint64_t code) noexcept {
  const kernels::growing_page page = state.pages.page_of(code);
  const unsigned depth = page.tag();
  std::byte* line = line_at(page.pointer(), kernels::growing_line_of(code, depth));
  growing_page_notes& notes = growing_pages::notes_of(page.pointer());
  const lane wanted = Slots::cut(code, depth);
  const std::uint64_t start = line_start(code, depth);
  for (unsigned i = 0; i < Slots::count; ++i) {
    const lane slot = Slots::get(line, i);
    if (slot == 0) return false;
    const std::uint64_t other = Slots::code(slot, start, depth);
    const bool covers_less = kernels::growing_covers(other) < kernels::growing_covers(code);
    if (!(covers_less ? kernels::growing_code_matches(code, other) : kernels::growing_code_matches(other, code)))
      continue;
    if (!covers_less) return true;
    note_removed(state, notes, slot, depth);
    Slots::put(line, i, wanted);
    note_added(state, notes, wanted, depth);
    return true;
  }
  return growing_spill::holds(notes, code);
}

template <class Slots>
bool growing_engine<Slots>::put_prefix(growing_state& state, std::uint64_t code, std::uint64_t count,
                                       bool is_set) noexcept {
  split_if_due(state, code);
  if (kernels::growing_length(code) >= state.pages.page_of(code).tag() + kernels::growing_line_bits) {
    if (is_set && unite(state, code)) return true;
    return put(state, code, is_set ? 1 : count);
  }
  return put_prefix(state, kernels::growing_lower_half(code), count, is_set) &&
         put_prefix(state, kernels::growing_upper_half(code), count, is_set);
}

template <class Slots>
bool growing_engine<Slots>::merge(growing_state& into, const growing_state& from, bool is_set) noexcept {
  const bool done = from.pages.for_each_page([&](std::uint64_t prefix, unsigned depth, const std::byte* page) {
    const double coming = growing_pages::notes_of(page).used;
    // The smaller filter splits before, so that what comes keeps the length that it has.
    while (true) {
      const kernels::growing_page here = into.pages.page_of(prefix);
      const growing_page_notes& notes = growing_pages::notes_of(here.pointer());
      if (here.tag() > depth || !may_split(into, notes, here.tag())) break;
      const double later = notes.used + std::ldexp(coming, static_cast<int>(depth - here.tag()));
      if (later < static_cast<double>(split_at) || !split(into, prefix, here)) break;
    }
    return for_each_code(prefix, depth, page, [&](std::uint64_t code, std::uint64_t count) {
      return put_prefix(into, code, count, is_set);
    });
  });
  if (done) into.occurrences = std::min(into.occurrences + from.occurrences, into.codes());
  into.occurrences_known = into.occurrences_known && from.occurrences_known;
  return done;
}

}  // namespace bloomery::inline BLOOMERY_ABI
