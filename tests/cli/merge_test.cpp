#include <sys/stat.h>

#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class Merge : public tool_box {
 protected:
  // A filter of so many blocks (bloom: words): memory decides the size, the number of keys the hash functions.
  void build_sized(const std::string& name, int blocks, int keys, std::string_view input,
                   const std::string& kind = "blocked") const {
    build(name, input,
          {"--kind", kind, "-n", std::to_string(keys), "--hashes", "4", "--mem",
           std::to_string(blocks * (kind == "blocked" ? 64 : 8))});
  }
};

TEST_F(Merge, TheUnionIsTheFilterOfAllKeys) {
  for (const char* kind : {"blocked", "bloom"}) {
    const std::string k(kind);
    const std::vector<std::string> how = {"--kind", kind, "-n", "5000"};
    build(k + "a", numbers(1, 2000), how);
    build(k + "b", numbers(1500, 3000), how);
    build(k + "c", numbers(3001, 4000), how);
    build(k + "all", numbers(1, 4000), how);
    const ran result = run({"merge", "-o", k, k + "a", k + "b", k + "c"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(lines_in(result.err), 1U) << result.err;
    EXPECT_EQ(result.err.rfind(k + ": union of 3 filters, " + kind + ", about ", 0), 0U) << result.err;
    const auto one = json_of({"info", "--json", k});
    const auto all = json_of({"info", "--json", k + "all"});
    EXPECT_EQ(one["fill"], all["fill"]);
    EXPECT_EQ(one["fpr_now"], all["fpr_now"]);
    EXPECT_TRUE(read(k).substr(256) == read(k + "all").substr(256)) << "all but the header, where keys are counted";
  }
}

TEST_F(Merge, TheUnionOfExactSetsIsExact) {
  const std::vector<std::string> how = {"--kind", "bitmap", "--u64"};
  build("a", numbers(1, 2000), how);
  build("b", numbers(1500, 3000), how);
  build("all", numbers(1, 3000), how);
  build("both", numbers(1500, 2000), how);
  const ran result = run({"join", "-o", "f", "a", "b"});
  EXPECT_EQ(result.err.rfind("f: union of 2 filters, bitmap, 3,000 keys, ", 0), 0U) << result.err;
  EXPECT_TRUE(read("f") == read("all"));
  ASSERT_EQ(run({"merge", "-q", "--intersect", "-o", "i", "a", "b"}).code, 0);
  EXPECT_TRUE(read("i") == read("both"));
}

TEST_F(Merge, TheIntersectionFindsEveryKeyThatIsInAll) {
  const std::vector<std::string> how = {"-n", "5000"};
  build("a", numbers(1, 3000), how);
  build("b", numbers(2000, 5000), how);
  const ran result = run({"merge", "--intersect", "-o", "f", "a", "b"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err.rfind("f: intersection of 2 filters, blocked, about ", 0), 0U) << result.err;
  EXPECT_EQ(run({"query", "-c", "f"}, numbers(2000, 3000)).out, "1001\n");
  EXPECT_LT(std::stoi(run({"query", "-c", "f"}, numbers(1, 1999)).out), 200);
}

TEST_F(Merge, FoldsTheLargerFilterToTheSmaller) {
  for (const char* kind : {"blocked", "bloom"}) {
    const std::string k(kind);
    build_sized(k + "large", 400, 1000, numbers(1, 500), kind);
    build_sized(k + "small", 100, 1000, numbers(501, 900), kind);
    build_sized(k + "all", 100, 1000, numbers(1, 900), kind);
    for (const bool large_first : {true, false}) {
      const std::string out = k + (large_first ? ".1" : ".2");
      const ran result =
          run({"merge", "-o", out, k + (large_first ? "large" : "small"), k + (large_first ? "small" : "large")});
      EXPECT_EQ(result.code, 0) << result.err;
      EXPECT_EQ(result.err.rfind("folded " + k + "large 4 times\n", 0), 0U) << result.err;
      EXPECT_TRUE(read(out).substr(256) == read(k + "all").substr(256)) << result.err;
      EXPECT_TRUE(contains(result.err, " at 1,000 keys\n")) << "the smaller filter's promise holds: " << result.err;
      EXPECT_EQ(run({"query", "-c", out}, numbers(1, 900)).out, "900\n");
    }
  }
}

TEST_F(Merge, FoldsAllToTheLargestSizeThatDividesEach) {
  build_sized("a", 600, 1000, numbers(1, 100));
  build_sized("b", 400, 1000, numbers(101, 200));
  build_sized("c", 1000, 1000, numbers(201, 300));
  build_sized("all", 200, 1000, numbers(1, 300));
  const auto object = json_of({"merge", "--json", "-o", "f", "a", "b", "c"});
  EXPECT_EQ(object["inputs"][0], (nlohmann::json{{"file", "a"}, {"folded", 3}}));
  EXPECT_EQ(object["inputs"][1], (nlohmann::json{{"file", "b"}, {"folded", 2}}));
  EXPECT_EQ(object["inputs"][2], (nlohmann::json{{"file", "c"}, {"folded", 5}}));
  EXPECT_TRUE(read("f").substr(256) == read("all").substr(256));
}

TEST_F(Merge, TheIntersectionOfFoldedFiltersLosesNoKey) {
  build_sized("a", 600, 1000, numbers(1, 300));
  build_sized("b", 400, 1000, numbers(200, 500));
  ASSERT_EQ(run({"merge", "-q", "--intersect", "-o", "f", "a", "b"}).code, 0);
  EXPECT_EQ(run({"query", "-c", "f"}, numbers(200, 300)).out, "101\n");
}

TEST_F(Merge, RefusesSizesWhoseCommonSizeIsUseless) {
  build_sized("a", 401, 2000, numbers(1, 2000));
  build_sized("b", 400, 2000, numbers(1, 2000));
  const auto there = names();
  expect_error(
      {"merge", "-o", "f", "a", "b"},
      "bloomery: a has 401 blocks, b has 400 blocks: folded to the largest size that divides both, 1, the result "
      "would be too full to be useful; build them with the same -n and -p");
  build_sized("c", 401, 2000, numbers(1, 2000), "bloom");
  build_sized("d", 7, 100, numbers(1, 100), "bloom");
  EXPECT_EQ(run({"merge", "-o", "f", "c", "d"}).code, 2);
  std::filesystem::remove(path("c"));
  std::filesystem::remove(path("d"));
  EXPECT_EQ(names(), there);
}

TEST_F(Merge, SaysWhatDiffers) {
  build("a", "1\n", {"-n", "1000"});
  build("seven", "1\n", {"-n", "1000", "--seed", "7"});
  build("murmur", "1\n", {"-n", "1000", "--hash", "murmur3-x64-128"});
  build("bloom", "1\n", {"-n", "1000", "--kind", "bloom"});
  build("hashes", "1\n", {"-n", "1000", "--hashes", "3"});
  build("layout", "1\n", {"-n", "1000", "--layout", "split32"});
  write("k1", "0123456789abcdef");
  write("k2", "0123456789abcdeX");
  build("key1", "1\n", {"-n", "1000", "--hash", "siphash13", "--key-file", "k1"});
  build("key2", "1\n", {"-n", "1000", "--hash", "siphash13", "--key-file", "k2"});
  const auto there = names();
  expect_error(
      {"merge", "-o", "f", "a", "a", "seven"},
      "bloomery: a was built with xxh3 seed 0, seven with xxh3 seed 7: only filters of one hash and seed can be "
      "merged");
  expect_error(
      {"merge", "-o", "f", "murmur", "a"},
      "bloomery: murmur was built with murmur3-x64-128 seed 0, a with xxh3 seed 0: only filters of one hash and "
      "seed can be merged");
  expect_error({"merge", "-o", "f", "a", "bloom"},
               "bloomery: a is of kind blocked, bloom of kind bloom: only filters of one kind can be merged");
  const ran keys = run({"merge", "-o", "f", "key1", "key2"});
  EXPECT_EQ(keys.code, 2);
  EXPECT_EQ(keys.err.rfind("bloomery: key1 was built with secret key ", 0), 0U) << keys.err;
  EXPECT_TRUE(contains(keys.err, ": only filters of one secret key can be merged\n")) << keys.err;
  const ran hashes = run({"merge", "-o", "f", "a", "hashes"});
  EXPECT_EQ(hashes.code, 2);
  EXPECT_EQ(lines_in(hashes.err), 1U);
  EXPECT_TRUE(contains(hashes.err, "their numbers of hash functions differ")) << hashes.err;
  EXPECT_TRUE(contains(hashes.err, "; hash functions ")) << hashes.err;
  build("fewer", "1\n", {"-n", "100", "--hashes", "4", "--mem", "64"});
  build("more", "1\n", {"-n", "100", "--hashes", "5", "--mem", "128"});
  expect_error(
      {"merge", "-o", "f", "fewer", "more"},
      "bloomery: fewer and more: the filters do not fit together: their numbers of hash functions differ; hash "
      "functions 4 and 5");
  std::filesystem::remove(path("fewer"));
  std::filesystem::remove(path("more"));
  const ran layouts = run({"merge", "-o", "f", "a", "layout"});
  EXPECT_EQ(layouts.code, 2);
  EXPECT_TRUE(contains(layouts.err, "layout split64 and split32")) << layouts.err;
  EXPECT_EQ(names(), there);
}

TEST_F(Merge, AddsUpWhatFiltersCount) {
  const std::vector<std::string> how = {"--kind", "counting", "-n", "3000"};
  build("a", numbers(1, 2000), how);
  build("b", numbers(1001, 3000), how);
  ASSERT_EQ(run({"merge", "-q", "-o", "f", "a", "b"}).code, 0);
  EXPECT_EQ(run({"count", "f"}, "7\n1500\n2900\n").out, "1\t7\n2\t1500\n1\t2900\n");
  EXPECT_EQ(run({"query", "-c", "f"}, numbers(1, 3000)).out, "3000\n");
  build("line", numbers(1, 10), {"--kind", "counting", "-n", "3000", "--layout", "line"});
  const ran layouts = run({"merge", "-o", "g", "a", "line"});
  EXPECT_EQ(layouts.code, 2);
  EXPECT_TRUE(contains(layouts.err, "their layouts differ (spread and line); layout spread and line")) << layouts.err;
}

TEST_F(Merge, WarnsWhenTheResultBreaksItsPromise) {
  build("a", numbers(1, 1000), {"-n", "1000"});
  build("b", numbers(1001, 2000), {"-n", "1000"});
  const ran result = run({"merge", "-o", "f", "a", "b"});
  EXPECT_EQ(result.code, 0);
  ASSERT_EQ(lines_in(result.err), 2U) << result.err;
  EXPECT_EQ(result.err.rfind("bloomery: warning: f: holds about ", 0), 0U) << result.err;
  EXPECT_TRUE(contains(result.err, " keys and was made for 1,000: its false-positive rate is now ")) << result.err;
  EXPECT_TRUE(contains(result.err, ", promised was 1.00 %; build it again with -n ")) << result.err;
  EXPECT_TRUE(contains(result.err, "; fill ")) << result.err;
  const ran quiet = run({"merge", "-q", "-o", "g", "a", "b"});
  EXPECT_EQ(lines_in(quiet.err), 1U) << quiet.err;
  EXPECT_EQ(quiet.err.rfind("bloomery: warning: g: holds about ", 0), 0U) << quiet.err;
  EXPECT_TRUE(read("f") == read("g"));
}

TEST_F(Merge, JsonIsOneObject) {
  build("a", numbers(1, 100), {"-n", "1000"});
  build("b", numbers(101, 200), {"-n", "1000"});
  const ran result = run({"merge", "--json", "-o", "f", "a", "b"});
  EXPECT_EQ(result.err, "");
  const auto object = nlohmann::json::parse(result.out, nullptr, false);
  EXPECT_EQ(object["file"], "f");
  EXPECT_EQ(object["operation"], "union");
  EXPECT_EQ(object["inputs"].size(), 2U);
  EXPECT_EQ(object["inputs"][1]["folded"], 1);
  EXPECT_EQ(object["kind"], "blocked");
  EXPECT_EQ(object["capacity_keys"], 1000);
  EXPECT_EQ(object["keys_exact"], false);
  EXPECT_NEAR(object["keys"].get<double>(), 200.0, 10.0);
  EXPECT_EQ(object["file_bytes"], read("f").size());
  EXPECT_LT(object["fpr_now"].get<double>(), 0.01);
}

TEST_F(Merge, OneInputIsACheckedCopyInTheFormAskedFor) {
  build("a", numbers(1, 100), {"-n", "1000"});
  ASSERT_EQ(run({"merge", "-q", "-o", "copy", "a"}).code, 0);
  EXPECT_TRUE(read("copy") == read("a"));
  build("packed", numbers(1, 100), {"-n", "1000", "--kind", "blocked", "--compress", "zstd"});
  build("text", numbers(1, 100), {"-n", "1000", "--format", "text"});
  ASSERT_EQ(run({"merge", "-q", "--compress", "zstd", "-o", "p", "text"}).code, 0);
  EXPECT_TRUE(read("p") == read("packed"));
  ASSERT_EQ(run({"merge", "-q", "--format", "text", "-o", "t", "packed"}).code, 0);
  EXPECT_TRUE(read("t") == read("text"));
  std::string damaged = read("a");
  damaged[400] = static_cast<char>(damaged[400] ^ 1);
  write("damaged", damaged);
  const ran refused = run({"merge", "-o", "d", "damaged"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_EQ(refused.err.rfind("bloomery: damaged: is damaged in chunk 0, ", 0), 0U) << refused.err;
  EXPECT_EQ(run({"merge", "-o", "d", "a", "damaged"}).code, 2);
  EXPECT_FALSE(exists("d"));
}

TEST_F(Merge, TheOutputMayBeAnInputWithForceOnly) {
  build("a", numbers(1, 100), {"-n", "1000"});
  build("b", numbers(101, 200), {"-n", "1000"});
  const std::string before = read("a");
  expect_error({"merge", "-o", "a", "a", "b"},
               "bloomery: a: exists already: use --force to replace it, or another name");
  EXPECT_TRUE(read("a") == before);
  ASSERT_EQ(chmod(path("a").c_str(), 0640), 0);
  ASSERT_EQ(run({"merge", "-q", "--force", "-o", "a", "a", "b"}).code, 0);
  EXPECT_EQ(run({"query", "-c", "a"}, numbers(1, 200)).out, "200\n");
  struct stat status {};
  ASSERT_EQ(stat(path("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0640U);
}

TEST_F(Merge, ReadsAndWritesPipes) {
  build("a", numbers(1, 100), {"-n", "1000"});
  build("b", numbers(101, 200), {"-n", "1000"});
  ASSERT_EQ(run({"merge", "-q", "-o", "f", "a", "b"}).code, 0);
  const ran piped = sh("cat b | \"$TOOL\" merge -q -o - a - > piped");
  EXPECT_EQ(piped.code, 0) << piped.err;
  EXPECT_TRUE(read("piped") == read("f"));
}

TEST_F(Merge, WrongUsageIsRefused) {
  build("a", "1\n", {"-n", "1000"});
  const auto there = names();
  expect_error({"merge", "-o", "f"}, "bloomery: merge: give the filters to merge: bloomery merge -o FILE FILTERS");
  expect_error({"merge", "a"}, "bloomery: merge: give the file to write: -o FILE, or -o - for standard output");
  expect_error({"merge", "-o", "f", "-", "-"}, "bloomery: merge: standard input holds one filter: give - once");
  expect_error({"merge", "--json", "-o", "-", "a"},
               "bloomery: merge: --json and -o - would both write to standard output: give a file");
  expect_error({"merge", "-o", ".", "a"}, "bloomery: .: is a directory: give a file");
  expect_error({"merge", "-o", "f", "a", "missing"}, "bloomery: missing: cannot open: No such file or directory");
  expect_error({"merge", "-o", "f", "."}, "bloomery: .: is a directory: give a file");
  EXPECT_EQ(names(), there);
}

}  // namespace
