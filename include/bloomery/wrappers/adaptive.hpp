// wrappers/adaptive.hpp: a filter of any kind that watches its own false-positive rate and learns from its false
// positives.
//
//     auto seen = bloomery::adaptive<bloomery::blocked>::make({.keys = 1'000'000, .fpr = 0.01});
//     if (!seen) return 2;
//     auto all_keys = [&](auto& sink) -> bloomery::result<void> {    // must live as long as the filter calls it
//       for (const auto& row : table) sink(row.name);
//       return {};                                                   // or the error that ended it: nothing changes
//     };
//     seen->set_source(all_keys);
//     seen->insert("alice");
//     bool maybe = seen->may_contain("bob");
//     if (maybe && !table.has("bob")) seen->report_false_positive("bob");   // "bob" answers no from now on
//     bool sure = seen->may_contain_confirmed("carol", [&](const auto& key) { return table.has(key); });   // both
//
// What it is    filters of one kind, most often one, and a list of the keys that were reported. A key that is inserted
//               is taken from the list. Keys are a set: what may be there is not inserted again, so that copies take no
//               space.
// Use it when   the number of keys is a guess and the keys can be had again from where they are stored; or the same
//               absent keys are looked up again and again; or an opponent repeats the false positives that it found.
// Use instead   `growing` when only the number of keys is unknown: it grows without a pause and without a source.
//
// Checks        after every `check_every` adds (10,000), and after every eighth of its capacity where that is fewer. A
//               check compares two FPRs with twice the target, the FPR that it was made with:
//               by fill     fpr_now(). Read when it holds more keys than it was made for, and then once for each 64th
//                           more of them, because reading costs as much as the filter is large.
//               by reports  the false positives among the absent keys that were looked up with a confirmation since it
//                           was last rebuilt, when their true FPR is above with a confidence of 99.9 %.
//               check() does it at once and reads the fill in any case.
// With a source above twice the target it rebuilds itself from the source for 1.5 times the keys that it holds (and
//               again for more, if the source has more), and keeps the target then. Between two checks the FPR may pass
//               twice the target. Above by reports alone: for 1.5 times its capacity, up to four times its keys.
//               Fixed-capacity kinds are rebuilt when they are full.
// Without one   a filter that holds what it was made for is closed, and one for 1.5 times the keys so far is added
//               before it, of at most 32. The i-th after the first has the FPR 0.55 target / i^2: together they stay
//               below twice the target, whatever is inserted, and need not be checked for that. Only where memory was
//               refused may they pass it. No closed filter gets better: above by reports alone is an error.
// Errors        memory that is refused, or a source that fails, leaves it as it was. check() and rebuild() return the
//               error; that of what an insert began is in last_error(), and it is tried again after as many adds as are
//               between two checks. The key itself is in: only fixed-capacity kinds return `full` when they can get no
//               space.
//
// Source        passes every key that is to be found, as it was inserted, in any order, any number of times; the keys
//               of the running call need not be among them. Keys that it no longer has are gone after a rebuild.
//               It must not call the filter, and neither it nor a confirmation may throw.
// Reports       a reported key answers no until it, or one with its digest, is inserted. The list holds keys, not
//               digests: a key that is there is found though another with its digest was reported, with any hash.
//               Report only what is surely absent; a present key that is reported answers no, until it is inserted
//               again or a rebuild meets it. With may_contain_confirmed that cannot happen: the callback decides, and
//               is called for every "maybe"; it returns true where it does not know. Not remembered, and still "maybe":
//               keys of more than 4096 bytes, and tuples of which a part was folded into a digest (hash/key.hpp).
// Memory        that of the filters, and for the list nothing before the first report and then report_bytes (8 MiB),
//               which hold 196,608 keys of up to 20 bytes, 100,000 of up to 44 (core/recent_keys.hpp). Then the oldest
//               is dropped, and answers "maybe" again. A rebuild has both filters in memory while it runs.
// Deletes       no: the filter that seems to hold a key may not be the one that does. Delete from the source and
//               rebuild().
// Merges        no. Files: save() writes the filter without the list when it is one; over() adapts one that was loaded.
// Threads       one writer, or any number of readers. may_contain and may_contain_batch read; everything that learns or
//               adds writes: insert, report_false_positive, may_contain_confirmed, check, rebuild.
#pragma once

