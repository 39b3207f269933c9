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
  EXPECT_TRUE(contains(result.out, "FULL    more keys than it was made for\n")) << result.out;
  EXPECT_TRUE(contains(result.out,
                       "it holds about 20,000 keys and was made for 10,000: build it again with -n 20000, "
                       "which takes 24.2 KiB (9.9"))
      << result.out;
  EXPECT_TRUE(contains(result.out, "and with --headroom 20% if more keys are to come\n")) << result.out;
  const auto found = json_of({"verify", "--json", "over", "--keys", "keys"});
  EXPECT_EQ(found["overfull"], true);
  EXPECT_EQ(found["different_keys"], 20000);
  EXPECT_EQ(found["capacity_keys"], 10000);
  EXPECT_EQ(found["advice"].size(), 1U);
}

TEST_F(Verify, AnOverfullFilterIsToldEvenWhileItsRateHolds) {
  // 1 % too many keys raise the rate by less than the tolerance of 5 %, or by no more than chance could.
  write("more", numbers(1, 20200));
  build_overfull("over", read("more"), {"-n", "20000", "--kind", "bloom"});
  const ran result = run({"verify", "over", "--keys", "more", "--probes", "50k"});
  EXPECT_EQ(result.code, 0) << result.out;
  EXPECT_FALSE(contains(result.out, "BROKEN")) << result.out;
  EXPECT_TRUE(contains(result.out, "FULL    more keys than it was made for\n")) << result.out;
  EXPECT_TRUE(contains(result.out, " keys and was made for 20,000: build it again with -n ")) << result.out;
  build("whole", read("more"), {"-n", "20200", "--kind", "bloom"});
  EXPECT_FALSE(contains(run({"verify", "whole", "--keys", "more", "--probes", "50k"}).out, "FULL"));
}

TEST_F(Verify, AFilterFullToTheBrimIsCountedByItsKeys) {
  build_overfull("brim", numbers(1, 20000), {"-n", "100"});
  const ran result = run({"verify", "brim", "--keys", "keys", "--probes", "1000"});
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(contains(result.out, "it holds about 20,000 keys and was made for 100: build it again with -n 20000"))
      << result.out;
}

TEST_F(Verify, AbsentKeysThatAreInTheFilterAreSuspectedWhenItIsNotOverfull) {
  write("half", numbers(1, 10000));
  write("rest", numbers(10001, 20000));
  const ran result = run({"verify", "f", "--keys", "half", "--absent", "rest"});
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(contains(result.out, "BROKEN  false positives  10,000 of 10,000 absent keys: 100 %\n")) << result.out;
  EXPECT_TRUE(contains(result.out,
                       "it is not overfull: some of the absent keys may have been added to it beside those "
                       "of --keys; measure with generated ones (--probes) to see\n"))
      << result.out;
  EXPECT_FALSE(contains(result.out, "FULL"));
}

TEST_F(Verify, TheAnswerDoesNotDependOnTheNumberOfThreads) {
  write("many", numbers(1, 150000));
  build_overfull("g", read("many"), {"-n", "100000"});
  write("mixed", numbers(149000, 300000));
  for (const auto& more : std::vector<std::vector<std::string>>{{"--probes", "50k"}, {"--absent", "mixed"}}) {
    std::vector<std::string> words = {"verify", "g", "--json", "--keys", "many", "-j", "1"};
    words.insert(words.end(), more.begin(), more.end());
    const ran one = run(words);
    EXPECT_EQ(one.code, 1) << one.err;
    for (const char* jobs : {"2", "5"}) {
      words[6] = jobs;
      EXPECT_EQ(run(words).out, one.out);
    }
  }
}

TEST_F(Verify, LineNumbersHoldFarIntoAFile) {
  write("long", numbers(1, 20000) + read("keys") + read("keys") + read("keys") + "gone\n" + read("keys"));
  const ran result = run({"verify", "f", "--keys", "long", "--probes", "1000", "-j", "3"});
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(contains(result.out, "1 of 100,001 keys\n          line 80001: gone\n")) << result.out;
  EXPECT_EQ(json_of({"verify", "--json", "f", "--keys", "long", "--probes", "1000"})["different_keys"], 20001);
}

TEST_F(Verify, PackedAndTextFiltersAndStandardInputAreVerifiedToo) {
  build("text", read("keys"), {"--format", "text"});
  build("packed", read("keys"), {"--compress", "zstd"});
  for (const char* name : {"text", "packed"}) {
    const ran result = run({"verify", name, "--keys", "keys", "--probes", "2000"});
    EXPECT_EQ(result.code, 0) << name << result.out << result.err;
  }
  EXPECT_EQ(sh("$TOOL verify - --keys keys --probes 2000 < f").code, 0);
  EXPECT_EQ(sh("$TOOL verify f --keys - --probes 2000 < keys").code, 0);
}

TEST_F(Verify, ADamagedChunkIsAnErrorThatNamesIt) {
  std::string bytes = read("f");
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  write("damaged", bytes);
  const ran result = run({"verify", "damaged", "--keys", "keys"});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err.rfind("bloomery: damaged: is damaged in chunk 3, bytes ", 0), 0U) << result.err;
  EXPECT_EQ(lines_in(result.err), 1U);
  EXPECT_NE(run({"verify", "--trust", "damaged", "--keys", "keys", "--probes", "1000"}).code, 2);
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
  expect_error({"verify", "f"}, "bloomery: verify: give the keys that it was built from: --keys KEYFILE");
  expect_error({"verify", "f", "f", "--keys", "keys"},
               "bloomery: verify: give one filter: bloomery verify FILE --keys KEYFILE");
  expect_error({"verify", "f", "--keys", "keys", "--probes", "5", "--absent", "keys"},
               "bloomery: verify: --absent and --probes contradict each other: give one");
  const ran none = run({"verify", "f", "--keys", "keys", "--probes", "0"});
  EXPECT_EQ(none.code, 2);
  EXPECT_EQ(none.out, "");
  write("words", "1\nx\n");
  const ran word = run({"verify", "f", "--u64", "--keys", "words"});
  EXPECT_EQ(word.code, 2) << "an input that breaks is no verdict";
  EXPECT_EQ(word.out, "");
  EXPECT_TRUE(contains(word.err, "line 2")) << word.err;
}

TEST_F(Verify, ACheckOfNothingIsAnError) {
  write("none", "");
  write("names", "id\n");
  const std::string no_keys = "holds no keys, so nothing can be checked: give those of the filter";
  expect_error({"verify", "f", "--keys", "none"}, "bloomery: none: " + no_keys);
  expect_error({"verify", "--json", "f", "--keys", "-"}, "bloomery: standard input: " + no_keys);
  expect_error({"verify", "-q", "f", "--keys", "names", "--header"}, "bloomery: names: " + no_keys);
  const std::string no_rate = ", so no FPR can be measured: give others, or leave --absent out to have them generated";
  expect_error({"verify", "f", "--keys", "keys", "--absent", "none"}, "bloomery: none: holds no keys" + no_rate);
  expect_error({"verify", "f", "--keys", "keys", "--absent", "-"},
               "bloomery: standard input: holds no absent keys: all of them are in --keys" + no_rate, "1\n20000\n");
  EXPECT_EQ(run({"verify", "f", "--keys", "keys", "--absent", "-"}, "1\nx\n").code, 0) << "one is something";
}

}  // namespace
