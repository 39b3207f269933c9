// cli/verbs/verb.hpp: what a verb is, and how to add one.
//
// To add the verb `frob`:
//   1. cli/verbs/frob.cpp: the function `outcome<int> run(const options&)` in an unnamed namespace, and at the end
//      `const verb frob_verb = {...}` in bloomery::cli with its help texts (see kinds.cpp, the
//      smallest).
//   2. here: one line that declares it; cli/verbs/verbs.cpp: one line in the list.
//   3. cli/flags/flags.hpp: a bit `on_frob`; cli/flags/flags.cpp: the bit in the rows of the options it takes, and new rows.
//   4. tests/cli/transcripts/frob.txt.
// Nothing else: parsing, --help, manual pages, completions and did-you-mean follow from the tables.
//
// The rules that hold for all: data goes to standard output through `output` (output.hpp), everything else to standard
// error through `note` and `warn` (messages.hpp), which know --quiet and --strict. Exit codes: 0 yes or done, 1 no, 2
// (a `problem`) error. Keys are read with digest_stream (digests.hpp); filters are opened with open_filter
// (filters.hpp).
#pragma once

#include <span>
#include <string_view>

#include "cli/flags/flags.hpp"
#include "cli/terminal/problem.hpp"

namespace bloomery::cli {

struct example {
  std::string_view command;
  std::string_view text;  // what it does
};

struct verb {
  std::string_view name;
  std::string_view alias;  // one other name, or ""
  verb_set bit;
  std::string_view summary;      // one line, for the list of verbs
  std::string_view usage;        // after "bloomery NAME "; several usages on separate lines
  std::string_view description;  // paragraphs separated by an empty line; help wraps them
  std::span<const example> examples;
  std::string_view exit_codes;  // "0: ...; 1: ...; 2: ..." in one sentence
  outcome<int> (*run)(const options&);
};

// Each in its own file.
extern const verb add_verb;
extern const verb bench_verb;
extern const verb build_verb;
extern const verb convert_verb;
extern const verb count_verb;
extern const verb dedup_verb;
extern const verb demo_verb;
extern const verb doctor_verb;
extern const verb explain_verb;
extern const verb formats_verb;
extern const verb hashes_verb;
extern const verb help_verb;
extern const verb info_verb;
extern const verb kinds_verb;
extern const verb merge_verb;
extern const verb plan_verb;
extern const verb query_verb;
extern const verb remove_verb;
extern const verb verify_verb;

// In the order in which help lists them.
std::span<const verb* const> verbs();
// By name or alias; nullptr when there is none.
const verb* find_verb(std::string_view name);
// The nearest of `names` if it is near enough to be what was meant, else "".
std::string_view nearest(std::string_view word, std::span<const std::string_view> names);

// The texts about the tool itself.
struct topic {
  std::string_view title;
  std::string_view text;  // paragraphs, as in verb::description
};
struct variable {
  std::string_view name;
  std::string_view text;
  verb_set verbs;
};
struct tool_page {
  std::string_view summary;
  std::string_view intro;
  std::string_view numbers;
  std::span<const topic> topics;
  std::span<const variable> environment;
  std::span<const example> examples;
  std::string_view exit_codes;
};
const tool_page& about_tool();

// The texts of help.
std::string main_help();
std::string short_help();
std::string verb_help(const verb& command);
// Why there is no such verb, or option in its place, and what may have been meant.
std::string unknown_verb_text(std::string_view word);

}  // namespace bloomery::cli
