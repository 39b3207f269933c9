// bloomery convert: the same filter in another format.
#include <fmt/core.h>

#include <array>
#include <nlohmann/json.hpp>

#include "cli/filters/open.hpp"
#include "cli/filters/output.hpp"
#include "cli/filters/shards.hpp"
#include "cli/flags/format_choice.hpp"
#include "cli/flags/numbers.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/output.hpp"
#include "cli/verbs/verb.hpp"

namespace bloomery::cli {
namespace {

outcome<int> run_convert(const options& opts) {
  if (opts.operands().empty()) return fail_usage("give the filter: bloomery convert FILE -o OUT --to FORMAT");
  if (!opts.has(flag::to)) return fail_usage("give the format to write with --to; see 'bloomery formats'");
  const auto shards = shards_at(opts.operands().front());
  if (!shards) return failed(shards.error());
  if (auto possible = check_output(opts, *shards); !possible) return failed(possible.error());
  auto opened =
      opts.operands().size() == 1 ? open_filter(opts, opts.operands().front()) : open_pieces(opts, opts.operands());
  if (!opened) return failed(opened.error());
  const formats::format& to = output_format(opts);
  if (!to.writes) return fail_usage(fmt::format("files in format {} can be read, not written", to.name));
  if (to.is_native() && !formats::holds(to, opened->filter) && opened->format->as_native != nullptr) {
    auto ours = opened->format->as_native(opened->filter);
    if (!ours) return fail_file(opened->name, ours.error());
    opened->filter = std::move(*ours);
  }
  if (!formats::holds(to, opened->filter)) {
    return cannot_become(opened->name, opened->filter, *opened->format, to);
  }
  if (auto saved = save_filter(opts, opened->filter); !saved) return failed(saved.error());
  if (opts.has(flag::json)) {
    output out;
    out.write_json({{"file", opts.text(flag::output)},
                    {"format", to.name},
                    {"from", opened->format->name},
                    {"file_bytes", size_of_file(opts.text(flag::output))}});
    if (auto done = out.flush(); !done) return failed(done.error());
  } else {
    const bool to_file = opts.text(flag::output) != "-";
    note(opts,
         fmt::format("{}: {}, from {}{}", to_file ? opts.text(flag::output) : "standard output", to.name,
                     opened->format->name, to_file ? ", " + exact_size(size_of_file(opts.text(flag::output))) : ""));
  }
  return 0;
}

constexpr std::array convert_examples = {
    example{"bloomery convert seen.bloom -o seen.txt --to text", "a native file as lines of text"},
    example{"bloomery convert blocklist.bloom -o blocklist.bloom.gz --to dcso --compress gzip",
            "a file of DCSO's bloom, packed as its --gzip wants it"},
    example{"bloomery convert seen.head seen.chunk1 -o seen.dump --to redisbloom --encoding dump",
            "the replies of BF.SCANDUMP as what RESTORE takes"},
};

}  // namespace

const verb convert_verb = {
    .name = "convert",
    .alias = "",
    .bit = on_convert,
    .summary = "write a filter in another format",
    .usage = "[OPTIONS] FILE... -o OUT --to FORMAT",
    .description =
        "Writes the filter FILE, of any format, to OUT in format FORMAT. This works if both formats mean the "
        "same bits: native and text, compressed and not. Other products set other bits for the same key, "
        "because they hash it or choose its bits differently; convert then prints the reason. A filter does not "
        "store its keys, so build it again from them, with build --format.\n\n"
        "Several FILEs are the pieces of one filter, in order, for products that split a filter: the replies of "
        "RedisBloom's SCANDUMP.",
    .examples = convert_examples,
    .exit_codes =
        "0: written; 2: error, such as formats that have no bits in common, and OUT is unchanged, unless the "
        "message says that it is in place",
    .run = run_convert,
};

}  // namespace bloomery::cli
