// wrappers/sharded.hpp: one filter in N shards: for many writers at once, and for shards that live on different
// machines.
//
//     auto seen = bloomery::sharded<bloomery::cuckoo>::make({.keys = 1'000'000, .fpr = 0.01}, 16);
//     if (!seen) return 2;
//     seen->insert("alice");                       // from any thread
//     bool maybe = seen->may_contain("alice");     // from any thread
//     seen->save("seen.bloom");                    // seen.bloom.00-of-16 to seen.bloom.15-of-16
//     auto again = bloomery::sharded<bloomery::cuckoo>::load("seen.bloom");
//
// What it is    N filters of one kind, 1 to 4096. A key belongs to one of them, chosen by a mix of its digest that no
//               kind uses (native/shard.hpp). Each is made for its share of the keys and a little more, so that the
//               whole keeps the FPR that it was made with, and holds the keys that it was made for.
// Use it when   many threads write into a kind that has one writer (cuckoo, growing, counting, ...), or a filter is
//               larger than one machine, or shards of it are merged, sent and loaded one by one.
// Use instead   filter<K>::concurrent() for many writers into one `bloom` or `blocked` filter; wrappers/parallel.hpp
//               for one batch on all cores.
//
// Threads       insert, erase, may_contain, count, their batches and keys(): any number of threads at once. A key whose
//               insert has returned is found by every look-up that starts later in that thread, or in one that
//               synchronises with it. Kinds `bloom` and `blocked` take no lock at all, under rules 2 and 3 of
//               kinds/concurrent.hpp; others have one lock a shard, shared by look-ups, which a batch takes once for
//               each shard and 2048 keys. Shards are on cache lines of their own.
//               Everything else (make, build, load, save, merge, clear, ==, fill, fpr_now, estimated_keys, shard) is
//               for one thread, while no other writes.
// Merge         shard by shard with one of as many shards, made alike; an error leaves all shards as they were. Where
//               the kind may refuse (promised FPR, space, memory), that takes a second copy for the time of the merge.
// Full          a fixed-capacity kind refuses a key when the key's own shard is full. insert returns `full`; a batch
//               takes all keys that fit, and returns how many did not.
// Static        kinds `fuse` and `ribbon` have `build` instead of make and insert, which shards the keys first;
//               `cascade` too, and there it shards both lists: it is exact about all keys of either, also where a shard
//               gets nothing of one.
// Files         N native files with one stamp, written so that all appear or none (posix/shard_set.hpp). A shard can be
//               looked at alone; loading one as if it were the whole filter is refused.
// Memory        that of the shards and 64 to 512 bytes each. A batch takes 52 KiB of the stack, of 128-bit digests 84
//               KiB.
#pragma once

#include <algorithm>
#include <array>
#include <bloomery/core/aligned_list.hpp>
#include <bloomery/filter.hpp>
#include <bloomery/posix/shard_set.hpp>
#include <bloomery/wrappers/guarded.hpp>
#include <bloomery/wrappers/sharded_build.hpp>
#include <optional>

namespace bloomery::inline BLOOMERY_ABI {

template <filter_kind K, hash_function H = xxh3>
class sharded {
 public:
  static result<sharded> make(const filter_params& params, unsigned shards,
                              const H& hash = {}) noexcept requires dynamic_kind<K>;
  // From all keys at once; while it builds, each key takes 8 bytes more. 0 threads: as many as processors.
  template <class Key>
  static result<sharded> build(std::span<const Key> keys, const filter_params& params, unsigned shards,
                               const H& hash = {}, unsigned threads = 0) noexcept requires static_kind<K>;
  // The same for kinds that also take keys that they must not match.
  template <class Key>
  static result<sharded> build(std::span<const Key> keys, std::span<const Key> excluded, const filter_params& params,
                               unsigned shards, const H& hash = {},
                               unsigned threads = 0) noexcept requires excluding_kind<K>;
  // All files of a set that save wrote with this name, and with the same kind, hash, seed and key.
  static result<sharded> load(const char* path, const H& hash = {}, const load_options& options = {}) noexcept;
  // FILE.00-of-04 and so on.
  [[nodiscard]] result<void> save(const char* path, const save_options& options = {}) const noexcept;

