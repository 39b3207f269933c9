// bloomery remove: keys out of a filter, for the kinds that can.
#include <fmt/core.h>

#include <array>
#include <nlohmann/json.hpp>

#include "cli/filters/edit.hpp"
#include "cli/filters/fullness.hpp"
#include "cli/filters/output.hpp"
#include "cli/flags/numbers.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/verbs/verb.hpp"

namespace bloomery::cli {
namespace {

struct remove_tally {
  std::uint64_t keys_read = 0;
  std::uint64_t removed = 0;
  [[nodiscard]] std::uint64_t absent() const { return keys_read - removed; }
};

outcome<remove_tally> erase_all(const options& opts, filter_edit& edit) {
  auto stream = edit.keys(opts);
  if (!stream) return failed(stream.error());
  progress line(opts, "removing", stream->reader().total_bytes());
  remove_tally so_far;
  while (true) {
    const auto more = stream->next();
    if (!more) return failed(more.error());
    if (!*more) return so_far;
    const auto erased = edit.filter().erase(as_prehashed(stream->digests64()));
    if (!erased) return fail_file(edit.name(), erased.error());
    so_far.removed += *erased;
    so_far.keys_read += stream->size();
    line.update(stream->reader().bytes_taken(), so_far.keys_read);
  }
}

// Once for a filter, with its first removal: what that means.
void report_loss(const options& opts, const filter_edit& edit, const loss_state& loss, std::uint64_t removals_before) {
  if (removals_before != 0 || loss.removals == 0) return;
  note(opts,
       fmt::format("{}: from its first removal on, this kind may lose keys: of those that are in it, up to {} are "
                   "called absent after {} (the other kinds that erase lose none)",
                   edit.name(), percent(loss.target_rate), number_of(loss.capacity_removals, "removal")));
}

nlohmann::ordered_json removal_as_json(const filter_edit& edit, const remove_tally& counted, const filter_stats& held) {
  nlohmann::ordered_json out{{"file", edit.name()},
                             {"kind", edit.filter().info().name},
                             {"keys_read", counted.keys_read},
                             {"keys_removed", counted.removed},
                             {"keys_absent", counted.absent()},
                             {"keys", held.keys.keys},
                             {"keys_exact", held.keys.exact},
                             {"file_bytes", size_of_file(edit.name())},
                             {"memory_bytes", held.memory_bytes}};
  if (!held.loss) return out;
  out["removals"] = held.loss->removals;
  out["capacity_removals"] = held.loss->capacity_removals;
  out["target_loss"] = held.loss->target_rate;
  out["loss_now"] = held.loss->rate;
  return out;
}

outcome<void> report(const options& opts, const filter_edit& edit, const remove_tally& counted,
                     std::uint64_t removals_before) {
  const auto held = edit.filter().stats();
  if (!held) return fail_file(edit.name(), held.error());
  if (held->loss) report_loss(opts, edit, *held->loss, removals_before);
  if (const std::string advice = loss_advice(*held); !advice.empty()) {
    warn(opts, fmt::format("{}: {}", edit.name(), advice));
  }
  if (!opts.has(flag::json)) {
    std::string text =
        fmt::format("{}: {}, {} read, {} removed, {} absent; holds {}{}", edit.name(), edit.filter().info().name,
                    number_of(counted.keys_read, "key"), with_commas(counted.removed), with_commas(counted.absent()),
                    held->keys.exact ? "" : "about ", number_of(held->keys.keys, "key"));
    if (held->loss) {
      text.append(
          fmt::format("; loss now {}, promised {}", percent(held->loss->rate), percent(held->loss->target_rate)));
    }
    note(opts, text);
    return {};
  }
  output out;
  out.write_json(removal_as_json(edit, counted, *held));
  return out.flush();
}

// Of kinds that may lose keys by their removals.
outcome<std::uint64_t> removals_of(const filter_edit& edit) {
  if (!edit.filter().capabilities().may_lose) return 0;
  const auto stats = edit.filter().stats();
  if (!stats) return fail_file(edit.name(), stats.error());
  return stats->loss ? stats->loss->removals : 0;
}

outcome<int> run_remove(const options& opts) {
  auto edit = filter_edit::open(opts);
  if (!edit) return failed(edit.error());
  if (auto can = check_ability(edit->name(), edit->filter(), "remove keys", &kind_capabilities::erases); !can) {
    return failed(can.error());
  }
  const auto removals_before = removals_of(*edit);
  if (!removals_before) return failed(removals_before.error());
  const auto counted = erase_all(opts, *edit);
  if (!counted) return failed(counted.error());
  if (counted->removed != 0) {
    if (auto saved = edit->save(); !saved) return failed(saved.error());
  }
  if (auto reported = report(opts, *edit, *counted, *removals_before); !reported) return failed(reported.error());
  return counted->absent() == 0 ? 0 : 1;
}

constexpr std::array remove_examples = {
    example{"bloomery remove --u64 ids.bloom gone.txt", "the integers of gone.txt out of the filter"},
    example{"bloomery remove coupons.bloom redeemed.txt", "out of a filter that was built with --kind counting"},
    example{"echo 42 | bloomery remove -q --u64 ids.bloom || echo 'was not in it'", "one key, by exit code"},
};

}  // namespace

const verb remove_verb = {
    .name = "remove",
    .alias = "",
    .bit = on_remove,
    .summary = "remove keys from a filter, for kinds that can",
    .usage = "[OPTIONS] FILE [KEYFILES]",
    .description =
        "Removes the keys in the lines of KEYFILES, or of standard input, from the filter FILE. Its kind must "
        "support erase: 'bloomery kinds' lists those that do. Keys that are definitely absent are skipped; the "
        "others are removed all the same. A line that occurs twice is two removals, and a key that was added "
        "twice to a filter that counts stays until its second removal. Remove only keys that were added: a "
        "filter cannot distinguish a false positive from a key, and removing a false positive may remove keys "
        "that share its cells.\n\n"
        "Kind dual keeps removals in a second filter. From the first removal on it may lose keys: its promised "
        "FPR is then also the share of its keys that it reports as absent. remove warns of that once, and info "
        "shows it.\n\n"
        "FILE is replaced at the end, in the same format and encoding. An error or a signal before that leaves "
        "FILE unchanged. While one process changes FILE, other processes that try to are refused.",
    .examples = remove_examples,
    .exit_codes =
        "0: every key was present; 1: at least one was definitely absent; 2: error, and FILE is unchanged, "
        "unless the message says that it is in place",
    .run = run_remove,
};

}  // namespace bloomery::cli
