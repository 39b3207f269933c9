// kinds/counting.hpp: the counting Bloom filter: keys can be taken out again, and counted.
//
// What it is    a Bloom filter with a counter of 4 bits in place of each bit. An insert adds one to the k counters of a key,
//               an erase takes one away, and a key whose counters are all above 0 may be there.
// Use it when   keys leave as well as come, or it matters how often a key came; filters merge as sums. 5.77 log2(1/p) bits
//               per key: 38.3 at 1 %, 57.5 at 0.1 %, four times a `bloom`.
// Use instead   `bloom` or `blocked` when nothing is ever erased; `bitmap` for dense integers, exactly.
//
// Insert        every insert counts, of a key that is there as well: `inserted` says that the key was surely absent before,
//               `present` that it may have been there. Never `full`: beyond its capacity it loses rate, no keys.
// Erase         takes one occurrence away: a key that was inserted twice is there until its second erase. A key that is surely
//               absent is refused (false) and nothing changes. Erase only what you inserted: a key that merely seems to be
//               there (a false positive, with the probability p) is not told from one that is, and erasing it takes away
//               what belongs to others, which may then be missed.
// Count         the least of a key's counters: never less than how often it is there, more with the probability p, and 15 for
//               15 or more.
// Saturation    a counter that reaches 15 stays there for ever, whatever is erased: it does not know how much it
//               holds, and taking from it could lose keys. So a saturated counter costs rate, never a key. Different keys
//               hardly ever get there (a counter in 1e16 at capacity); the 15th insert of one key does. `saturated()` says how
//               many there are, and `bloomery info` prints it. A key all of whose counters are stuck cannot be erased any
//               more: erase answers true and it stays.
// Merges        union adds the counters, as if all the keys had been inserted into one filter; intersection keeps the
//               smaller one of each two, enough for every key of both as often as it is in both; same size, k and layout.
//               Folds to 1/f of the size for any f that divides.
// Keys          keys() counts inserts of keys that were surely absent, less the erases after which a key was so. It is
//               exact until the first erase, and an estimate from then on.
//
// Layouts       spread (default): the k counters lie anywhere, as the bits of a `bloom` do; k = 1..64.
//               line: all counters of a key lie in one cache line, one (or two) in each of its 8 words; k = 1..16.
//               14 % more bits at 1 %, 35 % at 0.1 %; an insert or look-up touches one line, and batches run in vectors.
//               kernels/counting.hpp defines the counters.
// Bytes         16 counters to a little-endian word, counter i in bits 4 (i mod 16) and up of word i / 16; past the last 0.
// Papers        L. Fan, P. Cao, J. Almeida, A. Broder, "Summary cache: a scalable wide-area web cache sharing protocol",
//               IEEE/ACM ToN 8(3), 2000 (counters, and why 4 bits); Putze, Sanders, Singler, JEA 14, 2009 (blocks).
// Threads       any number of readers, or one writer, or many that insert and ask through kinds/concurrent.hpp. An erase
//               must have the filter to itself.
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

namespace bloomery::inline BLOOMERY_ABI {

class counting {
 public:
  static constexpr kind_info info{
      .id = 4,
      .name = "counting",
      .summary = "Bloom filter of 4-bit counters: erases and counts keys, four times the bits",
      .lines = "k (1 with layout line)",
      .cell_bits = kernels::counter_bits,
      .layouts = "spread line"};
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
  [[nodiscard]] bool may_contain(std::uint64_t digest) const noexcept {
    return is_spread() ? kernels::counting_contains<kernels::spread_probes>(kernel_view(), digest)
                       : kernels::counting_contains<kernels::line_probes>(kernel_view(), digest);
  }
  // Takes one occurrence of the key away; false, and nothing changes, when it is surely absent.
  bool erase(std::uint64_t digest) noexcept;
  // How often the key is there, at least; most_count for so often or more.
  [[nodiscard]] std::uint64_t count(std::uint64_t digest) const noexcept {
    return is_spread() ? kernels::counting_count<kernels::spread_probes>(kernel_view(), digest)
                       : kernels::counting_count<kernels::line_probes>(kernel_view(), digest);
  }

