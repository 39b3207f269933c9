// kinds/growing.hpp: the growing filter: any number of keys, one cache line a look-up.
//
// What it is    a filter that starts small and grows by splitting pages of 4 KiB, one at a time: no rebuilding, no
//               chain of filters, no pause longer than a page's split. Keys leave prefixes of their digests in slots;
//               each doubling takes a bit from them, which costs a small step in the FPR and not a factor.
// Use it when   the number of keys is not known before. `keys` is the first capacity, `fpr` the FPR that is kept while
//               the filter grows: to a million times its first capacity and beyond (see capacity_keys()).
// Use instead   `blocked` where the number of keys is known: a third of the memory. This one takes 23 to 40 bits a key
//               with the slots of 16 bits that FPRs from 0.8 % up need, 35 to 60 with those of 24 bits.
//
// Modes         multiset (default): every insert is stored, a key that was inserted twice counts twice and must be
//               erased twice. set: an insert of a key that may be there stores nothing, and erase and rejuvenate are
//               refused, because one code may then stand for several keys. In both, `inserted` means that the key was
//               surely absent before, `present` that it may have been there.
// Deletes       in multiset mode, safe for keys that were inserted more often than erased. Erasing any other key may
//               remove somebody else's: a false negative. What is surely absent is refused (false). An erased key may
//               still be answered "maybe", as any absent key may.
// Count         how many codes match: never less than the key's own; a set reports 0 or 1.
// Merges        filters of the same width and mode, any sizes: the sum of two multisets, the union of two sets. FPRs
//               add up, and more than the promised FPR is refused unless the caller accepts any FPR. No intersection.
// FPR           fpr_now() is known at any time from what the codes cover; kinds/growing/fpr.hpp has the law of growth.
//               Equal keys are counted as often as they are in it: with many of those it is an upper bound.
//
// Layouts       slots16, slots24, slots32: chosen by the FPR. kernels/growing.hpp defines codes and lines,
//               kinds/growing/engine.hpp how they change, kinds/growing/stored.hpp the bytes.
// Order         the same keys in another order give the same answers for them, but not the same bytes.
// Memory        refused memory is survived: a page that cannot split fills up, and what its lines cannot hold is
//               spilled. When even that is refused, insert returns `full` and the filter is as it was: it takes that
//               key and others when there is memory again. A merge is made in a copy, which is the filter afterwards;
//               where memory for it is refused, nothing has changed.
// Papers        N. Dayan, I. Bercea, P. Reviriego, R. Pagh, "InfiniFilter: expanding filters to infinity and beyond",
//               2023 (prefixes that shrink); R. Fagin et al., "Extendible hashing", 1979 (pages and directory).
// Threads       any number of readers, or one writer. Nothing here is atomic.
//
//     auto filter = bloomery::growing::make({.keys = 1000, .fpr = 0.01});
//     if (!filter) return 2;
//     for (std::uint64_t i = 0; i < 1'000'000; ++i) filter->insert(bloomery::mix64(i));
//     bool maybe = filter->may_contain(bloomery::mix64(7));   // true
//     bool erased = filter->erase(bloomery::mix64(7));        // true
#pragma once

#include <bloomery/kinds/explain.hpp>
#include <bloomery/kinds/growing/fpr.hpp>
#include <bloomery/kinds/growing/stored.hpp>

