// kinds/growing/engine.hpp: what the growing filter does, for one width of slots: insert, erase, split, merge.
//
// `growing_state` is a filter; `growing_engine<Slots>` are the functions over it, all static. kinds/growing.hpp chooses
// the width; tests also use slots whose fingerprints are cut short, because only those reach voids with few keys.
//
// What always holds:
//   - In every line there is a one-to-one map from the keys that were inserted (as often as they were) to codes that
//     match them. Removing the longest match of a key keeps it: all matches of the key are prefixes of each other, so
//     that whoever owned the longest one can take over the key's own.
//   - A code is in the spill only while its line is full.
//   - `covered` is the sum of what all codes cover: the expected FPR is 1 - e^-covered. A split does not change it.
//   - There are no more occurrences than codes, also when the number of occurrences came from a file. It decides about
//     nothing but the end: when it falls to 0, what is left are halves of voids whose keys are gone. Where it came from a
//     file and is not that of the codes, this is believed only when voids are all that is left.
// A page splits when three quarters of its slots are used, unless it is deeper than others by more than 8 bits (digests
// that were chosen to be alike must not make the directory explode) or more than half full of voids (which go to both
// halves: splitting would not make space). Then the spill takes what comes.
#pragma once

#include <bloomery/core/wide.hpp>
#include <bloomery/kernels/growing/dispatch.hpp>
#include <bloomery/kinds/growing/spill.hpp>
#include <cmath>

namespace bloomery::inline BLOOMERY_ABI {

struct growing_state {
  growing_pages pages;
  std::uint64_t occurrences = 0;  // inserts that were stored, less those erased
  std::uint64_t slots_used = 0;
  std::uint64_t spilled = 0;  // codes, not entries
  uint128 covered = 0;        // in units of 2^-63
  unsigned first_depth = 0;
  // False: the number of occurrences is one that a file states, and no count of codes confirms it.
  bool occurrences_known = true;

  [[nodiscard]] std::uint64_t codes() const noexcept { return slots_used + spilled; }
  [[nodiscard]] double coverage() const noexcept { return std::ldexp(static_cast<double>(covered), -63); }
};

template <class Slots>
struct growing_engine {
  using slots = Slots;
  using lane = typename Slots::lane;

  static constexpr std::uint64_t page_slots = kernels::growing_page_lines * Slots::count;
  static constexpr std::uint64_t split_at = page_slots * 3 / 4;
  // The bits of page, line and fingerprint are bits of the digest.
  static constexpr unsigned deepest = 63 - kernels::growing_line_bits - Slots::fingerprint;
  static constexpr unsigned uneven_depth = 8;
  // Copies of spilled codes beyond the first of each, in all: so that sums cannot overflow. Further copies are dropped.
  static constexpr std::uint64_t most_copies = std::uint64_t{1} << 56U;

  // False when memory was refused: nothing has changed then.
  static bool insert(growing_state& state, std::uint64_t digest) noexcept {
    split_if_due(state, digest, true);
    if (!put(state, digest | 1U, 1)) return false;
    state.occurrences = std::min(state.occurrences + 1, state.codes());
    return true;
  }
  // Prefetches the memory that an insert touches.
  static void prefetch(const growing_state& state, std::uint64_t digest) noexcept {
    const kernels::growing_page page = state.pages.page_of(digest);
    __builtin_prefetch(line_at(page.pointer(), kernels::growing_line_of(digest, page.tag())), 1);
    __builtin_prefetch(&growing_pages::notes_of(page.pointer()), 1);
  }
  static bool may_contain(const growing_state& state, std::uint64_t digest) noexcept {
    return kernels::growing_contains_one<Slots>(state.pages.view(), digest, beyond());
  }
  static kernels::growing_overflow beyond() noexcept { return {spill_holds, send_for_spill}; }
  // How many codes match: at least as many as the key has.
  static std::uint64_t count(const growing_state& state, std::uint64_t digest) noexcept;
  // False when nothing matches; nothing has changed then. The caller must have inserted the key more often than erased
  // it.
  static bool erase(growing_state& state, std::uint64_t digest) noexcept;
  // Gives the key a code of full length for the longest it has. The same rule as for erase.
  static bool rejuvenate(growing_state& state, std::uint64_t digest) noexcept;
  // False when memory was refused: the filter then holds its own keys and some of the other's, so a caller merges into
  // a copy. In a set, what is covered already is left out.
  static bool merge(growing_state& into, const growing_state& from, bool is_set) noexcept;
  static bool equal(const growing_state& a, const growing_state& b) noexcept;
  static void clear(growing_state& state) noexcept {
    state.pages.reset(state.first_depth);
    state.occurrences = 0;
    state.slots_used = 0;
    state.spilled = 0;
    state.covered = 0;
    state.occurrences_known = true;
  }

