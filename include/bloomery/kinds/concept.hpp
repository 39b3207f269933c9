// kinds/concept.hpp: what a filter kind is.
//
// A kind sees digests, never keys. It is made from `filter_params`, describes itself in `info`, keeps all of its state
// in one run of bytes (so that a file of it can be queried while memory-mapped), and has the verbs of `filter_kind`.
// Most take keys one after the other (`dynamic_kind`); others are static: built from the complete key set
// (`static_kind`). What a kind can do beyond that (merge, fold, erase, count, be written by many threads) is a further
// concept, and the surfaces test the concept, not the kind. Start a new kind from kinds/bloom.hpp; CONTRIBUTING.md has
// the checklist.
#pragma once

#include <array>
#include <bit>
#include <bloomery/core/buffer.hpp>
#include <bloomery/core/clock.hpp>
#include <bloomery/core/overlap.hpp>
#include <bloomery/core/pieces.hpp>
#include <bloomery/core/result.hpp>
#include <bloomery/hash/concept.hpp>
#include <bloomery/hash/digest_feed.hpp>
#include <bloomery/kinds/facts.hpp>
#include <bloomery/kinds/options.hpp>
#include <bloomery/sizing/sizing.hpp>
#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI {

// What no concept tells and every surface needs. What a kind can do is in kinds/capabilities.hpp, what it can be made
// with in its options().
struct kind_info {
  std::uint32_t id = 0;            // stored in files: never reused, never changed
  std::string_view name;           // lower case, one word
  std::string_view summary;        // one line
  std::string_view lines;          // cache lines that a look-up touches
  bool exact = false;              // no false positives
  bool grows = false;              // takes any number of keys
  bool integer_keys = false;       // digests are the keys themselves (hash `identity`)
  std::uint64_t default_keys = 1;  // kinds that grow: what they are made for where no number of keys is provided
};

// Everything a kind can be made from: what to size by, a layout where the kind has several, where memory comes from.
// The first six are size_request's, written again so that a caller can name them all in one pair of braces.
struct filter_params {
  std::optional<std::uint64_t> keys{};
  std::optional<double> fpr{};
  std::optional<std::uint64_t> bits{};
  std::optional<unsigned> hashes{};
  std::optional<double> bits_per_key{};
  std::optional<std::uint64_t> memory_bytes{};
  std::string_view layout{};
  const memory_hooks* memory = nullptr;
  std::string_view mode{};
  std::uint64_t window_ns = 0;                   // kinds that expire: keys stay for so long; 0: by their number alone
  const clock_hook* clock = nullptr;             // kinds that expire: the time; null is the system's
  std::optional<std::uint64_t> growth{};         // kinds that take a growth factor
  std::optional<std::uint64_t> excluded_keys{};  // kinds that exclude keys: for sizing alone, as `keys` is
  bool takes_digest128 = false;             // kinds that can take 128-bit digests: such, even if its own keys need none
  std::span<const option_value> options{};  // by their names, of any_filter and the tool: see kinds/options.hpp

  [[nodiscard]] size_request sizes() const noexcept {
    return {keys, fpr, bits, hashes, bits_per_key, memory_bytes, excluded_keys};
  }
};

// What a file's header states about a filter; from it and the payload's bytes the filter is whole again.
struct stored_shape {
  std::uint64_t capacity_keys = 0;
  double fpr = 0;          // promised at capacity
  std::uint64_t keys = 0;  // inserts of keys that were surely absent
  bool keys_exact = true;  // false after a merge, fold or intersection, in some kinds after an erase: then an estimate
  unsigned digest_bits = 64;
  std::array<std::uint64_t, 8> field{};  // the kind's own numbers; unused ones are 0
};

struct key_count {
  std::uint64_t keys = 0;
  bool exact = true;
};

constexpr std::size_t mask_words(std::size_t answers) noexcept { return (answers + 63) / 64; }

template <class K>
concept filter_kind = std::movable<K> &&
    requires(const K constant, std::string_view layout, std::uint64_t digest, std::span<const std::uint64_t> digests,
             std::span<std::uint64_t> mask, const size_request& request) {
  { K::info } -> std::convertible_to<const kind_info&>;
  { K::plan(request, layout) } -> std::same_as<result<size_plan>>;
  { constant.may_contain(digest) } -> std::same_as<bool>;
  constant.may_contain_batch(digests, mask);
  { constant.clone() } -> std::same_as<result<K>>;
  { constant == constant } -> std::same_as<bool>;
  { constant.keys() } -> std::same_as<key_count>;
  { constant.capacity_keys() } -> std::same_as<std::uint64_t>;
  { constant.target_fpr() } -> std::same_as<double>;
  { constant.fill() } -> std::same_as<double>;
  { constant.estimated_keys() } -> std::same_as<double>;
  { constant.fpr_now() } -> std::same_as<double>;
  { constant.memory_bytes() } -> std::same_as<std::uint64_t>;
  { constant.facts() } -> std::same_as<fact_list>;
  { constant.shape() } -> std::same_as<stored_shape>;
};

