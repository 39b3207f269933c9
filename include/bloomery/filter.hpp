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
// The hash is xxh3 with seed 0 unless you choose another; for keys that an opponent may choose, take a keyed one
// (docs/hashes.md). A file remembers hash, seed and key id, and load refuses a file of another hash, seed or key.
//
// A filter that needs 128-bit digests (docs/hashes.md) makes them by itself; prehashed{} keys stay 64 bits wide, so
// pass such a filter prehashed128{}.
//
// A static kind (built from the complete key set) has `build` instead of `make` and `insert`:
//
//     auto known = bloomery::filter<bloomery::fuse>::build(std::span(keys), {.fpr = 0.01});   // keys: all of one type
//
// One that is exact about keys that are all known takes a second list, of keys that it must not match:
//
//     auto revoked = bloomery::filter<bloomery::cascade>::build(std::span(bad), std::span(good), {});
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

namespace bloomery::inline BLOOMERY_ABI {

template <filter_kind K, hash_function H = xxh3>
class filter {
 public:
  static result<filter> make(const filter_params& params, const H& hash = {}) noexcept requires dynamic_kind<K> {
    static_assert(K::info.integer_keys == (H::info.id == identity::info.id),
                  "bitmap takes integer keys and the hash identity, and no other kind does");
    return checked(K::make(params), hash);
  }
  // From all keys at once; those that come again count once. While it builds, each key takes 8 bytes more.
  // 0 threads: as many as processors.
  template <class Key>
  requires static_kind<K>
  static result<filter> build(std::span<const Key> keys, const filter_params& params, const H& hash = {},
                              unsigned threads = 0) noexcept {
    auto digests = digests_of(keys, hash, params.memory);
    if (!digests) return fail(digests.error());
    return checked(K::build(params, words_of(*digests), threads), hash);
  }
  // The same for kinds that also take keys that they must not match.
  template <class Key>
  requires excluding_kind<K>
  static result<filter> build(std::span<const Key> keys, std::span<const Key> excluded, const filter_params& params,
                              const H& hash = {}, unsigned threads = 0) noexcept {
    auto digests = digests_of(keys, hash, params.memory);
    if (!digests) return fail(digests.error());
    auto others = digests_of(excluded, hash, params.memory);
    if (!others) return fail(others.error());
    return checked(K::build(params, words_of(*digests), words_of(*others), threads), hash);
  }

  // Loads a file that was written with the same kind, hash, seed and key.
  static result<filter> load(const char* path, const H& hash = {}, const load_options& options = {}) noexcept {
    auto stored = bloomery::load<K>(path, options);
    if (!stored) return fail(stored.error());
    if (!(stored->hash == spec_of(hash))) {
      return fail(errc::mismatch, "the file was written with another hash, seed or key than the program uses");
    }
    return filter(std::move(stored->filter), hash);
  }
  [[nodiscard]] result<void> save(const char* path, const save_options& options = {}) const noexcept {
    return bloomery::save(kind_, spec_of(hash_), path, options);
  }

