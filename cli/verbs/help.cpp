// bloomery help: the texts about the tool, for the terminal, man and shells.
#include <fmt/core.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "cli/flags/completions.hpp"
#include "cli/flags/manual.hpp"
#include "cli/terminal/output.hpp"
#include "cli/verbs/verb.hpp"

namespace bloomery::cli {
namespace {

namespace fs = std::filesystem;

outcome<void> write_page(const fs::path& path, const std::string& text) {
  std::error_code failed_to;
  fs::create_directories(path.parent_path(), failed_to);
  if (failed_to) return fail_file(path.parent_path().string(), "cannot make this folder: " + failed_to.message());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) return fail_file(path.string(), fmt::format("cannot write this file: {}", std::strerror(errno)));
  return {};
}

// Where programs search for them below share/.
outcome<void> write_all(const fs::path& folder) {
  const fs::path man = folder / "man" / "man1";
  if (auto done = write_page(man / "bloomery.1", manual_page()); !done) return done;
  for (const verb* each : verbs()) {
    auto done = write_page(man / fmt::format("bloomery-{}.1", each->name), manual_page(*each));
    if (!done) return done;
  }
  for (const shell_completions& each : all_completions()) {
    if (auto done = write_page(folder / each.path, each.text()); !done) return done;
  }
  return {};
}

outcome<std::string> requested_text(const options& opts) {
  if (opts.has(flag::completions)) {
    if (!opts.operands().empty()) return fail_usage("--completions are for all verbs: name none");
    for (const shell_completions& each : all_completions()) {
      if (each.shell == opts.text(flag::completions)) return each.text();
    }
  }
  if (opts.operands().size() > 1) {
    return fail_usage(fmt::format("takes one verb, and '{}' is one too many", opts.operands()[1]));
  }
  if (opts.operands().empty()) return opts.has(flag::man) ? manual_page() : main_help();
  const std::string& name = opts.operands().front();
  const verb* command = find_verb(name);
  if (command == nullptr) return fail_text(unknown_verb_text(name));
  return opts.has(flag::man) ? manual_page(*command) : verb_help(*command);
}

outcome<int> run_help(const options& opts) {
  const int wishes =
      (opts.has(flag::man) ? 1 : 0) + (opts.has(flag::completions) ? 1 : 0) + (opts.has(flag::write_pages) ? 1 : 0);
  if (wishes > 1) return fail_usage("--man, --completions and --write contradict each other: give one");
  if (opts.has(flag::write_pages)) {
    if (!opts.operands().empty()) return fail_usage("--write is for all verbs: name none");
    if (auto done = write_all(opts.text(flag::write_pages)); !done) return failed(done.error());
    return 0;
  }
  const auto text = requested_text(opts);
  if (!text) return failed(text.error());
  output out;
  out.write(*text);
  if (auto done = out.flush(); !done) return failed(done.error());
  return 0;
}

constexpr std::array help_examples = {
    example{"bloomery help build", "the same as bloomery build --help"},
    example{"bloomery help --man build | man -l -", "the manual page of build"},
    example{"bloomery help --completions bash > ~/.local/share/bash-completion/completions/bloomery",
            "completions for bash, where it finds them"},
    example{"bloomery help --completions zsh > ~/.zfunc/_bloomery", "for zsh, in a folder of its fpath"},
    example{"bloomery help --completions fish > ~/.config/fish/completions/bloomery.fish", "for fish"},
};

}  // namespace

const verb help_verb = {
    .name = "help",
    .alias = "",
    .bit = on_help,
    .summary = "explain a verb; print manual pages and completions",
    .usage =
        "[--man] [VERB]\n"
        "--completions SHELL\n"
        "--write DIR",
    .description =
        "Explains the tool, or a verb, on standard output. With --man the text is a manual page. With "
        "--completions it is a script that completes verbs, options and their values in a shell.\n\n"
        "All texts are generated from the tables that the tool parses its command line with.",
    .examples = help_examples,
    .exit_codes = "0: done; 2: error, such as an unknown verb",
    .run = run_help,
};

}  // namespace bloomery::cli
