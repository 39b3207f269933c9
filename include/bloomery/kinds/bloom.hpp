// kinds/bloom.hpp: the classic Bloom filter.
//
// What it is    m bits; a key sets k of them, spread over the whole array. A key whose k bits are all set may be there.
// Use it when   space counts more than speed and filters must merge, or the false-positive rate is small (below
//               0.01 %), where blocked layouts need more bits. 1.44 log2(1/p) bits per key: 9.6 at 1 %, 14.4 at 0.1 %.
// Use instead   `blocked` when speed counts (one cache line per key instead of k); `bitmap` for dense integers.
// Deletes       no. Merges: union and intersection, same m and k; folds to m / f for any f that divides m.
//
// Positions     no division and no double hashing (whose probe sets coincide for small m): the digest is stepped by a
//               multiplicative generator, x_0 = digest, x_(i+1) = x_i * A mod 2^64, and probe i is the bit
//               floor(x_i * m / 2^64). With 128-bit digests x_0 = low word and x_(i+1) = x_i * A + high word.
//               A = 0xd1342543de82ef95, a multiplier with good spectral figures (Steele and Vigna, "Computationally
//               easy, spectrally good multipliers", 2021).
// Bytes         ceil(m / 64) little-endian words; bit i is bit i mod 64 of word i / 64; bits past m are 0.
// Paper         B. H. Bloom, "Space/time trade-offs in hash coding with allowable errors", CACM 13(7), 1970.
// Threads       any number of readers, or one writer, or many writers and readers through kinds/concurrent.hpp.
//
//     auto filter = bloomery::bloom::make({.keys = 1'000'000, .fpr = 0.001});
//     if (!filter) return 2;
//     filter->insert(bloomery::xxh3{}("alice", 5));
//     bool maybe = filter->may_contain(bloomery::xxh3{}("alice", 5));   // true
#pragma once

#include <bloomery/kernels/bloom.hpp>
#include <bloomery/kinds/bit_store.hpp>
#include <bloomery/kinds/explain.hpp>

namespace bloomery::inline BLOOMERY_ABI {

// The sizing model of the classic filter; see sizing/sizing.hpp.
struct bloom_model {
  static constexpr std::string_view name = "bloom";
  static constexpr unsigned min_hashes() noexcept { return 1; }
  static constexpr unsigned max_hashes() noexcept { return 64; }
  static constexpr std::uint64_t round_bits(std::uint64_t bits) noexcept { return bits < 8 ? 8 : bits; }
  static constexpr std::uint64_t memory_bytes(std::uint64_t bits) noexcept { return (bits + 63) / 64 * 8; }
  static result<std::uint64_t> bits_within(std::uint64_t memory) noexcept {
    if (memory < 8) return fail(errc::bad_memory, {}, {memory, 8});
    return memory / 8 * 64;
  }
  static double fpr(std::uint64_t keys, std::uint64_t bits, unsigned hashes) noexcept {
    return sizing::classic_fpr(keys, bits, hashes);
  }
};

class BLOOMERY_API bloom {
 public:
  static constexpr kind_info info{
      .id = 1,
      .name = "bloom",
      .summary = "classic Bloom filter: smallest that merges, any m and k, k lines a look-up",
      .lines = "k (about 2 when absent)"};

  static result<size_plan> plan(const size_request& request, std::string_view layout = {}) noexcept;
  static result<bloom> make(const filter_params& params) noexcept;
  // For a file that will be compressed.
  static unsigned packed_hashes(double fpr) noexcept { return sizing::packed_hashes(fpr); }
  [[nodiscard]] result<bloom> clone() const noexcept;

  insert_result insert(std::uint64_t digest) noexcept { return insert_probes({digest, 0}); }
  // As insert, without its answer. False: the filter is full and does not hold it.
  bool add(std::uint64_t digest) noexcept { return insert(digest) != insert_result::full; }
  insert_result insert(digest128 digest) noexcept { return insert_probes({digest.low, digest.high}); }
  [[nodiscard]] bool may_contain(std::uint64_t digest) const noexcept { return contains_probes({digest, 0}); }
  [[nodiscard]] bool may_contain(digest128 digest) const noexcept { return contains_probes({digest.low, digest.high}); }

