// wrappers/guarded.hpp: one filter of any kind that many threads may write and query.
//
//     bloomery::guarded<bloomery::cuckoo> seen(std::move(*filter));
//     seen.insert(digest);                     // from any thread
//     bool maybe = seen.may_contain(digest);   // from any thread
//
// Kinds that many threads may insert into and that do not erase (`bloom`, `blocked`) take no lock: see rules 2 and 3 of
// kinds/concurrent.hpp. Others have a lock, shared by look-ups. Static kinds are only queried.
//
// insert, erase, may_contain, count, their batches and keys(): any number of threads. `filter` is for one, while no
// other writes. It is on cache lines of its own.
#pragma once

#include <algorithm>
#include <atomic>
#include <bloomery/core/shared_lock.hpp>
#include <bloomery/kinds/batch.hpp>
#include <bloomery/kinds/concept.hpp>
#include <utility>

namespace bloomery::inline BLOOMERY_ABI {

// What became of a batch, of which everything is taken that fits.
struct guarded_outcome {
  std::uint64_t inserted = 0;  // changed something
  std::uint64_t refused = 0;   // are not in the filter: it is full
};

namespace detail {

// The lock and the functions of a filter that Self holds: kept() returns it, from a constant Self as well, because its
// count of keys is updated when the count is read.
template <filter_kind K, class Self>
class guard {
 public:
  template <class Digest>
  insert_result insert(Digest digest) noexcept;
  template <class Digest>
  [[nodiscard]] bool may_contain(Digest digest) const noexcept;
  bool erase(std::uint64_t digest) noexcept requires erasable<K> {
    const write_guard alone(lock_);
    return kept().erase(digest);
  }
  [[nodiscard]] std::uint64_t count(std::uint64_t digest) const noexcept requires countable<K> {
    const read_guard with_others(lock_);
    return kept().count(digest);
  }

  template <class Digest>
  guarded_outcome add_batch(std::span<const Digest> digests) noexcept;
  // The mask holds mask_words(digests.size()) words.
  template <class Digest>
  void may_contain_batch(std::span<const Digest> digests, std::span<std::uint64_t> mask) const noexcept;
  std::uint64_t erase_batch(std::span<const std::uint64_t> digests) noexcept requires erasable<K> {
    const write_guard alone(lock_);
    return bloomery::erase_batch(kept(), digests);
  }

  [[nodiscard]] key_count keys() const noexcept {
    const read_guard with_others(lock_);
    key_count all = kept().keys();
    all.keys += inserted_.load(std::memory_order_relaxed);
    return all;
  }
  // With its count of keys up to date.
  [[nodiscard]] const K& filter() const noexcept {
    if constexpr (lock_free) kept().add_to_count(inserted_.exchange(0));
    return kept();
  }
  [[nodiscard]] K& filter() noexcept { return const_cast<K&>(std::as_const(*this).filter()); }

 private:
  // An erase is not for many threads, whatever an insert may be.
  static constexpr bool lock_free = concurrent_kind<K> && !erasable<K>;

  [[nodiscard]] K& kept() const noexcept { return static_cast<const Self*>(this)->kept(); }

  mutable shared_lock lock_{};
  mutable std::atomic<std::uint64_t> inserted_{0};  // without a lock: what the filter has not counted yet
};

template <filter_kind K, class Self>
template <class Digest>
insert_result guard<K, Self>::insert(Digest digest) noexcept {
  K& held = kept();
  if constexpr (lock_free) {
    const insert_result outcome = held.insert_atomic(digest);
    if (outcome == insert_result::inserted) inserted_.fetch_add(1, std::memory_order_relaxed);
    return outcome;
  } else {
    const write_guard alone(lock_);
    return held.insert(digest);
  }
}

template <filter_kind K, class Self>
template <class Digest>
bool guard<K, Self>::may_contain(Digest digest) const noexcept {
  const K& held = kept();
  if constexpr (lock_free) {
    return held.may_contain_atomic(digest);
  } else if constexpr (static_kind<K>) {
    return held.may_contain(digest);
  } else {
    const read_guard with_others(lock_);
    return held.may_contain(digest);
  }
}

template <filter_kind K, class Self>
template <class Digest>
guarded_outcome guard<K, Self>::add_batch(std::span<const Digest> digests) noexcept {
  K& held = kept();
  guarded_outcome all;
  if constexpr (lock_free) {
    const auto one = [&](Digest digest) {
      all.inserted += held.insert_atomic(digest) == insert_result::inserted ? 1U : 0U;
    };
    if constexpr (sizeof(Digest) == 8) {
      for_each_ahead<memory_access::write>(held, digests, [&](std::size_t /*i*/, Digest digest) { one(digest); });
    } else {
      for (const Digest& digest : digests) one(digest);
    }
    inserted_.fetch_add(all.inserted, std::memory_order_relaxed);
  } else {
    const write_guard alone(lock_);
    if constexpr (bounded_kind<K>) {
      for (std::size_t first = 0; first < digests.size();) {
        const batch_outcome some = held.add_until_full(digests.subspan(first));
        all.inserted += some.inserted;
        first += some.taken;
        if (first == digests.size()) break;
        ++all.refused;
        ++first;
      }
    } else {
      all.inserted = held.add_batch(digests);
    }
  }
  return all;
}

template <filter_kind K, class Self>
template <class Digest>
void guard<K, Self>::may_contain_batch(std::span<const Digest> digests, std::span<std::uint64_t> mask) const noexcept {
  const K& held = kept();
  if constexpr (lock_free) {
    std::fill_n(mask.begin(), mask_words(digests.size()), 0);
    const auto one = [&](std::size_t i, Digest digest) {
      mask[i / 64] |= std::uint64_t{held.may_contain_atomic(digest) ? 1U : 0U} << (i % 64);
    };
    if constexpr (sizeof(Digest) == 8) {
      for_each_ahead<memory_access::read>(held, digests, one);
    } else {
      for (std::size_t i = 0; i < digests.size(); ++i) one(i, digests[i]);
    }
  } else if constexpr (static_kind<K>) {
    held.may_contain_batch(digests, mask);
  } else {
    const read_guard with_others(lock_);
    held.may_contain_batch(digests, mask);
  }
}

}  // namespace detail

template <filter_kind K>
class alignas(cache_line_bytes) guarded : public detail::guard<K, guarded<K>> {
 public:
  explicit guarded(K made) noexcept : filter_(std::move(made)) {}
  guarded(guarded&& other) noexcept : filter_(std::move(other.filter())) {}
  guarded& operator=(guarded&&) = delete;
  guarded(const guarded&) = delete;
  guarded& operator=(const guarded&) = delete;
  ~guarded() = default;

 private:
  friend class detail::guard<K, guarded<K>>;
  [[nodiscard]] K& kept() const noexcept { return filter_; }

  mutable K filter_;
};

}  // namespace bloomery::inline BLOOMERY_ABI