  // How many of the digests were surely absent before.
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
  [[nodiscard]] named_values describe() const noexcept {
    return {{{.name = "layout", .text = is_spread() ? "spread" : "line"},
             {.name = is_spread() ? "counters" : "lines", .number = size_},
             {.name = "counter bits", .number = kernels::counter_bits},
             {.name = "hash functions", .number = hashes_}}};
  }

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

inline result<size_plan> counting::plan(const size_request& request, std::string_view layout) noexcept {
  const auto found = find_counter_layout(layout);
  if (!found) return fail(found.error());
  auto solved = sizing::solve(counting_model{*found}, request);
  if (solved && solved->digest_bits > 64) {
    return fail(errc::not_enough_hash_bits, "kind counting",
                {solved->keys, sizing::hash_bits_needed(solved->keys, solved->fpr), 64});
  }
  if (solved && *found == counter_layout::line) solved->lines = 1;
  return solved;
}

inline result<counting> counting::make(const filter_params& params) noexcept {
  const auto solved = plan(params.sizes(), params.layout);
  if (!solved) return fail(solved.error());
  auto store = bit_store::make(solved->memory_bytes / 8, "the filter", params.memory);
  if (!store) return fail(store.error());
  counting filter;
  filter.store_ = std::move(*store);
  filter.layout_ = *find_counter_layout(params.layout);
  filter.size_ = solved->bits / filter.model().unit_bits();
  filter.hashes_ = solved->hashes;
  filter.capacity_ = solved->keys;
  filter.fpr_ = params.fpr ? *params.fpr : solved->fpr;
  return filter;
}

inline result<counting> counting::clone() const noexcept {
  auto store = store_.clone("a copy of the filter");
  if (!store) return fail(store.error());
  counting copy;
  copy.set_geometry(shape());
  copy.store_ = std::move(*store);
  return copy;
}

inline bool counting::erase(std::uint64_t digest) noexcept {
  const kernels::erased outcome =
      is_spread() ? kernels::counting_erase<kernels::spread_probes>(store_.data(), kernel_view(), digest)
                  : kernels::counting_erase<kernels::line_probes>(store_.data(), kernel_view(), digest);
  if (outcome == kernels::erased::nothing) return false;
  keys_ -= outcome == kernels::erased::last && keys_ != 0 ? 1 : 0;
  // A key that was new to the count may leave while others cover it, and the other way round.
  keys_exact_ = false;
  return true;
}

inline std::uint64_t counting::insert_stream(std::size_t count, const digest_feed& feed) noexcept {
  const std::uint64_t inserted =
      layout_ == counter_layout::spread
          ? kernels::counting_insert_spread(store_.data(), kernel_view(), count, feed)
          : active_kernels<kernels::counting_kernels>().insert_lines(store_.data(), kernel_view(), count, feed);
  keys_ += inserted;
  return inserted;
}

inline void counting::may_contain_stream(std::size_t count, const digest_feed& feed,
                                         std::span<std::uint64_t> mask) const noexcept {
  if (is_spread()) {
    const kernels::spread_view view{store_.data(), size_, hashes_};
    kernels::bloom_contains_batch<std::uint64_t>(view, count, feed, mask.data());
  } else {
    active_kernels<kernels::counting_kernels>().contains_lines(kernel_view(), count, feed, mask.data());
  }
}

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

// Counters are chosen by the digest's high bits, so f neighbours become one (kinds/bloom.hpp), or f neighbouring lines.
inline result<counting> counting::fold(std::uint64_t factor) const noexcept {
  if (factor == 0 || size_ % factor != 0 || size_ / factor < model().min_units()) {
    return fail(errc::cannot_fold, layout_ == counter_layout::spread
                                       ? "the factor must divide the number of counters and leave at least 8"
                                       : "the factor must divide the number of lines");
  }
  counting folded;
  folded.set_geometry(shape());
  folded.size_ = size_ / factor;
  auto store = bit_store::make(counting_model::memory_bytes(folded.bits()) / 8, "the folded filter", store_.hooks());
  if (!store) return fail(store.error());
  folded.store_ = std::move(*store);
  // The promise stays, so the capacity shrinks to what the counters left can keep it for.
  const auto room = sizing::keys_for(model(), {.fpr = fpr_, .hashes = hashes_}, folded.bits());
  folded.capacity_ = room ? *room : 0;
  std::uint64_t* to = folded.store_.data();
  for (std::uint64_t i = 0; i < store_.words(); ++i) {
    if (!is_spread()) {
      std::uint64_t& word = to[i / 8 / factor * 8 + i % 8];
      word = kernels::add_counters(word, store_.data()[i]);
      continue;
    }
    for (std::uint64_t word = store_.word(i), counter = i * kernels::counters_a_word; word != 0; ++counter) {
      const std::uint64_t add = (word & kernels::counter_most) << kernels::counter_shift(counter / factor);
      std::uint64_t& into = to[counter / factor / kernels::counters_a_word];
      into = kernels::add_counters(into, little_endian(add));
      word >>= kernels::counter_bits;
    }
  }
  return folded;
}

inline std::uint64_t counting::saturated() const noexcept {
  std::uint64_t stuck = 0;
  for (std::uint64_t i = 0; i < store_.words(); ++i) stuck += kernels::counters_stuck(store_.data()[i]);
  return stuck;
}

inline double counting::fill() const noexcept {
  std::uint64_t used = 0;
  for (std::uint64_t i = 0; i < store_.words(); ++i) used += kernels::counters_used(store_.data()[i]);
  return size_ == 0 ? 0.0 : static_cast<double>(used) / static_cast<double>(counters());
}

// Spread: n = ln(1 - fill) / ln(1 - 1/m) / k. Lines: the sum of the same over each of them, where a key uses k of 128.
inline double counting::estimated_keys() const noexcept {
  const auto keys_for = [](double used, double cells, double one_key) {
    if (used > cells - 0.5) used = cells - 0.5;  // all are used: the estimate is a lower bound
    return std::log1p(-used / cells) / one_key;
  };
  const double hashes = static_cast<double>(hashes_);
  if (is_spread()) {
    const double cells = static_cast<double>(size_);
    return keys_for(fill() * cells, cells, std::log1p(-1.0 / cells) * hashes);
  }
  constexpr double cells = static_cast<double>(kernels::counters_a_line);
  const double one_key = std::log1p(-hashes / cells);
  double keys = 0;
  for (std::uint64_t line = 0; line < size_; ++line) {
    unsigned used = 0;
    for (std::uint64_t i = 0; i < 8; ++i) used += kernels::counters_used(store_.data()[line * 8 + i]);
    if (used != 0) keys += keys_for(static_cast<double>(used), cells, one_key);
  }
  return keys;
}

inline double counting::line_fpr(std::uint64_t line) const noexcept {
  std::array<double, 8> word_fill{};
  for (std::size_t i = 0; i < 8; ++i) {
    word_fill[i] = static_cast<double>(kernels::counters_used(store_.data()[line * 8 + i])) /
                   static_cast<double>(kernels::counters_a_word);
  }
  return rate_of_lanes(word_fill, hashes_);
}

inline double counting::fpr_now() const noexcept {
  if (is_spread()) return std::pow(fill(), static_cast<double>(hashes_));
  double sum = 0;
  for (std::uint64_t line = 0; line < size_; ++line) sum += line_fpr(line);
  return size_ == 0 ? 0.0 : sum / static_cast<double>(size_);
}

inline stored_shape counting::shape() const noexcept {
  return {.capacity_keys = capacity_,
          .fpr = fpr_,
          .keys = keys_,
          .keys_exact = keys_exact_,
          .digest_bits = 64,
          .field = {size_, hashes_, static_cast<std::uint64_t>(layout_)}};
}

inline void counting::set_geometry(const stored_shape& shape) noexcept {
  size_ = shape.field[0];
  hashes_ = static_cast<unsigned>(shape.field[1]);
  layout_ = static_cast<counter_layout>(shape.field[2]);
  capacity_ = shape.capacity_keys;
  fpr_ = shape.fpr;
  keys_ = shape.keys;
  keys_exact_ = shape.keys_exact;
}

inline result<std::uint64_t> counting::payload_bytes(const stored_shape& shape) noexcept {
  if (shape.field[2] > 1) return fail(errc::bad_field, "layout", {shape.field[2]});
  const counting_model model{static_cast<counter_layout>(shape.field[2])};
  if (shape.field[0] < model.min_units() || shape.field[0] > max_filter_bits / model.unit_bits()) {
    return fail(errc::bad_field, "counters", {shape.field[0]});
  }
  if (shape.field[1] < 1 || shape.field[1] > model.max_hashes()) {
    return fail(errc::bad_field, "hash functions", {shape.field[1]});
  }
  if (shape.digest_bits != 64) return fail(errc::bad_field, "digest bits", {shape.digest_bits});
  for (std::size_t i = 3; i < shape.field.size(); ++i) {
    if (shape.field[i] != 0) return fail(errc::bad_field, "unused number", {shape.field[i]});
  }
  return counting_model::memory_bytes(shape.field[0] * model.unit_bits());
}

inline result<counting> counting::adopt(const stored_shape& shape, aligned_buffer payload) noexcept {
  auto filter = view(shape, payload.bytes());
  if (!filter) return filter;
  filter->store_ = bit_store::adopt(std::move(payload));
  const std::uint64_t used = filter->bits() % 64;
  if (used != 0 && (filter->store_.word(filter->store_.words() - 1) >> used) != 0) {
    return fail(errc::bad_field, "counters past the end", {filter->size_});
  }
  return filter;
}

inline result<counting> counting::view(const stored_shape& shape, std::span<const std::byte> payload) noexcept {
  const auto expected = payload_bytes(shape);
  if (!expected) return fail(expected.error());
  if (*expected != payload.size()) return fail(errc::truncated, {}, {payload.size(), *expected});
  counting filter;
  filter.set_geometry(shape);
  filter.store_ = bit_store::view(payload);
  return filter;
}

static_assert(mappable<counting> && mergeable<counting> && foldable<counting> && erasable<counting> &&
              countable<counting> && saturating<counting> && concurrent_kind<counting> && stream_kind<counting>);

}  // namespace bloomery::inline BLOOMERY_ABI
