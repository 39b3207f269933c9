// kinds/counting.hpp: the counting Bloom filter: keys can be taken out again, and counted.
//
// What it is    a Bloom filter with a counter of 4 bits in place of each bit. An insert adds one to the k counters of a
//               key, an erase takes one away, and a key whose counters are all above 0 may be there.
// Use it when   keys leave as well as come, or it matters how often a key came; filters merge as sums. 5.77 log2(1/p)
//               bits per key: 38.3 at 1 %, 57.5 at 0.1 %, four times a `bloom`.
// Use instead   `bloom` or `blocked` when nothing is ever erased; `bitmap` for dense integers, exactly.
//
// Insert        every insert counts, of a key that is there as well: `inserted` means that the key was surely absent
//               before, `present` that it may have been there. Never `full`: beyond its capacity its FPR rises, and no
//               keys are lost.
// Erase         takes one occurrence away: a key that was inserted twice is there until its second erase. A key that is
//               surely absent is refused (false) and nothing changes. Erase only what you inserted: a key that merely
//               seems to be there (a false positive, with the probability p) is not distinguished from one that is, and
//               erasing it takes away what belongs to others, which may then be missed.
// Count         the least of a key's counters: never less than how often it is there, more with the probability p, and
//               15 for 15 or more.
// Saturation    a counter that reaches 15 stays there for ever, whatever is erased: it does not know how much it
//               holds, and taking from it could lose keys. So a saturated counter raises the FPR and never loses a key.
//               Different keys hardly ever get there (a counter in 1e16 at capacity); the 15th insert of one key does.
//               `saturated()` reports how many there are, and `bloomery info` prints it. A key all of whose counters
//               are stuck cannot be erased any more: erase answers true and it stays.
// Merges        union adds the counters, as if all the keys had been inserted into one filter; intersection keeps the
//               smaller one of each two, enough for every key of both as often as it is in both; same size, k and
//               layout. Folds to 1/f of the size for any f that divides.
// Keys          keys() counts inserts of keys that were surely absent, less the erases after which a key was so. It is
//               exact until the first erase, and an estimate from then on.
//
// Layouts       spread (default): the k counters are anywhere, as the bits of a `bloom` are; k = 1..64.
//               line: all counters of a key are in one cache line, one (or two) in each of its 8 words; k = 1..16.
//               14 % more bits at 1 %, 35 % at 0.1 %; an insert or look-up touches one line, and batches run in
//               vectors. kernels/counting.hpp defines the counters.
// Bytes         16 counters to a little-endian word, counter i in bits 4 (i mod 16) and up of word i / 16; past the
//               last 0.
// Papers        L. Fan, P. Cao, J. Almeida, A. Broder, "Summary cache: a scalable wide-area web cache sharing
//               protocol", IEEE/ACM ToN 8(3), 2000 (counters, and why 4 bits); Putze, Sanders, Singler, JEA 14, 2009
//               (blocks).
// Threads       any number of readers, or one writer, or many that insert and query through kinds/concurrent.hpp. An
//               erase must have the filter to itself.
//
//     auto filter = bloomery::filter<bloomery::counting>::make({.keys = 1'000'000, .fpr = 0.01});
//     if (!filter) return 2;
//     filter->insert("alice");
//     filter->insert("alice");
//     filter->erase("alice");                     // true: one of two
//     bool maybe = filter->may_contain("alice");  // true: the other one; filter->count("alice") is 1
#pragma once

#include <bloomery/kernels/counting/dispatch.hpp>
#include <bloomery/kinds/bit_store.hpp>
#include <bloomery/kinds/concept.hpp>
#include <bloomery/kinds/counting/layout.hpp>
#include <bloomery/kinds/explain.hpp>

namespace bloomery::inline BLOOMERY_ABI {

class BLOOMERY_API counting {
 public:
  static constexpr kind_info info{
      .id = 4,
      .name = "counting",
      .summary = "Bloom filter of 4-bit counters: erases and counts keys, four times the bits",
      .lines = "k (1 with layout line)"};
  static constexpr unsigned payload_cell_bits = kernels::counter_bits;
  static constexpr std::array<option_choice, 2> layouts{
      {{.name = "spread", .help = "the counters of a key are anywhere: the smaller one"},
       {.name = "line", .help = "the counters of a key are in one cache line: the faster one"}}};
  static constexpr std::array<option_info, 1> option_list{layout_option(layouts)};
  static constexpr std::span<const option_info> options() noexcept { return option_list; }
  static constexpr std::uint64_t most_count = kernels::counter_most;  // means so often or more

