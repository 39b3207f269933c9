// kinds/growing/spill.hpp: the codes of a page that found no slot in their lines.
//
// A sorted array of codes with their counts. A code is there only while its line is full. Usually all of them are whole
// digests and one binary search answers; after a merge there may be shorter ones, and then every length is searched
// for. A page has a handful of entries. Digests that were chosen to fall into one line can make it many: an insert then
// moves half of them. Use a keyed hash where others choose the keys.
#pragma once

#include <bloomery/kinds/growing/pages.hpp>

namespace bloomery::inline BLOOMERY_ABI {

class growing_spill {
 public:
  growing_spill(growing_pages& pages, std::byte* page) noexcept
      : pages_(pages), notes_(growing_pages::notes_of(page)) {}

  // A bit of the digest's low end, which neither pages nor lines nor slots come to: almost all look-ups that a full
  // line does not settle are settled here, without the spill. Never false for a digest that a code matches. A code that
  // was removed leaves its bit until no code is left.
  static bool may_hold(const growing_page_notes& notes, std::uint64_t digest) noexcept {
    return (notes.spill_marks & mark_of(digest)) != 0;
  }
  // What the notes hold about an entry that is new in the array.
  static void note_entry(growing_page_notes& notes, std::uint64_t code) noexcept {
    ++notes.spilled;
    notes.short_spilled += is_short(code) ? 1U : 0U;
    notes.spill_marks |= is_short(code) ? ~std::uint64_t{0} : mark_of(code);
  }

  // The first entry whose code is not below this one.
  static std::uint32_t lower_bound(const growing_page_notes& notes, std::uint64_t code) noexcept {
    if (notes.spilled == 0) return 0;
    // Halves without a branch, which would be guessed wrong every other time.
    const growing_spilled* from = notes.spill;
    for (std::uint32_t left = notes.spilled; left > 1;) {
      const std::uint32_t half = left / 2;
      from += from[half - 1].code < code ? half : 0U;
      left -= half;
    }
    return static_cast<std::uint32_t>(from - notes.spill) + (from->code < code ? 1U : 0U);
  }
  static bool holds(const growing_page_notes& notes, std::uint64_t code) noexcept {
    const std::uint32_t at = lower_bound(notes, code);
    return at < notes.spilled && notes.spill[at].code == code;
  }
  // The entry of the longest code that matches, not shorter than `least` bits; notes.spilled when there is none.
  static std::uint32_t longest_match(const growing_page_notes& notes, std::uint64_t digest, unsigned least) noexcept {
    if (notes.spilled == 0) return 0;
    for (unsigned length = 63; length >= least; --length) {
      const std::uint64_t code = kernels::growing_code(digest, length);
      const std::uint32_t at = lower_bound(notes, code);
      if (at < notes.spilled && notes.spill[at].code == code) return at;
      if (notes.short_spilled == 0) break;
    }
    return notes.spilled;
  }
  static std::uint64_t count_matches(const growing_page_notes& notes, std::uint64_t digest, unsigned least) noexcept {
    std::uint64_t count = 0;
    for (unsigned length = 63; length >= least && notes.spilled != 0; --length) {
      const std::uint64_t code = kernels::growing_code(digest, length);
      const std::uint32_t at = lower_bound(notes, code);
      if (at < notes.spilled && notes.spill[at].code == code) count += notes.spill[at].count;
      if (notes.short_spilled == 0) break;
    }
    return count;
  }
  // An entry of the line that begins with `start`; notes.spilled when there is none.
  static std::uint32_t any_of_line(const growing_page_notes& notes, std::uint64_t start, unsigned depth) noexcept {
    const std::uint32_t at = lower_bound(notes, start);
    const unsigned line_bits = depth + kernels::growing_line_bits;
    if (at < notes.spilled && ((notes.spill[at].code ^ start) >> (64U - line_bits)) == 0) return at;
    return notes.spilled;
  }

  // False when memory was refused; nothing has changed then.
  bool add(std::uint64_t code, std::uint64_t count) noexcept {
    const std::uint32_t at = lower_bound(notes_, code);
    if (at < notes_.spilled && notes_.spill[at].code == code) {
      notes_.spill[at].count += count;
      return true;
    }
    if (!pages_.make_spill_room(notes_)) return false;
    std::memmove(notes_.spill + at + 1, notes_.spill + at, (notes_.spilled - at) * sizeof(growing_spilled));
    notes_.spill[at] = {code, count};
    note_entry(notes_, code);
    return true;
  }
  // Takes one of an entry's codes away.
  void remove_one(std::uint32_t at) noexcept {
    if (--notes_.spill[at].count != 0) return;
    notes_.short_spilled -= is_short(notes_.spill[at].code) ? 1U : 0U;
    --notes_.spilled;
    if (notes_.spilled == 0) notes_.spill_marks = 0;
    std::memmove(notes_.spill + at, notes_.spill + at + 1, (notes_.spilled - at) * sizeof(growing_spilled));
  }
  static bool is_short(std::uint64_t code) noexcept { return (code & 1U) == 0; }

 private:
  // A code of a whole digest is the digest with its lowest bit set.
  static std::uint64_t mark_of(std::uint64_t digest) noexcept { return std::uint64_t{1} << ((digest >> 1U) % 64); }

  growing_pages& pages_;
  growing_page_notes& notes_;
};

}  // namespace bloomery::inline BLOOMERY_ABI