namespace bloomery::inline BLOOMERY_ABI {

enum class growing_mode : std::uint8_t { multiset, set };

namespace detail {

// Calls f with the functions for a width of slots.
template <class F>
decltype(auto) with_slots(unsigned width, F&& f) {
  if (width == 16) return f(growing_engine<kernels::growing_slots<16>>{});
  if (width == 24) return f(growing_engine<kernels::growing_slots<24>>{});
  return f(growing_engine<kernels::growing_slots<32>>{});
}

}  // namespace detail

class BLOOMERY_API growing {
 public:
  static constexpr kind_info info{.id = 6,
                                  .name = "growing",
                                  .summary = "grows with its keys at a kept rate, one cache line per key; erases",
                                  .lines = "1",
                                  .grows = true};
  static constexpr std::array<option_choice, 3> layouts{
      {{.name = "slots16", .help = "slots of 16 bits: false-positive rates from 0.8 % up"},
       {.name = "slots24", .help = "slots of 24 bits: lower ones"},
       {.name = "slots32", .help = "slots of 32 bits: the lowest ones"}}};
  static constexpr std::array<option_choice, 2> modes{
      {{.name = "multiset", .help = "stores each copy of a key: erases and counts"},
       {.name = "set", .help = "stores equal keys once"}}};
  static constexpr std::array<option_info, 2> option_list{layout_option(layouts), mode_option(modes)};
  static constexpr std::span<const option_info> options() noexcept { return option_list; }

  static result<size_plan> plan(const size_request& request, std::string_view layout = {}) noexcept {
    return sizing::plan_growing(request, layout);
  }
  static result<growing> make(const filter_params& params) noexcept;
  [[nodiscard]] result<growing> clone() const noexcept;

  insert_result insert(std::uint64_t digest) noexcept;
  // As insert, without its answer. False: the filter is full and does not hold it.
  bool add(std::uint64_t digest) noexcept { return insert(digest) != insert_result::full; }
  [[nodiscard]] bool may_contain(std::uint64_t digest) const noexcept {
    return detail::with_slots(width_, [&](auto engine) { return engine.may_contain(state_, digest); });
  }
  // What a look-up reads and decides: see kinds/explain.hpp.
  [[nodiscard]] explanation explain(std::uint64_t digest) const noexcept;
  // How many of the digests were surely absent before. Stops at the first that memory is refused for: add_until_full
  // reports where.
  std::uint64_t add_batch(std::span<const std::uint64_t> digests) noexcept { return add_until_full(digests).inserted; }
  batch_outcome add_until_full(std::span<const std::uint64_t> digests) noexcept {
    return insert_many(digests.size(), digest_feed(digests.data()));
  }
  // Bit i of the mask (bit i % 64 of word i / 64) answers digest i; the mask holds mask_words(digests.size()) words.
  void may_contain_batch(std::span<const std::uint64_t> digests, std::span<std::uint64_t> mask) const noexcept {
    may_contain_stream(digests.size(), digest_feed(digests.data()), mask);
  }
  // The same with digests that are made as they are needed: see stream_kind in kinds/concept.hpp.
  std::uint64_t add_stream(std::size_t count, const digest_feed& feed) noexcept {
    return insert_many(count, feed).inserted;
  }
  void may_contain_stream(std::size_t count, const digest_feed& feed, std::span<std::uint64_t> mask) const noexcept;

  // Whether keys can be erased: an error that states why not. erase itself refuses by false.
  [[nodiscard]] result<void> check_erase() const noexcept;
  bool erase(std::uint64_t digest) noexcept;
  // Gives a key that is in the filter a fresh code, as long as slots allow: the FPR falls. Rules as for erase.
  bool rejuvenate(std::uint64_t digest) noexcept {
    return mode_ == growing_mode::multiset &&
           detail::with_slots(width_, [&](auto engine) { return engine.rejuvenate(state_, digest); });
  }
  [[nodiscard]] std::uint64_t count(std::uint64_t digest) const noexcept;

  // Takes memory for so many further keys now, so that no insert waits for the system until they are in.
  result<void> reserve(std::uint64_t keys) noexcept;

  result<void> merge(const growing& other, merge_fpr rate) noexcept;
  result<void> merge(const growing& other) noexcept { return merge(other, merge_fpr::keep_target); }
  void clear() noexcept;
  // Same width, mode, pages, codes: the same answers for ever.
  friend bool operator==(const growing& a, const growing& b) noexcept {
    return a.width_ == b.width_ && a.mode_ == b.mode_ && a.state_.first_depth == b.state_.first_depth &&
           detail::with_slots(a.width_, [&](auto engine) { return engine.equal(a.state_, b.state_); });
  }