  static result<size_plan> plan(const size_request& request, std::string_view layout = {}) noexcept;
  static result<counting> make(const filter_params& params) noexcept;
  [[nodiscard]] result<counting> clone() const noexcept;

  insert_result insert(std::uint64_t digest) noexcept {
    const bool is_new = is_spread()
                            ? kernels::counting_insert<kernels::spread_probes>(store_.data(), kernel_view(), digest)
                            : kernels::counting_insert<kernels::line_probes>(store_.data(), kernel_view(), digest);
    keys_ += is_new ? 1 : 0;
    return is_new ? insert_result::inserted : insert_result::present;
  }
  // As insert, without its answer. False: the filter is full and does not hold it.
  bool add(std::uint64_t digest) noexcept { return insert(digest) != insert_result::full; }
  [[nodiscard]] bool may_contain(std::uint64_t digest) const noexcept {
    return is_spread() ? kernels::counting_contains<kernels::spread_probes>(kernel_view(), digest)
                       : kernels::counting_contains<kernels::line_probes>(kernel_view(), digest);
  }
  // What a look-up reads and decides: see kinds/explain.hpp.
  [[nodiscard]] explanation explain(std::uint64_t digest) const noexcept;
  // Takes one occurrence of the key away; false, and nothing changes, when it is surely absent.
  bool erase(std::uint64_t digest) noexcept;
  // How often the key is there, at least; most_count for so often or more.
  [[nodiscard]] std::uint64_t count(std::uint64_t digest) const noexcept {
    return is_spread() ? kernels::counting_count<kernels::spread_probes>(kernel_view(), digest)
                       : kernels::counting_count<kernels::line_probes>(kernel_view(), digest);
  }

  // How many of the digests were surely absent before.
  std::uint64_t add_batch(std::span<const std::uint64_t> digests) noexcept {
    return add_stream(digests.size(), digest_feed(digests.data()));
  }
  // Bit i of the mask (bit i % 64 of word i / 64) answers digest i; the mask holds mask_words(digests.size()) words.
  void may_contain_batch(std::span<const std::uint64_t> digests, std::span<std::uint64_t> mask) const noexcept {
    may_contain_stream(digests.size(), digest_feed(digests.data()), mask);
  }
  // The same with digests that are made as they are needed: see stream_kind in kinds/concept.hpp.
  std::uint64_t add_stream(std::size_t count, const digest_feed& feed) noexcept;
  void may_contain_stream(std::size_t count, const digest_feed& feed, std::span<std::uint64_t> mask) const noexcept;

  // Many threads at once: see kinds/concurrent.hpp.
  insert_result insert_atomic(std::uint64_t digest) noexcept {
    const bool is_new =
        is_spread() ? kernels::counting_insert_atomic<kernels::spread_probes>(store_.data(), kernel_view(), digest)
                    : kernels::counting_insert_atomic<kernels::line_probes>(store_.data(), kernel_view(), digest);
    return is_new ? insert_result::inserted : insert_result::present;
  }
  [[nodiscard]] bool may_contain_atomic(std::uint64_t digest) const noexcept {
    return is_spread() ? kernels::counting_contains_atomic<kernels::spread_probes>(kernel_view(), digest)
                       : kernels::counting_contains_atomic<kernels::line_probes>(kernel_view(), digest);
  }
  void add_to_count(std::uint64_t inserted) noexcept {
    std::atomic_ref<std::uint64_t>(keys_).fetch_add(inserted, std::memory_order_relaxed);
  }

  result<void> merge(const counting& other) noexcept { return combine(other, kernels::add_counters); }
  result<void> intersect(const counting& other) noexcept {
    const double ours = fill();
    if (auto done = combine(other, kernels::least_counters); !done) return done;
    keys_ = static_cast<std::uint64_t>(estimate_overlap(cells(), ours, other.fill(), fill()).keys + 0.5);
    return {};
  }
  [[nodiscard]] result<counting> fold(std::uint64_t factor) const noexcept;
  [[nodiscard]] std::uint64_t fold_units() const noexcept { return size_; }
  void clear() noexcept {
    store_.clear();
    keys_ = 0;
    keys_exact_ = true;
  }
  // Same geometry and the same counters: the same answers for ever.
  friend bool operator==(const counting& a, const counting& b) noexcept {
    return a.layout_ == b.layout_ && a.size_ == b.size_ && a.hashes_ == b.hashes_ && a.store_ == b.store_;
  }

