// Wrong and right command lines: what every verb has in common.
#include <bloomery/kinds/table.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/tool_box.hpp"
#include "cli/verbs/verb.hpp"

namespace {

using namespace bloomery_test;

class Usage : public tool_box {};

// From the list itself: a verb that is added is tested.
const std::vector<std::string> verb_names = [] {
  std::vector<std::string> names;
  for (const bloomery::cli::verb* each : bloomery::cli::verbs()) names.emplace_back(each->name);
  return names;
}();

TEST_F(Usage, NoArgumentsGiveAShortHelpAndTwo) {
  const ran result = run({});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  for (const std::string& verb : verb_names) EXPECT_TRUE(contains(result.err, verb)) << verb;
}

TEST_F(Usage, HelpNamesEveryVerbOnStandardOutput) {
  for (const char* word : {"--help", "-h", "help"}) {
    const ran result = run({word});
    EXPECT_EQ(result.code, 0);
    EXPECT_EQ(result.err, "");
    for (const std::string& verb : verb_names) EXPECT_TRUE(contains(result.out, "\n  " + verb)) << verb;
  }
}

TEST_F(Usage, EveryVerbHasHelpWithOptionsExamplesAndExitCodes) {
  for (const std::string& verb : verb_names) {
    const ran result = run({verb, "--help"});
    EXPECT_EQ(result.code, 0) << verb;
    EXPECT_EQ(result.err, "") << verb;
    EXPECT_EQ(result.out.rfind("Usage: bloomery " + verb, 0), 0U) << verb;
    for (const char* part : {"--help", "\nExamples:\n", "\nExit codes:\n"}) {
      EXPECT_TRUE(contains(result.out, part)) << verb << ' ' << part;
    }
    EXPECT_EQ(result.out, run({"help", verb}).out) << verb;
  }
}

TEST_F(Usage, HelpFitsEightyColumns) {
  for (const std::string& verb : verb_names) {
    const std::string help = run({verb, "--help"}).out;
    const std::size_t options_end = help.find("\nExamples:");
    for (std::size_t at = 0; at < options_end;) {
      const std::size_t end = help.find('\n', at);
      EXPECT_LE(end - at, 80U) << help.substr(at, end - at);
      at = end + 1;
    }
  }
}

TEST_F(Usage, KindsListsEachKindOnALineAndAsJson) {
  const ran text = run({"kinds"});
  const auto kinds = json_of({"kinds", "--json"})["kinds"];
  EXPECT_EQ(text.code, 0);
  EXPECT_EQ(lines_in(text.out), kinds.size() + 1);
  for (const auto& kind : kinds) {
    EXPECT_TRUE(contains(text.out, "\n" + kind["name"].get<std::string>() + " "));
    EXPECT_TRUE(contains(text.out, kind["summary"].get<std::string>()));
  }
  EXPECT_EQ(kinds[0]["name"], "bloom");
  EXPECT_NEAR(kinds[0]["bits_per_key_at_1_percent"].get<double>(), 9.59, 0.02);
  EXPECT_EQ(kinds[2]["exact"], true);
  EXPECT_TRUE(kinds[2]["bits_per_key_at_1_percent"].is_null());
  EXPECT_EQ(kinds[0]["layouts"], nlohmann::json::array());
  EXPECT_EQ(kinds[1]["layouts"], nlohmann::json::array({"split64", "split32"}));
  EXPECT_EQ(kinds[1]["options"][0]["name"], "layout");
  EXPECT_EQ(kinds[1]["options"][0]["choices"][1]["name"], "split32");
  for (const auto& kind : kinds) {
    if (kind["name"] != "cuckoo") continue;
    EXPECT_EQ(kind["layouts"], nlohmann::json::array({"window", "slots4", "slots2", "sorted", "redis"}));
    EXPECT_EQ(kind["modes"], nlohmann::json::array({"multiset", "set"}));
  }
}

TEST_F(Usage, HelpHasTheLayoutsAndModesOfEveryKind) {
  const std::string build = run({"build", "--help"}).out;
  std::string words;  // however the lines are broken
  std::istringstream in(build);
  for (std::string word; in >> word;) words.append(word).append(" ");
  for (const char* part :
       {"blocked: split64, split32; ", "counting: spread, line; ", "cuckoo: window[:BITS], slots4[:BITS], ",
        "window: stamped, rotating[G]", "(scalable: scaling, fixed; growing: multiset, set; "}) {
    EXPECT_TRUE(contains(words, part)) << part << "\n" << build;
  }
}

TEST_F(Usage, ColoursAppearOnlyWhereTheyAreWanted) {
  EXPECT_FALSE(contains(run({"kinds"}).out, "\x1b["));
  EXPECT_TRUE(contains(run({"kinds", "--color=always"}).out, "\x1b["));
  const std::vector<std::string> xterm = {"TERM=xterm"};
  EXPECT_TRUE(contains(run_tool_on_terminal({"kinds"}, xterm).out, "\x1b["));
  EXPECT_FALSE(contains(run_tool_on_terminal({"kinds", "--color=never"}, xterm).out, "\x1b["));
  EXPECT_FALSE(contains(run_tool_on_terminal({"kinds"}, {"TERM=xterm", "NO_COLOR=1"}).out, "\x1b["));
  EXPECT_FALSE(contains(run_tool_on_terminal({"kinds"}, {"TERM=dumb"}).out, "\x1b["));
}

TEST_F(Usage, OptionsThatOnlyAKindNamesHaveRowsOfTheirOwn) {
  using bloomery::cli::flag_row;
  static constexpr std::array<bloomery::option_choice, 1> colours{{{.name = "red", .help = "warm"}}};
  static constexpr std::array<bloomery::option_info, 3> own{
      {{.name = "salt", .title = "salt", .type = bloomery::option_type::integer, .help = "a number", .most = 9},
       {.name = "growth", .title = "growth factor", .type = bloomery::option_type::integer, .help = "another"},
       {.name = "colour", .title = "colours", .help = "a word", .choices = colours}}};
  const std::vector<bloomery::kind_entry> odd(2, {.options = own});
  const auto rows = bloomery::cli::own_option_rows(odd, bloomery::cli::flag_table());
  ASSERT_EQ(rows.size(), 2U) << "--growth is there, and two kinds may share an option";
  EXPECT_EQ(rows[0].name, "salt");
  EXPECT_EQ(rows[0].type, bloomery::cli::value_type::count);
  EXPECT_EQ(rows[1].name, "colour");
  EXPECT_EQ(rows[1].type, bloomery::cli::value_type::kind_choice);
  for (const flag_row& row : rows) {
    EXPECT_TRUE(bloomery::cli::is_own_option(row.id));
    EXPECT_EQ(row.verbs, bloomery::cli::on_build);
  }
  EXPECT_NE(rows[0].id, rows[1].id);
}

}  // namespace
