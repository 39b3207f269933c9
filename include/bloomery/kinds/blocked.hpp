// kinds/blocked.hpp: the blocked Bloom filter: one cache line per key.
//
// What it is    the array is cut into blocks; a digest picks one block and sets its k bits there, one (or two) in each
//               of 8 lanes. An insert or look-up touches one cache line, whatever k is, and batches run in vectors.
// Use it when   speed counts: it is the default. Costs 4 % more bits than `bloom` at 1 %, 8 % at 0.1 %, 15 % at 0.01 %.
// Use instead   `bloom` below about 0.01 %, where crowded blocks cost too much; `bitmap` for dense integers.
// Deletes       no. Merges: union and intersection, same geometry; folds to 1/f of the blocks for any f that divides.
//
// Layouts       split32: 8 lanes of 32 bits, k = 8, at most 2^26 blocks (2 GiB). The faster one, and byte-identical to
//               Parquet's filter over XXH64 digests; needs 6 % (at 1 %) to 19 % (at 0.01 %) more bits than split64.
//               split64: 8 lanes of 64 bits, k = 1..16, any number of blocks.
//               Without a choice it is split32 where that costs at most 7 % more bits at the same FPR and the FPR is
//               0.5 % or more, else the smaller one. `plan` returns which. In a fixed size the cost is counted in keys,
//               and an FPR that is not given is the one that split32 has in it. Only the parameters decide, never the
//               machine. kernels/blocked.hpp defines the bits, kinds/blocked/fpr.hpp the FPR.
// Bytes         blocks x 8 lanes, lane by lane, little-endian.
// Papers        F. Putze, P. Sanders, J. Singler, "Cache-, hash- and space-efficient Bloom filters", JEA 14, 2009
//               (blocks); the Apache Parquet specification, BloomFilter.md (split lanes).
// Threads       any number of readers, or one writer, or many writers and readers through kinds/concurrent.hpp.
//
//     auto filter = bloomery::blocked::make({.keys = 10'000'000, .fpr = 0.01});
//     if (!filter) return 2;
//     filter->insert(bloomery::xxh3{}("alice", 5));
//     bool maybe = filter->may_contain(bloomery::xxh3{}("alice", 5));   // true
#pragma once

#include <bloomery/kernels/blocked/dispatch.hpp>
#include <bloomery/kinds/bit_store.hpp>
#include <bloomery/kinds/blocked/layout.hpp>
#include <bloomery/kinds/explain.hpp>

namespace bloomery::inline BLOOMERY_ABI {

class BLOOMERY_API blocked {
 public:
  static constexpr kind_info info{.id = 2,
                                  .name = "blocked",
                                  .summary = "Bloom filter in one cache line per key: the fastest, and the default",
                                  .lines = "1"};
  static constexpr std::array<option_choice, 2> layouts{
      {{.name = "split64", .help = "8 lanes of 64 bits: any size, 1 to 16 hash functions"},
       {.name = "split32", .help = "8 lanes of 32 bits, as in Apache Parquet: faster, up to 2 GiB, 8 hash functions"}}};
  static constexpr std::array<option_info, 1> option_list{layout_option(layouts)};
  static constexpr std::span<const option_info> options() noexcept { return option_list; }

  static result<size_plan> plan(const size_request& request, std::string_view layout = {}) noexcept;
  static result<blocked> make(const filter_params& params) noexcept;
  // From `memory`, or from where its own came.
  [[nodiscard]] result<blocked> clone(const memory_hooks* memory = nullptr) const noexcept;

