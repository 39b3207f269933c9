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

  static void write(const growing_state& state, std::byte* out) noexcept {
    std::byte* table = out;
    std::byte* lines = out + state.pages.pages() * page_entry_bytes;
    std::byte* spill = out + state.pages.pages() * page_bytes;
    state.pages.for_each_page([&](std::uint64_t /*prefix*/, unsigned depth, const std::byte* page) {
      const growing_page_notes& notes = growing_pages::notes_of(page);
      store_le(table, std::uint64_t{depth} | std::uint64_t{notes.spilled} << 8U);
      table += page_entry_bytes;
      std::memcpy(lines, page, kernels::growing_page_bytes);
      lines += kernels::growing_page_bytes;
      for (std::uint32_t i = 0; i < notes.spilled; ++i, spill += spilled_bytes) {
        store_le(spill, notes.spill[i].code);
        store_le(spill + 8, notes.spill[i].count);
      }
      return true;
    });
  }

  static result<growing_state> read(std::span<const std::byte> bytes, std::uint64_t pages, unsigned first_depth,
                                    const memory_hooks* hooks) noexcept;

 private:
  static failure damaged(std::string_view what) noexcept { return fail(errc::codec_failed, what); }
  static result<void> check_sizes(std::span<const std::byte> bytes, std::uint64_t pages, unsigned first_depth) noexcept;
  // The page's lines and spill into memory.
  static result<void> read_page(growing_state& state, std::uint64_t prefix, unsigned depth, const std::byte* lines,
                                std::span<const std::byte> spill) noexcept;
  static result<void> read_spill(growing_state& state, std::uint64_t prefix, unsigned depth, std::byte* page,
                                 std::span<const std::byte> spill) noexcept;
};

// Before any memory is requested: the sizes agree, and the pages tile all digests.
template <class Slots>
result<void> growing_stored<Slots>::check_sizes(std::span<const std::byte> bytes, std::uint64_t pages,
                                                unsigned first_depth) noexcept {
  if (pages == 0 || bytes.size() / page_bytes < pages) return damaged("it has fewer bytes than its pages take");
  const unsigned usual = static_cast<unsigned>(std::bit_width(pages) - 1);
  const unsigned most = std::min(engine::deepest, usual + engine::uneven_depth);
  const std::uint64_t room = (bytes.size() - pages * page_bytes) / spilled_bytes;
  std::uint64_t prefix = 0;
  std::uint64_t entries = 0;
  for (std::uint64_t i = 0; i < pages; ++i) {
    const auto word = load_le<std::uint64_t>(bytes.data() + i * page_entry_bytes);
    const unsigned depth = word & 0xffU;
    if (depth > most || depth < first_depth) return damaged("a page has an impossible depth");
    if (word >> 8U > room - entries) return damaged("it has fewer bytes than its spilled codes take");
    entries += word >> 8U;
    const std::uint64_t span = depth == 0 ? 0 : std::uint64_t{1} << (64U - depth);
    const bool last = i + 1 == pages;
    // Spans are multiples of themselves apart, and the last one ends where the digests end.
    if (depth != 0 && (prefix & (span - 1)) != 0) return damaged("its pages overlap");
    prefix += span;
    if ((prefix == 0) != last) return damaged("its pages do not cover all digests once");
  }
  if (pages * page_bytes + entries * spilled_bytes != bytes.size()) return damaged("it has bytes that mean nothing");
  return {};
}

template <class Slots>
result<growing_state> growing_stored<Slots>::read(std::span<const std::byte> bytes, std::uint64_t pages,
                                                  unsigned first_depth, const memory_hooks* hooks) noexcept {
  if (auto checked = check_sizes(bytes, pages, first_depth); !checked) return fail(checked.error());
  auto made = growing_pages::make(std::min(pages, growing_pages::slab_pages), hooks);
  if (!made) return fail(made.error());
  growing_state state;
  state.pages = std::move(*made);
  state.first_depth = first_depth;
  const std::byte* lines = bytes.data() + pages * page_entry_bytes;
  std::uint64_t spill_at = pages * page_bytes;
  std::uint64_t prefix = 0;
  for (std::uint64_t i = 0; i < pages; ++i, lines += kernels::growing_page_bytes) {
    const auto word = load_le<std::uint64_t>(bytes.data() + i * page_entry_bytes);
    const unsigned depth = word & 0xffU;
    const auto spill = bytes.subspan(spill_at, (word >> 8U) * spilled_bytes);
    if (auto done = read_page(state, prefix, depth, lines, spill); !done) return fail(done.error());
    spill_at += spill.size();
    prefix += depth == 0 ? 0 : std::uint64_t{1} << (64U - depth);
  }
  const std::uint64_t entries = (bytes.size() - pages * page_bytes) / spilled_bytes;
  if (state.spilled - entries > engine::most_copies) return damaged("its spilled codes have too many copies");
  return state;
}

template <class Slots>
result<void> growing_stored<Slots>::read_page(growing_state& state, std::uint64_t prefix, unsigned depth,
                                              const std::byte* lines, std::span<const std::byte> spill) noexcept {
  std::byte* page = state.pages.deepen(prefix, depth) ? state.pages.take_page() : nullptr;
  if (page == nullptr) return fail(errc::out_of_memory, "the filter", {growing_pages::page_stride});
  std::memcpy(page, lines, kernels::growing_page_bytes);
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
  state.pages.assign(prefix, depth, page);
  return spill.empty() ? result<void>{} : read_spill(state, prefix, depth, page, spill);
}

template <class Slots>
result<void> growing_stored<Slots>::read_spill(growing_state& state, std::uint64_t prefix, unsigned depth,
                                               std::byte* page, std::span<const std::byte> spill) noexcept {
  const std::uint64_t entries = spill.size() / spilled_bytes;
  if (entries > 0xffffffffU) return damaged("a page has too many spilled codes");
  growing_page_notes& notes = growing_pages::notes_of(page);
  const std::uint64_t room = growing_pages::spill_room(entries);
  notes.spill = state.pages.take_spill(room);
  if (notes.spill == nullptr) return fail(errc::out_of_memory, "the filter", {spill.size()});
  notes.room = static_cast<std::uint32_t>(room);
  std::uint64_t before = 0;
  for (std::uint64_t i = 0; i < entries; ++i) {
    const auto code = load_le<std::uint64_t>(spill.data() + i * spilled_bytes);
    const auto count = load_le<std::uint64_t>(spill.data() + i * spilled_bytes + 8);
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
    state.covered += static_cast<uint128>(kernels::growing_covers(code)) * count;
    before = code;
  }
  return {};
}

}  // namespace bloomery::inline BLOOMERY_ABI
