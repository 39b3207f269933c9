// filter.hpp: a filter of keys: a kind and a hash together. Where most programs start.
//
//     auto seen = bloomery::filter<bloomery::blocked>::make({.keys = 1'000'000, .fpr = 0.01});
//     if (!seen) return std::puts(bloomery::describe(seen.error()).c_str()), 2;
//     seen->insert("https://example.org/");                      // inserted: it was new
//     seen->insert(std::tuple("user", 42));                      // keys of any type, see hash/key.hpp
//     if (seen->may_contain("https://example.org/")) ...         // maybe: no false negatives, 1 % false positives
//     seen->save("seen.bloom");
//     auto again = bloomery::filter<bloomery::blocked>::load("seen.bloom");
//
// The hash is mum2 with seed 0 unless you choose another; for keys that an opponent may choose, take a keyed one
// (docs/hashes.md). A file remembers hash, seed and key id, and load refuses a file of another hash, seed or key.
//
// A filter that needs 128-bit digests (docs/hashes.md) makes them by itself; prehashed{} keys stay 64 bits wide, so
// pass such a filter prehashed128{}.
//
// A static kind (built from the complete key set) has `build` instead of `make` and `insert`:
//
//     auto known = bloomery::filter<bloomery::fuse>::build(keys, {.fpr = 0.01});   // a vector, an array, a span
//
// One that is exact about keys that are all known takes a second list, of keys that it must not match:
//
//     auto revoked = bloomery::filter<bloomery::cascade>::build(bad, good, {});
//
// Threads: as the kind documents. For many writers and readers at once each thread makes a writer; the contract is in
// kinds/concurrent.hpp:
//
//     auto writer = seen->concurrent();
//     writer.insert("alice");
#pragma once

#include <bloomery/hash/identity.hpp>
#include <bloomery/hash/key.hpp>
#include <bloomery/hash/key_digests.hpp>
#include <bloomery/hash/spec.hpp>
#include <bloomery/kinds/batch.hpp>
#include <bloomery/kinds/concept.hpp>
#include <bloomery/kinds/concurrent.hpp>
#include <bloomery/posix/load.hpp>
#include <bloomery/posix/save.hpp>
#include <iterator>

namespace bloomery::inline BLOOMERY_ABI {

template <filter_kind K, hash_function H = default_hash>
class filter {
 public:
  static result<filter> make(const filter_params& params, const H& hash = {}) noexcept requires dynamic_kind<K> {
    static_assert(K::info.integer_keys == (H::info.id == identity::info.id),
                  "bitmap takes integer keys and the hash identity, and no other kind does");
    return checked(K::make(params), hash);
  }
  // From all keys at once; those that come again count once. While it builds, each key takes 8 bytes more.
  // 0 threads: as many as processors.
  template <key_range Keys>
  requires static_kind<K>
  static result<filter> build(const Keys& keys, const filter_params& params, const H& hash = {},
                              unsigned threads = 0) noexcept {
    auto digests = detail::key_digest_buffer::make(hash, span_of_keys(keys), params.memory);
    if (!digests) return fail(digests.error());
    return checked(K::build(params, digests->digests(), threads), hash);
  }
  // The same for kinds that also take keys that they must not match.
  template <key_range Keys, key_range Excluded>
  requires excluding_kind<K>
  static result<filter> build(const Keys& keys, const Excluded& excluded, const filter_params& params,
                              const H& hash = {}, unsigned threads = 0) noexcept {
    auto digests = detail::key_digest_buffer::make(hash, span_of_keys(keys), params.memory);
    if (!digests) return fail(digests.error());
    auto others = detail::key_digest_buffer::make(hash, span_of_keys(excluded), params.memory);
    if (!others) return fail(others.error());
    return checked(K::build(params, digests->digests(), others->digests(), threads), hash);
  }

  // Loads a file that was written with the same kind, hash, seed and key.
  static result<filter> load(file_path path, const H& hash = {}, const load_options& options = {}) noexcept {
    auto stored = bloomery::load<K>(path, options);
    if (!stored) return fail(stored.error());
    if (!(stored->hash == spec_of(hash))) {
      constexpr std::string_view why = "the file was written with another hash, seed or key than the program uses";
      return name_file(fail(errc::mismatch, why), path);
    }
    return filter(std::move(stored->filter), hash);
  }
  [[nodiscard]] result<void> save(file_path path, const save_options& options = {}) const noexcept {
    return bloomery::save(kind_, spec_of(hash_), path, options);
  }

