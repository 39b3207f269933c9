// kinds/blocked.hpp: the blocked Bloom filter: one cache line per key.
//
// What it is    the array is cut into blocks; a digest picks one block and sets its k bits there, one (or two) in each
//               of 8 lanes. An insert or look-up touches one cache line, whatever k is, and batches run in vectors.
// Use it when   speed counts: it is the default. Costs 4 % more bits than `bloom` at 1 %, 8 % at 0.1 %, 15 % at 0.01 %.
// Use instead   `bloom` below about 0.01 %, where crowded blocks cost too much; `bitmap` for dense integers.
// Deletes       no. Merges: union and intersection, same geometry; folds to 1/f of the blocks for any f that divides.
//
// Layouts       split64 (default): 8 lanes of 64 bits, k = 1..16, any number of blocks.
//               split32: 8 lanes of 32 bits, k = 8, at most 2^26 blocks (2 GiB). Faster in cache with AVX2, and
//               byte-identical to Parquet's filter over XXH64 digests; needs 6 % (at 1 %) to 19 % (at 0.01 %) more
//               bits than split64. kernels/blocked.hpp defines the bits, kinds/blocked/fpr.hpp the rate.
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
#include <bloomery/kinds/concept.hpp>

namespace bloomery::inline BLOOMERY_ABI {

class blocked {
 public:
  static constexpr kind_info info{.id = 2,
                                  .name = "blocked",
                                  .summary = "Bloom filter in one cache line per key: the fastest, and the default",
                                  .lines = "1",
                                  .layouts = "split64 split32"};

  static result<size_plan> plan(const size_request& request, std::string_view layout = {}) noexcept;
  static result<blocked> make(const filter_params& params) noexcept;
  [[nodiscard]] result<blocked> clone() const noexcept;

  insert_result insert(std::uint64_t digest) noexcept {
    const bool changed = layout_ == block_layout::split64
                             ? kernels::blocked_insert_one<kernels::split64>(store_.data(), kernel_view(), digest)
                             : kernels::blocked_insert_one<kernels::split32>(store_.data(), kernel_view(), digest);
    keys_ += changed ? 1 : 0;
    return changed ? insert_result::inserted : insert_result::present;
  }
  [[nodiscard]] bool may_contain(std::uint64_t digest) const noexcept {
    return layout_ == block_layout::split64 ? kernels::blocked_contains_one<kernels::split64>(kernel_view(), digest)
                                            : kernels::blocked_contains_one<kernels::split32>(kernel_view(), digest);
  }

  // For loops over single keys: see lookup_kind in kinds/concept.hpp.
  template <class F>
  decltype(auto) with_lookup(F&& f) const {
    if (layout_ == block_layout::split32) return kernels::with_blocked_lookup<kernels::split32>(kernel_view(), f);
    return kernels::with_blocked_lookup<kernels::split64>(kernel_view(), f);
  }

  // How many of the digests changed something.
  std::uint64_t insert_batch(std::span<const std::uint64_t> digests) noexcept {
    return insert_stream(digests.size(), digest_feed(digests.data()));
  }
  // Bit i of the mask (bit i % 64 of word i / 64) answers digest i; the mask holds mask_words(digests.size()) words.
  void may_contain_batch(std::span<const std::uint64_t> digests, std::span<std::uint64_t> mask) const noexcept {
    may_contain_stream(digests.size(), digest_feed(digests.data()), mask);
  }
  // The same with digests that are made as they are needed: see stream_kind in kinds/concept.hpp.
  std::uint64_t insert_stream(std::size_t count, const digest_feed& feed) noexcept;
  void may_contain_stream(std::size_t count, const digest_feed& feed, std::span<std::uint64_t> mask) const noexcept;

  // Threads that fill parts of their own: see partitioned_kind in kinds/concept.hpp.
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
    keys_ = 0;
    keys_exact_ = true;
  }
  // Same geometry and the same bits: the same answers for ever.
  friend bool operator==(const blocked& a, const blocked& b) noexcept {
    return a.layout_ == b.layout_ && a.hashes_ == b.hashes_ && a.store_ == b.store_;
  }

  [[nodiscard]] key_count keys() const noexcept { return {keys_, keys_exact_}; }
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
  // The rate at which this one and the other both say yes. The other is of the same layout and as many hash functions, and
  // this one has as many blocks, or a multiple.
  [[nodiscard]] double fpr_of_both(const blocked& other) const noexcept;
  [[nodiscard]] named_values describe() const noexcept {
    return {{{.name = "layout", .text = layout_ == block_layout::split64 ? "split64" : "split32"},
             {.name = "blocks", .number = blocks_},
             {.name = "bits", .number = bits()},
             {.name = "hash functions", .number = hashes_}}};
  }

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
  [[nodiscard]] blocked_model model() const noexcept { return {layout_}; }
  [[nodiscard]] kernels::blocked_view kernel_view() const noexcept { return {store_.data(), blocks_, hashes_}; }
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
  void estimate_count() noexcept {
    keys_ = static_cast<std::uint64_t>(estimated_keys() + 0.5);
    keys_exact_ = false;
  }

