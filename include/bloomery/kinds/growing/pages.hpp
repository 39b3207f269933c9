// kinds/growing/pages.hpp: the memory of the growing filter: pages, and the directory that leads to them.
//
// A page is 64 lines of slots (kernels/growing.hpp) and a 65th line for what only changes need: counts, and the spill.
// Pages come from slabs of up to 2 MiB. The directory has one level up to 4096 entries, then two: a root of 1024 tables
// that double one by one, so that no doubling ever copies much. A page of depth d stands in every entry that begins with
// its d bits; while there are two levels it may stand in several tables.
//
// Nothing here knows what a slot means. What can be refused memory says so and changes nothing that can be asked.
#pragma once

#include <algorithm>
#include <bit>
#include <bloomery/core/buffer.hpp>
#include <bloomery/kernels/growing.hpp>
#include <cstring>
#include <utility>

namespace bloomery::inline BLOOMERY_ABI {

// A code that found no slot in its line, and how many of it.
struct growing_spilled {
  std::uint64_t code;
  std::uint64_t count;
};

struct growing_page_notes {
  growing_spilled* spill;       // sorted by code
  std::uint32_t spilled;        // entries
  std::uint32_t room;           // for entries
  std::uint32_t short_spilled;  // entries that are not whole digests
  std::uint32_t used;           // slots
  std::uint32_t voids;          // slots
  std::uint64_t spill_marks;    // says of most digests that no code of the spill matches: see growing_spill::may_hold
};
static_assert(sizeof(growing_page_notes) <= kernels::growing_line_bytes);

class growing_pages {
 public:
  static constexpr std::size_t page_stride = kernels::growing_page_bytes + kernels::growing_line_bytes;
  static constexpr std::uint64_t slab_pages = huge_page_bytes / page_stride;
  static constexpr unsigned root_bits = kernels::growing_root_bits;
  static constexpr unsigned one_level_bits = 12;

  growing_pages() noexcept = default;
  growing_pages(growing_pages&& other) noexcept : own_(std::exchange(other.own_, {})) {}
  growing_pages& operator=(growing_pages&& other) noexcept {
    std::swap(own_, other.own_);
    return *this;
  }
  growing_pages(const growing_pages&) = delete;
  growing_pages& operator=(const growing_pages&) = delete;
  ~growing_pages() { release_all(); }

  // An empty directory, and memory for so many pages, none of which has a place yet.
  static result<growing_pages> make(std::uint64_t pages, const memory_hooks* hooks) noexcept;

  [[nodiscard]] result<growing_pages> clone() const noexcept;

  [[nodiscard]] kernels::growing_view view() const noexcept { return {own_.root, own_.root_bits != 0}; }
  [[nodiscard]] kernels::growing_page page_of(std::uint64_t digest) const noexcept { return view().page_of(digest); }
  static growing_page_notes& notes_of(std::byte* page) noexcept {
    return *reinterpret_cast<growing_page_notes*>(page + kernels::growing_page_bytes);
  }
  static const growing_page_notes& notes_of(const std::byte* page) noexcept {
    return *reinterpret_cast<const growing_page_notes*>(page + kernels::growing_page_bytes);
  }

  // An empty page without a place, or nullptr.
  std::byte* take_page() noexcept;
  // Takes memory for further pages now, and touches it.
  bool reserve(std::uint64_t pages) noexcept;
  // Makes the directory deep enough for a page of this depth that begins with the bits of `prefix`.
  bool deepen(std::uint64_t prefix, unsigned depth) noexcept;
  // Gives the page its place. The directory is deep enough.
  void assign(std::uint64_t prefix, unsigned depth, std::byte* page) noexcept;
  // Back to 2^depth empty pages, all of that depth; there were at least as many.
  void reset(unsigned depth) noexcept;
  // deepen and assign for 2^depth new pages.
  bool fill(unsigned depth) noexcept;

  // Calls f(first digest, depth, page) for every page, in the order of their digests, until it says false.
  template <class F>
  bool for_each_page(F&& f) const {
    std::uint64_t prefix = 0;
    do {
      const kernels::growing_page page = page_of(prefix);
      const unsigned depth = page.tag();
      if (!f(prefix, depth, page.pointer())) return false;
      if (depth == 0) return true;
      prefix += std::uint64_t{1} << (64U - depth);
    } while (prefix != 0);
    return true;
  }

  // Room for one more entry of the spill, or for `room` of a new one.
  bool make_spill_room(growing_page_notes& notes) noexcept;
  growing_spilled* take_spill(std::uint64_t room) noexcept { return take<growing_spilled>(room); }
  void give_spill(growing_spilled* spill, std::uint64_t room) noexcept { give(spill, room); }

  [[nodiscard]] std::uint64_t pages() const noexcept { return own_.pages; }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return own_.bytes; }
  [[nodiscard]] std::uint64_t directory_bytes() const noexcept { return own_.directory_bytes; }
  [[nodiscard]] bool has_two_levels() const noexcept { return own_.root_bits != 0; }
  [[nodiscard]] const memory_hooks* hooks() const noexcept { return own_.hooks; }

 private:
  using entry = kernels::growing_page;
  using table = kernels::growing_table;