  template <class Key>
  insert_result insert(const Key& key) noexcept requires dynamic_kind<K> {
    return with_digest(key, [&](auto digest) { return shards_[shard_of(digest, shards())].insert(digest); });
  }
  template <class Key>
  [[nodiscard]] bool may_contain(const Key& key) const noexcept {
    return with_digest(key, [&](auto digest) { return shards_[shard_of(digest, shards())].may_contain(digest); });
  }
  // Removes one occurrence of the key; false, and nothing changes, when it is surely absent.
  template <class Key>
  requires erasable<K>
  bool erase(const Key& key) noexcept {
    const std::uint64_t digest = digest_of(hash_, key);
    return shards_[shard_of(digest, shards())].erase(digest);
  }
  // How often the key is there, as far as the kind can determine: 0 only when it is surely absent.
  template <class Key>
  requires countable<K>
  [[nodiscard]] std::uint64_t count(const Key& key) const noexcept {
    const std::uint64_t digest = digest_of(hash_, key);
    return shards_[shard_of(digest, shards())].count(digest);
  }

  template <class Key>
  guarded_outcome insert_batch(std::span<const Key> keys) noexcept requires dynamic_kind<K>;
  // Bit i of the mask (bit i % 64 of word i / 64) answers key i; the mask holds mask_words(keys.size()) words.
  template <class Key>
  void may_contain_batch(std::span<const Key> keys, std::span<std::uint64_t> mask) const noexcept;
  // How many of the keys were there and are erased.
  template <class Key>
  std::uint64_t erase_batch(std::span<const Key> keys) noexcept requires erasable<K>;

  result<void> merge(const sharded& other) noexcept requires mergeable<K>;
  void clear() noexcept requires dynamic_kind<K> {
    for (part& each : shards_) each.filter().clear();
  }
  friend bool operator==(const sharded& a, const sharded& b) noexcept {
    return a.check_alike(b).has_value() &&
           std::equal(a.shards_.begin(), a.shards_.end(), b.shards_.begin(),
                      [](const part& one, const part& other) { return one.filter() == other.filter(); });
  }

  [[nodiscard]] unsigned shards() const noexcept { return static_cast<unsigned>(shards_.size()); }
  [[nodiscard]] const K& shard(unsigned index) const noexcept { return shards_[index].filter(); }
  [[nodiscard]] const H& hash() const noexcept { return hash_; }
  [[nodiscard]] key_count keys() const noexcept;
  // Of all shards together: with the space for uneven shards, so a little more than it was made for.
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept {
    return sum([](const K& filter) { return filter.capacity_keys(); });
  }
  // Shards have the same target FPR, unless memory or two lists decide: then the largest.
  [[nodiscard]] double target_fpr() const noexcept {
    double most = 0;
    for (const part& each : shards_) most = std::max(most, each.filter().target_fpr());
    return most;
  }
  // A look-up reads one shard, each as likely as the others.
  [[nodiscard]] double fpr_now() const noexcept {
    return sum([](const K& filter) { return filter.fpr_now(); }) / shards();
  }
  [[nodiscard]] double fill() const noexcept {
    return sum([](const K& filter) { return filter.fill(); }) / shards();
  }
  [[nodiscard]] double estimated_keys() const noexcept {
    return sum([](const K& filter) { return filter.estimated_keys(); });
  }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
    return sum([](const K& filter) { return filter.memory_bytes(); }) + shards() * sizeof(part);
  }

 private:
  static constexpr bool both_128_bit = digest128_kind<K> && hash128_function<H>;
  static constexpr std::size_t group = shard_sorter<std::uint64_t>::most;
  using part = guarded<K>;

  sharded(aligned_list<part> shards, const H& hash) noexcept
      : shards_(std::move(shards)), hash_(hash), wide_(shards_[0].filter().shape().digest_bits == 128) {}
  static result<aligned_list<part>> room_for(std::uint64_t shards, const memory_hooks* memory) noexcept;
  // Whether the hash has bits enough for this shard of a filter for this many keys.
  static result<void> check_hash(std::optional<std::uint64_t> keys, const K& one) noexcept;
  // Each shard by build_one(shard).
  template <class BuildOne>
  static result<sharded> build_each(const filter_params& params, unsigned shards, const H& hash,
                                    BuildOne&& build_one) noexcept;
  [[nodiscard]] result<void> check_alike(const sharded& other) const noexcept;

