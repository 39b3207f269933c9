// All threads of the tool at once. Under ThreadSanitizer these runs are the proof that the pipeline, the workers of the
// verbs and the background check of dedup share nothing unguarded.
#include "cli/tool_box.hpp"

namespace bloomery_test {
namespace {

class ConcurrentTool : public tool_box {
 protected:
  void SetUp() override {
    tool_box::SetUp();
    // Several chunks of lines, with repeats.
    std::string lines;
    for (int i = 0; i < 60000; ++i) lines.append("https://example.org/").append(std::to_string(i % 45000)).append("\n");
    write("in", lines);
    build("f", numbers(1, 1000), {"-n", "2000"});
  }
  // The same output and exit code from one thread and from five, and nothing on standard error.
  void expect_same(const std::string& command) const {
    const ran alone = sh("exec \"$TOOL\" " + command + " -j 1");
    const ran together = sh("exec \"$TOOL\" " + command + " -j 5");
    EXPECT_EQ(together.code, alone.code) << command;
    EXPECT_EQ(together.out, alone.out) << command;
    EXPECT_EQ(together.err, alone.err) << command;
    EXPECT_NE(alone.code, 2) << command << ": " << alone.err;
  }
};

TEST_F(ConcurrentTool, VerbsThatReadKeysGiveTheSameFromManyThreads) {
  expect_same("query --mark f in");
  expect_same("query -c f in");
  expect_same("build -q --force -o - in");
  expect_same("dedup in");
  expect_same("dedup --repeated in");
  expect_same("dedup --counts in");
  expect_same("dedup --approx in");
  expect_same("verify f --keys in --probes 20000");
}

TEST_F(ConcurrentTool, WindowsAreCheckedBesideTheNextOne) {
  // The least memory: windows of 3 MB, so that several are under way.
  const ran made = sh("for i in 1 2 3 4 5 6 7 8; do sed \"s/\\$/-$i/\" in; done > many");
  ASSERT_EQ(made.code, 0);
  expect_same("dedup --mem 32Mi many");
}

TEST_F(ConcurrentTool, StoppingEarlyEndsTheThreads) {
  EXPECT_EQ(sh("\"$TOOL\" query -q -v -j 5 f in").code, 0);
  const ran cut = sh("\"$TOOL\" query -v -j 5 f in | head -n 1");
  EXPECT_EQ(cut.out, "https://example.org/0\n");
  EXPECT_EQ(cut.err, "");
}

}  // namespace
}  // namespace bloomery_test
