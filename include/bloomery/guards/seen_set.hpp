// guards/seen_set.hpp: what was seen already, for many threads, also after the process was killed.
//
//     auto seen = bloomery::seen_set::open("urls.seen", "scalable", {.keys = 1'000'000, .fpr = 0.001}, {});
//     if (!seen) return std::puts(bloomery::describe(seen.error()).c_str()), 2;
//     auto fresh = seen->insert_if_new("https://example.org/");      // result<bool>: true for one caller, once
//     if (fresh && *fresh) fetch(...);
//
// What it is    an any_filter, a lock, and on disk a snapshot and a journal. Of all threads that insert a key at once,
//               one is told that it is new. A key that was new is never new again, in this process or a later one.
// The price     a false positive is a new key that is reported as seen: at most a share p of the new ones. A key is seen
//               from the moment of the insert: where the work on it must not be lost by a crash, keep a list of what is
//               under way, or do the work first and insert then (which may do it twice).
// Files         PATH is a filter as every other: `info` describes it, `query` answers from it. PATH.journal has what came
//               since (guards/seen/journal.hpp), PATH.journal.old is there while a snapshot is written, PATH.lock keeps
//               other processes out.
// kill -9       an insert returns when its record is written to the journal. What was reported new is seen by the next
//               process; a record that was cut short was not reported, and is dropped. After a power failure the same
//               holds with `power_safe`, which waits for the disk at every insert; without it the last seconds are lost.
// Snapshots     when the journal has `journal_bytes`, the insert that filled it writes the filter to PATH, others go on;
//               a copy of the filter is in memory meanwhile (if that is refused, inserts wait). snapshot() does it at
//               once. Opening reads the snapshot and at most 4 * journal_bytes of journal, because inserts are refused
//               beyond that while snapshots fail.
// Disk full     the insert returns an error, and the key is not inserted: it will be new again. Nothing is lost.
// Damage        a snapshot or journal that was damaged, or do not belong together, are an error of open.
// Window        with kind "window" a key is new again when it has expired: {.keys = n} later keys, or {.window_ns = t} after
//               it was new. Look-ups do not renew it.
// Kinds         every kind that takes keys one by one, but dual, which may lose keys. Kinds that do not grow return
//               errc::full when they are.
// In memory     make(): the same without files.
// Threads       everything but the destructor and moves: any number at once. Look-ups share one lock; an insert of a new
//               key takes it alone, for one write to the journal. Batches write once for 64 keys.
#pragma once

#include <bloomery/guards/seen/state.hpp>

namespace bloomery::inline BLOOMERY_ABI {

class BLOOMERY_API seen_set {
 public:
  static result<seen_set> make(std::string_view kind, const filter_params& params, const hasher& hash) noexcept;
  // What PATH and its journal hold, or an empty set where there is neither. Kind and hash must be those of the file; its
  // size stays as it is. The clock of `params` and its memory must outlive the set.
  static result<seen_set> open(file_path path, std::string_view kind, const filter_params& params, const hasher& hash,
                               const seen_set_options& options = {}) noexcept;

  // True: the key is new, for this caller alone. False: it was seen (or is a false positive). An error: it is as before.
  template <single_key Key>
  result<bool> insert_if_new(const Key& key) noexcept {
    const auto known = digest(key);
    if (!known) return fail(known.error());
    return self_->insert(*known);
  }
  // Bit i of `fresh` is set when key i was new; it holds mask_words(keys.size()) words. How many were. After an error
  // those with a bit are inserted, and no others.
  template <single_key Key>
  result<std::uint64_t> insert_if_new(std::span<const Key> keys, std::span<std::uint64_t> fresh) noexcept {
    constexpr std::size_t group = detail::seen_state::group_keys;
    if (fresh.size() < mask_words(keys.size())) {
      return fail(errc::bad_span, "the mask", {std::uint64_t{fresh.size()} * 64, keys.size()});
    }
    std::uint64_t count = 0;
    for (std::size_t word = 0; word < mask_words(keys.size()); ++word) fresh[word] = 0;
    for (std::size_t first = 0; first < keys.size(); first += group) {
      std::array<digest128, group> digests;
      const std::size_t size = keys.size() - first < group ? keys.size() - first : group;
      for (std::size_t i = 0; i < size; ++i) {
        const auto made = digest(keys[first + i]);
        if (!made) return fail(made.error());
        digests[i] = *made;
      }
      const auto done = self_->insert({digests.data(), size}, fresh[first / 64]);
      if (!done) return fail(done.error());
      count += *done;
    }
    return count;
  }
  // Not counted. A set that cannot answer says true.
  template <single_key Key>
  [[nodiscard]] bool may_contain(const Key& key) const noexcept {
    const auto known = digest(key);
    return !known || self_->may_contain(*known);
  }

  // Writes the filter to PATH now, and begins a new journal. Waits for one that is being written.
  result<void> snapshot() noexcept { return self_->snapshot(); }
  // Until the journal is on the disk.
  result<void> sync() noexcept { return self_->sync(); }

  [[nodiscard]] seen_stats stats() const noexcept { return self_->stats(); }
  // Why the last snapshot failed; nothing when it did not.
  [[nodiscard]] std::optional<error> last_error() const noexcept { return self_->last_error(); }
  void collect(metric_sink& to) const noexcept { self_->collect(to); }
  // Calls f(const any_filter&) while nothing changes it.
  template <class F>
  auto with_filter(F&& f) const {
    return self_->with_filter(f);
  }

 private:
  explicit seen_set(std::unique_ptr<detail::seen_state> self) noexcept : self_(std::move(self)) {}
  template <class Key>
  [[nodiscard]] result<digest128> digest(const Key& key) const noexcept {
    const hasher& hash = self_->hash();
    if constexpr (is_byte_key<Key>) {
      if (!hash.accepts(detail::key_bytes(key).size())) return fail(self_->refuse_key());
    }
    if (!self_->is_wide()) {
      if constexpr (!std::is_same_v<Key, prehashed128>) return digest128{digest_of(hash, key), 0};
    } else {
      if constexpr (!std::is_same_v<Key, prehashed>) return digest128_of(hash, key);
    }
    return fail(errc::unsupported,
                self_->is_wide() ? "this filter takes 128-bit digests" : "this filter takes 64-bit digests");
  }

  std::unique_ptr<detail::seen_state> self_;
};

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/guards/seen.cpp>
#endif
