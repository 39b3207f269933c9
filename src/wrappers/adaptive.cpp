#include <algorithm>
#include <bit>
#include <bloomery/wrappers/adaptive/engine.hpp>
#include <cmath>
#include <cstring>

namespace bloomery::inline BLOOMERY_ABI::detail {

// ---- sub-filters ----

BLOOMERY_BODY adaptive_rule::adaptive_rule(const filter_params& like, const filter_hash& hash,
                                           adaptive_maker maker) noexcept
    : like_(like), hash_(hash), maker_(maker) {
  const auto copy = [](std::string_view from, name& to) {
    std::copy_n(from.data(), std::min(from.size(), to.size() - 1), to.data());
  };
  copy(like.layout, layout_);
  copy(like.mode, mode_);
}

BLOOMERY_BODY result<any_filter> adaptive_rule::make(std::string_view kind, std::uint64_t keys,
                                                     double fpr) const noexcept {
  filter_params params = like_;
  params.keys = keys;
  params.fpr = fpr;
  params.bits.reset();
  params.hashes.reset();
  params.bits_per_key.reset();
  params.memory_bytes.reset();
  params.layout = layout_.data();
  params.mode = mode_.data();
  return maker_(kind, params, hash_);
}

BLOOMERY_BODY result<any_filter> adaptive_rule::next(const filter_chain<adaptive_rule>& chain) const noexcept {
  const auto number = static_cast<double>(chain.size());
  const std::uint64_t keys = larger(chain.sum([](const any_filter& each) { return keys_in(each); }));
  return make(chain.newest().info().name, keys, 0.55 * target / (number * number));
}

BLOOMERY_BODY bool adaptive_rule::contains(const any_filter& in, const digest_pair& pair) const noexcept {
  if (in.digest_bits() == 64) return contains(in, pair.digest);
  std::uint64_t mask = 0;
  return in.model().may_contain(std::span<const digest128>(&pair.wide, 1), {&mask, 1}) && (mask & 1U) != 0;
}

BLOOMERY_BODY std::uint64_t keys_in(const any_filter& filter) noexcept {
  const stored_shape shape = filter.shape();
  if (shape.keys_exact) return shape.keys;
  const auto stats = filter.stats();
  return stats ? std::max(shape.keys, static_cast<std::uint64_t>(stats->estimated_keys + 0.5)) : shape.keys;
}

BLOOMERY_BODY void distinct_estimate::add(std::uint64_t digest) noexcept {
  const std::uint64_t mixed = mix64(digest + 0x9e3779b97f4a7c15ULL);
  const auto run = static_cast<std::uint8_t>(std::countl_zero(mixed << 11U | 1024U) + 1);
  std::uint8_t& longest = longest_[mixed >> 53U];
  if (run > longest) longest = run;
}

BLOOMERY_BODY std::uint64_t distinct_estimate::count() const noexcept {
  constexpr double groups = 2048;
  double sum = 0;
  double empty = 0;
  for (const std::uint8_t run : longest_) {
    sum += std::ldexp(1.0, -static_cast<int>(run));
    empty += run == 0 ? 1 : 0;
  }
  const double estimate = 0.7213 / (1 + 1.079 / groups) * groups * groups / sum;
  const bool few = estimate < 2.5 * groups && empty > 0;
  return static_cast<std::uint64_t>(few ? groups * std::log(groups / empty) : estimate);
}

BLOOMERY_BODY insert_result set_writer::put(const digest128& digest) const noexcept {
  const std::span<const digest128> one(&digest, 1);
  std::uint64_t mask = 0;
  if (checks_first && into.may_contain(one, {&mask, 1}) && mask != 0) return insert_result::present;
  mask = 0;
  const auto done = into.insert(one, {&mask, 1});
  if (!done || done->taken == 0) return insert_result::full;
  return mask != 0 ? insert_result::inserted : insert_result::present;
}

BLOOMERY_BODY void adaptive_filling::flush() noexcept {
  const auto digests = std::span<const std::uint64_t>(waiting_).first(std::exchange(waits_, 0));
  if (full_ || digests.empty()) return;
  if (!into_.checks_first) {
    full_ = !into_.into.add(digests);
    return;
  }
  // The batch has the memory in the cache for what follows.
  std::array<std::uint64_t, mask_words(256)> found{};
  static_cast<void>(into_.into.may_contain(digests, found));
  for (std::size_t i = 0; i < digests.size() && !full_; ++i) {
    if ((found[i / 64] >> (i % 64) & 1U) == 0) full_ = into_.put(digests[i]) == insert_result::full;
  }
}

// ---- the engine ----

BLOOMERY_BODY result<adaptive_engine> adaptive_engine::start(any_filter first, std::optional<double> target,
                                                             const filter_params& params,
                                                             const adaptive_options& options, const filter_hash& hash,
                                                             adaptive_maker maker) noexcept {
  if (options.report_bytes != 0 && options.report_bytes < recent_keys::min_limit_bytes) {
    return fail(errc::bad_memory, {}, {options.report_bytes, recent_keys::min_limit_bytes});
  }
  adaptive_rule rule(params, hash, maker);
  rule.target = target.value_or(first.shape().fpr);
  adaptive_engine self(rule, options, params.memory);
  if (auto room = self.sub_filters_.reserve(1); !room) return fail(room.error());
  self.checks_first_ = first.capabilities().erases;  // such kinds store copies of a key
  self.sub_filters_.push(std::move(first));
  self.see_sub_filters();
  return self;
}

BLOOMERY_BODY void adaptive_engine::see_sub_filters() noexcept {
  const stored_shape newest = sub_filters_.newest().shape();
  newest_capacity_ = newest.capacity_keys;
  room_ = newest_capacity_ - std::min(newest_capacity_, newest.keys);
  any_wide_ = std::any_of(sub_filters_.begin(), sub_filters_.end(),
                          [](const any_filter& each) { return each.digest_bits() == 128; });
}

BLOOMERY_BODY bool adaptive_engine::is_closed() noexcept {
  if (room_ == 0) see_sub_filters();  // what was inserted need not have been counted
  return room_ == 0;
}

BLOOMERY_BODY void adaptive_engine::clear() noexcept {
  sub_filters_.clear();
  reports_.list().clear();
  reports_.start_observing();
  since_check_ = next_reading_ = 0;
  see_sub_filters();
}

BLOOMERY_BODY key_count adaptive_engine::keys() const noexcept {
  key_count all;
  for (const any_filter& each : sub_filters_) {
    const stored_shape shape = each.shape();
    all.keys += shape.keys;
    all.exact = all.exact && shape.keys_exact;
  }
  return all;
}

BLOOMERY_BODY double adaptive_engine::fpr_now() const noexcept {
  return sub_filters_.joint_fpr([](const any_filter& each) {
    const auto stats = each.stats();
    return stats ? stats->fpr_now : 1.0;
  });
}

BLOOMERY_BODY result<void> adaptive_engine::save(const char* path, const save_options& options) const noexcept {
  if (sub_filters_.size() == 1) return sub_filters_[0].save(path, options);
  return fail(errc::unsupported, "a filter in several sub-filters is not saved: set a source and rebuild it");
}

// ---- growth and checks ----

BLOOMERY_BODY std::uint64_t adaptive_engine::interval() const noexcept {
  const std::uint64_t wanted = options_.check_every == 0 ? adaptive_options{}.check_every : options_.check_every;
  return std::min(wanted, std::max<std::uint64_t>(64, newest_capacity_ / 8));
}

BLOOMERY_BODY bool adaptive_engine::note(const result<void>& tried) noexcept {
  last_error_.reset();
  if (tried) return true;
  last_error_ = tried.error();
  ++stats_.failures;
  try_again_at_ = stats_.adds + interval();
  return false;
}

BLOOMERY_BODY result<void> adaptive_engine::grow() noexcept {
  if (sub_filters_.size() == adaptive_rule::most) return fail(errc::full, {}, {count()});
  if (auto done = sub_filters_.grow(); !done) return done;
  ++stats_.growths;
  next_reading_ = 0;
  see_sub_filters();
  return {};
}

// One sub-filter for this many keys, or more if the source has more, with the keys of the source and of the call in it.
// After an error the sub-filters are as they were.
BLOOMERY_BODY result<void> adaptive_engine::rebuild_for(std::uint64_t keys_wanted, const adaptive_keys& keys,
                                                        std::size_t so_far, const adaptive_source& source) noexcept {
  if (!source) return fail(errc::unsupported, "there is no source of keys to rebuild the filter from: set one");
  constexpr unsigned attempts = 4;  // a source may have more keys than the filter, and get more meanwhile
  for (unsigned attempt = 0; attempt < attempts; ++attempt) {
    auto made = sub_filters_.rule().make(sub_filters_.newest().info().name, keys_wanted, target_fpr());
    if (!made) return fail(made.error());
    adaptive_filling into(*made, checks_first_, reports_.list());
    if (auto all = source(into); !all) return all;
    if (so_far != 0) keys.replay(so_far, into);
    into.flush();
    const stored_shape shape = made->shape();
    if (into.is_full() || shape.keys > shape.capacity_keys) {
      keys_wanted = larger(std::max(keys_wanted, into.different()));
      continue;
    }
    sub_filters_.shrink(0);
    sub_filters_.push(std::move(*made));
    ++stats_.rebuilds;
    next_reading_ = 0;
    reports_.start_observing();
    see_sub_filters();
    return {};
  }
  return fail(errc::full, {}, {count()});
}

BLOOMERY_BODY bool adaptive_engine::is_above_by_fill(bool read_fill) noexcept {
  const stored_shape newest = sub_filters_.newest().shape();
  if (!read_fill && ((newest.keys_exact && newest.keys <= newest.capacity_keys) || newest.keys < next_reading_)) {
    return false;
  }
  next_reading_ = newest.keys + newest.capacity_keys / 64;
  ++stats_.readings;
  return fpr_now() > 2 * target_fpr();
}

BLOOMERY_BODY result<adaptation> adaptive_engine::check_with(const adaptive_keys& keys, std::size_t so_far,
                                                             const adaptive_source& source, bool read_fill) noexcept {
  since_check_ = 0;
  ++stats_.checks;
  const std::uint64_t capacity = capacity_keys();
  std::uint64_t wanted = 0;
  if (source && is_above_by_fill(read_fill)) {
    wanted = larger(count());
  } else if (reports_.are_above(2 * target_fpr())) {
    if (!source) {
      return fail(errc::unsupported,
                  "false positives are above twice the target, and there is no source of keys to rebuild from");
    }
    wanted = std::min(larger(capacity), 4 * count());
    if (wanted <= capacity) {
      return fail(errc::unsupported,
                  "false positives are above twice the target in a filter with room: use another hash, or a keyed one");
    }
  } else if (const stored_shape newest = sub_filters_.newest().shape(); !source && newest.keys > newest.capacity_keys) {
    if (auto grown = grow(); !grown) return fail(grown.error());
    return adaptation::grown;
  }
  if (wanted == 0) return adaptation::none;
  if (auto done = rebuild_for(wanted, keys, so_far, source); !done) return fail(done.error());
  return adaptation::rebuilt;
}

BLOOMERY_BODY void adaptive_engine::check_if_due(const adaptive_keys& keys, std::size_t so_far,
                                                 const adaptive_source& source) noexcept {
  if (options_.check_every == 0 || since_check_ < interval()) return;
  const auto done = check_with(keys, so_far, source, false);
  if (!done) {
    note(fail(done.error()));
  } else if (*done != adaptation::none) {
    last_error_.reset();
  }
}

// ---- inserting ----

BLOOMERY_BODY insert_result adaptive_engine::put_into_newest(const adaptive_keys& keys, std::size_t index,
                                                             std::uint64_t digest) noexcept {
  any_filter& newest = sub_filters_.newest();
  const set_writer into{newest.model(), checks_first_};
  const bool wide = any_wide_ && newest.digest_bits() == 128 && keys.wide;
  const insert_result done = wide ? into.put(keys.wide(index)) : into.put(digest);
  if (done == insert_result::inserted && room_ != 0) --room_;
  return done;
}

BLOOMERY_BODY insert_result adaptive_engine::put(const adaptive_keys& keys, std::size_t index, std::uint64_t digest,
                                                 const adaptive_source& source) noexcept {
  // What another sub-filter may hold is there. The newest detects it by itself, unless it is closed.
  const bool closed = !source && is_closed();
  if (closed || sub_filters_.size() > 1) {
    const bool there = any_wide_ && keys.wide ? contains(digest, [&] { return keys.wide(index); }) : contains(digest);
    if (there) return insert_result::present;
  }
  if (closed && may_try()) note(grow());
  const insert_result done = put_into_newest(keys, index, digest);
  if (done != insert_result::full || !may_try()) return done;
  const std::uint64_t wanted = larger(std::max(count(), capacity_keys()));
  if (!note(source ? rebuild_for(wanted, keys, index + 1, source) : grow())) return done;
  return put_into_newest(keys, index, digest) == insert_result::full ? insert_result::full : insert_result::inserted;
}

BLOOMERY_BODY insert_result adaptive_engine::add(const adaptive_keys& keys, std::size_t index, std::uint64_t digest,
                                                 const adaptive_source& source) noexcept {
  ++stats_.adds;
  ++since_check_;
  reports_.list().erase(digest);
  const insert_result done = put(keys, index, digest, source);
  check_if_due(keys, index + 1, source);
  return done;
}

BLOOMERY_BODY std::size_t adaptive_engine::add_at_once(std::span<const std::uint64_t> digests, bool has_source,
                                                       guarded_outcome& all) noexcept {
  if (checks_first_ || sub_filters_.size() != 1 || any_wide_) return 0;
  if (!has_source && (is_closed() || digests.size() > room_)) return 0;
  const std::uint64_t before = sub_filters_.newest().shape().keys;
  const auto added = sub_filters_.newest().model().add(digests);
  // How many were new before the first that does not fit, the filter has counted.
  const std::size_t taken =
      added ? digests.size() : to_size(std::min<std::uint64_t>(added.error().number[1], digests.size()));
  const std::uint64_t inserted = added ? *added : sub_filters_.newest().shape().keys - before;
  all.inserted += inserted;
  room_ -= std::min(room_, inserted);
  stats_.adds += taken;
  since_check_ += taken;
  if (reports_.list().size() != 0) {
    for (const std::uint64_t digest : digests.first(taken)) reports_.list().erase(digest);
  }
  return taken;
}

BLOOMERY_BODY guarded_outcome adaptive_engine::add_batch(const adaptive_keys& keys,
                                                         const adaptive_source& source) noexcept {
  guarded_outcome all;
  std::array<std::uint64_t, group> room;
  std::array<std::uint64_t, mask_words(group)> ignored;
  for (std::size_t first = 0, size = 0; first < keys.size; first += size) {
    const std::uint64_t until_check = std::max(interval(), since_check_ + 1) - since_check_;
    size = to_size(std::min<std::uint64_t>({group, keys.size - first, until_check}));
    keys.digests(first, size, room.data());
    const auto digests = std::span<const std::uint64_t>(room).first(size);
    std::size_t done = add_at_once(digests, static_cast<bool>(source), all);
    if (done == size) {
      check_if_due(keys, first + size, source);
      continue;
    }
    // One by one; the batch has the memory of the newest in the cache.
    sub_filters_.rule().contains_batch(sub_filters_.newest(), digests.subspan(done), ignored);
    for (; done < size; ++done) {
      const insert_result one = add(keys, first + done, digests[done], source);
      all.inserted += one == insert_result::inserted ? 1U : 0U;
      all.refused += one == insert_result::full ? 1U : 0U;
    }
  }
  return all;
}

BLOOMERY_BODY void adaptive_engine::query(std::span<const std::uint64_t> digests,
                                          const function_ref<digest128(std::size_t)>& wide,
                                          std::uint64_t* mask) const noexcept {
  if (!any_wide_ || !wide) return sub_filters_.may_contain_batch(digests, {mask, mask_words(digests.size())});
  std::array<digest_pair, group> pairs;
  for (std::size_t i = 0; i < digests.size(); ++i) pairs[i] = {digests[i], wide(i)};
  sub_filters_.may_contain_batch(std::span<const digest_pair>(pairs).first(digests.size()),
                                 {mask, mask_words(digests.size())});
}

}  // namespace bloomery::inline BLOOMERY_ABI::detail
