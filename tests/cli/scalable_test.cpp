// Kind scalable through the verbs of the tool.
#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class Scalable : public tool_box {};

TEST_F(Scalable, NeedsNoNumberOfKeysAndKeepsItsRateWhileKeysAreAdded) {
  build("ids", numbers(1, 1000), {"--kind", "scalable", "-p", "1%"});
  write("more", numbers(1001, 50'000));
  const ran added = run({"add", "ids", "more"});
  EXPECT_EQ(added.code, 0);
  EXPECT_EQ(added.err.rfind("ids: scalable, 49,000 keys read, ", 0), 0U) << added.err;
  write("all", numbers(1, 50'000));
  const ran verified = run({"verify", "ids", "--keys", "all"});
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
  const auto info = json_of({"info", "--json", "ids"});
  EXPECT_EQ(info["kind"], "scalable");
  EXPECT_EQ(info["overfull"], false);
  EXPECT_TRUE(info["capacity_keys"].is_null());
  EXPECT_LE(info["fpr_now"].get<double>(), 0.01);
  EXPECT_NEAR(info["estimated_keys"].get<double>(), 50'000, 500);
  EXPECT_TRUE(contains(run({"info", "ids"}).out, "sub-filters"));
}

TEST_F(Scalable, TheSameKeysGiveTheSameBytesWithAnyNumberOfThreads) {
  build("one", numbers(1, 20'000), {"--kind", "scalable", "-j", "1"});
  build("two", numbers(1, 20'000), {"--kind", "scalable", "-j", "2"});
  EXPECT_TRUE(read("one") == read("two"));
}

TEST_F(Scalable, TheGrowthFactorDecidesHowManyLinksThereAre) {
  build("twos", numbers(1, 20'000), {"--kind", "scalable", "-n", "1000"});
  build("tens", numbers(1, 20'000), {"--kind", "scalable", "-n", "1000", "--growth", "10"});
  EXPECT_EQ(json_of({"info", "--json", "twos"})["parameters"]["sub-filters"], 5);
  EXPECT_EQ(json_of({"info", "--json", "tens"})["parameters"]["sub-filters"], 3);
  EXPECT_EQ(json_of({"info", "--json", "tens"})["parameters"]["growth"], 10);
}

TEST_F(Scalable, AFixedFilterRefusesMoreKeysThanItWasMadeForAndWritesNothing) {
  const ran refused =
      run({"build", "-o", "x", "--kind", "scalable", "--mode", "fixed", "-n", "1000"}, numbers(1, 2000));
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(contains(refused.err, "the filter is full: it holds 1000 keys")) << refused.err;
  EXPECT_FALSE(exists("x"));
  build("full", numbers(1, 900), {"--kind", "scalable", "--mode", "fixed", "-n", "1000"});
  const std::string before = read("full");
  const ran added = run({"add", "full"}, numbers(901, 2000));
  EXPECT_EQ(added.code, 2);
  EXPECT_TRUE(contains(added.err, "the filter is full")) << added.err;
  EXPECT_TRUE(read("full") == before);
}

TEST_F(Scalable, LayoutRedisIsBuiltAskedAndRefusedLikeTheOther) {
  build("redis", numbers(1, 5000), {"--kind", "scalable", "--layout", "redis", "-n", "100"});
  EXPECT_EQ(run({"query", "-v", "redis"}, numbers(1, 5000)).out, "");
  EXPECT_EQ(json_of({"info", "--json", "redis"})["parameters"]["layout"], "redis");
  const ran refused =
      run({"build", "-o", "x", "--kind", "scalable", "--layout", "redis", "--mode", "fixed", "-n", "100"},
          numbers(1, 2000));
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(contains(refused.err, "the filter is full: it holds 100 keys")) << refused.err;
  EXPECT_FALSE(exists("x"));
}

TEST_F(Scalable, RefusesWhatDoesNotGoWithIt) {
  expect_error({"build", "-o", "x", "--kind", "scalable", "--mode", "set"},
               "bloomery: build: kind scalable has the modes scaling and fixed", "a\n");
  expect_error({"build", "-o", "x", "--kind", "scalable", "--mode", "fixed"},
               "bloomery: build: mode fixed takes as many keys as it is made for: give their number with -n", "a\n");
  expect_error({"build", "-o", "x", "--kind", "scalable", "--layout", "split32"},
               "bloomery: build: kind scalable has the layouts split64 and redis", "a\n");
  expect_error({"build", "-o", "x", "--kind", "scalable", "--growth", "40000"},
               "bloomery: build: growth factor 40000 is not usable: give a whole number from 1 to 32768", "a\n");
  expect_error({"build", "-o", "x", "--kind", "blocked", "--growth", "3"},
               "bloomery: build: kind blocked has no growth factor: leave --growth out", "a\n");
  EXPECT_FALSE(exists("x"));
}

}  // namespace
