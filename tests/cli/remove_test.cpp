#include <bloomery/kinds.hpp>

#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class Remove : public tool_box {
 protected:
  void SetUp() override {
    tool_box::SetUp();
    build("set", numbers(1, 1000), {"--kind", "bitmap", "--u64"});
  }
};

TEST_F(Remove, GivesTheFileThatABuildWithoutTheKeysWouldHaveGiven) {
  build("rest", numbers(501, 1000), {"--kind", "bitmap", "--u64"});
  write("gone", numbers(1, 500));
  const ran removed = run({"remove", "--u64", "set", "gone"});
  EXPECT_EQ(removed.code, 0);
  EXPECT_EQ(removed.out, "");
  EXPECT_EQ(removed.err, "set: bitmap, 500 keys read, 500 removed, 0 absent; holds 500 keys\n");
  EXPECT_TRUE(read("set") == read("rest"));
}

TEST_F(Remove, ExitsWith1WhenAKeyWasAbsentAndRemovesTheOthers) {
  const ran removed = run({"remove", "--u64", "set"}, "7\n5000\n8\n");
  EXPECT_EQ(removed.code, 1);
  EXPECT_EQ(removed.err, "set: bitmap, 3 keys read, 2 removed, 1 absent; holds 998 keys\n");
  EXPECT_EQ(run({"query", "-v", "--u64", "set"}, numbers(1, 1000)).out, "7\n8\n");
}

TEST_F(Remove, ALineThatComesTwiceIsTwoRemovals) {
  const ran removed = run({"remove", "--u64", "set"}, "9\n9\n");
  EXPECT_EQ(removed.code, 1);
  EXPECT_EQ(removed.err, "set: bitmap, 2 keys read, 1 removed, 1 absent; holds 999 keys\n");
}

TEST_F(Remove, KeepsTheFormOfTheFile) {
  const std::vector<std::string> how = {"--kind", "bitmap", "--u64", "--compress", "zstd", "--format", "text"};
  build("packed", numbers(1, 1000), how);
  build("rest", numbers(2, 1000), how);
  ASSERT_EQ(run({"remove", "-q", "--u64", "packed"}, "1\n").code, 0);
  EXPECT_TRUE(read("packed") == read("rest"));
}

TEST_F(Remove, JsonIsOneObjectAndQuietSaysNothing) {
  const auto object = json_of({"remove", "--json", "--u64", "set"}, "1\n2\n2\n");
  EXPECT_EQ(object["file"], "set");
  EXPECT_EQ(object["kind"], "bitmap");
  EXPECT_EQ(object["keys_read"], 3);
  EXPECT_EQ(object["keys_removed"], 2);
  EXPECT_EQ(object["keys_absent"], 1);
  EXPECT_EQ(object["keys"], 998);
  const ran quiet = run({"remove", "-q", "--u64", "set"}, "2\n");
  EXPECT_EQ(quiet.code, 1);
  EXPECT_EQ(quiet.out + quiet.err, "");
}

TEST_F(Remove, TakesOneOccurrenceOutOfAFilterThatCounts) {
  for (const char* layout : {"spread", "line"}) {
    build("coupons", numbers(1, 1000) + numbers(1, 10),
          {"--kind", "counting", "--layout", layout, "-n", "2000", "-p", "1e-5"});
    const ran removed = run({"remove", "coupons"}, "3\n500\nnot there\n");
    EXPECT_EQ(removed.code, 1);
    EXPECT_EQ(removed.err, "coupons: counting, 3 keys read, 2 removed, 1 absent; holds about 999 keys\n");
    EXPECT_EQ(run({"query", "-v", "coupons"}, numbers(1, 1000)).out, "500\n");
    EXPECT_EQ(run({"count", "coupons"}, "1\n3\n500\n").out, "2\t1\n1\t3\n0\t500\n");
    const auto object = json_of({"remove", "--json", "coupons"}, "3\n");
    EXPECT_EQ(object["keys_removed"], 1);
    EXPECT_EQ(object["keys_exact"], false);
    EXPECT_EQ(run({"query", "coupons"}, "3\n").code, 1);
    std::filesystem::remove(path("coupons"));
  }
}

TEST_F(Remove, KindsThatCannotAreRefusedWithTheNamesOfThoseThatCan) {
  std::string able;
  bloomery::for_each_type(bloomery::kind_list{}, [&](auto tag) {
    using kind = typename decltype(tag)::type;
    if (bloomery::erasable<kind>) able.append(able.empty() ? "" : ", ").append(kind::info.name);
  });
  bloomery::for_each_type(bloomery::kind_list{}, [&](auto tag) {
    using kind = typename decltype(tag)::type;
    if (bloomery::erasable<kind>) return;
    const std::string name(kind::info.name);
    std::vector<std::string> how = {"--kind", name, "-n", "100"};
    if (kind::info.excludes) {
      write("out", "b\n");
      how = {"--kind", name, "--exclude", "out"};
    }
    build(name, "a\n", how);
    const std::string before = read(name);
    expect_error({"remove", name},
                 "bloomery: " + name + ": is of kind " + name + ", which cannot remove keys; kinds that can: " + able,
                 "a\n");
    EXPECT_TRUE(read(name) == before);
  });
}

TEST_F(Remove, AnErrorInTheMiddleOfTheKeysLeavesTheFileAsItWas) {
  const std::string before = read("set");
  const auto there = names();
  expect_error({"remove", "--u64", "set"},
               "bloomery: standard input: line 3: 'x' is not an integer from 0 to 18446744073709551615", "1\n2\nx\n");
  expect_error({"remove"}, "bloomery: remove: give the filter: bloomery remove FILE [KEYFILES]");
  expect_error({"remove", "-"}, "bloomery: remove: standard input cannot be changed in place: give the filter's file");
  expect_error({"remove", "--u64", "set", "set"},
               "bloomery: set: is an input as well: give another name for the output");
  EXPECT_TRUE(read("set") == before);
  EXPECT_EQ(names(), there);
}

}  // namespace
