// Filters in shards: a set of files that every verb takes by one name.
#include <sys/file.h>
#include <nlohmann/json.hpp>

#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class Shards : public tool_box {
 protected:
  void build_set(const std::string& name, std::string_view input, std::vector<std::string> more = {},
                 const std::string& shards = "4") const {
    more.insert(more.end(), {"--shards", shards});
    build(name, input, more);
  }
  void expect_same_sets(const std::string& a, const std::string& b) const {
    for (int i = 0; i < 4; ++i) {
      const std::string end = ".0" + std::to_string(i) + "-of-04";
      EXPECT_FALSE(read(a + end).empty()) << a << end;
      EXPECT_TRUE(read(a + end) == read(b + end)) << a << " " << b << end;
    }
  }
  static std::vector<std::string> files_of(const std::string& name) {
    return {name + ".00-of-04", name + ".01-of-04", name + ".02-of-04", name + ".03-of-04"};
  }
};

TEST_F(Shards, BuildWritesOneFileAShardAndTheVerbsTakeTheirName) {
  write("keys", numbers(1, 20000));
  const ran built = run({"build", "--shards", "4", "-o", "f", "-n", "20000", "keys"});
  EXPECT_EQ(built.code, 0);
  EXPECT_EQ(built.err.rfind("f: blocked in 4 shards, 20,000 keys read, ", 0), 0U) << built.err;
  auto expected = files_of("f");
  expected.emplace_back("keys");
  EXPECT_EQ(names(), expected);
  EXPECT_EQ(run({"query", "-c", "f", "keys"}).out, "20000\n");
  EXPECT_EQ(run({"query", "f"}, "5\nnobody\n7\n").out, "5\n7\n");
  EXPECT_EQ(run({"query", "--mark", "f"}, "5\nnobody\n7\n").out, "1\t5\n0\tnobody\n1\t7\n");
  const ran verified = run({"verify", "f", "--keys", "keys", "--probes", "100000"});
  EXPECT_EQ(verified.code, 0) << verified.out;
}

TEST_F(Shards, TheBytesDoNotDependOnTheThreadsNorOnHowTheKeysCame) {
  write("keys", numbers(1, 60000));
  for (const char* kind : {"blocked", "cuckoo", "growing", "fuse"}) {
    const std::string k(kind);
    for (const char* jobs : {"1", "2", "7"}) {
      ASSERT_EQ(run({"build", "-q", "--kind", kind, "--shards", "4", "-j", jobs, "-o", k + jobs, "keys"}).code, 0);
    }
    build_set(k + "piped", read("keys"), {"--kind", kind});
    expect_same_sets(k + "1", k + "2");
    expect_same_sets(k + "1", k + "7");
    expect_same_sets(k + "1", k + "piped");
  }
}

TEST_F(Shards, EveryKindComesInShards) {
  const auto kinds = json_of({"kinds", "--json"})["kinds"];
  ASSERT_TRUE(kinds.is_array() && kinds.size() > 8);
  for (const auto& each : kinds) {
    const std::string kind = each["name"];
    SCOPED_TRACE(kind);
    std::vector<std::string> how = {"--kind", kind};
    if (each["excludes"]) {
      write("excluded", numbers(10001, 12000));
      how.insert(how.end(), {"--exclude", "excluded"});
    }
    if (kind == "bitmap") how.emplace_back("--u64");
    if (kind == "window") how.insert(how.end(), {"-n", "3000"});
    build_set(kind, numbers(1, 2000), how);
    std::vector<std::string> ask = {"query", "-c", kind};
    if (kind == "bitmap") ask.emplace_back("--u64");
    EXPECT_EQ(run(ask, numbers(1, 2000)).out, "2000\n");
    EXPECT_LT(std::stoi(run(ask, numbers(10001, 12000)).out), 60);
    EXPECT_EQ(json_of({"info", "--json", kind})["shards"], 4);
  }
}

