// guards/seen/state.hpp: what guards/seen_set.hpp does with the digests of keys.
//
// Order of an insert, under the lock: the filter is queried, the record goes to the journal, the key goes into the
// filter. If the journal refuses, the filter is untouched; if the filter refuses, the record is taken back. So the
// journal always has what the filter has, and the next process ends up with the same filter.
//
// Order of a snapshot: (1) under the lock the journal becomes PATH.journal.old, a new one begins, and the filter is
// copied; (2) the copy replaces PATH; (3) the old journal is removed. Killed anywhere: the snapshot that is there, then
// the old journal, then the new one, give the same filter. A record that the snapshot has already changes nothing: kinds
// whose keys expire count every insert, so that their records are skipped by number; the others are queried first.
#pragma once

#include <array>
#include <bloomery/any_filter.hpp>
#include <bloomery/core/shared_count.hpp>
#include <bloomery/core/shared_lock.hpp>
#include <bloomery/guards/metrics.hpp>
#include <bloomery/guards/seen/journal.hpp>
#include <bloomery/posix/append_file.hpp>
#include <bloomery/posix/names.hpp>
#include <memory>
#include <optional>

namespace bloomery::inline BLOOMERY_ABI {

struct seen_set_options {
  std::uint64_t journal_bytes = std::uint64_t{8} << 20U;  // a snapshot is written when the journal has so many
  bool power_safe = false;                                // wait for the disk at every insert of a new key
};

// Since the set was made or opened.
struct seen_stats {
  std::uint64_t fresh = 0;   // keys that were new
  std::uint64_t seen = 0;    // keys that were not
  std::uint64_t failed = 0;  // inserts that returned an error
  std::uint64_t snapshots = 0;
  std::uint64_t failed_snapshots = 0;
  std::uint64_t replayed = 0;       // records of the journal when it was opened
  std::uint64_t torn_bytes = 0;     // at its end, that were dropped: a record that was not finished
  std::uint64_t journal_bytes = 0;  // now, with the old one
};

namespace detail {

class BLOOMERY_API seen_state {
 public:
  static constexpr std::size_t group_keys = 64;
  static result<std::unique_ptr<seen_state>> make(std::string_view kind, const filter_params& params,
                                                  const hasher& hash) noexcept;
  static result<std::unique_ptr<seen_state>> open(file_path path, std::string_view kind, const filter_params& params,
                                                  const hasher& hash, const seen_set_options& options) noexcept;

  [[nodiscard]] const hasher& hash() const noexcept { return hash_; }
  [[nodiscard]] bool is_wide() const noexcept { return wide_; }
  [[nodiscard]] error refuse_key() const noexcept;

  [[nodiscard]] bool may_contain(const digest128& digest) const noexcept {
    const read_guard with_others(lock_);
    const auto found = contains(digest);
    return !found || *found;
  }
  result<bool> insert(const digest128& digest) noexcept;
  // At most group_keys; bit i of `fresh` when number i was new.
  result<std::uint64_t> insert(std::span<const digest128> digests, std::uint64_t& fresh) noexcept;

  result<void> snapshot() noexcept;
  result<void> sync() noexcept;
  [[nodiscard]] seen_stats stats() const noexcept;
  [[nodiscard]] std::optional<error> last_error() const noexcept {
    const read_guard with_others(lock_);
    return last_error_;
  }
  void collect(metric_sink& to) const noexcept;
  template <class F>
  auto with_filter(F&& f) const {
    const read_guard with_others(lock_);
    return f(static_cast<const any_filter&>(filter_));
  }

 private:
  seen_state(any_filter filter, const hasher& hash, const seen_set_options& options, const clock_hook* clock) noexcept;
  [[nodiscard]] result<bool> contains(const digest128& digest) const noexcept {
    return wide_ ? filter_.may_contain(prehashed128{digest}) : filter_.may_contain(prehashed{digest.low});
  }
  result<insert_result> add(const digest128& digest) noexcept {
    return wide_ ? filter_.insert(prehashed128{digest}) : filter_.insert(prehashed{digest.low});
  }
  result<std::uint64_t> insert_locked(std::span<const digest128> digests, std::uint64_t& fresh) noexcept;
  result<void> write_records(std::span<const digest128> digests) noexcept;
  [[nodiscard]] std::uint64_t written_bytes() const noexcept {
    return old_bytes_ + (journal_ ? journal_->size_bytes() : 0);
  }

  // Of files.
  result<void> attach(file_path path) noexcept;
  result<void> replay(std::string_view path, const append_file& file, journal_end& end) noexcept;
  result<void> begin_journal() noexcept;
  result<void> rotate() noexcept;
  void after_insert(std::uint64_t written) noexcept;
  result<void> make_space() noexcept;
  result<void> take_snapshot() noexcept;
  result<void> write_snapshot() noexcept;

  mutable shared_lock lock_{};
  any_filter filter_;
  hasher hash_;
  bool wide_;
  bool expires_;
  seen_set_options options_;
  const clock_hook* clock_;
  std::optional<error> last_error_{};

  path_text path_{}, journal_path_{}, old_path_{};
  path_lock process_lock_{};
  journal_header header_{};
  std::optional<append_file> journal_{};
  std::uint64_t records_ = 0;    // in the journal
  std::uint64_t old_bytes_ = 0;  // of the old one, while it is there
  bool has_old_ = false;
  std::uint64_t next_snapshot_ = 0;   // when so many bytes are written
  std::atomic<bool> writing_{false};  // a snapshot

  struct counters {
    shared_count fresh, seen, failed, snapshots, failed_snapshots;
    std::uint64_t replayed = 0;
    std::uint64_t torn_bytes = 0;
  };
  counters counts_{};
};

}  // namespace detail

namespace metric_families {
inline constexpr metric_family seen{"bloomery_seen_total", "Keys that were inserted if new, by what they were.",
                                    metric_type::counter};
inline constexpr metric_family snapshots{"bloomery_snapshots_total", "Snapshots, by what became of them.",
                                         metric_type::counter};
inline constexpr metric_family journal_bytes{"bloomery_journal_bytes",
                                             "What is in the journal since the last snapshot.", metric_type::gauge};
}  // namespace metric_families

}  // namespace bloomery::inline BLOOMERY_ABI
