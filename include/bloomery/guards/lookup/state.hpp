// guards/lookup/state.hpp: what guards/lookup_guard.hpp does with the digests of keys: the filter under its lock, the keys
// that come while it is rebuilt, and the counters. The keys themselves are seen by guards/lookup_guard.hpp alone, which includes the bodies, too.
//
// Why a rebuild loses no key. It begins by recording every insert, then waits until each write that began before has
// ended, and only then reads the source: a key is in the source by then, or is recorded. The recorded keys are added to
// the new filter before it takes the place of the old one, the last of them under the lock.
//
// Why a reported false positive hides no key. A key whose answer from the source is "absent" is remembered only if no
// key of its group was being written when the source was queried, and none was inserted since. 256 groups of keys have
// each a version, which every insert and the end of every write change.
//
// Why an erase takes no other key's fingerprint. It erases what the source had, or what this writer has inserted, and
// only in the filter that was there when the write began: in a newer one the key need not be.
#pragma once

#include <array>
#include <bloomery/any_filter.hpp>
#include <bloomery/core/background.hpp>
#include <bloomery/core/shared_count.hpp>
#include <bloomery/core/shared_lock.hpp>
#include <bloomery/guards/lookup/stats.hpp>
#include <bloomery/guards/metrics.hpp>
#include <bloomery/wrappers/adaptive/front.hpp>
#include <memory>
#include <optional>

namespace bloomery::inline BLOOMERY_ABI {

// What a source of keys is called with: sink(key) for every key of the source.
using guard_sink = adaptive_sink<hasher>;
using guard_keys = function_ref<result<void>(guard_sink& sink)>;

enum class guard_start : std::uint8_t {
  empty,     // the source has no keys yet: they come through the guard
  unloaded,  // the source has keys: every answer is "maybe" until the first rebuild has read them
};

struct lookup_guard_options {
  guard_start start = guard_start::empty;
  std::uint64_t report_bytes = 0;  // for false positives that are remembered, from 16 KiB; 0: none is
};

// Why the filter should be rebuilt.
enum class rebuild_reason : std::uint8_t { none, unfiltered, overfull, false_positives };

namespace detail {

// A key as it is recorded during a rebuild.
struct guarded_key {
  digest_pair digests{};
  bool has_wide = false;  // digests of 64 bits may be all that is known
};
template <class Key>
guarded_key guarded_key_of(const hasher& hash, const Key& key) noexcept {
  guarded_key out{.digests = {.digest = digest_of(hash, key)}};
  if constexpr (!std::is_same_v<Key, prehashed>) {
    out.has_wide = true;
    out.digests.wide = digest128_of(hash, key);
  }
  return out;
}

// A look-up, as far as the filter answers it.
struct guard_ticket {
  bool maybe = true;
  bool filtered = false;  // by a filter that could answer
  bool quiet = false;     // no key of the group was being written
  std::uint64_t digest = 0;
  std::uint64_t version = 0;     // of the group
  std::uint64_t generation = 0;  // of the filter
};

// A write that is under way.
struct guard_write {
  std::size_t group = 0;
  unsigned phase = 0;
  std::uint64_t generation = 0;
  bool inserted = false;  // into the filter of this generation
};

struct background_rebuild {
  background_rebuild() = default;
  background_rebuild(const background_rebuild&) = delete;
  background_rebuild& operator=(const background_rebuild&) = delete;
  virtual ~background_rebuild() = default;
  virtual result<void> read(guard_sink& sink) = 0;
};

class BLOOMERY_API guard_state {
 public:
  static result<std::unique_ptr<guard_state>> make(any_filter first, const filter_params& params,
                                                   const lookup_guard_options& options) noexcept;
  guard_state(const guard_state&) = delete;
  guard_state& operator=(const guard_state&) = delete;
  ~guard_state() { thread_.wait(); }

  template <class Key>
  [[nodiscard]] bool may_contain(const Key& key) const noexcept {
    const read_guard with_others(lock_);
    bool reported = false;
    return contains(key, reported) != single_answer::no;
  }
  // Counts an answer that is "absent".
  template <class Key>
  [[nodiscard]] guard_ticket look(const Key& key) const noexcept {
    const read_guard with_others(lock_);
    bool reported = false;
    const single_answer answer = contains(key, reported);
    if (answer == single_answer::no) {
      counts.saved.add();
      if (reported) counts.remembered.add();
      return {.maybe = false};
    }
    guard_ticket ticket{.filtered = answer == single_answer::yes};
    ticket.digest = digest_of(hash_.get(), key);
    const group& own = groups_[group_of(ticket.digest)];
    ticket.quiet = own.writers == 0;
    ticket.version = own.version;
    ticket.generation = generation_;
    return ticket;
  }
  // What the source answered to a ticket.
  template <class Key>
  void settle(const Key& key, const guard_ticket& ticket, bool there) noexcept {
    if (!ticket.filtered) return counts.unfiltered.add();
    if (there) return counts.confirmed.add();
    counts.false_positives.add();
    if constexpr (!std::is_same_v<Key, prehashed128>) {
      if (!ticket.quiet || reports_.list().limit_bytes() == 0) return;
      const write_guard alone(lock_);
      if (generation_ != ticket.generation || groups_[group_of(ticket.digest)].version != ticket.version) return;
      static_cast<void>(reports_.remember(hash_.get(), key, ticket.digest));  // else it reaches the source again
    }
  }

