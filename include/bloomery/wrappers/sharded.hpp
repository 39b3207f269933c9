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
// Static        kinds `fuse` and `ribbon` have `build` instead of make and insert, which shards the keys first and builds
//               as many shards at once as it has threads; `cascade` too, and there it shards both lists: it is exact
//               about all keys of either, also where a shard gets nothing of one.
// Run time      make, build, load, save, merge, clear and == are those of wrappers/any_shards.hpp, where the kind is known
//               at run time: one implementation, whose shards are filters of one type here. So an insert or a look-up is
//               the choice of a shard and the kind's own function.
// Files         N native files with one stamp, written so that all appear or none (posix/shard_set.hpp). A shard can be
//               looked at alone; loading one as if it were the whole filter is refused.
// Memory        that of the shards and 180 to 830 bytes each. A batch takes 52 KiB of the stack, of 128-bit digests 84
//               KiB.
#pragma once

#include <algorithm>
#include <array>
#include <bloomery/any_filter_model.hpp>
#include <bloomery/core/aligned_list.hpp>
#include <bloomery/filter.hpp>
#include <bloomery/wrappers/any_shards_model.hpp>
#include <bloomery/wrappers/guarded.hpp>

namespace bloomery::inline BLOOMERY_ABI {

namespace detail {

// A shard whose kind is known: a filter in memory with its lock, on cache lines of its own.
template <filter_kind K>
struct alignas(cache_line_bytes) guarded_shard final : in_memory<K>, guard<K, guarded_shard<K>> {
  explicit guarded_shard(K made) noexcept : in_memory<K>(std::move(made)) {}
  static result<filter_owner> wrap(result<K> made) noexcept {
    if (!made) return fail(made.error());
    filter_owner self(new (std::nothrow) guarded_shard(std::move(*made)));
    if (self == nullptr) return fail(errc::out_of_memory, "the filter", {sizeof(guarded_shard)});
    return self;
  }
  // With a hash that has bits enough for the keys of this shard.
  static result<any_filter> own(result<K> made, const hash_info& hash, const hash_spec& spec) noexcept {
    if (made && !K::info.exact) {
      const auto fits = check_hash_bits(hash, made->capacity_keys(), made->target_fpr(), made->shape().digest_bits);
      if (!fits) return fail(fits.error());
    }
    auto self = wrap(std::move(made));
    if (!self) return fail(self.error());
    return any_filter::adopt(std::move(*self), spec);
  }
  [[nodiscard]] result<filter_owner> clone() const noexcept override { return wrap(kept().clone()); }
  [[nodiscard]] K& kept() const noexcept { return const_cast<K&>(in_memory<K>::filter); }
};

}  // namespace detail

template <filter_kind K, hash_function H = default_hash>
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
  static result<sharded> load(file_path path, const H& hash = {}, const load_options& options = {}) noexcept;
  // FILE.00-of-04 and so on.
  [[nodiscard]] result<void> save(file_path path, const save_options& options = {}) const noexcept;

  template <class Key>
  insert_result insert(const Key& key) noexcept requires dynamic_kind<K> {
    return with_digest(key, [&](auto digest) { return part_of(digest).insert(digest); });
  }
  template <class Key>
  [[nodiscard]] bool may_contain(const Key& key) const noexcept {
    return with_digest(key, [&](auto digest) { return part_of(digest).may_contain(digest); });
  }
  // Removes one occurrence of the key; false, and nothing changes, when it is surely absent.
  template <class Key>
  requires erasable<K>
  bool erase(const Key& key) noexcept {
    const std::uint64_t digest = digest_of(hash_, key);
    return part_of(digest).erase(digest);
  }
  // How often the key is there, as far as the kind can determine: 0 only when it is surely absent.
  template <class Key>
  requires countable<K>
  [[nodiscard]] std::uint64_t count(const Key& key) const noexcept {
    const std::uint64_t digest = digest_of(hash_, key);
    return part_of(digest).count(digest);
  }

  template <class Key>
  guarded_outcome add_batch(std::span<const Key> keys) noexcept requires dynamic_kind<K>;
  // Bit i of the mask (bit i % 64 of word i / 64) answers key i; the mask holds mask_words(keys.size()) words.
  template <class Key>
  void may_contain_batch(std::span<const Key> keys, std::span<std::uint64_t> mask) const noexcept;
  // How many of the keys were there and are erased.
  template <class Key>
  std::uint64_t erase_batch(std::span<const Key> keys) noexcept requires erasable<K>;

  result<void> merge(const sharded& other) noexcept requires mergeable<K>;
  void clear() noexcept requires dynamic_kind<K> { static_cast<void>(settled().clear()); }
  friend bool operator==(const sharded& a, const sharded& b) noexcept { return a.settled() == b.settled(); }

