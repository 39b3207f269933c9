#include "cli/flags/manual.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bloomery/version.hpp>
#include <cctype>
#include <vector>

namespace bloomery::cli {
namespace {

// Of the version; a page must have one.
constexpr std::string_view page_date = "November 16, 2026";

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

// Bytes that roff would change. A hyphen stays one between letters, and is a minus sign, as it must be typed, in what
// looks like an option; in `literal` text all are.
std::string escaped(std::string_view text, bool literal) {
  std::string out;
  bool in_option = false;
  char before = ' ';
  for (const char c : text) {
    const bool starts_word = before == ' ' || before == '[' || before == '\'' || before == '(' || before == '\n';
    if (c == ' ' || c == '\n') in_option = false;
    if (c == '-' && starts_word) in_option = true;
    switch (c) {
      case '\\':
        out.append("\\e");
        break;
      case '\'':
        out.append("\\(aq");
        break;
      case '`':
        out.append("\\(ga");
        break;
      case '^':
        out.append("\\(ha");
        break;
      case '~':
        out.append("\\(ti");
        break;
      case '-':
        out.append(literal || in_option ? "\\-" : "-");
        break;
      case '.':
        out.append(before == '\n' ? "\\&." : ".");
        break;
      default:
        out.append(1, c);
    }
    before = c;
  }
  return out;
}

// One sentence per line, so that roff sets the space after them; paragraphs apart.
void add_text(std::string& out, std::string_view text) {
  std::string broken = "\n";
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "\n\n") {
      broken.append("\n.Pp\n");
      ++i;
    } else if (text.substr(i, 2) == ". ") {
      broken.append(".\n");
      ++i;
    } else {
      broken.append(1, text[i]);
    }
  }
  std::string_view rest = broken;
  rest.remove_prefix(1);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    out.append(line == ".Pp" ? std::string(line) : escaped(fmt::format("\n{}", line), false).substr(1)).append("\n");
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

void add_start(std::string& out, std::string_view name, std::string_view summary) {
  out.append(fmt::format(".Dd {}\n.Dt {} 1\n.Os Bloomery {}\n", page_date, upper(name), version));
  out.append(fmt::format(".Sh NAME\n.Nm {}\n.Nd {}\n.Sh SYNOPSIS\n", name, summary));
}

// "-o FILE [-n N] FILES...": what is an option and what stands for something else.
void add_usage_line(std::string& out, std::string_view usage) {
  std::string spaced;
  for (const char c : usage) spaced.append(c == '[' ? "[ " : (c == ']' ? " ]" : std::string(1, c)));
  std::string_view rest = spaced;
  int depth = 0;
  bool fresh = true;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    out.append(fresh ? "." : " ");
    fresh = false;
    if (word == "[") {
      ++depth;
      out.append("Oo");
    } else if (word == "]") {
      --depth;
      out.append("Oc");
    } else if (word.size() > 1 && word[0] == '-') {
      out.append("Fl ").append(word.substr(1));
    } else if (word.size() > 3 && word.substr(word.size() - 3) == "...") {
      out.append("Ar ").append(word.substr(0, word.size() - 3)).append(" ...");
    } else {
      out.append("Ar ").append(word);
    }
    // The value of an option stays on its line.
    const bool option_next = rest.empty() || rest[0] == '-' || rest[0] == '[';
    if (depth == 0 && option_next) {
      out.append("\n");
      fresh = true;
    }
  }
}

void add_usage_lines(std::string& out, const verb& command) {
  std::string_view usage = command.usage;
  while (true) {
    const std::size_t end = std::min(usage.find('\n'), usage.size());
    out.append(fmt::format(".Nm bloomery {}\n", command.name));
    add_usage_line(out, usage.substr(0, end));
    if (end == usage.size()) return;
    usage.remove_prefix(end + 1);
  }
}

void write_option(std::string& out, const flag_row& row) {
  out.append(".It ");
  for (const char c : row.short_names) out.append(fmt::format("Fl {} , ", c));
  out.append(fmt::format("Fl -{}", row.name));
  if (!row.value.empty()) out.append(" Ar ").append(row.value);
  out.append("\n");
  std::string text = help_of(row);
  std::string words;
  for (const std::string_view word : words_of(row)) words.append(words.empty() ? "" : ", ").append(word);
  if (!words.empty() && text == row.help) text.append(fmt::format(" ({})", words));
  add_text(out, text);
}