  static bool may_split(const growing_state& state, const growing_page_notes& notes, unsigned depth) noexcept {
    const auto usual = static_cast<unsigned>(std::bit_width(state.pages.pages()) - 1);
    return depth < deepest && depth < usual + uneven_depth && 2 * notes.voids <= notes.used;
  }
  // With `takes_digest`, the digest can be put into its half afterwards, whatever is refused then.
  static bool split(growing_state& state, std::uint64_t digest, kernels::growing_page page,
                    bool takes_digest = false) noexcept;
  // Calls f(code, count) for every code of a page, until it returns false.
  template <class F>
  static bool for_each_code(std::uint64_t prefix, unsigned depth, const std::byte* page, F&& f);

  static const std::byte* line_at(const std::byte* page, unsigned line) noexcept {
    return page + line * kernels::growing_line_bytes;
  }
  static std::byte* line_at(std::byte* page, unsigned line) noexcept {
    return page + line * kernels::growing_line_bytes;
  }
  static std::uint64_t line_start(std::uint64_t digest, unsigned depth) noexcept {
    return digest & ~(~std::uint64_t{0} >> (depth + kernels::growing_line_bits));
  }

 private:
  static void split_if_due(growing_state& state, std::uint64_t digest, bool takes_digest = false) noexcept {
    const kernels::growing_page page = state.pages.page_of(digest);
    const growing_page_notes& notes = growing_pages::notes_of(page.pointer());
    if (notes.used >= split_at && may_split(state, notes, page.tag())) split(state, digest, page, takes_digest);
  }
  static bool spill_holds(kernels::growing_page page, std::uint64_t digest) noexcept {
    const growing_page_notes& notes = growing_pages::notes_of(static_cast<const std::byte*>(page.pointer()));
    return growing_spill::may_hold(notes, digest) &&
           growing_spill::longest_match(notes, digest, page.tag() + kernels::growing_line_bits) != notes.spilled;
  }
  // All of it: few entries as a rule, four to a line.
  static void send_for_spill(kernels::growing_page page, std::uint64_t digest) noexcept {
    const growing_page_notes& notes = growing_pages::notes_of(static_cast<const std::byte*>(page.pointer()));
    if (!growing_spill::may_hold(notes, digest)) return;
    for (std::uint32_t i = 0; i < notes.spilled && i < 16; i += 4) __builtin_prefetch(notes.spill + i);
  }
  static std::uint64_t covers(lane slot, unsigned depth) noexcept {
    return kernels::growing_covers(Slots::code(slot, 0, depth));
  }
  static void note_added(growing_state& state, growing_page_notes& notes, lane slot, unsigned depth) noexcept {
    ++notes.used;
    notes.voids += slot == Slots::void_slot ? 1U : 0U;
    ++state.slots_used;
    state.covered += covers(slot, depth);
  }
  static void note_removed(growing_state& state, growing_page_notes& notes, lane slot, unsigned depth) noexcept {
    --notes.used;
    notes.voids -= slot == Slots::void_slot ? 1U : 0U;
    --state.slots_used;
    state.covered -= covers(slot, depth);
  }
  static bool put(growing_state& state, std::uint64_t code, std::uint64_t count) noexcept;
  static bool put_split(growing_state& state, std::uint64_t code, std::uint64_t count) noexcept;
  static bool put_prefix(growing_state& state, std::uint64_t code, std::uint64_t count, bool is_set) noexcept;
  static bool unite(growing_state& state, std::uint64_t code) noexcept;
  static void remove_slot(growing_state& state, std::uint64_t digest, kernels::growing_page page, unsigned i) noexcept;
  static void remove_spilled(growing_state& state, std::byte* page, std::uint32_t at) noexcept;