  [[nodiscard]] unsigned shards() const noexcept { return static_cast<unsigned>(parts_.size()); }
  [[nodiscard]] const K& shard(unsigned index) const noexcept { return parts_[index]->filter(); }
  [[nodiscard]] const H& hash() const noexcept { return hash_; }
  [[nodiscard]] key_count keys() const noexcept {
    key_count all;
    for (const part* each : parts_) {
      const key_count some = each->keys();
      all.keys += some.keys;
      all.exact = all.exact && some.exact;
    }
    return all;
  }
  // Of all shards together: with the space for uneven shards, so a little more than it was made for.
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept {
    return sum([](const K& filter) { return filter.capacity_keys(); });
  }
  // Shards have the same target FPR, unless memory or two lists decide: then the largest.
  [[nodiscard]] double target_fpr() const noexcept {
    double most = 0;
    for (const part* each : parts_) most = std::max(most, each->filter().target_fpr());
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
    return sum([](const K& filter) { return filter.memory_bytes(); }) +
           shards() * (sizeof(detail::guarded_shard<K>) + sizeof(any_filter) + sizeof(part*));
  }

 private:
  static constexpr bool both_128_bit = digest128_kind<K> && hash128_function<H>;
  static constexpr std::size_t group = shard_sorter<std::uint64_t>::most;
  using part = detail::guard<K, detail::guarded_shard<K>>;

  sharded(any_filter all, const H& hash) noexcept
      : all_(std::move(all)), hash_(hash), wide_(all_.digest_bits() == 128) {}
  static result<sharded> over(result<detail::shard_list> shards, const H& hash, const memory_hooks* memory) noexcept;
  template <bool Excludes, class Key>
  static result<sharded> build_from(std::span<const Key> keys, std::span<const Key> excluded,
                                    const filter_params& params, const shard_setup& setup, const H& hash) noexcept;
  // Where the shards are, as what they are.
  void find_parts() noexcept;

