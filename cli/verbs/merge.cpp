// bloomery merge: one filter out of several.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <vector>

#include "cli/filters/edit.hpp"
#include "cli/filters/fullness.hpp"
#include "cli/filters/open.hpp"
#include "cli/filters/output.hpp"
#include "cli/filters/shards.hpp"
#include "cli/flags/format_choice.hpp"
#include "cli/flags/numbers.hpp"
#include "cli/terminal/json_values.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/output.hpp"
#include "cli/verbs/verb.hpp"

namespace bloomery::cli {
namespace {

struct merged {
  any_filter filter;
  const formats::format* format = nullptr;  // of the first
  std::vector<std::string> names{};
  std::vector<std::uint64_t> factors{};  // by which each was folded; 1: not at all
  std::optional<overlap> common{};       // of an intersection: its keys, where that is not known exactly

  // For messages about what is there before the next one.
  [[nodiscard]] std::string name() const { return names.size() == 1 ? names.front() : "the filters before it"; }
};

std::string hash_text(const hash_spec& hash) {
  const hash_info* info = find_hash(hash.id);
  return fmt::format("{} seed {}", info == nullptr ? std::string_view("?") : info->name, hash.seed);
}

// With which options a filter that is built again can be merged with the first.
std::string options_like(const std::string& first, const any_filter& filter, const opened_filter& next) {
  if (!filter.capabilities().is_static && filter.shards() == 0 && next.format->is_native()) {
    return fmt::format("--like {}", first);
  }
  const hash_info* info = find_hash(filter.hash().id);
  return fmt::format("--hash {} --seed {}", info == nullptr ? std::string_view("?") : info->name, filter.hash().seed);
}

// Sets of other digests have nothing in common, whatever their bits.
outcome<void> check_same_keys(const merged& so_far, const opened_filter& next) {
  const std::string& first = so_far.names.front();
  const any_filter& filter = so_far.filter;
  const bool both_ours = so_far.format->is_native() && next.format->is_native();
  if (filter.info().id != next.filter.info().id && !both_ours) {
    return fail_text(fmt::format("{} is in format {}, {} in format {}: only filters of one product can be merged",
                                 first, so_far.format->name, next.name, next.format->name));
  }
  if (filter.info().id != next.filter.info().id) {
    return fail_text(fmt::format("{} is of kind {}, {} of kind {}: only filters of one kind can be merged", first,
                                 filter.info().name, next.name, next.filter.info().name));
  }
  if (filter.shards() != next.filter.shards()) {
    const auto layout_text = [](unsigned shards) { return shards == 0 ? "one file" : number_of(shards, "shard"); };
    return fail_text(fmt::format("{} is in {}, {} in {}: only filters in as many shards can be merged", first,
                                 layout_text(filter.shards()), next.name, layout_text(next.filter.shards())));
  }
  const hash_spec& a = filter.hash();
  const hash_spec& b = next.filter.hash();
  if (a.id != b.id || a.seed != b.seed) {
    return fail_text(
        fmt::format("{} was built with {}, {} with {}: only filters of one hash and seed can be merged; "
                    "build one of them again with {}",
                    first, hash_text(a), next.name, hash_text(b), options_like(first, filter, next)));
  }
  if (a.key_id != b.key_id) {
    return fail_text(
        fmt::format("{} was built with secret key {:016x}, {} with {:016x}: only filters of one secret key "
                    "can be merged",
                    first, a.key_id, next.name, b.key_id));
  }
  return {};
}

// "1,024 blocks"
std::string size_text(const any_filter& filter, std::uint64_t units) {
  for (const fact& each : filter.facts()) {
    if (each.value == fact_value(filter.fold_units())) return fmt::format("{} {}", with_commas(units), each.label);
  }
  return with_commas(units);
}

failed refuse_sizes(const merged& so_far, const opened_filter& next) {
  const std::uint64_t common = std::gcd(so_far.filter.fold_units(), next.filter.fold_units());
  return fail_text(
      fmt::format("{} has {}, {} has {}: folded to the largest size that divides both, {}, the result would "
                  "be too full to be useful; build them with the same -n and -p",
                  so_far.name(), size_text(so_far.filter, so_far.filter.fold_units()), next.name,
                  size_text(next.filter, next.filter.fold_units()), with_commas(common)));
}

// The library reports what differs; here are the values, of filters of the same size.
failed refuse_shapes(const std::string& name, const any_filter& one, const std::string& other_name,
                     const any_filter& other, const error& why) {
  std::string text = fmt::format("{} and {}: {}", name, other_name, text_of(why));
  const fact_list theirs = other.facts();
  const auto value = [](const fact& source) {
    return source.value.holds() == fact_value::type::text ? std::string(source.value.text())
                                                          : with_commas(source.value.integer());
  };
  for (const fact& ours : one.facts()) {
    const fact* same = theirs.find(ours.name);
    if (same == nullptr || same->value == ours.value) continue;
    text.append(fmt::format("; {} {} and {}", ours.label, value(ours), value(*same)));
    if (ours.name == "layout") text.append(fmt::format("; build one of them again with --layout {}", value(ours)));
  }
  return fail_text(std::move(text));
}

// Of more than two filters the number is an upper bound (core/overlap.hpp), and so is that of any of them.
overlap least(const std::optional<overlap>& before, const overlap& now) {
  if (!before) return now;
  return {.keys = std::min(before->keys, now.keys), .low = 0, .high = std::min(before->high, now.high)};
}

result<void> intersect(merged& so_far, any_filter& into, const any_filter& other) {
  const auto ours = into.stats();
  if (!ours) return fail(ours.error());
  const auto theirs = other.stats();
  if (!theirs) return fail(theirs.error());
  if (auto done = into.intersect(other); !done) return done;
  const auto both = into.stats();
  if (!both) return fail(both.error());
  if (both->cells.cells != 0) {
    so_far.common = least(so_far.common, estimate_overlap(both->cells, ours->fill, theirs->fill, both->fill));
  }
  return {};
}

result<void> combine(const options& opts, merged& so_far, any_filter& into, const any_filter& other) {
  if (opts.has(flag::intersect)) return intersect(so_far, into, other);
  return into.merge(other, opts.has(flag::any_fpr) ? merge_fpr::any : merge_fpr::keep_target);
}

failed refuse(const merged& so_far, const any_filter& ours, const opened_filter& next, const any_filter& theirs,
              const error& why) {
  if (why.code == errc::mismatch) return refuse_shapes(so_far.names.front(), ours, next.name, theirs, why);
  return fail_file(next.name, why);
}

// Filters of other sizes: both become as large as the largest size that divides both. What the smaller one promised
// holds for the result, if it was not folded itself.
outcome<void> join_folded(const options& opts, merged& so_far, const opened_filter& next) {
  const std::uint64_t common = std::gcd(so_far.filter.fold_units(), next.filter.fold_units());
  const std::uint64_t our_factor = so_far.filter.fold_units() / common;
  const std::uint64_t their_factor = next.filter.fold_units() / common;
  auto ours = so_far.filter.fold(our_factor);
  auto theirs = next.filter.fold(their_factor);
  for (const auto* folded : {&ours, &theirs}) {
    if (*folded) continue;
    if (folded->error().code == errc::cannot_fold) return refuse_sizes(so_far, next);
    return fail_file(folded == &theirs ? next.name : so_far.name(), folded->error());
  }
  any_filter& into = their_factor == 1 ? *theirs : *ours;
  any_filter& from = their_factor == 1 ? *ours : *theirs;
  if (auto done = combine(opts, so_far, into, from); !done) return refuse(so_far, *ours, next, *theirs, done.error());
  const auto stats = into.stats();
  if (!stats) return fail_error(stats.error());
  if (stats->fpr_now > useless_fpr) return refuse_sizes(so_far, next);
  so_far.filter = std::move(into);
  for (std::uint64_t& factor : so_far.factors) factor *= our_factor;
  so_far.names.push_back(next.name);
  so_far.factors.push_back(their_factor);
  return {};
}

// Whether they are of one layout, and what else a kind calls by a word.
bool have_same_layout(const any_filter& one, const any_filter& other) {
  const fact_list ours = one.facts();
  const fact_list theirs = other.facts();
  return std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end(),
                    [](const fact& a, const fact& b) { return a.value.text() == b.value.text(); });
}

outcome<void> join(const options& opts, merged& so_far, const opened_filter& next) {
  if (auto same = check_same_keys(so_far, next); !same) return same;
  const std::uint64_t ours = so_far.filter.fold_units();
  const std::uint64_t theirs = next.filter.fold_units();
  if (ours != theirs && ours != 0 && theirs != 0 && have_same_layout(so_far.filter, next.filter)) {
    return join_folded(opts, so_far, next);
  }
  if (auto done = combine(opts, so_far, so_far.filter, next.filter); !done) {
    return refuse(so_far, so_far.filter, next, next.filter, done.error());
  }
  so_far.names.push_back(next.name);
  so_far.factors.push_back(1);
  return {};
}

// Another product's filters are merged into one of theirs; native ones become a native file, in text or not, as
// requested.
const formats::format* kept_format(const formats::format& first) { return first.is_native() ? nullptr : &first; }

// The output, where it is an input as well: what is added to it meanwhile would be lost.
struct locked_input {
  file_lock lock;
  const std::string* path;  // among the operands
  unsigned shards;          // of a set its first file is locked
};

// One after the other, so that no more than two are in memory.
outcome<merged> merge_all(const options& opts, const std::optional<locked_input>& locked) {
  std::optional<merged> so_far;
  for (const std::string& path : opts.operands()) {
    const bool is_locked = locked && &path == locked->path;
    auto next =
        is_locked ? open_locked(opts, path, locked->shards, locked->lock.file(), false) : open_filter(opts, path);
    if (!next) return failed(next.error());
    if (so_far) {
      if (auto joined = join(opts, *so_far, *next); !joined) return failed(joined.error());
      continue;
    }
    if (auto can = check_ability(next->name, next->filter, "be merged", &kind_capabilities::merges); !can) {
      return failed(can.error());
    }
    const formats::format& to = output_format(opts, kept_format(*next->format));
    if (!formats::holds(to, next->filter)) return cannot_become(next->name, next->filter, *next->format, to);
    if (auto fitting = check_parameters(opts, to); !fitting) return failed(fitting.error());
    auto own = next->filter.is_mapped() ? next->filter.clone() : result<any_filter>(std::move(next->filter));
    if (!own) return fail_file(next->name, own.error());
    so_far = merged{std::move(*own), next->format, {next->name}, {1}};
  }
  return std::move(*so_far);
}

struct whole_overlap {
  std::uint64_t keys, low, high;
  explicit whole_overlap(const overlap& source)
      : keys(static_cast<std::uint64_t>(source.keys + 0.5)),
        low(static_cast<std::uint64_t>(source.low)),
        high(static_cast<std::uint64_t>(std::ceil(std::min(source.high, static_cast<double>(max_keys))))) {}
};

// "about 1,010 keys (872 to 1,149)"
std::string keys_text(const merged& made, const filter_stats& stats) {
  if (!made.common) {
    return fmt::format("{}{}", made.filter.info().exact ? "" : "about ",
                       number_of(fullness_of(made.filter.kind(), stats).keys, "key"));
  }
  const whole_overlap common(*made.common);
  if (made.names.size() > 2) return fmt::format("at most about {}", number_of(common.high, "key"));
  return fmt::format("about {} ({} to {})", number_of(common.keys, "key"), with_commas(common.low),
                     with_commas(common.high));
}

std::string summary(const options& opts, const merged& made, const filter_stats& stats) {
  const std::uint64_t file_bytes = size_of_file(opts.text(flag::output));
  const unsigned shards = made.filter.shards();
  std::string out = fmt::format("{}: {} of {}, {}{}, {}, {}", opts.text(flag::output),
                                opts.has(flag::intersect) ? "intersection" : "union",
                                number_of(made.names.size(), "filter"), made.filter.info().name,
                                shards == 0 ? std::string() : fmt::format(" in {}", number_of(shards, "shard")),
                                keys_text(made, stats), exact_size(file_bytes == 0 ? stats.memory_bytes : file_bytes));
  if (!made.filter.info().exact) {
    out.append(
        fmt::format("; fill {}; FPR now {}, {}", percent(stats.fill), percent(stats.fpr_now), target_fpr_text(stats)));
    if (stats.target_known) out.append(fmt::format(" at {}", number_of(stats.capacity_keys, "key")));
  }
  return out;
}

nlohmann::ordered_json as_json(const options& opts, const merged& made, const filter_stats& stats) {
  auto out = nlohmann::ordered_json::object();
  out["file"] = opts.text(flag::output);
  out["operation"] = opts.has(flag::intersect) ? "intersection" : "union";
  out["inputs"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < made.names.size(); ++i) {
    out["inputs"].push_back({{"file", made.names[i]}, {"folded", made.factors[i]}});
  }
  out["format"] = output_format(opts, kept_format(*made.format)).name;
  out["kind"] = made.filter.info().name;
  if (made.filter.shards() != 0) out["shards"] = made.filter.shards();
  if (made.common) {
    const whole_overlap common(*made.common);
    out["keys"] = common.keys;
    out["keys_low"] = common.low;
    out["keys_high"] = common.high;
  } else {
    out["keys"] = fullness_of(made.filter.kind(), stats).keys;
  }
  out["keys_exact"] = made.filter.info().exact;
  out["capacity_keys"] = capacity_of(made.filter, stats);
  out["file_bytes"] = size_of_file(opts.text(flag::output));
  out["memory_bytes"] = stats.memory_bytes;
  out["target_fpr"] = target_fpr_of(stats);
  out["fpr_now"] = stats.fpr_now;
  out["fill"] = stats.fill;
  return out;
}

outcome<void> check_inputs(const options& opts) {
  if (opts.operands().empty()) return fail_usage("give the filters to merge: bloomery merge -o FILE FILTERS");
  if (std::count(opts.operands().begin(), opts.operands().end(), "-") > 1) {
    return fail_usage("standard input holds one filter: give - once");
  }
  const auto shards = shards_at(opts.operands().front());
  if (!shards) return failed(shards.error());
  return check_output(opts, *shards);
}

outcome<std::optional<locked_input>> lock_output(const options& opts) {
  const std::string path(opts.text(flag::output));
  for (const std::string& input : opts.operands()) {
    const auto shards = shards_at(input);
    if (!shards) return failed(shards.error());
    const std::string first = first_file(path, *shards);
    if (path == "-" || input == "-" || !is_same_file(first, first_file(input, *shards))) continue;
    auto lock = file_lock::take(first);
    if (!lock) return failed(lock.error());
    return std::optional(locked_input{std::move(*lock), &input, *shards});
  }
  return std::optional<locked_input>();
}

outcome<int> run_merge(const options& opts) {
  if (auto possible = check_inputs(opts); !possible) return failed(possible.error());
  const auto locked = lock_output(opts);
  if (!locked) return failed(locked.error());
  const auto made = merge_all(opts, *locked);
  if (!made) return failed(made.error());
  const auto stats = made->filter.stats();
  if (!stats) return fail_error(stats.error());
  if (*locked) {
    if (auto same = (*locked)->lock.check_path(); !same) return failed(same.error());
  }
  if (auto saved = save_filter(opts, made->filter, kept_format(*made->format)); !saved) return failed(saved.error());
  for (std::size_t i = 0; i < made->names.size(); ++i) {
    if (made->factors[i] != 1)
      note(opts, fmt::format("folded {} {} times", made->names[i], with_commas(made->factors[i])));
  }
  const std::string overfull = overfull_text(made->filter, *stats);
  if (!overfull.empty()) warn(opts, fmt::format("{}: {}", opts.text(flag::output), overfull));
  if (opts.has(flag::json)) {
    output out;
    out.write_json(as_json(opts, *made, *stats));
    if (auto done = out.flush(); !done) return failed(done.error());
  } else {
    note(opts, summary(opts, *made, *stats));
  }
  return 0;
}

constexpr std::array merge_examples = {
    example{"bloomery merge -o week.bloom mon.bloom tue.bloom wed.bloom", "what is in any of them"},
    example{"bloomery merge --intersect -o both.bloom a.bloom b.bloom", "what may be in both"},
    example{"bloomery merge --force -o all.bloom all.bloom new.bloom", "new.bloom into all.bloom"},
    example{"bloomery merge --compress zstd -o copy.bloom f.bloom", "a checked copy, compressed"},
};

}  // namespace