  struct found {
    unsigned slot = Slots::count;  // or the count of slots: none
    std::uint32_t spilled = 0;
    bool in_spill = false;
    unsigned length = 0;
  };
  static found longest_match(const growing_state& state, std::uint64_t digest) noexcept;
  static void remove(growing_state& state, std::uint64_t digest, const found& of) noexcept;
  static bool has_only_voids(const growing_state& state) noexcept;
  struct new_spills;
};

// Puts a code of at least depth + 6 bits into its line or, what does not fit, into the spill.
template <class Slots>
bool growing_engine<Slots>::put(growing_state& state, std::uint64_t code, std::uint64_t count) noexcept {
  const kernels::growing_page page = state.pages.page_of(code);
  const unsigned depth = page.tag();
  std::byte* line = line_at(page.pointer(), kernels::growing_line_of(code, depth));
  growing_page_notes& notes = growing_pages::notes_of(page.pointer());
  const lane slot = Slots::cut(code, depth);
  for (unsigned used = kernels::growing_used<Slots>(line); used < Slots::count && count != 0; ++used, --count) {
    Slots::put(line, used, slot);
    note_added(state, notes, slot, depth);
  }
  if (count == 0) return true;
  // Below the limit a new code is stored with what fits; above it, once. One that is there already is enough.
  const std::uint64_t room = most_copies - std::min(state.spilled, most_copies);
  if (count > room) count = std::max<std::uint64_t>(room, growing_spill::holds(notes, code) ? 0 : 1);
  if (count == 0) return true;
  if (!growing_spill(state.pages, page.pointer()).add(code, count)) return false;
  state.spilled += count;
  state.covered += multiply_wide(kernels::growing_covers(code), count);
  return true;
}

// Memory for the spills of both halves, as large as they can become: taken before anything changes.
template <class Slots>
struct growing_engine<Slots>::new_spills {
  std::array<growing_spilled*, 2> spill{};
  std::array<std::uint32_t, 2> room{};

