// Files for sending: --compress, and what build makes of it.
#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class Compress : public tool_box {};

TEST_F(Compress, BuildChoosesASizeThatPacks) {
  write("keys", numbers(1, 200000));
  for (const auto& [codec, most] : {std::pair{"rans", 9.2}, std::pair{"zstd", 9.6}, std::pair{"gzip", 9.45}}) {
    const std::string name(codec);
    const ran built = run({"build", "--compress", codec, "-o", name, "-n", "200000", "keys"});
    EXPECT_EQ(built.code, 0);
    EXPECT_EQ(built.err.rfind("for --compress " + name +
                                  ": kind bloom with 2 hash functions instead of 7, 2.0 times as large in memory and "
                                  "smaller in the file\n",
                              0),
              0U)
        << built.err;
    EXPECT_TRUE(contains(built.err, " bits per key in the file, ")) << built.err;
    const auto info = json_of({"info", "--json", name});
    EXPECT_EQ(info["kind"], "bloom");
    EXPECT_EQ(info["compression"], name);
    EXPECT_EQ(info["parameters"]["hash_functions"], 2);
    EXPECT_LT(static_cast<double>(read(name).size()) * 8 / 200000, most) << codec;
    EXPECT_EQ(run({"query", "-c", name, "keys"}).out, "200000\n");
    EXPECT_EQ(run({"verify", "-q", name, "--keys", "keys", "--probes", "300000"}).code, 0);
  }
}

TEST_F(Compress, TheSameKeysGiveTheSameFile) {
  write("keys", numbers(1, 50000));
  ASSERT_EQ(run({"build", "-q", "--compress", "rans", "-o", "a", "-j", "1", "keys"}).code, 0);
  ASSERT_EQ(run({"build", "-q", "--compress", "rans", "-o", "b", "-j", "3", "keys"}).code, 0);
  EXPECT_TRUE(read("a") == read("b"));
}

TEST_F(Compress, WhatTheCallerChoseStays) {
  const std::string keys = numbers(1, 20000);
  build("k", keys, {"--compress", "rans", "--kind", "bloom", "--hashes", "5", "-n", "20000"});
  EXPECT_EQ(json_of({"info", "--json", "k"})["parameters"]["hash_functions"], 5);
  build("bits", keys, {"--compress", "rans", "--bits-per-key", "12", "-n", "20000"});
  EXPECT_EQ(json_of({"info", "--json", "bits"})["kind"], "blocked");
  build("bloom", keys, {"--compress", "rans", "--kind", "bloom", "-n", "20000"});
  EXPECT_EQ(json_of({"info", "--json", "bloom"})["parameters"]["hash_functions"], 2);
  const ran blocked = run({"build", "--compress", "rans", "--kind", "blocked", "-n", "20000", "-o", "b"}, keys);
  EXPECT_EQ(blocked.err.rfind("--compress rans saves next to nothing: the bits of kind blocked look random; leave it "
                              "out, or leave the kind out, for one that packs\n",
                              0),
            0U)
      << blocked.err;
  // Twice the memory is not to be had: the usual one.
  build("tight", keys, {"--compress", "rans", "-n", "20000", "-p", "1%", "--mem", "30000"});
  EXPECT_EQ(json_of({"info", "--json", "tight"})["kind"], "blocked");
  build("none", keys, {"--compress", "none", "-n", "20000"});
  EXPECT_EQ(json_of({"info", "--json", "none"})["kind"], "blocked");
}

TEST_F(Compress, CountersPackToo) {
  build("plain", numbers(1, 20000), {"--kind", "counting", "-n", "20000"});
  build("packed", numbers(1, 20000), {"--kind", "counting", "-n", "20000", "--compress", "rans"});
  EXPECT_LT(read("packed").size() * 2, read("plain").size());
  ASSERT_EQ(run({"remove", "-q", "packed"}, numbers(1, 100)).code, 0);
  EXPECT_EQ(json_of({"info", "--json", "packed"})["compression"], "rans") << "in the form that it had";
}

TEST_F(Compress, InfoComparesTheFileWithTheMemory) {
  build("f", numbers(1, 100000), {"--compress", "rans", "-n", "100000"});
  const ran shown = run({"info", "f"});
  EXPECT_TRUE(contains(shown.out, ", native version 1, rans: 48.")) << shown.out;
  EXPECT_TRUE(contains(shown.out, " % of the memory\n")) << shown.out;
}

TEST_F(Compress, MergePacksAndUnpacks) {
  build("a", numbers(1, 5000), {"--compress", "rans", "-n", "10000"});
  build("b", numbers(5001, 10000), {"--compress", "rans", "-n", "10000"});
  ASSERT_EQ(run({"merge", "-q", "-o", "all", "a", "b"}).code, 0);
  EXPECT_EQ(run({"query", "-c", "all"}, numbers(1, 10000)).out, "10000\n");
  EXPECT_EQ(json_of({"info", "--json", "all"})["compression"], "none");
  ASSERT_EQ(run({"merge", "-q", "--compress", "rans", "-o", "small", "all"}).code, 0);
  EXPECT_LT(read("small").size() * 3, read("all").size() * 2);
}

TEST_F(Compress, ShardsArePackedOneByOne) {
  build("f", numbers(1, 100000), {"--compress", "rans", "-n", "100000", "--shards", "2"});
  const auto info = json_of({"info", "--json", "f"});
  EXPECT_EQ(info["each_shard"][0]["parameters"]["hash_functions"], 2);
  EXPECT_LT(info["file_bytes"], info["memory_bytes"].get<double>() * 0.55);
  EXPECT_EQ(run({"query", "-c", "f"}, numbers(1, 100000)).out, "100000\n");
}

TEST_F(Compress, PlanSaysWhatTheFileWillTake) {
  const auto plan = json_of({"plan", "--json", "-n", "1M", "-p", "1%", "--compress", "rans"});
  for (const auto& row : plan["kinds"]) {
    EXPECT_EQ(row.contains("packed_bits_per_key"), row["kind"] == "bloom") << row["kind"];
    if (row["kind"] != "bloom") continue;
    EXPECT_EQ(row["hash_functions"], 2);
    EXPECT_NEAR(row["packed_bits_per_key"].get<double>(), 8.90, 0.01);
  }
  const ran shown = run({"plan", "-n", "1M", "-p", "1%", "--compress", "zstd"});
  EXPECT_TRUE(contains(shown.out, "- Compressed with zstd, bloom takes about 1.1 MiB in its file, 8.90 bits per key"))
      << shown.out;
  EXPECT_TRUE(contains(shown.out, "ribbon takes")) << shown.out;
  EXPECT_FALSE(contains(run({"plan", "-n", "1M", "-p", "1%"}).out, "Compressed"));
}

TEST_F(Compress, ADamagedFileIsRefused) {
  build("f", numbers(1, 50000), {"--compress", "rans", "-n", "50000"});
  std::string bytes = read("f");
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
  write("f", bytes);
  const ran asked = run({"query", "f"}, "1\n");
  EXPECT_EQ(asked.code, 2);
  EXPECT_EQ(asked.err.rfind("bloomery: f: is damaged in chunk ", 0), 0U) << asked.err;
  const ran trusted = run({"query", "--trust", "f"}, "1\n");
  EXPECT_EQ(trusted.err.rfind("bloomery: f: cannot be unpacked: ", 0), 0U) << trusted.err;
}

}  // namespace
