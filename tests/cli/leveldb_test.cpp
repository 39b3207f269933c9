// Filters of LevelDB through the tool: single ones, which must be named, and table files.
#include <sstream>

#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class Leveldb : public tool_box {
 protected:
  static std::string golden(const std::string& name) {
    std::ifstream file(BLOOMERY_GOLDEN_DIR "/leveldb/" + name, std::ios::binary);
    EXPECT_TRUE(file.is_open()) << name;
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static std::string hex_keys(const std::string& name) {
    std::string out = golden(name);
    out = out.substr(out.find('\n') + 1);
    // The empty key stands as "-" there.
    if (const std::size_t at = out.find("\n-\n"); at != std::string::npos) out.erase(at + 1, 1);
    return out;
  }
};

TEST_F(Leveldb, BuildMakesTheBytesOfTheProduct) {
  const std::string keys = hex_keys("keys_n100.tsv");
  build("f", keys, {"--hex", "--format", "leveldb", "--bits-per-key", "10"});
  EXPECT_TRUE(read("f") == golden("bpk10_n100.bin"));
  build("g", keys, {"--hex", "--format", "leveldb", "--bits-per-key", "44", "-n", "100"});
  EXPECT_TRUE(read("g") == golden("bpk44_n100.bin"));
  EXPECT_EQ(run({"query", "-c", "--hex", "--from", "leveldb", "f"}, keys).out, "100\n");
  const ran unnamed = run({"query", "f"}, "");
  EXPECT_EQ(unnamed.code, 2);
  EXPECT_TRUE(contains(unnamed.err, "bloomery: f: is not a filter in any known format: it starts with "))
      << unnamed.err;
  EXPECT_TRUE(contains(unnamed.err, "; could be leveldb: see --from\n")) << unnamed.err;
}

TEST_F(Leveldb, MergeIsTheBitsOfBoth) {
  build("a", "1\n2\n", {"--format", "leveldb", "-n", "50"});
  build("b", "3\n", {"--format", "leveldb", "-n", "50"});
  build("both", "1\n2\n3\n", {"--format", "leveldb", "-n", "50"});
  const ran merged = run({"merge", "-q", "--from", "leveldb", "-o", "m", "a", "b"});
  EXPECT_EQ(merged.code, 0) << merged.err;
  EXPECT_TRUE(read("m") == read("both"));
}

TEST_F(Leveldb, TablesAreAskedAndListed) {
  write("t.ldb", golden("table_bpk10.ldb"));
  const auto info = json_of({"info", "--json", "t.ldb"});
  EXPECT_EQ(info["format"], "leveldb-table");
  EXPECT_EQ(info["parameters"]["filters"], 25);
  EXPECT_EQ(info["parameters"]["empty_filters"], 13);
  EXPECT_EQ(info["parameters"]["hash_functions"], 6);
  EXPECT_EQ(info["parameters"]["window_bytes"], 2048);
  EXPECT_EQ(info["keys_exact"], false);
  EXPECT_EQ(info["capacity_keys"], nullptr);
  EXPECT_TRUE(contains(run({"info", "t.ldb"}).out, "leveldb-table"));
  std::string keys;
  for (int i = 0; i <= 897; i += 3) keys.append("user" + std::to_string(100'000 + i).substr(1) + "\n");
  EXPECT_EQ(run({"query", "-c", "t.ldb"}, keys).out, "300\n");
  EXPECT_EQ(run({"query", "-c", "t.ldb"}, "absent1\nabsent2\nabsent3\n").code, 1);
  // A pipe shows its end last: it must be named.
  EXPECT_EQ(sh("printf 'user00003\\n' > k; cat t.ldb | $TOOL query -c --from leveldb-table - k").out, "1\n");
}

TEST_F(Leveldb, TablesAreNotWritten) {
  write("t.ldb", golden("table_bpk10.ldb"));
  EXPECT_EQ(run({"add", "t.ldb"}, "a\n").code, 2);
  EXPECT_EQ(run({"build", "-o", "f", "--format", "leveldb-table"}, "a\n").code, 2);
  EXPECT_EQ(run({"merge", "-o", "f", "t.ldb", "t.ldb"}).code, 2);
  EXPECT_EQ(run({"convert", "t.ldb", "-o", "f", "--to", "leveldb"}).code, 2);
  EXPECT_TRUE(read("t.ldb") == golden("table_bpk10.ldb"));
  expect_error({"info", "--from", "leveldb", "t.ldb"},
               "bloomery: t.ldb: is not a filter in format leveldb: it is a whole table: use --from leveldb-table");
  std::string damaged = golden("table_bpk10.ldb");
  damaged[damaged.size() - 1000] ^= 1;
  write("d.ldb", damaged);
  expect_error(
      {"info", "d.ldb"},
      "bloomery: d.ldb: is not a filter in format leveldb-table: the checksum of a block is wrong: copy it again");
}

}  // namespace
