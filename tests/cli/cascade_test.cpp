// Kind cascade in the tool: exact about the lines of two files.
#include <nlohmann/json.hpp>

#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class Cascade : public tool_box {
 protected:
  void SetUp() override {
    tool_box::SetUp();
    write("in", numbers(1, 300));
    write("out", numbers(301, 20'000));
  }
  static std::vector<std::string> building(const std::string& file, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"build", "-o", file, "--kind", "cascade"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

TEST_F(Cascade, MatchesEveryLineOfTheKeysAndNoneOfTheExcludedOnes) {
  const auto made = json_of(building("c", {"--json", "--exclude", "out", "in"}));
  EXPECT_EQ(made["keys_inserted"], 300);
  EXPECT_EQ(made["excluded_read"], 19'700);
  EXPECT_EQ(made["excluded_keys"], 19'700);
  EXPECT_EQ(run({"query", "-c", "c", "in"}).out, "300\n");
  EXPECT_EQ(run({"query", "-c", "c", "out"}).out, "0\n");
  EXPECT_EQ(run({"query", "-v", "-c", "c", "out"}).out, "19700\n");
  // The same file from a pipe, on any number of threads, and with keys that come again.
  const ran said = run(building("piped", {"--exclude", "out", "-j", "3"}), read("in") + read("in"));
  EXPECT_EQ(said.code, 0);
  EXPECT_NE(said.err.find("600 keys read, 300 inserted"), std::string::npos) << said.err;
  EXPECT_NE(said.err.find("19,700 keys to exclude read, 19,700 excluded; exact about both, and yes to "),
            std::string::npos)
      << said.err;
  EXPECT_TRUE(read("piped") == read("c"));
  ASSERT_EQ(run(building("reversed", {"-q", "--exclude", "-", "in"}), read("out")).code, 0);
  EXPECT_TRUE(read("reversed") == read("c"));
  // Packed and as text.
  ASSERT_EQ(run(building("packed", {"-q", "--exclude", "out", "--compress", "zstd", "in"})).code, 0);
  ASSERT_EQ(run(building("text", {"-q", "--exclude", "out", "--format", "text", "in"})).code, 0);
  for (const char* file : {"packed", "text"}) EXPECT_EQ(run({"query", "-c", file, "in", "out"}).out, "300\n") << file;
}

TEST_F(Cascade, EmptyListsAreListsLikeOthers) {
  write("none", "");
  ASSERT_EQ(run(building("no", {"-q", "--exclude", "out", "none"})).code, 0);
  EXPECT_EQ(run({"query", "-c", "no", "out", "in"}).out, "0\n");
  ASSERT_EQ(run(building("yes", {"-q", "--exclude", "none", "in"})).code, 0);
  EXPECT_EQ(run({"query", "-c", "yes", "in"}).out, "300\n");
  ASSERT_EQ(run(building("nothing", {"-q", "--exclude", "none", "none"})).code, 0);
  EXPECT_EQ(run({"query", "-c", "nothing", "in"}).out, "0\n");
  for (const char* file : {"no", "yes", "nothing"}) EXPECT_EQ(run({"info", file}).code, 0) << file;
}

TEST_F(Cascade, InShardsItIsExactAboutBothListsToo) {
  const auto made = json_of(building("c", {"--json", "--exclude", "out", "--shards", "4", "in"}));
  EXPECT_EQ(made["shards"], 4);
  EXPECT_EQ(made["keys_inserted"], 300);
  EXPECT_EQ(made["excluded_keys"], 19'700);
  EXPECT_TRUE(exists("c.00-of-04") && exists("c.03-of-04") && !exists("c"));
  EXPECT_EQ(run({"query", "-c", "c", "in"}).out, "300\n");
  EXPECT_EQ(run({"query", "-c", "c", "out"}).out, "0\n");
  EXPECT_EQ(run({"verify", "-q", "c", "--keys", "in", "--absent", "out"}).code, 0);
  EXPECT_EQ(run({"verify", "-q", "c", "--keys", "out", "--absent", "in"}).code, 1);
  const std::string text = run({"info", "c"}).out;
  EXPECT_NE(text.find("keys           300 included, 19,700 excluded\n"), std::string::npos) << text;
  EXPECT_NE(text.find("first layer    of the included keys\n"), std::string::npos) << text;
  // Copies and the number of threads change nothing; a list of nothing, and more shards than keys, are as good.
  ASSERT_EQ(
      run(building("again", {"-q", "--exclude", "out", "--shards", "4", "-j", "3"}), read("in") + read("in")).code, 0);
  for (const char* end : {".00-of-04", ".01-of-04", ".02-of-04", ".03-of-04"}) {
    EXPECT_TRUE(read(std::string("again") + end) == read(std::string("c") + end)) << end;
  }
  write("none", "");
  ASSERT_EQ(run(building("no", {"-q", "--exclude", "out", "--shards", "3", "none"})).code, 0);
  EXPECT_EQ(run({"query", "-c", "no", "out"}).out, "0\n");
  ASSERT_EQ(run(building("yes", {"-q", "--exclude", "none", "--shards", "3", "in"})).code, 0);
  EXPECT_EQ(run({"query", "-c", "yes", "in"}).out, "300\n");
  ASSERT_EQ(run(building("many", {"-q", "--exclude", "out", "--shards", "100", "in"})).code, 0);
  EXPECT_EQ(run({"verify", "-q", "many", "--keys", "in", "--absent", "out"}).code, 0);
  EXPECT_NE(run({"info", "many"}).out.find("first layer    "), std::string::npos);
  // With a rate, and within a ceiling.
  ASSERT_EQ(run(building("rate", {"-q", "-p", "0.1%", "--mem", "10K", "--exclude", "out", "--shards", "4", "in"})).code,
            0);
  EXPECT_EQ(run({"verify", "-q", "rate", "--keys", "in"}).code, 0);
  EXPECT_EQ(run({"verify", "-q", "rate", "--keys", "in", "--absent", "out"}).code, 0);
}

TEST_F(Cascade, InShardsKeysInBothListsAreCountedOverAllShards) {
  write("out", numbers(290, 20'000));
  const ran named = run(building("c", {"--exclude", "out", "--shards", "8", "in"}));
  EXPECT_EQ(named.code, 2);
  EXPECT_NE(named.err.find(" and 10 other keys are in both lists"), std::string::npos) << named.err;
  EXPECT_EQ(names(), (std::vector<std::string>{"in", "out"}));
}

TEST_F(Cascade, VerifyProvesBothLists) {
  ASSERT_EQ(run(building("c", {"-q", "--exclude", "out", "in"})).code, 0);
  const auto both = json_of({"verify", "--json", "c", "--keys", "in", "--absent", "out"});
  EXPECT_EQ(both["holds"], true);
  EXPECT_EQ(both["false_negatives"], 0);
  EXPECT_EQ(both["false_positives"], 0);
  EXPECT_EQ(both["probes"], 19'700);
  EXPECT_EQ(both["target_fpr"], 0.0);
  // Keys of neither list: as often as it says.
  const auto others = json_of({"verify", "--json", "c", "--keys", "in"});
  EXPECT_EQ(others["holds"], true);
  EXPECT_GT(others["target_fpr"].get<double>(), 0.0);
  EXPECT_GT(others["false_positives"].get<int>(), 0);
  // One line that it was not built to exclude, and is wrong about, breaks the promise of 0.
  const std::string strangers = run({"query", "c"}, numbers(100'000, 200'000)).out;
  ASSERT_NE(strangers, "");
  write("more", read("out") + strangers.substr(0, strangers.find('\n') + 1));
  const ran broken = run({"verify", "c", "--keys", "in", "--absent", "more"});
  EXPECT_EQ(broken.code, 1);
  EXPECT_NE(broken.out.find("BROKEN  false positives  1 of 19,701"), std::string::npos) << broken.out;
  EXPECT_NE(broken.out.find("exact about the keys that it was built to exclude"), std::string::npos) << broken.out;
  EXPECT_EQ(run({"verify", "c", "--keys", "out", "--absent", "in"}).code, 1);
}

TEST_F(Cascade, AnFprBoundsTheAnswersToOtherKeys) {
  write("few", numbers(301, 400));
  for (const char* excluded : {"few", "out"}) {
    const std::string file = std::string("c-") + excluded;
    const auto made = json_of(building(file, {"--json", "-p", "0.1%", "--exclude", excluded, "in"}));
    EXPECT_EQ(made["target_fpr"], 0.001);
    EXPECT_LE(made["fpr_now"].get<double>(), 0.001);
    EXPECT_EQ(run({"verify", file, "--keys", "in"}).code, 0);
    EXPECT_EQ(run({"verify", file, "--keys", "in", "--absent", excluded}).code, 0);
  }
}

TEST_F(Cascade, AKeyInBothListsIsNamedAndNothingIsWritten) {
  write("out", numbers(290, 20'000));
  const ran named = run(building("c", {"--exclude", "out", "in"}));
  EXPECT_EQ(named.code, 2);
  EXPECT_NE(named.err.find(" and 10 other keys are in both lists"), std::string::npos) << named.err;
  write("out", "17\n" + numbers(301, 400));
  expect_error(
      building("c", {"--exclude", "out", "in"}),
      "bloomery: '17' (line 17 of in, line 1 of out) is in both lists: a key is included or excluded, not both");
  expect_error(
      building("c", {"--exclude", "-", "in"}),
      "bloomery: the digests of 1 keys are in both lists, of keys to include and of keys to exclude: take these "
      "keys out of one of the lists; if they are different keys, use another seed or a hash of more bits",
      "17\n");
  EXPECT_FALSE(exists("c"));
}

// Of 3,000 keys and 297,000 others, digests of 32 bits have one in common at every fifth seed.
TEST_F(Cascade, DifferentKeysWithOneDigestAreDistinguishedFromEqualOnes) {
  write("in", numbers(1, 3000));
  write("out", numbers(3001, 300'000));
  std::string error;
  int built = 0;
  for (int seed = 0; seed < 60; ++seed) {
    const ran made = run(building("c", {"-q", "--force", "-p", "30%", "--hash", "murmur3-x86-32", "--seed",
                                        std::to_string(seed), "--exclude", "out", "in"}));
    if (made.code == 0) {
      if (built++ == 0) {
        EXPECT_EQ(run({"verify", "-q", "c", "--keys", "in", "--absent", "out"}).code, 0) << seed;
      }
    } else {
      error = made.err;
    }
    if (built > 0 && !error.empty()) break;
  }
  EXPECT_GT(built, 0);
  EXPECT_NE(error.find(" are different keys with the same digest: build with another --seed"), std::string::npos)
      << error;
}

TEST_F(Cascade, InfoReportsWhatItIsExactAboutAndHowItCompares) {
  write("in", numbers(1, 4000));
  write("out", numbers(4001, 400'000));
  ASSERT_EQ(run(building("c", {"-q", "--exclude", "out", "in"})).code, 0);
  const std::string text = run({"info", "c"}).out;
  for (const char* part : {"excluded keys  396,000\n", "keys           4,000 included\n", "layers         2\n",
                           "FPR now        0 for keys of both lists, ", "8.08 is the least possible",
                           "a cascade of Bloom filters takes 13.77", "a bit for each key of both lists 100\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_EQ(text.find("capacity"), std::string::npos) << text;
  const auto found = json_of({"info", "--json", "c"});
  EXPECT_EQ(found["keys"], 4000);
  EXPECT_EQ(found["parameters"]["excluded_keys"], 396'000);
  EXPECT_GT(found["bits_per_included_key"]["bits"].get<double>(), 8.08);
  EXPECT_LT(found["bits_per_included_key"]["bits"].get<double>(), 9.4);
}

TEST_F(Cascade, WhatDoesNotGoTogetherIsRefused) {
  expect_error({"build", "-o", "c", "--kind", "cascade", "in"},
               "bloomery: build: kind cascade is built from keys to include and keys to exclude: give the latter with "
               "--exclude FILE");
  expect_error({"build", "-o", "c", "--exclude", "out", "in"},
               "bloomery: build: kind blocked cannot exclude keys: leave --exclude out, or use --kind cascade");
  expect_error({"build", "-o", "c", "--kind", "ribbon", "--exclude", "out", "in"},
               "bloomery: build: kind ribbon cannot exclude keys: leave --exclude out, or use --kind cascade");
  expect_error(building("c", {"--exclude", "-"}), "bloomery: build: standard input (-) can be read only once");
  expect_error(building("c", {"--exclude", "out", "--bits-per-key", "9", "in"}),
               "bloomery: build: kind cascade is as large as its two lists need: leave the size out");
  expect_error(building("c", {"--exclude", "out", "--hashes", "3", "in"}),
               "bloomery: build: kind cascade has no hash functions to choose: leave --hashes out");
  expect_error(building("out", {"--force", "--exclude", "out", "in"}),
               "bloomery: out: is an input as well: give another name for the output");
  EXPECT_EQ(run(building("c", {"--exclude", "out", "--mem", "100", "in"})).code, 2) << "a ceiling, and too low";
  EXPECT_EQ(run(building("c", {"--exclude", "missing", "in"})).code, 2);
  EXPECT_FALSE(exists("c"));
  EXPECT_EQ(run(building("c", {"-q", "--exclude", "out", "--mem", "10K", "in"})).code, 0);
}

TEST_F(Cascade, PlanKnowsItOnceItKnowsBothNumbers) {
  const auto has_row = [&](const nlohmann::json& plan) {
    for (const auto& row : plan["kinds"]) {
      if (row["kind"] == "cascade") return true;
    }
    return false;
  };
  EXPECT_FALSE(has_row(json_of({"plan", "--json", "-n", "100k"})));
  EXPECT_TRUE(has_row(json_of({"plan", "--json", "-n", "100k", "--exclude-keys", "9.9M"})));
  const ran alone = run({"plan", "-n", "100k", "--exclude-keys", "9.9M", "--kind", "cascade"});
  EXPECT_EQ(alone.code, 0);
  EXPECT_EQ(alone.out.find("Assuming"), std::string::npos) << alone.out;
  EXPECT_EQ(alone.out.find("headroom"), std::string::npos) << alone.out;
  for (const char* part : {"100,000 keys, 9,900,000 to exclude", "static excludes", "least possible"}) {
    EXPECT_NE(alone.out.find(part), std::string::npos) << part << "\n" << alone.out;
  }
  const auto row = json_of({"plan", "--json", "-n", "300", "--exclude-keys", "19700", "--kind", "cascade"})["kinds"][0];
  const auto made = json_of(building("c", {"--json", "--exclude", "out", "in"}));
  EXPECT_LE(made["memory_bytes"].get<std::uint64_t>(), row["memory_bytes"].get<std::uint64_t>());
  EXPECT_EQ(made["fpr_now"], row["expected_fpr"]);
  const auto bounded =
      json_of({"plan", "--json", "-n", "300", "--exclude-keys", "100", "-p", "0.001", "--kind", "cascade"});
  EXPECT_LE(bounded["kinds"][0]["expected_fpr"].get<double>(), 0.001);
  EXPECT_EQ(run({"plan", "-n", "100k", "--exclude-keys", "9.9M", "--plot"}).code, 0);
  EXPECT_EQ(run({"plan", "-n", "100k", "--exclude-keys", "9.9M", "--mem", "10K", "--kind", "cascade"}).code, 1);
  expect_error(
      {"plan", "-n", "100k", "--kind", "cascade"},
      "bloomery: plan: kind cascade is sized by two lists: give the number of keys that it must not match with "
      "--exclude-keys N");
  expect_error({"plan", "-n", "100k", "--kind", "bloom", "--exclude-keys", "5"},
               "bloomery: plan: kind bloom cannot exclude keys: leave --exclude-keys out");
  expect_error({"plan", "-p", "1%", "--mem", "1Gi", "--exclude-keys", "5"},
               "bloomery: plan: --exclude-keys goes with the number of keys to include: give that with -n");
  expect_error({"plan", "--lsm", "--levels", "3", "--keys", "1M", "--mem", "1M", "--kind", "cascade"},
               "bloomery: plan: --lsm shares memory out, and kind cascade is as large as its two lists need");
}

TEST_F(Cascade, CannotBeChanged) {
  ASSERT_EQ(run(building("c", {"-q", "--exclude", "out", "in"})).code, 0);
  const std::string before = read("c");
  for (const char* verb : {"add", "remove", "count"}) EXPECT_EQ(run({verb, "c", "in"}).code, 2) << verb;
  EXPECT_EQ(run({"merge", "-o", "both", "c", "c"}).code, 2);
  EXPECT_TRUE(read("c") == before);
  EXPECT_FALSE(exists("both"));
}

}  // namespace