#include <bloomery/filter.hpp>
#include <bloomery/wrappers/adaptive/reports.hpp>
#include <bloomery/wrappers/adaptive/sub_filters.hpp>
#include <bloomery/wrappers/guarded.hpp>
#include <optional>

namespace bloomery::inline BLOOMERY_ABI {

struct adaptive_options {
  std::uint64_t check_every = 10'000;                    // adds between two checks; 0: only check() checks
  std::uint64_t report_bytes = std::uint64_t{8} << 20U;  // for the reported keys, from 16 KiB; 0: none is remembered
};

// What a check did.
enum class adaptation : std::uint8_t { none, grown, rebuilt };

template <dynamic_kind K, hash_function H = xxh3>
class adaptive {
  static_assert(!K::info.exact, "an exact kind has no false positives");
  static_assert(!K::info.expires, "a kind whose keys expire has nothing to be rebuilt from");
  using sub_filter_chain = adaptive_sub_filters<K, H>;

 public:
  static constexpr std::size_t max_sub_filters = sub_filter_chain::most;
  using key_sink = typename sub_filter_chain::sink;  // what a source is called with: sink(key) for every key

  static result<adaptive> make(const filter_params& params, const adaptive_options& options = {},
                               const H& hash = {}) noexcept {
    auto made = filter<K, H>::make(params, hash);
    if (!made) return fail(made.error());
    auto self = over(std::move(*made), params, options);
    if (self && params.fpr) self->sub_filters_.set_target(*params.fpr);
    return self;
  }
  // A filter that is there already, such as a loaded one. Its target is its promised FPR; `params` states with which
  // layout, mode and memory it grows.
  static result<adaptive> over(filter<K, H> existing, const filter_params& params = {},
                               const adaptive_options& options = {}) noexcept;
  [[nodiscard]] result<void> save(const char* path, const save_options& options = {}) const noexcept {
    if (sub_filters() == 1) return bloomery::save(sub_filters_[0], spec_of(hash()), path, options);
    return fail(errc::unsupported, "a filter in several sub-filters is not saved: set a source and rebuild it");
  }

  // `source(sink)` returns result<void>. It is called whenever the filter is rebuilt, and must live until then.
  template <class F>
  void set_source(F& source) noexcept {
    source_ = sub_filter_chain::source::of(source);
  }
  template <class F>
  void set_source(const F&& source) = delete;
  void remove_source() noexcept { source_ = {}; }

  template <class Key>
  insert_result insert(const Key& key) noexcept {
    return add(key, digest_of(hash(), key), std::span<const Key>{&key, 1});
  }
  template <class Key>
  guarded_outcome insert_batch(std::span<const Key> keys) noexcept;

  template <class Key>
  [[nodiscard]] bool may_contain(const Key& key) const noexcept {
    const std::uint64_t digest = digest_of(hash(), key);
    return sub_filters_.contain(key, digest) && !reports_.deny(hash(), key, digest);
  }
  // Bit i of the mask (bit i % 64 of word i / 64) answers key i; the mask holds mask_words(keys.size()) words.
  template <class Key>
  void may_contain_batch(std::span<const Key> keys, std::span<std::uint64_t> mask) const noexcept;

  // The truth: `confirm(key)` returns whether the key is really there, and is called only where the filter returns
  // "maybe".
  template <class Key, class F>
  bool may_contain_confirmed(const Key& key, F&& confirm) noexcept {
    const std::uint64_t digest = digest_of(hash(), key);
    return reports_.confirm(hash(), key, digest, sub_filters_.contain(key, digest), confirm);
  }
  template <class Key, class F>
  void may_contain_confirmed_batch(std::span<const Key> keys, std::span<std::uint64_t> mask, F&& confirm) noexcept;

  // The key, which is surely absent, answers no from now on. An error: it cannot be remembered, and answers as before.
  template <class Key>
  result<void> report_false_positive(const Key& key) noexcept {
    return reports_.remember(hash(), key, digest_of(hash(), key));
  }
  void forget_reports() noexcept { reports_.list().clear(); }

