#include <bloomery/kinds/growing/pages.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY result<growing_pages> growing_pages::make(std::uint64_t pages, const memory_hooks* hooks) noexcept {
  growing_pages made;
  made.own_.hooks = hooks != nullptr ? hooks : &default_memory();
  made.own_.root = made.take<table>(1);
  if (made.own_.root != nullptr) made.own_.base = made.take<entry>(1);
  if (made.own_.base == nullptr || !made.add_slab(pages)) {
    return fail(errc::out_of_memory, "the filter", {pages * page_stride});
  }
  made.own_.root[0] = tag(made.own_.base, 0);
  made.own_.directory_bytes = bytes_of<table>(1) + bytes_of<entry>(1);
  return made;
}

BLOOMERY_BODY bool growing_pages::add_slab(std::uint64_t pages) noexcept {
  if (pages > (aligned_buffer::max_bytes - slab_head_bytes) / page_stride) return false;
  auto* memory = take<std::byte>(slab_bytes(pages));
  if (memory == nullptr) return false;
  auto* added = std::construct_at(reinterpret_cast<slab*>(memory), slab{nullptr, pages, 0});
  if (own_.slabs == nullptr) {
    own_.slabs = own_.filling = added;
  } else {
    own_.last->next = added;
  }
  own_.last = added;
  return true;
}

BLOOMERY_BODY std::byte* growing_pages::take_page() noexcept {
  if (own_.filling->used == own_.filling->room) {
    // A quarter more than there is: little is idle while the filter is small.
    const std::uint64_t more = std::clamp<std::uint64_t>(own_.pages / 4, 1, slab_pages);
    if (own_.filling->next == nullptr && !add_slab(more)) return nullptr;
    own_.filling = own_.filling->next;
  }
  ++own_.pages;
  return page_in(own_.filling, own_.filling->used++);
}

BLOOMERY_BODY bool growing_pages::reserve(std::uint64_t pages) noexcept {
  std::uint64_t idle = 0;
  for (const slab* each = own_.filling; each != nullptr; each = each->next) idle += each->room - each->used;
  while (idle < pages) {
    const std::uint64_t more = std::min(pages - idle, slab_pages);
    if (!add_slab(more)) return false;
    // The system provides memory that is zero already when it is first written to.
    std::byte* memory = page_in(own_.last, 0);
    for (std::uint64_t i = 0; i < more * page_stride; i += 4096) {
      *static_cast<volatile std::byte*>(memory + i) = std::byte{0};
    }
    idle += more;
  }
  return true;
}

BLOOMERY_BODY bool growing_pages::deepen(std::uint64_t prefix, unsigned depth) noexcept {
  while (own_.root_bits == 0 && depth > own_.base_bits) {
    if (!(own_.base_bits < one_level_bits ? double_only_table() : grow_second_level())) return false;
  }
  if (own_.root_bits == 0) return true;
  table& here = own_.root[prefix >> (64U - root_bits)];
  while (depth > root_bits + here.tag()) {
    if (!double_table(here)) return false;
  }
  return true;
}

BLOOMERY_BODY bool growing_pages::double_only_table() noexcept {
  const std::uint64_t before = base_entries();
  entry* more = take<entry>(before * 2);
  if (more == nullptr) return false;
  for (std::uint64_t i = 0; i < before * 2; ++i) more[i] = own_.base[i / 2];
  give(own_.base, before);
  own_.base = more;
  own_.root[0] = tag(more, ++own_.base_bits);
  own_.directory_bytes += bytes_of<entry>(before * 2) - bytes_of<entry>(before);
  return true;
}

BLOOMERY_BODY bool growing_pages::grow_second_level() noexcept {
  constexpr std::uint64_t tables = std::uint64_t{1} << root_bits;
  constexpr unsigned bits = one_level_bits + 1 - root_bits;
  static_assert((std::size_t{1} << bits) * sizeof(entry) % cache_line_bytes == 0, "a table's address carries a tag");
  const std::uint64_t before = base_entries();
  table* root = take<table>(tables);
  if (root == nullptr) return false;
  entry* entries = take<entry>(before * 2);
  if (entries == nullptr) {
    give(root, tables);
    return false;
  }
  for (std::uint64_t i = 0; i < before * 2; ++i) entries[i] = own_.base[i / 2];
  for (std::uint64_t i = 0; i < tables; ++i) root[i] = tag(entries + (i << bits), bits);
  give(own_.base, before);
  give(own_.root, 1);
  own_.root = root;
  own_.base = entries;
  own_.root_bits = root_bits;
  own_.base_bits = bits;
  own_.directory_bytes = bytes_of<table>(tables) + bytes_of<entry>(before * 2);
  return true;
}

