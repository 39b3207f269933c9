// Kinds that are built at once, from all of their keys, in the tool.
#include <bloomery/kinds.hpp>

#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class BuiltAtOnce : public tool_box {
 protected:
  // Calls f with the name of each such kind.
  template <class F>
  static void for_each_kind(F f) {
    bloomery::for_each_type(bloomery::kind_list{}, [&](auto tag) {
      using kind = typename decltype(tag)::type;
      if (bloomery::static_kind<kind>) f(std::string(kind::info.name));
    });
  }
};

TEST_F(BuiltAtOnce, BuildsFromFilesAndPipesWithoutANumberAndSaysWhatItMade) {
  for_each_kind([&](const std::string& kind) {
    write("keys", numbers(1, 3000) + numbers(1, 1000));
    const auto made = json_of({"build", "--json", "-o", kind, "--kind", kind, "keys"});
    EXPECT_EQ(made["kind"], kind);
    EXPECT_EQ(made["keys_read"], 4000);
    EXPECT_EQ(made["keys_inserted"], 3000);
    EXPECT_EQ(made["keys_different"], 3000);
    EXPECT_LE(made["fpr_promised"].get<double>(), 0.01);
    EXPECT_EQ(run({"query", "-v", kind}, numbers(1, 3000)).out, "") << kind;
    EXPECT_EQ(run({"verify", kind, "--keys", "keys"}).code, 0);
    ASSERT_EQ(run({"build", "-q", "-o", kind + "-piped", "--kind", kind, "-n", "10"}, read("keys")).code, 0);
    EXPECT_TRUE(read(kind + "-piped") == read(kind)) << kind;
    ASSERT_EQ(run({"build", "-q", "-o", kind + "-j", "--kind", kind, "-j", "3", "keys"}).code, 0);
    EXPECT_TRUE(read(kind + "-j") == read(kind)) << kind;
  });
}

TEST_F(BuiltAtOnce, BuildsFromNothing) {
  for_each_kind([&](const std::string& kind) {
    ASSERT_EQ(run({"build", "-q", "-o", kind, "--kind", kind}, "").code, 0) << kind;
    EXPECT_EQ(run({"query", kind}, numbers(1, 100)).out, "") << kind;
  });
}

TEST_F(BuiltAtOnce, WhatWouldChangeItIsRefusedAndTheFileStays) {
  std::string able;
  bloomery::for_each_type(bloomery::kind_list{}, [&](auto tag) {
    using kind = typename decltype(tag)::type;
    if (bloomery::dynamic_kind<kind>) able.append(able.empty() ? "" : ", ").append(kind::info.name);
  });
  for_each_kind([&](const std::string& kind) {
    build(kind, numbers(1, 100), {"--kind", kind});
    const std::string before = read(kind);
    expect_error(
        {"add", kind},
        "bloomery: " + kind + ": is of kind " + kind + ", which cannot take more keys; kinds that can: " + able, "a\n");
    EXPECT_EQ(run({"merge", "-o", "both", kind, kind}).code, 2);
    EXPECT_TRUE(read(kind) == before);
    EXPECT_FALSE(std::filesystem::exists(path("both")));
  });
}

TEST_F(BuiltAtOnce, SizesThatCannotBeAreRefusedBeforeAnythingIsWritten) {
  for_each_kind([&](const std::string& kind) {
    expect_error(
        {"build", "-o", kind, "--kind", kind, "--headroom", "50%"},
        "bloomery: build: kind " + kind + " is built from all of its keys and takes no more: leave --headroom out");
    EXPECT_EQ(run({"build", "-o", kind, "--kind", kind, "--mem", "100", "-p", "0.001"}, numbers(1, 10000)).code, 2);
    EXPECT_EQ(run({"build", "-o", kind, "--kind", kind, "--layout", "nonsense"}, numbers(1, 10)).code, 2);
    EXPECT_EQ(run({"build", "-o", kind, "--kind", kind, "-p", "2"}, numbers(1, 10)).code, 2);
    EXPECT_FALSE(std::filesystem::exists(path(kind)));
  });
}

}  // namespace