  result<adaptation> check() noexcept { return check_with(std::span<const prehashed>{}, true); }
  // From the source, for 1.5 times the keys.
  result<void> rebuild() noexcept {
    return rebuild_for(sub_filter_chain::larger(sub_filters_.count()), std::span<const prehashed>{});
  }
  // Keys and reports are gone; source and statistics stay.
  void clear() noexcept {
    sub_filters_.clear();
    reports_.list().clear();
    reports_.start_observing();
    since_check_ = next_reading_ = 0;
  }

  [[nodiscard]] key_count keys() const noexcept { return sub_filters_.keys(); }
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept { return sub_filters_.capacity_keys(); }
  [[nodiscard]] double target_fpr() const noexcept { return sub_filters_.target(); }
  // From the fill, without the reported keys.
  [[nodiscard]] double fpr_now() const noexcept { return sub_filters_.fpr_now(); }
  // Among the absent keys that were looked up with a confirmation since it was last rebuilt; 0 when there were none.
  [[nodiscard]] double observed_fpr() const noexcept { return reports_.observed_fpr(); }
  [[nodiscard]] std::uint64_t reported_keys() const noexcept { return reports_.list().size(); }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
    return sub_filters_.memory_bytes() + reports_.list().memory_bytes();
  }
  [[nodiscard]] adaptive_stats stats() const noexcept {
    adaptive_stats all = stats_;
    reports_.add_to(all);
    return all;
  }
  // Why the last change that an insert began failed; nothing when it did not.
  [[nodiscard]] const std::optional<error>& last_error() const noexcept { return last_error_; }
  [[nodiscard]] std::size_t sub_filters() const noexcept { return sub_filters_.size(); }
  [[nodiscard]] const K& sub_filter(std::size_t index) const noexcept { return sub_filters_[index]; }
  [[nodiscard]] const H& hash() const noexcept { return sub_filters_.hash(); }

 private:
  static constexpr std::size_t group = 512;  // a multiple of 64, so that every group starts a word of the mask
  static constexpr std::size_t ahead = 12;   // digests whose memory is prefetched before they are inserted
  using group_digests = std::array<std::uint64_t, group>;

  adaptive(const filter_params& params, const adaptive_options& options, const H& hash) noexcept
      : options_(options), sub_filters_(params, hash), reports_(options.report_bytes, params.memory) {}

  // In adds; a check may be due although it is none by itself (check_every is 0).
  [[nodiscard]] std::uint64_t interval() const noexcept {
    const std::uint64_t wanted = options_.check_every == 0 ? adaptive_options{}.check_every : options_.check_every;
    return std::min(wanted, std::max<std::uint64_t>(64, sub_filters_.newest().capacity_keys() / 8));
  }
  [[nodiscard]] bool check_is_due() const noexcept { return options_.check_every != 0 && since_check_ >= interval(); }

  template <class Key>
  std::span<const std::uint64_t> digests_of(std::span<const Key> keys, group_digests& room) const noexcept;

  // `so_far` are the keys of this call up to this one, which the source may not know.
  template <class Key>
  insert_result add(const Key& key, std::uint64_t digest, std::span<const Key> so_far) noexcept;
  template <class Key>
  insert_result put(const Key& key, std::uint64_t digest, std::span<const Key> so_far) noexcept;
  template <class Key>
  result<adaptation> check_with(std::span<const Key> so_far, bool read_fill) noexcept;
  template <class Key>
  result<void> rebuild_for(std::uint64_t keys, std::span<const Key> so_far) noexcept {
    auto done = sub_filters_.rebuild(source_, keys, so_far, reports_.list());
    if (!done) return done;
    ++stats_.rebuilds;
    next_reading_ = 0;
    reports_.start_observing();
    return {};
  }
  result<void> grow() noexcept {
    auto done = sub_filters_.grow();
    if (!done) return done;
    ++stats_.growths;
    next_reading_ = 0;
    return {};
  }
  [[nodiscard]] bool is_above_by_fill(bool read_fill) noexcept;
  // After a failure it is not tried again at once: a source may take long to fail.
  [[nodiscard]] bool may_try() const noexcept { return stats_.adds >= try_again_at_; }
  bool note(const result<void>& tried) noexcept {
    last_error_.reset();
    if (tried) return true;
    last_error_ = tried.error();
    ++stats_.failures;
    try_again_at_ = stats_.adds + interval();
    return false;
  }
  template <class Key>
  void check_if_due(std::span<const Key> so_far) noexcept {
    if (!check_is_due()) return;
    const auto done = check_with(so_far, false);
    if (!done) {
      note(fail(done.error()));
    } else if (*done != adaptation::none) {
      last_error_.reset();
    }
  }