  template <class F>
  auto sum(F&& f) const noexcept {
    decltype(f(shards_[0].filter())) all = 0;
    for (const part& each : shards_) all += f(each.filter());
    return all;
  }
  template <class Key, class F>
  auto with_digest(const Key& key, F&& f) const noexcept {
    if constexpr (both_128_bit && !std::is_same_v<Key, prehashed>) {
      if (wide_) return f(digest128_of(hash_, key));
    }
    return f(digest_of(hash_, key));
  }
  // Calls f(shard, its digests, their indexes within the group, index of the group) for every shard of every group.
  template <class Key, class F>
  void for_each_part(std::span<const Key> keys, F&& f) const noexcept {
    if constexpr (both_128_bit && !std::is_same_v<Key, prehashed>) {
      if (wide_) return run_groups<digest128>(keys, f);
    }
    run_groups<std::uint64_t>(keys, f);
  }
  template <class Digest, class Key, class F>
  void run_groups(std::span<const Key> keys, F& f) const noexcept;

  aligned_list<part> shards_;
  H hash_;
  bool wide_;  // takes 128-bit digests
};

template <filter_kind K, hash_function H>
result<aligned_list<typename sharded<K, H>::part>> sharded<K, H>::room_for(std::uint64_t shards,
                                                                           const memory_hooks* memory) noexcept {
  if (auto usable = check_shards(shards); !usable) return fail(usable.error());
  aligned_list<part> list;
  if (auto room = list.reserve(shards, "the shards", memory); !room) return fail(room.error());
  return list;
}

// Equal digests are in one shard, so that a digest must distinguish all keys, not those of a shard.
template <filter_kind K, hash_function H>
result<void> sharded<K, H>::check_hash(std::optional<std::uint64_t> keys, const K& one) noexcept {
  if constexpr (!K::info.exact) {
    const unsigned bits = one.shape().digest_bits;
    if (auto fits = check_hash_bits(H::info, one.capacity_keys(), one.target_fpr(), bits); !fits) return fits;
    const unsigned needed = K::info.grows ? 0 : sizing::hash_bits_needed(keys.value_or(1), one.target_fpr());
    const unsigned has = std::min<unsigned>(H::info.bits, bits);
    if (has < needed) return fail(errc::not_enough_hash_bits, H::info.name, {keys.value_or(1), needed, has});
  }
  return {};
}

template <filter_kind K, hash_function H>
result<sharded<K, H>> sharded<K, H>::make(const filter_params& params, unsigned shards,
                                          const H& hash) noexcept requires dynamic_kind<K> {
  static_assert(K::info.integer_keys == (H::info.id == identity::info.id),
                "bitmap takes integer keys and the hash identity, and no other kind does");
  auto list = room_for(shards, params.memory);
  if (!list) return fail(list.error());
  filter_params one = shard_params(params, shards);
  if constexpr (both_128_bit) {
    const auto plan = K::plan(one.sizes(), one.layout);
    if (!plan) return fail(plan.error());
    one.takes_digest128 = sizing::hash_bits_needed(params.keys.value_or(plan->keys * shards), plan->fpr) > 64;
  }
  for (unsigned i = 0; i < shards; ++i) {
    auto made = K::make(one);
    if (!made) return fail(made.error());
    list->push(part(std::move(*made)));
  }
  if (auto fits = check_hash(params.keys, (*list)[0].filter()); !fits) return fail(fits.error());
  return sharded(std::move(*list), hash);
}

