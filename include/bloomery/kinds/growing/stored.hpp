// kinds/growing/stored.hpp: the bytes of a growing filter in the native file.
//
//     pages x 8 bytes      of each page, in the order of their digests: depth (1 byte), entries of its spill (7 bytes)
//     pages x 4096 bytes   their lines
//     entries x 16 bytes   code and count of the spilled codes, page by page, sorted
//
// Everything that a look-up or a change relies on is checked before it is believed: the pages' spans tile all digests,
// no page is deeper than a filter of that many pages can have grown, used slots come first in their lines, spilled
// codes are sorted and belong to full lines. Counts and coverage are computed, not read; of the numbers in the header,
// occurrences are checked against the codes, and keys are at most as many as occurrences.
#pragma once

#include <bloomery/core/bytes.hpp>
#include <bloomery/core/pieces.hpp>
#include <bloomery/core/size.hpp>
#include <bloomery/kinds/growing/engine.hpp>
#include <span>

namespace bloomery::inline BLOOMERY_ABI {

template <class Slots>
struct growing_stored {
  using engine = growing_engine<Slots>;
  static constexpr std::uint64_t page_entry_bytes = 8;
  static constexpr std::uint64_t spilled_bytes = 16;
  static constexpr std::uint64_t page_bytes = page_entry_bytes + kernels::growing_page_bytes;

  static std::uint64_t size_bytes(const growing_state& state) noexcept {
    std::uint64_t entries = 0;
    state.pages.for_each_page([&](std::uint64_t /*prefix*/, unsigned /*depth*/, const std::byte* page) {
      entries += growing_pages::notes_of(page).spilled;
      return true;
    });
    return state.pages.pages() * page_bytes + entries * spilled_bytes;
  }

  static result<void> write(const growing_state& state, const byte_sink& sink) noexcept {
    piece_writer out(sink);
    state.pages.for_each_page([&](std::uint64_t /*prefix*/, unsigned depth, const std::byte* page) {
      store_le(out.take(page_entry_bytes),
               std::uint64_t{depth} | std::uint64_t{growing_pages::notes_of(page).spilled} << 8U);
      return true;
    });
    state.pages.for_each_page([&](std::uint64_t /*prefix*/, unsigned /*depth*/, const std::byte* page) {
      return out.write({page, kernels::growing_page_bytes}).has_value();
    });
    state.pages.for_each_page([&](std::uint64_t /*prefix*/, unsigned /*depth*/, const std::byte* page) {
      const growing_page_notes& notes = growing_pages::notes_of(page);
      for (std::uint32_t i = 0; i < notes.spilled; ++i) {
        std::byte* entry = out.take(spilled_bytes);
        store_le(entry, notes.spill[i].code);
        store_le(entry + 8, notes.spill[i].count);
      }
      return true;
    });
    return out.flush();
  }

  static result<growing_state> read(const byte_feed& bytes, std::uint64_t pages, unsigned first_depth,
                                    const memory_hooks* hooks) noexcept;

