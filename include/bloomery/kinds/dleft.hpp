// kinds/dleft.hpp: the d-left counting filter: erases and counts, and never moves what is in it.
//
// What it is    four tables of buckets with 8 cells each; a cell is a remainder of some bits with a counter of two. A
//               key has a bucket in each table, and an insert takes a cell of the emptiest one, of the leftmost among
//               several: so all buckets fill alike, and 88 % of the cells are in use before any bucket is full.
// Use it when   keys leave as well as come, some of them several times, and every insert is to take the same short time
//               up to the last: 15.9 bits per key at 1 %, 19.3 at 0.1 % (`counting` takes 38.4 and 57.5).
// Use instead   `cuckoo`, which takes 10.4 and 12.8 bits and touches two lines for a look-up where this touches four,
//               unless inserts near its capacity must not search for space or keys come more than 4 times; `counting`
//               when a key may come any number of times; `growing` when the number of keys is not known; `blocked` when
//               nothing leaves.
//
// Full          its capacity is fixed: it is full a little beyond it. Keys whose four buckets are full go to a stash of
//               8 entries, which is searched exactly; `info` reports how many are there. When it is full too, `insert`
//               returns `full` and the filter is exactly as it was before. That comes at 90 % of the cells or more:
//               kinds/dleft/layout.hpp has what was measured. An erase brings home from the stash what fits again.
// Modes         multiset (default): every insert counts. There is space for 15 of one key: a counter ends at 3, and the
//               next copy takes another cell. The 16th is refused as `full` (why_full reports why), since a counter
//               that stood still would have to stay for ever, or lose a key.
//               set: a key that may be there is not inserted again, so that keys may come any number of times. Nothing
//               can be erased: the cell may stand for several keys.
// Erase         takes one occurrence away. A key that is surely absent is refused (false) and nothing changes. Erase
//               only what you inserted: a key that merely seems to be there (with the probability p) takes an
//               occurrence of another away.
// Count         never less than how often the key is there, more with the probability p.
// Merges        two filters of the same size and mode, as if the keys of the other one had been inserted; refused, with
//               nothing changed, where they do not fit. The bytes depend on the order in which keys came, the answers
//               do not.
// Keys          keys() counts inserts of keys that were surely absent, less the erases after which a key was so; exact.
//
// Bytes         a line of stash, then bucket after bucket, table after table: kernels/dleft.hpp defines the bits.
// Paper         F. Bonomi, M. Mitzenmacher, R. Panigrahy, S. Singh, G. Varghese, "An improved construction for counting
//               Bloom filters", ESA 2006.
// Threads       any number of readers, or one writer.
//
//     auto filter = bloomery::filter<bloomery::dleft>::make({.keys = 1'000'000, .fpr = 0.001});
//     if (!filter) return 2;
//     if (filter->insert("alice") == bloomery::insert_result::full) return 2;
//     filter->erase("alice");                     // true
//     bool maybe = filter->may_contain("alice");  // false
#pragma once

#include <bloomery/kernels/blocked.hpp>
#include <bloomery/kernels/dleft.hpp>
#include <bloomery/kinds/bit_store.hpp>
#include <bloomery/kinds/concept.hpp>
#include <bloomery/kinds/dleft/layout.hpp>
#include <bloomery/kinds/explain.hpp>

namespace bloomery::inline BLOOMERY_ABI {

namespace detail {

// The cells and the stash, with the code for this width of a bucket: two words down to an FPR of about 0.2 %, three
// down to 0.0007 %.
struct dleft_memory {
  bit_store store{};
  kernels::dleft_geometry geometry{};
  std::uint64_t stashed = 0;

  template <class F>
  decltype(auto) ask(F&& f) const {
    const std::byte* bytes = store.bytes().data();
    if (geometry.stride() <= 16) return f(kernels::dleft_table<2>(bytes, geometry, stashed));
    if (geometry.stride() <= 24) return f(kernels::dleft_table<3>(bytes, geometry, stashed));
    return f(kernels::dleft_table<5>(bytes, geometry, stashed));
  }
  template <class F>
  decltype(auto) edit(F&& f) {
    auto* bytes = reinterpret_cast<std::byte*>(store.data());
    const auto call = [&f](auto table) { return f(table); };
    if (geometry.stride() <= 16) return call(kernels::dleft_editor<2>(bytes, geometry, stashed));
    if (geometry.stride() <= 24) return call(kernels::dleft_editor<3>(bytes, geometry, stashed));
    return call(kernels::dleft_editor<5>(bytes, geometry, stashed));
  }
};

}  // namespace detail

enum class dleft_mode : std::uint8_t { multiset = 0, set = 1 };

class BLOOMERY_API dleft {
 public:
  static constexpr kind_info info{
      .id = 12,
      .name = "dleft",
      .summary = "cells in the emptiest of four buckets: erases and counts, and moves nothing; can be full",
      .lines = "4"};
  static constexpr unsigned payload_cell_bits = 8;
  static constexpr std::array<option_choice, 2> modes{
      {{.name = "multiset", .help = "stores each copy of a key: erases and counts", .copies_per_cell = 3},
       {.name = "set", .help = "stores equal keys once"}}};
  static constexpr std::array<option_info, 1> option_list{mode_option(modes)};
  static constexpr std::span<const option_info> options() noexcept { return option_list; }

