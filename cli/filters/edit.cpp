#include "cli/filters/edit.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "cli/filters/fullness.hpp"
#include "cli/filters/in_place.hpp"
#include "cli/filters/output.hpp"
#include "cli/filters/shards.hpp"
#include "cli/flags/numbers.hpp"
#include "cli/verbs/verb.hpp"

namespace bloomery::cli {

outcome<filter_edit> filter_edit::open(const options& opts) {
  if (opts.operands().empty()) {
    return fail_usage(fmt::format("give the filter: bloomery {} FILE [KEYFILES]", opts.command().name));
  }
  const std::string& path = opts.operands().front();
  if (path == "-") return fail_usage("standard input cannot be changed in place: give the filter's file");
  if (auto apart = check_not_input(path, std::span(opts.operands()).subspan(1)); !apart) return failed(apart.error());
  return open_file(opts, path);
}

outcome<filter_edit> filter_edit::open_file(const options& opts, const std::string& path) {
  const auto shards = shards_at(path);
  if (!shards) return failed(shards.error());
  auto lock = file_lock::take(first_file(path, *shards));
  if (!lock) return failed(lock.error());
  auto opened = open_locked(opts, path, *shards, lock->file(), true);
  if (!opened) return failed(opened.error());
  return filter_edit(std::move(*lock), std::move(*opened));
}

outcome<digest_stream> filter_edit::keys(const options& opts) const {
  const auto key_hash = hash(opts);
  if (!key_hash) return failed(key_hash.error());
  auto reader = key_reader::make(opts, std::span(opts.operands()).subspan(1), *key_hash);
  if (!reader) return failed(reader.error());
  return digest_stream(std::move(*reader), *key_hash, opened_.filter.digest_bits());
}

outcome<void> filter_edit::save() const {
  if (auto same = lock_.check_path(); !same) return same;
  const save_options how{.codec = opened_.codec, .replace = true};
  const auto saved = formats::save(opened_.filter, *opened_.format, name().c_str(), how, opened_.written);
  if (!saved) return fail_file(name(), saved.error());
  set_in_place(name());
  return {};
}

std::string overfull_text(const any_filter& filter, const filter_stats& stats) {
  const fullness full = fullness_of(filter.kind(), stats);
  if (!stats.target_known && stats.fpr_now > useless_fpr) {  // the file does not store its capacity
    return fmt::format("has a false-positive rate of {}: build it again from its keys with a larger -n",
                       percent(stats.fpr_now));
  }
  if (!full.overfull) return {};
  constexpr double telling_fill = 0.99;  // above it, the number of keys is a guess
  if (!full.countable && stats.fill > telling_fill && !filter.info().grows) {
    return fmt::format(
        "holds far more keys than the {} that it was made for: its false-positive rate is now {}, promised was {}; "
        "build it again with a larger -n",
        with_commas(stats.capacity_keys), percent(stats.fpr_now), percent(stats.target_fpr));
  }
  if (filter.info().grows) {
    return fmt::format("has a false-positive rate of {}, promised was {}; build it again from its keys with -n {}",
                       percent(stats.fpr_now), percent(stats.target_fpr), full.keys);
  }
  return fmt::format(
      "{} {} and was made for {}: its false-positive rate is now {}, promised was {}; build it "
      "again with -n {}",
      stats.loss ? "has taken" : "holds about", number_of(full.taken, "key"), with_commas(stats.capacity_keys),
      percent(stats.fpr_now), percent(stats.target_fpr), full.taken);
}

outcome<void> check_ability(std::string_view name, const any_filter& filter, std::string_view what,
                            bool kind_capabilities::*can) {
  if (filter.capabilities().*can) return {};
  // A filter of another product may be able to do less than our kind of that name: the call states why.
  const kind_entry* ours = find_kind(filter.info().name);
  if (ours != nullptr && ours->capabilities.*can) return {};
  std::string text("is of kind ");
  text.append(filter.info().name).append(", which cannot ").append(what).append("; kinds that can: ");
  return fail_file(name, text.append(kinds_that(can)));
}

}  // namespace bloomery::cli