  template <class Key>
  insert_result insert(const Key& key) noexcept {
    return with_digest(key, [&](auto digest) { return kind_.insert(digest); });
  }
  // The same without an answer, but whether the filter holds the key now: false only for fixed-capacity kinds.
  template <class Key>
  bool add(const Key& key) noexcept {
    return with_digest(key, [&](auto digest) {
      if constexpr (requires { kind_.add(digest); }) return kind_.add(digest);
      return kind_.insert(digest) != insert_result::full;
    });
  }
  template <class Key>
  [[nodiscard]] bool may_contain(const Key& key) const noexcept {
    return with_digest(key, [&](auto digest) { return kind_.may_contain(digest); });
  }
  // For a loop that looks up key by key: calls f with a function of keys that answers as may_contain does and has taken
  // the decisions that depend on the filter alone. Compiled for the machine, such a loop is a tenth faster:
  //     auto hits = seen.with_lookup([&](const auto& contains) { return std::ranges::count_if(keys, contains); });
  template <class F>
  decltype(auto) with_lookup(F&& f) const {
    if constexpr (lookup_kind<K> && !both_128_bit) {
      return kind_.with_lookup([&](const auto& asks) -> decltype(auto) {
        return f([asks, this](const auto& key) noexcept { return asks(this->digest(key)); });
      });
    } else {
      return f([this](const auto& key) noexcept { return this->may_contain(key); });
    }
  }
  // Removes one occurrence of the key; false, and nothing changes, when it is surely absent.
  template <class Key>
  requires erasable<K>
  bool erase(const Key& key) noexcept { return kind_.erase(digest(key)); }
  // How often the key is there, as far as the kind can determine: 0 only when it is surely absent.
  template <class Key>
  requires countable<K>
  [[nodiscard]] std::uint64_t count(const Key& key) const noexcept { return kind_.count(digest(key)); }

  // Batches of keys of one type: hashed while memory answers where the kind can, elsewhere in groups, before the
  // filter is accessed. A fixed-capacity kind stops when it is full: add_until_full returns where.
  template <key_range Keys>
  std::uint64_t add_batch(const Keys& keys) noexcept {
    const auto all = span_of_keys(keys);
    if constexpr (stream_kind<K>) {
      if (!takes_128_bit()) return kind_.add_stream(all.size(), digest_feed(feed_of(all)));
    }
    if constexpr (bounded_kind<K>) {
      return add_until_full(all).inserted;
    } else {
      std::uint64_t inserted = 0;
      for_each_group(all, [&](auto digests, std::size_t /*first*/) { inserted += kind_.add_batch(digests); });
      return inserted;
    }
  }
  // The same with an answer for each key: bit i of `fresh` is set when key i was new; it holds mask_words(keys) words.
  // Stops at the first key that does not fit.
  template <key_range Keys>
  batch_outcome insert_batch(const Keys& keys, std::span<std::uint64_t> fresh) noexcept {
    const auto keys_left = span_of_keys(keys);
    for (std::size_t i = 0; i < mask_words(keys_left.size()); ++i) fresh[i] = 0;
    batch_outcome all;
    for_each_group(keys_left, [&](auto digests, std::size_t first) {
      const batch_outcome some = bloomery::insert_batch(kind_, digests, fresh.subspan(first / 64));
      return add_up(all, some, digests.size());
    });
    return all;
  }
  // The keys of any iterators, as far as they fit.
  template <std::input_iterator Iterator, std::sentinel_for<Iterator> Sentinel>
  batch_outcome insert(Iterator first, Sentinel last) noexcept {
    if constexpr (std::contiguous_iterator<Iterator> && std::sized_sentinel_for<Sentinel, Iterator>) {
      const std::span<const std::iter_value_t<Iterator>> keys(std::to_address(first),
                                                              static_cast<std::size_t>(last - first));
      if constexpr (bounded_kind<K>) return add_until_full(keys);
      return {keys.size(), add_batch(keys)};
    }
    batch_outcome all;
    for (; first != last; ++first, ++all.taken) {
      const insert_result done = insert(*first);
      if (done == insert_result::full) break;
      all.inserted += done == insert_result::inserted ? 1U : 0U;
    }
    return all;
  }
  // For fixed-capacity kinds: stops at the first key that does not fit, with the keys before it inserted. Keys after
  // the group of that one are not hashed.
  template <key_range Keys>
  batch_outcome add_until_full(const Keys& keys) noexcept requires bounded_kind<K> {
    batch_outcome all;
    for_each_group(span_of_keys(keys), [&](auto digests, std::size_t /*first*/) {
      return add_up(all, kind_.add_until_full(digests), digests.size());
    });
    return all;
  }
  // Bit i of the mask (bit i % 64 of word i / 64) answers key i; the mask holds mask_words(keys.size()) words.
  template <key_range Keys>
  void may_contain_batch(const Keys& keys, std::span<std::uint64_t> mask) const noexcept {
    const auto all = span_of_keys(keys);
    if constexpr (stream_query_kind<K>) {
      if (!takes_128_bit()) return kind_.may_contain_stream(all.size(), digest_feed(feed_of(all)), mask);
    }
    for_each_group(
        all, [&](auto digests, std::size_t first) { kind_.may_contain_batch(digests, mask.subspan(first / 64)); });
  }

