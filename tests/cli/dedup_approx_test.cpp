// bloomery dedup --approx: however many lines come, no more than a share of -p of the new ones is lost, or the run fails.
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "cli/dedup/approx.hpp"
#include "cli/tool_box.hpp"

namespace bloomery_test {
namespace {

using namespace bloomery;
using namespace bloomery::cli;

// Of `count` new lines that are lost with a probability of p each, more than this are left, five standard deviations
// below what is expected.
double least_printed(double count, double p) { return count * (1 - p) - 5 * std::sqrt(count * p * (1 - p)); }

class DedupApprox : public tool_box {};

TEST_F(DedupApprox, AboveNItGrowsAndKeepsItsFpr) {
  write("in", numbers(1, 100000));
  const std::vector<std::pair<std::string, double>> rates = {{"1%", 0.01}, {"1/1000", 0.001}, {"20%", 0.2}};
  for (const std::string keys : {"1", "1000", "70000"}) {
    for (const auto& [text, p] : rates) {
      const ran result = sh("cat in | \"$TOOL\" dedup --approx -n " + keys + " -p " + text);
      EXPECT_EQ(result.code, 0) << result.err;
      EXPECT_EQ(result.err, "");
      EXPECT_GT(static_cast<double>(lines_in(result.out)), least_printed(100000, p)) << keys << " " << text;
    }
  }
  EXPECT_GT(static_cast<double>(lines_in(run({"dedup", "--approx", "-n", "1000", "in"}).out)),
            least_printed(100000, 0.01));
}

TEST_F(DedupApprox, JsonReportsTheFprThatIsDelivered) {
  for (const std::string keys : {"1000", "200k"}) {
    const auto found = json_of({"dedup", "--approx", "-n", keys, "--json"}, numbers(1, 100000) + numbers(1, 100));
    EXPECT_EQ(found["exact"], false);
    EXPECT_EQ(found["target_fpr"], 0.01);
    EXPECT_GT(found["fpr_now"], 0.0001);
    EXPECT_LE(found["fpr_now"], 0.01);
    EXPECT_EQ(found["lines"], 100100);
    EXPECT_GT(static_cast<double>(found["different"]), least_printed(100000, 0.01));
  }
  EXPECT_FALSE(json_of({"dedup", "--json"}, "a\n").contains("fpr_now"));
}

TEST_F(DedupApprox, RepeatedLinesAboveNKeepTheirFprToo) {
  write("in", numbers(1, 50000) + numbers(1, 50000));
  const ran result = sh("cat in | \"$TOOL\" dedup --approx -n 1000 --repeated");
  EXPECT_EQ(result.code, 0) << result.err;
  // Both filters make mistakes: one calls a line repeated too early, the other takes it for a printed one.
  EXPECT_GT(static_cast<double>(lines_in(result.out)), least_printed(50000, 0.02));
  EXPECT_LE(lines_in(result.out), 50000U);
}

TEST_F(DedupApprox, AStateGrowsFromRunToRunAndKeepsItsFpr) {
  double printed = 0;
  for (int first = 1; first <= 60000; first += 20000) {
    std::vector<std::string> words = {"dedup", "--approx", "--state", "s"};
    if (first == 1) words.insert(words.end(), {"-n", "1000"});
    const ran result = run(words, numbers(first, first + 19999));
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    printed += static_cast<double>(lines_in(result.out));
    EXPECT_EQ(run({"dedup", "--approx", "--state", "s"}, result.out).out, "") << "nothing is printed twice";
  }
  EXPECT_GT(printed, least_printed(60000, 0.01));
  const auto info = json_of({"info", "--json", "s"});
  EXPECT_EQ(info["kind"], "scalable");
  EXPECT_EQ(run({"verify", "s", "--keys", "/dev/stdin", "--probes", "1000"}, "1\n").code, 0);
}

TEST_F(DedupApprox, AStateThatCannotGrowStopsTheRunBeforeALineIsLost) {
  build("s", numbers(1, 900), {"-n", "1000", "--kind", "blocked"});
  const ran fits = run({"dedup", "--approx", "--state", "s"}, numbers(850, 950));
  EXPECT_EQ(fits.code, 0) << fits.err;
  EXPECT_GT(lines_in(fits.out), 45U);
  const std::string before = read("s");
  const ran result = run({"dedup", "--approx", "--state", "s"}, numbers(1, 5000));
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.err,
            "bloomery: s: is full: it holds 1,000 lines, as many as it was made for, and with more it would lose more "
            "than 1.00 % of the new ones: begin a new state with a larger -n\n");
  EXPECT_TRUE(read("s") == before);
  EXPECT_EQ(run({"dedup", "--approx", "--state", "s"}, numbers(1, 900)).code, 0) << "what it knows it still drops";
}

TEST_F(DedupApprox, AStateWhoseFprIsBrokenAlreadyIsRefused) {
  build("s", "a\n", {"-n", "1000", "--kind", "blocked"});
  ASSERT_EQ(run({"add", "-q", "s"}, numbers(1, 5000)).code, 0);
  const std::string before = read("s");
  const ran result = run({"dedup", "--approx", "--state", "s"}, "x\n");
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err.rfind("bloomery: s: lines would be lost: it holds about ", 0), 0U) << result.err;
  EXPECT_EQ(lines_in(result.err), 1U);
  EXPECT_TRUE(read("s") == before);
}

