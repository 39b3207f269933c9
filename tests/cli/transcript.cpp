#include "cli/transcript.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <system_error>

namespace bloomery_test {
namespace {

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

bool starts_with(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

// What follows a marker and one blank; the marker alone stands for an empty line.
bool take_marker(std::string_view line, std::string_view marker, std::string& rest) {
  if (line == marker) {
    rest.clear();
    return true;
  }
  if (!starts_with(line, marker) || line[marker.size()] != ' ') return false;
  rest = line.substr(marker.size() + 1);
  return true;
}

bool is_regex(const std::string& text) {
  try {
    const std::regex compiled(text);
    return true;
  } catch (const std::regex_error&) {
    return false;
  }
}

class parser {
 public:
  transcript run(std::string_view text) {
    for (const std::string& line : lines_of(text)) {
      ++line_;
      if (std::string why = take(line); !why.empty()) {
        out_.error = "line " + std::to_string(line_) + ": " + why;
        return out_;
      }
    }
    if (out_.tests.empty()) out_.error = "there is no test in it";
    for (const transcript_test& test : out_.tests) {
      if (test.steps.empty()) out_.error = "line " + std::to_string(test.line) + ": " + test.name + " has no command";
    }
    return out_;
  }

 private:
  // Why the line is wrong; empty when it is not.
  std::string take(const std::string& line) {
    std::string rest;
    if (take_marker(line, "#", rest)) return {};
    if (take_marker(line, "==", rest)) return begin_test(rest);
    if (take_marker(line, "$", rest)) return begin_step(rest);
    if (line.empty()) {
      ++empty_lines_;
      return {};
    }
    if (step_ == nullptr) return "a command comes first: " + line;
    for (; empty_lines_ != 0; --empty_lines_) step_->out.push_back({});
    if (take_marker(line, ">", rest)) return continue_command(rest);
    if (take_marker(line, "?", rest)) return set_code(rest);
    if (line == "...") return add(step_->out, expected_line::match::any_lines, "");
    if (line == "!...") return add(step_->err, expected_line::match::any_lines, "");
    if (take_marker(line, "~", rest)) return add(step_->out, expected_line::match::regex, rest);
    if (take_marker(line, "!~", rest)) return add(step_->err, expected_line::match::regex, rest);
    if (take_marker(line, "!", rest)) return add(step_->err, expected_line::match::text, rest);
    if (take_marker(line, "|", rest)) return add(step_->out, expected_line::match::text, rest);
    return add(step_->out, expected_line::match::text, line);
  }

  std::string begin_test(const std::string& name) {
    empty_lines_ = 0;
    step_ = nullptr;
    const bool is_setup = name == "setup";
    if (is_setup && (!out_.tests.empty() || !out_.setup.empty())) return "setup comes first, and once";
    steps_ = &out_.setup;
    if (is_setup) return {};
    if (name.empty() || !std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) != 0; })) {
      return "the name of a test has letters and digits: '" + name + "'";
    }
    for (const transcript_test& test : out_.tests) {
      if (test.name == name) return "there are two tests " + name;
    }
    out_.tests.push_back({line_, name, {}});
    steps_ = &out_.tests.back().steps;
    return {};
  }

  std::string begin_step(const std::string& command) {
    empty_lines_ = 0;
    if (steps_ == nullptr) return "a command before the first test";
    steps_->push_back({line_, command, {}, {}, 0});
    step_ = &steps_->back();
    return {};
  }

  std::string continue_command(const std::string& line) {
    if (!step_->out.empty() || !step_->err.empty()) return "a command continues after its output";
    step_->command.append("\n").append(line);
    return {};
  }

  std::string set_code(const std::string& text) {
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), step_->code);
    if (failed != std::errc{} || end != text.data() + text.size()) return "no exit code: '" + text + "'";
    return {};
  }

  static std::string add(std::vector<expected_line>& to, expected_line::match how, const std::string& text) {
    if (how == expected_line::match::regex && !is_regex(text)) return "no regular expression: " + text;
    to.push_back({how, text});
    return {};
  }

  transcript out_;
  std::vector<transcript_step>* steps_ = nullptr;
  transcript_step* step_ = nullptr;
  int line_ = 0;
  std::size_t empty_lines_ = 0;
};

bool agrees(const expected_line& expected, const std::string& line) {
  return expected.how == expected_line::match::regex ? std::regex_match(line, std::regex(expected.text))
                                                     : expected.text == line;
}

// Whether the lines from `at` on are those expected from `next` on.
bool agree(const std::vector<expected_line>& expected, std::size_t next, const std::vector<std::string>& lines,
           std::size_t at) {
  for (; next < expected.size(); ++next, ++at) {
    if (expected[next].how == expected_line::match::any_lines) {
      for (std::size_t end = at; end <= lines.size(); ++end) {
        if (agree(expected, next + 1, lines, end)) return true;
      }
      return false;
    }
    if (at == lines.size() || !agrees(expected[next], lines[at])) return false;
  }
  return at == lines.size();
}

std::string compared(std::string_view what, const std::vector<expected_line>& expected, const std::string& text) {
  std::vector<std::string> lines = lines_of(text);
  if (!text.empty() && text.back() != '\n') lines.emplace_back("(no newline)");
  if (agree(expected, 0, lines, 0)) return {};
  std::string out = std::string(what) + " should be\n";
  for (const expected_line& line : expected) {
    const bool any = line.how == expected_line::match::any_lines;
    out.append(any ? "  ..." : line.how == expected_line::match::regex ? "  ~ " : "  ").append(line.text).append("\n");
  }
  out.append("and is\n");
  for (const std::string& line : lines) out.append("  ").append(line).append("\n");
  return out;
}

}  // namespace

transcript parse_transcript(std::string_view text) { return parser().run(text); }

std::string difference(const transcript_step& step, const ran& result) {
  std::string out = compared("standard output", step.out, result.out);
  out.append(compared("standard error", step.err, result.err));
  if (result.code != step.code) {
    out.append("the exit code should be " + std::to_string(step.code) + " and is " + std::to_string(result.code) +
               "\n");
  }
  return out;
}

ran run_step(const transcript_step& step, const std::string& folder) {
  const std::string tools = std::filesystem::path(BLOOMERY_TOOL).parent_path().string();
  const char* path = std::getenv("PATH");
  return run_program({"/bin/sh", "-c", "cd \"$FOLDER\" || exit 99\n" + step.command},
                     {"PATH=" + tools + ":" + (path == nullptr ? "/usr/bin:/bin" : path), "FOLDER=" + folder,
                      "GOLDEN=" BLOOMERY_GOLDEN_DIR, "LC_ALL=C"});
}

}  // namespace bloomery_test
