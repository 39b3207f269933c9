// What the tool calls the remedies of the library's errors.
#include "cli/terminal/remedies.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <string>

#include "cli/flags/flags.hpp"
#include "cli/verbs/verb.hpp"

namespace {

using namespace bloomery;

TEST(Remedies, EveryOneButNoneHasWords) {
  for (const remedy_row& row : remedy_rows) {
    EXPECT_EQ(cli::tool_words(row.code).empty(), row.code == remedy::none) << row.name;
  }
}

TEST(Remedies, TheFlagsAndVerbsThatTheyNameExist) {
  const std::regex flag_word("--([a-z0-9-]+)");
  const std::regex verb_word("'bloomery ([a-z]+)'");
  std::size_t named = 0;
  for (const remedy_row& row : remedy_rows) {
    const std::string words(cli::tool_words(row.code));
    if (std::smatch found; std::regex_search(words, found, flag_word)) {
      const std::string name = found[1];
      bool exists = false;
      for (const cli::flag_row& each : cli::flag_table()) exists = exists || each.name == name;
      EXPECT_TRUE(exists) << words;
      ++named;
    }
    if (std::smatch found; std::regex_search(words, found, verb_word)) {
      EXPECT_NE(cli::find_verb(found[1].str()), nullptr) << words;
      ++named;
    }
  }
  EXPECT_GE(named, 10U);
}

TEST(Remedies, ThePageHasTheWordsOfTheLibraryAndOfTheTool) {
  std::ifstream page(BLOOMERY_SOURCE_DIR "/docs/errors.md");
  const std::string text{std::istreambuf_iterator<char>(page), {}};
  for (const remedy_row& row : remedy_rows) {
    if (row.code == remedy::none) continue;
    const std::string_view ours = cli::tool_words(row.code);
    std::string line = "\n| `";
    line.append(row.name).append("` | ").append(row.words).append(" | ");
    line.append(ours == row.words ? std::string_view("the same") : ours).append(" |\n");
    EXPECT_NE(text.find(line), std::string::npos) << line;
  }
}

TEST(Remedies, TheNameThatTheUserKnowsTakesThePlaceOfThePath) {
  error e = make_error(errc::already_exists);
  e.path.assign("/dev/fd/7");
  EXPECT_EQ(cli::text_of(e), "exists already: use --force to replace it, or another name");
}

}  // namespace
