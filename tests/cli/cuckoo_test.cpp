// Kind cuckoo through the verbs of the tool.
#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class Cuckoo : public tool_box {};

TEST_F(Cuckoo, TakesKeysInAndOut) {
  build("coupons", numbers(1, 20'000), {"--kind", "cuckoo", "-p", "0.1%"});
  EXPECT_EQ(run({"query", "-c", "-v", "coupons"}, numbers(1, 20'000)).out, "0\n");
  write("all", numbers(1, 20'000));
  const ran verified = run({"verify", "coupons", "--keys", "all"});
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
  EXPECT_EQ(run({"remove", "-q", "coupons"}, numbers(101, 20'000)).code, 0);
  const auto info = json_of({"info", "--json", "coupons"});
  EXPECT_EQ(info["kind"], "cuckoo");
  EXPECT_EQ(info["parameters"]["layout"], "window");
  EXPECT_EQ(info["keys"], 100);
  EXPECT_EQ(info["keys_exact"], true);
  EXPECT_EQ(run({"query", "-c", "-v", "coupons"}, numbers(1, 100)).out, "0\n");
}

TEST_F(Cuckoo, AFullFilterIsAnErrorAndTheFileStaysAsItWas) {
  const ran built = run({"build", "-o", "x", "--kind", "cuckoo", "-n", "1000"}, numbers(1, 5000));
  EXPECT_EQ(built.code, 2);
  EXPECT_TRUE(contains(built.err, "the filter is full: it holds ")) << built.err;
  EXPECT_FALSE(exists("x"));
  build("small", numbers(1, 1000), {"--kind", "cuckoo"});
  const std::string before = read("small");
  const ran added = run({"add", "small"}, numbers(1001, 5000));
  EXPECT_EQ(added.code, 2);
  EXPECT_TRUE(contains(added.err, "the filter is full: it holds ")) << added.err;
  EXPECT_TRUE(read("small") == before);
}

TEST_F(Cuckoo, CountsAFewCopiesAndASetTakesAnyNumber) {
  build("bag", numbers(1, 1000) + "7\n7\n", {"--kind", "cuckoo", "-n", "2000", "--layout", "slots4"});
  EXPECT_EQ(run({"count", "bag"}, "7\n500\nnot there\n").out, "3\t7\n1\t500\n0\tnot there\n");
  std::string many;
  for (int i = 0; i < 9; ++i) many += "same\n";
  const ran crowded = run({"build", "-o", "x", "--kind", "cuckoo", "-n", "2000"}, many);
  EXPECT_EQ(crowded.code, 2);
  EXPECT_EQ(lines_in(crowded.err), 1U);
  EXPECT_TRUE(contains(crowded.err,
                       "the filter has no room for more than 4 copies of a key, and one came more often: use mode set"))
      << crowded.err;
  EXPECT_FALSE(exists("x"));
  build("set", many + numbers(1, 1000), {"--kind", "cuckoo", "-n", "2000", "--mode", "set"});
  EXPECT_EQ(run({"count", "set"}, "same\n7\n").out, "1\tsame\n1\t7\n");
  expect_error({"remove", "set"},
               "bloomery: set: kind cuckoo erases in mode multiset only, and this filter is of mode set", "7\n");
}

TEST_F(Cuckoo, TheSameKeysGiveTheSameBytesWithAnyNumberOfThreads) {
  build("one", numbers(1, 50'000), {"--kind", "cuckoo", "-j", "1"});
  build("two", numbers(1, 50'000), {"--kind", "cuckoo", "-j", "2"});
  EXPECT_TRUE(read("one") == read("two"));
}

TEST_F(Cuckoo, RefusesWhatItCannotDo) {
  build("a", numbers(1, 100), {"--kind", "cuckoo"});
  build("b", numbers(1, 100), {"--kind", "cuckoo"});
  const ran merged = run({"merge", "-o", "x", "a", "b"});
  EXPECT_EQ(merged.code, 2);
  EXPECT_TRUE(contains(merged.err, "is of kind cuckoo, which cannot be merged")) << merged.err;
  expect_error(
      {"build", "-o", "x", "--kind", "cuckoo", "--layout", "slots3"},
      "bloomery: build: kind cuckoo has the layouts window, slots4, slots2, sorted and redis, also with a width: "
      "slots4:12",
      "a\n");
  EXPECT_FALSE(exists("x"));
}

}  // namespace
