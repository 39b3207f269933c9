// bloomery kinds: what kinds of filters there are.
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/filters/kind_table.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/terminal.hpp"
#include "cli/terminal/text.hpp"
#include "cli/verbs/verb.hpp"

namespace bloomery::cli {
namespace {

// At one million keys and 1 %; none where it depends on the keys.
std::optional<double> bits_per_key(const kind_entry& line) {
  const auto plan = line.plan({.keys = 1'000'000, .fpr = 0.01}, {});
  if (!plan || line.info->exact || line.capabilities.excludes) return {};
  return plan->bits_per_key;
}

std::string abilities(const kind_entry& line) {
  std::string out;
  const auto add = [&](bool can, std::string_view word) {
    if (can) out.append(out.empty() ? "" : " ").append(word);
  };
  add(line.capabilities.merges, "merges");
  add(line.capabilities.folds, "folds");
  add(line.capabilities.erases, "erases");
  add(line.capabilities.counts, "counts");
  add(line.info->grows, "grows");
  add(line.capabilities.expires, "expires");
  add(line.capabilities.is_static, "static");
  add(line.capabilities.excludes, "excludes");
  add(line.capabilities.may_lose, "may lose keys");
  return out;
}

nlohmann::ordered_json options_as_json(const kind_entry& line) {
  auto list = nlohmann::ordered_json::array();
  for (const option_info& option : line.options) {
    nlohmann::ordered_json out{{"name", option.name}};
    if (option.type == option_type::choice) {
      auto choices = nlohmann::ordered_json::array();
      for (const option_choice& choice : option.choices) {
        choices.push_back({{"name", choice.name}, {"suffix", choice.suffix}, {"help", choice.help}});
      }
      out.update({{"type", "choice"}, {"choices", std::move(choices)}});
    } else {
      out["type"] = option.type == option_type::integer ? "integer" : "duration";
      out.update({{"least", option.least}, {"most", option.most}, {"default", option.default_value}});
    }
    out["help"] = option.help;
    list.push_back(std::move(out));
  }
  return list;
}

nlohmann::ordered_json kinds_as_json() {
  auto list = nlohmann::ordered_json::array();
  for (const kind_entry& line : kinds()) {
    auto kind = nlohmann::ordered_json::object();
    const auto bits = bits_per_key(line);
    kind["name"] = line.info->name;
    kind["id"] = line.info->id;
    kind["summary"] = line.info->summary;
    kind["bits_per_key_at_1_percent"] = bits ? nlohmann::ordered_json(*bits) : nullptr;
    kind["cache_lines_per_query"] = line.info->lines;
    kind["exact"] = line.info->exact;
    kind["merges"] = line.capabilities.merges;
    kind["folds"] = line.capabilities.folds;
    kind["erases"] = line.capabilities.erases;
    kind["counts"] = line.capabilities.counts;
    kind["grows"] = line.info->grows;
    kind["expires"] = line.capabilities.expires;
    kind["is_static"] = line.capabilities.is_static;
    kind["excludes"] = line.capabilities.excludes;
    kind["may_lose"] = line.capabilities.may_lose;
    kind["integer_keys"] = line.info->integer_keys;
    kind["layouts"] = choices_of(line, "layout");
    kind["modes"] = choices_of(line, "mode");
    kind["options"] = options_as_json(line);
    list.push_back(std::move(kind));
  }
  return {{"kinds", std::move(list)}};
}

outcome<int> run_kinds(const options& opts) {
  if (!opts.operands().empty()) return fail_usage(fmt::format("takes no '{}'", opts.operands().front()));
  output out;
  if (opts.has(flag::json)) {
    out.write_json(kinds_as_json());
  } else {
    const painter paint(opts, STDOUT_FILENO);
    out.write(paint(style::bold, fmt::format("{:<8} {:>12}  {:<24} {:<33} {}", "kind", "bits/key 1 %",
                                             "lines a look-up", "can", "what it is")));
    out.write('\n');
    for (const kind_entry& line : kinds()) {
      const auto size = bits_per_key(line);
      const std::string bits = size ? fmt::format("{:.2f}", *size) : "by keys";
      out.write(fmt::format("{:<8} {:>12}  {:<24} {:<33} {}\n", line.info->name, bits, line.info->lines,
                            abilities(line), line.info->summary));
    }
  }
  if (auto done = out.flush(); !done) return failed(done.error());
  return 0;
}

constexpr std::array kinds_examples = {
    example{"bloomery kinds", "the kinds, one a line"},
    example{"bloomery kinds --json | jq -r '.kinds[].name'", "their names"},
};

}  // namespace

const verb kinds_verb = {
    .name = "kinds",
    .alias = "",
    .bit = on_kinds,
    .summary = "list the kinds of filters",
    .usage = "[--json]",
    .description =
        "Lists the kinds of filters that build supports: bits per key at a false-positive rate of 1 %, cache "
        "lines per look-up, and which operations each supports besides insert and query.",
    .examples = kinds_examples,
    .exit_codes = "0: done; 2: error",
    .run = run_kinds,
};

}  // namespace bloomery::cli
