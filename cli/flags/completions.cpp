#include "cli/flags/completions.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "cli/verbs/verb.hpp"

namespace bloomery::cli {
namespace {

// ---- what can be completed ----

enum class completion : std::uint8_t { nothing, words, files, folders };

completion completion_of(const flag_row& row) {
  if (row.type == value_type::file) return row.value == "DIR" ? completion::folders : completion::files;
  return words_of(row).empty() ? completion::nothing : completion::words;
}

std::string joined(const std::vector<std::string_view>& words, std::string_view between = " ") {
  std::string out;
  for (const std::string_view word : words) out.append(out.empty() ? "" : between).append(word);
  return out;
}

std::vector<const flag_row*> rows_of(const verb& command) {
  std::vector<const flag_row*> out;
  for (const flag_row& row : flag_table()) {
    if ((row.verbs & command.bit) != 0) out.push_back(&row);
  }
  return out;
}

// -o --output
std::vector<std::string> names_of(const flag_row& row) {
  std::vector<std::string> out;
  for (const char c : row.short_names) out.push_back(fmt::format("-{}", c));
  out.push_back(fmt::format("--{}", row.name));
  return out;
}

std::vector<std::string_view> names_of(const verb& command) {
  std::vector<std::string_view> out = {command.name};
  if (!command.alias.empty()) out.push_back(command.alias);
  return out;
}

std::vector<std::string_view> all_names() {
  std::vector<std::string_view> out;
  for (const verb* each : verbs()) {
    for (const std::string_view name : names_of(*each)) out.push_back(name);
  }
  return out;
}

enum class operand : std::uint8_t { none, files, verbs };

// What its usage has beside options and their values.
operand operand_of(const verb& command) {
  std::string plain(command.usage);
  std::replace_if(
      plain.begin(), plain.end(), [](char c) { return c == '[' || c == ']' || c == '\n'; }, ' ');
  std::string_view rest = plain;
  bool value_next = false;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (word.empty() || word == "OPTIONS") continue;
    if (word[0] == '-') {
      for (const flag_row* row : rows_of(command)) {
        const auto names = names_of(*row);
        if (std::find(names.begin(), names.end(), word) != names.end()) value_next = row->type != value_type::none;
      }
    } else if (value_next) {
      value_next = false;
    } else {
      return word == "VERB" ? operand::verbs : operand::files;
    }
  }
  return operand::none;
}

// In single quotes, for all three shells but for the quote itself.
std::string quoted(std::string_view text, std::string_view quote) {
  std::string out = "'";
  for (const char c : text) out.append(c == '\'' ? quote : std::string_view(&c, 1));
  return out.append("'");
}

// ---- bash ----

constexpr std::string_view bash_start =
    R"(# Completions of bloomery for bash, printed by 'bloomery help --completions bash'.

_bloomery_words() {
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

# -f: files, -d: folders
_bloomery_paths() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen "$1" -- "$2")
}

_bloomery() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]}
  local options='' operands=''
  COMPREPLY=()
)";

constexpr std::string_view bash_end = R"(  if [[ $word == -* ]]; then
    _bloomery_words "$options" "$word"
  elif [[ $operands == files ]]; then
    _bloomery_paths -f "$word"
  elif [[ $operands == verbs ]]; then
    _bloomery_words "$names" "$word"
  fi
}

complete -F _bloomery bloomery
)";

std::string bash_options(const verb& command) {
  std::string out;
  for (const flag_row* row : rows_of(command)) {
    for (const std::string& name : names_of(*row)) out.append(out.empty() ? "" : " ").append(name);
  }
  return out;
}

// What to do after an option -> the patterns of verb and option.
std::map<std::string, std::string> bash_values() {
  std::map<std::string, std::string> out;
  for (const verb* each : verbs()) {
    for (const flag_row* row : rows_of(*each)) {
      if (row->type == value_type::none) continue;
      std::string action = "return";
      const completion what = completion_of(*row);
      if (what == completion::files) action = "_bloomery_paths -f \"$word\"; return";
      if (what == completion::folders) action = "_bloomery_paths -d \"$word\"; return";
      if (what == completion::words)
        action = fmt::format("_bloomery_words '{}' \"$word\"; return", joined(words_of(*row)));
      std::string& patterns = out[action];
      for (const std::string& name : names_of(*row)) {
        patterns.append(fmt::format("{}{}:{}", patterns.empty() ? "" : " | ", each->name, name));
      }
    }
  }
  return out;
}

std::string bash_text() {
  std::string out(bash_start);
  out.append(fmt::format("  local names='{}'\n", joined(all_names())));
  out.append(
      "  if ((COMP_CWORD == 1)); then\n"
      "    [[ $word == -* ]] && names='-h --help -V --version'\n"
      "    _bloomery_words \"$names\" \"$word\"\n"
      "    return\n"
      "  fi\n"
      "  # --option=value comes as three words.\n"
      "  if [[ $word == = ]]; then\n"
      "    word=\n"
      "  elif [[ $before == = ]]; then\n"
      "    before=${COMP_WORDS[COMP_CWORD - 2]}\n"
      "  fi\n"
      "  case $verb in\n");
  for (const verb* each : verbs()) {
    const operand what = operand_of(*each);
    out.append(fmt::format(
        "    {})\n      verb={} operands={}\n      options='{}'\n      ;;\n", joined(names_of(*each), " | "),
        each->name, what == operand::files ? "files" : (what == operand::verbs ? "verbs" : "''"), bash_options(*each)));
  }
  out.append("    *) return ;;\n  esac\n  case $verb:$before in\n");
  for (const auto& [action, patterns] : bash_values()) {
    out.append(fmt::format("    {})\n      {}\n      ;;\n", patterns, action));
  }
  return out.append("  esac\n").append(bash_end);
}