  // One entry more than there are for the half that has one to come.
  bool take(growing_pages& pages, const growing_page_notes& notes, unsigned depth,
            std::array<std::uint64_t, 2> wanted) noexcept {
    for (std::uint32_t i = 0; i < notes.spilled; ++i) {
      const std::uint64_t code = notes.spill[i].code;
      // A void of the line becomes two.
      wanted[(code << depth) >> 63U] += kernels::growing_length(code) == depth + kernels::growing_line_bits ? 2U : 1U;
    }
    for (unsigned half = 0; half < 2; ++half) {
      if (wanted[half] == 0) continue;
      wanted[half] = growing_pages::spill_room(wanted[half]);
      if (wanted[half] <= 0xffffffffU) spill[half] = pages.take_spill(wanted[half]);
      if (spill[half] == nullptr) {
        give_back(pages);
        return false;
      }
      room[half] = static_cast<std::uint32_t>(wanted[half]);
    }
    return true;
  }
  void give_back(growing_pages& pages) noexcept {
    for (unsigned half = 0; half < 2; ++half) pages.give_spill(std::exchange(spill[half], nullptr), room[half]);
  }
};

// A page becomes two of one bit more. False when memory was refused; nothing has changed then.
template <class Slots>
bool growing_engine<Slots>::split(growing_state& state, std::uint64_t digest, kernels::growing_page page,
                                  bool takes_digest) noexcept {
  growing_pages& pages = state.pages;
  const unsigned depth = page.tag();
  std::byte* lower = page.pointer();
  growing_page_notes& notes = growing_pages::notes_of(lower);
  const std::uint64_t prefix = depth == 0 ? 0 : digest >> (64U - depth) << (64U - depth);
  // The digest's line can be full afterwards only if it is full now.
  std::array<std::uint64_t, 2> to_come{};
  const std::size_t half_of_digest = (digest << depth) >> 63U;
  to_come[half_of_digest] =
      takes_digest && kernels::growing_is_full<Slots>(line_at(lower, kernels::growing_line_of(digest, depth))) ? 1U
                                                                                                               : 0U;
  new_spills spills;
  if (!pages.deepen(prefix, depth + 1) || !spills.take(pages, notes, depth, to_come)) return false;
  std::byte* upper = pages.take_page();
  if (upper == nullptr) {
    spills.give_back(pages);
    return false;
  }
  const growing_page_notes before = notes;
  state.slots_used -= before.used;
  growing_page_notes& upper_notes = growing_pages::notes_of(upper);
  notes = {spills.spill[0], 0, spills.room[0], 0, 0, 0, 0};
  upper_notes = {spills.spill[1], 0, spills.room[1], 0, 0, 0, 0};
  const auto split_line = [&](unsigned line, std::byte* to, growing_page_notes& counts) {
    std::byte* even = line_at(to, 2 * (line & 31U));
    const auto made = kernels::growing_split<Slots>(line_at(lower, line), even, even + kernels::growing_line_bytes);
    counts.used += made.used;
    counts.voids += made.voids;
  };
  // The upper half first, then downward: a line is read before the first line that it becomes is written over it.
  for (unsigned line = 32; line < 64; ++line) split_line(line, upper, upper_notes);
  for (unsigned line = 32; line-- > 0;) split_line(line, lower, notes);
  state.slots_used += notes.used + upper_notes.used;
  pages.assign(prefix, depth + 1, lower);
  pages.assign(prefix | std::uint64_t{1} << (63U - depth), depth + 1, upper);
  for (std::uint32_t i = 0; i < before.spilled; ++i) {
    const auto [code, count] = before.spill[i];
    state.spilled -= count;
    state.covered -= multiply_wide(kernels::growing_covers(code), count);
    static_cast<void>(put_split(state, code, count));  // the spills have space for everything
  }
  pages.give_spill(before.spill, before.room);
  const bool needs_entry = to_come[half_of_digest] != 0 &&
                           kernels::growing_is_full<Slots>(line_at(half_of_digest == 0 ? lower : upper,
                                                                   kernels::growing_line_of(digest, depth + 1)));
  for (std::byte* half : {lower, upper}) {
    growing_page_notes& left = growing_pages::notes_of(half);
    if (left.spilled != 0 || (needs_entry && half == (half_of_digest == 0 ? lower : upper))) continue;
    pages.give_spill(std::exchange(left.spill, nullptr), std::exchange(left.room, 0U));
  }
  return true;
}

// A code for the filter as it is: in halves while it covers more than a line.
template <class Slots>
bool growing_engine<Slots>::put_split(growing_state& state, std::uint64_t code, std::uint64_t count) noexcept {
  if (kernels::growing_length(code) >= state.pages.page_of(code).tag() + kernels::growing_line_bits) {
    return put(state, code, count);
  }
  return put_split(state, kernels::growing_lower_half(code), count) &&
         put_split(state, kernels::growing_upper_half(code), count);
}

template <class Slots>
typename growing_engine<Slots>::found growing_engine<Slots>::longest_match(const growing_state& state,
                                                                           std::uint64_t digest) noexcept {
  const kernels::growing_page page = state.pages.page_of(digest);
  const unsigned depth = page.tag();
  const std::byte* line =
      line_at(static_cast<const std::byte*>(page.pointer()), kernels::growing_line_of(digest, depth));
  const lane wanted = Slots::wanted(digest, depth);
  const std::uint64_t start = line_start(digest, depth);
  found best;
  for (unsigned i = 0; i < Slots::count; ++i) {
    const lane slot = Slots::get(line, i);
    if (!Slots::matches(slot, wanted)) continue;
    const unsigned length = kernels::growing_length(Slots::code(slot, start, depth));
    if (best.slot == Slots::count || length > best.length) best = {.slot = i, .length = length};
  }
  if (!kernels::growing_is_full<Slots>(line)) return best;
  const growing_page_notes& notes = growing_pages::notes_of(static_cast<const std::byte*>(page.pointer()));
  const std::uint32_t at = growing_spill::longest_match(notes, digest, depth + kernels::growing_line_bits);
  if (at == notes.spilled) return best;
  const unsigned length = kernels::growing_length(notes.spill[at].code);
  if (best.slot == Slots::count || length >= best.length) best = {.spilled = at, .in_spill = true, .length = length};
  return best;
}

template <class Slots>
void growing_engine<Slots>::remove_spilled(growing_state& state, std::byte* page, std::uint32_t at) noexcept {
  state.covered -= kernels::growing_covers(growing_pages::notes_of(page).spill[at].code);
  --state.spilled;
  growing_spill(state.pages, page).remove_one(at);
}

// The hole is filled: with a code of the line that was spilled, or else with the last one.
template <class Slots>
void growing_engine<Slots>::remove_slot(growing_state& state, std::uint64_t digest, kernels::growing_page page,
                                        unsigned i) noexcept {
  const unsigned depth = page.tag();
  std::byte* line = line_at(page.pointer(), kernels::growing_line_of(digest, depth));
  growing_page_notes& notes = growing_pages::notes_of(page.pointer());
  note_removed(state, notes, Slots::get(line, i), depth);
  if (kernels::growing_is_full<Slots>(line)) {
    const std::uint32_t at = growing_spill::any_of_line(notes, line_start(digest, depth), depth);
    if (at != notes.spilled) {
      const lane slot = Slots::cut(notes.spill[at].code, depth);
      remove_spilled(state, page.pointer(), at);
      Slots::put(line, i, slot);
      note_added(state, notes, slot, depth);
      return;
    }
  }
  const unsigned last = kernels::growing_used<Slots>(line) - 1;
  Slots::put(line, i, Slots::get(line, last));
  Slots::put(line, last, 0);
}

template <class Slots>
void growing_engine<Slots>::remove(growing_state& state, std::uint64_t digest, const found& of) noexcept {
  const kernels::growing_page page = state.pages.page_of(digest);
  if (of.in_spill) {
    remove_spilled(state, page.pointer(), of.spilled);
  } else {
    remove_slot(state, digest, page, of.slot);
  }
}

template <class Slots>
bool growing_engine<Slots>::has_only_voids(const growing_state& state) noexcept {
  return state.pages.for_each_page([](std::uint64_t /*prefix*/, unsigned depth, const std::byte* page) {
    const growing_page_notes& notes = growing_pages::notes_of(page);
    const auto is_void = [depth](const growing_spilled& entry) {
      return kernels::growing_length(entry.code) == depth + kernels::growing_line_bits;
    };
    return notes.voids == notes.used && std::all_of(notes.spill, notes.spill + notes.spilled, is_void);
  });
}

template <class Slots>
bool growing_engine<Slots>::erase(growing_state& state, std::uint64_t digest) noexcept {
  const found best = longest_match(state, digest);
  if (!best.in_spill && best.slot == Slots::count) return false;
  remove(state, digest, best);
  const bool was_last = state.occurrences == 1;
  state.occurrences -= state.occurrences != 0 ? 1U : 0U;
  // What is left are halves whose keys are gone.
  if (was_last && state.codes() != 0 && (state.occurrences_known || has_only_voids(state))) clear(state);
  return true;
}

template <class Slots>
bool growing_engine<Slots>::rejuvenate(growing_state& state, std::uint64_t digest) noexcept {
  const found best = longest_match(state, digest);
  if (!best.in_spill && best.slot == Slots::count) return false;
  const unsigned in_slot = state.pages.page_of(digest).tag() + kernels::growing_line_bits + Slots::fingerprint;
  if (best.length >= (best.in_spill ? 63U : in_slot)) return true;
  // Where memory is refused, the key keeps the code that it has.
  const kernels::growing_page page = state.pages.page_of(digest);
  const std::byte* line = line_at(page.pointer(), kernels::growing_line_of(digest, page.tag()));
  if (kernels::growing_is_full<Slots>(line) && !state.pages.make_spill_room(growing_pages::notes_of(page.pointer()))) {
    return true;
  }
  remove(state, digest, best);
  const bool done = put(state, digest | 1U, 1);
  state.occurrences = std::min(state.occurrences, state.codes());
  return done;
}

template <class Slots>
std::uint64_t growing_engine<Slots>::count(const growing_state& state, std::uint64_t digest) noexcept {
  const kernels::growing_page page = state.pages.page_of(digest);
  const unsigned depth = page.tag();
  const std::byte* line =
      line_at(static_cast<const std::byte*>(page.pointer()), kernels::growing_line_of(digest, depth));
  const lane wanted = Slots::wanted(digest, depth);
  std::uint64_t matches = 0;
  for (unsigned i = 0; i < Slots::count; ++i) matches += Slots::matches(Slots::get(line, i), wanted) ? 1U : 0U;
  if (!kernels::growing_is_full<Slots>(line)) return matches;
  const growing_page_notes& notes = growing_pages::notes_of(static_cast<const std::byte*>(page.pointer()));
  return matches + growing_spill::count_matches(notes, digest, depth + kernels::growing_line_bits);
}

template <class Slots>
template <class F>
bool growing_engine<Slots>::for_each_code(std::uint64_t prefix, unsigned depth, const std::byte* page, F&& f) {
  for (unsigned line = 0; line < kernels::growing_page_lines; ++line) {
    const std::uint64_t start = prefix | std::uint64_t{line} << (64U - kernels::growing_line_bits) >> depth;
    for (unsigned i = 0; i < Slots::count; ++i) {
      const lane slot = Slots::get(line_at(page, line), i);
      if (slot == 0) break;
      if (!f(Slots::code(slot, start, depth), std::uint64_t{1})) return false;
    }
  }
  const growing_page_notes& notes = growing_pages::notes_of(page);
  for (std::uint32_t i = 0; i < notes.spilled; ++i) {
    if (!f(notes.spill[i].code, notes.spill[i].count)) return false;
  }
  return true;
}

template <class Slots>
bool growing_engine<Slots>::equal(const growing_state& a, const growing_state& b) noexcept {
  if (a.pages.pages() != b.pages.pages() || a.codes() != b.codes() || a.covered != b.covered) return false;
  return a.pages.for_each_page([&](std::uint64_t prefix, unsigned depth, const std::byte* page) {
    const kernels::growing_page other = b.pages.page_of(prefix);
    if (other.tag() != depth || std::memcmp(page, other.pointer(), kernels::growing_page_bytes) != 0) return false;
    const growing_page_notes& here = growing_pages::notes_of(page);
    const growing_page_notes& there = growing_pages::notes_of(static_cast<const std::byte*>(other.pointer()));
    if (here.spilled != there.spilled) return false;
    return here.spilled == 0 || std::memcmp(here.spill, there.spill, here.spilled * sizeof(growing_spilled)) == 0;
  });
}

}  // namespace bloomery::inline BLOOMERY_ABI

#include <bloomery/kinds/growing/merge.hpp>