const verb merge_verb = {
    .name = "merge",
    .alias = "join",
    .bit = on_merge,
    .summary = "merge filters into one",
    .usage = "-o FILE [OPTIONS] FILTERS",
    .description =
        "Writes the union of the filters to FILE: it matches every key of each of them. With --intersect it "
        "matches every key that is in all of them, and fewer others than each; the number of common keys is "
        "estimated, with an interval that contains the true number in 95 of 100 cases (for more than two "
        "filters, an upper bound). The filters must be of one kind and built with one hash, seed and secret "
        "key.\n\n"
        "Filters of kinds that fold may differ in size: the larger ones are folded to the largest size that "
        "divides all sizes. A folded filter is as full as one that was built at the smaller size. If the result "
        "would match nearly every key, or the kind cannot fold, the merge is refused. merge prints the "
        "false-positive rate (FPR) of the result, with a warning if it is above the promised FPR. Filters of "
        "kind growing merge whatever their sizes; their FPRs add up, and a result above the promised FPR is "
        "refused without --any-fpr.\n\n"
        "Filters in shards are merged shard by shard; all must have the same number of shards. Every input is "
        "checked completely. FILE appears complete or not at all; with --force it may be one of the inputs.",
    .examples = merge_examples,
    .exit_codes =
        "0: merged; 1: merged, with a warning and --strict; 2: error, and FILE is unchanged, unless the message "
        "says that it is in place",
    .run = run_merge,
};

}  // namespace bloomery::cli
