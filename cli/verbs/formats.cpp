// bloomery formats: which products' files there are.
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <bloomery/formats.hpp>
#include <nlohmann/json.hpp>

#include "cli/flags/format_choice.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/terminal.hpp"
#include "cli/terminal/text.hpp"
#include "cli/verbs/verb.hpp"

namespace bloomery::cli {
namespace {

std::string_view hash_of(const formats::format& format) {
  if (format.hash == nullptr) return "";
  const auto spec = format.hash({});
  const hash_info* info = spec ? find_hash(spec->id) : nullptr;
  return info == nullptr ? "" : info->name;
}

bool builds(const formats::format& format) {
  return format.make != nullptr || format.build != nullptr || format.is_native();
}

std::string abilities(const formats::format& format) {
  std::string out = "read query";
  if (format.writes) out.append(" write");
  if (builds(format)) out.append(" build");
  if (format.merges) out.append(" merge");
  return out;
}

nlohmann::ordered_json as_json() {
  auto list = nlohmann::ordered_json::array();
  for (const formats::format* format : formats::list()) {
    auto entry = nlohmann::ordered_json::object();
    entry["name"] = format->name;
    entry["summary"] = format->summary;
    entry["reads"] = true;
    entry["queries"] = true;
    entry["writes"] = format->writes;
    entry["builds"] = builds(*format);
    entry["merges"] = format->merges;
    entry["gzip"] = format->gzip;
    entry["hash"] =
        hash_of(*format).empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(hash_of(*format));
    entry["options"] = nlohmann::ordered_json::array();
    for (const option_info& option : format->options) entry["options"].push_back(option.name);
    list.push_back(std::move(entry));
  }
  return {{"formats", std::move(list)}};
}

outcome<int> run_formats(const options& opts) {
  if (!opts.operands().empty()) return fail_usage(fmt::format("takes no '{}'", opts.operands().front()));
  output out;
  if (opts.has(flag::json)) {
    out.write_json(as_json());
  } else {
    const painter paint(opts, STDOUT_FILENO);
    out.write(paint(style::bold, fmt::format("{:<15} {:<28} {:<16} {}", "format", "can", "hash", "what it is")));
    out.write('\n');
    for (const formats::format* format : formats::list()) {
      const std::string_view hash = hash_of(*format);
      out.write(fmt::format("{:<15} {:<28} {:<16} {}\n", format->name, abilities(*format), hash.empty() ? "any" : hash,
                            format->summary));
    }
  }
  if (auto done = out.flush(); !done) return failed(done.error());
  return 0;
}

constexpr std::array formats_examples = {
    example{"bloomery formats", "the formats, one a line"},
    example{"bloomery formats --json | jq -r '.formats[].name'", "their names"},
};

}  // namespace

const verb formats_verb = {
    .name = "formats",
    .alias = "",
    .bit = on_formats,
    .summary = "list the file formats",
    .usage = "[--json]",
    .description =
        "Lists the formats of filter files: Bloomery's own two and those of other products, what the tool "
        "supports for each, and the hash that the product uses.\n\n"
        "query, info, verify, merge, add and convert detect the format of a file from its content; --from sets "
        "it where that is not enough. build --format writes a file as that product would.",
    .examples = formats_examples,
    .exit_codes = "0: done; 2: error",
    .run = run_formats,
};

}  // namespace bloomery::cli