  // What a look-up reads and decides: see kinds/explain.hpp.
  [[nodiscard]] explanation explain(std::uint64_t digest) const noexcept;
  [[nodiscard]] explanation explain(digest128 digest) const noexcept;

  // How many of the digests changed something.
  std::uint64_t add_batch(std::span<const std::uint64_t> digests) noexcept {
    return add_stream(digests.size(), digest_feed(digests.data()));
  }
  std::uint64_t add_batch(std::span<const digest128> digests) noexcept;
  // Bit i of the mask (bit i % 64 of word i / 64) answers digest i; the mask holds mask_words(digests.size()) words.
  void may_contain_batch(std::span<const std::uint64_t> digests, std::span<std::uint64_t> mask) const noexcept {
    may_contain_stream(digests.size(), digest_feed(digests.data()), mask);
  }
  void may_contain_batch(std::span<const digest128> digests, std::span<std::uint64_t> mask) const noexcept;
  // The same with digests that are made as they are needed: see stream_kind in kinds/concept.hpp.
  std::uint64_t add_stream(std::size_t count, const digest_feed& feed) noexcept;
  void may_contain_stream(std::size_t count, const digest_feed& feed, std::span<std::uint64_t> mask) const noexcept;

  // Many threads at once: see kinds/concurrent.hpp.
  insert_result insert_atomic(std::uint64_t digest) noexcept { return insert_probes_atomic(start(digest)); }
  insert_result insert_atomic(digest128 digest) noexcept { return insert_probes_atomic(start(digest)); }
  [[nodiscard]] bool may_contain_atomic(std::uint64_t digest) const noexcept { return contains_atomic(start(digest)); }
  [[nodiscard]] bool may_contain_atomic(digest128 digest) const noexcept { return contains_atomic(start(digest)); }
  void add_to_count(std::uint64_t inserted) noexcept {
    std::atomic_ref<std::uint64_t>(keys_).fetch_add(inserted, std::memory_order_relaxed);
  }

  result<void> merge(const bloom& other) noexcept;
  result<void> intersect(const bloom& other) noexcept;
  [[nodiscard]] result<bloom> fold(std::uint64_t factor) const noexcept;
  [[nodiscard]] std::uint64_t fold_units() const noexcept { return bits_; }
  void clear() noexcept {
    store_.clear();
    keys_ = 0;
    keys_exact_ = true;
  }
  // Same geometry and the same bits: the same answers for ever.
  friend bool operator==(const bloom& a, const bloom& b) noexcept {
    return a.bits_ == b.bits_ && a.hashes_ == b.hashes_ && a.digest_bits_ == b.digest_bits_ && a.store_ == b.store_;
  }

  [[nodiscard]] key_count keys() const noexcept { return {keys_, keys_exact_}; }
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept { return capacity_; }
  [[nodiscard]] double target_fpr() const noexcept { return fpr_; }
  [[nodiscard]] std::uint64_t bits() const noexcept { return bits_; }
  [[nodiscard]] cell_shape cells() const noexcept { return {.cells = bits_, .hashes = hashes_}; }
  [[nodiscard]] unsigned hashes() const noexcept { return hashes_; }
  [[nodiscard]] unsigned digest_bits() const noexcept { return digest_bits_; }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return store_.words() * 8; }
  [[nodiscard]] double fill() const noexcept;            // share of set bits; reads the whole array
  [[nodiscard]] double estimated_keys() const noexcept;  // from the fill: -(m/k) ln(1 - fill)
  [[nodiscard]] double fpr_now() const noexcept;         // fill^k
  [[nodiscard]] fact_list facts() const noexcept;

  // The native file: see kinds/concept.hpp.
  [[nodiscard]] stored_shape shape() const noexcept;
  [[nodiscard]] std::span<const std::byte> payload() const noexcept { return store_.bytes(); }
  static result<std::uint64_t> payload_bytes(const stored_shape& shape) noexcept;
  static result<bloom> adopt(const stored_shape& shape, aligned_buffer payload) noexcept;
  static result<bloom> view(const stored_shape& shape, std::span<const std::byte> payload) noexcept;

