#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class Info : public tool_box {};

TEST_F(Info, SaysWhatThereIsToKnow) {
  build("f", numbers(1, 1000), {"--seed", "7"});
  const ran result = run({"info", "f"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "");
  for (const char* part : {"f\n", "native version 1", "kind           blocked", "layout         split64",
                           "hash functions", "xxh3, seed 7, 64-bit digests", "capacity       1,000 keys", "fill ",
                           "FPR promised   1.00 %", "FPR now ", "memory "}) {
    EXPECT_TRUE(contains(result.out, part)) << part;
  }
  EXPECT_FALSE(contains(result.out, "overfull"));
}

TEST_F(Info, JsonHasStableNamesAndTrueValues) {
  build("f", numbers(1, 1000), {"--kind", "bloom", "-p", "0.1%"});
  const auto info = json_of({"info", "--json", "f"});
  EXPECT_EQ(info["file"], "f");
  EXPECT_EQ(info["file_version"], 1);
  EXPECT_EQ(info["file_bytes"], read("f").size());
  EXPECT_EQ(info["kind"], "bloom");
  EXPECT_EQ(info["capacity_keys"], 1000);
  EXPECT_EQ(info["keys_exact"], true);
  EXPECT_NEAR(info["keys"].get<double>(), 1000, 5);
  EXPECT_NEAR(info["estimated_keys"].get<double>(), 1000, 40);
  EXPECT_NEAR(info["fill"].get<double>(), 0.5, 0.03);
  EXPECT_NEAR(info["fpr_now"].get<double>(), 0.001, 0.0004);
  EXPECT_LE(info["fpr_promised"], 0.001);
  EXPECT_EQ(info["overfull"], false);
  EXPECT_TRUE(info["key_id"].is_null());
}

TEST_F(Info, SeveralFilesGiveOneObjectALine) {
  build("f", "a\n");
  build("g", "b\n", {"--kind", "bloom"});
  const ran result = run({"info", "--json", "f", "g"});
  ASSERT_EQ(lines_in(result.out), 2U);
  const std::size_t end = result.out.find('\n');
  EXPECT_EQ(nlohmann::json::parse(result.out.substr(0, end))["kind"], "blocked");
  EXPECT_EQ(nlohmann::json::parse(result.out.substr(end))["kind"], "bloom");
  EXPECT_TRUE(contains(run({"info", "f", "g"}).out, "\ng\n"));
}

TEST_F(Info, TellsWhenAFilterIsOverfull) {
  build("f", numbers(1, 3000), {"-n", "1000", "-q"});
  const ran result = run({"info", "f"});
  EXPECT_EQ(result.code, 0);
  EXPECT_TRUE(contains(result.out, "overfull: it was made for 1,000 keys; for the keys in it at 1.00 % build one of "));
  EXPECT_EQ(json_of({"info", "--json", "f"})["overfull"], true);
}

TEST_F(Info, PlotDrawsTheFill) {
  build("full", numbers(1, 20000));
  build("sparse", numbers(1, 20), {"-n", "20000"});
  const std::string full = run({"info", "--plot", "full"}).out;
  const std::string sparse = run({"info", "--plot", "sparse"}).out;
  EXPECT_TRUE(is_ascii(full)) << "in a pipe";
  EXPECT_EQ(std::count(full.begin(), full.end(), '|'), 16);
  const auto blanks = [](const std::string& text) {
    const std::size_t first = text.find('|');
    return std::count(text.begin() + static_cast<std::ptrdiff_t>(first), text.end(), ' ');
  };
  EXPECT_GT(blanks(sparse), blanks(full) + 300);
  build("bits", numbers(1, 10), {"--kind", "bitmap", "--u64"});
  EXPECT_TRUE(contains(run({"info", "--plot", "bits"}).out, "kind bitmap has no bit array to draw"));
}

TEST_F(Info, ReadsStandardInput) {
  build("f", "a\n");
  const ran result = sh("$TOOL info --json - < f");
  EXPECT_EQ(nlohmann::json::parse(result.out)["file"], "standard input");
}

TEST_F(Info, AWrongFileIsAnErrorBehindTheGoodOnes) {
  build("f", "a\n");
  const ran result = run({"info", "f", "nosuch"});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.err, "bloomery: nosuch: cannot open: No such file or directory\n");
  EXPECT_TRUE(contains(result.out, "f\n"));
}

}  // namespace