  insert_result insert(std::uint64_t digest) noexcept {
    return count(layout_ == block_layout::split32
                     ? kernels::blocked_insert_one<kernels::split32>(store_.data(), split32_view(), digest)
                     : set_split64(digest));
  }
  // As insert, without its answer, and without counting the key: from then on keys() estimates, by reading the filter.
  // True: this kind is never full.
  bool add(std::uint64_t digest) noexcept {
    if (!adds_split32_) [[unlikely]] {
      add_apart(digest);
    } else {
      kernels::blocked_add_one<kernels::split32>(store_.data(), split32_view(), digest);
    }
    return true;
  }
  [[nodiscard]] bool may_contain(std::uint64_t digest) const noexcept {
    if (layout_ != block_layout::split32) [[unlikely]]
      return has_split64(digest);
    return kernels::blocked_contains_one<kernels::split32>(split32_view(), digest);
  }

  // What a look-up reads and decides: see kinds/explain.hpp. As a part of another filter, into an explanation of that.
  [[nodiscard]] explanation explain(std::uint64_t digest) const noexcept {
    explanation out(digest);
    explain_part(out, digest, {});
    return out;
  }
  void explain_part(explanation& out, std::uint64_t digest, const explained_part& part) const noexcept;

  // For loops over single keys: see lookup_kind in kinds/concept.hpp.
  template <class F>
  decltype(auto) with_lookup(F&& f) const {
    if (layout_ == block_layout::split32) return kernels::with_blocked_lookup<kernels::split32>(kernel_view(), f);
    return kernels::with_blocked_lookup<kernels::split64>(kernel_view(), f);
  }

  // How many of the digests changed something.
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

  // Threads that fill partitions of their own: see partitioned_kind in kinds/concept.hpp.
  [[nodiscard]] block_partition partition_into(unsigned parts) const noexcept { return {layout_, blocks_, parts}; }
  std::uint64_t insert_part(std::span<const std::uint64_t> digests) noexcept {
    return insert_uncounted(digests.size(), digest_feed(digests.data()));
  }

  // Many threads at once: see kinds/concurrent.hpp.
  insert_result insert_atomic(std::uint64_t digest) noexcept;
  [[nodiscard]] bool may_contain_atomic(std::uint64_t digest) const noexcept;
  void add_to_count(std::uint64_t inserted) noexcept {
    std::atomic_ref<std::uint64_t>(keys_).fetch_add(inserted, std::memory_order_relaxed);
  }

  result<void> merge(const blocked& other) noexcept;
  result<void> intersect(const blocked& other) noexcept;
  [[nodiscard]] result<blocked> fold(std::uint64_t factor) const noexcept;
  [[nodiscard]] std::uint64_t fold_units() const noexcept { return blocks_; }
  // The bits of the folded filter into `words`, which are all clear; the factor divides the number of blocks.
  void fold_into(std::uint64_t factor, std::uint64_t* words) const noexcept;
  void clear() noexcept {
    store_.clear();
    set_count({});
  }
  // Same geometry and the same bits: the same answers for ever.
  friend bool operator==(const blocked& a, const blocked& b) noexcept {
    return a.layout_ == b.layout_ && a.hashes_ == b.hashes_ && a.store_ == b.store_;
  }

  // Exact after inserts and batches. An estimate, marked as one, after merges and add; after add it reads the filter.
  [[nodiscard]] key_count keys() const noexcept { return counted_ ? key_count{keys_, keys_exact_} : estimated_count(); }
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept { return capacity_; }
  [[nodiscard]] double target_fpr() const noexcept { return fpr_; }
  [[nodiscard]] block_layout layout() const noexcept { return layout_; }
  [[nodiscard]] std::uint64_t blocks() const noexcept { return blocks_; }
  [[nodiscard]] std::uint64_t bits() const noexcept { return blocks_ * model().block_bits(); }
  [[nodiscard]] cell_shape cells() const noexcept { return {.cells = bits(), .hashes = hashes_, .blocks = blocks_}; }
  [[nodiscard]] unsigned hashes() const noexcept { return hashes_; }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return store_.words() * 8; }
  [[nodiscard]] double fill() const noexcept;  // share of set bits; reads the whole array
  [[nodiscard]] std::uint64_t set_bits() const noexcept { return store_.count_set(); }
  [[nodiscard]] double estimated_keys() const noexcept;  // sum over the blocks of each one's estimate
  [[nodiscard]] double fpr_now() const noexcept;         // mean over the blocks of the product of the lanes' fills
  // The probability that this one and the other both answer yes. The other is of the same layout and as many hash
  // functions, and this one has as many blocks, or a multiple.
  [[nodiscard]] double fpr_of_both(const blocked& other) const noexcept;
  [[nodiscard]] fact_list facts() const noexcept;

