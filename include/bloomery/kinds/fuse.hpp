// kinds/fuse.hpp: the binary fuse filter: built once from all its keys, the fastest of the small ones.
//
// What it is    an array of cells of 8, 16 or 32 bits. A key has 3 cells (or 4), and building gives all cells such
//               values that the three of every key, xored, are the key's fingerprint. For any other key they are
//               random.
// Use it when   the set is known and does not change (a table's run on disk, a block list, a dictionary), and look-ups
//               are to be fast: 8.9 to 9.1 bits per key at an FPR of 0.39 % (`bloom` takes 11.5), 18 at 0.0015 %
//               (`bloom` 23.1). A look-up reads 3 cache lines whatever the FPR, and they are known immediately: batches
//               prefetch all of them.
// Use instead   `blocked` where keys are added later or filters are merged, and for single look-ups in large filters;
//               `cuckoo` to take keys out.
//
// Building      `build` takes the complete key set, in any order, equal ones any number of times, and sorts it in
//               place: afterwards they are in another order. It never fails for what the keys are: a set that finds no
//               solution (about one in thirty) is tried again with another seed and, after some times, with more cells.
//               The same set gives the same bytes, whatever the order, the repetitions and the number of threads.
// Memory        while it is built: the digests, the filter, and less than 15 bytes for each key of a shard and thread.
//               Sets of more than 16,777,216 keys are cut into shards of at most so many, which is what threads share
//               out.
// FPR           2^-8, 2^-16 or 2^-32 exactly, with any number of keys: `plan` reports which when another is requested.
//               The FPR of an empty filter is 0.
// Changes       none: no inserts, erases, merges or folds. Build it again.
//
// Layouts       wise3     3 cells a key; 1.14 cells for each of a million keys, 1.12 from ten million on.
//               wise4     4 cells a key; 1.07 and 1.05 cells, and a fourth line to wait for.
//               A width may follow: wise3:8, wise4:16, wise3:32. Else it follows from the FPR or the memory. wise3
//               unless named. Small sets take more: 1.5 cells for each of 1000 keys, 1.3 for each of 10,000.
//               kinds/fuse/layout.hpp has the sizes.
// Bytes         the cells of all shards, one after the other, little-endian; zeros to a multiple of 8. kernels/fuse.hpp
//               defines the cells of a digest.
// Paper         T. M. Graf, D. Lemire, "Binary fuse filters: fast and smaller than xor filters", JEA 2022.
// Threads       any number of readers. `build` runs on as many threads as requested.
//
//     std::vector<std::uint64_t> digests = ...;
//     auto filter = bloomery::fuse::build({.fpr = 0.01}, digests);
//     if (!filter) return 2;
//     bool maybe = filter->may_contain(digest);
#pragma once

#include <bloomery/kernels/blocked.hpp>
#include <bloomery/kernels/fuse.hpp>
#include <bloomery/kinds/bit_store.hpp>
#include <bloomery/kinds/explain.hpp>
#include <bloomery/kinds/fuse/build.hpp>
#include <bloomery/kinds/fuse/layout.hpp>

namespace bloomery::inline BLOOMERY_ABI {

namespace detail {

// Calls f with an object whose type states the cells of a key and their width.
template <class Cell, unsigned Wise>
struct fuse_form {
  using cell = Cell;
  static constexpr unsigned wise = Wise;
};
template <class F>
decltype(auto) with_fuse_form(const kernels::fuse_geometry& geometry, F&& f) {
  if (geometry.wise == 3) {
    if (geometry.cell_bits == 8) return f(fuse_form<std::uint8_t, 3>{});
    if (geometry.cell_bits == 16) return f(fuse_form<std::uint16_t, 3>{});
    return f(fuse_form<std::uint32_t, 3>{});
  }
  if (geometry.cell_bits == 8) return f(fuse_form<std::uint8_t, 4>{});
  if (geometry.cell_bits == 16) return f(fuse_form<std::uint16_t, 4>{});
  return f(fuse_form<std::uint32_t, 4>{});
}

// Tries of one size before the next, and of all sizes: the last has 64 times the cells that nearly every set is content
// with.
inline constexpr std::uint64_t fuse_tries = 4;
inline constexpr std::uint64_t fuse_most_tries = 4 * 1024;

inline std::uint64_t fuse_seed(std::uint64_t attempt) noexcept { return mix64(attempt); }

}  // namespace detail

class BLOOMERY_API fuse {
  template <class F>
  decltype(auto) ask(F&& f) const {
    return detail::with_fuse_form(geometry_, [&](auto form) -> decltype(auto) {
      using cell = typename decltype(form)::cell;
      return f(kernels::fuse_table<cell, decltype(form)::wise>(payload().data(), places_, keys_ == 0));
    });
  }

 public:
  static constexpr kind_info info{
      .id = 9,
      .name = "fuse",
      .summary = "binary fuse: built once from all keys; small, three cache lines a look-up",
      .lines = "3"};
  static constexpr unsigned payload_cell_bits = 8;
  static constexpr std::array<option_choice, 2> layouts{
      {{.name = "wise3", .help = "3 cells a key: one cache line less to wait for", .suffix = "[:BITS]"},
       {.name = "wise4", .help = "4 cells a key: 6 % smaller", .suffix = "[:BITS]"}}};
  static constexpr std::array<option_info, 1> option_list{layout_option(layouts)};
  static constexpr std::span<const option_info> options() noexcept { return option_list; }