  struct slab {
    std::byte* memory;
    std::uint64_t room;  // pages
    std::uint64_t used;
  };
  struct owned {
    const memory_hooks* hooks = nullptr;
    slab* slabs = nullptr;
    std::uint64_t slab_count = 0;
    std::uint64_t slab_room = 0;
    table* root = nullptr;
    entry* base = nullptr;  // the one table, or those of 2^base_bits entries that the second level began with
    unsigned base_bits = 0;
    unsigned root_bits = 0;
    std::uint64_t pages = 0;
    std::uint64_t bytes = 0;
    std::uint64_t directory_bytes = 0;
  };

  // Memory is asked for in whole cache lines, so that addresses can carry tags.
  template <class T>
  static std::size_t bytes_of(std::uint64_t count) noexcept {
    return (count * sizeof(T) + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes;
  }
  template <class T>
  T* take(std::uint64_t count) noexcept {
    if (count > aligned_buffer::max_bytes / sizeof(T)) return nullptr;
    void* memory = own_.hooks->allocate(own_.hooks->context, bytes_of<T>(count), cache_line_bytes);
    if (memory != nullptr) own_.bytes += bytes_of<T>(count);
    return static_cast<T*>(memory);
  }
  template <class T>
  void give(T* memory, std::uint64_t count) noexcept {
    if (memory == nullptr) return;
    own_.hooks->release(own_.hooks->context, memory, bytes_of<T>(count), cache_line_bytes);
    own_.bytes -= bytes_of<T>(count);
  }
  // A slab of the usual size is one huge page.
  static std::uint64_t slab_bytes(std::uint64_t pages) noexcept {
    return pages == slab_pages ? huge_page_bytes : pages * page_stride;
  }
  static table tag(entry* entries, unsigned bits) noexcept { return {reinterpret_cast<std::byte*>(entries) + bits}; }
  static entry* entries_of(table of) noexcept { return reinterpret_cast<entry*>(of.pointer()); }
  [[nodiscard]] std::uint64_t roots() const noexcept { return std::uint64_t{1} << own_.root_bits; }
  [[nodiscard]] std::uint64_t base_entries() const noexcept { return roots() << own_.base_bits; }

  bool add_slab(std::uint64_t pages) noexcept;
  bool double_only_table() noexcept;
  bool grow_second_level() noexcept;
  bool double_table(table& of) noexcept;
  void release_spills() noexcept;
  void release_all() noexcept;

  owned own_;
};

inline result<growing_pages> growing_pages::make(std::uint64_t pages, const memory_hooks* hooks) noexcept {
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

inline bool growing_pages::add_slab(std::uint64_t pages) noexcept {
  if (own_.slab_count == own_.slab_room) {
    const std::uint64_t room = own_.slab_room == 0 ? 8 : own_.slab_room * 2;
    slab* more = take<slab>(room);
    if (more == nullptr) return false;
    if (own_.slab_count != 0) std::memcpy(more, own_.slabs, own_.slab_count * sizeof(slab));
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

inline std::byte* growing_pages::take_page() noexcept {
  // Slabs fill one after the other: there may be room in more than the last only after reserve and reset.
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

inline bool growing_pages::reserve(std::uint64_t pages) noexcept {
  std::uint64_t idle = 0;
  for (std::uint64_t i = 0; i < own_.slab_count; ++i) idle += own_.slabs[i].room - own_.slabs[i].used;
  while (idle < pages) {
    const std::uint64_t more = std::min(pages - idle, slab_pages);
    if (!add_slab(more)) return false;
    // Memory that is zero already is given by the system when it is first written to.
    std::byte* memory = own_.slabs[own_.slab_count - 1].memory;
    for (std::uint64_t i = 0; i < more * page_stride; i += 4096) {
      *static_cast<volatile std::byte*>(memory + i) = std::byte{0};
    }
    idle += more;
  }
  return true;
}

inline bool growing_pages::deepen(std::uint64_t prefix, unsigned depth) noexcept {
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

inline bool growing_pages::double_only_table() noexcept {
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

inline bool growing_pages::grow_second_level() noexcept {
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

// A table of more than 2^base_bits entries has memory of its own; the others lie in `base`.
inline bool growing_pages::double_table(table& of) noexcept {
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

inline void growing_pages::assign(std::uint64_t prefix, unsigned depth, std::byte* page) noexcept {
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

inline bool growing_pages::fill(unsigned depth) noexcept {
  for (std::uint64_t i = 0; i < std::uint64_t{1} << depth; ++i) {
    const std::uint64_t prefix = depth == 0 ? 0 : i << (64U - depth);
    if (!deepen(prefix, depth)) return false;
    std::byte* page = take_page();
    if (page == nullptr) return false;
    assign(prefix, depth, page);
  }
  return true;
}

inline void growing_pages::reset(unsigned depth) noexcept {
  const std::uint64_t wanted = std::uint64_t{1} << depth;
  release_spills();
  std::uint64_t room = 0;
  std::uint64_t kept = 0;
  for (; room < wanted; ++kept) {
    slab& here = own_.slabs[kept];
    std::memset(here.memory, 0, here.used * page_stride);
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

inline result<growing_pages> growing_pages::clone() const noexcept {
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

inline bool growing_pages::make_spill_room(growing_page_notes& notes) noexcept {
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

inline void growing_pages::release_spills() noexcept {
  for (std::uint64_t i = 0; i < own_.slab_count; ++i) {
    for (std::uint64_t j = 0; j < own_.slabs[i].used; ++j) {
      const growing_page_notes& notes = notes_of(own_.slabs[i].memory + j * page_stride);
      give_spill(notes.spill, notes.room);
    }
  }
}

inline void growing_pages::release_all() noexcept {
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