  adaptive_options options_;
  sub_filter_chain sub_filters_;
  typename sub_filter_chain::source source_{};
  adaptive_reports<H> reports_;
  adaptive_stats stats_{};
  std::uint64_t since_check_ = 0;
  std::uint64_t next_reading_ = 0;  // of the fill: at this many keys
  std::uint64_t try_again_at_ = 0;  // of the adds
  std::optional<error> last_error_{};
};

template <dynamic_kind K, hash_function H>
result<adaptive<K, H>> adaptive<K, H>::over(filter<K, H> existing, const filter_params& params,
                                            const adaptive_options& options) noexcept {
  if (options.report_bytes != 0 && options.report_bytes < recent_keys::min_limit_bytes) {
    return fail(errc::bad_memory, {}, {options.report_bytes, recent_keys::min_limit_bytes});
  }
  adaptive self(params, options, existing.hash());
  const double target = existing.kind().target_fpr();
  if (auto done = self.sub_filters_.start(std::move(existing.kind()), target); !done) return fail(done.error());
  return self;
}

// ---- checks ----

template <dynamic_kind K, hash_function H>
bool adaptive<K, H>::is_above_by_fill(bool read_fill) noexcept {
  const K& newest = sub_filters_.newest();
  const key_count held = newest.keys();
  if (!read_fill && ((held.exact && held.keys <= newest.capacity_keys()) || held.keys < next_reading_)) return false;
  next_reading_ = held.keys + newest.capacity_keys() / 64;
  ++stats_.readings;
  return fpr_now() > 2 * target_fpr();
}

template <dynamic_kind K, hash_function H>
template <class Key>
result<adaptation> adaptive<K, H>::check_with(std::span<const Key> so_far, bool read_fill) noexcept {
  since_check_ = 0;
  ++stats_.checks;
  const std::uint64_t capacity = capacity_keys();
  std::uint64_t wanted = 0;
  if (source_ && is_above_by_fill(read_fill)) {
    wanted = sub_filter_chain::larger(sub_filters_.count());
  } else if (reports_.are_above(2 * target_fpr())) {
    if (!source_) {
      return fail(errc::unsupported,
                  "false positives are above twice the target, and there is no source of keys to rebuild from");
    }
    wanted = std::min(sub_filter_chain::larger(capacity), 4 * sub_filters_.count());
    if (wanted <= capacity) {
      return fail(errc::unsupported,
                  "false positives are above twice the target in a filter with room: use another hash, or a keyed one");
    }
  } else if (!source_ && sub_filters_.newest().keys().keys > sub_filters_.newest().capacity_keys()) {
    if (auto grown = grow(); !grown) return fail(grown.error());
    return adaptation::grown;
  }
  if (wanted == 0) return adaptation::none;
  if (auto done = rebuild_for(wanted, so_far); !done) return fail(done.error());
  return adaptation::rebuilt;
}

// ---- inserting ----

template <dynamic_kind K, hash_function H>
template <class Key>
insert_result adaptive<K, H>::put(const Key& key, std::uint64_t digest, std::span<const Key> so_far) noexcept {
  // What another sub-filter may hold is there. The newest detects it by itself, unless it is closed.
  const bool closed = !source_ && sub_filters_.room() == 0;
  if ((closed || sub_filters() > 1) && sub_filters_.contain(key, digest)) return insert_result::present;
  if (closed && may_try()) note(grow());
  const insert_result done = sub_filters_.put(key, digest);
  if (done != insert_result::full || !may_try()) return done;
  const std::uint64_t wanted = sub_filter_chain::larger(std::max(sub_filters_.count(), capacity_keys()));
  if (!note(source_ ? rebuild_for(wanted, so_far) : grow())) return done;
  return sub_filters_.put(key, digest) == insert_result::full ? insert_result::full : insert_result::inserted;
}