  static result<size_plan> plan(const size_request& request, std::string_view layout = {}) noexcept {
    const auto sized = sizing::size_fuse(request, layout);
    if (!sized) return fail(sized.error());
    return sized->plan;
  }
  // Of all the digests, which are then in another order. Parameters give an FPR or a size; a number of keys states what
  // was expected and is no limit. 0 threads: as many as the machine has.
  static result<fuse> build(const filter_params& params, std::span<std::uint64_t> digests,
                            unsigned threads = 0) noexcept;
  [[nodiscard]] result<fuse> clone() const noexcept;

  [[nodiscard]] bool may_contain(std::uint64_t digest) const noexcept {
    return ask([digest](const auto& table) { return table.contains(digest); });
  }
  // What a look-up reads and decides: see kinds/explain.hpp.
  [[nodiscard]] explanation explain(std::uint64_t digest) const noexcept;
  // Bit i of the mask (bit i % 64 of word i / 64) answers digest i; the mask holds mask_words(digests.size()) words.
  void may_contain_batch(std::span<const std::uint64_t> digests, std::span<std::uint64_t> mask) const noexcept {
    may_contain_stream(digests.size(), digest_feed(digests.data()), mask);
  }
  // The same with digests that are made as they are needed: see stream_query_kind in kinds/concept.hpp.
  void may_contain_stream(std::size_t count, const digest_feed& feed, std::span<std::uint64_t> mask) const noexcept;
  // Look-ups for which the layout is decided: see lookup_kind in kinds/concept.hpp.
  template <class F>
  decltype(auto) with_lookup(F&& f) const {
    return ask([&f](const auto& table) { return f([table](std::uint64_t digest) { return table.contains(digest); }); });
  }

  // Same geometry, seed and cells: the same answers for ever.
  friend bool operator==(const fuse& a, const fuse& b) noexcept {
    return a.keys_ == b.keys_ && a.geometry_ == b.geometry_ && a.store_ == b.store_;
  }

  // Different digests that it was built from.
  [[nodiscard]] key_count keys() const noexcept { return {keys_, true}; }
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept { return keys_; }
  [[nodiscard]] double target_fpr() const noexcept { return fuse_model{geometry_.wise, geometry_.cell_bits}.fpr(); }
  [[nodiscard]] const kernels::fuse_geometry& geometry() const noexcept { return geometry_; }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return store_.words() * 8; }
  // Keys a cell: as many cells have a value that a key required.
  [[nodiscard]] double fill() const noexcept {
    return static_cast<double>(keys_) / static_cast<double>(geometry_.cells());
  }
  [[nodiscard]] double estimated_keys() const noexcept { return static_cast<double>(keys_); }
  [[nodiscard]] double fpr_now() const noexcept { return keys_ == 0 ? 0.0 : target_fpr(); }
  [[nodiscard]] fact_list facts() const noexcept;

  // The native file: see kinds/concept.hpp.
  [[nodiscard]] stored_shape shape() const noexcept {
    return {.capacity_keys = keys_,
            .fpr = target_fpr(),
            .keys = keys_,
            .keys_exact = true,
            .digest_bits = 64,
            .field = {geometry_.seed, geometry_.segments, geometry_.segment_bits, geometry_.shard_bits, geometry_.wise,
                      geometry_.cell_bits}};
  }
  [[nodiscard]] std::span<const std::byte> payload() const noexcept { return store_.bytes(); }
  static result<std::uint64_t> payload_bytes(const stored_shape& shape) noexcept;
  static result<fuse> adopt(const stored_shape& shape, aligned_buffer payload) noexcept;
  static result<fuse> view(const stored_shape& shape, std::span<const std::byte> payload) noexcept;

  // Calls f(first byte, size) for each cell.
  template <class F>
  void for_each_touched(std::uint64_t digest, F&& f) const {
    detail::with_fuse_form(geometry_, [&](auto form) {
      for (const std::uint64_t cell : places_.of<decltype(form)::wise>(digest).at) {
        f(cell * (geometry_.cell_bits / 8), geometry_.cell_bits / 8);
      }
    });
  }

 private:
  static result<sizing::fuse_sized> size_for(const filter_params& params, std::uint64_t keys) noexcept;
  static kernels::fuse_geometry geometry_of(const stored_shape& shape) noexcept;
  result<bool> fill_cells(const detail::fuse_keys& keys, unsigned threads, const memory_hooks* memory) noexcept;

  void set_geometry(const kernels::fuse_geometry& geometry) noexcept {
    geometry_ = geometry;
    places_ = kernels::fuse_places(geometry);
  }

  bit_store store_;
  kernels::fuse_geometry geometry_;
  kernels::fuse_places places_;
  std::uint64_t keys_ = 0;
};

static_assert(contiguous_kind<fuse> && static_kind<fuse> && stream_query_kind<fuse> && lookup_kind<fuse>);

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds/fuse.cpp>
#endif