  // The native file: see kinds/concept.hpp.
  [[nodiscard]] stored_shape shape() const noexcept;
  [[nodiscard]] std::span<const std::byte> payload() const noexcept { return store_.bytes(); }
  static result<std::uint64_t> payload_bytes(const stored_shape& shape) noexcept;
  static result<blocked> adopt(const stored_shape& shape, aligned_buffer payload) noexcept;
  static result<blocked> view(const stored_shape& shape, std::span<const std::byte> payload) noexcept;

  // Calls f(first byte, size) for every part of the payload that a look-up of the digest may read.
  template <class F>
  void for_each_touched(std::uint64_t digest, F&& f) const {
    const std::uint64_t block_bytes = model().block_bits() / 8;
    f(block_of(digest) * block_bytes, block_bytes);
  }

 private:
  // Not inlined: a caller's loop over single keys gets two vector units' worth of code otherwise, and those of split32 a
  // fifth slower (docs/performance.md).
  BLOOMERY_APART bool set_split64(std::uint64_t digest) noexcept {
    return kernels::blocked_insert_one<kernels::split64>(store_.data(), kernel_view(), digest);
  }
  [[nodiscard]] BLOOMERY_APART bool has_split64(std::uint64_t digest) const noexcept {
    return kernels::blocked_contains_one<kernels::split64>(kernel_view(), digest);
  }
  // The first add since keys were counted, and every one of split64.
  BLOOMERY_APART void add_apart(std::uint64_t digest) noexcept {
    counted_ = false;
    adds_split32_ = layout_ == block_layout::split32;
    if (adds_split32_) {
      kernels::blocked_add_one<kernels::split32>(store_.data(), split32_view(), digest);
    } else {
      kernels::blocked_add_one<kernels::split64>(store_.data(), kernel_view(), digest);
    }
  }
  insert_result count(bool changed) noexcept {
    std::uint64_t fresh = changed ? 1 : 0;
    __asm__("" : "+r"(fresh));  // so that no compiler branches on it: where keys come again, nobody can predict it
    if (fresh > 1) __builtin_unreachable();  // what it cannot see any more
    keys_ += fresh;
    return fresh != 0 ? insert_result::inserted : insert_result::present;
  }
  [[nodiscard]] blocked_model model() const noexcept { return {layout_}; }
  [[nodiscard]] kernels::blocked_view kernel_view() const noexcept { return {store_.data(), blocks_, hashes_}; }
  // With a number of blocks that a loop of inserts loads once: the words that it stores cannot be that.
  [[nodiscard]] kernels::blocked_view split32_view() const noexcept { return {store_.data(), split32_blocks_, 8}; }
  [[nodiscard]] std::uint64_t block_of(std::uint64_t digest) const noexcept {
    return layout_ == block_layout::split64 ? kernels::split64::block(digest, blocks_)
                                            : kernels::split32::block(digest, blocks_);
  }
  // Calls f(word index, mask) for the words of the digest's block that it sets bits in.
  template <class Layout, class F>
  void for_each_word(std::uint64_t digest, F&& f) const;
  std::uint64_t insert_uncounted(std::size_t count, const digest_feed& feed) noexcept;
  [[nodiscard]] std::uint64_t words_a_block() const noexcept { return model().block_bits() / 64; }
  // Of words that word(index) has.
  template <class Word>
  [[nodiscard]] double block_fpr(std::uint64_t block, Word&& word) const noexcept;
  template <class Word>
  [[nodiscard]] double mean_fpr(Word&& word) const noexcept;
  [[nodiscard]] result<void> check_same(const blocked& other) const noexcept;
  void set_geometry(const stored_shape& shape) noexcept;
  void set_blocks(std::uint64_t blocks) noexcept {
    blocks_ = blocks;
    split32_blocks_ = layout_ == block_layout::split32 ? static_cast<std::uint32_t>(blocks) : 0;
  }
  [[nodiscard]] key_count estimated_count() const noexcept {
    return {static_cast<std::uint64_t>(estimated_keys() + 0.5), false};
  }
  void set_count(const key_count& count) noexcept {
    keys_ = count.keys;
    keys_exact_ = count.exact;
    counted_ = true;
    adds_split32_ = false;
  }