template <filter_kind K, hash_function H>
template <class BuildOne>
result<sharded<K, H>> sharded<K, H>::build_each(const filter_params& params, unsigned shards, const H& hash,
                                                BuildOne&& build_one) noexcept {
  auto list = room_for(shards, params.memory);
  if (!list) return fail(list.error());
  std::uint64_t keys = 0;  // that came again count once, as in filter<K>
  detail::lists_in_common common;
  for (unsigned i = 0; i < shards; ++i) {
    auto made = build_one(i);
    if (!made && common.takes(made.error())) continue;
    if (!made) return fail(made.error());
    keys += made->capacity_keys();
    list->push(part(std::move(*made)));
  }
  if (common.any()) return fail(common.why);
  // Where memory or two lists decide about their FPRs, they differ.
  for (const part& each : *list) {
    if (auto fits = check_hash(keys, each.filter()); !fits) return fail(fits.error());
  }
  return sharded(std::move(*list), hash);
}

template <filter_kind K, hash_function H>
template <class Key>
result<sharded<K, H>> sharded<K, H>::build(std::span<const Key> keys, const filter_params& params, unsigned shards,
                                           const H& hash, unsigned threads) noexcept requires static_kind<K> {
  auto digests = detail::cut_digests::of_keys(keys, shards, hash, params.memory);
  if (!digests) return fail(digests.error());
  const filter_params one = shard_params(params, shards);
  return build_each(params, shards, hash, [&](unsigned i) { return K::build(one, digests->of(i), threads); });
}

template <filter_kind K, hash_function H>
template <class Key>
result<sharded<K, H>> sharded<K, H>::build(std::span<const Key> keys, std::span<const Key> excluded,
                                           const filter_params& params, unsigned shards, const H& hash,
                                           unsigned threads) noexcept requires excluding_kind<K> {
  auto digests = detail::cut_digests::of_keys(keys, shards, hash, params.memory);
  if (!digests) return fail(digests.error());
  const filter_params one = shard_params(params, shards);
  auto others = detail::cut_digests::of_keys(excluded, shards, hash, params.memory);
  if (!others) return fail(others.error());
  return build_each(params, shards, hash,
                    [&](unsigned i) { return K::build(one, digests->of(i), others->of(i), threads); });
}

template <filter_kind K, hash_function H>
result<sharded<K, H>> sharded<K, H>::load(const char* path, const H& hash, const load_options& options) noexcept {
  const auto shards = find_shards(path);
  if (!shards) return fail(shards.error());
  if (*shards == 0) return fail(errc::io, "there are no shards of it: no file FILE.00-of-04, whatever the number");
  auto list = room_for(*shards, options.memory);
  if (!list) return fail(list.error());
  load_options how = options;
  how.shard = true;
  shard_place first{};
  for (unsigned i = 0; i < *shards; ++i) {
    const shard_path name(path, i, *shards);
    if (!name.fits) return detail::fail_errno("cannot open", ENAMETOOLONG);
    auto stored = bloomery::load<K>(name.c_str(), how);
    if (!stored) return fail_shard(i, *shards, stored.error());
    if (i == 0) first = stored->header.shard;
    if (auto right = check_place(stored->header.shard, i, *shards, first); !right) return fail(right.error());
    if (!(stored->hash == spec_of(hash))) {
      return fail_shard(i, *shards, "was written with another hash, seed or key than the program uses");
    }
    list->push(part(std::move(stored->filter)));
  }
  return sharded(std::move(*list), hash);
}

template <filter_kind K, hash_function H>
result<void> sharded<K, H>::save(const char* path, const save_options& options) const noexcept {
  const hash_spec spec = spec_of(hash_);
  return save_shards(path, shards(), options, [&](unsigned i, byte_sink sink, const save_options& how) {
    return save_to(shards_[i].filter(), spec, sink, how);
  });
}