  template <class Key>
  insert_result insert(const Key& key) noexcept {
    return with_digest(key, [&](auto digest) { return kind_.insert(digest); });
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
        return f([asks, hash = hash_](const auto& key) noexcept { return asks(digest_of(hash, key)); });
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
  // filter is accessed. A fixed-capacity kind stops when it is full: insert_until_full returns where.
  template <class Key>
  std::uint64_t insert_batch(std::span<const Key> keys) noexcept {
    if constexpr (stream_kind<K>) {
      if (!takes_128_bit()) return kind_.insert_stream(keys.size(), digest_feed(key_digests<H, Key>{hash_, keys}));
    }
    if constexpr (bounded_kind<K>) {
      return insert_until_full(keys).inserted;
    } else {
      std::uint64_t inserted = 0;
      for_each_group(keys, [&](auto digests, std::size_t /*first*/) { inserted += kind_.insert_batch(digests); });
      return inserted;
    }
  }
  // The same for fixed-capacity kinds: stops at the first key that does not fit, with the keys before it inserted. Keys
  // after the group of that one are not hashed.
  template <class Key>
  batch_outcome insert_until_full(std::span<const Key> keys) noexcept requires bounded_kind<K> {
    batch_outcome all;
    for_each_group(keys, [&](auto digests, std::size_t /*first*/) {
      const batch_outcome some = kind_.insert_until_full(digests);
      all.taken += some.taken;
      all.inserted += some.inserted;
      return some.taken == digests.size();
    });
    return all;
  }
  // Bit i of the mask (bit i % 64 of word i / 64) answers key i; the mask holds mask_words(keys.size()) words.
  template <class Key>
  void may_contain_batch(std::span<const Key> keys, std::span<std::uint64_t> mask) const noexcept {
    if constexpr (stream_query_kind<K>) {
      if (!takes_128_bit())
        return kind_.may_contain_stream(keys.size(), digest_feed(key_digests<H, Key>{hash_, keys}), mask);
    }
    for_each_group(
        keys, [&](auto digests, std::size_t first) { kind_.may_contain_batch(digests, mask.subspan(first / 64)); });
  }

  // How many of the keys were there and are erased.
  template <class Key>
  std::uint64_t erase_batch(std::span<const Key> keys) noexcept requires erasable<K> {
    std::uint64_t erased = 0;
    run_groups<std::uint64_t>(
        keys, [&](auto digests, std::size_t /*first*/) { erased += bloomery::erase_batch(kind_, digests); });
    return erased;
  }
  // How often each key is there; `counts` holds keys.size() numbers.
  template <class Key>
  requires countable<K>
  void count_batch(std::span<const Key> keys, std::span<std::uint64_t> counts) const noexcept {
    run_groups<std::uint64_t>(keys, [&](auto digests, std::size_t first) {
      bloomery::count_batch(kind_, digests, counts.subspan(first, digests.size()));
    });
  }

  // The indexes of the keys that may be present; `selection` holds keys.size() of them. How many there are.
  template <class Key>
  std::size_t may_contain_select(std::span<const Key> keys, std::span<std::uint32_t> selection) const noexcept {
    std::size_t count = 0;
    std::array<std::uint64_t, mask_words(group)> mask{};
    for_each_group(keys, [&](auto digests, std::size_t first) {
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
    template <class Key>
    std::uint64_t insert_batch(std::span<const Key> keys) noexcept {
      std::uint64_t inserted = 0;
      if (front_->takes_128_bit()) {
        for (const Key& key : keys) inserted += insert(key) == insert_result::inserted ? 1U : 0U;
        return inserted;
      }
      const key_digests<H, Key> source{front_->hash_, keys};
      std::array<std::uint64_t, 64> room;
      for (std::size_t first = 0; first < keys.size(); first += room.size()) {
        const std::size_t size = keys.size() - first < room.size() ? keys.size() - first : room.size();
        inserted += writer_.insert_batch({source(first, size, room.data()), size});
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
    return digest_of(hash_, key);
  }

  [[nodiscard]] K& kind() noexcept { return kind_; }
  [[nodiscard]] const K& kind() const noexcept { return kind_; }
  [[nodiscard]] const H& hash() const noexcept { return hash_; }
  [[nodiscard]] result<filter> clone() const noexcept {
    auto copy = kind_.clone();
    if (!copy) return fail(copy.error());
    return filter(std::move(*copy), hash_);
  }
  result<void> merge(const filter& other) noexcept requires mergeable<K> {
    if (!(spec_of(hash_) == spec_of(other.hash_))) return fail(errc::mismatch, "they use different seeds or keys");
    return kind_.merge(other.kind_);
  }

 private:
  static constexpr bool both_128_bit = digest128_kind<K> && hash128_function<H>;
  // A multiple of 64, so that every group starts a word of the mask.
  static constexpr std::size_t group = 512;

  filter(K kind, const H& hash) noexcept : kind_(std::move(kind)), hash_(hash) {}

  template <class Key>
  static result<aligned_buffer> digests_of(std::span<const Key> keys, const H& hash,
                                           const memory_hooks* hooks) noexcept {
    auto memory = aligned_buffer::make(keys.size() * sizeof(std::uint64_t), "the digests", hooks);
    if (!memory) return memory;
    const auto digests = words_of(*memory);
    const key_digests<H, Key> source{hash, keys};
    for (std::size_t first = 0; first < keys.size(); first += 64) {
      source(first, keys.size() - first < 64 ? keys.size() - first : 64, digests.data() + first);
    }
    return memory;
  }
  static std::span<std::uint64_t> words_of(aligned_buffer& memory) noexcept {
    return {reinterpret_cast<std::uint64_t*>(memory.data()), memory.size_bytes() / sizeof(std::uint64_t)};
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
};

}  // namespace bloomery::inline BLOOMERY_ABI
