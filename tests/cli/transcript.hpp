// A transcript: commands with the output that they must print and the exit code that they must have.
//
//     # The tests of a verb. Comments begin with a hash and a blank.
//     == setup
//     $ printf 'ann\nbob\n' | bloomery build -q -o f
//     == PrintsTheLinesThatMayBePresent
//     $ printf 'eve\nbob\n' | bloomery query f
//     bob
//     $ bloomery query nosuch
//     ! bloomery: nosuch: cannot open: No such file or directory
//     ? 2
//
// A line that begins with
//   == NAME   starts a test, in a folder of its own; the section `setup`, which comes first, runs before each test
//   $         is a command for sh, in that folder, without standard input; lines that begin with > continue it
//   !         is a line of standard error
//   ?         is the exit code, 0 without it
//   ~, !~     is a regular expression for one line of standard output or of standard error
//   ..., !... stands for any number of lines
//   |         is a line of standard output that begins like one of these
// and every other line is a line of standard output. Empty lines before `$`, `==` and the end do not count. Output that
// does not end with a newline has a last line "(no newline)". In commands $GOLDEN is tests/golden.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/run_tool.hpp"

namespace bloomery_test {

struct expected_line {
  enum class match { text, regex, any_lines };
  match how = match::text;
  std::string text;
};

struct transcript_step {
  int line = 0;  // of the command in the file
  std::string command;
  std::vector<expected_line> out;
  std::vector<expected_line> err;
  int code = 0;
};

struct transcript_test {
  int line = 0;
  std::string name;
  std::vector<transcript_step> steps;
};

struct transcript {
  std::vector<transcript_step> setup;
  std::vector<transcript_test> tests;
  std::string error;  // why the file is no transcript; empty when it is one
};

transcript parse_transcript(std::string_view text);

// What is wrong with a result; empty when it is as expected.
std::string difference(const transcript_step& step, const ran& result);

// Runs a step in a folder.
ran run_step(const transcript_step& step, const std::string& folder);

}  // namespace bloomery_test
