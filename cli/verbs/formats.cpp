// bloomery formats: which products' files there are.
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <bloomery/formats.hpp>
#include <nlohmann/json.hpp>

#include "cli/terminal/output.hpp"
#include "cli/terminal/terminal.hpp"
#include "cli/terminal/text.hpp"
#include "cli/verbs/verb.hpp"

namespace bloomery::cli {
namespace formats_parts {

std::string_view hash_of(const formats::format& form) {
  if (form.hash == nullptr) return "";
  const auto spec = form.hash({});
  const hash_info* info = spec ? find_hash(spec->id) : nullptr;
  return info == nullptr ? "" : info->name;
}

std::string abilities(const formats::format& form) {
  std::string out = "read query";
  if (form.writes) out.append(" write");
  if (form.make != nullptr || form.is_native()) out.append(" build");
  if (form.merges) out.append(" merge");
  return out;
}

nlohmann::ordered_json as_json() {
  auto list = nlohmann::ordered_json::array();
  for (const formats::format* form : formats::list()) {
    auto entry = nlohmann::ordered_json::object();
    entry["name"] = form->name;
    entry["summary"] = form->summary;
    entry["reads"] = true;
    entry["queries"] = true;
    entry["writes"] = form->writes;
    entry["builds"] = form->make != nullptr || form->is_native();
    entry["merges"] = form->merges;
    entry["gzip"] = form->gzip;
    entry["hash"] = hash_of(*form).empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(hash_of(*form));
    entry["options"] = words_in(form->options);
    list.push_back(std::move(entry));
  }
  return {{"formats", std::move(list)}};
}

outcome<int> run(const options& given) {
  if (!given.operands().empty()) return fail_usage(fmt::format("takes no '{}'", given.operands().front()));
  output out;
  if (given.has(flag::json)) {
    out.write_json(as_json());
  } else {
    const painter paint(given, STDOUT_FILENO);
    out.write(paint(style::bold, fmt::format("{:<15} {:<28} {:<16} {}", "format", "can", "hash", "what it is")));
    out.write('\n');
    for (const formats::format* form : formats::list()) {
      const std::string_view hash = hash_of(*form);
      out.write(fmt::format("{:<15} {:<28} {:<16} {}\n", form->name, abilities(*form), hash.empty() ? "any" : hash,
                            form->summary));
    }
  }
  if (auto done = out.flush(); !done) return failed(done.error());
  return 0;
}

constexpr std::array examples = {
    example{"bloomery formats", "the formats, one a line"},
    example{"bloomery formats --json | jq -r '.formats[].name'", "their names"},
};

}  // namespace formats_parts

const verb formats_verb = {
    .name = "formats",
    .alias = "",
    .bit = on_formats,
    .summary = "list the file formats",
    .usage = "[--json]",
    .description =
        "Lists the formats of filter files: Bloomery's own two and those of other products, what can be done with "
        "each, "
        "and the hash that the product uses.\n\n"
        "query, info, verify, merge, add and convert tell a file's format by its content; --from names it where that "
        "is "
        "not enough. build --format makes a file as that product would.",
    .examples = formats_parts::examples,
    .exit_codes = "0: done; 2: error",
    .run = formats_parts::run,
};

}  // namespace bloomery::cli