// A table of more than 2^base_bits entries has memory of its own; the others are in `base`.
BLOOMERY_BODY bool growing_pages::double_table(table& of) noexcept {
  const unsigned bits = of.tag();
  const std::uint64_t before = std::uint64_t{1} << bits;
  entry* more = take<entry>(before * 2);
  if (more == nullptr) return false;
  entry* old = entries_of(of);
  for (std::uint64_t i = 0; i < before * 2; ++i) more[i] = old[i / 2];
  own_.directory_bytes += bytes_of<entry>(before * 2);
  if (bits > own_.base_bits) {
    give(old, before);
    own_.directory_bytes -= bytes_of<entry>(before);
  }
  of = tag(more, bits + 1);
  return true;
}

BLOOMERY_BODY void growing_pages::assign(std::uint64_t prefix, unsigned depth, std::byte* page) noexcept {
  const entry word{page + depth};
  // A page that is shallower than the root stands in all entries of several tables.
  const bool spans = depth < own_.root_bits;
  const std::uint64_t first = own_.root_bits == 0 ? 0 : prefix >> (64U - own_.root_bits);
  const std::uint64_t tables = spans ? std::uint64_t{1} << (own_.root_bits - depth) : 1;
  for (std::uint64_t i = first; i < first + tables; ++i) {
    entry* entries = entries_of(own_.root[i]);
    const unsigned bits = own_.root[i].tag();
    const std::uint64_t begin = spans ? 0 : ((prefix << own_.root_bits) >> 1U) >> (63U - bits);
    const std::uint64_t size = std::uint64_t{1} << (spans ? bits : bits + own_.root_bits - depth);
    std::fill_n(entries + begin, size, word);
  }
}

BLOOMERY_BODY bool growing_pages::fill(unsigned depth) noexcept {
  for (std::uint64_t i = 0; i < std::uint64_t{1} << depth; ++i) {
    const std::uint64_t prefix = depth == 0 ? 0 : i << (64U - depth);
    if (!deepen(prefix, depth)) return false;
    std::byte* page = take_page();
    if (page == nullptr) return false;
    assign(prefix, depth, page);
  }
  return true;
}

BLOOMERY_BODY void growing_pages::reset(unsigned depth) noexcept {
  const std::uint64_t wanted = std::uint64_t{1} << depth;
  release_spills();
  slab* kept = own_.slabs;
  for (std::uint64_t room = 0;; kept = kept->next) {
    std::memset(page_in(kept, 0), 0, to_size(kept->used * page_stride));
    kept->used = 0;
    room += kept->room;
    if (room >= wanted) break;
  }
  own_.filling = own_.slabs;
  own_.last = kept;
  for (slab* next = std::exchange(kept->next, nullptr); next != nullptr;) give_slab(std::exchange(next, next->next));
  own_.pages = 0;
  // Neither the pages nor the directory, which was deep enough before, need memory.
  static_cast<void>(fill(depth));
}

BLOOMERY_BODY result<growing_pages> growing_pages::clone() const noexcept {
  auto copy = make(own_.pages, own_.hooks);
  if (!copy) return copy;
  const bool done = for_each_page([&](std::uint64_t prefix, unsigned depth, const std::byte* page) {
    std::byte* to = copy->deepen(prefix, depth) ? copy->take_page() : nullptr;
    if (to == nullptr) return false;
    std::memcpy(to, page, page_stride);
    growing_page_notes& notes = notes_of(to);
    const growing_spilled* spill = std::exchange(notes.spill, nullptr);
    notes.room = 0;
    copy->assign(prefix, depth, to);
    if (notes.spilled == 0) return true;
    const std::uint64_t room = spill_room(notes.spilled);
    if (room <= 0xffffffffU) notes.spill = copy->take_spill(room);
    if (notes.spill == nullptr) return false;
    notes.room = static_cast<std::uint32_t>(room);
    std::memcpy(notes.spill, spill, notes.spilled * sizeof(growing_spilled));
    return true;
  });
  if (!done) return fail(errc::out_of_memory, "a copy of the filter", {own_.bytes});
  return copy;
}