// Kinds that can be made with more than a size: what that is.
template <class K>
concept configurable_kind = filter_kind<K> && requires {
  { K::options() } -> std::same_as<std::span<const option_info>>;
};

// Kinds that report how they stand beyond what every kind reports. It may read the whole filter.
template <class K>
concept reporting_kind = filter_kind<K> && requires(const K constant) {
  { constant.facts_now() } -> std::same_as<fact_list>;
};

// The bits of a cell of the payload, 1, 2, 4 or 8; a cell is in use when one of its bits is set. Kinds of cells with
// several bits declare `payload_cell_bits`.
template <filter_kind K>
constexpr unsigned cell_bits_of() noexcept {
  if constexpr (requires { K::payload_cell_bits; }) return K::payload_cell_bits;
  return 1;
}

// Kinds that are made empty and take keys as they come.
template <class K>
concept dynamic_kind = filter_kind<K> &&
    requires(K filter, const filter_params& params, std::uint64_t digest, std::span<const std::uint64_t> digests) {
  { K::make(params) } -> std::same_as<result<K>>;
  { filter.insert(digest) } -> std::same_as<insert_result>;
  { filter.add(digest) } -> std::same_as<bool>;
  { filter.add_batch(digests) } -> std::same_as<std::uint64_t>;
  filter.clear();
};

// Kinds that are built from all of their digests, which they may put in another order, and do not change. Digests that
// come again count once. Their number decides about the size; params.keys is ignored. 0 threads: all processors.
template <class K>
concept static_kind = filter_kind<K> &&
    requires(const filter_params& params, std::span<std::uint64_t> digests, unsigned threads) {
  { K::build(params, digests, threads) } -> std::same_as<result<K>>;
};

// Those of them that take a second list, of digests that they shall not match, and are right about every digest of
// either. About others they answer yes at the FPR target_fpr(). capacity_keys() is the size of both lists. A digest
// that is in both is an error (errc::in_both_lists: number[0] are, and number[1] is one of them).
template <class K>
concept excluding_kind = static_kind<K> &&
    requires(const filter_params& params, std::span<std::uint64_t> digests, unsigned threads) {
  { K::build(params, digests, digests, threads) } -> std::same_as<result<K>>;
};

// Kinds whose bytes can be queried in place (memory-mapped).
template <class K>
concept mappable = filter_kind<K> &&
    requires(const K constant, const stored_shape& shape, aligned_buffer buffer, std::span<const std::byte> bytes) {
  { K::payload_bytes(shape) } -> std::same_as<result<std::uint64_t>>;
  { K::adopt(shape, std::move(buffer)) } -> std::same_as<result<K>>;
  { K::view(shape, bytes) } -> std::same_as<result<K>>;
};
// Those whose bytes are one piece in memory, too. Of the others they are gathered for the file: serialized_kind.
template <class K>
concept contiguous_kind = mappable<K> && requires(const K constant) {
  { constant.payload() } -> std::same_as<std::span<const std::byte>>;
};

// Kinds whose bytes are made for the file, in pieces, and unpacked from it unless they are mappable. `serialized_bytes`
// and `serialize` agree, and `serialize` gives the same bytes each time. Neither takes memory beside the filter, but for
// less than 1 MiB that is returned.
template <class K>
concept serialized_kind = filter_kind<K> && requires(const K constant, const byte_sink& sink) {
  { constant.serialized_bytes() } -> std::same_as<std::uint64_t>;
  { constant.serialize(sink) } -> std::same_as<result<void>>;
};
// All of the bytes into memory that has the space for them.
template <class K>
result<void> serialize_into(const K& filter, std::span<std::byte> out) noexcept {
  const std::uint64_t needed = filter.serialized_bytes();
  if (out.size() < needed) return fail(errc::bad_span, "the output", {out.size(), needed});
  memory_fill fill(out);
  return filter.serialize(byte_sink(fill));
}
template <class K>
concept serializable = serialized_kind<K> &&
    requires(const stored_shape& shape, const byte_feed& bytes, const memory_hooks* hooks) {
  { K::deserialize(shape, bytes, hooks) } -> std::same_as<result<K>>;
};