// The memory is that of all shards, also of static kinds.
TEST_F(Shards, MemoryIsSharedOut) {
  write("keys", numbers(1, 50000));
  for (const char* kind : {"blocked", "fuse", "ribbon"}) {
    const auto made = json_of({"build", "--json", "--kind", kind, "--shards", "4", "--mem", "80K", "-o", kind, "keys"});
    EXPECT_LE(made["memory_bytes"].get<std::uint64_t>(), 80'000U) << kind;
    EXPECT_GE(made["memory_bytes"].get<std::uint64_t>(), 50'000U) << kind;
    EXPECT_EQ(run({"verify", kind, "--keys", "keys"}).code, 0) << kind;
  }
}

TEST_F(Shards, InfoReportsWhatRemovalsCostTheSet) {
  build_set("f", numbers(1, 4000), {"--kind", "dual", "-n", "4000"});
  ASSERT_EQ(run({"remove", "-q", "f"}, numbers(1, 200)).code, 0);
  const auto loss = json_of({"info", "--json", "f"})["loss"];
  EXPECT_EQ(loss["removals"], 200);
  EXPECT_GE(loss["added_keys"].get<std::uint64_t>(), 3900U);
  EXPECT_GT(loss["loss_now"].get<double>(), 0.0);
  EXPECT_LE(loss["loss_now"].get<double>(), loss["target_loss"].get<double>());
}

TEST_F(Shards, InfoShowsTheWholeAndTheNumberOfShards) {
  build_set("f", numbers(1, 10000), {"-n", "10000"});
  const ran shown = run({"info", "--plot", "f"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_TRUE(contains(shown.out, "\n  set            4 shards: f.00-of-04 to f.03-of-04\n")) << shown.out;
  EXPECT_TRUE(contains(shown.out, " in each shard\n")) << shown.out;
  EXPECT_TRUE(contains(shown.out, "sections of the arrays, shard by shard, ")) << shown.out;
  const auto object = json_of({"info", "--json", "f"});
  EXPECT_EQ(object["shards"], 4);
  ASSERT_EQ(object["each_shard"].size(), 4U);
  std::uint64_t keys = 0;
  std::uint64_t bytes = 0;
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(object["each_shard"][static_cast<std::size_t>(i)]["file"], files_of("f")[static_cast<std::size_t>(i)]);
    keys += object["each_shard"][static_cast<std::size_t>(i)]["keys"].get<std::uint64_t>();
    bytes += read(files_of("f")[static_cast<std::size_t>(i)]).size();
  }
  EXPECT_EQ(object["keys"], keys);
  EXPECT_EQ(object["file_bytes"], bytes);
  EXPECT_GE(object["capacity_keys"], 10000);
  build_set("fused", numbers(1, 3000), {"--kind", "ribbon"});
  EXPECT_TRUE(contains(run({"info", "fused"}).out, " in a shard\n")) << "parts of different sizes";
}

TEST_F(Shards, AShardAloneIsDescribedAndNotQueried) {
  build_set("f", numbers(1, 1000));
  const ran shown = run({"info", "f.02-of-04"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_TRUE(contains(
      shown.out, "\n  shard          02-of-04: one shard of the filter f; the following is about this shard alone\n"))
      << shown.out;
  const auto object = json_of({"info", "--json", "f.02-of-04"});
  EXPECT_EQ(object["shard"], (nlohmann::json{{"index", 2}, {"of", 4}}));
  EXPECT_LT(object["keys"], 400);
  const std::string refusal =
      "bloomery: f.02-of-04: is shard 02-of-04 of a filter and knows nothing of the keys of the others: give the whole "
      "set, f";
  write("keys", "1\n");
  expect_error({"query", "f.02-of-04", "keys"}, refusal);
  expect_error({"verify", "f.02-of-04", "--keys", "keys"}, refusal);
  expect_error({"add", "f.02-of-04", "keys"}, refusal);
  expect_error({"merge", "-o", "g", "f.02-of-04"}, refusal);
  std::filesystem::rename(path("f.02-of-04"), path("part"));
  expect_error({"query", "part", "keys"},
               "bloomery: part: is shard 02-of-04 of a filter and knows nothing of the keys of the others: give the "
               "whole set, by the name without .NN-of-NN");
}

TEST_F(Shards, WhatIsWrongWithASetIsOneLine) {
  build_set("f", numbers(1, 1000), {"-n", "1000"});
  build_set("g", numbers(2, 1001), {"-n", "1000"});
  const std::string third = read("f.02-of-04");
  const auto ask = [&](const std::string& line) { expect_error({"query", "f"}, "bloomery: f: " + line, "1\n"); };
  std::filesystem::remove(path("f.02-of-04"));
  ask("shard 02-of-04 cannot open: No such file or directory");
  write("f.02-of-04", read("f.01-of-04"));
  ask("shard 02-of-04 holds shard 01-of-04: give the file of that shard");
  write("f.02-of-04", read("g.02-of-04"));
  ask("shard 02-of-04 belongs to another set than shard 00: give the files that were saved together");
  build("whole", numbers(1, 100), {"-n", "250"});
  write("f.02-of-04", read("whole"));
  ask("shard 02-of-04 is no shard but a whole filter: give the file of that shard");
  write("f.02-of-04", third.substr(0, third.size() - 1));
  const ran cut = run({"info", "f"});
  EXPECT_EQ(cut.err.rfind("bloomery: f: shard 02-of-04 is cut short: ", 0), 0U) << cut.err;
  EXPECT_EQ(cut.code, 2);
  write("f.02-of-04", third);
  EXPECT_EQ(run({"query", "f"}, "1\n").code, 0);
  write("f.00-of-05", third);
  ask("there would be two sets of shards with this name, of 4 and of 5: remove one of them, or use another name");
}

TEST_F(Shards, AddAndRemoveChangeTheSetInItsForm) {
  for (const char* codec : {"none", "zstd"}) {
    const std::string name(codec);
    build_set(name, numbers(1, 1000), {"--kind", "counting", "-n", "2000", "--compress", codec});
    const ran added = run({"add", name}, numbers(1001, 2000));
    EXPECT_EQ(added.code, 0);
    EXPECT_EQ(added.err.rfind(name + ": counting, 1,000 keys read, ", 0), 0U) << added.err;
    EXPECT_EQ(run({"query", "-c", name}, numbers(1, 2000)).out, "2000\n");
    EXPECT_EQ(run({"remove", "-q", name}, numbers(1, 1000)).code, 0);
    EXPECT_EQ(run({"query", "-c", name}, numbers(1001, 2000)).out, "1000\n");
    EXPECT_LT(std::stoi(run({"query", "-c", name}, numbers(1, 1000)).out), 30);
    EXPECT_EQ(json_of({"info", "--json", name})["compression"], name);
    EXPECT_EQ(run({"count", name}, "1500\n").out, "1\t1500\n");
  }
}

TEST_F(Shards, AddedKeysGiveTheSetOfAllKeys) {
  build_set("all", numbers(1, 3000), {"-n", "3000"});
  build_set("f", numbers(1, 1000), {"-n", "3000"});
  ASSERT_EQ(run({"add", "-q", "f"}, numbers(1001, 3000)).code, 0);
  expect_same_sets("f", "all");
}

TEST_F(Shards, OneProcessAtATimeChangesASet) {
  build_set("f", numbers(1, 100), {"-n", "1000"});
  const ran result = sh("flock f.00-of-04 $TOOL add f < /dev/null");
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.err, "bloomery: f.00-of-04: is being changed by another process: try again when it is done\n");
}

TEST_F(Shards, MergeGoesShardByShard) {
  const std::vector<std::string> how = {"-n", "4000"};
  build_set("a", numbers(1, 2000), how);
  build_set("b", numbers(1501, 4000), how);
  build_set("all", numbers(1, 4000), how);
  const ran merged = run({"merge", "-o", "f", "a", "b"});
  EXPECT_EQ(merged.code, 0);
  EXPECT_EQ(merged.err.rfind("f: union of 2 filters, blocked in 4 shards, about ", 0), 0U) << merged.err;
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(read(files_of("f")[i]).substr(256) == read(files_of("all")[i]).substr(256)) << i;
  }
  EXPECT_EQ(json_of({"info", "--json", "f"})["fill"], json_of({"info", "--json", "all"})["fill"]);
  expect_error({"merge", "-o", "f", "a", "b"},
               "bloomery: f: exists already, in 4 shards: use --force to replace them, or another name");
  ASSERT_EQ(run({"merge", "-q", "--force", "-o", "a", "a", "b"}).code, 0) << "into one of the inputs";
  EXPECT_EQ(run({"query", "-c", "a"}, numbers(1, 4000)).out, "4000\n");
  ASSERT_EQ(run({"merge", "-q", "--intersect", "--compress", "zstd", "-o", "i", "a", "b"}).code, 0);
  EXPECT_EQ(run({"query", "-c", "i"}, numbers(1501, 4000)).out, "2500\n");
}

TEST_F(Shards, MergeFoldsShardsOfOtherSizes) {
  build_set("large", numbers(1, 500), {"-n", "1000", "--hashes", "4", "--mem", "102400"});
  build_set("small", numbers(501, 900), {"-n", "1000", "--hashes", "4", "--mem", "25600"});
  const ran merged = run({"merge", "-o", "f", "large", "small"});
  EXPECT_EQ(merged.code, 0);
  EXPECT_EQ(merged.err.rfind("folded large 4 times\n", 0), 0U) << merged.err;
  EXPECT_EQ(run({"query", "-c", "f"}, numbers(1, 900)).out, "900\n");
}

TEST_F(Shards, MergeRefusesOtherNumbersOfShards) {
  build_set("four", numbers(1, 100), {"-n", "1000"});
  build_set("five", numbers(1, 100), {"-n", "1000"}, "5");
  build("one", numbers(1, 100), {"-n", "1000"});
  expect_error({"merge", "-o", "f", "four", "five"},
               "bloomery: four is in 4 shards, five in 5 shards: only filters in as many shards can be merged");
  expect_error({"merge", "-o", "f", "one", "four"},
               "bloomery: one is in one file, four in 4 shards: only filters in as many shards can be merged");
  EXPECT_FALSE(exists("f"));
}

TEST_F(Shards, NothingIsWrittenWhereItWouldNotBeFound) {
  build_set("set", "a\n");
  build("file", "a\n");
  const auto before = names();
  expect_error({"build", "--shards", "4", "-o", "set"},
               "bloomery: set: exists already, in 4 shards: use --force to replace them, or another name", "b\n");
  expect_error({"build", "--shards", "5", "--force", "-o", "set"},
               "bloomery: set: there would be two sets of shards with this name, of 4 and of 5: remove one of them, or "
               "use another name",
               "b\n");
  expect_error({"build", "--force", "-o", "set"},
               "bloomery: set: is there already, in 4 shards, which would not be found beside a file of this name: "
               "remove them, or use another name",
               "b\n");
  expect_error({"build", "--shards", "4", "--force", "-o", "file"},
               "bloomery: file: is there already, and shards of this name would not be found beside it: remove it, or "
               "use another name",
               "b\n");
  EXPECT_EQ(names(), before);
  ASSERT_EQ(run({"build", "-q", "--shards", "4", "--force", "-o", "set"}, "b\n").code, 0);
  EXPECT_EQ(run({"query", "set"}, "a\nb\n").out, "b\n");
  EXPECT_EQ(names(), before);
}

TEST_F(Shards, WhatCannotBeHadIsRefusedBeforeAnyWork) {
  expect_error({"build", "--shards", "0", "-o", "f"}, "bloomery: build: --shards: 0 is not usable: give 1 or more",
               "a\n");
  expect_error({"build", "--shards", "4097", "-o", "f"},
               "bloomery: build: number of shards 4097 is not usable: give 1 to 4096", "a\n");
  expect_error({"build", "--shards", "4294967297", "-o", "f"},
               "bloomery: build: number of shards 4294967295 is not usable: give 1 to 4096", "a\n");
  expect_error({"build", "--shards", "4", "-o", "-"},
               "bloomery: build: a filter in shards is a set of files: give their name with -o FILE", "a\n");
  expect_error({"query", "--shards", "4", "f"},
               "bloomery: query: there is no option --shards; see 'bloomery query --help'");
  build_set("f", "a\n");
  expect_error({"merge", "-o", "-", "f"},
               "bloomery: merge: a filter in shards is a set of files: give their name with -o FILE");
  expect_error({"build", "--shards", "4", "--force", "-o", "f", "f.01-of-04"},
               "bloomery: f.01-of-04: is an input as well: give another name for the output");
}

TEST_F(Shards, MemoryIsThatOfAllShards) {
  build_set("f", numbers(1, 1000), {"-n", "1000", "--mem", "4096"}, "16");
  EXPECT_LE(json_of({"info", "--json", "f"})["memory_bytes"], 4096);
  const ran refused = run({"build", "--shards", "16", "-n", "1000", "-p", "0.1%", "--mem", "2048", "-o", "g"}, "a\n");
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(contains(refused.err, "--mem allows 2,048 bytes")) << refused.err;
  const std::size_t at = refused.err.find("with -p ");
  ASSERT_NE(at, std::string::npos) << refused.err;
  const std::string rate = refused.err.substr(at + 8, refused.err.find(' ', at + 8) - at - 8);
  EXPECT_EQ(run({"build", "-q", "--shards", "16", "-n", "1000", "-p", rate, "--mem", "2048", "-o", "g"}, "a\n").code, 0)
      << rate;
}

TEST_F(Shards, APipeThatDoesNotFitIntoMemoryIsFoldedShardByShard) {
  write("keys", numbers(1, 1200000));
  const ran result = sh("cat keys | $TOOL build --shards 4 -p 5% --mem 8M -o f");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(contains(result.err, ", folded to one for ")) << result.err;
  EXPECT_EQ(run({"query", "-c", "f", "keys"}).out, "1200000\n");
  const auto object = json_of({"info", "--json", "f"});
  EXPECT_LT(object["fpr_now"], 0.05);
  for (const auto& shard : object["each_shard"]) EXPECT_GE(shard["capacity_keys"], 302000) << "room for uneven parts";
}

TEST_F(Shards, AreOfTheNativeFormatOrItsTextForm) {
  expect_error({"build", "--shards", "4", "--format", "dcso", "-o", "f"},
               "bloomery: build: a filter in shards is of format native, not dcso: leave --shards out", "a\n");
  build_set("f", numbers(1, 100));
  expect_error({"query", "--from", "dcso", "f"},
               "bloomery: f: is a filter in shards, which is of format native, not dcso: leave --from out", "1\n");
  ASSERT_EQ(run({"convert", "-q", "f", "-o", "t", "--to", "text"}).code, 0);
  EXPECT_EQ(run({"query", "-c", "t"}, numbers(1, 100)).out, "100\n");
  EXPECT_EQ(json_of({"info", "--json", "t"})["format"], "text");
  ASSERT_EQ(run({"add", "-q", "t"}, "new\n").code, 0);
  EXPECT_EQ(read("t.02-of-04").rfind("-----", 0), read("t.00-of-04").rfind("-----", 0));
  EXPECT_EQ(json_of({"info", "--json", "t"})["format"], "text");
}

TEST_F(Shards, ManyShardsAndOne) {
  build_set("many", numbers(1, 20000), {"-n", "20000"}, "120");
  EXPECT_TRUE(exists("many.119-of-120"));
  EXPECT_EQ(run({"query", "-c", "many"}, numbers(1, 20000)).out, "20000\n");
  build_set("one", numbers(1, 100), {}, "1");
  EXPECT_EQ(run({"query", "-c", "one"}, numbers(1, 100)).out, "100\n");
  EXPECT_TRUE(contains(run({"info", "one"}).out, "  set            1 shard: one.00-of-01\n"));
}

TEST_F(Shards, DedupRemembersInASetThatIsThere) {
  build_set("state", numbers(1, 100), {"-n", "1000"});
  EXPECT_EQ(run({"dedup", "-q", "--approx", "--state", "state"}, "5\nnew\nnew\n").out, "new\n");
  EXPECT_EQ(run({"query", "state"}, "new\n").out, "new\n");
  EXPECT_FALSE(exists("state"));
}

TEST_F(Shards, AFailedWriteLeavesTheSetAsItWas) {
  build_set("f", numbers(1, 1000), {"-n", "1000"});
  std::string before;
  for (const std::string& file : files_of("f")) before += read(file);
  const auto there = names();
  const ran result = sh("seq 1 500 > keys; ulimit -f 1; $TOOL build --shards 4 --force -n 100000 -o f keys");
  EXPECT_NE(result.code, 0);
  std::filesystem::remove(path("keys"));
  std::string after;
  for (const std::string& file : files_of("f")) after += read(file);
  EXPECT_TRUE(before == after);
  EXPECT_EQ(names(), there);
}

}  // namespace
