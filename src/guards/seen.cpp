#include <algorithm>
#include <bloomery/guards/seen_set.hpp>

namespace bloomery::inline BLOOMERY_ABI {
namespace detail {

inline constexpr std::uint64_t most_journals = 4;  // times journal_bytes: beyond it inserts are refused

BLOOMERY_BODY seen_state::seen_state(any_filter filter, const hasher& hash, const seen_set_options& options,
                                     const clock_hook* clock) noexcept
    : filter_(std::move(filter)),
      hash_(hash),
      wide_(filter_.digest_bits() == 128),
      expires_(filter_.capabilities().expires),
      options_(options),
      clock_(clock),
      next_snapshot_(options.journal_bytes) {}

BLOOMERY_BODY result<std::unique_ptr<seen_state>> seen_state::make(std::string_view kind, const filter_params& params,
                                                                   const hasher& hash) noexcept {
  return open(static_cast<const char*>(nullptr), kind, params, hash, {});
}

BLOOMERY_BODY result<std::unique_ptr<seen_state>> seen_state::open(file_path path, std::string_view kind,
                                                                   const filter_params& params, const hasher& hash,
                                                                   const seen_set_options& options) noexcept {
  if (options.journal_bytes < 4096) return fail(errc::bad_option, "a journal in bytes", {4096, no_limit});
  path_lock process_lock;
  if (path.c_str() != nullptr) {
    path_text name;
    if (!name.assign(path) || !name.append(".journal.old")) {
      return name_file(fail_errno("cannot open", ENAMETOOLONG), path.c_str());
    }
    name.assign(path);
    name.append(".lock");
    auto taken = path_lock::take(name.c_str());
    if (!taken) return fail(taken.error());
    process_lock = std::move(*taken);
  }
  const bool stored = path.c_str() != nullptr && file_exists(path);
  // Keys that expire come with their times from the journal: a new filter must not be younger than they are.
  static constexpr clock_hook long_ago{.now_ns = [](void* /*context*/) -> std::uint64_t { return 1; }};
  filter_params with = params;
  if (path.c_str() != nullptr) with.clock = &long_ago;
  auto filter = stored ? any_filter::load(path, {.memory = params.memory, .clock = params.clock})
                       : any_filter::make(kind, with, hash);
  if (!filter) return fail(filter.error());
  filter->set_clock(params.clock);
  if (filter->capabilities().may_lose) return filter->model().cannot("remember what was seen: it may lose keys");
  if (!filter->capabilities().inserts) return filter->model().cannot("take keys one by one");
  if (stored && (filter->info().name != kind || filter->hash() != hash.spec())) {
    return name_file(fail(errc::mismatch, filter->info().name != kind ? "the file is of another kind"
                                                                      : "the file is of another hash, seed or key"),
                     path.c_str());
  }
  if (filter->digest_bits() > 128) return filter->model().cannot("take digests");
  std::unique_ptr<seen_state> self(new (std::nothrow) seen_state(std::move(*filter), hash, options, params.clock));
  if (self == nullptr) return fail(errc::out_of_memory, "the seen set", {sizeof(seen_state)});
  self->process_lock_ = std::move(process_lock);
  if (path.c_str() != nullptr) {
    if (auto done = self->attach(path); !done) return fail(done.error());
  }
  return self;
}

BLOOMERY_BODY error seen_state::refuse_key() const noexcept {
  return filter_.may_contain(std::string_view{}).error();  // what a key of the wrong size gets
}

// ---- inserts ----

BLOOMERY_BODY result<bool> seen_state::insert(const digest128& digest) noexcept {
  std::uint64_t fresh = 0;
  const auto done = insert({&digest, 1}, fresh);
  if (!done) return fail(done.error());
  return *done != 0;
}

BLOOMERY_BODY result<std::uint64_t> seen_state::insert(std::span<const digest128> digests,
                                                       std::uint64_t& fresh) noexcept {
  fresh = 0;
  bool all_seen = true;
  {
    const read_guard with_others(lock_);
    for (const digest128& digest : digests) {
      const auto found = contains(digest);
      if (!found) return fail(found.error());
      if (!*found) {
        all_seen = false;
        break;
      }
    }
  }
  if (all_seen) {
    counts_.seen.add(digests.size());
    return 0;
  }
  std::uint64_t count = 0;
  std::uint64_t written = 0;
  result<void> done = make_space();
  // Records of keys that expire are skipped by number when they are replayed: each must be one that was new.
  const std::size_t step = expires_ ? 1 : digests.size();
  {
    const write_guard alone(lock_);
    for (std::size_t first = 0; done && first < digests.size(); first += step) {
      std::uint64_t some = 0;
      const auto added = insert_locked(digests.subspan(first, step), some);
      fresh |= some << first;
      if (!added) done = fail(added.error());
    }
    count = static_cast<std::uint64_t>(std::popcount(fresh));
    written = written_bytes();
  }
  counts_.fresh.add(count);
  if (!done) {
    counts_.failed.add();
    return fail(done.error());
  }
  counts_.seen.add(digests.size() - count);
  if (written >= options_.journal_bytes) after_insert(written);
  return count;
}

BLOOMERY_BODY result<std::uint64_t> seen_state::insert_locked(std::span<const digest128> digests,
                                                              std::uint64_t& fresh) noexcept {
  std::array<digest128, group_keys> missing;
  std::array<unsigned char, group_keys> place{};
  std::size_t size = 0;
  for (std::size_t i = 0; i < digests.size(); ++i) {
    const auto found = contains(digests[i]);
    if (!found) return fail(found.error());
    if (*found || std::find(missing.data(), missing.data() + size, digests[i]) != missing.data() + size) continue;
    place[size] = static_cast<unsigned char>(i);
    missing[size++] = digests[i];
  }
  if (size == 0) return 0;
  const std::uint64_t bytes_before = journal_ ? journal_->size_bytes() : 0;
  if (auto done = write_records({missing.data(), size}); !done) return fail(done.error());
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const auto done = add(missing[i]);
    if (done && *done != insert_result::full) {
      // One that the others of the group made look present is a false positive, as if they had come before.
      if (*done == insert_result::inserted) {
        fresh |= std::uint64_t{1} << place[i];
        ++count;
      }
      continue;
    }
    const error why = done ? make_error(errc::full, {}, {filter_.shape().keys}) : done.error();
    if (journal_) {
      records_ -= size - i;
      if (auto cut = journal_->truncate(bytes_before + i * header_.record_bytes()); !cut) return fail(cut.error());
    }
    return fail(why);
  }
  return count;
}

BLOOMERY_BODY result<void> seen_state::write_records(std::span<const digest128> digests) noexcept {
  if (!journal_) return {};
  std::array<std::byte, group_keys * journal_header::most_record_bytes> bytes;
  const std::size_t record_bytes = header_.record_bytes();
  // A little late, so that the key does not expire earlier for having been replayed.
  constexpr std::uint64_t later_ns = 1'000'000;
  const std::uint64_t time = header_.timed ? now_ns(clock_) + later_ns : 0;
  for (std::size_t i = 0; i < digests.size(); ++i) {
    encode_journal_record(header_, records_ + i, {digests[i], time},
                          std::span(bytes).subspan(i * record_bytes, record_bytes));
  }
  const std::uint64_t before = journal_->size_bytes();
  if (auto done = journal_->append(std::span(bytes).first(digests.size() * record_bytes)); !done) return done;
  if (options_.power_safe) {
    if (auto done = journal_->sync(); !done) {
      static_cast<void>(journal_->truncate(before));
      return done;
    }
  }
  records_ += digests.size();
  return {};
}

// ---- files ----

// A filter whose clock shows the time of a record.
struct replay_clock {
  std::uint64_t now = 0;
  clock_hook hook{.now_ns = [](void* context) { return static_cast<replay_clock*>(context)->now; }, .context = this};
};

BLOOMERY_BODY result<void> seen_state::replay(std::string_view path, const append_file& file,
                                              journal_end& end) noexcept {
  std::uint64_t skip = 0;
  replay_clock clock;
  const auto check = [&](const journal_header& header) -> result<void> {
    if (header.kind_id != filter_.info().id || header.hash != filter_.hash() || header.wide != wide_ ||
        header.timed != expires_) {
      return fail(errc::mismatch, "the journal is of another kind, hash or seed than the snapshot");
    }
    const std::uint64_t keys = filter_.shape().keys;
    if (keys < header.first_keys) {
      return fail(errc::mismatch, "the journal follows a newer snapshot than the one that is there");
    }
    header_ = header;
    skip = expires_ ? keys - header.first_keys : 0;
    if (expires_) filter_.set_clock(&clock.hook);
    return {};
  };
  const auto take = [&](const journal_record& record) -> result<void> {
    ++counts_.replayed;
    if (skip != 0) {
      --skip;
      return {};
    }
    clock.now = record.time_ns;
    if (!expires_) {
      const auto found = contains(record.digest);
      if (!found) return fail(found.error());
      if (*found) return {};
    }
    const auto done = add(record.digest);
    if (!done) return fail(done.error());
    if (*done == insert_result::full) return fail(errc::full, {}, {filter_.shape().keys});
    return {};
  };
  const auto read = [&](std::uint64_t offset, std::span<std::byte> out) { return file.read_at(offset, out); };
  auto done = read_journal(read, file.size_bytes(), check, take);
  if (expires_) filter_.set_clock(clock_);
  if (!done) return name_file(fail(done.error()), path);
  end = *done;
  counts_.torn_bytes += file.size_bytes() - end.bytes;
  return {};
}

BLOOMERY_BODY result<void> seen_state::attach(file_path path) noexcept {
  path_.assign(path);
  journal_path_.assign(path);
  journal_path_.append(".journal");
  old_path_.assign(path);
  old_path_.append(".journal.old");
  if (file_exists(old_path_.c_str())) {
    const auto old = append_file::open(old_path_.c_str());
    if (!old) return fail(old.error());
    journal_end end;
    if (auto done = replay(old_path_.view(), *old, end); !done) return done;
    has_old_ = true;
    old_bytes_ = old->size_bytes();
  }
  auto journal = append_file::open(journal_path_.c_str());
  if (!journal) return fail(journal.error());
  journal_end end;
  if (auto done = replay(journal_path_.view(), *journal, end); !done) return done;
  if (end.bytes != journal->size_bytes()) {
    if (auto done = journal->truncate(end.bytes); !done) return done;
  }
  journal_ = std::move(*journal);
  records_ = end.records;
  return end.bytes == 0 ? begin_journal() : result<void>{};
}

// Its header, in an empty file.
BLOOMERY_BODY result<void> seen_state::begin_journal() noexcept {
  header_ = {.kind_id = filter_.info().id,
             .hash = filter_.hash(),
             .wide = wide_,
             .timed = expires_,
             .first_keys = filter_.shape().keys,
             .id = temporary_number()};
  records_ = 0;
  std::array<std::byte, journal_header::bytes> bytes;
  encode_journal_header(header_, bytes);
  if (auto done = journal_->append(bytes); !done) return done;
  if (!options_.power_safe) return {};
  if (auto done = journal_->sync(); !done) return done;
  const auto folder = folder_sync::open(journal_path_.folder());
  if (!folder) return fail(folder.error());
  return folder->sync();
}

// The journal becomes the old one, and a new one begins.
BLOOMERY_BODY result<void> seen_state::rotate() noexcept {
  if (auto done = rename_file(journal_path_.c_str(), old_path_.c_str()); !done) return done;
  append_file before = std::move(*journal_);
  const journal_header header_before = header_;
  const std::uint64_t records_before = records_;
  auto made = append_file::create(journal_path_.c_str());
  result<void> done{};
  if (made) {
    journal_ = std::move(*made);
    done = begin_journal();
  } else {
    done = fail(made.error());
  }
  if (done) {
    has_old_ = true;
    old_bytes_ = before.size_bytes();
    return {};
  }
  // As it was. If even that is refused, the old one is written on, and read first by the next process.
  static_cast<void>(rename_file(old_path_.c_str(), journal_path_.c_str()));
  journal_ = std::move(before);
  header_ = header_before;
  records_ = records_before;
  return done;
}

BLOOMERY_BODY result<void> seen_state::write_snapshot() noexcept {
  std::optional<any_filter> copy;
  {
    const write_guard alone(lock_);
    if (!has_old_) {
      if (auto done = rotate(); !done) return done;
    }
    if (auto made = filter_.clone()) copy = std::move(*made);
  }
  if (copy) {
    if (auto done = copy->save(path_.c_str(), {.replace = true}); !done) return done;
  } else {
    const read_guard with_others(lock_);  // inserts wait
    if (auto done = filter_.save(path_.c_str(), {.replace = true}); !done) return done;
  }
  const write_guard alone(lock_);
  if (auto done = remove_file(old_path_.c_str()); !done) return done;
  has_old_ = false;
  old_bytes_ = 0;
  return {};
}

BLOOMERY_BODY result<void> seen_state::take_snapshot() noexcept {
  const auto done = write_snapshot();
  (done ? counts_.snapshots : counts_.failed_snapshots).add();
  {
    const write_guard alone(lock_);
    last_error_ = done ? std::nullopt : std::optional(done.error());
    // After a failure a quarter of a journal later, so that not every insert tries again.
    next_snapshot_ = done ? options_.journal_bytes : written_bytes() + options_.journal_bytes / 4;
  }
  writing_.store(false, std::memory_order_release);
  writing_.notify_all();
  return done;
}

BLOOMERY_BODY result<void> seen_state::snapshot() noexcept {
  if (!journal_) return fail(errc::unsupported, "the seen set has no file");
  while (writing_.exchange(true, std::memory_order_acquire)) writing_.wait(true, std::memory_order_acquire);
  return take_snapshot();
}

// The journal is long: the first who comes writes a snapshot. That it failed is no error of the insert before it.
BLOOMERY_BODY void seen_state::after_insert(std::uint64_t written) noexcept {
  std::uint64_t due = 0;
  {
    const read_guard with_others(lock_);
    due = next_snapshot_;
  }
  if (written < due || writing_.exchange(true, std::memory_order_acquire)) return;
  static_cast<void>(take_snapshot());
}

// It is as long as it may be: nothing goes on without a snapshot.
BLOOMERY_BODY result<void> seen_state::make_space() noexcept {
  while (true) {
    {
      const read_guard with_others(lock_);
      if (written_bytes() < most_journals * options_.journal_bytes) return {};
    }
    if (writing_.exchange(true, std::memory_order_acquire)) {
      writing_.wait(true, std::memory_order_acquire);
    } else if (auto done = take_snapshot(); !done) {
      return done;
    }
  }
}

BLOOMERY_BODY result<void> seen_state::sync() noexcept {
  const read_guard with_others(lock_);
  return journal_ ? journal_->sync() : result<void>{};
}

// ---- figures ----

BLOOMERY_BODY seen_stats seen_state::stats() const noexcept {
  const read_guard with_others(lock_);
  return {.fresh = counts_.fresh.value(),
          .seen = counts_.seen.value(),
          .failed = counts_.failed.value(),
          .snapshots = counts_.snapshots.value(),
          .failed_snapshots = counts_.failed_snapshots.value(),
          .replayed = counts_.replayed,
          .torn_bytes = counts_.torn_bytes,
          .journal_bytes = written_bytes()};
}

BLOOMERY_BODY void seen_state::collect(metric_sink& to) const noexcept {
  namespace family = metric_families;
  const seen_stats now = stats();
  to.count(family::seen, now.fresh, {"answer", "new"});
  to.count(family::seen, now.seen, {"answer", "seen"});
  to.count(family::seen, now.failed, {"answer", "failed"});
  to.count(family::snapshots, now.snapshots, {"outcome", "done"});
  to.count(family::snapshots, now.failed_snapshots, {"outcome", "failed"});
  to.count(family::journal_bytes, now.journal_bytes);
  with_filter([&](const any_filter& filter) { collect_filter(to, filter); });
}

}  // namespace detail

BLOOMERY_BODY result<seen_set> seen_set::make(std::string_view kind, const filter_params& params,
                                              const hasher& hash) noexcept {
  auto made = detail::seen_state::make(kind, params, hash);
  if (!made) return fail(made.error());
  return seen_set(std::move(*made));
}

BLOOMERY_BODY result<seen_set> seen_set::open(file_path path, std::string_view kind, const filter_params& params,
                                              const hasher& hash, const seen_set_options& options) noexcept {
  auto made = detail::seen_state::open(path, kind, params, hash, options);
  if (!made) return fail(made.error());
  return seen_set(std::move(*made));
}

}  // namespace bloomery::inline BLOOMERY_ABI
