#include <bloomery/kinds.hpp>

#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class Count : public tool_box {
 protected:
  void SetUp() override {
    tool_box::SetUp();
    build("set", numbers(1, 100), {"--kind", "bitmap", "--u64"});
  }
};

TEST_F(Count, PrintsEveryLineBehindItsCount) {
  const ran counted = run({"count", "--u64", "set"}, "100\n101\n7\n7\n0\n");
  EXPECT_EQ(counted.out, "1\t100\n0\t101\n1\t7\n1\t7\n0\t0\n");
  EXPECT_EQ(counted.err, "");
  EXPECT_EQ(counted.code, 0);
}

TEST_F(Count, OfAFilterThatCountsIsHowOftenTheKeyCameUpTo15) {
  std::string lines = "rare\n";
  for (int i = 0; i < 14; ++i) lines.append("often\n");
  for (int i = 0; i < 40; ++i) lines.append("always\n");
  build("words", lines, {"--kind", "counting", "-n", "1000"});
  EXPECT_EQ(run({"count", "words"}, "always\noften\nrare\nnever\n").out, "15\talways\n14\toften\n1\trare\n0\tnever\n");
  // What is stuck stays, and is said.
  const auto before = json_of({"info", "--json", "words"});
  EXPECT_EQ(before["saturated"], before["parameters"]["hash_functions"]);
  ASSERT_EQ(run({"remove", "-q", "words"}, "always\noften\n").code, 0);
  EXPECT_EQ(run({"count", "words"}, "always\noften\n").out, "15\talways\n13\toften\n");
  EXPECT_TRUE(
      contains(run({"info", "words"}).out, "saturated      " + before["saturated"].dump() + " counters, which stay"));
}

TEST_F(Count, ExitsWith1WhenNoCountIsAbove0) {
  EXPECT_EQ(run({"count", "--u64", "set"}, "101\n").code, 1);
  EXPECT_EQ(run({"count", "--u64", "set"}, "").code, 1);
}

TEST_F(Count, PrintsWholeLinesWhenTheKeyIsAField) {
  write("rows", "a,5\nb,500\n");
  EXPECT_EQ(run({"count", "--u64", "-d", ",", "-f", "2", "set", "rows"}).out, "1\ta,5\n0\tb,500\n");
  EXPECT_EQ(run({"count", "--u64", "-0", "set"}, std::string_view("5\000500", 5)).out, std::string("1\t5\0"
                                                                                                   "0\t500\0",
                                                                                                   10));
}

TEST_F(Count, QuietPrintsNothing) {
  const ran some = run({"count", "-q", "--u64", "set"}, "500\n5\n");
  EXPECT_EQ(some.out + some.err, "");
  EXPECT_EQ(some.code, 0);
  const ran none = run({"count", "-q", "--u64", "set"}, "500\n");
  EXPECT_EQ(none.out + none.err, "");
  EXPECT_EQ(none.code, 1);
}

TEST_F(Count, JsonIsOneObjectALine) {
  const ran counted = run({"count", "--json", "--u64", "-d", ",", "-f", "1", "set"}, "5,\"x\"\n500,\xff\n");
  EXPECT_EQ(counted.out, "{\"line\":\"5,\\\"x\\\"\",\"count\":1}\n{\"line\":\"500,\xef\xbf\xbd\",\"count\":0}\n");
  EXPECT_EQ(counted.code, 0);
}

TEST_F(Count, AnswersASlowPipeWhileItRuns) {
  // The writer waits for the answer to its first line before it gives the second.
  const ran talked = sh(
      "mkfifo ask answer; \"$TOOL\" count --u64 set < ask > answer & exec 3> ask 4< answer; echo 5 >&3; read -r a <&4; "
      "echo 500 >&3; read -r b <&4; exec 3>&-; wait; printf '%s;%s' \"$a\" \"$b\"");
  EXPECT_EQ(talked.out, "1\t5;0\t500");
}

TEST_F(Count, ReadsTheFilterFromStandardInput) {
  write("keys", "5\n");
  EXPECT_EQ(sh("exec \"$TOOL\" count --u64 - keys < set").out, "1\t5\n");
  expect_error({"count", "--u64", "-"},
               "bloomery: count: the filter comes from standard input, so the keys cannot: name their files");
  expect_error({"count"}, "bloomery: count: give the filter: bloomery count FILE [KEYFILES]");
}

TEST_F(Count, KindsThatCannotAreRefusedWithTheNamesOfThoseThatCan) {
  std::string able;
  bloomery::for_each_type(bloomery::kind_list{}, [&](auto tag) {
    using kind = typename decltype(tag)::type;
    if (bloomery::countable<kind>) able.append(able.empty() ? "" : ", ").append(kind::info.name);
  });
  bloomery::for_each_type(bloomery::kind_list{}, [&](auto tag) {
    using kind = typename decltype(tag)::type;
    if (bloomery::countable<kind>) return;
    const std::string name(kind::info.name);
    std::vector<std::string> how = {"--kind", name, "-n", "100"};
    if (kind::info.excludes) {
      write("out", "b\n");
      how = {"--kind", name, "--exclude", "out"};
    }
    build(name, "a\n", how);
    expect_error({"count", name},
                 "bloomery: " + name + ": is of kind " + name + ", which cannot count keys; kinds that can: " + able,
                 "a\n");
  });
}

TEST_F(Count, LinesBeforeABrokenOneStayAnswered) {
  const ran counted = run({"count", "--u64", "set"}, "5\nx\n6\n");
  EXPECT_EQ(counted.out, "1\t5\n");
  EXPECT_EQ(counted.err, "bloomery: standard input: line 2: 'x' is not an integer from 0 to 18446744073709551615\n");
  EXPECT_EQ(counted.code, 2);
}

}  // namespace