// ---- zsh ----

// For the [explanation] of an option or the text of a verb: its brackets and colons are not those of the syntax.
std::string zsh_plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out.append("\\");
    out.append(1, c);
  }
  return out;
}

std::string zsh_value(const flag_row& row) {
  const std::string name = zsh_plain(row.value);
  switch (completion_of(row)) {
    case completion::files:
      return fmt::format(":{}:_files", name);
    case completion::folders:
      return fmt::format(":{}:_files -/", name);
    case completion::words:
      return fmt::format(":{}:({})", name, joined(words_of(row)));
    case completion::nothing:
      break;
  }
  return fmt::format(":{}: ", name);
}

// '(-o --output)'{-o+,--output=}'[file to write]:FILE:_files'
std::string zsh_option(const flag_row& row) {
  const bool takes = row.type != value_type::none;
  std::vector<std::string> specs;
  std::string others;
  for (const std::string& name : names_of(row)) {
    others.append(others.empty() ? "" : " ").append(name);
    specs.push_back(takes ? name + (name[1] == '-' ? "=" : "+") : name);
  }
  const std::string rest = fmt::format("[{}]{}", zsh_plain(row.help), takes ? zsh_value(row) : "");
  if (specs.size() == 1) return quoted(specs[0] + rest, "'\\''");
  std::string names;
  for (const std::string& spec : specs) names.append(names.empty() ? "" : ",").append(spec);
  return fmt::format("'({})'{{{}}}{}", others, names, quoted(rest, "'\\''"));
}

std::string zsh_text() {
  std::string out =
      "#compdef bloomery\n"
      "# Completions of bloomery for zsh, printed by 'bloomery help --completions zsh'.\n\n"
      "_bloomery() {\n"
      "  local -a verbs\n"
      "  verbs=(\n";
  for (const verb* each : verbs()) {
    for (const std::string_view name : names_of(*each)) {
      out.append(fmt::format("    {}\n", quoted(fmt::format("{}:{}", name, zsh_plain(each->summary)), "'\\''")));
    }
  }
  out.append(
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    if [[ $words[2] == -* ]]; then\n"
      "      compadd -- --help --version\n"
      "    else\n"
      "      _describe -t verbs verb verbs\n"
      "    fi\n"
      "    return\n"
      "  fi\n"
      "  local verb=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT -= 1 ))\n"
      "  case $verb in\n");
  for (const verb* each : verbs()) {
    out.append(fmt::format("    {})\n      _arguments -s -S", joined(names_of(*each), "|")));
    for (const flag_row* row : rows_of(*each)) out.append(" \\\n        ").append(zsh_option(*row));
    const operand what = operand_of(*each);
    if (what == operand::files) out.append(" \\\n        '*:file:_files'");
    if (what == operand::verbs) out.append(fmt::format(" \\\n        ':verb:({})'", joined(all_names())));
    out.append("\n      ;;\n");
  }
  return out.append("  esac\n}\n\n_bloomery \"$@\"\n");
}

// ---- fish ----

std::string fish_option(const flag_row& row) {
  std::string out;
  for (const char c : row.short_names) out.append(fmt::format(" -s {}", c));
  out.append(fmt::format(" -l {}", row.name));
  if (row.type != value_type::none) {
    switch (completion_of(row)) {
      case completion::files:
        out.append(" -r -F");
        break;
      case completion::folders:
        out.append(" -x -a '(__fish_complete_directories)'");
        break;
      case completion::words:
        out.append(fmt::format(" -x -a '{}'", joined(words_of(row))));
        break;
      case completion::nothing:
        out.append(" -x");
        break;
    }
  }
  return out.append(" -d ").append(quoted(row.help, "\\'"));
}

std::string fish_text() {
  std::string out = R"(# Completions of bloomery for fish, printed by 'bloomery help --completions fish'.

# Whether the verb that was typed is one of these; without any, whether none was.
function __bloomery_verb
    set -l words (commandline -opc)
    if test (count $argv) = 0
        test (count $words) = 1
    else
        test (count $words) -gt 1; and contains -- $words[2] $argv
    end
end

complete -c bloomery -f
complete -c bloomery -n __bloomery_verb -s h -l help -d 'show help'
complete -c bloomery -n __bloomery_verb -s V -l version -d 'show the version'
)";
  for (const verb* each : verbs()) {
    for (const std::string_view name : names_of(*each)) {
      out.append(
          fmt::format("complete -c bloomery -n __bloomery_verb -a {} -d {}\n", name, quoted(each->summary, "\\'")));
    }
  }
  for (const verb* each : verbs()) {
    const std::string start = fmt::format("complete -c bloomery -n '__bloomery_verb {}'", joined(names_of(*each)));
    out.append("\n");
    for (const flag_row* row : rows_of(*each)) out.append(start).append(fish_option(*row)).append("\n");
    const operand what = operand_of(*each);
    if (what == operand::files) out.append(start).append(" -F\n");
    if (what == operand::verbs) out.append(start).append(fmt::format(" -a '{}'\n", joined(all_names())));
  }
  return out;
}

constexpr std::array shells = {
    shell_completions{"bash", "bash-completion/completions/bloomery", bash_text},
    shell_completions{"zsh", "zsh/site-functions/_bloomery", zsh_text},
    shell_completions{"fish", "fish/vendor_completions.d/bloomery.fish", fish_text},
};

}  // namespace

std::span<const shell_completions> all_completions() { return shells; }

}  // namespace bloomery::cli