BLOOMERY_BODY bool growing_pages::make_spill_room(growing_page_notes& notes) noexcept {
  if (notes.spilled < notes.room) return true;
  const std::uint64_t room = spill_room(notes.room == 0 ? 1 : std::uint64_t{notes.room} * 2);
  if (room > 0xffffffffU) return false;
  growing_spilled* more = take_spill(room);
  if (more == nullptr) return false;
  if (notes.spilled != 0) std::memcpy(more, notes.spill, notes.spilled * sizeof(growing_spilled));
  give_spill(notes.spill, notes.room);
  notes.spill = more;
  notes.room = static_cast<std::uint32_t>(room);
  return true;
}

BLOOMERY_BODY bool growing_pages::add_spill_block(std::uint64_t least_lines) noexcept {
  // What is left of the block before goes into the lists.
  while (own_.fresh_lines != 0) {
    const std::uint64_t lines = std::min<std::uint64_t>(std::bit_floor(own_.fresh_lines), most_pooled / 4);
    give_spill(reinterpret_cast<growing_spilled*>(own_.fresh), lines * 4);
    own_.fresh += lines * cache_line_bytes;
    own_.fresh_lines -= lines;
  }
  // As for pages: a quarter more than there is.
  std::uint64_t lines = 1 + std::clamp(own_.block_lines / 4, least_lines, most_block_lines);
  auto* memory = take<std::byte>(lines * cache_line_bytes);
  if (memory == nullptr && lines > 1 + least_lines) {
    lines = 1 + least_lines;
    memory = take<std::byte>(lines * cache_line_bytes);
  }
  if (memory == nullptr) return false;
  own_.blocks = std::construct_at(reinterpret_cast<spill_block*>(memory), spill_block{own_.blocks, lines});
  own_.block_lines += lines;
  own_.fresh = memory + cache_line_bytes;
  own_.fresh_lines = lines - 1;
  return true;
}

BLOOMERY_BODY growing_spilled* growing_pages::take_spill(std::uint64_t room) noexcept {
  if (room > most_pooled) return take<growing_spilled>(room);
  free_spill*& waiting = own_.free_spills[spill_size_of(room)];
  if (waiting != nullptr) return reinterpret_cast<growing_spilled*>(std::exchange(waiting, waiting->next));
  const std::uint64_t lines = room / 4;
  static_assert(4 * sizeof(growing_spilled) == cache_line_bytes);
  if (own_.fresh_lines < lines && !add_spill_block(lines)) return nullptr;
  own_.fresh_lines -= lines;
  return reinterpret_cast<growing_spilled*>(std::exchange(own_.fresh, own_.fresh + lines * cache_line_bytes));
}

BLOOMERY_BODY void growing_pages::give_spill(growing_spilled* spill, std::uint64_t room) noexcept {
  if (spill == nullptr) return;
  if (room > most_pooled) return give(spill, room);
  free_spill*& waiting = own_.free_spills[spill_size_of(room)];
  waiting = std::construct_at(reinterpret_cast<free_spill*>(spill), free_spill{waiting});
}

BLOOMERY_BODY void growing_pages::release_spills() noexcept {
  for (slab* each = own_.slabs; each != nullptr; each = each->next) {
    for (std::uint64_t i = 0; i < each->used; ++i) {
      const growing_page_notes& notes = notes_of(page_in(each, i));
      if (notes.room > most_pooled) give(notes.spill, notes.room);
    }
  }
  while (own_.blocks != nullptr) {
    spill_block* const block = std::exchange(own_.blocks, own_.blocks->next);
    give(reinterpret_cast<std::byte*>(block), block->lines * cache_line_bytes);
  }
  own_.fresh = nullptr;
  own_.fresh_lines = 0;
  own_.block_lines = 0;
  own_.free_spills = {};
}

BLOOMERY_BODY void growing_pages::release_all() noexcept {
  if (own_.hooks == nullptr) return;
  release_spills();
  for (slab* each = own_.slabs; each != nullptr;) give_slab(std::exchange(each, each->next));
  if (own_.root_bits != 0) {
    for (std::uint64_t i = 0; i < roots(); ++i) {
      const unsigned bits = own_.root[i].tag();
      if (bits > own_.base_bits) give(entries_of(own_.root[i]), std::uint64_t{1} << bits);
    }
  }
  if (own_.base != nullptr) give(own_.base, base_entries());
  give(own_.root, roots());
  own_ = {};
}

}  // namespace bloomery::inline BLOOMERY_ABI
