// merge --intersect: how many keys are in all of the filters.
#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class Intersect : public tool_box {
 protected:
  // 20,000 keys each, of which 1,000 are in both.
  void build_two(std::vector<std::string> how) const {
    how.insert(how.end(), {"-n", "20000"});
    build("a", numbers(1, 20'000), how);
    build("b", numbers(19'001, 39'000), how);
  }
  // The interval holds the truth and is worth something.
  static void expect_interval(const nlohmann::json& of, double truth, double most_width) {
    EXPECT_LE(of["keys_low"], truth) << of;
    EXPECT_GE(of["keys_high"], truth) << of;
    EXPECT_LE(of["keys_high"].get<double>() - of["keys_low"].get<double>(), most_width) << of;
    EXPECT_EQ(of["keys_exact"], false);
  }
};

TEST_F(Intersect, ReportsTheCommonKeysWithAnInterval) {
  for (const std::vector<std::string>& how :
       std::vector<std::vector<std::string>>{{},
                                             {"--kind", "bloom"},
                                             {"--kind", "counting"},
                                             {"--kind", "dual"},
                                             {"--shards", "4"},
                                             {"--format", "dcso", "-p", "0.1%"}}) {
    build_two(how);
    const auto report = json_of({"merge", "--json", "--intersect", "-o", "f", "a", "b"});
    expect_interval(report, 1000, 1000);
    const ran said = run({"merge", "--force", "--intersect", "-o", "f", "a", "b"});
    EXPECT_TRUE(contains(said.err, " (")) << said.err;
    EXPECT_TRUE(contains(said.err, " to ")) << said.err;
    EXPECT_TRUE(contains(said.err, ", about ")) << said.err;
    // What is stored, too, and not as exact.
    const auto info = json_of({"info", "--json", "f"});
    EXPECT_LE(info["keys"], 1600) << info;
    EXPECT_EQ(run({"query", "-c", "f"}, numbers(19'001, 20'000)).out, "1000\n");
    ASSERT_EQ(sh("rm -f a b f a.* b.* f.*").code, 0);
  }
}

TEST_F(Intersect, InfoTellsTheKeysFromTheFill) {
  build_two({});
  ASSERT_EQ(run({"merge", "-q", "--intersect", "-o", "f", "a", "b"}).code, 0);
  const ran info = run({"info", "f"});
  EXPECT_TRUE(contains(info.out, ", and as full as one with ")) << info.out;
  EXPECT_EQ(json_of({"info", "--json", "f"})["keys_exact"], false);
  const ran added = run({"add", "f"}, "another\n");
  EXPECT_FALSE(contains(added.err, "holds about 7,")) << added.err;
}

TEST_F(Intersect, FoldedFiltersAreComparedAtOneSize) {
  build("a", numbers(1, 20'000), {"-n", "20000", "--kind", "bloom", "--bits-per-key", "16"});
  build("b", numbers(19'001, 39'000), {"-n", "20000", "--kind", "bloom", "--bits-per-key", "32", "--hashes", "11"});
  const auto report = json_of({"merge", "--json", "--intersect", "-o", "f", "a", "b"});
  EXPECT_EQ(report["inputs"][1]["folded"], 2);
  expect_interval(report, 1000, 800);
}

TEST_F(Intersect, OfMoreThanTwoIsAnUpperBound) {
  build_two({});
  build("c", numbers(19'501, 25'000), {"-n", "20000"});
  const auto report = json_of({"merge", "--json", "--intersect", "-o", "f", "a", "b", "c"});
  EXPECT_EQ(report["keys_low"], 0);
  EXPECT_GE(report["keys_high"], 500);
  EXPECT_LE(report["keys_high"], 1500);
  const ran said = run({"merge", "--force", "--intersect", "-o", "f", "a", "b", "c"});
  EXPECT_TRUE(contains(said.err, "f: intersection of 3 filters, blocked, at most about ")) << said.err;
}

TEST_F(Intersect, ExactSetsStayExactAndOneFilterIsItself) {
  build("a", numbers(1, 2000), {"--kind", "bitmap", "--u64"});
  build("b", numbers(1500, 3000), {"--kind", "bitmap", "--u64"});
  const ran exact = run({"merge", "--intersect", "-o", "f", "a", "b"});
  EXPECT_EQ(exact.err.rfind("f: intersection of 2 filters, bitmap, 501 keys, ", 0), 0U) << exact.err;
  const auto report = json_of({"merge", "--json", "--force", "--intersect", "-o", "f", "a", "b"});
  EXPECT_EQ(report["keys"], 501);
  EXPECT_EQ(report["keys_exact"], true);
  EXPECT_FALSE(report.contains("keys_low"));
}

}  // namespace
