// Started with a standard stream closed, as some daemons and cron jobs are. The next file that is opened would take its
// place: a filter would be read as keys, and messages would be written into a file.
#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class ClosedStreams : public tool_box {
 protected:
  void SetUp() override {
    tool_box::SetUp();
    write("keys", numbers(1, 100));
    build("f", read("keys"));
    build("c", read("keys"), {"--kind", "counting"});
  }
  // One line on standard error, nothing on standard output, exit 2.
  void expect_refused(const std::string& command, const std::string& line) const {
    const ran result = sh(command);
    EXPECT_EQ(result.err, "bloomery: " + line + "\n") << command;
    EXPECT_EQ(result.out, "") << command;
    EXPECT_EQ(result.code, 2) << command;
  }
};

constexpr const char* no_input = "standard input: is closed: name a file, or redirect it with < FILE or a pipe";
constexpr const char* no_output = "standard output: is closed: redirect it with > FILE or a pipe";

TEST_F(ClosedStreams, EveryVerbThatReadsStandardInputReportsThatItIsClosed) {
  const std::string filter = read("f");
  const std::string counting = read("c");
  for (const char* words : {"dedup",
                            "dedup --counts",
                            "dedup --approx",
                            "dedup --approx -n 10",
                            "dedup --state state",
                            "dedup keys -",
                            "build -o new",
                            "build -o new -n 10",
                            "build -o new --kind fuse",
                            "build -o new --kind cascade --exclude - keys",
                            "add f",
                            "add f keys -",
                            "remove c",
                            "count c",
                            "query f",
                            "query f keys -",
                            "verify f --keys -",
                            "verify f --keys keys --absent -",
                            "info -",
                            "query - keys",
                            "count - keys",
                            "verify - --keys keys",
                            "merge -o new - f",
                            "convert - -o new --to text",
                            "build -o new --hash siphash13 --key-file - keys"}) {
    expect_refused(std::string("$TOOL ") + words + " <&-", no_input);
  }
  EXPECT_EQ(names(), (std::vector<std::string>{"c", "f", "keys"}));
  EXPECT_TRUE(read("f") == filter);
  EXPECT_TRUE(read("c") == counting);
}

TEST_F(ClosedStreams, VerbsThatDoNotReadStandardInputDoNotMissIt) {
  EXPECT_EQ(sh("$TOOL dedup keys <&-").out, read("keys"));
  EXPECT_EQ(sh("$TOOL dedup --counts keys <&- | wc -l").out, "100\n");
  EXPECT_EQ(sh("$TOOL query f keys <&-").out, read("keys"));
  EXPECT_EQ(sh("$TOOL build -q -o g keys <&-").code, 0);
  EXPECT_TRUE(read("g") == read("f"));
  EXPECT_EQ(sh("$TOOL plan -n 10 <&-").code, 0);
}

TEST_F(ClosedStreams, EveryVerbThatPrintsReportsThatStandardOutputIsClosed) {
  for (const char* words :
       {"dedup", "dedup --counts", "dedup --approx", "dedup --state state", "dedup --json", "build -q -o -", "count c",
        "query f", "query -c f", "query --json f", "verify f --keys keys --probes 10", "info f", "plan -n 10", "kinds",
        "formats", "help", "--help", "--version"}) {
    expect_refused(std::string("$TOOL ") + words + " < keys >&-", no_output);
  }
}

TEST_F(ClosedStreams, AStateIsNotWrittenTo) {
  // The state would be descriptor 1, and lines would go into it.
  EXPECT_EQ(sh("$TOOL dedup --state state < keys >&-").code, 2);
  EXPECT_EQ(sh("$TOOL dedup --state state < keys").out, read("keys"));
}

TEST_F(ClosedStreams, WhoPrintsNothingNeedsNoStandardOutput) {
  EXPECT_EQ(sh("$TOOL query -q f < keys >&-").code, 0);
  EXPECT_EQ(sh("$TOOL build -o g keys >&-").code, 0);
  EXPECT_TRUE(read("g") == read("f"));
}

TEST_F(ClosedStreams, MessagesDoNotGoIntoAFileWhenStandardErrorIsClosed) {
  EXPECT_EQ(sh("$TOOL build -o g keys 2>&-").code, 0);
  EXPECT_TRUE(read("g") == read("f"));
  // The filter would be descriptor 2, and the report would destroy its first bytes.
  const std::string counting = read("c");
  EXPECT_EQ(sh("echo none | $TOOL remove c 2>&-").code, 1);
  EXPECT_TRUE(read("c") == counting);
  EXPECT_EQ(sh("$TOOL build -o h nosuch 2>&-").code, 2);
}

TEST_F(ClosedStreams, AllThreeMayBeClosed) {
  EXPECT_EQ(sh("$TOOL build -o g keys <&- >&- 2>&-").code, 0);
  EXPECT_TRUE(read("g") == read("f"));
  EXPECT_EQ(sh("$TOOL add f <&- >&- 2>&-").code, 2);
  EXPECT_TRUE(read("g") == read("f"));
}

}  // namespace