 private:
  static failure damaged(std::string_view what) noexcept { return fail(errc::codec_failed, what); }
  static failure no_memory(std::uint64_t bytes) noexcept { return fail(errc::out_of_memory, "the filter", {bytes}); }
  // Takes the pages, empty, and gives them their places. Their notes keep how many codes they have spilled.
  static result<void> read_table(growing_state& state, const byte_feed& bytes, std::uint64_t pages) noexcept;
  static result<void> read_lines(growing_state& state, unsigned depth, std::byte* page,
                                 const byte_feed& bytes) noexcept;
  static result<void> read_spill(growing_state& state, std::uint64_t prefix, unsigned depth, std::byte* page,
                                 const byte_feed& bytes) noexcept;
};

// Every page is counted against the bytes that there are before it is taken.
template <class Slots>
result<growing_state> growing_stored<Slots>::read(const byte_feed& bytes, std::uint64_t pages, unsigned first_depth,
                                                  const memory_hooks* hooks) noexcept {
  if (pages == 0 || bytes.left_bytes() / page_bytes < pages) return damaged("it has fewer bytes than its pages take");
  auto made = growing_pages::make(std::min(pages, growing_pages::slab_pages), hooks);
  if (!made) return fail(made.error());
  growing_state state;
  state.pages = std::move(*made);
  state.first_depth = first_depth;
  if (auto done = read_table(state, bytes, pages); !done) return fail(done.error());
  const std::uint64_t entries = (bytes.left_bytes() - pages * kernels::growing_page_bytes) / spilled_bytes;
  result<void> done;
  state.pages.for_each_page([&](std::uint64_t /*prefix*/, unsigned depth, std::byte* page) {
    done = read_lines(state, depth, page, bytes);
    return done.has_value();
  });
  if (!done) return fail(done.error());
  state.pages.for_each_page([&](std::uint64_t prefix, unsigned depth, std::byte* page) {
    done = read_spill(state, prefix, depth, page, bytes);
    return done.has_value();
  });
  if (!done) return fail(done.error());
  if (state.spilled - entries > engine::most_copies) return damaged("its spilled codes have too many copies");
  return state;
}

// The sizes agree, and the pages tile all digests.
template <class Slots>
result<void> growing_stored<Slots>::read_table(growing_state& state, const byte_feed& bytes,
                                               std::uint64_t pages) noexcept {
  const unsigned usual = static_cast<unsigned>(std::bit_width(pages) - 1);
  const unsigned most = std::min(engine::deepest, usual + engine::uneven_depth);
  const std::uint64_t left = bytes.left_bytes() - pages * page_bytes;
  const std::uint64_t room = left / spilled_bytes;
  std::uint64_t prefix = 0;
  std::uint64_t entries = 0;
  std::array<std::byte, 512 * page_entry_bytes> some;
  for (std::uint64_t i = 0; i < pages; ++i) {
    const std::uint64_t at = i % 512;
    if (at == 0) {
      const auto next = std::span(some).first(to_size(std::min<std::uint64_t>(pages - i, 512) * page_entry_bytes));
      if (auto done = bytes.read(next); !done) return done;
    }
    const auto word = load_le<std::uint64_t>(some.data() + at * page_entry_bytes);
    const unsigned depth = word & 0xffU;
    if (depth > most || depth < state.first_depth) return damaged("a page has an impossible depth");
    if (word >> 8U > room - entries) return damaged("it has fewer bytes than its spilled codes take");
    if (word >> 8U > 0xffffffffU) return damaged("a page has too many spilled codes");
    entries += word >> 8U;
    const std::uint64_t span = depth == 0 ? 0 : std::uint64_t{1} << (64U - depth);
    const bool last = i + 1 == pages;
    // Spans are multiples of themselves apart, and the last one ends where the digests end.
    if ((prefix & (span - 1)) != 0) return damaged("its pages overlap");  // depth 0: span - 1 is all digests
    if ((prefix + span == 0) != last) return damaged("its pages do not cover all digests once");
    std::byte* page = state.pages.deepen(prefix, depth) ? state.pages.take_page() : nullptr;
    if (page == nullptr) return no_memory(growing_pages::page_stride);
    growing_pages::notes_of(page).room = static_cast<std::uint32_t>(word >> 8U);
    state.pages.assign(prefix, depth, page);
    prefix += span;
  }
  if (entries * spilled_bytes != left) return damaged("it has bytes that mean nothing");
  return {};
}

template <class Slots>
result<void> growing_stored<Slots>::read_lines(growing_state& state, unsigned depth, std::byte* page,
                                               const byte_feed& bytes) noexcept {
  if (auto done = bytes.read({page, kernels::growing_page_bytes}); !done) return done;
  growing_page_notes& notes = growing_pages::notes_of(page);
  for (unsigned line = 0; line < kernels::growing_page_lines; ++line) {
    const std::byte* at = engine::line_at(page, line);
    const unsigned used = kernels::growing_used<Slots>(at);
    if (used != 0 && Slots::get(at, used - 1) == 0) return damaged("a line has an empty slot before a used one");
    if (Slots::width == 24 && at[kernels::growing_line_bytes - 1] != std::byte{0}) {
      return damaged("a line has bytes that mean nothing");
    }
    for (unsigned i = 0; i < used; ++i) {
      const auto slot = Slots::get(at, i);
      notes.voids += slot == Slots::void_slot ? 1U : 0U;
      state.covered += kernels::growing_covers(Slots::code(slot, 0, depth));
    }
    notes.used += used;
  }
  state.slots_used += notes.used;
  return {};
}

template <class Slots>
result<void> growing_stored<Slots>::read_spill(growing_state& state, std::uint64_t prefix, unsigned depth,
                                               std::byte* page, const byte_feed& bytes) noexcept {
  growing_page_notes& notes = growing_pages::notes_of(page);
  const std::uint64_t entries = std::exchange(notes.room, 0U);
  if (entries == 0) return {};
  const std::uint64_t room = growing_pages::spill_room(entries);
  notes.spill = state.pages.take_spill(room);
  if (notes.spill == nullptr) return no_memory(entries * spilled_bytes);
  notes.room = static_cast<std::uint32_t>(room);
  std::uint64_t before = 0;
  for (std::uint64_t i = 0; i < entries; ++i) {
    std::array<std::byte, spilled_bytes> entry;
    if (auto done = bytes.read(entry); !done) return done;
    const auto code = load_le<std::uint64_t>(entry.data());
    const auto count = load_le<std::uint64_t>(entry.data() + 8);
    if (code <= before) return damaged("spilled codes are not sorted");
    if (depth != 0 && (code ^ prefix) >> (64U - depth) != 0) return damaged("a spilled code is not of its page");
    if (kernels::growing_length(code) < depth + kernels::growing_line_bits)
      return damaged("a spilled code is too short");
    if (count == 0 || count - 1 > engine::most_copies || state.spilled > 2 * engine::most_copies) {
      return damaged("a spilled code has no usable count");
    }
    if (!kernels::growing_is_full<Slots>(engine::line_at(page, kernels::growing_line_of(code, depth)))) {
      return damaged("a spilled code is of a line that is not full");
    }
    notes.spill[notes.spilled] = {code, count};
    growing_spill::note_entry(notes, code);
    state.spilled += count;
    state.covered += multiply_wide(kernels::growing_covers(code), count);
    before = code;
  }
  return {};
}

}  // namespace bloomery::inline BLOOMERY_ABI
