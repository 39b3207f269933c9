#include <bloomery/core/binomial.hpp>
#include <bloomery/kinds.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/run_tool.hpp"

namespace {

using namespace bloomery;
using namespace bloomery_test;
using nlohmann::json;

// A folder of its own, gone at the end.
class folder {
 public:
  folder() : path_(::testing::TempDir() + "bloomery-demo-test-" + std::to_string(getpid())) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directory(path_);
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  ~folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

json quick_figures() {
  const ran result = run_tool({"demo", "--quick", "--json"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  return json::parse(result.out, nullptr, false);
}

TEST(Demo, MissesNothingAndKeepsTheFpr) {
  const json figures = quick_figures();
  EXPECT_EQ(figures["false_negatives"], 0);
  EXPECT_EQ(figures["present"]["queries"], 100'000);
  EXPECT_EQ(figures["present"]["yes"], 100'000);
  EXPECT_EQ(figures["file"]["present"]["yes"], 100'000);
  EXPECT_EQ(figures["file"]["mapped"], true);
  EXPECT_EQ(figures["holds"], true);
  EXPECT_GT(figures["fpr_measured"], 0.8 * 0.01);
  EXPECT_LT(figures["fpr_measured"], 1.2 * 0.01);
}

TEST(Demo, ItsFiguresAreTheLibrarys) {
  const json figures = quick_figures();
  const auto plan = blocked::plan({.keys = 100'000, .fpr = 0.01});
  ASSERT_TRUE(plan);
  EXPECT_EQ(figures["keys"], 100'000);
  EXPECT_EQ(figures["memory_bytes"], plan->memory_bytes);
  EXPECT_EQ(figures["hash_functions"], plan->hashes);
  const auto yes = figures["absent"]["yes"].get<std::uint64_t>();
  const auto asked = figures["absent"]["queries"].get<std::uint64_t>();
  EXPECT_DOUBLE_EQ(figures["fpr_measured_interval_99"][0].get<double>(), binomial::lower_bound(yes, asked, 0.005));
  EXPECT_DOUBLE_EQ(figures["fpr_measured_interval_99"][1].get<double>(), binomial::upper_bound(yes, asked, 0.005));
}

TEST(Demo, TheFprFollowsTheExpectedCurveBelowAndAboveTheCapacity) {
  const json curve = quick_figures()["curve"];
  ASSERT_EQ(curve.size(), 6U);
  for (std::size_t i = 0; i < curve.size(); ++i) {
    EXPECT_EQ(curve[i]["keys"], (i + 1) * 25'000);
    const double expected = curve[i]["expected_fpr"].get<double>();
    const auto asked = curve[i]["queries"].get<std::uint64_t>();
    const auto yes =
        static_cast<std::uint64_t>(curve[i]["fpr_measured"].get<double>() * static_cast<double>(asked) + 0.5);
    // One filter's own rate scatters by some 3 % around the mean that is expected.
    EXPECT_GT(binomial::upper_bound(yes, asked, 1e-6), expected * 0.95) << i;
    EXPECT_LT(binomial::lower_bound(yes, asked, 1e-6), expected * 1.05) << i;
  }
  EXPECT_GT(curve[5]["fpr_measured"], 0.03);
}

TEST(Demo, TheSameKeysAreMadeUpEveryTime) {
  const json first = quick_figures();
  const json second = quick_figures();
  EXPECT_EQ(first["absent"]["yes"], second["absent"]["yes"]);
  EXPECT_EQ(first["url_bytes"], second["url_bytes"]);
  EXPECT_EQ(first["fill"], second["fill"]);
  const double mean = first["url_bytes"].get<double>() / 100'000.0;
  EXPECT_GT(mean, 40.0);
  EXPECT_LT(mean, 90.0);
}

TEST(Demo, ARealSetOfTheSameKeysTakesFarMoreMemory) {
  const json figures = quick_figures();
  EXPECT_EQ(figures["set"]["keys"], 100'000);
  // A set holds at least the text of its keys.
  EXPECT_GT(figures["set"]["resident_bytes"], figures["url_bytes"]);
}

TEST(Demo, NOverridesQuickAndTheSetIsScaled) {
  const ran result = run_tool({"demo", "--quick", "-n", "1100k", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const json figures = json::parse(result.out, nullptr, false);
  EXPECT_EQ(figures["keys"], 1'100'000);
  EXPECT_EQ(figures["present"]["queries"], 1'000'000);
  EXPECT_EQ(figures["set"]["keys"], 1'000'000);
  const double scaled = figures["set"]["scaled_bytes"].get<double>() / figures["set"]["resident_bytes"].get<double>();
  EXPECT_NEAR(scaled, 1.1, 1e-6);
}

TEST(Demo, PrintsItsStepsInAsciiWhenPiped) {
  const ran result = run_tool({"demo", "--quick"}, {"LC_ALL=C.UTF-8", "TERM=xterm"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_TRUE(is_ascii(result.out));
  for (const char* part : {"\n1. Build\n", "\n2. Query\n", "        0 missed", "): kept\n", "\n3. Memory\n",
                           "unordered_set<string>", "\n4. The fill\n", "\n5. The file\n", "\n6. Too many keys\n",
                           "* expected   # measured", "Both promises kept", "Try next"}) {
    EXPECT_TRUE(contains(result.out, part)) << part;
  }
}

TEST(Demo, DrawsWithMoreThanAsciiOnATerminalThatHasIt) {
  const ran result = run_tool_on_terminal({"demo", "--quick"}, {"LC_ALL=C.UTF-8", "TERM=xterm", "NO_COLOR=1"});
  EXPECT_EQ(result.code, 0);
  EXPECT_TRUE(contains(result.out, "\u2588\u2588"));  // bars
  EXPECT_TRUE(contains(result.out, "\u25a0 measured"));
}

TEST(Demo, ShowsProgressOnRequestAndNotInAPipe) {
  EXPECT_TRUE(contains(run_tool({"demo", "--quick", "--progress"}).err, "building: "));
  EXPECT_EQ(run_tool({"demo", "--quick"}).err, "");
}

TEST(Demo, LeavesNoFile) {
  const folder place;
  EXPECT_EQ(run_tool({"demo", "--quick"}, {"TMPDIR=" + place.path()}).code, 0);
  EXPECT_TRUE(std::filesystem::is_empty(place.path()));
}

TEST(Demo, ATemporaryFolderThatIsMissingIsAnErrorThatNamesTheFile) {
  const folder place;
  const ran result = run_tool({"demo", "--quick"}, {"TMPDIR=" + place.path() + "/missing"});
  EXPECT_EQ(result.code, 2);
  EXPECT_TRUE(contains(result.err, "bloomery: " + place.path() + "/missing/bloomery-demo-")) << result.err;
}

TEST(Demo, TheCommandsItSuggestsWorkAsTyped) {
  const folder place;
  const std::string story = run_tool({"demo", "--quick"}).out;
  std::string commands = story.substr(story.find("Try next"));
  commands.erase(0, commands.find('\n') + 1);
  EXPECT_EQ(lines_in(commands), 3U) << commands;
  std::string script = "set -e; cd " + place.path() + "\nln -s " BLOOMERY_TOOL " bloomery\n" + commands;
  const ran result = run_program({"/bin/sh", "-c", script});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out.substr(result.out.size() < 5 ? 0 : result.out.size() - 5), "root\n") << result.out;
}

TEST(Demo, RefusesTooFewAndTooManyKeys) {
  for (const char* keys : {"0", "1", "99999", "1e17", "1e15", "x"}) {
    const ran result = run_tool({"demo", "-n", keys});
    EXPECT_EQ(result.code, 2) << keys;
    EXPECT_EQ(result.out, "") << keys;
    EXPECT_EQ(lines_in(result.err), 1U) << result.err;
  }
}

}  // namespace
