#include <cmath>

#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class Verify : public tool_box {
 protected:
  void SetUp() override {
    tool_box::SetUp();
    write("keys", numbers(1, 20000));
    ASSERT_EQ(run({"build", "-q", "-o", "f", "keys"}).code, 0);
  }
};

TEST_F(Verify, AWholeFilterKeepsBothPromises) {
  const ran result = run({"verify", "f", "--keys", "keys"});
  EXPECT_EQ(result.code, 0) << result.out;
  EXPECT_TRUE(contains(result.out, "ok      false negatives  0 of 20,000 keys\n"));
  EXPECT_TRUE(contains(result.out, "of 1,000,000 absent keys: "));
  const auto found = json_of({"verify", "--json", "f", "--keys", "keys"});
  EXPECT_EQ(found["holds"], true);
  EXPECT_EQ(found["false_negatives"], 0);
  EXPECT_NEAR(found["fpr_measured"].get<double>(), 0.01, 0.0005);
  EXPECT_LT(found["fpr_low"], found["fpr_measured"]);
  EXPECT_GT(found["fpr_high"], found["fpr_measured"]);
  EXPECT_TRUE(found["advice"].empty());
}

TEST_F(Verify, MissingKeysAreShownWithTheirLines) {
  write("more", numbers(19990, 20000) + "gone\nlost\n");
  const ran result = run({"verify", "f", "--keys", "more", "--probes", "1000"});
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(
      contains(result.out, "BROKEN  false negatives  2 of 13 keys\n          line 12: gone\n          line 13: lost\n"))
      << result.out;
  EXPECT_TRUE(contains(result.out, "some keys are missing"));
  const auto found = json_of({"verify", "--json", "f", "--keys", "more", "--probes", "1000"});
  EXPECT_EQ(found["holds"], false);
  EXPECT_EQ(found["first_missing"][1]["line"], 13);
}

TEST_F(Verify, OtherKeyOptionsAreSuspectedWhenMostIsMissing) {
  const ran result = run({"verify", "f", "--keys", "keys", "--u64", "--probes", "1000"});
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(contains(result.out, "most keys are missing: give the options that it was built with"));
  EXPECT_TRUE(contains(result.out, " more\n"));
}

TEST_F(Verify, AnOverfullFilterBreaksItsRateAndTheRemedyIsNamed) {
  ASSERT_EQ(run({"build", "-q", "-n", "10000", "-o", "over", "keys"}).code, 0);
  const ran result = run({"verify", "over", "--keys", "keys"});
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(contains(result.out, "ok      false negatives")) << result.out;
  EXPECT_TRUE(contains(result.out, "BROKEN  false positives")) << result.out;
  EXPECT_TRUE(contains(result.out, "and was made for 10,000: build it again with -n 20000, which takes "))
      << result.out;
}

TEST_F(Verify, TheIntervalIsClopperPearson) {
  // No hit in n: the upper end is 1 - 0.005^(1/n).
  build("bits", numbers(1, 100), {"--kind", "bitmap", "--u64"});
  write("few", numbers(1, 100));
  const auto none = json_of({"verify", "--json", "--u64", "bits", "--keys", "few", "--probes", "1000"});
  EXPECT_EQ(none["false_positives"], 0);
  EXPECT_EQ(none["fpr_low"], 0.0);
  EXPECT_NEAR(none["fpr_high"].get<double>(), 1.0 - std::pow(0.005, 1e-3), 1e-9);
  // Otherwise: at the lower end k or more hits have a probability of 0.005, at the upper end k or fewer.
  const auto found = json_of({"verify", "--json", "f", "--keys", "keys", "--probes", "2000"});
  const int trials = 2000;
  const int hits = found["false_positives"];
  const auto at_most = [&](int k, double p) {
    double sum = 0;
    for (int i = 0; i <= k; ++i) {
      sum += std::exp(std::lgamma(trials + 1.0) - std::lgamma(i + 1.0) - std::lgamma(trials - i + 1.0) +
                      i * std::log(p) + (trials - i) * std::log1p(-p));
    }
    return sum;
  };
  ASSERT_GT(hits, 0);
  EXPECT_NEAR(1.0 - at_most(hits - 1, found["fpr_low"]), 0.005, 1e-6);
  EXPECT_NEAR(at_most(hits, found["fpr_high"]), 0.005, 1e-6);
}

TEST_F(Verify, MeasuresWithTheAbsentKeysOfAFile) {
  write("absent", numbers(20001, 60000) + "5\n6\n");
  const auto found = json_of({"verify", "--json", "f", "--keys", "keys", "--absent", "absent"});
  EXPECT_EQ(found["probes"], 40000);
  EXPECT_EQ(found["probes_that_are_keys"], 2);
  EXPECT_NEAR(found["fpr_measured"].get<double>(), 0.01, 0.002);
  EXPECT_TRUE(contains(run({"verify", "f", "--keys", "keys", "--absent", "absent"}).out,
                       "2 of the absent keys are keys and were left out"));
}

TEST_F(Verify, ABitmapIsExact) {
  ASSERT_EQ(run({"build", "-q", "--kind", "bitmap", "--u64", "-o", "bits", "keys"}).code, 0);
  write("absent", numbers(20001, 30000));
  const ran result = run({"verify", "bits", "--u64", "--keys", "keys", "--absent", "absent"});
  EXPECT_EQ(result.code, 0) << result.out;
  EXPECT_TRUE(contains(result.out, "false positives  0 of 10,000 absent keys"));
}

TEST_F(Verify, GivesTheSameAnswerEveryTime) {
  const std::vector<std::string> words = {"verify", "f", "--keys", "keys", "--probes", "5k"};
  EXPECT_EQ(run(words).out, run(words).out);
}

TEST_F(Verify, QuietAnswersByExitCode) {
  const ran good = run({"verify", "-q", "f", "--keys", "keys", "--probes", "1000"});
  EXPECT_EQ(good.code, 0);
  EXPECT_EQ(good.out + good.err, "");
  EXPECT_EQ(run({"verify", "-q", "f", "--keys", "-", "--probes", "1000"}, "none of\nthese\n").code, 1);
}

TEST_F(Verify, ErrorsAreNotVerdicts) {
  expect_error({"verify", "nosuch", "--keys", "keys"}, "bloomery: nosuch: cannot open: No such file or directory");
  expect_error({"verify", "f", "--keys", "nosuch"}, "bloomery: nosuch: cannot open: No such file or directory");
  expect_error({"verify", "-", "--keys", "-"}, "bloomery: verify: standard input (-) can be read only once");
}

}  // namespace