  template <class Digest>
  [[nodiscard]] part& part_of(const Digest& digest) const noexcept {
    return *parts_[shard_of(digest, shards())];
  }
  // All shards as one filter, whose counts of keys are up to date.
  [[nodiscard]] const any_filter& settled() const noexcept {
    for (const part* each : parts_) static_cast<void>(each->filter());
    return all_;
  }
  [[nodiscard]] any_filter& settled() noexcept { return const_cast<any_filter&>(std::as_const(*this).settled()); }
  template <class F>
  auto sum(F&& f) const noexcept {
    decltype(f(shard(0))) all = 0;
    for (unsigned i = 0; i < shards(); ++i) all += f(shard(i));
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

  any_filter all_;               // the shards, as wrappers/any_shards.hpp has them
  aligned_list<part*> parts_{};  // the same
  H hash_;
  bool wide_;  // takes 128-bit digests
};

// ---- making, building, files ----

template <filter_kind K, hash_function H>
void sharded<K, H>::find_parts() noexcept {
  parts_.shrink(0);
  for (any_filter& each : static_cast<detail::in_shards&>(all_.model()).parts) {
    parts_.push(&static_cast<detail::guarded_shard<K>&>(each.model()));
  }
}

template <filter_kind K, hash_function H>
result<sharded<K, H>> sharded<K, H>::over(result<detail::shard_list> shards, const H& hash,
                                          const memory_hooks* memory) noexcept {
  constexpr unsigned threads = 1;  // that merge: the caller's
  auto all = detail::in_shards::wrap(std::move(shards), spec_of(hash), threads);
  if (!all) return fail(all.error());
  sharded self(std::move(*all), hash);
  if (auto room = self.parts_.reserve(self.all_.shards(), "the shards", memory); !room) return fail(room.error());
  self.find_parts();
  return self;
}

template <filter_kind K, hash_function H>
result<sharded<K, H>> sharded<K, H>::make(const filter_params& params, unsigned shards,
                                          const H& hash) noexcept requires dynamic_kind<K> {
  static_assert(K::info.integer_keys == (H::info.id == identity::info.id),
                "bitmap takes integer keys and the hash identity, and no other kind does");
  return over(detail::make_shard_list(params, &H::info, shards,
                                      [&](const filter_params& one) {
                                        return detail::guarded_shard<K>::own(K::make(one), H::info, spec_of(hash));
                                      }),
              hash, params.memory);
}

template <filter_kind K, hash_function H>
template <bool Excludes, class Key>
result<sharded<K, H>> sharded<K, H>::build_from(std::span<const Key> keys, std::span<const Key> excluded,
                                                const filter_params& params, const shard_setup& setup,
                                                const H& hash) noexcept {
  if (auto usable = check_shards(setup.shards); !usable) return fail(usable.error());
  auto digests = detail::key_digest_buffer::make(hash, keys, params.memory);
  if (!digests) return fail(digests.error());
  auto others = detail::key_digest_buffer::make(hash, excluded, params.memory);
  if (!others) return fail(others.error());
  const auto build_one = [&](const filter_params& one, const detail::shard_lists& own, unsigned threads) {
    if constexpr (Excludes) {
      return detail::guarded_shard<K>::own(K::build(one, own.digests, own.excluded, threads), H::info, spec_of(hash));
    } else {
      return detail::guarded_shard<K>::own(K::build(one, own.digests, threads), H::info, spec_of(hash));
    }
  };
  return over(detail::build_shard_list(params, &H::info, {digests->digests(), others->digests()}, setup, build_one),
              hash, params.memory);
}

template <filter_kind K, hash_function H>
template <class Key>
result<sharded<K, H>> sharded<K, H>::build(std::span<const Key> keys, const filter_params& params, unsigned shards,
                                           const H& hash, unsigned threads) noexcept requires static_kind<K> {
  return build_from<false>(keys, std::span<const Key>{}, params, {shards, threads}, hash);
}

template <filter_kind K, hash_function H>
template <class Key>
result<sharded<K, H>> sharded<K, H>::build(std::span<const Key> keys, std::span<const Key> excluded,
                                           const filter_params& params, unsigned shards, const H& hash,
                                           unsigned threads) noexcept requires excluding_kind<K> {
  return build_from<true>(keys, excluded, params, {shards, threads}, hash);
}

template <filter_kind K, hash_function H>
result<sharded<K, H>> sharded<K, H>::load(file_path path, const H& hash, const load_options& options) noexcept {
  const auto read = [&](unsigned i, unsigned count, const char* name,
                        const load_options& how) -> result<detail::stored_shard> {
    auto stored = bloomery::load<K>(name, how);
    if (!stored) return fail_shard(i, count, stored.error());
    // That another shard was found is the more useful error.
    if (!(stored->hash == spec_of(hash)) && stored->header.shard.index == i && stored->header.shard.count == count) {
      return fail_shard(i, count, "was written with another hash, seed or key than the program uses");
    }
    auto filter = detail::guarded_shard<K>::wrap(std::move(stored->filter));
    if (!filter) return fail(filter.error());
    return detail::stored_shard{any_filter::adopt(std::move(*filter), stored->hash), stored->header.shard};
  };
  return over(detail::read_shard_list(path.c_str(), 0, options, read), hash, options.memory);
}

template <filter_kind K, hash_function H>
result<void> sharded<K, H>::save(file_path path, const save_options& options) const noexcept {
  return settled().save(path, options);
}

template <filter_kind K, hash_function H>
result<void> sharded<K, H>::merge(const sharded& other) noexcept requires mergeable<K> {
  if (!(all_.hash() == other.all_.hash())) return fail(errc::mismatch, "they use different seeds or keys");
  auto done = settled().merge(other.settled());
  find_parts();  // a merge may have made them anew
  return done;
}

// ---- batches ----

template <filter_kind K, hash_function H>
template <class Digest, class Key, class F>
void sharded<K, H>::run_groups(std::span<const Key> keys, F& f) const noexcept {
  std::array<Digest, group> made;
  for (std::size_t first = 0; first < keys.size(); first += group) {
    const std::size_t size = std::min(group, keys.size() - first);
    if constexpr (sizeof(Digest) == 16) {
      for (std::size_t i = 0; i < size; ++i) made[i] = digest128_of(hash_, keys[first + i]);
    } else {
      key_digests<H, Key>{hash_, keys}(first, size, made.data());
    }
    static_cast<void>(detail::for_each_shard_group(
        std::span<const Digest>(made).first(size), shards(),
        [&](unsigned shard, auto digests, auto from, std::size_t first_here) -> result<void> {
          f(*parts_[shard], digests, from, first + first_here);
          return {};
        }));
  }
}

template <filter_kind K, hash_function H>
template <class Key>
guarded_outcome sharded<K, H>::add_batch(std::span<const Key> keys) noexcept requires dynamic_kind<K> {
  guarded_outcome all;
  for_each_part(keys, [&](part& own, auto digests, auto /*from*/, std::size_t /*first*/) {
    const guarded_outcome some = own.add_batch(digests);
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
  for_each_part(keys, [&](const part& own, auto digests, auto from, std::size_t first) {
    own.may_contain_batch(digests, std::span<std::uint64_t>(answers));
    detail::spread_answers(answers, from, first, mask);
  });
}

template <filter_kind K, hash_function H>
template <class Key>
std::uint64_t sharded<K, H>::erase_batch(std::span<const Key> keys) noexcept requires erasable<K> {
  std::uint64_t erased = 0;
  auto erase_part = [&](part& own, auto digests, auto /*from*/, std::size_t /*first*/) {
    erased += own.erase_batch(digests);
  };
  run_groups<std::uint64_t>(keys, erase_part);
  return erased;
}

}  // namespace bloomery::inline BLOOMERY_ABI
