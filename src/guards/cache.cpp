#include <algorithm>
#include <bloomery/guards/cache/state.hpp>

namespace bloomery::inline BLOOMERY_ABI {
namespace detail {

BLOOMERY_BODY cache_state::turn cache_state::begin_write(std::uint64_t digest) noexcept {
  group& own = group_of(digest);
  own.turns.lock();
  own.version.fetch_add(1, std::memory_order_acq_rel);
  return turn(&own.turns);
}

BLOOMERY_BODY cache_state::turn cache_state::begin_fill(std::uint64_t digest, std::uint64_t version) noexcept {
  group& own = group_of(digest);
  // A writer that has the turn changed the version already: who read the source before need not wait for it.
  if (own.version.load(std::memory_order_acquire) != version) return turn(nullptr);
  own.turns.lock();
  turn held(&own.turns);
  if (own.version.load(std::memory_order_acquire) != version) return turn(nullptr);
  return held;
}

BLOOMERY_BODY bool cache_state::may_read_cache(std::uint64_t digest) const noexcept {
  const group& own = group_of(digest);
  if (own.old_keys.load(std::memory_order_acquire) == 0) return true;
  const read_guard with_others(own.lock);
  const std::uint32_t count = own.old_keys.load(std::memory_order_relaxed);
  if (count > most_old) return false;
  const std::uint64_t* const end = own.old.data() + count;
  return std::find(own.old.data(), end, digest) == end;
}

BLOOMERY_BODY void cache_state::distrust(std::uint64_t digest) noexcept {
  group& own = group_of(digest);
  const write_guard alone(own.lock);
  const std::uint32_t count = own.old_keys.load(std::memory_order_relaxed);
  if (count > most_old) return;
  const std::uint64_t* const end = own.old.data() + count;
  if (std::find(own.old.data(), own.old.data() + count, digest) != end) return;
  if (count < most_old) own.old[count] = digest;
  own.old_keys.store(count + 1, std::memory_order_release);
}

BLOOMERY_BODY void cache_state::trust(std::uint64_t digest) noexcept {
  group& own = group_of(digest);
  if (own.old_keys.load(std::memory_order_acquire) == 0) return;
  const write_guard alone(own.lock);
  const std::uint32_t count = own.old_keys.load(std::memory_order_relaxed);
  if (count > most_old) return;  // which others are old is not known
  std::uint64_t* const end = own.old.data() + count;
  std::uint64_t* const found = std::find(own.old.data(), end, digest);
  if (found == end) return;
  *found = own.old[count - 1];
  own.old_keys.store(count - 1, std::memory_order_release);
}

BLOOMERY_BODY void cache_state::trust_all() noexcept {
  for (group& each : groups_) {
    const write_guard writers(each.turns);
    const write_guard alone(each.lock);
    each.old_keys.store(0, std::memory_order_release);
  }
}

BLOOMERY_BODY cache_stats cache_state::stats(const lookup_stats& lookups) const noexcept {
  return {.lookups = lookups,
          .hits = counts.hits.value(),
          .misses = counts.misses.value(),
          .failed_reads = counts.failed_reads.value(),
          .distrusted = counts.distrusted.value(),
          .failed_sources = counts.failed_sources.value(),
          .writes = counts.writes.value(),
          .failed_writes = counts.failed_writes.value(),
          .skipped_fills = counts.skipped_fills.value()};
}

BLOOMERY_BODY void cache_state::collect(metric_sink& to) const noexcept {
  namespace family = metric_families;
  to.count(family::cache_reads, counts.hits.value(), {"answer", "hit"});
  to.count(family::cache_reads, counts.misses.value(), {"answer", "miss"});
  to.count(family::cache_reads, counts.failed_reads.value(), {"answer", "failed"});
  to.count(family::cache_reads, counts.distrusted.value(), {"answer", "distrusted"});
  to.count(family::cache_writes, counts.writes.value(), {"outcome", "done"});
  to.count(family::cache_writes, counts.failed_writes.value(), {"outcome", "failed"});
  to.count(family::cache_writes, counts.skipped_fills.value(), {"outcome", "skipped"});
  to.histogram(family::cache_seconds, cache_time);
  to.histogram(family::row_seconds, source_time);
}

}  // namespace detail
}  // namespace bloomery::inline BLOOMERY_ABI
