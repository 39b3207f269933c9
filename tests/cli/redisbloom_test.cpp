// bloomery with files of RedisBloom: tests/golden/redisbloom has who wrote them.
#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

const std::string golden_dir = BLOOMERY_GOLDEN_DIR "/redisbloom/2.8.20/";

class RedisBloomTool : public tool_box {
 protected:
  [[nodiscard]] static std::string golden(const std::string& name) {
    std::ifstream in(golden_dir + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // The first so many keys, as hexadecimal lines.
  [[nodiscard]] std::string keys(std::size_t count) const {
    std::istringstream lines(golden("keys.tsv"));
    std::string out;
    for (std::string line; count != 0 && std::getline(lines, line);) {
      if (line.starts_with('#')) continue;
      out.append(line == "-" ? "" : line).append("\n");
      --count;
    }
    return out;
  }
};

TEST_F(RedisBloomTool, BuildsTheBytesOfTheProduct) {
  build("a", keys(400),
        {"--hex", "--format", "redisbloom", "--encoding", "dump", "-n", "100", "-p", "0.001", "--growth", "4"});
  EXPECT_TRUE(read("a") == golden("bf_100_0.001_exp4_scaled.rdbdump.bin"));
  build("b", keys(400),
        {"--hex", "--format", "redisbloom", "--encoding", "dump", "-n", "400", "-p", "1%", "--mode", "fixed"});
  EXPECT_TRUE(read("b") == golden("bf_400_0.01_nonscaling.rdbdump.bin"));
  build("c", keys(200),
        {"--hex", "--format", "redisbloom", "--kind", "cuckoo", "-n", "16", "--bucket-size", "4", "--growth", "2"});
  EXPECT_TRUE(read("c").substr(0, 38) == golden("cf_16_bs4_exp2_grown.chunk0_iter1.bin"));
}

TEST_F(RedisBloomTool, InfoTellsTheTruthAboutEveryGoldenFile) {
  const auto told = [&](const std::string& name, const std::string& kind, std::uint64_t keys,
                        std::uint64_t sub_filters) {
    const auto of = json_of({"info", "--json", golden_dir + name + ".rdbdump.bin"});
    EXPECT_EQ(of["format"], "redisbloom") << name;
    EXPECT_EQ(of["kind"], kind) << name;
    EXPECT_EQ(of["keys"], keys) << name;
    EXPECT_EQ(of["parameters"]["sub-filters"], sub_filters) << name;
    return of;
  };
  EXPECT_EQ(told("bf_default", "scalable", 50, 1)["parameters"]["growth"], 2);
  EXPECT_EQ(told("bf_100_0.01", "scalable", 100, 1)["target_fpr"], 0.01);
  EXPECT_EQ(told("bf_100_0.01_scaled", "scalable", 399, 3)["capacity_keys"], nullptr) << "it grows";
  EXPECT_EQ(told("bf_100_0.001_exp4_scaled", "scalable", 400, 2)["parameters"]["growth"], 4);
  EXPECT_EQ(told("bf_10_0.01_exp1_scaled", "scalable", 95, 10)["parameters"]["growth"], 1);
  EXPECT_EQ(told("bf_1_0.24", "scalable", 1, 1)["target_fpr"], 0.24);
  const auto fixed = told("bf_400_0.01_nonscaling", "scalable", 400, 1);
  EXPECT_EQ(fixed["parameters"]["mode"], "fixed");
  EXPECT_EQ(fixed["capacity_keys"], 400) << "it does not";
  EXPECT_TRUE(contains(run({"info", golden_dir + "bf_400_0.01_nonscaling.rdbdump.bin"}).out,
                       "  capacity       400 keys, 100 % used\n"));
  EXPECT_EQ(told("cf_default_1024", "cuckoo", 200, 1)["parameters"]["buckets_of_the_first"], 512);
  EXPECT_EQ(told("cf_100_bs2", "cuckoo", 80, 2)["parameters"]["slots_a_bucket"], 2);
  EXPECT_EQ(told("cf_16_bs4_exp2_grown", "cuckoo", 200, 4)["memory_bytes"], 240);
  for (const char* name : {"bf_default.chunk0_iter1.bin", "cf_default_1024.chunk0_iter1.bin"}) {
    expect_error({"info", golden_dir + name}, "bloomery: " + golden_dir + name +
                                                  ": is not a filter in format redisbloom: a SCANDUMP header alone: "
                                                  "give its chunks behind it");
  }
  EXPECT_EQ(run({"info", golden_dir + "bf_default.chunk1_iter145.bin"}).code, 2) << "bits alone";
}

TEST_F(RedisBloomTool, JoinsTheRepliesOfScandump) {
  const std::string at = golden_dir + "bf_100_0.01_scaled.chunk";
  const ran joined = run({"convert", at + "0_iter1.bin", at + "1_iter145.bin", at + "2_iter457.bin",
                          at + "3_iter1153.bin", "-o", "all", "--to", "redisbloom", "--encoding", "dump"});
  EXPECT_EQ(joined.code, 0) << joined.err;
  EXPECT_TRUE(read("all") == golden("bf_100_0.01_scaled.rdbdump.bin"));
  const ran half = run({"convert", at + "0_iter1.bin", "-o", "half", "--to", "redisbloom"});
  EXPECT_EQ(half.code, 2);
  EXPECT_NE(half.err.find("a SCANDUMP header alone: give its chunks behind it"), std::string::npos) << half.err;
  EXPECT_FALSE(exists("half"));
  build("x.bloom", "a\n");
  write("y", "");
  EXPECT_EQ(run({"convert", "x.bloom", "y", "-o", "z", "--to", "text"}).code, 2);
}

TEST_F(RedisBloomTool, AFileKeepsItsFormWhenItIsChanged) {
  write("f", golden("bf_100_0.01.rdbdump.bin"));
  const ran added = run({"add", "--hex", "f"}, keys(400));
  EXPECT_EQ(added.code, 0) << added.err;
  EXPECT_TRUE(read("f") == golden("bf_100_0.01_scaled.rdbdump.bin"));
}

TEST_F(RedisBloomTool, BecomesNativeAndComesBack) {
  for (const char* name : {"bf_100_0.01_scaled", "cf_default_1024"}) {
    const std::string file = golden_dir + name + ".rdbdump.bin";
    EXPECT_EQ(run({"convert", file, "-o", "n.bloom", "--to", "native", "--force"}).code, 0) << name;
    EXPECT_EQ(run({"convert", "n.bloom", "-o", "back", "--to", "redisbloom", "--encoding", "dump", "--force"}).code, 0)
        << name;
    EXPECT_TRUE(read("back") == golden(std::string(name) + ".rdbdump.bin")) << name;
  }
  const ran grown = run({"convert", golden_dir + "cf_100_bs2.rdbdump.bin", "-o", "g", "--to", "native"});
  EXPECT_EQ(grown.code, 2);
  EXPECT_NE(grown.err.find("has grown"), std::string::npos) << grown.err;
}

TEST_F(RedisBloomTool, RemovesAndCountsInCuckooFilters) {
  write("f", golden("cf_100_bs2.rdbdump.bin"));
  EXPECT_EQ(run({"remove", "--hex", "f"}, keys(80)).code, 0);
  EXPECT_EQ(run({"query", "-q", "--hex", "f"}, keys(80)).code, 1) << "none is left";
  EXPECT_EQ(run({"add", "--hex", "f"}, keys(3)).code, 0);
  const ran counted = run({"count", "--hex", "f"}, keys(2));
  EXPECT_EQ(counted.code, 0) << counted.err;
  EXPECT_EQ(read("f").substr(0, 9), golden("cf_100_bs2.rdbdump.bin").substr(0, 9));
}

TEST_F(RedisBloomTool, OptionsOfItsFormatAreForNoOther) {
  EXPECT_EQ(run({"build", "-o", "x", "--bucket-size", "4", "--format", "dcso"}, "a\n").code, 2);
  EXPECT_EQ(run({"build", "-o", "x", "--growth", "4", "--format", "dcso"}, "a\n").code, 2);
  const ran other = run({"build", "-o", "x", "--kind", "blocked", "--format", "redisbloom"}, "a\n");
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("has the kinds scalable (BF) and cuckoo (CF)"), std::string::npos) << other.err;
  EXPECT_EQ(run({"build", "-o", "x", "--layout", "redis", "--format", "redisbloom"}, "a\n").code, 2);
}

}  // namespace
