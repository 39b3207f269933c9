// plan --lsm: memory shared among the levels of a log-structured store.
#include "cli/verbs/lsm.hpp"

#include <bloomery/kinds.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;
using bloomery::kind_info;
using bloomery::cli::allot;
using bloomery::cli::lsm_answer;
using bloomery::cli::lsm_level;
using bloomery::cli::lsm_question;

template <class Kind>
lsm_question question_for(std::uint64_t memory_bytes) {
  return {.keys = 100'000'000,
          .levels = 5,
          .size_ratio = 10,
          .memory_bytes = memory_bytes,
          .kind = &Kind::info,
          .solve = &Kind::plan};
}

template <class Kind>
double rate_of(std::uint64_t keys, double bytes) {
  if (bytes < 1) return 1;
  const auto plan = Kind::plan({.keys = keys, .memory_bytes = static_cast<std::uint64_t>(bytes)});
  return plan ? plan->fpr : 1.0;
}

// Shifts memory from every level to every other, little and much of it, and counts again.
template <class Kind>
void expect_no_better_share(std::uint64_t memory_bytes) {
  const lsm_answer answer = allot(question_for<Kind>(memory_bytes));
  for (const lsm_level& from : answer.levels) {
    for (const lsm_level& to : answer.levels) {
      if (&from == &to) continue;
      for (const double share : {0.001, 0.01, 0.05, 0.2, 1.0}) {
        const double shifted = std::floor(static_cast<double>(from.memory_bytes) * share);
        if (shifted < 1) continue;
        const double now = from.fpr + to.fpr;
        const double then = rate_of<Kind>(from.keys, static_cast<double>(from.memory_bytes) - shifted) +
                            rate_of<Kind>(to.keys, static_cast<double>(to.memory_bytes) + shifted);
        EXPECT_GT(then, now - answer.false_reads * 1e-3)
            << Kind::info.name << ": " << shifted << " bytes from the level of " << from.keys << " keys to that of "
            << to.keys;
      }
    }
  }
}

class Lsm : public tool_box {};

TEST_F(Lsm, NoShiftOfMemoryBetweenTwoLevelsLowersTheReads) {
  for (const std::uint64_t memory : {30'000'000U, 125'000'000U, 300'000'000U}) {
    expect_no_better_share<bloomery::bloom>(memory);
  }
  expect_no_better_share<bloomery::blocked>(125'000'000);
}

TEST_F(Lsm, TheFprsOfBloomFiltersAreProportionalToTheKeys) {
  const lsm_answer answer = allot(question_for<bloomery::bloom>(125'000'000));
  const lsm_level& last = answer.levels.back();
  for (const lsm_level& level : answer.levels) {
    const double ratio = level.fpr / last.fpr / (static_cast<double>(level.keys) / static_cast<double>(last.keys));
    EXPECT_NEAR(ratio, 1.0, 0.1) << level.keys;
  }
}

TEST_F(Lsm, UsesTheMemoryAndNoMore) {
  for (const std::uint64_t memory : {1000U, 1'000'000U, 125'000'000U}) {
    const lsm_answer answer = allot(question_for<bloomery::bloom>(memory));
    std::uint64_t sum = 0;
    for (const lsm_level& level : answer.levels) sum += level.memory_bytes;
    EXPECT_EQ(sum, answer.memory_bytes);
    EXPECT_LE(sum, memory);
    EXPECT_GT(static_cast<double>(sum), 0.99 * static_cast<double>(memory));
  }
}

TEST_F(Lsm, LeavesTheLargestLevelsWithoutAFilterWhenMemoryIsShort) {
  const lsm_answer answer = allot(question_for<bloomery::bloom>(1'000'000));
  EXPECT_EQ(answer.levels.back().memory_bytes, 0U);
  EXPECT_EQ(answer.levels.back().fpr, 1.0);
  EXPECT_LT(answer.levels.front().fpr, 0.01);
  EXPECT_LT(answer.false_reads, answer.uniform_false_reads);
}

TEST_F(Lsm, StopsWhereMoreMemoryGainsNothing) {
  const lsm_answer answer = allot(question_for<bloomery::bloom>(100'000'000'000));
  EXPECT_LT(answer.memory_bytes, 1'000'000'000U);
  EXPECT_LT(answer.false_reads, 1e-10);
}

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