  bit_store store_;
  std::uint64_t blocks_ = 0;
  std::uint64_t capacity_ = 0;
  std::uint64_t keys_ = 0;
  double fpr_ = 0;
  unsigned hashes_ = 0;
  block_layout layout_ = block_layout::split64;
  bool keys_exact_ = true;
};

namespace detail {

inline result<block_layout> find_layout(std::string_view name) noexcept {
  if (name.empty() || name == "split64") return block_layout::split64;
  if (name == "split32") return block_layout::split32;
  return fail(errc::unsupported, "kind blocked has the layouts split64 and split32");
}

}  // namespace detail

inline result<size_plan> blocked::plan(const size_request& request, std::string_view layout) noexcept {
  const auto found = detail::find_layout(layout);
  if (!found) return fail(found.error());
  const blocked_model model{*found};
  auto solved = sizing::solve(model, request);
  if (!solved) return solved;
  const std::uint64_t blocks = solved->bits / model.block_bits();
  if (blocks > model.max_blocks()) return fail(errc::layout_too_large, "layout split32", {blocks, model.max_blocks()});
  if (solved->digest_bits > 64) {
    return fail(errc::not_enough_hash_bits, "kind blocked",
                {solved->keys, sizing::hash_bits_needed(solved->keys, solved->fpr), 64});
  }
  return solved;
}

inline result<blocked> blocked::make(const filter_params& params) noexcept {
  const auto solved = plan(params.sizes(), params.layout);
  if (!solved) return fail(solved.error());
  auto store = bit_store::make(solved->bits / 64, "the filter", params.memory);
  if (!store) return fail(store.error());
  blocked filter;
  filter.store_ = std::move(*store);
  filter.layout_ = *detail::find_layout(params.layout);
  filter.blocks_ = solved->bits / filter.model().block_bits();
  filter.hashes_ = solved->hashes;
  filter.capacity_ = solved->keys;
  filter.fpr_ = params.fpr ? *params.fpr : solved->fpr;
  return filter;
}

inline result<blocked> blocked::clone() const noexcept {
  auto store = store_.clone("a copy of the filter");
  if (!store) return fail(store.error());
  blocked copy;
  copy.set_geometry(shape());
  copy.store_ = std::move(*store);
  return copy;
}

inline std::uint64_t blocked::insert_uncounted(std::size_t count, const digest_feed& feed) noexcept {
  return layout_ == block_layout::split64 ? active_kernels<kernels::blocked_kernels<kernels::split64>>().insert_batch(
                                                store_.data(), kernel_view(), count, feed)
                                          : active_kernels<kernels::blocked_kernels<kernels::split32>>().insert_batch(
                                                store_.data(), kernel_view(), count, feed);
}

inline std::uint64_t blocked::insert_stream(std::size_t count, const digest_feed& feed) noexcept {
  const std::uint64_t inserted = insert_uncounted(count, feed);
  keys_ += inserted;
  return inserted;
}

inline void blocked::may_contain_stream(std::size_t count, const digest_feed& feed,
                                        std::span<std::uint64_t> mask) const noexcept {
  if (layout_ == block_layout::split64) {
    active_kernels<kernels::blocked_kernels<kernels::split64>>().contains_batch(kernel_view(), count, feed,
                                                                                mask.data());
  } else {
    active_kernels<kernels::blocked_kernels<kernels::split32>>().contains_batch(kernel_view(), count, feed,
                                                                                mask.data());
  }
}

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

inline result<void> blocked::check_same(const blocked& other) const noexcept {
  if (layout_ != other.layout_) return fail(errc::mismatch, "their layouts differ (split64 and split32)");
  if (blocks_ != other.blocks_)
    return fail(errc::mismatch, "their numbers of blocks differ; fold the larger one first");
  if (hashes_ != other.hashes_) return fail(errc::mismatch, "their numbers of hash functions differ");
  return {};
}

inline result<void> blocked::merge(const blocked& other) noexcept {
  if (auto same = check_same(other); !same) return same;
  store_.unite(other.store_);
  estimate_count();
  return {};
}

inline result<void> blocked::intersect(const blocked& other) noexcept {
  if (auto same = check_same(other); !same) return same;
  const double ours = fill();
  store_.intersect(other.store_);
  keys_ = static_cast<std::uint64_t>(estimate_overlap(cells(), ours, other.fill(), fill()).keys + 0.5);
  keys_exact_ = false;
  return {};
}

// Blocks are chosen by the digest's high bits, so block b of n becomes block b / f of n / f.
inline void blocked::fold_into(std::uint64_t factor, std::uint64_t* words) const noexcept {
  const std::uint64_t size = words_a_block();
  for (std::uint64_t i = 0; i < store_.words(); ++i) words[i / size / factor * size + i % size] |= store_.data()[i];
}