template <class K>
concept mergeable = filter_kind<K> && requires(K filter, const K& other) {
  { filter.merge(other) } -> std::same_as<result<void>>;
};
template <class K>
concept intersectable = mergeable<K> && requires(K filter, const K& other) {
  { filter.intersect(other) } -> std::same_as<result<void>>;
};

// What a merge may do to the false-positive rate (FPR), for kinds that refuse a merge that would exceed their target
// FPR.
enum class merge_fpr : std::uint8_t { keep_target, any };
template <class K>
concept refusing_merges = mergeable<K> && requires(K filter, const K& other, merge_fpr rate) {
  { filter.merge(other, rate) } -> std::same_as<result<void>>;
};

// Kinds that can be made smaller afterwards, by any factor that divides `fold_units()`: bits, blocks.
template <class K>
concept foldable = filter_kind<K> && requires(const K constant, std::uint64_t factor) {
  { constant.fold(factor) } -> std::same_as<result<K>>;
  { constant.fold_units() } -> std::same_as<std::uint64_t>;
};

// Kinds that can take a key out again: one occurrence of it. False, and nothing changes, when it is surely absent.
template <class K>
concept erasable = filter_kind<K> && requires(K filter, std::uint64_t digest) {
  { filter.erase(digest) } -> std::same_as<bool>;
};
// Those of them that erase in some modes only: an error states why this filter does not.
template <class K>
concept erasing_in_some_modes = erasable<K> && requires(const K constant) {
  { constant.check_erase() } -> std::same_as<result<void>>;
};

// Kinds that grow in some modes only: whether this filter takes any number of keys.
template <class K>
concept growing_in_some_modes = filter_kind<K> && requires(const K constant) {
  { constant.grows() } -> std::same_as<bool>;
};

// Kinds that can report how often they hold a key: 0 only when it is surely absent. Sets report 0 or 1.
template <class K>
concept countable = filter_kind<K> && requires(const K constant, std::uint64_t digest) {
  { constant.count(digest) } -> std::same_as<std::uint64_t>;
};

// Kinds whose counters end at a most and stay there: how many have.
template <class K>
concept saturating = filter_kind<K> && requires(const K constant) {
  { constant.saturated() } -> std::same_as<std::uint64_t>;
};

// Kinds whose keys expire: what they cover now. Times are 0 where only the number of keys counts.
struct window_state {
  std::uint64_t generation = 0;
  std::uint64_t guaranteed_keys = 0;  // number of later keys after which a key may expire
  std::uint64_t covered_keys = 0;     // counted in the generations that are whole
  std::uint64_t guaranteed_ns = 0;    // as long as no more keys come in it than it was made for
  std::uint64_t covered_ns = 0;       // keys inserted since then are reported
};
template <class K>
concept expiring = filter_kind<K> && requires(const K constant) {
  { constant.window_now() } -> std::same_as<window_state>;
};

// Kinds that may lose keys, from the first removal on: what was removed, and what that costs.
struct loss_state {
  std::uint64_t added_keys = 0;  // inserts that changed something: what counts against the capacity
  std::uint64_t removals = 0;
  std::uint64_t capacity_removals = 0;  // with so many, the promised FPR is reached
  std::uint64_t returned = 0;           // keys in the list of those that came back, or would have been lost immediately
  std::uint64_t return_slots = 0;       // in that list
  double target_rate = 0;               // of the keys that are there, the share that is called absent
  double rate = 0;  // the same, now, of those that were there before the removals; 0 before the first
};
template <class K>
concept losing = erasable<K> && requires(const K constant) {
  { constant.loss_now() } -> std::same_as<loss_state>;
};

// Fixed-capacity kinds: `insert` may return full, and the filter is then as it was before. A batch stops at the first
// digest that does not fit; those before it are in.
template <class K>
concept bounded_kind = filter_kind<K> && requires(K filter, std::span<const std::uint64_t> digests) {
  { filter.add_until_full(digests) } -> std::same_as<batch_outcome>;
};

// Those of them that can report more about a digest that was refused than that the filter is full.
template <class K>
concept explaining_kind = bounded_kind<K> && requires(const K constant, std::uint64_t digest) {
  { constant.why_full(digest) } -> std::same_as<error>;
};

// Kinds that many threads may write and query at the same time; see kinds/concurrent.hpp for the contract.
template <class K>
concept concurrent_kind = filter_kind<K> && requires(K filter, const K constant, std::uint64_t digest) {
  { filter.insert_atomic(digest) } -> std::same_as<insert_result>;
  { constant.may_contain_atomic(digest) } -> std::same_as<bool>;
  filter.add_to_count(digest);
};