void add_options(std::string& out, const verb& command) {
  out.append(".Sh OPTIONS\n");
  for (std::size_t group = 0; group < static_cast<std::size_t>(flag_group::count_); ++group) {
    bool open = false;
    for (const flag_row& row : flag_table()) {
      if ((row.verbs & command.bit) == 0 || static_cast<std::size_t>(row.group) != group) continue;
      if (!open) out.append(fmt::format(".Ss {}\n.Bl -tag -width Ds\n", group_title(row.group)));
      open = true;
      write_option(out, row);
    }
    if (open) out.append(".El\n");
  }
}

void add_environment(std::string& out, verb_set bits) {
  bool open = false;
  for (const variable& each : about_tool().environment) {
    if ((each.verbs & bits) == 0) continue;
    if (!open) out.append(".Sh ENVIRONMENT\n.Bl -tag -width Ds\n");
    open = true;
    std::string names;
    for (const char c : each.name) names.append(c == ',' ? " ," : std::string(1, c));
    out.append(fmt::format(".It Ev {}\n", names));
    add_text(out, each.text);
  }
  if (open) out.append(".El\n");
}

// "0: done; 2: error"
void add_exit_codes(std::string& out, std::string_view codes) {
  out.append(".Sh EXIT STATUS\n.Bl -tag -width Ds\n");
  while (!codes.empty()) {
    std::size_t end = 0;
    do {
      end = std::min(codes.find("; ", end + 1), codes.size());
    } while (end < codes.size() && !(end + 3 < codes.size() && codes[end + 3] == ':'));
    const std::string_view part = codes.substr(0, end);
    const std::size_t colon = std::min(part.find(": "), part.size());
    out.append(fmt::format(".It {}\n", part.substr(0, colon)));
    add_text(out, part.substr(std::min(colon + 2, part.size())));
    codes.remove_prefix(std::min(end + 2, codes.size()));
  }
  out.append(".El\n");
}

void add_examples(std::string& out, std::span<const example> examples) {
  if (examples.empty()) return;
  out.append(".Sh EXAMPLES\n");
  bool first = true;
  for (const example& each : examples) {
    if (!first) out.append(".Pp\n");
    first = false;
    std::string text(each.text);
    if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
    if (!text.empty() && text.back() != '?') text.append(":");
    add_text(out, text);
    out.append(".Bd -literal -offset indent\n").append(escaped(each.command, true)).append("\n.Ed\n");
  }
}

// The page of the tool and of every verb but `own`.
void add_see_also(std::string& out, const verb* own) {
  std::vector<std::string> names;
  if (own != nullptr) names.emplace_back("bloomery");
  for (const verb* each : verbs()) {
    if (each != own) names.push_back(fmt::format("bloomery-{}", each->name));
  }
  std::sort(names.begin(), names.end());
  out.append(".Sh SEE ALSO\n");
  for (std::size_t i = 0; i < names.size(); ++i) {
    out.append(fmt::format(".Xr {} 1{}\n", names[i], i + 1 < names.size() ? " ," : ""));
  }
}

}  // namespace

std::string manual_page() {
  const tool_page& page = about_tool();
  std::string out;
  add_start(out, "bloomery", page.summary);
  out.append(".Nm\n.Ar VERB\n.Op Ar OPTIONS\n.Op Ar FILES\n.Nm\n.Fl -help\n.Nm\n.Fl -version\n.Sh DESCRIPTION\n");
  add_text(out, page.intro);
  out.append(".Pp\n");
  add_text(out, page.numbers);
  out.append(".Ss Verbs\n.Bl -tag -width Ds\n");
  for (const verb* each : verbs()) {
    out.append(fmt::format(".It Xr bloomery-{} 1\n", each->name));
    add_text(out, each->alias.empty() ? std::string(each->summary)
                                      : fmt::format("{}; {} is the same", each->summary, each->alias));
  }
  out.append(".El\n");
  for (const topic& each : page.topics) {
    out.append(fmt::format(".Ss {}\n", each.title));
    add_text(out, each.text);
  }
  add_environment(out, on_all);
  add_exit_codes(out, page.exit_codes);
  add_examples(out, page.examples);
  add_see_also(out, nullptr);
  return out;
}

std::string manual_page(const verb& command) {
  std::string out;
  add_start(out, fmt::format("bloomery-{}", command.name), command.summary);
  add_usage_lines(out, command);
  out.append(".Sh DESCRIPTION\n");
  add_text(out, command.description);
  if (!command.alias.empty()) out.append(fmt::format(".Pp\n.Nm bloomery {}\nis the same.\n", command.alias));
  add_options(out, command);
  add_environment(out, command.bit);
  add_exit_codes(out, command.exit_codes);
  add_examples(out, command.examples);
  add_see_also(out, &command);
  return out;
}

}  // namespace bloomery::cli