template <dynamic_kind K, hash_function H>
template <class Key>
insert_result adaptive<K, H>::add(const Key& key, std::uint64_t digest, std::span<const Key> so_far) noexcept {
  ++stats_.adds;
  ++since_check_;
  reports_.list().erase(digest);
  const insert_result done = put(key, digest, so_far);
  check_if_due(so_far);
  return done;
}

template <dynamic_kind K, hash_function H>
template <class Key>
std::span<const std::uint64_t> adaptive<K, H>::digests_of(std::span<const Key> keys,
                                                          group_digests& room) const noexcept {
  const key_digests<H, Key> source{hash(), keys};
  for (std::size_t first = 0; first < keys.size(); first += 64) {
    source(first, std::min<std::size_t>(64, keys.size() - first), room.data() + first);
  }
  return std::span<const std::uint64_t>(room).first(keys.size());
}

template <dynamic_kind K, hash_function H>
template <class Key>
guarded_outcome adaptive<K, H>::insert_batch(std::span<const Key> keys) noexcept {
  constexpr bool plain = !erasable<K> && !bounded_kind<K>;
  guarded_outcome all;
  group_digests room;
  for (std::size_t first = 0, size = 0; first < keys.size(); first += size) {
    const std::uint64_t until_check = std::max(interval(), since_check_ + 1) - since_check_;
    size = std::min<std::uint64_t>({group, keys.size() - first, until_check});
    const auto digests = digests_of(keys.subspan(first, size), room);
    if (plain && sub_filters() == 1 && (source_ || size <= sub_filters_.room()) && !is_128_bit(sub_filters_.newest())) {
      stats_.adds += size;
      since_check_ += size;
      if (reported_keys() != 0) {
        for (const std::uint64_t digest : digests) reports_.list().erase(digest);
      }
      all.inserted += sub_filters_.newest().insert_batch(digests);
      check_if_due(keys.first(first + size));
      continue;
    }
    for (std::size_t i = 0; i < size; ++i) {
      if (i + ahead < size) prefetch<memory_access::write>(sub_filters_.newest(), digests[i + ahead]);
      const insert_result done = add(keys[first + i], digests[i], keys.first(first + i + 1));
      all.inserted += done == insert_result::inserted ? 1U : 0U;
      all.refused += done == insert_result::full ? 1U : 0U;
    }
  }
  return all;
}

// ---- look-ups ----

template <dynamic_kind K, hash_function H>
template <class Key>
void adaptive<K, H>::may_contain_batch(std::span<const Key> keys, std::span<std::uint64_t> mask) const noexcept {
  group_digests room;
  for (std::size_t first = 0; first < keys.size(); first += group) {
    const auto some = keys.subspan(first, std::min(group, keys.size() - first));
    std::uint64_t* answers = mask.data() + first / 64;
    const auto digests = digests_of(some, room);
    sub_filters_.template ask<group>(some, digests, answers);
    if (reported_keys() == 0) continue;
    for (std::size_t word = 0; word < mask_words(some.size()); ++word) {
      for (std::uint64_t bits = answers[word]; bits != 0; bits &= bits - 1) {
        const std::size_t i = word * 64 + static_cast<unsigned>(std::countr_zero(bits));
        if (reports_.deny(hash(), some[i], digests[i])) answers[word] &= ~(std::uint64_t{1} << (i % 64));
      }
    }
  }
}

template <dynamic_kind K, hash_function H>
template <class Key, class F>
void adaptive<K, H>::may_contain_confirmed_batch(std::span<const Key> keys, std::span<std::uint64_t> mask,
                                                 F&& confirm) noexcept {
  group_digests room;
  for (std::size_t first = 0; first < keys.size(); first += group) {
    const auto some = keys.subspan(first, std::min(group, keys.size() - first));
    std::uint64_t* answers = mask.data() + first / 64;
    const auto digests = digests_of(some, room);
    sub_filters_.template ask<group>(some, digests, answers);
    for (std::size_t i = 0; i < some.size(); ++i) {
      const std::uint64_t bit = std::uint64_t{1} << (i % 64);
      const bool maybe = (answers[i / 64] & bit) != 0;
      if (!reports_.confirm(hash(), some[i], digests[i], maybe, confirm)) answers[i / 64] &= ~bit;
    }
  }
}

}  // namespace bloomery::inline BLOOMERY_ABI
