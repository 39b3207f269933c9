// bloomery remove: keys out of a filter, for the kinds that can.
#include <fmt/core.h>

#include <array>
#include <nlohmann/json.hpp>

#include "cli/filter_edit.hpp"
#include "cli/filter_output.hpp"
#include "cli/messages.hpp"
#include "cli/numbers.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/verb.hpp"

namespace bloomery::cli {
namespace remove_parts {

struct tally {
  std::uint64_t keys_read = 0;
  std::uint64_t removed = 0;
  [[nodiscard]] std::uint64_t absent() const { return keys_read - removed; }
};

outcome<tally> erase_all(const options& given, filter_edit& edit) {
  auto stream = edit.keys(given);
  if (!stream) return failed(stream.error());
  progress line(given, "removing", stream->reader().total_bytes());
  tally so_far;
  while (true) {
    const auto more = stream->next();
    if (!more) return failed(more.error());
    if (!*more) return so_far;
    const auto erased = edit.filter().erase(stream->narrow());
    if (!erased) return fail_file(edit.name(), erased.error());
    so_far.removed += *erased;
    so_far.keys_read += stream->size();
    line.update(stream->reader().bytes_taken(), so_far.keys_read);
  }
}

outcome<void> report(const options& given, const filter_edit& edit, const tally& counted) {
  const auto held = edit.filter().stats();
  if (!held) return fail_file(edit.name(), held.error());
  if (!given.has(flag::json)) {
    note(given,
         fmt::format("{}: {}, {} read, {} removed, {} absent; holds {}{}", edit.name(), edit.filter().info().name,
                     number_of(counted.keys_read, "key"), with_commas(counted.removed), with_commas(counted.absent()),
                     held->keys.exact ? "" : "about ", number_of(held->keys.keys, "key")));
    return {};
  }
  output out;
  out.write_json({{"file", edit.name()},
                  {"kind", edit.filter().info().name},
                  {"keys_read", counted.keys_read},
                  {"keys_removed", counted.removed},
                  {"keys_absent", counted.absent()},
                  {"keys", held->keys.keys},
                  {"keys_exact", held->keys.exact},
                  {"file_bytes", size_of_file(edit.name())},
                  {"memory_bytes", held->memory_bytes}});
  return out.flush();
}

outcome<int> run(const options& given) {
  auto edit = filter_edit::open(given);
  if (!edit) return failed(edit.error());
  if (auto can = check_ability(edit->name(), edit->filter().info(), "remove keys", &kind_entry::erases); !can) {
    return failed(can.error());
  }
  const auto counted = erase_all(given, *edit);
  if (!counted) return failed(counted.error());
  if (counted->removed != 0) {
    if (auto saved = edit->save(); !saved) return failed(saved.error());
  }
  if (auto said = report(given, *edit, *counted); !said) return failed(said.error());
  return counted->absent() == 0 ? 0 : 1;
}

constexpr std::array examples = {
    example{"bloomery remove --u64 ids.bloom gone.txt", "the integers of gone.txt out of the filter"},
    example{"bloomery remove coupons.bloom redeemed.txt", "out of a filter that was built with --kind counting"},
    example{"echo 42 | bloomery remove -q --u64 ids.bloom || echo 'was not in it'", "one key, by exit code"},
};

}  // namespace remove_parts

const verb remove_verb = {
    .name = "remove",
    .alias = "",
    .bit = on_remove,
    .summary = "remove keys from a filter, for kinds that can",
    .usage = "[OPTIONS] FILE [KEYFILES]",
    .description =
        "Removes the keys in the lines of KEYFILES, or of standard input, from the filter FILE. "
        "It must be of a kind that can erase: 'bloomery kinds' says which. "
        "Nothing is removed for a key that is surely absent; the others are removed all the same. "
        "A line that comes twice is two removals, "
        "and a key that was added twice to a filter that counts is there until its second removal. "
        "Remove only keys that were added: "
        "a filter with false positives cannot tell a key that merely seems to be there from one that is, "
        "and removing it may take away keys that share its place.\n\n"
        "FILE is replaced at the end, in the form that it had. "
        "An error or a signal before that leaves it as it was. "
        "While one process changes it, others that want to are refused.",
    .examples = remove_parts::examples,
    .exit_codes = "0: every key was there; 1: at least one was surely absent; 2: error, and FILE is as it was",
    .run = remove_parts::run,
};

}  // namespace bloomery::cli