TEST_F(DedupApprox, AStateOfAKindThatCountsPrintsALineOnce) {
  for (const std::string kind : {"cuckoo", "counting", "growing"}) {
    build("s", "a\n", {"-n", "1000", "--kind", kind});
    EXPECT_EQ(run({"dedup", "--approx", "--state", "s"}, "b\nb\na\nc\nb\n").out, "b\nc\n") << kind;
    std::filesystem::remove(path("s"));
  }
}

TEST_F(DedupApprox, MemoryIsACeilingAndNeverRaisesTheFpr) {
  write("in", numbers(1, 100000));
  for (const std::string command :
       {"cat in | \"$TOOL\" dedup --approx -n 1000 --mem 20K",
        "cat in | \"$TOOL\" dedup --approx -n 1000 -p 1% --mem 20K", "\"$TOOL\" dedup --approx --mem 20K in",
        "cat in | \"$TOOL\" dedup --approx -n 1000 --mem 20K --state s",
        "cat in | \"$TOOL\" dedup --approx --repeated -n 1000 --mem 20K"}) {
    const ran result = sh(command);
    EXPECT_EQ(result.code, 2) << command;
    EXPECT_EQ(result.err,
              "bloomery: the lines do not fit into " +
                  std::string(contains(command, "--repeated") ? "10,000 bytes (9.8 KiB)" : "20,000 bytes (19.5 KiB)") +
                  " at this false-positive rate: give a larger -p or more --mem\n")
        << command;
    EXPECT_FALSE(exists("s"));
  }
  EXPECT_GT(static_cast<double>(lines_in(sh("cat in | \"$TOOL\" dedup --approx -n 1000 --mem 1M").out)),
            least_printed(100000, 0.01));
}

TEST(SeenFilter, KeysAboveACountedNumberAreAProblem) {
  const hasher hash;
  auto seen = seen_filter::make({.hash = hash, .fpr = 0.0001, .first_capacity = 100, .grows = false});
  ASSERT_TRUE(seen) << seen.error().text;
  std::vector<std::string> texts;
  for (int i = 0; i < 101; ++i) texts.push_back(std::to_string(i));
  std::vector<std::string_view> keys(texts.begin(), texts.end());
  std::vector<std::uint64_t> digests;
  for (const std::string& text : texts) digests.push_back(hash.digest(text.data(), text.size()));
  std::vector<bool> fresh;
  const auto added = seen->add(keys, digests, fresh);
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().text,
            "the input has more lines than it had when they were counted: another process changes it: try again");
}

TEST(SeenFilter, GrowsInTheMiddleOfABatchAndLosesNothing) {
  const hasher hash;
  auto seen = seen_filter::make({.hash = hash, .fpr = 0.01, .first_capacity = 10});
  ASSERT_TRUE(seen) << seen.error().text;
  std::vector<std::string> texts;
  for (int i = 0; i < 20000; ++i) texts.push_back(std::to_string(i / 2));
  std::vector<std::string_view> keys(texts.begin(), texts.end());
  std::vector<std::uint64_t> digests;
  for (const std::string& text : texts) digests.push_back(hash.digest(text.data(), text.size()));
  std::vector<bool> fresh;
  ASSERT_TRUE(seen->add(keys, digests, fresh));
  std::unordered_set<std::string_view> printed;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (fresh[i]) {
      EXPECT_TRUE(printed.insert(keys[i]).second) << keys[i];
    }
  }
  EXPECT_GT(static_cast<double>(printed.size()), least_printed(10000, 0.01));
  ASSERT_TRUE(seen->add(keys, digests, fresh));
  EXPECT_EQ(std::count(fresh.begin(), fresh.end(), true), 0);
}

}  // namespace
}  // namespace bloomery_test
