#include <bloomery/hash/list.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/run_tool.hpp"

namespace {

using namespace bloomery;
using namespace bloomery_test;
using nlohmann::json;

TEST(Hashes, ListsEveryHashInTheOrderOfTheList) {
  const ran result = run_tool({"hashes", "--quick", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const json all = json::parse(result.out, nullptr, false);
  ASSERT_EQ(all["hashes"].size(), hash_list::size);
  std::size_t at = 0;
  for_each_type(hash_list{}, [&](auto tag) {
    const hash_info& info = decltype(tag)::type::info;
    const json& row = all["hashes"][at++];
    EXPECT_EQ(row["name"], std::string(info.name));
    EXPECT_EQ(row["id"], info.id);
    EXPECT_EQ(row["bits"], info.bits);
    EXPECT_EQ(row["seed_bits"], info.seed_bits);
    EXPECT_EQ(row["key_bytes"], info.key_bytes);
    EXPECT_EQ(row["keyed"], info.key_bytes != 0);
    EXPECT_EQ(row["summary"], std::string(info.summary));
  });
  EXPECT_EQ(all["default"], "mum2");
}

TEST(Hashes, MeasuresEveryKeySizeThatAHashTakes) {
  const json all = json::parse(run_tool({"hashes", "--quick", "--json"}).out, nullptr, false);
  for (const json& row : all["hashes"]) {
    for (const char* size : {"8", "16", "65"}) {
      const json& ns = row["ns_per_key"][size];
      if (row["name"] == "identity" && std::string_view(size) != "8") {
        EXPECT_TRUE(ns.is_null());
      } else {
        ASSERT_TRUE(ns.is_number()) << row;
        EXPECT_GT(ns.get<double>(), 0.0) << row;
      }
    }
  }
}

TEST(Hashes, ExplainsWithFiguresWhyNotMessageDigests) {
  const json all = json::parse(run_tool({"hashes", "--quick", "--json"}).out, nullptr, false);
  ASSERT_EQ(all["not_used"].size(), 3U);
  const std::vector<std::pair<std::string, unsigned>> expected = {{"md5", 128}, {"sha1", 160}, {"sha256", 256}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(all["not_used"][i]["name"], expected[i].first);
    EXPECT_EQ(all["not_used"][i]["bits"], expected[i].second);
  }
  // The figures are those of an archived run, which is named and there.
  const std::string run = all["not_used"][2]["run"].get<std::string>();
  const std::filesystem::path folder = std::filesystem::path(BLOOMERY_SOURCE_DIR) / "bench" / "runs" / run;
  double least = 1e9;
  double least_default = 1e9;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".json") continue;
    std::ifstream in(file.path());
    const json then = json::parse(in, nullptr, false);
    least = std::min(least, then["not_used"][2]["ns_per_key"]["16"].get<double>());
    least_default = std::min(least_default, then["hashes"][0]["ns_per_key"]["16"].get<double>());
  }
  EXPECT_EQ(all["not_used"][2]["ns_per_key"]["16"].get<double>(), least);
  EXPECT_NEAR(all["not_used"][2]["times_the_default"].get<double>(), least / least_default, 0.05);
  EXPECT_TRUE(contains(all["why_not"].get<std::string>(), "--key-file"));
}

TEST(Hashes, PrintsOneAsciiLineForEach) {
  const ran result = run_tool({"hashes", "--quick"}, {"LC_ALL=C.UTF-8"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_TRUE(is_ascii(result.out));
  for_each_type(hash_list{}, [&](auto tag) {
    const hash_info& info = decltype(tag)::type::info;
    EXPECT_TRUE(contains(result.out, "\n" + std::string(info.name) + " ")) << info.name;
    EXPECT_TRUE(contains(result.out, "  " + std::string(info.summary) + "\n")) << info.name;
  });
  for (const char* name : {"\nmd5 ", "\nsha1 ", "\nsha256 ", " times mum2 at 16 bytes\n", "\nWhy not: "}) {
    EXPECT_TRUE(contains(result.out, name)) << name;
  }
}

TEST(Hashes, TakesNoOperandsAndNoOptionsOfOthers) {
  for (const char* word : {"xxh3", "--plot", "-n5"}) {
    const ran result = run_tool({"hashes", word});
    EXPECT_EQ(result.code, 2) << word;
    EXPECT_EQ(result.out, "") << word;
    EXPECT_EQ(result.err.rfind("bloomery: hashes: ", 0), 0U) << result.err;
  }
}

}  // namespace