  bit_store store_;
  std::uint64_t blocks_ = 0;
  std::uint64_t capacity_ = 0;
  std::uint64_t keys_ = 0;
  double fpr_ = 0;
  unsigned hashes_ = 0;
  std::uint32_t split32_blocks_ = 0;  // blocks_ once more
  block_layout layout_ = block_layout::split64;
  bool keys_exact_ = true;
  bool counted_ = true;        // no add since the keys were counted
  bool adds_split32_ = false;  // there was one, and the layout is split32: what a single add needs to know
};

template <class Layout, class F>
void blocked::for_each_word(std::uint64_t digest, F&& f) const {
  const std::uint64_t first = Layout::block(digest, blocks_) * Layout::words;
  const auto masks = Layout::bits(digest, hashes_);
  for (unsigned i = 0; i < Layout::words; ++i) {
    if (masks[i] != 0) f(first + i, masks[i]);
  }
}

inline insert_result blocked::insert_atomic(std::uint64_t digest) noexcept {
  bool changed = false;
  const auto set = [&](std::uint64_t word, std::uint64_t mask) { changed |= store_.set_atomic(word, mask); };
  if (layout_ == block_layout::split64) {
    for_each_word<kernels::split64>(digest, set);
  } else {
    for_each_word<kernels::split32>(digest, set);
  }
  return changed ? insert_result::inserted : insert_result::present;
}

inline bool blocked::may_contain_atomic(std::uint64_t digest) const noexcept {
  bool all = true;
  const auto ask = [&](std::uint64_t word, std::uint64_t mask) { all &= store_.test_atomic(word, mask); };
  if (layout_ == block_layout::split64) {
    for_each_word<kernels::split64>(digest, ask);
  } else {
    for_each_word<kernels::split32>(digest, ask);
  }
  return all;
}

template <class Word>
double blocked::block_fpr(std::uint64_t block, Word&& word) const noexcept {
  std::array<double, kernels::block_lanes> lane_fill{};
  for (unsigned lane = 0; lane < kernels::block_lanes; ++lane) {
    const std::uint64_t index = block * kernels::block_lanes + lane;
    const std::uint64_t bits =
        layout_ == block_layout::split64 ? word(index) : (word(index / 2) >> (32 * (index % 2))) & 0xffffffffU;
    lane_fill[lane] = static_cast<double>(std::popcount(bits)) / static_cast<double>(model().lane_bits());
  }
  if (hashes_ == kernels::block_lanes) {
    double rate = 1;
    for (const double lane : lane_fill) rate *= lane;
    return rate;
  }
  return rate_of_lanes(lane_fill, hashes_);
}

template <class Word>
double blocked::mean_fpr(Word&& word) const noexcept {
  double sum = 0;
  for (std::uint64_t block = 0; block < blocks_; ++block) sum += block_fpr(block, word);
  return blocks_ == 0 ? 0.0 : sum / static_cast<double>(blocks_);
}

static_assert(mappable<blocked> && mergeable<blocked> && foldable<blocked> && concurrent_kind<blocked> &&
              stream_kind<blocked> && partitioned_kind<blocked> && lookup_kind<blocked>);

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds/blocked.cpp>
#endif
