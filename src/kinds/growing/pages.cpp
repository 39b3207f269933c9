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
  if (own_.slab_count == own_.slab_room) {
    const std::uint64_t room = own_.slab_room == 0 ? 8 : own_.slab_room * 2;
    slab* more = take<slab>(room);
    if (more == nullptr) return false;
    if (own_.slab_count != 0) std::memcpy(more, own_.slabs, to_size(own_.slab_count * sizeof(slab)));
    give(own_.slabs, own_.slab_room);
    own_.slabs = more;
    own_.slab_room = room;
  }
  if (pages > aligned_buffer::max_bytes / page_stride) return false;
  auto* memory = take<std::byte>(slab_bytes(pages));
  if (memory == nullptr) return false;
  own_.slabs[own_.slab_count++] = {memory, pages, 0};
  return true;
}

BLOOMERY_BODY std::byte* growing_pages::take_page() noexcept {
  // Slabs fill one after the other: there may be space in more than the last only after reserve and reset.
  std::uint64_t at = own_.slab_count;
  while (at > 0 && own_.slabs[at - 1].used == 0) --at;
  if (at == 0 || own_.slabs[at - 1].used == own_.slabs[at - 1].room) {
    // A quarter more than there is: little is idle while the filter is small. From 4 MiB on whole huge pages.
    const std::uint64_t more = own_.pages / 2 >= slab_pages ? slab_pages : std::max<std::uint64_t>(own_.pages / 4, 1);
    if (at == own_.slab_count && !add_slab(more)) return nullptr;
    ++at;
  }
  slab& from = own_.slabs[at - 1];
  ++own_.pages;
  return from.memory + page_stride * from.used++;
}

BLOOMERY_BODY bool growing_pages::reserve(std::uint64_t pages) noexcept {
  std::uint64_t idle = 0;
  for (std::uint64_t i = 0; i < own_.slab_count; ++i) idle += own_.slabs[i].room - own_.slabs[i].used;
  while (idle < pages) {
    const std::uint64_t more = std::min(pages - idle, slab_pages);
    if (!add_slab(more)) return false;
    // The system provides memory that is zero already when it is first written to.
    std::byte* memory = own_.slabs[own_.slab_count - 1].memory;
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
  std::uint64_t room = 0;
  std::uint64_t kept = 0;
  for (; room < wanted; ++kept) {
    slab& here = own_.slabs[kept];
    std::memset(here.memory, 0, to_size(here.used * page_stride));
    here.used = 0;
    room += here.room;
  }
  while (own_.slab_count > kept) {
    const slab& last = own_.slabs[--own_.slab_count];
    give(last.memory, slab_bytes(last.room));
  }
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
    notes.room = notes.spilled;
    copy->assign(prefix, depth, to);
    if (notes.spilled == 0) return true;
    notes.spill = copy->take_spill(notes.room);
    if (notes.spill == nullptr) return false;
    std::memcpy(notes.spill, spill, notes.spilled * sizeof(growing_spilled));
    return true;
  });
  if (!done) return fail(errc::out_of_memory, "a copy of the filter", {own_.bytes});
  return copy;
}

BLOOMERY_BODY bool growing_pages::make_spill_room(growing_page_notes& notes) noexcept {
  if (notes.spilled < notes.room) return true;
  const std::uint64_t room = notes.room == 0 ? 4 : std::uint64_t{notes.room} * 2;
  if (room > 0xffffffffU) return false;
  growing_spilled* more = take_spill(room);
  if (more == nullptr) return false;
  if (notes.spilled != 0) std::memcpy(more, notes.spill, notes.spilled * sizeof(growing_spilled));
  give_spill(notes.spill, notes.room);
  notes.spill = more;
  notes.room = static_cast<std::uint32_t>(room);
  return true;
}

BLOOMERY_BODY void growing_pages::release_spills() noexcept {
  for (std::uint64_t i = 0; i < own_.slab_count; ++i) {
    for (std::uint64_t j = 0; j < own_.slabs[i].used; ++j) {
      const growing_page_notes& notes = notes_of(own_.slabs[i].memory + j * page_stride);
      give_spill(notes.spill, notes.room);
    }
  }
}

BLOOMERY_BODY void growing_pages::release_all() noexcept {
  if (own_.hooks == nullptr) return;
  release_spills();
  for (std::uint64_t i = 0; i < own_.slab_count; ++i) give(own_.slabs[i].memory, slab_bytes(own_.slabs[i].room));
  give(own_.slabs, own_.slab_room);
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