  static result<size_plan> plan(const size_request& request, std::string_view layout = {}) noexcept {
    const auto sized = sizing::size_dleft(request, layout);
    if (!sized) return fail(sized.error());
    return sized->plan;
  }
  static result<dleft> make(const filter_params& params) noexcept;
  [[nodiscard]] result<dleft> clone() const noexcept;

  // full: nothing has changed.
  insert_result insert(std::uint64_t digest) noexcept {
    return insert_value(fast_range(digest, memory_.geometry.values()));
  }
  // As insert, without its answer. False: the filter is full and does not hold it.
  bool add(std::uint64_t digest) noexcept { return insert(digest) != insert_result::full; }
  [[nodiscard]] bool may_contain(std::uint64_t digest) const noexcept {
    return memory_.ask([digest](const auto& table) { return table.contains(table.key(digest)); });
  }
  // What a look-up reads and decides: see kinds/explain.hpp.
  [[nodiscard]] explanation explain(std::uint64_t digest) const noexcept;
  // Why `insert` returns full: the filter holds the key as often as it can, or has no space for it.
  [[nodiscard]] error why_full(std::uint64_t digest) const noexcept {
    if (count(digest) >= kernels::dleft_most_copies) {
      return make_error(errc::too_many_copies, {}, {kernels::dleft_most_copies});
    }
    return make_error(errc::full, {}, {keys_});
  }
  // Whether keys can be erased: an error that states why not. erase itself refuses by false.
  [[nodiscard]] result<void> check_erase() const noexcept {
    if (mode_ == dleft_mode::multiset) return {};
    return fail(errc::unsupported, "kind dleft erases in mode multiset only, and this filter is of mode set");
  }
  // Takes one occurrence of the key away; false, and nothing changes, when it is surely absent.
  bool erase(std::uint64_t digest) noexcept {
    if (mode_ == dleft_mode::set) return false;
    const unsigned there =
        memory_.edit([digest](auto& table) { return kernels::dleft_erase(table, table.key(digest)); });
    if (there == 0) return false;
    // A file may hold another number of keys, but no more of them than occurrences: nor do erases make it so.
    std::uint64_t& from = copies_ == 0 || (there == 1 && keys_ != 0) ? keys_ : copies_;
    --from;
    return true;
  }
  // How often the key is there, at least.
  [[nodiscard]] std::uint64_t count(std::uint64_t digest) const noexcept {
    return memory_.ask([digest](const auto& table) -> std::uint64_t { return table.count(table.key(digest)); });
  }

  // How many of the digests were surely absent before. Stops at the first that does not fit: add_until_full reports
  // where.
  std::uint64_t add_batch(std::span<const std::uint64_t> digests) noexcept { return add_until_full(digests).inserted; }
  batch_outcome add_until_full(std::span<const std::uint64_t> digests) noexcept {
    return insert_many(digests.size(), digest_feed(digests.data()));
  }
  // Bit i of the mask (bit i % 64 of word i / 64) answers digest i; the mask holds mask_words(digests.size()) words.
  void may_contain_batch(std::span<const std::uint64_t> digests, std::span<std::uint64_t> mask) const noexcept {
    may_contain_stream(digests.size(), digest_feed(digests.data()), mask);
  }
  // The same with digests that are made as they are needed: see stream_kind in kinds/concept.hpp.
  std::uint64_t add_stream(std::size_t count, const digest_feed& feed) noexcept;
  void may_contain_stream(std::size_t count, const digest_feed& feed, std::span<std::uint64_t> mask) const noexcept;
  // Look-ups for which the width is decided: see lookup_kind in kinds/concept.hpp.
  template <class F>
  decltype(auto) with_lookup(F&& f) const {
    return memory_.ask([&f](const auto& table) {
      return f([table](std::uint64_t digest) { return table.contains(table.key(digest)); });
    });
  }

