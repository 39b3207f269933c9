// kinds/cascade.hpp: the cascade: exact about keys that are all known, in a few bits for each that is included.
//
// What it is    a filter in two layers, built from two lists: keys that it shall match, and keys that it shall not. The
//               first layer is a ribbon filter of the included keys, which lets a few excluded ones through. The second
//               is a ribbon of one bit a slot, in which all included keys match and these few do not. So it is right
//               about every key of both lists: no false negatives and no false positives.
// Use it when   all keys that will ever be queried are known when it is built, and a wrong "maybe" is not acceptable:
//               revoked certificates among those that were issued, blocked add-ons among those that there are. With one
//               key in 100 included it takes 8.6 bits for each of these; the least that is possible is 8.1, a cascade
//               of Bloom filters takes 13.8, and the set of 64-bit digests 64.
// Use instead   `ribbon` or `fuse` where unknown keys are queried and a small FPR is acceptable; `bitmap` for
//               integers in a dense range; a set where keys come and go.
//
// Other keys    that are in neither list get any answer. fpr_now() is how many get a yes; params.fpr is a bound on it
//               that costs space. Without it, the FPR is what makes the filter smallest: about 0.5 to 1 times included
//               / excluded keys, up to 1/2; and where far fewer keys are excluded than included, the cascade holds the
//               excluded ones and answers yes to nearly all others. With no key to exclude it answers yes to
//               everything, with none to include no to everything.
// Build         static: from the complete digests of both lists, which are reordered meanwhile. Takes 8 bytes for each
//               key of both, the filter twice and 3 MiB a thread. Keys may come again within a list. A digest in both
//               lists is an error, be it of the same key or of two that collide: by chance once in 2^64 /
//               (included * excluded) builds; then another seed of the hash does it. The same lists give the same
//               bytes on any number of threads.
// Size          h (log2(o / h) + 1.91 to 2) bits and some 1 % more, h the keys of the smaller list and o of the other.
//               Small lists take whole blocks. The size that plan reports is an upper bound.
// Merges        no, and nothing can be inserted or erased: build it again.
// Keys          keys() is the number of different included digests, excluded_keys() that of excluded ones,
//               capacity_keys() both together; exact.
//
// Bytes         the first layer, zeros to a multiple of 64 bytes, the second; each as kinds/ribbon.hpp describes, with
//               up to three layers of its own. kinds/cascade/layout.hpp has the sizes and the choice between them.
// Papers        J. Larisch et al., "CRLite: a scalable system for pushing all TLS revocations to all browsers", 2017
//               (cascades of Bloom filters); J. Schanck, "Clubcards for the WebPKI: smaller certificate revocation
//               tests in theory and practice", 2025 (two layers of linear equations); those of kinds/ribbon.hpp.
// Threads       any number of readers.
//
//     const std::vector<std::string> revoked = {"17", "42"}, valid = {"1", "2", "3", "4", "5"};
//     auto filter = bloomery::filter<bloomery::cascade>::build(std::span(revoked), std::span(valid), {});
//     if (!filter) return 2;
//     bool is_revoked = filter->may_contain("42");  // true, and surely
//     bool is_valid = !filter->may_contain("3");    // true, and surely
#pragma once

#include <bloomery/kernels/blocked.hpp>
#include <bloomery/kernels/ribbon/dispatch.hpp>
#include <bloomery/kinds/bit_store.hpp>
#include <bloomery/kinds/cascade/build.hpp>
#include <bloomery/kinds/cascade/layout.hpp>
#include <bloomery/kinds/explain.hpp>
#include <utility>

namespace bloomery::inline BLOOMERY_ABI {

class BLOOMERY_API cascade {
 public:
  static constexpr kind_info info{
      .id = 11,
      .name = "cascade",
      .summary = "built once from keys to match and keys not to match: exact about both lists",
      .lines = "2 to 12, in two places"};

  // By the numbers of both lists: request.excluded_keys, and fpr as a bound for keys of neither.
  static result<size_plan> plan(const size_request& request, std::string_view layout = {}) noexcept {
    return sizing::plan_cascade(request, layout);
  }
  // Reorders the digests of both lists. Of the parameters, fpr bounds the FPR for keys of neither list; sizes are
  // refused. 0 threads: as many as the machine has.
  static result<cascade> build(const filter_params& params, std::span<std::uint64_t> included,
                               std::span<std::uint64_t> excluded, unsigned threads = 0) noexcept;
  // Without keys to exclude, an FPR must be provided.
  static result<cascade> build(const filter_params& params, std::span<std::uint64_t> included,
                               unsigned threads = 0) noexcept;
  [[nodiscard]] result<cascade> clone() const noexcept;