// Kinds whose memory is divided into partitions. A digest touches one of them: threads that each fill a partition of
// their own never write to one line. Partitions ascend with the digest, from partition 0 for digest 0. `insert_part`
// leaves the count to add_to_count.
template <class K>
concept partitioned_kind = filter_kind<K> &&
    requires(K filter, const K constant, unsigned parts, std::uint64_t digest, std::span<const std::uint64_t> digests) {
  { constant.partition_into(parts).of(digest) } -> std::same_as<unsigned>;
  { filter.insert_part(digests) } -> std::same_as<std::uint64_t>;
  filter.add_to_count(digest);
};

// Kinds whose batches take digests as they are made, so that hashing a group of keys overlaps with waiting for the
// memory of the group before: see hash/digest_feed.hpp.
template <class K>
concept stream_query_kind = filter_kind<K> &&
    requires(const K constant, const digest_feed& feed, std::size_t count, std::span<std::uint64_t> mask) {
  constant.may_contain_stream(count, feed, mask);
};
template <class K>
concept stream_kind = stream_query_kind<K> && requires(K filter, const digest_feed& feed, std::size_t count) {
  { filter.add_stream(count, feed) } -> std::same_as<std::uint64_t>;
};

// Kinds whose single look-ups decide on the filter's own shape first: `with_lookup(f)` calls f with a function of
// digests for which that is decided, so that a loop over many keys does not decide again.
struct lookup_archetype {
  template <class Asks>
  bool operator()(const Asks& asks) const {
    return asks(std::uint64_t{0});
  }
};
template <class K>
concept lookup_kind = filter_kind<K> && requires(const K constant, const lookup_archetype& f) {
  { constant.with_lookup(f) } -> std::same_as<bool>;
};

template <class K>
concept digest128_kind = filter_kind<K> && requires(K filter, const K constant, digest128 digest) {
  { constant.digest_bits() } -> std::same_as<unsigned>;
  { filter.insert(digest) } -> std::same_as<insert_result>;
  { constant.may_contain(digest) } -> std::same_as<bool>;
};

// Kinds that are as random as their fill: made emptier than usual, with fewer hash functions, a file of theirs
// compresses to less. See sizing::packed_hashes.
template <class K>
concept packing_kind = filter_kind<K> && requires(double fpr) {
  { K::packed_hashes(fpr) } -> std::same_as<unsigned>;
};

// A filter that was sized for 128-bit digests must not be queried with 64-bit ones: it would miss keys.
template <class Digest>
result<void> check_digest_width(unsigned digest_bits) noexcept {
  if (digest_bits == sizeof(Digest) * 8) return {};
  return fail(errc::unsupported,
              digest_bits == 128 ? "this filter takes 128-bit digests" : "this filter takes 64-bit digests");
}

// A narrower hash than the digests serves as long as it has the bits that this many keys at this FPR need.
BLOOMERY_API result<void> check_hash_bits(const hash_info& hash, std::uint64_t keys, double fpr,
                                          unsigned digest_bits) noexcept;

// The positions of the set bits of a mask, as a selection vector: how many, with the indexes in `selection`.
inline std::size_t selection_of(std::span<const std::uint64_t> mask, std::size_t answers,
                                std::span<std::uint32_t> selection) noexcept {
  std::size_t count = 0;
  for (std::size_t word = 0; word < mask_words(answers); ++word) {
    std::uint64_t bits = mask[word];
    while (bits != 0 && count < selection.size()) {
      selection[count++] = static_cast<std::uint32_t>(word * 64 + static_cast<unsigned>(std::countr_zero(bits)));
      bits &= bits - 1;
    }
  }
  return count;
}

// Looks up a batch and returns the indexes of the digests that may be present. `selection` must hold digests.size()
// indexes and a batch is at most 2^32 digests; work is done in groups, so that no memory is allocated.
template <filter_kind K>
std::size_t may_contain_select(const K& filter, std::span<const std::uint64_t> digests,
                               std::span<std::uint32_t> selection) noexcept {
  constexpr std::size_t group = 1024;
  std::array<std::uint64_t, mask_words(group)> mask{};
  std::size_t count = 0;
  for (std::size_t first = 0; first < digests.size(); first += group) {
    const std::size_t size = digests.size() - first < group ? digests.size() - first : group;
    filter.may_contain_batch(digests.subspan(first, size), mask);
    const std::size_t found = selection_of(mask, size, selection.subspan(count));
    for (std::size_t i = 0; i < found; ++i) selection[count + i] += static_cast<std::uint32_t>(first);
    count += found;
  }
  return count;
}

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds/concept.cpp>
#endif
