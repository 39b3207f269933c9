// The texts of --help, made from the tables.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "cli/verbs/verb.hpp"

namespace bloomery::cli {
namespace {

constexpr std::size_t help_width = 80;
constexpr std::size_t help_column = 28;

// Appends `text`, broken between words, every line after `indent` blanks; the cursor is at column `at`.
void wrap(std::string& out, std::string_view text, std::size_t indent, std::size_t at) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    const bool paragraph = end + 1 < text.size() && text[end] == '\n' && text[end + 1] == '\n';
    if (at > indent && at + 1 + word.size() > help_width) {
      out.append("\n");
      at = 0;
    }
    if (at < indent) {
      out.append(indent - at, ' ');
      at = indent;
    } else if (at > indent) {
      out.append(" ");
      ++at;
    }
    out.append(word);
    at += word.size();
    if (paragraph) {
      out.append("\n\n");
      at = 0;
    }
    text.remove_prefix(std::min(end + (paragraph ? 2 : 1), text.size()));
  }
  out.append("\n");
}

// "-o FILE [-n N]": broken between its words, never inside brackets.
void wrap_usage_line(std::string& out, std::string_view prefix, std::string_view usage) {
  constexpr char held_blank = '\x01';
  std::string held(usage);
  int depth = 0;
  for (char& c : held) {
    depth += c == '[' ? 1 : (c == ']' ? -1 : 0);
    if (c == ' ' && depth > 0) c = held_blank;
  }
  const std::size_t first = out.size();
  out.append(prefix);
  wrap(out, held, prefix.size(), prefix.size());
  std::replace(out.begin() + static_cast<std::ptrdiff_t>(first), out.end(), held_blank, ' ');
}

// Each usage of a verb on its own lines.
void wrap_usage(std::string& out, const verb& command) {
  std::string_view usage = command.usage;
  std::string_view first = "Usage:";
  while (true) {
    const std::size_t end = std::min(usage.find('\n'), usage.size());
    wrap_usage_line(out, fmt::format("{:<6} bloomery {} ", first, command.name), usage.substr(0, end));
    if (end == usage.size()) return;
    usage.remove_prefix(end + 1);
    first = "";
  }
}

std::string option_column(const flag_row& row) {
  std::string names = "  ";
  for (const char c : row.short_names) names.append(fmt::format("-{}, ", c));
  names.append("--").append(row.name);
  if (!row.value.empty()) names.append(" ").append(row.value);
  return names;
}

void add_option(std::string& out, const flag_row& row) {
  const std::string names = option_column(row);
  out.append(names);
  std::size_t at = names.size();
  if (at + 2 > help_column) {
    out.append("\n");
    at = 0;
  }
  out.append(help_column - at, ' ');
  std::string text = help_of(row);
  if (!row.choices.empty()) {
    text.append(" (");
    for (const char c : row.choices) text.append(c == ' ' ? ", " : std::string(1, c));
    text.append(")");
  }
  wrap(out, text, help_column, help_column);
}

}  // namespace

std::string verb_help(const verb& command) {
  std::string out;
  wrap_usage(out, command);
  if (!command.alias.empty()) out.append(fmt::format("       bloomery {} is the same\n", command.alias));
  out.append("\n");
  wrap(out, command.description, 0, 0);
  for (std::size_t group = 0; group < static_cast<std::size_t>(flag_group::count_); ++group) {
    bool titled = false;
    for (const flag_row& row : flag_table()) {
      if ((row.verbs & command.bit) == 0 || static_cast<std::size_t>(row.group) != group) continue;
      if (!titled) out.append(fmt::format("\n{}:\n", group_title(row.group)));
      titled = true;
      add_option(out, row);
    }
  }
  if (!command.examples.empty()) out.append("\nExamples:\n");
  for (const example& each : command.examples) out.append(fmt::format("  {}\n      {}\n", each.command, each.text));
  out.append("\nExit codes:\n");
  wrap(out, command.exit_codes, 2, 0);
  return out;
}

std::string main_help() {
  const tool_page& page = about_tool();
  std::string out = "Usage: bloomery VERB [OPTIONS] [FILES]\n\n";
  wrap(out, page.intro, 0, 0);
  out.append("\nVerbs:\n");
  std::string aliases;
  for (const verb* each : verbs()) {
    out.append(fmt::format("  {:<8}  {}\n", each->name, each->summary));
    if (each->alias.empty()) continue;
    aliases.append(fmt::format("{}{} = {}", aliases.empty() ? "" : ", ", each->alias, each->name));
  }
  wrap(out.append("\nOther names: "), aliases, 13, 13);
  out.append(
      "\nOptions:\n"
      "  -h, --help     this help; 'bloomery VERB --help' describes a verb,\n"
      "                 'bloomery help --man' prints the manual page\n"
      "  -V, --version  the version\n\n");
  wrap(out, page.numbers, 0, 0);
  out.append("\nExamples:\n");
  for (const example& each : page.examples) out.append(fmt::format("  {}\n", each.command));
  wrap(out.append("\nExit codes:\n"), page.exit_codes, 2, 0);
  return out;
}

std::string short_help() {
  std::string names;
  for (const verb* each : verbs()) names.append(fmt::format(" {}", each->name));
  return fmt::format(
      "Usage: bloomery VERB [OPTIONS] [FILES]\nVerbs:{}\n"
      "See 'bloomery --help'.\n",
      names);
}

std::string unknown_verb_text(std::string_view word) {
  std::vector<std::string_view> names = {"--help", "--version"};
  for (const verb* each : verbs()) {
    names.push_back(each->name);
    if (!each->alias.empty()) names.push_back(each->alias);
  }
  const std::string_view near = nearest(word, names);
  const std::string hint = near.empty() ? "see 'bloomery --help'" : fmt::format("did you mean '{}'?", near);
  return fmt::format("there is no {} '{}'; {}", word.substr(0, 1) == "-" ? "option" : "verb", word, hint);
}

}  // namespace bloomery::cli