inline result<blocked> blocked::fold(std::uint64_t factor) const noexcept {
  if (factor == 0 || blocks_ % factor != 0)
    return fail(errc::cannot_fold, "the factor must divide the number of blocks");
  blocked folded;
  folded.set_geometry(shape());
  folded.blocks_ = blocks_ / factor;
  auto store = bit_store::make(folded.blocks_ * words_a_block(), "the folded filter", store_.hooks());
  if (!store) return fail(store.error());
  folded.store_ = std::move(*store);
  // The promise stays, so the capacity shrinks to what the blocks left can keep it for.
  const auto room = sizing::keys_for(model(), {.fpr = fpr_, .hashes = hashes_}, folded.bits());
  folded.capacity_ = room ? *room : 0;
  fold_into(factor, folded.store_.data());
  return folded;
}

inline double blocked::fill() const noexcept {
  return blocks_ == 0 ? 0.0 : static_cast<double>(store_.count_set()) / static_cast<double>(bits());
}

inline double blocked::estimated_keys() const noexcept {
  const std::uint64_t words = words_a_block();
  const double m = static_cast<double>(model().block_bits());
  const double one_key =
      std::log1p(-static_cast<double>(hashes_) / m);  // ln of the share of clear bits that a key leaves
  double keys = 0;
  for (std::uint64_t block = 0; block < blocks_; ++block) {
    int set_bits = 0;
    for (std::uint64_t i = 0; i < words; ++i) set_bits += std::popcount(store_.data()[block * words + i]);
    // A full block: the estimate is a lower bound.
    const double clear = m - (static_cast<double>(set_bits) > m - 0.5 ? m - 0.5 : static_cast<double>(set_bits));
    keys += std::log(clear / m) / one_key;
  }
  return keys;
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

inline double blocked::fpr_now() const noexcept {
  return mean_fpr([this](std::uint64_t i) { return store_.word(i); });
}

inline double blocked::fpr_of_both(const blocked& other) const noexcept {
  const std::uint64_t words = words_a_block();
  const std::uint64_t share = other.blocks_ == 0 ? 1 : blocks_ / other.blocks_;
  return mean_fpr(
      [&](std::uint64_t i) { return store_.word(i) & other.store_.word(i / words / share * words + i % words); });
}

inline stored_shape blocked::shape() const noexcept {
  return {.capacity_keys = capacity_,
          .fpr = fpr_,
          .keys = keys_,
          .keys_exact = keys_exact_,
          .digest_bits = 64,
          .field = {blocks_, hashes_, static_cast<std::uint64_t>(layout_)}};
}

inline void blocked::set_geometry(const stored_shape& shape) noexcept {
  blocks_ = shape.field[0];
  hashes_ = static_cast<unsigned>(shape.field[1]);
  layout_ = static_cast<block_layout>(shape.field[2]);
  capacity_ = shape.capacity_keys;
  fpr_ = shape.fpr;
  keys_ = shape.keys;
  keys_exact_ = shape.keys_exact;
}

inline result<std::uint64_t> blocked::payload_bytes(const stored_shape& shape) noexcept {
  if (shape.field[2] > 1) return fail(errc::bad_field, "layout", {shape.field[2]});
  const blocked_model model{static_cast<block_layout>(shape.field[2])};
  if (shape.field[0] < 1 || shape.field[0] > model.max_blocks())
    return fail(errc::bad_field, "blocks", {shape.field[0]});
  if (shape.field[1] < model.min_hashes() || shape.field[1] > model.max_hashes()) {
    return fail(errc::bad_field, "hash functions", {shape.field[1]});
  }
  if (shape.digest_bits != 64) return fail(errc::bad_field, "digest bits", {shape.digest_bits});
  for (std::size_t i = 3; i < shape.field.size(); ++i) {
    if (shape.field[i] != 0) return fail(errc::bad_field, "unused number", {shape.field[i]});
  }
  return shape.field[0] * model.block_bits() / 8;
}

inline result<blocked> blocked::adopt(const stored_shape& shape, aligned_buffer payload) noexcept {
  auto filter = view(shape, payload.bytes());
  if (filter) filter->store_ = bit_store::adopt(std::move(payload));
  return filter;
}

inline result<blocked> blocked::view(const stored_shape& shape, std::span<const std::byte> payload) noexcept {
  const auto expected = payload_bytes(shape);
  if (!expected) return fail(expected.error());
  if (*expected != payload.size()) return fail(errc::truncated, {}, {payload.size(), *expected});
  blocked filter;
  filter.set_geometry(shape);
  filter.store_ = bit_store::view(payload);
  return filter;
}

static_assert(mappable<blocked> && mergeable<blocked> && foldable<blocked> && concurrent_kind<blocked> &&
              stream_kind<blocked> && partitioned_kind<blocked> && lookup_kind<blocked>);

}  // namespace bloomery::inline BLOOMERY_ABI
