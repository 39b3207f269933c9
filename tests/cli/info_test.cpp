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
  EXPECT_LE(info["target_fpr"], 0.001);
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

TEST_F(Info, TellsWhenAFilterIsOverfullAndWhatToDo) {
  build_overfull("f", numbers(1, 3000), {"-n", "1000"});
  const ran result = run({"info", "f"});
  EXPECT_EQ(result.code, 0);
  EXPECT_TRUE(contains(result.out, "\n  overfull       it holds about ")) << result.out;
  EXPECT_TRUE(contains(result.out, " keys and was made for 1,000: build it again with -n ")) << result.out;
  EXPECT_TRUE(contains(result.out, ", and with --headroom 20% if more keys are to come\n")) << result.out;
  const auto info = json_of({"info", "--json", "f"});
  EXPECT_EQ(info["overfull"], true);
  ASSERT_EQ(info["advice"].size(), 1U);
  EXPECT_TRUE(contains(result.out, info["advice"][0].get<std::string>()));
  EXPECT_GT(info["fpr_now"], info["target_fpr"]);
  build_overfull("brim", numbers(1, 20000), {"-n", "100"});
  EXPECT_TRUE(contains(run({"info", "brim"}).out, "it holds far more keys than the 100 that it was made for"));
}

TEST_F(Info, AFilterThatHoldsWhatItWasMadeForIsNotOverfull) {
  for (const char* kind : {"bloom", "blocked"}) {
    for (const int keys : {10, 1000, 30000}) {
      build("g", numbers(1, keys), {"--kind", kind, "-n", std::to_string(keys)});
      const auto info = json_of({"info", "--json", "g"});
      EXPECT_EQ(info["overfull"], false) << info;
      EXPECT_TRUE(info["advice"].empty());
      std::filesystem::remove(path("g"));
    }
  }
}

TEST_F(Info, AMergedFilterBeyondItsCapacityIsOverfullByEstimate) {
  build("a", numbers(1, 1000), {"-n", "1000", "--seed", "3"});
  build("b", numbers(1001, 2000), {"-n", "1000", "--seed", "3"});
  ASSERT_EQ(run({"merge", "-q", "-o", "both", "a", "b"}).code, 0);
  const auto info = json_of({"info", "--json", "both"});
  EXPECT_EQ(info["keys_exact"], false);
  EXPECT_NEAR(info["estimated_keys"].get<double>(), 2000, 100);
  EXPECT_EQ(info["overfull"], true);
}

TEST_F(Info, SaysHowAFileIsPacked) {
  build("text", numbers(1, 1000), {"--format", "text"});
  build("packed", numbers(1, 10), {"-n", "1000", "--compress", "zstd"});
  build("gz", numbers(1, 10), {"-n", "1000", "--compress", "gzip"});
  EXPECT_TRUE(contains(run({"info", "text"}).out, "2,150 bytes (2.1 KiB), text form of version 1\n"))
      << run({"info", "text"}).out;
  EXPECT_EQ(json_of({"info", "--json", "text"})["format"], "text");
  EXPECT_TRUE(contains(run({"info", "packed"}).out, ", native version 1, zstd: ")) << run({"info", "packed"}).out;
  EXPECT_EQ(json_of({"info", "--json", "gz"})["compression"], "gzip");
  EXPECT_EQ(json_of({"info", "--json", "gz"})["file_bytes"], read("gz").size());
}

TEST_F(Info, ADamagedChunkIsNamedUnlessTheFileIsTrusted) {
  build("f", numbers(1, 1000));
  std::string bytes = read("f");
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write("damaged", bytes);
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"info", "damaged"}, {"info", "--json", "damaged"}, {"info", "--plot", "damaged"}}) {
    const ran result = run(words);
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err.rfind("bloomery: damaged: is damaged in chunk 0, bytes ", 0), 0U) << result.err;
    EXPECT_EQ(lines_in(result.err), 1U);
  }
  EXPECT_EQ(run({"info", "--trust", "damaged"}).code, 0);
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
  // Cells in use, not bits: at its capacity half of the counters are above 0, and a sixth of their bits is set.
  build("counters", numbers(1, 20000), {"--kind", "counting"});
  const std::string counters = run({"info", "--plot", "counters"}).out;
  const std::string emptiest = counters.substr(counters.find("emptiest part ") + 14);
  EXPECT_GT(std::stod(emptiest), 35.0) << emptiest;
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