  result<void> merge(const dleft& other) noexcept;
  void clear() noexcept {
    memory_.store.clear();
    keys_ = 0;
    copies_ = 0;
    memory_.stashed = 0;
  }
  // Same geometry, mode and cells: the same answers for ever.
  friend bool operator==(const dleft& a, const dleft& b) noexcept {
    return a.mode_ == b.mode_ && a.memory_.geometry.remainder_bits == b.memory_.geometry.remainder_bits &&
           a.memory_.geometry.buckets == b.memory_.geometry.buckets && a.memory_.store == b.memory_.store;
  }

  [[nodiscard]] key_count keys() const noexcept { return {keys_, true}; }
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept { return capacity_; }
  [[nodiscard]] double target_fpr() const noexcept { return fpr_; }
  [[nodiscard]] dleft_mode mode() const noexcept { return mode_; }
  [[nodiscard]] const kernels::dleft_geometry& geometry() const noexcept { return memory_.geometry; }
  [[nodiscard]] std::uint64_t stashed() const noexcept {
    return memory_.stashed;
  }  // occurrences that found their buckets full
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return memory_.store.words() * 8; }
  // What is in the cells and the stash. Reads the whole array, as fill and estimated_keys do.
  struct usage {
    std::uint64_t cells = 0;
    std::uint64_t occurrences = 0;
  };
  [[nodiscard]] usage used() const noexcept;
  [[nodiscard]] double fill() const noexcept {
    return memory_.geometry.cells() == 0
               ? 0.0
               : static_cast<double>(used().cells) / static_cast<double>(memory_.geometry.cells());
  }
  [[nodiscard]] double estimated_keys() const noexcept { return static_cast<double>(used().occurrences); }
  [[nodiscard]] double fpr_now() const noexcept {
    return keys_ == 0 ? 0.0 : static_cast<double>(keys_) / static_cast<double>(memory_.geometry.values());
  }
  [[nodiscard]] fact_list facts() const noexcept;

  // The native file: see kinds/concept.hpp.
  [[nodiscard]] stored_shape shape() const noexcept {
    return {.capacity_keys = capacity_,
            .fpr = fpr_,
            .keys = keys_,
            .keys_exact = true,
            .digest_bits = 64,
            .field = {memory_.geometry.buckets, memory_.geometry.remainder_bits, static_cast<std::uint64_t>(mode_),
                      memory_.stashed}};
  }
  [[nodiscard]] std::span<const std::byte> payload() const noexcept { return memory_.store.bytes(); }
  static result<std::uint64_t> payload_bytes(const stored_shape& shape) noexcept;
  static result<dleft> adopt(const stored_shape& shape, aligned_buffer payload) noexcept;
  static result<dleft> view(const stored_shape& shape, std::span<const std::byte> payload) noexcept;

  // Calls f(first byte, size) for the buckets, and for the stash where something is in it.
  template <class F>
  void for_each_touched(std::uint64_t digest, F&& f) const {
    for (const std::uint64_t at :
         kernels::dleft_key_of(memory_.geometry, fast_range(digest, memory_.geometry.values())).at) {
      f(at, memory_.geometry.stride());
    }
    if (memory_.stashed != 0) f(std::uint64_t{0}, std::uint64_t{kernels::dleft_stash_bytes});
  }

 private:
  [[nodiscard]] kernels::dleft_copies copies() const noexcept {
    return mode_ == dleft_mode::set ? kernels::dleft_copies::drop : kernels::dleft_copies::keep;
  }
  insert_result insert_value(std::uint64_t value) noexcept {
    const insert_result done = memory_.edit([this, value](auto& table) {
      return kernels::dleft_insert(table, kernels::dleft_key_of(memory_.geometry, value), copies());
    });
    keys_ += done == insert_result::inserted ? 1 : 0;
    copies_ += done == insert_result::present && mode_ == dleft_mode::multiset ? 1 : 0;
    return done;
  }
  batch_outcome insert_many(std::size_t count, const digest_feed& feed) noexcept;
  [[nodiscard]] result<void> check_stash() const noexcept;
  // Of a filter that is to be changed: the stash, and the keys against the occurrences.
  result<void> count_copies() noexcept;
  void set_geometry(const stored_shape& shape) noexcept;

  detail::dleft_memory memory_;
  std::uint64_t capacity_ = 0;
  std::uint64_t keys_ = 0;
  std::uint64_t copies_ = 0;  // occurrences beyond those of the keys; 0 in a mapped file
  double fpr_ = 0;
  dleft_mode mode_ = dleft_mode::multiset;
};

static_assert(mappable<dleft> && erasing_in_some_modes<dleft> && countable<dleft> && bounded_kind<dleft> &&
              mergeable<dleft> && stream_kind<dleft> && lookup_kind<dleft>);

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds/dleft.cpp>
#endif
