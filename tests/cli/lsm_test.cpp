// plan --lsm: memory shared among the levels of a log-structured store (tests/sizing/levels_test.cpp has the shares).
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class Lsm : public tool_box {};

TEST_F(Lsm, PrintsALevelALineAndTheReadsAgainstTheSameBitsForAll) {
  const std::vector<std::string> words = {"plan", "--lsm", "--levels", "4", "--keys", "11110", "--mem", "16Ki"};
  const ran text = run(words);
  EXPECT_EQ(text.code, 0);
  EXPECT_EQ(text.err, "");
  EXPECT_TRUE(is_ascii(text.out));
  std::vector<std::string> json_words = words;
  json_words.emplace_back("--json");
  const auto printed = json_of(json_words);
  ASSERT_EQ(printed["levels"].size(), 4U);
  double reads = 0;
  double uniform = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto& level = printed["levels"][i];
    EXPECT_EQ(level["level"], i + 1);
    EXPECT_EQ(level["keys"], 10 * std::lround(std::pow(10, i)));
    reads += level["expected_fpr"].get<double>();
    uniform += printed["uniform"]["levels"][i]["expected_fpr"].get<double>();
  }
  EXPECT_NEAR(printed["false_reads_per_absent_key"].get<double>(), reads, 1e-12);
  EXPECT_NEAR(printed["uniform"]["false_reads_per_absent_key"].get<double>(), uniform, 1e-12);
  EXPECT_LT(reads, uniform);
  std::array<char, 64> expected{};
  std::snprintf(expected.data(), expected.size(), "\n%.4g levels are read per look-up", reads);
  EXPECT_TRUE(contains(text.out, expected.data())) << text.out;
  EXPECT_TRUE(contains(text.out, "\n    4                 10,000 ")) << text.out;
}

TEST_F(Lsm, TakesTheKindAndTheSizeRatio) {
  const auto printed = json_of({"plan", "--lsm", "--levels", "3", "--keys", "7000", "--mem", "10k", "--size-ratio", "2",
                                "--kind", "blocked", "--json"});
  EXPECT_EQ(printed["request"]["kind"], "blocked");
  EXPECT_EQ(printed["levels"][0]["keys"], 1000);
  EXPECT_EQ(printed["levels"][1]["keys"], 2000);
  EXPECT_EQ(printed["levels"][2]["keys"], 4000);
}

TEST_F(Lsm, PlotsTheBitsPerKeyOfEachLevel) {
  const ran result = run({"plan", "--lsm", "--levels", "3", "--keys", "1M", "--mem", "1M", "--plot"});
  EXPECT_EQ(result.code, 0);
  EXPECT_TRUE(contains(result.out, "\nBits per key\nlevel 1 ##########")) << result.out;
}

TEST_F(Lsm, WhatIsMissingOrContradictsIsNamed) {
  const std::string needs = "bloomery: plan: --lsm needs all of --levels L, --keys N and --mem SIZE";
  expect_error({"plan", "--lsm"}, needs);
  expect_error({"plan", "--lsm", "--levels", "3", "--keys", "1M"}, needs);
  expect_error({"plan", "--lsm", "--levels", "3", "-n", "1M", "--mem", "1M"},
               "bloomery: plan: with --lsm give the keys of all levels as --keys N, not as -n");
  expect_error({"plan", "--lsm", "--levels", "3", "--keys", "1M", "--mem", "1M", "-p", "1%"},
               "bloomery: plan: --lsm and -p contradict each other: the memory decides, level by level");
  expect_error({"plan", "--levels", "3", "-n", "1M"},
               "bloomery: plan: --levels goes with --lsm: give that too, or leave it out");
  expect_error({"plan", "--lsm", "--levels", "65", "--keys", "1M", "--mem", "1M"},
               "bloomery: plan: --levels: 65 are too many: give 1 to 64");
  expect_error({"plan", "--lsm", "--levels", "3", "--keys", "1M", "--mem", "1M", "--size-ratio", "0.5"},
               "bloomery: plan: --size-ratio: 0.5 is not usable: give 1 or more, such as 10");
  expect_error({"plan", "--lsm", "--levels", "9", "--keys", "1M", "--mem", "1M"},
               "bloomery: plan: 1,000,000 keys do not fill 9 levels, each 10 times as large as the one before: give "
               "fewer levels");
  expect_error({"plan", "--lsm", "--levels", "3", "--keys", "1M", "--mem", "1M", "--kind", "bitmap"},
               "bloomery: plan: --lsm is for kinds with false positives, and kind bitmap has none");
}

}  // namespace