  // How many of the keys were there and are erased.
  template <key_range Keys>
  std::uint64_t erase_batch(const Keys& keys) noexcept requires erasable<K> {
    std::uint64_t erased = 0;
    run_groups<std::uint64_t>(span_of_keys(keys), [&](auto digests, std::size_t /*first*/) {
      erased += bloomery::erase_batch(kind_, digests);
    });
    return erased;
  }
  // How often each key is there; `counts` holds keys.size() numbers.
  template <key_range Keys>
  requires countable<K>
  void count_batch(const Keys& keys, std::span<std::uint64_t> counts) const noexcept {
    run_groups<std::uint64_t>(span_of_keys(keys), [&](auto digests, std::size_t first) {
      bloomery::count_batch(kind_, digests, counts.subspan(first, digests.size()));
    });
  }

  // The indexes of the keys that may be present; `selection` holds keys.size() of them. How many there are.
  template <key_range Keys>
  std::size_t may_contain_select(const Keys& keys, std::span<std::uint32_t> selection) const noexcept {
    std::size_t count = 0;
    std::array<std::uint64_t, mask_words(group)> mask{};
    for_each_group(span_of_keys(keys), [&](auto digests, std::size_t first) {
      kind_.may_contain_batch(digests, mask);
      const std::size_t found = selection_of(mask, digests.size(), selection.subspan(count));
      for (std::size_t i = 0; i < found; ++i) selection[count + i] += static_cast<std::uint32_t>(first);
      count += found;
    });
    return count;
  }

  // One per thread, for inserts and look-ups of many threads at once.
  class writer {
   public:
    explicit writer(filter& of) noexcept : front_(&of), writer_(of.kind_) {}
    template <class Key>
    insert_result insert(const Key& key) noexcept {
      return front_->with_digest(key, [&](auto digest) { return writer_.insert(digest); });
    }
    // How many of the keys changed something.
    template <key_range Keys>
    std::uint64_t add_batch(const Keys& keys) noexcept {
      const auto all = span_of_keys(keys);
      std::uint64_t inserted = 0;
      if (front_->takes_128_bit()) {
        for (const auto& key : all) inserted += insert(key) == insert_result::inserted ? 1U : 0U;
        return inserted;
      }
      const auto source = front_->feed_of(all);
      std::array<std::uint64_t, 64> buffer;
      for (std::size_t first = 0; first < all.size(); first += buffer.size()) {
        const std::size_t size = all.size() - first < buffer.size() ? all.size() - first : buffer.size();
        inserted += writer_.add_batch({source(first, size, buffer.data()), size});
      }
      return inserted;
    }
    template <class Key>
    [[nodiscard]] bool may_contain(const Key& key) const noexcept {
      return front_->with_digest(key, [&](auto digest) { return writer_.may_contain(digest); });
    }
    void flush() noexcept { writer_.flush(); }

   private:
    filter* front_;
    concurrent_writer<K> writer_;
  };
  [[nodiscard]] writer concurrent() noexcept requires concurrent_kind<K> { return writer(*this); }

  // The input of a kind with 64-bit digests for a key; hash once, query many filters.
  template <class Key>
  [[nodiscard]] std::uint64_t digest(const Key& key) const noexcept {
    if constexpr (only_a_seed && (detail::integer_key<Key> || detail::text_key<Key>)) {
      if (!seeded_) [[likely]]
        return digest_of(H{}, key);
      return seeded_digest(key);
    } else {
      return digest_of(hash_, key);
    }
  }

  [[nodiscard]] K& kind() noexcept { return kind_; }
  [[nodiscard]] const K& kind() const noexcept { return kind_; }
  [[nodiscard]] const H& hash() const noexcept { return hash_; }
  [[nodiscard]] result<filter> clone() const noexcept {
    auto copy = kind_.clone();
    if (!copy) return fail(copy.error());
    return filter(std::move(*copy), hash_);
  }
  // Union and intersection: same hash, seed and key, and the geometry that the kind requires.
  result<void> merge(const filter& other) noexcept requires mergeable<K> {
    if (auto same = check_same_hash(other); !same) return same;
    return kind_.merge(other.kind_);
  }
  result<void> intersect(const filter& other) noexcept requires intersectable<K> {
    if (auto same = check_same_hash(other); !same) return same;
    return kind_.intersect(other.kind_);
  }
  void clear() noexcept requires dynamic_kind<K> { kind_.clear(); }
  // Same hash, seed, key and content.
  friend bool operator==(const filter& a, const filter& b) noexcept {
    return spec_of(a.hash_) == spec_of(b.hash_) && a.kind_ == b.kind_;
  }

