// guards/cache/state.hpp: what guards/cache_guard.hpp remembers of its cache: which keys may be old there, and who
// writes.
//
// Keys are in 256 groups by their digest. A group has a lock, which its writers hold one after the other, a version,
// which each of them changes, and the digests of keys that the cache may hold an old value of. A value that was read from
// the source goes to the cache only under the lock, and only if the version is what it was before the source was read:
// hence the cache never gets what a writer has replaced meanwhile.
#pragma once

#include <array>
#include <bloomery/core/clock.hpp>
#include <bloomery/core/shared_count.hpp>
#include <bloomery/core/shared_lock.hpp>
#include <bloomery/core/wide.hpp>
#include <bloomery/guards/lookup/stats.hpp>
#include <bloomery/guards/metrics.hpp>
#include <optional>

namespace bloomery::inline BLOOMERY_ABI {

// What a cache_guard has counted. Of look-ups that the filter did not end: hits, and the others, which reached the source.
struct cache_stats {
  lookup_stats lookups{};            // `confirmed` includes what the cache answered
  std::uint64_t hits = 0;            // the cache had the value
  std::uint64_t misses = 0;          // the cache had none
  std::uint64_t failed_reads = 0;    // the cache returned an error
  std::uint64_t distrusted = 0;      // the cache was not queried: it may hold an old value
  std::uint64_t failed_sources = 0;  // look-ups that ended with an error of the source
  std::uint64_t writes = 0;          // to the cache, and removals from it
  std::uint64_t failed_writes = 0;   // of them, that returned an error
  std::uint64_t skipped_fills = 0;   // not cached: the key's group was written meanwhile

  // Look-ups that reached the source.
  [[nodiscard]] std::uint64_t source_reads() const noexcept { return misses + failed_reads + distrusted; }
  // The share of look-ups that reached neither cache nor source; 0 before the first.
  [[nodiscard]] double efficiency() const noexcept { return lookups.efficiency(); }
  // The share of look-ups that did not reach the source; 0 before the first.
  [[nodiscard]] double source_efficiency() const noexcept {
    const std::uint64_t all = lookups.queried();
    return all == 0 ? 0.0 : static_cast<double>(lookups.saved + hits) / static_cast<double>(all);
  }
  // The share of look-ups in the cache that found something: absent keys, which the filter keeps out, do not lower it.
  [[nodiscard]] double hit_rate() const noexcept {
    const std::uint64_t all = hits + misses;
    return all == 0 ? 0.0 : static_cast<double>(hits) / static_cast<double>(all);
  }
};

namespace detail {

template <class Done>
bool has_failed(const Done& done) noexcept {
  if constexpr (requires { done.error(); }) return !done;
  return false;
}

class BLOOMERY_API cache_state {
 public:
  // Holds the lock of a group, or nothing.
  class turn {
   public:
    explicit turn(shared_lock* lock) noexcept : lock_(lock) {}
    turn(turn&& other) noexcept : lock_(std::exchange(other.lock_, nullptr)) {}
    turn& operator=(turn&&) = delete;
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    ~turn() {
      if (lock_ != nullptr) lock_->unlock();
    }
    explicit operator bool() const noexcept { return lock_ != nullptr; }

   private:
    shared_lock* lock_;
  };

  // A writer: alone in the group of this key until the end of the scope.
  [[nodiscard]] turn begin_write(std::uint64_t digest) noexcept;
  // The same for a value that was read from the source at `version`; nothing if a writer came since.
  [[nodiscard]] turn begin_fill(std::uint64_t digest, std::uint64_t version) noexcept;
  [[nodiscard]] std::uint64_t version(std::uint64_t digest) const noexcept {
    return group_of(digest).version.load(std::memory_order_acquire);
  }

  [[nodiscard]] bool may_read_cache(std::uint64_t digest) const noexcept;
  // The cache may hold an old value of the key, or took the newest one. By who has the turn.
  void distrust(std::uint64_t digest) noexcept;
  void trust(std::uint64_t digest) noexcept;
  void trust_all() noexcept;

  [[nodiscard]] cache_stats stats(const lookup_stats& lookups) const noexcept;
  void collect(metric_sink& to) const noexcept;

  struct alignas(cache_line_bytes) counters {
    shared_count hits, misses, failed_reads, distrusted, failed_sources, writes, failed_writes, skipped_fills;
  };
  counters counts{};
  latency_histogram cache_time{};
  latency_histogram source_time{};

 private:
  static constexpr std::size_t groups = 256;
  static constexpr std::uint32_t most_old = 16;
  struct group {
    mutable shared_lock turns{};  // held for as long as source and cache take
    mutable shared_lock lock{};   // of what follows
    std::atomic<std::uint64_t> version{0};
    std::atomic<std::uint32_t> old_keys{0};  // most_old + 1: more than are listed
    std::array<std::uint64_t, most_old> old{};
  };
  [[nodiscard]] group& group_of(std::uint64_t digest) noexcept { return groups_[mix64(digest) >> 56U]; }
  [[nodiscard]] const group& group_of(std::uint64_t digest) const noexcept { return groups_[mix64(digest) >> 56U]; }

  std::array<group, groups> groups_{};
};

}  // namespace detail

namespace metric_families {
inline constexpr metric_family cache_reads{"bloomery_cache_reads_total",
                                           "Look-ups in the cache, by what became of them.", metric_type::counter};
inline constexpr metric_family cache_writes{"bloomery_cache_writes_total",
                                            "Writes to the cache, by what became of them.", metric_type::counter};
inline constexpr metric_family cache_seconds{"bloomery_cache_seconds", "Time that the cache took for a look-up.",
                                             metric_type::histogram};
inline constexpr metric_family row_seconds{"bloomery_cached_source_seconds",
                                           "Time that the source behind a cache took for a look-up.",
                                           metric_type::histogram};
}  // namespace metric_families

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/guards/cache.cpp>
#endif