  // Calls f(first byte, size) for every part of the payload that a look-up of the digest may read.
  template <class F>
  void for_each_touched(digest128 digest, F&& f) const {
    probes probe{digest.low, digest.high};
    for (unsigned i = 0; i < hashes_; ++i) f(probe.next(bits_) / 64 * 8, std::uint64_t{8});
  }
  template <class F>
  void for_each_touched(std::uint64_t digest, F&& f) const {
    for_each_touched(digest128{digest, 0}, f);
  }

 private:
  struct probes {
    std::uint64_t x;
    std::uint64_t step;
    std::uint64_t next(std::uint64_t bits) noexcept {
      const std::uint64_t position = fast_range(x, bits);
      x = x * kernels::bloom_step::multiplier + step;
      return position;
    }
  };
  static probes start(std::uint64_t digest) noexcept { return {digest, 0}; }
  static probes start(digest128 digest) noexcept { return {digest.low, digest.high}; }

  insert_result insert_probes(probes probe) noexcept {
    // Copies, which the stores to the words cannot alias.
    std::uint64_t* words = store_.data();
    const std::uint64_t bits = bits_;
    const unsigned hashes = hashes_;
    std::uint64_t changed = 0;
    for (unsigned i = 0; i < hashes; ++i) {
      const std::uint64_t position = probe.next(bits);
      const std::uint64_t mask = little_endian(std::uint64_t{1} << (position % 64));
      changed |= ~words[position / 64] & mask;
      words[position / 64] |= mask;
    }
    keys_ += changed != 0 ? 1 : 0;
    return changed != 0 ? insert_result::inserted : insert_result::present;
  }
  [[nodiscard]] bool contains_probes(probes probe) const noexcept {
    for (unsigned i = 0; i < hashes_; ++i) {
      const std::uint64_t position = probe.next(bits_);
      if (!store_.test(position / 64, std::uint64_t{1} << (position % 64))) return false;
    }
    return true;
  }
  insert_result insert_probes_atomic(probes probe) noexcept;
  void explain_probes(explanation& out, probes probe) const noexcept;
  [[nodiscard]] bool contains_atomic(probes probe) const noexcept;
  // Digests in place: what the loops call for the next ones.
  struct digest128_array {
    const digest128* digests;
    const digest128* operator()(std::size_t first, std::size_t /*count*/, digest128* /*buffer*/) const noexcept {
      return digests + first;
    }
  };
  [[nodiscard]] kernels::bloom_view kernel_view() const noexcept { return {store_.data(), bits_, hashes_}; }

  [[nodiscard]] result<void> check_same(const bloom& other) const noexcept;
  void set_geometry(const stored_shape& shape) noexcept;
  void estimate_count() noexcept {
    keys_ = static_cast<std::uint64_t>(estimated_keys() + 0.5);
    keys_exact_ = false;
  }

  bit_store store_;
  std::uint64_t bits_ = 0;
  std::uint64_t capacity_ = 0;
  std::uint64_t keys_ = 0;
  double fpr_ = 0;
  unsigned hashes_ = 0;
  unsigned digest_bits_ = 64;
  bool keys_exact_ = true;
};

inline insert_result bloom::insert_probes_atomic(probes probe) noexcept {
  bool changed = false;
  for (unsigned i = 0; i < hashes_; ++i) {
    const std::uint64_t position = probe.next(bits_);
    changed |= store_.set_atomic(position / 64, std::uint64_t{1} << (position % 64));
  }
  return changed ? insert_result::inserted : insert_result::present;
}

inline bool bloom::contains_atomic(probes probe) const noexcept {
  for (unsigned i = 0; i < hashes_; ++i) {
    const std::uint64_t position = probe.next(bits_);
    if (!store_.test_atomic(position / 64, std::uint64_t{1} << (position % 64))) return false;
  }
  return true;
}

inline double bloom::fpr_now() const noexcept { return std::pow(fill(), static_cast<double>(hashes_)); }

static_assert(mappable<bloom> && mergeable<bloom> && foldable<bloom> && concurrent_kind<bloom> &&
              digest128_kind<bloom> && stream_kind<bloom>);

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds/bloom.cpp>
#endif