  [[nodiscard]] key_count keys() const noexcept { return {keys_, keys_exact_}; }
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept { return capacity_; }
  [[nodiscard]] double target_fpr() const noexcept { return fpr_; }
  [[nodiscard]] growing_mode mode() const noexcept { return mode_; }
  [[nodiscard]] unsigned slot_bits() const noexcept { return width_; }
  [[nodiscard]] std::uint64_t pages() const noexcept { return state_.pages.pages(); }
  [[nodiscard]] std::uint64_t spilled() const noexcept { return state_.spilled; }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return state_.pages.memory_bytes(); }
  [[nodiscard]] double fill() const noexcept {  // share of used slots
    const std::uint64_t slots = pages() * kernels::growing_page_lines * model().slots();
    return slots == 0 ? 0.0 : static_cast<double>(state_.slots_used) / static_cast<double>(slots);
  }
  // Different keys: those that came while they were surely absent, and what was taken for present by mistake.
  [[nodiscard]] double estimated_keys() const noexcept {
    return std::min(static_cast<double>(keys_) / std::exp(-state_.coverage()), static_cast<double>(occurrences()));
  }
  // Inserts that were stored, less those erased: exact.
  [[nodiscard]] std::uint64_t occurrences() const noexcept { return state_.occurrences; }
  [[nodiscard]] double fpr_now() const noexcept { return -std::expm1(-state_.coverage()); }
  [[nodiscard]] fact_list facts() const noexcept;

  // The native file: see kinds/concept.hpp.
  [[nodiscard]] stored_shape shape() const noexcept;
  [[nodiscard]] std::uint64_t serialized_bytes() const noexcept {
    return detail::with_slots(width_, [&](auto engine) { return stored<decltype(engine)>::size_bytes(state_); });
  }
  [[nodiscard]] result<void> serialize(const byte_sink& sink) const noexcept {
    return detail::with_slots(width_, [&](auto engine) { return stored<decltype(engine)>::write(state_, sink); });
  }
  [[nodiscard]] result<void> serialize(std::span<std::byte> out) const noexcept { return serialize_into(*this, out); }
  static result<growing> deserialize(const stored_shape& shape, const byte_feed& bytes,
                                     const memory_hooks* hooks = nullptr) noexcept;
  static result<growing> deserialize(const stored_shape& shape, std::span<const std::byte> bytes,
                                     const memory_hooks* hooks = nullptr) noexcept {
    memory_pull pull(bytes);
    return deserialize(shape, byte_feed(pull, bytes.size()), hooks);
  }

 private:
  template <class Engine>
  using stored = growing_stored<typename Engine::slots>;

  [[nodiscard]] growing_model model() const noexcept { return {width_, state_.first_depth}; }
  batch_outcome insert_many(std::size_t count, const digest_feed& feed) noexcept;
  [[nodiscard]] result<void> check_same(const growing& other) const noexcept;
  void take_settings(const growing& other) noexcept {
    keys_ = other.keys_;
    capacity_ = other.capacity_;
    fpr_ = other.fpr_;
    width_ = other.width_;
    mode_ = other.mode_;
    keys_exact_ = other.keys_exact_;
  }

  growing_state state_;
  std::uint64_t keys_ = 0;
  std::uint64_t capacity_ = 0;
  double fpr_ = 0;
  unsigned width_ = 16;
  growing_mode mode_ = growing_mode::multiset;
  bool keys_exact_ = true;
};

static_assert(serializable<growing> && refusing_merges<growing> && erasing_in_some_modes<growing> &&
              countable<growing> && stream_kind<growing> && bounded_kind<growing>);

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds/growing.cpp>
#endif
