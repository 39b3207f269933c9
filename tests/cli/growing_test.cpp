// Kind growing through the verbs of the tool.
#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class Growing : public tool_box {};

TEST_F(Growing, NeedsNoNumberOfKeysAndKeepsItsRateWhileKeysAreAdded) {
  build("ids", numbers(1, 1000), {"--kind", "growing", "-p", "1%"});
  write("more", numbers(1001, 100'000));
  const ran added = run({"add", "ids", "more"});
  EXPECT_EQ(added.code, 0);
  EXPECT_EQ(added.err.rfind("ids: growing, 99,000 keys read, ", 0), 0U) << added.err;
  write("all", numbers(1, 100'000));
  const ran verified = run({"verify", "ids", "--keys", "all"});
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
  const auto info = json_of({"info", "--json", "ids"});
  EXPECT_EQ(info["kind"], "growing");
  EXPECT_EQ(info["overfull"], false);
  EXPECT_TRUE(info["capacity_keys"].is_null());
  EXPECT_NEAR(info["fpr_now"].get<double>(), 0.00293, 0.0002);
  EXPECT_NEAR(info["estimated_keys"].get<double>(), 100'000, 200);
}

TEST_F(Growing, TheSameKeysGiveTheSameBytesWithAnyNumberOfThreads) {
  build("one", numbers(1, 50'000), {"--kind", "growing", "-j", "1"});
  build("two", numbers(1, 50'000), {"--kind", "growing", "-j", "2"});
  EXPECT_TRUE(read("one") == read("two"));
}

TEST_F(Growing, CountsAndRemovesWhatWasAddedMoreThanOnce) {
  build("bag", numbers(1, 1000) + numbers(1, 10), {"--kind", "growing"});
  EXPECT_EQ(run({"count", "bag"}, "3\n500\nnot there\n").out, "2\t3\n1\t500\n0\tnot there\n");
  const ran removed = run({"remove", "bag"}, "3\n500\nnot there\n");
  EXPECT_EQ(removed.code, 1);
  EXPECT_EQ(removed.err.rfind("bag: growing, 3 keys read, 2 removed, 1 absent; holds about ", 0), 0U) << removed.err;
  EXPECT_EQ(run({"query", "-v", "bag"}, numbers(1, 1000)).out, "500\n");
}

TEST_F(Growing, ASetStoresEqualKeysOnceAndRefusesToRemove) {
  build("once", numbers(1, 1000), {"--kind", "growing", "--mode", "set"});
  build("twice", numbers(1, 1000) + numbers(1, 1000), {"--kind", "growing", "--mode", "set"});
  EXPECT_TRUE(read("once") == read("twice"));
  const std::string before = read("once");
  expect_error({"remove", "once"},
               "bloomery: once: kind growing erases in mode multiset only, and this filter is of mode set", "1\n");
  EXPECT_TRUE(read("once") == before);
  EXPECT_EQ(run({"count", "once"}, "7\n").out, "1\t7\n");
}

TEST_F(Growing, MergesFiltersOfDifferentSizesAndRefusesToBreakThePromise) {
  build("small", numbers(1, 500), {"--kind", "growing"});
  build("large", numbers(501, 40'000), {"--kind", "growing", "-n", "20000"});
  EXPECT_EQ(run({"merge", "-q", "-o", "all", "small", "large"}).code, 0);
  EXPECT_EQ(run({"query", "-v", "all"}, numbers(1, 40'000)).out, "");
  build("set", numbers(1, 500), {"--kind", "growing", "--mode", "set"});
  const ran modes = run({"merge", "-o", "x", "small", "set"});
  EXPECT_EQ(modes.code, 2);
  EXPECT_TRUE(contains(modes.err, "one is of mode multiset and one of mode set")) << modes.err;
  const ran both = run({"merge", "--intersect", "-o", "x", "small", "large"});
  EXPECT_EQ(both.code, 2);
  EXPECT_TRUE(contains(both.err, "kind growing cannot intersect")) << both.err;
  build("crowd", numbers(1, 200'000), {"--kind", "growing", "-p", "0.5%", "--layout", "slots16"});
  build("crowd2", numbers(200'001, 400'000), {"--kind", "growing", "-p", "0.5%", "--layout", "slots16"});
  const ran refused = run({"merge", "-o", "x", "crowd", "crowd2"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(contains(refused.err, "use --any-rate")) << refused.err;
  EXPECT_FALSE(exists("x"));
  const ran allowed = run({"merge", "--any-fpr", "-o", "x", "crowd", "crowd2"});
  EXPECT_EQ(allowed.code, 0);
  EXPECT_TRUE(contains(allowed.err, "promised was 0.500 %; build it again from its keys")) << allowed.err;
}

TEST_F(Growing, RefusesWhatDoesNotGoWithGrowing) {
  expect_error({"build", "-o", "x", "--kind", "growing", "--mode", "bag"},
               "bloomery: build: kind growing has the modes multiset and set", "a\n");
  expect_error({"build", "-o", "x", "--kind", "blocked", "--mode", "set"},
               "bloomery: build: kind blocked has no modes: leave --mode out", "a\n");
  expect_error({"build", "-o", "x", "--kind", "growing", "--mem", "1Mi"},
               "bloomery: build: kind growing grows with its keys: leave --mem and --bits-per-key out", "a\n");
  expect_error({"build", "-o", "x", "--kind", "growing", "--layout", "slots12"},
               "bloomery: build: kind growing has the layouts slots16, slots24 and slots32", "a\n");
  EXPECT_FALSE(exists("x"));
}

}  // namespace