  // The key of a write, before the source has it.
  template <class Key>
  guard_write begin_insert(const Key& key) noexcept {
    const guarded_key known = guarded_key_of(hash_.get(), key);
    const write_guard alone(lock_);
    guard_write write = begin_locked(known.digests.digest);
    write.inserted = insert_locked(known, [&] { return filter_->insert(key); }).has_value();
    return write;
  }
  template <class Key>
  guard_write begin_removal(const Key& key) noexcept {
    const std::uint64_t digest = digest_of(hash_.get(), key);
    const write_guard alone(lock_);
    return begin_locked(digest);
  }
  void end_write(const guard_write& write) noexcept;
  // One occurrence of the key leaves the filter, if that is the filter of this write.
  template <class Key>
  void erase(const Key& key, const guard_write& write) noexcept {
    const write_guard alone(lock_);
    if (!filtering_ || generation_ != write.generation) return;
    const auto erased = filter_->erase(key);
    if (erased && *erased) counts.erased.add();
  }
  // A key that the source has.
  template <class Key>
  result<void> insert(const Key& key) noexcept {
    const guarded_key known = guarded_key_of(hash_.get(), key);
    const write_guard alone(lock_);
    return insert_locked(known, [&] { return filter_->insert(key); });
  }
  [[nodiscard]] bool erases() const noexcept { return erases_; }

  result<void> rebuild(guard_keys source) noexcept;
  result<void> start(std::unique_ptr<background_rebuild> job) noexcept;
  result<void> wait() noexcept;
  [[nodiscard]] bool is_rebuilding() const noexcept { return rebuilding_.load(std::memory_order_acquire); }
  [[nodiscard]] rebuild_reason why_rebuild() const noexcept;
  [[nodiscard]] bool is_filtering() const noexcept {
    const read_guard with_others(lock_);
    return filtering_;
  }
  [[nodiscard]] std::optional<error> last_error() const noexcept {
    const read_guard with_others(lock_);
    return last_error_;
  }
  [[nodiscard]] lookup_stats stats() const noexcept;
  void collect(metric_sink& to) const noexcept;
  // Calls f(filter) while nothing changes it.
  template <class F>
  auto with_filter(F&& f) const {
    const read_guard with_others(lock_);
    return f(static_cast<const any_filter&>(*filter_));
  }

  // Each on a cache line of its own: readers count at once.
  struct alignas(cache_line_bytes) counters {
    shared_count saved, remembered, confirmed, false_positives, unfiltered, failed;
    shared_count inserts, removals, erased, rebuilds, failed_rebuilds;
  };
  counters counts{};
  latency_histogram source_time{};

 private:
  struct group {
    std::uint64_t version = 0;
    std::uint64_t writers = 0;
  };
  static constexpr std::size_t groups = 256;
  static std::size_t group_of(std::uint64_t digest) noexcept { return mix64(digest) >> 56U; }

  guard_state(any_filter first, const adaptive_rule& rule, const lookup_guard_options& options,
              std::uint64_t first_keys) noexcept;

  // `failed`: the filter cannot answer. `reported`: it says "maybe", and the list of false positives has the key.
  template <class Key>
  [[nodiscard]] single_answer contains(const Key& key, bool& reported) const noexcept {
    if (!filtering_) [[unlikely]]
      return single_answer::failed;
    const auto found = filter_->may_contain(key);
    if (!found) [[unlikely]]
      return single_answer::failed;
    if (!*found) return single_answer::no;
    if constexpr (!std::is_same_v<Key, prehashed128>) {
      reported = reports_.list().size() != 0 && reports_.deny(hash_.get(), key, digest_of(hash_.get(), key));
    }
    return reported ? single_answer::no : single_answer::yes;
  }
  guard_write begin_locked(std::uint64_t digest) noexcept;
  // A key that does not fit makes every answer "maybe" until the next rebuild.
  template <class F>
  result<void> insert_locked(const guarded_key& key, F&& into_filter) noexcept {
    note_insert(key);
    if (!filtering_) return {};  // the next rebuild will find it in the source
    const result<insert_result> done = into_filter();
    if (done && *done != insert_result::full) return {};
    filtering_ = false;
    last_error_ = done ? make_error(errc::full, {}, {filter_->shape().keys}) : done.error();
    return fail(*last_error_);
  }
  void note_insert(const guarded_key& key) noexcept;

  result<any_filter> fill(const guard_keys& source, std::uint64_t& wanted) noexcept;
  [[nodiscard]] std::uint64_t wanted_keys() const noexcept;
  result<void> read_and_swap(const guard_keys& source, std::uint64_t& wanted) noexcept;
  result<void> add_recorded(any_filter& to, std::span<guarded_key> keys) noexcept;
  result<bool> catch_up(any_filter& to) noexcept;
  unsigned begin_recording() noexcept;
  void end_recording() noexcept;

  mutable shared_lock lock_{};
  std::optional<any_filter> filter_;
  filter_hash hash_;
  bool filtering_;
  bool erases_;
  adaptive_reports reports_;
  std::array<group, groups> groups_{};
  std::uint64_t generation_ = 0;
  std::optional<error> last_error_{};

  // Of a rebuild. What is not atomic is under the lock.
  adaptive_rule rule_;
  std::string_view kind_;
  std::uint64_t first_keys_;  // kinds that grow: what they are made for
  std::atomic<bool> rebuilding_{false};
  bool recording_ = false;
  bool lost_a_record_ = false;
  aligned_list<guarded_key> recorded_{};
  unsigned phase_ = 0;
  std::array<std::atomic<std::uint32_t>, 2> writing_{};  // writes under way, by the phase that they began in
  std::uint64_t false_positives_before_ = 0;             // when the filter was made
  std::uint64_t saved_before_ = 0;
  std::unique_ptr<background_rebuild> job_{};
  result<void> job_outcome_{};
  background_thread thread_{};
};

}  // namespace detail
}  // namespace bloomery::inline BLOOMERY_ABI