  [[nodiscard]] key_count keys() const noexcept { return kind_.keys(); }
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept { return kind_.capacity_keys(); }
  [[nodiscard]] double target_fpr() const noexcept { return kind_.target_fpr(); }
  // By the fill as it is now: these read the whole filter.
  [[nodiscard]] double fpr_now() const noexcept { return kind_.fpr_now(); }
  [[nodiscard]] double estimated_keys() const noexcept { return kind_.estimated_keys(); }
  [[nodiscard]] double fill() const noexcept { return kind_.fill(); }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return kind_.memory_bytes(); }

 private:
  static constexpr bool both_128_bit = digest128_kind<K> && hash128_function<H>;
  // Hashes that are their seed and nothing else. Nearly every filter has the seed that they begin with, 0, and the
  // function for that is shorter: it has no seed to load and to apply.
  static constexpr bool only_a_seed = [] {
    if constexpr (requires(const H& hash) { hash.seed; }) return sizeof(H) == sizeof(H::seed);
    return false;
  }();
  // A multiple of 64, so that every group starts a word of the mask.
  static constexpr std::size_t group = 512;

  filter(K kind, const H& hash) noexcept : kind_(std::move(kind)), hash_(hash) {
    if constexpr (only_a_seed) seeded_ = hash.seed != H{}.seed;
  }
  template <class Key>
  [[nodiscard]] BLOOMERY_APART std::uint64_t seeded_digest(const Key& key) const noexcept {
    return digest_of(hash_, key);
  }

  [[nodiscard]] result<void> check_same_hash(const filter& other) const noexcept {
    if (spec_of(hash_) == spec_of(other.hash_)) return {};
    return fail(errc::mismatch, "they use different seeds or keys");
  }
  // Whether all of a group were taken.
  static bool add_up(batch_outcome& all, const batch_outcome& some, std::size_t size) noexcept {
    all.taken += some.taken;
    all.inserted += some.inserted;
    return some.taken == size;
  }
  template <class Key>
  [[nodiscard]] key_digests<H, Key> feed_of(std::span<const Key> keys) const noexcept {
    return {hash_, keys};
  }

  // Whether the hash has the bits that the filter's number of keys needs.
  static result<filter> checked(result<K> made, const H& hash) noexcept {
    if (!made) return fail(made.error());
    if constexpr (!K::info.exact) {
      const auto fits = check_hash_bits(H::info, made->capacity_keys(), made->target_fpr(), made->shape().digest_bits);
      if (!fits) return fail(fits.error());
    }
    return filter(std::move(*made), hash);
  }

  [[nodiscard]] bool takes_128_bit() const noexcept {
    if constexpr (both_128_bit) {
      return kind_.digest_bits() == 128;
    } else {
      return false;
    }
  }
  // Calls f with the digest of the width that the filter takes.
  template <class Key, class F>
  auto with_digest(const Key& key, F&& f) const noexcept {
    if constexpr (both_128_bit && !std::is_same_v<Key, prehashed>) {
      if (kind_.digest_bits() == 128) return f(digest128_of(hash_, key));
    }
    return f(digest(key));
  }
  // Calls f(digests, index of the first) for group after group; an f that returns false ends that.
  template <class Key, class F>
  void for_each_group(std::span<const Key> keys, F&& f) const noexcept {
    if constexpr (both_128_bit && !std::is_same_v<Key, prehashed>) {
      if (kind_.digest_bits() == 128) return run_groups<digest128>(keys, f);
    }
    run_groups<std::uint64_t>(keys, f);
  }
  template <class Digest, class Key, class F>
  void run_groups(std::span<const Key> keys, F&& f) const noexcept {
    std::array<Digest, group> digests;
    for (std::size_t first = 0; first < keys.size(); first += group) {
      const std::size_t size = keys.size() - first < group ? keys.size() - first : group;
      if constexpr (sizeof(Digest) == 16) {
        for (std::size_t i = 0; i < size; ++i) digests[i] = digest128_of(hash_, keys[first + i]);
      } else {
        key_digests<H, Key>{hash_, keys}(first, size, digests.data());
      }
      const auto made = std::span<const Digest>(digests).first(size);
      if constexpr (std::is_void_v<decltype(f(made, first))>) {
        f(made, first);
      } else if (!f(made, first)) {
        return;
      }
    }
  }

  K kind_;
  H hash_;
  bool seeded_ = false;
};

}  // namespace bloomery::inline BLOOMERY_ABI