template <filter_kind K, hash_function H>
template <class Digest, class Key, class F>
void sharded<K, H>::run_groups(std::span<const Key> keys, F& f) const noexcept {
  std::array<Digest, group> made;
  shard_sorter<Digest> sorted;
  for (std::size_t first = 0; first < keys.size(); first += group) {
    const std::size_t size = std::min(group, keys.size() - first);
    if constexpr (sizeof(Digest) == 16) {
      for (std::size_t i = 0; i < size; ++i) made[i] = digest128_of(hash_, keys[first + i]);
    } else {
      const key_digests<H, Key> source{hash_, keys};
      for (std::size_t i = 0; i < size; i += 64) {
        const std::size_t some = std::min<std::size_t>(64, size - i);
        const std::uint64_t* digests = source(first + i, some, made.data() + i);
        if (digests != made.data() + i) std::copy_n(digests, some, made.data() + i);
      }
    }
    sorted.sort(std::span<const Digest>(made).first(size), shards());
    for (unsigned i = 0; i < shards(); ++i) {
      if (!sorted.digests(i).empty()) f(i, sorted.digests(i), sorted.from(i), first);
    }
  }
}

template <filter_kind K, hash_function H>
template <class Key>
guarded_outcome sharded<K, H>::insert_batch(std::span<const Key> keys) noexcept requires dynamic_kind<K> {
  guarded_outcome all;
  for_each_part(keys, [&](unsigned shard, auto digests, auto /*from*/, std::size_t /*first*/) {
    const guarded_outcome some = shards_[shard].insert_batch(digests);
    all.inserted += some.inserted;
    all.refused += some.refused;
  });
  return all;
}

template <filter_kind K, hash_function H>
template <class Key>
void sharded<K, H>::may_contain_batch(std::span<const Key> keys, std::span<std::uint64_t> mask) const noexcept {
  std::fill_n(mask.begin(), mask_words(keys.size()), 0);
  std::array<std::uint64_t, mask_words(group)> answers{};
  for_each_part(keys, [&](unsigned shard, auto digests, auto from, std::size_t first) {
    shards_[shard].may_contain_batch(digests, std::span<std::uint64_t>(answers));
    for (std::size_t i = 0; i < digests.size(); ++i) {
      const std::size_t to = first + from[i];
      mask[to / 64] |= (answers[i / 64] >> (i % 64) & 1U) << (to % 64);
    }
  });
}

template <filter_kind K, hash_function H>
template <class Key>
std::uint64_t sharded<K, H>::erase_batch(std::span<const Key> keys) noexcept requires erasable<K> {
  std::uint64_t erased = 0;
  auto erase_part = [&](unsigned shard, auto digests, auto /*from*/, std::size_t /*first*/) {
    erased += shards_[shard].erase_batch(digests);
  };
  run_groups<std::uint64_t>(keys, erase_part);
  return erased;
}

template <filter_kind K, hash_function H>
result<void> sharded<K, H>::check_alike(const sharded& other) const noexcept {
  if (!(spec_of(hash_) == spec_of(other.hash_))) {
    return fail(errc::mismatch, "they use different seeds or keys");
  }
  if (shards() == other.shards()) return {};
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "one is of %u shards, the other of %u", shards(), other.shards());
  return fail(errc::mismatch, text.data());
}

template <filter_kind K, hash_function H>
result<void> sharded<K, H>::merge(const sharded& other) noexcept requires mergeable<K> {
  if (auto alike = check_alike(other); !alike) return alike;
  // Bits of equal shapes always merge, and shapes are alike in all shards.
  constexpr bool may_refuse = refusing_merges<K> || bounded_kind<K> || !contiguous_kind<K>;
  if constexpr (may_refuse) {
    auto merged = room_for(shards(), nullptr);
    if (!merged) return fail(merged.error());
    for (unsigned i = 0; i < shards(); ++i) {
      auto copy = shards_[i].filter().clone();
      if (!copy) return fail(copy.error());
      if (auto done = copy->merge(other.shards_[i].filter()); !done) return done;
      merged->push(part(std::move(*copy)));
    }
    shards_ = std::move(*merged);
  } else {
    for (unsigned i = 0; i < shards(); ++i) {
      if (auto done = shards_[i].filter().merge(other.shards_[i].filter()); !done) return done;
    }
  }
  return {};
}

template <filter_kind K, hash_function H>
key_count sharded<K, H>::keys() const noexcept {
  key_count all;
  for (const part& each : shards_) {
    const key_count some = each.keys();
    all.keys += some.keys;
    all.exact = all.exact && some.exact;
  }
  return all;
}

}  // namespace bloomery::inline BLOOMERY_ABI
