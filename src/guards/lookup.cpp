#include <algorithm>
#include <bloomery/guards/lookup_guard.hpp>

namespace bloomery::inline BLOOMERY_ABI {
namespace detail {

BLOOMERY_BODY guard_state::guard_state(any_filter first, const adaptive_rule& rule, const lookup_guard_options& options,
                                       std::uint64_t first_keys) noexcept
    : filter_(std::move(first)),
      hash_(filter_->key_hash()),
      filtering_(options.start == guard_start::empty),
      erases_(filter_->capabilities().erases),
      reports_(options.report_bytes, rule.memory()),
      rule_(rule),
      kind_(filter_->info().name),
      first_keys_(first_keys) {}

BLOOMERY_BODY result<std::unique_ptr<guard_state>> guard_state::make(any_filter first, const filter_params& params,
                                                                     const lookup_guard_options& options) noexcept {
  if (first.capabilities().expires) return first.model().cannot("guard a source: its keys expire there");
  if (first.capabilities().may_lose) return first.model().cannot("guard a source: it may lose keys");
  if (!first.key_hash().is_usable()) return fail(first.may_contain(std::string_view{}).error());  // what a key gets
  if (options.report_bytes != 0 && options.report_bytes < recent_keys::min_limit_bytes) {
    return fail(errc::bad_memory, {}, {options.report_bytes, recent_keys::min_limit_bytes});
  }
  filter_params like = params;
  layout_text layout{};
  if (auto known = apply_options(first.kind(), like, layout); !known) return fail(known.error());
  like.options = {};  // those of the caller may be gone when it is rebuilt
  constexpr adaptive_maker make_another = [](std::string_view name, const filter_params& with,
                                             const filter_hash& hash) noexcept {
    return any_filter::make(name, with, hash);
  };
  adaptive_rule rule(like, first.key_hash(), make_another);
  const double target = first.shape().fpr;
  rule.target = target > 0 && target < 1 ? target : default_fpr;
  std::unique_ptr<guard_state> self(new (std::nothrow)
                                        guard_state(std::move(first), rule, options, params.keys.value_or(0)));
  if (self == nullptr) return fail(errc::out_of_memory, "the guard", {sizeof(guard_state)});
  return self;
}

// ---- writes ----

BLOOMERY_BODY guard_write guard_state::begin_locked(std::uint64_t digest) noexcept {
  const guard_write write{.group = group_of(digest), .phase = phase_, .generation = generation_};
  ++groups_[write.group].writers;
  writing_[phase_].fetch_add(1, std::memory_order_relaxed);
  return write;
}

BLOOMERY_BODY void guard_state::end_write(const guard_write& write) noexcept {
  {
    const write_guard alone(lock_);
    --groups_[write.group].writers;
    ++groups_[write.group].version;
  }
  if (writing_[write.phase].fetch_sub(1, std::memory_order_release) == 1) writing_[write.phase].notify_all();
}

BLOOMERY_BODY void guard_state::note_insert(const guarded_key& key) noexcept {
  counts.inserts.add();
  ++groups_[group_of(key.digests.digest)].version;
  reports_.list().erase(key.digests.digest);
  if (!recording_) return;
  const auto space = recorded_.reserve(recorded_.size() + 1, "the keys of a rebuild", rule_.memory());
  if (space) {
    recorded_.push(key);
  } else {
    lost_a_record_ = true;  // the rebuild will fail
  }
}

// ---- rebuilds ----

// Returns the phase of the writes that began before.
BLOOMERY_BODY unsigned guard_state::begin_recording() noexcept {
  const write_guard alone(lock_);
  recording_ = true;
  lost_a_record_ = false;
  recorded_ = {};
  const unsigned before = phase_;
  phase_ ^= 1U;
  return before;
}

BLOOMERY_BODY void guard_state::end_recording() noexcept {
  const write_guard alone(lock_);
  recording_ = false;
  recorded_ = {};
}

// A new filter of all keys of the source, for `wanted` keys, or more if the source has more.
BLOOMERY_BODY result<any_filter> guard_state::fill(const guard_keys& source, std::uint64_t& wanted) noexcept {
  constexpr unsigned attempts = 4;  // a source may have more keys than expected, and get more meanwhile
  for (unsigned attempt = 0; attempt < attempts; ++attempt) {
    auto made = rule_.make(kind_, wanted, rule_.target);
    if (!made) return made;
    recent_keys none(0);
    // Each key has a copy of its own, also where it looks like another: it may be erased alone.
    adaptive_filling into(*made, false, none);
    guard_sink sink(into, hash_.get());
    if (auto all = source(sink); !all) return fail(all.error());
    into.flush();
    const stored_shape shape = made->shape();
    if (!into.is_full() && (made->grows() || shape.keys <= shape.capacity_keys)) return made;
    wanted = larger(std::max(wanted, into.different()));
  }
  return fail(errc::full, {}, {wanted});
}

// Copies of one key are one: they would fill a filter that stores copies.
BLOOMERY_BODY result<void> guard_state::add_recorded(any_filter& to, std::span<guarded_key> keys) noexcept {
  const auto words = [](const guarded_key& key) {
    return std::tuple(key.digests.digest, key.digests.wide.low, key.digests.wide.high);
  };
  std::sort(keys.begin(), keys.end(), [&](const guarded_key& a, const guarded_key& b) { return words(a) < words(b); });
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const guarded_key& key = keys[i];
    if (i != 0 && words(key) == words(keys[i - 1])) continue;
    if (to.digest_bits() != 64 && !key.has_wide) {
      return fail(errc::unsupported, "the rebuilt filter takes 128-bit digests, and a key came as one of 64 bits");
    }
    const auto done =
        to.digest_bits() == 64 ? to.insert(prehashed{key.digests.digest}) : to.insert(prehashed128{key.digests.wide});
    if (!done) return fail(done.error());
    if (*done == insert_result::full) return fail(errc::full, {}, {to.shape().keys});
  }
  return {};
}

// Adds what was recorded so far; true: nothing is left, and the new filter is in place.
BLOOMERY_BODY result<bool> guard_state::catch_up(any_filter& to) noexcept {
  constexpr std::size_t few = 256;  // so many are added under the lock
  aligned_list<guarded_key> taken;
  {
    const write_guard alone(lock_);
    if (lost_a_record_)
      return fail(errc::out_of_memory, "the keys of a rebuild", {recorded_.size() * sizeof(guarded_key)});
    if (recorded_.size() <= few) {
      if (auto done = add_recorded(to, {recorded_.data(), recorded_.size()}); !done) return fail(done.error());
      std::swap(*filter_, to);
      recording_ = false;
      recorded_ = {};
      ++generation_;
      filtering_ = true;
      last_error_.reset();
      reports_.list().clear();
      false_positives_before_ = counts.false_positives.value();
      saved_before_ = counts.saved.value();
      return true;
    }
    taken = std::move(recorded_);
  }
  if (auto done = add_recorded(to, {taken.data(), taken.size()}); !done) return fail(done.error());
  return false;
}

// For how many keys the next filter is made: as the one that is there, or more where that is nearly full.
BLOOMERY_BODY std::uint64_t guard_state::wanted_keys() const noexcept {
  const read_guard with_others(lock_);
  const stored_shape now = filter_->shape();
  if (filter_->grows()) return std::max(first_keys_, filter_->info().default_keys);
  const std::uint64_t wanted = std::max<std::uint64_t>(now.capacity_keys, 64);
  return now.keys > wanted / 8 * 7 ? larger(std::max(now.keys, wanted)) : wanted;
}

BLOOMERY_BODY result<void> guard_state::read_and_swap(const guard_keys& source, std::uint64_t& wanted) noexcept {
  const unsigned before = begin_recording();
  // A write that began before may reach the source after its key would have been read, and is not recorded.
  for (std::uint32_t left = writing_[before].load(std::memory_order_acquire); left != 0;
       left = writing_[before].load(std::memory_order_acquire)) {
    writing_[before].wait(left, std::memory_order_acquire);
  }
  auto made = fill(source, wanted);
  if (!made) return fail(made.error());
  while (true) {
    const auto done = catch_up(*made);
    if (!done) return fail(done.error());
    if (*done) return {};  // the old filter is freed outside of the lock
  }
}

BLOOMERY_BODY result<void> guard_state::rebuild(guard_keys source) noexcept {
  if (rebuilding_.exchange(true, std::memory_order_acq_rel)) {
    return fail(errc::unsupported, "the guard is being rebuilt already");
  }
  std::uint64_t wanted = wanted_keys();
  result<void> done = read_and_swap(source, wanted);
  // Keys that came meanwhile may be too many; they are in the source now, which is read again.
  constexpr unsigned attempts = 4;
  for (unsigned attempt = 1; attempt < attempts && !done && is_full(done.error()); ++attempt) {
    wanted = larger(wanted);
    done = read_and_swap(source, wanted);
  }
  if (done) {
    counts.rebuilds.add();
  } else {
    end_recording();
    counts.failed_rebuilds.add();
    const write_guard alone(lock_);
    last_error_ = done.error();
  }
  rebuilding_.store(false, std::memory_order_release);
  return done;
}

BLOOMERY_BODY result<void> guard_state::start(std::unique_ptr<background_rebuild> job) noexcept {
  if (is_rebuilding()) return fail(errc::unsupported, "the guard is being rebuilt already");
  thread_.wait();
  job_ = std::move(job);
  thread_.start(
      [](void* context) noexcept {
        auto* self = static_cast<guard_state*>(context);
        auto read = [self](guard_sink& sink) { return self->job_->read(sink); };
        self->job_outcome_ = self->rebuild(read);
        self->job_.reset();
      },
      this);
  return {};
}

BLOOMERY_BODY result<void> guard_state::wait() noexcept {
  thread_.wait();
  return job_outcome_;
}

// ---- figures ----

BLOOMERY_BODY rebuild_reason guard_state::why_rebuild() const noexcept {
  constexpr double doubt = 0.001;
  const read_guard with_others(lock_);
  if (!filtering_) return rebuild_reason::unfiltered;
  const stored_shape shape = filter_->shape();
  if (!filter_->grows() && shape.keys > shape.capacity_keys) return rebuild_reason::overfull;
  const std::uint64_t wrong = counts.false_positives.value() - false_positives_before_;
  const std::uint64_t saved = counts.saved.value() - saved_before_;
  if (wrong != 0 && binomial::lower_bound(wrong, wrong + saved, doubt) > 2 * rule_.target) {
    return rebuild_reason::false_positives;
  }
  return rebuild_reason::none;
}

BLOOMERY_BODY lookup_stats guard_state::stats() const noexcept {
  lookup_stats out{.saved = counts.saved.value(),
                   .remembered = counts.remembered.value(),
                   .confirmed = counts.confirmed.value(),
                   .false_positives = counts.false_positives.value(),
                   .unfiltered = counts.unfiltered.value(),
                   .failed = counts.failed.value(),
                   .inserts = counts.inserts.value(),
                   .removals = counts.removals.value(),
                   .erased = counts.erased.value(),
                   .rebuilds = counts.rebuilds.value(),
                   .failed_rebuilds = counts.failed_rebuilds.value()};
  adaptive_stats reported;
  const read_guard with_others(lock_);
  reports_.add_to(reported);
  out.reports = reported.reports;
  return out;
}

BLOOMERY_BODY void guard_state::collect(metric_sink& to) const noexcept {
  namespace family = metric_families;
  const lookup_stats now = stats();
  to.count(family::lookups, now.saved - std::min(now.saved, now.remembered), {"answer", "saved"});
  to.count(family::lookups, now.remembered, {"answer", "remembered"});
  to.count(family::lookups, now.confirmed, {"answer", "confirmed"});
  to.count(family::lookups, now.false_positives, {"answer", "false_positive"});
  to.count(family::lookups, now.unfiltered, {"answer", "unfiltered"});
  to.count(family::lookups, now.failed, {"answer", "failed"});
  to.value(family::efficiency, now.efficiency());
  to.value(family::measured_fpr, now.measured_fpr());
  to.count(family::inserts, now.inserts);
  to.count(family::removals, now.removals);
  to.count(family::rebuilds, now.rebuilds, {"outcome", "done"});
  to.count(family::rebuilds, now.failed_rebuilds, {"outcome", "failed"});
  to.value(family::filtering, is_filtering() ? 1 : 0);
  to.histogram(family::source_seconds, source_time);
  with_filter([&](const any_filter& filter) { collect_filter(to, filter); });
}

}  // namespace detail

BLOOMERY_BODY result<lookup_guard> lookup_guard::make(std::string_view kind, const filter_params& params,
                                                      const hasher& hash,
                                                      const lookup_guard_options& options) noexcept {
  auto first = any_filter::make(kind, params, hash);
  if (!first) return fail(first.error());
  return over(std::move(*first), params, options);
}

BLOOMERY_BODY result<lookup_guard> lookup_guard::over(any_filter existing, const filter_params& params,
                                                      const lookup_guard_options& options) noexcept {
  auto made = detail::guard_state::make(std::move(existing), params, options);
  if (!made) return fail(made.error());
  return lookup_guard(std::move(*made));
}

}  // namespace bloomery::inline BLOOMERY_ABI
