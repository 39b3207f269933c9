// Static kinds, built from the complete key set, in the tool.
#include <bloomery/kinds.hpp>
#include <nlohmann/json.hpp>

#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class StaticKinds : public tool_box {
 protected:
  // Calls f with the name of each such kind.
  template <class F>
  static void for_each_kind(F f) {
    bloomery::for_each_type(bloomery::kind_list{}, [&](auto tag) {
      using kind = typename decltype(tag)::type;
      if (bloomery::static_kind<kind>) f(std::string(kind::info.name));
    });
  }
  // With the options of the kind in front: those that take a second list get one of no keys.
  static std::vector<std::string> building(const std::string& kind, const std::string& file,
                                           const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"build", "-o", file, "--kind", kind};
    if (bloomery::find_kind(kind)->capabilities.excludes) words.insert(words.end(), {"--exclude", "/dev/null"});
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

TEST_F(StaticKinds, BuildsFromFilesAndPipesWithoutANumberAndReportsWhatItMade) {
  for_each_kind([&](const std::string& kind) {
    write("keys", numbers(1, 3000) + numbers(1, 1000));
    const auto made = json_of(building(kind, kind, {"--json", "-p", "1%", "keys"}));
    EXPECT_EQ(made["kind"], kind);
    EXPECT_EQ(made["keys_read"], 4000);
    EXPECT_EQ(made["keys_inserted"], 3000);
    EXPECT_EQ(made["keys_different"], 3000);
    EXPECT_LE(made["target_fpr"].get<double>(), 0.01);
    EXPECT_EQ(run({"query", "-v", kind}, numbers(1, 3000)).out, "") << kind;
    EXPECT_EQ(run({"verify", kind, "--keys", "keys"}).code, 0);
    ASSERT_EQ(run(building(kind, kind + "-piped", {"-q", "-p", "1%", "-n", "10"}), read("keys")).code, 0);
    EXPECT_TRUE(read(kind + "-piped") == read(kind)) << kind;
    ASSERT_EQ(run(building(kind, kind + "-j", {"-q", "-p", "1%", "-j", "3", "keys"})).code, 0);
    EXPECT_TRUE(read(kind + "-j") == read(kind)) << kind;
  });
}

TEST_F(StaticKinds, BuildsFromNothing) {
  for_each_kind([&](const std::string& kind) {
    ASSERT_EQ(run(building(kind, kind, {"-q"}), "").code, 0) << kind;
    EXPECT_EQ(run({"query", kind}, numbers(1, 100)).out, "") << kind;
  });
}

TEST_F(StaticKinds, WhatWouldChangeItIsRefusedAndTheFileStays) {
  std::string able;
  bloomery::for_each_type(bloomery::kind_list{}, [&](auto tag) {
    using kind = typename decltype(tag)::type;
    if (bloomery::dynamic_kind<kind>) able.append(able.empty() ? "" : ", ").append(kind::info.name);
  });
  for_each_kind([&](const std::string& kind) {
    ASSERT_EQ(run(building(kind, kind, {"-q"}), numbers(1, 100)).code, 0);
    const std::string before = read(kind);
    expect_error(
        {"add", kind},
        "bloomery: " + kind + ": is of kind " + kind + ", which cannot take more keys; kinds that can: " + able, "a\n");
    EXPECT_EQ(run({"merge", "-o", "both", kind, kind}).code, 2);
    EXPECT_TRUE(read(kind) == before);
    EXPECT_FALSE(std::filesystem::exists(path("both")));
  });
}

TEST_F(StaticKinds, CopiesOfKeysTakeNoRoomInWhatMemAllows) {
  std::string copies;
  for (int i = 0; i < 100; ++i) copies += numbers(1, 2000);
  write("once", numbers(1, 2000));
  write("copies", copies);
  for_each_kind([&](const std::string& kind) {
    if (bloomery::find_kind(kind)->capabilities.excludes) return;  // is as large as its two lists need
    const auto made = json_of({"build", "--json", "-o", kind, "--kind", kind, "-p", "1%", "once"});
    const auto bytes = made["memory_bytes"].get<std::uint64_t>();
    const auto same = [&](const std::string& name, std::vector<std::string> sizes) {
      for (const std::string from : {"once", "copies"}) {
        std::vector<std::string> words{"build", "-q", "-o", kind + name + from, "--kind", kind, from};
        words.insert(words.end(), sizes.begin(), sizes.end());
        const ran result = run(words);
        ASSERT_EQ(result.code, 0) << result.err;
      }
      EXPECT_TRUE(read(kind + name + "copies") == read(kind + name + "once")) << kind << name;
    };
    same("-rate", {"-p", "1%", "--mem", std::to_string(bytes)});
    EXPECT_TRUE(read(kind + "-ratecopies") == read(kind)) << kind;
    same("-memory", {"--mem", std::to_string(bytes)});
    same("-bits", {"--bits-per-key", "12"});
    same("-hash", {"-p", "1%", "--hash", "murmur3-x86-32"});
    // One byte less is too little, and the error counts the keys that are different.
    const ran refused =
        run({"build", "-o", "none", "--kind", kind, "-p", "1%", "--mem", std::to_string(bytes - 1), "copies"});
    EXPECT_EQ(refused.code, 2);
    EXPECT_TRUE(contains(refused.err, "2,000 keys take ")) << refused.err;
    EXPECT_FALSE(std::filesystem::exists(path("none")));
  });
}

TEST_F(StaticKinds, SizesThatCannotBeAreRefusedBeforeAnythingIsWritten) {
  for_each_kind([&](const std::string& kind) {
    expect_error(building(kind, kind, {"--headroom", "50%"}),
                 "bloomery: build: kind " + kind + " is static and takes no keys later: leave --headroom out");
    EXPECT_EQ(run(building(kind, kind, {"--mem", "100", "-p", "0.001"}), numbers(1, 10000)).code, 2);
    EXPECT_EQ(run(building(kind, kind, {"--layout", "nonsense"}), numbers(1, 10)).code, 2);
    EXPECT_EQ(run(building(kind, kind, {"-p", "2"}), numbers(1, 10)).code, 2);
    EXPECT_FALSE(std::filesystem::exists(path(kind)));
  });
}

}  // namespace
