#include "cli/dedup/approx.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bloomery/kinds/scalable/chain.hpp>

#include "cli/filters/edit.hpp"
#include "cli/filters/fullness.hpp"
#include "cli/filters/kind_table.hpp"
#include "cli/filters/open.hpp"
#include "cli/flags/numbers.hpp"
#include "cli/terminal/sizes.hpp"

namespace bloomery::cli {
namespace {

constexpr std::string_view fast_filter_kind = "blocked";
constexpr std::string_view small_filter_kind = "bloom";
// The second filter and later ones are not smaller: beside a tiny -n, many tiny filters would only cost time.
constexpr std::uint64_t least_grown_capacity = std::uint64_t{1} << 16U;

struct sized_filter {
  std::string_view kind;
  size_plan plan;
};

// Kind blocked touches one cache line a key. A very low FPR costs it so many bits that kind bloom is the better one;
// the smallest it does not reach.
outcome<sized_filter> size_for(const filter_params& params) {
  constexpr double most_bits_share = 1.25;
  const auto usual = plan_kind(*find_kind(fast_filter_kind)->info, params.sizes());
  const auto compact = plan_kind(*find_kind(small_filter_kind)->info, params.sizes());
  if (!usual && !compact) return fail_parameter(usual.error());
  const bool is_small = usual && (!compact || static_cast<double>(usual->memory_bytes) <=
                                                  most_bits_share * static_cast<double>(compact->memory_bytes) + 4096);
  return is_small ? sized_filter{fast_filter_kind, *usual} : sized_filter{small_filter_kind, *compact};
}

failed does_not_fit(std::uint64_t ceiling_bytes) {
  return fail_text(
      fmt::format("the lines do not fit into {} at this false-positive rate: give a larger -p or more --mem",
                  exact_size(ceiling_bytes)));
}

}  // namespace

outcome<seen_filter> seen_filter::make(const seen_settings& settings) {
  seen_filter made(settings);
  if (auto grown = made.make_room(); !grown) return failed(grown.error());
  return made;
}

outcome<seen_filter> seen_filter::over(any_filter filter, std::string name, const hasher& hash,
                                       std::optional<std::uint64_t> ceiling_bytes) {
  const auto stats = filter.stats();
  if (!stats) return fail_file(name, stats.error());
  if (!stats->target_known) {
    return fail_file(name,
                     "does not store its promised false-positive rate, and any number of lines could be lost: "
                     "give a native filter, or a new name");
  }
  const bool is_bounded = !filter.grows() && !filter.capabilities().expires && !filter.info().exact;
  // A filter that grows, and was never merged, keeps its FPR, whatever its current fill.
  const std::string overfull = is_bounded || !stats->keys.exact ? overfull_text(filter, *stats) : "";
  if (!overfull.empty()) return fail_file(name, fmt::format("lines would be lost: it {}", overfull));
  seen_filter made({.hash = hash, .fpr = stats->target_fpr, .ceiling_bytes = ceiling_bytes});
  made.capacity_ = stats->capacity_keys;
  made.keys_ = stats->keys.exact && !stats->loss ? stats->keys.keys : fullness_of(filter.kind(), *stats).taken;
  if (is_bounded) made.room_ = made.capacity_ - std::min(made.capacity_, made.keys_);
  made.state_name_ = std::move(name);
  made.filters_.push_back(std::move(filter));
  if (auto fits = made.check_ceiling(); !fits) return failed(fits.error());
  return made;
}

outcome<void> seen_filter::make_room() {
  if (!state_name_.empty()) {
    return fail_file(state_name_,
                     fmt::format("is full: it holds {}, as many as it was made for, and with more it would lose more "
                                 "than {} of the new ones: begin a new state with a larger -n",
                                 number_of(keys_, "line"), percent(settings_.fpr)));
  }
  if (!filters_.empty() && !settings_.grows) {
    return fail_text(
        "the input has more lines than it had when they were counted: another process changes it: try again");
  }
  const std::uint64_t least = settings_.ceiling_bytes ? 0 : least_grown_capacity;
  const std::uint64_t capacity = filters_.empty() ? settings_.first_capacity : std::max(2 * capacity_, least);
  const double share = settings_.grows ? blocked_sub_filters::share(filters_.size()) : 1.0;
  const filter_params params{.keys = capacity, .fpr = settings_.fpr * share};
  const auto size = size_for(params);
  if (!size) return failed(size.error());
  if (settings_.ceiling_bytes && memory_bytes_ + size->plan.memory_bytes > *settings_.ceiling_bytes) {
    return does_not_fit(*settings_.ceiling_bytes);
  }
  if (auto fits = check_memory(size->plan.memory_bytes); !fits) return fits;
  auto filter = any_filter::make(size->kind, params, settings_.hash.spec());
  if (!filter) return fail_parameter(filter.error());
  filters_.push_back(std::move(*filter));
  memory_bytes_ += size->plan.memory_bytes;
  capacity_ = capacity;
  room_ = capacity;
  return {};
}

// Of a state, which grows by itself. What it takes is found out by reading it, so not for every batch.
outcome<void> seen_filter::check_ceiling() {
  if (state_name_.empty() || !settings_.ceiling_bytes || keys_ < next_check_) return {};
  const auto stats = filters_.front().stats();
  if (!stats) return fail_file(state_name_, stats.error());
  if (stats->memory_bytes > *settings_.ceiling_bytes) return does_not_fit(*settings_.ceiling_bytes);
  constexpr std::uint64_t least_step = 4096;
  next_check_ = keys_ + std::max(least_step, keys_ / 8);
  return {};
}

outcome<void> seen_filter::look_up(const any_filter& filter, const batch& what, std::size_t first, std::size_t count) {
  mask_.assign(mask_words(count), 0);
  const auto done = filter.may_contain(what.part(filter.digest_bits(), first, count), mask_);
  return done ? outcome<void>{} : outcome<void>(fail_error(done.error()));
}

outcome<std::size_t> seen_filter::add_some(const batch& what, std::size_t first, std::vector<bool>& fresh) {
  const std::size_t end = what.digests.size();
  std::fill(fresh.begin() + static_cast<std::ptrdiff_t>(first), fresh.end(), true);
  for (const any_filter& each : filters_) {
    if (auto done = look_up(each, what, first, end - first); !done) return failed(done.error());
    for (std::size_t i = first; i < end; ++i) {
      if (bit_of(mask_, i - first)) fresh[i] = false;
    }
  }
  // The look-ups have loaded the cache lines. One by one, because a key may come twice among these.
  any_filter& last = filters_.back();
  for (std::size_t i = first; i < end; ++i) {
    if (!fresh[i]) continue;
    // Some kinds of a state take a key as often as it comes.
    if (is_full() || !state_name_.empty()) {
      if (auto done = look_up(last, what, i, 1); !done) return failed(done.error());
      fresh[i] = !bit_of(mask_, 0);
      if (!fresh[i]) continue;
    }
    if (is_full()) {
      if (auto grown = make_room(); !grown) return failed(grown.error());
      return i;
    }
    const auto changed = last.add(what.part(last.digest_bits(), i, 1));
    if (!changed) return state_name_.empty() ? fail_error(changed.error()) : fail_file(state_name_, changed.error());
    fresh[i] = *changed != 0;
    if (room_) *room_ -= *changed;
    keys_ += *changed;
  }
  return end;
}

outcome<void> seen_filter::add(std::span<const std::string_view> keys, std::span<const std::uint64_t> digests,
                               std::vector<bool>& fresh) {
  fresh.assign(keys.size(), true);
  digests128_.clear();
  for (std::size_t at = 0; at < keys.size();) {
    if (filters_.back().digest_bits() == 128 && digests128_.empty()) {
      digests128_.resize(keys.size());
      settings_.hash.digests128(keys, digests128_);
    }
    const auto stopped = add_some({digests, digests128_}, at, fresh);
    if (!stopped) return failed(stopped.error());
    at = *stopped;
  }
  return check_ceiling();
}

outcome<double> seen_filter::fpr_now() const {
  double none = 1;  // that no filter is mistaken
  for (const any_filter& each : filters_) {
    const auto stats = each.stats();
    if (!stats) return fail_error(stats.error());
    none *= 1 - stats->fpr_now;
  }
  return 1 - none;
}

}  // namespace bloomery::cli
