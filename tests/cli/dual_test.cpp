// Kind dual through the verbs of the tool: what it says of keys that it may lose.
#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class Dual : public tool_box {
 protected:
  // The lines 1 to 20,000 at 1 %, of which the first 14,000 were removed.
  void build_with_removals(const std::string& name) const {
    build(name, numbers(1, 20'000), {"--kind", "dual", "-n", "20000"});
    ASSERT_NE(run({"remove", "-q", name}, numbers(1, 14'000)).code, 2);
  }
};

TEST_F(Dual, RemovesAddsAgainAndAnswers) {
  build("offers", numbers(1, 1000), {"--kind", "dual", "-n", "1000", "-p", "0.1%"});
  EXPECT_EQ(run({"remove", "-q", "offers"}, "7\n8\n").code, 0);
  EXPECT_EQ(run({"query", "-v", "offers"}, numbers(1, 1000)).out, "7\n8\n");
  const ran absent = run({"remove", "offers"}, "7\nnever\n9\n");
  EXPECT_EQ(absent.code, 1);
  EXPECT_TRUE(contains(absent.err, "offers: dual, 3 keys read, 1 removed, 2 absent; holds 99")) << absent.err;
  const ran added = run({"add", "offers"}, "7\n1001\n");
  EXPECT_EQ(added.code, 0);
  EXPECT_TRUE(contains(added.err, "2 keys read, 2 inserted")) << added.err;
  EXPECT_EQ(run({"query", "-v", "offers"}, numbers(1, 1001)).out, "8\n9\n");
  EXPECT_EQ(json_of({"info", "--json", "offers"})["loss"]["returned"], 1);
}

TEST_F(Dual, RemoveSaysOnceWhatARemovalMeans) {
  build("offers", numbers(1, 1000), {"--kind", "dual", "-n", "1000"});
  const std::string meaning =
      "offers: from its first removal on, this kind may lose keys: of those that are in it, up to 1.00 % are called "
      "absent after 1,000 removals (--kind cuckoo and counting lose none)\n";
  const ran nothing = run({"remove", "offers"}, "never\n");
  EXPECT_EQ(nothing.code, 1);
  EXPECT_FALSE(contains(nothing.err, "may lose")) << "nothing was removed";
  const ran first = run({"remove", "offers"}, "1\n2\n");
  EXPECT_EQ(first.err.find(meaning), 0U) << first.err;
  EXPECT_TRUE(contains(first.err, "2 removed, 0 absent; holds ")) << first.err;
  EXPECT_TRUE(contains(first.err, "; loss now ")) << first.err;
  const ran second = run({"remove", "offers"}, "3\n");
  EXPECT_FALSE(contains(second.err, "may lose")) << second.err;
  build("other", numbers(1, 1000), {"--kind", "dual", "-n", "1000"});
  const auto object = json_of({"remove", "--json", "other"}, "1\n2\n");
  EXPECT_EQ(object["removals"], 2);
  EXPECT_EQ(object["capacity_removals"], 1000);
  EXPECT_EQ(object["target_loss"], 0.01);
  EXPECT_LT(object["loss_now"], 1e-6);
}

TEST_F(Dual, InfoShowsBothRatesAndTheRemovals) {
  build("fresh", numbers(1, 20'000), {"--kind", "dual", "-n", "20000"});
  const ran before = run({"info", "fresh"});
  EXPECT_TRUE(contains(before.out, "removals       0 of the 20,000 that it was made for\n")) << before.out;
  EXPECT_TRUE(contains(before.out, "loss now       none\n")) << before.out;
  build_with_removals("offers");
  const ran after = run({"info", "offers"});
  EXPECT_TRUE(contains(after.out, "FPR promised   1.00 % (1 in 100)\n")) << after.out;
  EXPECT_TRUE(contains(after.out, "loss promised  1.00 % (1 in 100) of its keys, after so many removals")) << after.out;
  EXPECT_TRUE(contains(after.out, "less removals")) << after.out;
  const auto info = json_of({"info", "--json", "offers"});
  EXPECT_NEAR(info["loss"]["removals"].get<double>(), 14'000, 20);
  EXPECT_EQ(info["loss"]["capacity_removals"], 20'000);
  EXPECT_NEAR(info["loss"]["loss_now"].get<double>(), 0.0021, 0.0004);
  EXPECT_EQ(info["loss"]["target_loss"], 0.01);
  EXPECT_NEAR(info["fpr_now"].get<double>(), 0.0079, 0.0006);
  EXPECT_EQ(info["overfull"], false);
}

TEST_F(Dual, VerifyTellsLostKeysAndWithinThePromiseTheyBreakNothing) {
  build("fresh", numbers(1, 20'000), {"--kind", "dual", "-n", "20000"});
  write("all", numbers(1, 20'000));
  const ran before = run({"verify", "fresh", "--keys", "all", "--probes", "100k"});
  EXPECT_EQ(before.code, 0);
  EXPECT_TRUE(contains(before.out, "ok      false negatives  0 of 20,000 keys\n")) << before.out;
  write("more", "never added\n");
  const ran missing = run({"verify", "fresh", "--keys", "more", "--probes", "1000"});
  EXPECT_EQ(missing.code, 1) << "without a removal nothing may be missing";

  build_with_removals("offers");
  write("left", numbers(14'001, 20'000));
  const ran after = run({"verify", "offers", "--keys", "left", "--probes", "100k"});
  EXPECT_EQ(after.code, 0) << after.out;
  EXPECT_TRUE(contains(after.out, "LOST    false negatives  ")) << after.out;
  EXPECT_TRUE(contains(after.out, "; promised 1.00 %, expected now 0.2")) << after.out;
  EXPECT_TRUE(contains(after.out, "          line ")) << "which ones";
  const auto found = json_of({"verify", "--json", "offers", "--keys", "left", "--probes", "100k"});
  EXPECT_EQ(found["holds"], true);
  EXPECT_GT(found["false_negatives"], 0);
  EXPECT_EQ(found["loss_holds"], true);
  EXPECT_NEAR(found["loss_measured"].get<double>(), found["loss_now"].get<double>(), 0.002);
  EXPECT_LT(found["loss_low"], found["loss_measured"]);
  EXPECT_GT(found["loss_high"], found["loss_measured"]);

  // Removed keys among those that are to be there.
  const ran broken = run({"verify", "offers", "--keys", "all", "--probes", "1000"});
  EXPECT_EQ(broken.code, 1);
  EXPECT_TRUE(contains(broken.out, "BROKEN  false negatives  14,0")) << broken.out;
  EXPECT_TRUE(contains(broken.out, "more keys are missing than its removals explain")) << broken.out;
}

TEST_F(Dual, TooManyRemovalsAreWarnedOfAndBreakThePromise) {
  build("offers", numbers(1, 20'000), {"--kind", "dual", "-n", "20000", "--layout", "tenth"});
  const ran removed = run({"remove", "offers"}, numbers(1, 4000));
  EXPECT_TRUE(contains(removed.err, "bloomery: warning: offers: it has 3,")) << removed.err;
  EXPECT_TRUE(contains(removed.err, " removals and was made for 2,000: it loses ")) << removed.err;
  const auto info = json_of({"info", "--json", "offers"});
  EXPECT_GT(info["loss"]["loss_now"], 0.05);
  ASSERT_EQ(info["advice"].size(), 1U);
  write("left", numbers(4001, 20'000));
  const ran verified = run({"verify", "offers", "--keys", "left", "--probes", "1000"});
  EXPECT_EQ(verified.code, 1);
  EXPECT_TRUE(contains(verified.out, "BROKEN  false negatives")) << verified.out;
  EXPECT_TRUE(contains(verified.out, "build it again from its keys")) << verified.out;
}

TEST_F(Dual, WhatWasAddedCountsAgainstTheCapacityAlsoWhenItHasLeft) {
  build("offers", numbers(1, 10'000), {"--kind", "dual", "-n", "10000"});
  ASSERT_NE(run({"remove", "-q", "offers"}, numbers(1, 2000)).code, 2);
  const ran added = run({"add", "offers"}, numbers(10'001, 15'000));
  EXPECT_EQ(added.code, 0);
  EXPECT_TRUE(contains(added.err, "bloomery: warning: offers: now has taken 14,")) << added.err;
  EXPECT_TRUE(contains(added.err, "and was made for 10,000")) << added.err;
  EXPECT_EQ(json_of({"info", "--json", "offers"})["overfull"], true);
}

TEST_F(Dual, WhenNoMoreCanComeBackAddIsAnErrorAndTheFileStays) {
  build("offers", numbers(1, 1000), {"--kind", "dual", "-n", "1000"});
  ASSERT_NE(run({"remove", "-q", "offers"}, numbers(1, 900)).code, 2);
  const std::string before = read("offers");
  const ran added = run({"add", "offers"}, numbers(1, 900));
  EXPECT_EQ(added.code, 2);
  EXPECT_TRUE(contains(added.err, "bloomery: offers: the filter has no room for another key that was removed before"))
      << added.err;
  EXPECT_TRUE(read("offers") == before);
}

TEST_F(Dual, MergesWhatHasTheSameRemovalsAndRefusesTheRest) {
  build("a", numbers(1, 500), {"--kind", "dual", "-n", "1000"});
  build("b", numbers(501, 1000), {"--kind", "dual", "-n", "1000"});
  ASSERT_EQ(run({"merge", "-q", "-o", "both", "a", "b"}).code, 0);
  EXPECT_EQ(run({"query", "-c", "both"}, numbers(1, 1000)).out, "1000\n");
  ASSERT_EQ(run({"remove", "-q", "a"}, "7\n").code, 0);
  expect_error(
      {"merge", "-o", "x", "a", "b"},
      "bloomery: a and b: the filters do not fit together: their removals differ, and what one removed and the "
      "other has would be lost");
  expect_error({"count", "a"},
               "bloomery: a: is of kind dual, which cannot count keys; kinds that can: bitmap, counting, growing, "
               "cuckoo, dleft",
               "7\n");
}

TEST_F(Dual, FiltersOfOtherSizesAreFoldedAndMergedAsLongAsNothingWasRemoved) {
  // 20 and 40 removal blocks.
  build("small", numbers(1, 500), {"--kind", "dual", "-n", "1000", "--hashes", "6", "--bits-per-key", "22.784"});
  build("large", numbers(501, 1000), {"--kind", "dual", "-n", "1000", "--hashes", "6", "--bits-per-key", "44.544"});
  const ran merged = run({"merge", "-o", "both", "small", "large"});
  EXPECT_EQ(merged.code, 0) << merged.err;
  EXPECT_TRUE(contains(merged.err, "folded large 2 times\n")) << merged.err;
  EXPECT_EQ(run({"query", "-c", "both"}, numbers(1, 1000)).out, "1000\n");
  ASSERT_EQ(run({"remove", "-q", "large"}, "700\n").code, 0);
  expect_error({"merge", "-o", "x", "small", "large"},
               "bloomery: large: keys were removed from it: folded, it would lose more of the others");
  EXPECT_FALSE(exists("x"));
}

}  // namespace