  [[nodiscard]] key_count keys() const noexcept { return {keys_, keys_exact_}; }
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept { return capacity_; }
  [[nodiscard]] double target_fpr() const noexcept { return fpr_; }
  [[nodiscard]] counter_layout layout() const noexcept { return layout_; }
  [[nodiscard]] cell_shape cells() const noexcept {
    return {.cells = counters(), .hashes = hashes_, .blocks = is_spread() ? 0 : size_};
  }
  [[nodiscard]] std::uint64_t counters() const noexcept {
    return is_spread() ? size_ : size_ * kernels::counters_a_line;
  }
  [[nodiscard]] unsigned hashes() const noexcept { return hashes_; }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return store_.words() * 8; }
  // All of these read the whole array.
  [[nodiscard]] std::uint64_t saturated() const noexcept;  // counters that are stuck
  [[nodiscard]] double fill() const noexcept;              // share of counters above 0
  [[nodiscard]] double estimated_keys() const noexcept;    // different keys, from the counters above 0
  [[nodiscard]] double fpr_now() const noexcept;
  [[nodiscard]] fact_list facts() const noexcept;
  [[nodiscard]] fact_list facts_now() const noexcept;

  // The native file: see kinds/concept.hpp.
  [[nodiscard]] stored_shape shape() const noexcept;
  [[nodiscard]] std::span<const std::byte> payload() const noexcept { return store_.bytes(); }
  static result<std::uint64_t> payload_bytes(const stored_shape& shape) noexcept;
  static result<counting> adopt(const stored_shape& shape, aligned_buffer payload) noexcept;
  static result<counting> view(const stored_shape& shape, std::span<const std::byte> payload) noexcept;

  // Calls f(first byte, size) for every part of the payload that a look-up of the digest may read.
  template <class F>
  void for_each_touched(std::uint64_t digest, F&& f) const {
    if (!is_spread()) {
      f(kernels::split64::block(digest, size_) * 64, std::uint64_t{64});
      return;
    }
    kernels::spread_probes probe(digest, size_);
    for (unsigned i = 0; i < hashes_; ++i) f(probe.next() / kernels::counters_a_word * 8, std::uint64_t{8});
  }

 private:
  [[nodiscard]] bool is_spread() const noexcept { return layout_ == counter_layout::spread; }
  [[nodiscard]] counting_model model() const noexcept { return {layout_}; }
  [[nodiscard]] std::uint64_t bits() const noexcept { return size_ * model().unit_bits(); }
  [[nodiscard]] kernels::counting_view kernel_view() const noexcept { return {store_.data(), size_, hashes_}; }
  [[nodiscard]] double line_fpr(std::uint64_t line) const noexcept;
  template <class F>
  result<void> combine(const counting& other, F&& f) noexcept;
  void set_geometry(const stored_shape& shape) noexcept;

  bit_store store_;
  std::uint64_t size_ = 0;  // counters when they are spread, else lines
  std::uint64_t capacity_ = 0;
  std::uint64_t keys_ = 0;
  double fpr_ = 0;
  unsigned hashes_ = 0;
  counter_layout layout_ = counter_layout::spread;
  bool keys_exact_ = true;
};

template <class F>
result<void> counting::combine(const counting& other, F&& f) noexcept {
  if (layout_ != other.layout_) return fail(errc::mismatch, "their layouts differ (spread and line)");
  if (size_ != other.size_) return fail(errc::mismatch, "their numbers of counters differ; fold the larger one first");
  if (hashes_ != other.hashes_) return fail(errc::mismatch, "their numbers of hash functions differ");
  std::uint64_t* words = store_.data();
  for (std::uint64_t i = 0; i < store_.words(); ++i) words[i] = f(words[i], other.store_.data()[i]);
  keys_ = static_cast<std::uint64_t>(estimated_keys() + 0.5);
  keys_exact_ = false;
  return {};
}

static_assert(mappable<counting> && mergeable<counting> && foldable<counting> && erasable<counting> &&
              countable<counting> && saturating<counting> && concurrent_kind<counting> && stream_kind<counting>);

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds/counting.cpp>
#endif