  [[nodiscard]] bool may_contain(std::uint64_t digest) const noexcept {
    const bool through = !geometry_.has_sieve() || sieve_kernels_->contains(sieve_, digest);
    return (through && table_kernels_->contains(table_, digest)) != geometry_.reversed;
  }
  // What a look-up reads and decides: see kinds/explain.hpp.
  [[nodiscard]] explanation explain(std::uint64_t digest) const noexcept;
  // Bit i of the mask (bit i % 64 of word i / 64) answers digest i; the mask holds mask_words(digests.size()) words.
  void may_contain_batch(std::span<const std::uint64_t> digests, std::span<std::uint64_t> mask) const noexcept {
    for (std::size_t first = 0; first < digests.size(); first += group) {
      ask(digests.subspan(first, std::min(group, digests.size() - first)), mask.data() + first / 64);
    }
  }
  // The same with digests that are made as they are needed: see stream_query_kind in kinds/concept.hpp.
  void may_contain_stream(std::size_t count, const digest_feed& feed, std::span<std::uint64_t> mask) const noexcept;

  // Same lists, as far as can be determined: the same answers for ever.
  friend bool operator==(const cascade& a, const cascade& b) noexcept {
    const stored_shape one = a.shape();
    const stored_shape other = b.shape();
    return one.keys == other.keys && one.capacity_keys == other.capacity_keys && one.field == other.field &&
           a.store_ == b.store_;
  }

  [[nodiscard]] key_count keys() const noexcept { return {keys_.included, true}; }
  [[nodiscard]] std::uint64_t excluded_keys() const noexcept { return keys_.excluded; }
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept { return keys_.included + keys_.excluded; }
  [[nodiscard]] double target_fpr() const noexcept { return fpr_; }
  [[nodiscard]] const cascade_geometry& geometry() const noexcept { return geometry_; }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return store_.words() * 8; }
  // Keys for each slot: of the first layer, or of the only one.
  [[nodiscard]] double fill() const noexcept {
    if (!geometry_.has_table()) return 0.0;
    const std::uint64_t keys = geometry_.has_sieve() ? geometry_.held(keys_) : capacity_keys();
    const ribbon_geometry& part = geometry_.has_sieve() ? geometry_.sieve : geometry_.table;
    return static_cast<double>(keys) / static_cast<double>(part.slots());
  }
  [[nodiscard]] double estimated_keys() const noexcept { return static_cast<double>(keys_.included); }
  // For keys of neither list.
  [[nodiscard]] double fpr_now() const noexcept { return geometry_.fpr(); }
  [[nodiscard]] fact_list facts() const noexcept;
  [[nodiscard]] fact_list facts_now() const noexcept;

  // The native file: see kinds/concept.hpp.
  [[nodiscard]] stored_shape shape() const noexcept;
  [[nodiscard]] std::span<const std::byte> payload() const noexcept { return store_.bytes(); }
  static result<std::uint64_t> payload_bytes(const stored_shape& shape) noexcept;
  static result<cascade> adopt(const stored_shape& shape, aligned_buffer payload) noexcept;
  static result<cascade> view(const stored_shape& shape, std::span<const std::byte> payload) noexcept;

  // Calls f(first byte, size) for the thresholds and blocks of both layers that a look-up may read.
  template <class F>
  void for_each_touched(std::uint64_t digest, F&& f) const;

 private:
  static constexpr std::size_t group = 512;  // digests that are looked up in one layer before the other
  static constexpr std::uint64_t reversed_bit = 256;

  static cascade_geometry geometry_of(const stored_shape& shape) noexcept;
  void set(const stored_shape& shape, bit_store store) noexcept;
  // Up to `group` of them.
  void ask(std::span<const std::uint64_t> digests, std::uint64_t* mask) const noexcept;
  // Of those that the mask names, leaves the ones that match in the table, too.
  void ask_table_too(std::span<const std::uint64_t> digests, std::uint64_t* mask) const noexcept;
  [[nodiscard]] std::string_view text_of_sieve() const noexcept {
    if (!geometry_.has_sieve()) return "none";
    return geometry_.reversed ? "of the excluded keys" : "of the included keys";
  }

  bit_store store_;
  kernels::ribbon_view sieve_{};
  kernels::ribbon_view table_{};
  const kernels::ribbon_kernels* sieve_kernels_ = &kernels::ribbon_kernels::for_isa(isa::scalar, 1);
  const kernels::ribbon_kernels* table_kernels_ = &kernels::ribbon_kernels::for_isa(isa::scalar, 1);
  cascade_geometry geometry_{};
  sizing::universe keys_{};
  double fpr_ = 0;
};

template <class F>
void cascade::for_each_touched(std::uint64_t digest, F&& f) const {
  detail::ribbon_touched(geometry_.sieve, sieve_, digest, f);
  const std::uint64_t table = geometry_.table_word() * 8;
  detail::ribbon_touched(geometry_.table, table_, digest,
                         [&](std::uint64_t first, std::uint64_t size) { f(table + first, size); });
}

static_assert(excluding_kind<cascade> && contiguous_kind<cascade> && stream_query_kind<cascade>);

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds/cascade.cpp>
#endif
