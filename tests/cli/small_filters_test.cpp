// Filters that are too small for their layout: plan, build, info and verify say what they deliver.
#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class SmallFilters : public tool_box {};

TEST_F(SmallFilters, PlanPrintsTheRateThatLayoutRedisDeliversAndSaysThatItIsAboveP) {
  const std::vector<std::string> few = {"plan", "--kind", "scalable", "--layout", "redis", "-n", "100", "-p", "0.01%"};
  const ran text = run(few);
  EXPECT_EQ(text.code, 1) << text.out;
  EXPECT_TRUE(contains(text.out, "(above the 0.0100 % of -p)")) << text.out;
  EXPECT_TRUE(contains(text.out, "layout redis delivers 0.0")) << text.out;
  std::vector<std::string> words = few;
  words.emplace_back("--json");
  const ran json = run(words);
  EXPECT_EQ(json.code, 1);
  const auto row = nlohmann::json::parse(json.out)["kinds"][0];
  EXPECT_EQ(row["fits"], true);
  EXPECT_EQ(row["keeps_fpr"], false);
  EXPECT_GT(row["expected_fpr"].get<double>(), 0.00018);
  EXPECT_LT(row["expected_fpr"].get<double>(), 0.00025);
  // The number of keys that it names does.
  const std::string advice = nlohmann::json::parse(json.out)["advice"].dump();
  const auto at = advice.find("(-n ");
  ASSERT_NE(at, std::string::npos) << advice;
  const std::string keys = advice.substr(at + 4, advice.find(')', at) - at - 4);
  const ran enough = run({"plan", "--kind", "scalable", "--layout", "redis", "-n", keys, "-p", "0.01%"});
  EXPECT_EQ(enough.code, 0) << keys << enough.out;
  EXPECT_FALSE(contains(enough.out, "above the")) << enough.out;
}

TEST_F(SmallFilters, BuildAndInfoSayWhatLayoutRedisDelivers) {
  write("keys", numbers(1, 100));
  const ran built =
      run({"build", "-o", "few", "--kind", "scalable", "--layout", "redis", "-n", "100", "-p", "0.01%", "keys"});
  EXPECT_EQ(built.code, 0) << built.err;
  EXPECT_TRUE(contains(built.err, "few: its layout delivers 0.0")) << built.err;
  const auto info = json_of({"info", "--json", "few"});
  EXPECT_GT(info["fpr_now"].get<double>(), 0.00015);
  EXPECT_GT(info["fpr_delivered"].get<double>(), 0.00018);
  EXPECT_EQ(info["target_fpr"].get<double>(), 0.0001);
  EXPECT_EQ(info["overfull"], false) << "it holds what it was made for";
  EXPECT_TRUE(contains(info["advice"].dump(), "its layout delivers 0.0"));
  EXPECT_TRUE(contains(run({"info", "few"}).out, "small          its layout delivers 0.0"));
  const ran other = run({"build", "-o", "other", "--kind", "scalable", "-n", "100", "-p", "0.01%", "keys"});
  EXPECT_FALSE(contains(other.err, "delivers")) << other.err;
  EXPECT_FALSE(json_of({"info", "--json", "other"}).contains("fpr_delivered"));
}

TEST_F(SmallFilters, AFormatOfRedisBloomSaysSoToo) {
  const ran built = run({"build", "-o", "few", "--format", "redisbloom", "-n", "100", "-p", "0.01%"}, numbers(1, 100));
  EXPECT_EQ(built.code, 0) << built.err;
  EXPECT_TRUE(contains(built.err, "few: its layout delivers 0.0")) << built.err;
  const ran large =
      run({"build", "-o", "many", "--format", "redisbloom", "-n", "2000", "-p", "0.01%"}, numbers(1, 2000));
  EXPECT_FALSE(contains(large.err, "delivers")) << large.err;
}

TEST_F(SmallFilters, VerifyNamesTheCauseOfARateThatIsTooHigh) {
  build("few", numbers(1, 100), {"--kind", "scalable", "--layout", "redis", "-n", "100", "-p", "0.01%"});
  write("keys", numbers(1, 100));
  const ran verified = run({"verify", "few", "--keys", "keys", "--probes", "1M"});
  EXPECT_EQ(verified.code, 1) << verified.out;
  EXPECT_TRUE(contains(verified.out, "its layout delivers 0.0")) << verified.out;
}

}  // namespace
