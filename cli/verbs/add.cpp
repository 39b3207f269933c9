// bloomery add: more keys into a filter that is there.
#include <fmt/core.h>

#include <array>
#include <nlohmann/json.hpp>

#include "cli/filters/edit.hpp"
#include "cli/filters/fullness.hpp"
#include "cli/filters/output.hpp"
#include "cli/flags/numbers.hpp"
#include "cli/terminal/json_values.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/verbs/verb.hpp"

namespace bloomery::cli {
namespace {

struct tally {
  std::uint64_t keys_read = 0;
  std::uint64_t keys_inserted = 0;
};

outcome<tally> insert_all(const options& opts, filter_edit& edit) {
  auto stream = edit.keys(opts);
  if (!stream) return failed(stream.error());
  progress line(opts, "adding", stream->reader().total_bytes());
  tally so_far;
  while (true) {
    const auto more = stream->next();
    if (!more) return failed(more.error());
    if (!*more) return so_far;
    const auto inserted = edit.filter().add(stream->digests());
    if (!inserted) return fail_file(edit.name(), inserted.error());
    so_far.keys_read += stream->size();
    so_far.keys_inserted += *inserted;
    line.update(stream->reader().bytes_taken(), so_far.keys_read);
  }
}

std::string summary(const filter_edit& edit, const tally& added, const filter_stats& stats) {
  std::string out = fmt::format("{}: {}, {} read, {} inserted", edit.name(), edit.filter().info().name,
                                number_of(added.keys_read, "key"), with_commas(added.keys_inserted));
  const kind_info& kind = edit.filter().info();
  if (kind.exact) return out.append(fmt::format("; holds {}", number_of(stats.keys.keys, "key")));
  out.append(fmt::format("; holds about {}", number_of(fullness_of(edit.filter().kind(), stats).keys, "key")));
  if (!kind.grows && stats.target_known) out.append(fmt::format(", made for {}", with_commas(stats.capacity_keys)));
  return out.append(fmt::format("; FPR now {}, {}", percent(stats.fpr_now), target_fpr_text(stats)));
}

nlohmann::ordered_json as_json(const filter_edit& edit, const tally& added, const filter_stats& stats) {
  auto out = nlohmann::ordered_json::object();
  out["file"] = edit.name();
  out["format"] = edit.format().name;
  out["kind"] = edit.filter().info().name;
  out["keys_read"] = added.keys_read;
  out["keys_inserted"] = added.keys_inserted;
  out["keys"] = fullness_of(edit.filter().kind(), stats).keys;
  out["capacity_keys"] = capacity_of(edit.filter(), stats);
  out["file_bytes"] = size_of_file(edit.name());
  out["memory_bytes"] = stats.memory_bytes;
  out["target_fpr"] = target_fpr_of(stats);
  out["fpr_now"] = stats.fpr_now;
  out["fill"] = stats.fill;
  return out;
}

outcome<int> run_add(const options& opts) {
  auto edit = filter_edit::open(opts);
  if (!edit) return failed(edit.error());
  if (auto can = check_ability(edit->name(), edit->filter(), "take more keys", &kind_capabilities::inserts); !can) {
    return failed(can.error());
  }
  const auto added = insert_all(opts, *edit);
  if (!added) return failed(added.error());
  const auto stats = edit->filter().stats();
  if (!stats) return fail_file(edit->name(), stats.error());
  if (auto saved = edit->save(); !saved) return failed(saved.error());
  const std::string overfull = overfull_text(edit->filter(), *stats);
  if (!overfull.empty()) warn(opts, fmt::format("{}: now {}", edit->name(), overfull));
  if (opts.has(flag::json)) {
    output out;
    out.write_json(as_json(*edit, *added, *stats));
    if (auto done = out.flush(); !done) return failed(done.error());
  } else {
    note(opts, summary(*edit, *added, *stats));
  }
  return 0;
}

constexpr std::array add_examples = {
    example{"bloomery add seen.bloom today.txt", "the lines of today.txt into the filter"},
    example{"tail -n 1000 access.log | cut -d ' ' -f 1 | bloomery add ips.bloom", "from a pipe"},
    example{"bloomery add -q users.bloom new.txt || echo 'not added'", "silent; only the exit code"},
};

}  // namespace

const verb add_verb = {
    .name = "add",
    .alias = "insert",
    .bit = on_add,
    .summary = "add keys to a filter",
    .usage = "[OPTIONS] FILE [KEYFILES]",
    .description =
        "Adds the lines of KEYFILES, or of standard input, to the filter FILE. Write keys as they were written "
        "when the filter was built. If the filter then holds more keys than its capacity, a warning reports its "
        "false-positive rate.\n\n"
        "The filter is loaded into memory, and FILE is replaced at the end, in the same format and encoding. An "
        "error or a signal before that leaves FILE unchanged. While one process changes FILE, other processes "
        "that try to are refused. A build or merge with --force does not take this lock: it replaces FILE, and "
        "the add that it overtakes ends with an error.",
    .examples = add_examples,
    .exit_codes =
        "0: added; 1: added, with a warning and --strict; 2: error, and FILE is unchanged, unless the message "
        "says that it is in place",
    .run = run_add,
};

}  // namespace bloomery::cli
