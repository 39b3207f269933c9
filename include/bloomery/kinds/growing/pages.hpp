// kinds/growing/pages.hpp: the memory of the growing filter: pages, and the directory that leads to them.
//
// A page is 64 lines of slots (kernels/growing.hpp) and a 65th line for what only changes need: counts, and the spill.
// Pages come from slabs, a linked list. Those that are added while the filter grows have up to 256 KiB, so that no insert
// waits until the system has cleared more; the first one is as large as the filter is made. The directory has one level up to 4096 entries, then two: a root of 1024 tables
// that double one by one, so that no doubling ever copies much. A page of depth d stands in every entry that begins
// with its d bits; while there are two levels it may stand in several tables.
//
// Nothing here knows what a slot means. What can be refused memory reports it and changes nothing that can be queried.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <bloomery/core/buffer.hpp>
#include <bloomery/kernels/growing.hpp>
#include <cstring>
#include <memory>
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
  std::uint64_t spill_marks;    // for most digests, shows that no code of the spill matches: growing_spill::may_hold
};
static_assert(sizeof(growing_page_notes) <= kernels::growing_line_bytes);

class BLOOMERY_API growing_pages {
 public:
  static constexpr std::size_t page_stride = kernels::growing_page_bytes + kernels::growing_line_bytes;
  static constexpr std::size_t slab_head_bytes = cache_line_bytes;
  static constexpr std::size_t most_slab_bytes = std::size_t{256} << 10U;
  static constexpr std::uint64_t slab_pages = (most_slab_bytes - slab_head_bytes) / page_stride;
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

  // Calls f(first digest, depth, page) for every page, in the order of their digests, until it returns false.
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

  // Space for one more entry of the spill.
  bool make_spill_room(growing_page_notes& notes) noexcept;
  // Space for `room` entries, which is one that spill_room returned.
  growing_spilled* take_spill(std::uint64_t room) noexcept;
  void give_spill(growing_spilled* spill, std::uint64_t room) noexcept;
  // Entries that so many take the space of: it is a power of two, or large.
  static constexpr std::uint64_t spill_room(std::uint64_t entries) noexcept {
    return entries > most_pooled ? entries : std::bit_ceil(std::max<std::uint64_t>(entries, 4));
  }

  [[nodiscard]] std::uint64_t pages() const noexcept { return own_.pages; }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return own_.bytes; }
  [[nodiscard]] std::uint64_t directory_bytes() const noexcept { return own_.directory_bytes; }
  [[nodiscard]] bool has_two_levels() const noexcept { return own_.root_bits != 0; }
  [[nodiscard]] const memory_hooks* hooks() const noexcept { return own_.hooks; }

 private:
  using entry = kernels::growing_page;
  using table = kernels::growing_table;

  // At the start of its memory; its pages follow on the next line.
  struct slab {
    slab* next;
    std::uint64_t room;  // pages
    std::uint64_t used;
  };
  static_assert(sizeof(slab) <= slab_head_bytes && slab_head_bytes + slab_pages * page_stride == most_slab_bytes);
  // Small spills come and go by the thousand. They share blocks, and those that are given back wait in lists, one a
  // size, so that no request waits until an allocator has sorted what it was given back.
  static constexpr std::uint64_t most_pooled = 128;  // entries: 2 KiB
  static constexpr unsigned spill_sizes = 6;         // of 4, 8 ... 128 entries
  static constexpr std::uint64_t most_block_lines = 256;
  struct free_spill {
    free_spill* next;
  };
  struct spill_block {
    spill_block* next;
    std::uint64_t lines;  // all of it, with the one that this is in
  };
  struct owned {
    const memory_hooks* hooks = nullptr;
    spill_block* blocks = nullptr;
    std::byte* fresh = nullptr;  // lines of the newest block that were never in use
    std::uint64_t fresh_lines = 0;
    std::uint64_t block_lines = 0;  // of all blocks
    std::array<free_spill*, spill_sizes> free_spills{};
    slab* slabs = nullptr;    // the first
    slab* filling = nullptr;  // pages come from it: those before it are full, those after it empty
    slab* last = nullptr;
    table* root = nullptr;
    entry* base = nullptr;  // the one table, or those of 2^base_bits entries that the second level began with
    unsigned base_bits = 0;
    unsigned root_bits = 0;
    std::uint64_t pages = 0;
    std::uint64_t bytes = 0;
    std::uint64_t directory_bytes = 0;
  };

  // Memory is requested in whole cache lines, so that addresses can carry tags.
  template <class T>
  static std::size_t bytes_of(std::uint64_t count) noexcept {
    return to_size((count * sizeof(T) + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes);
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
  static std::uint64_t slab_bytes(std::uint64_t pages) noexcept { return slab_head_bytes + pages * page_stride; }
  static std::byte* page_in(slab* in, std::uint64_t index) noexcept {
    return reinterpret_cast<std::byte*>(in) + slab_head_bytes + index * page_stride;
  }
  void give_slab(slab* old) noexcept { give(reinterpret_cast<std::byte*>(old), slab_bytes(old->room)); }
  static table tag(entry* entries, unsigned bits) noexcept { return {reinterpret_cast<std::byte*>(entries) + bits}; }
  static entry* entries_of(table of) noexcept { return reinterpret_cast<entry*>(of.pointer()); }
  [[nodiscard]] std::uint64_t roots() const noexcept { return std::uint64_t{1} << own_.root_bits; }
  [[nodiscard]] std::uint64_t base_entries() const noexcept { return roots() << own_.base_bits; }

  static constexpr unsigned spill_size_of(std::uint64_t room) noexcept {
    return static_cast<unsigned>(std::bit_width(room)) - 3;
  }
  bool add_spill_block(std::uint64_t least_lines) noexcept;
  bool add_slab(std::uint64_t pages) noexcept;
  bool double_only_table() noexcept;
  bool grow_second_level() noexcept;
  bool double_table(table& of) noexcept;
  void release_spills() noexcept;
  void release_all() noexcept;

  owned own_;
};

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds/growing/pages.cpp>
#endif
