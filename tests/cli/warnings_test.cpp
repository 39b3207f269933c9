// Warnings are printed with -q too, --strict makes them an exit code, and what keeps no promise is refused.
#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class Warnings : public tool_box {
 protected:
  // One line of warning and nothing else.
  static void expect_warning(const ran& result, int code, const std::string& part) {
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_EQ(lines_in(result.err), 1U) << result.err;
    EXPECT_EQ(result.err.rfind("bloomery: warning: ", 0), 0U) << result.err;
    EXPECT_TRUE(contains(result.err, part)) << result.err;
  }
};

TEST_F(Warnings, OfAnOverfullBuildAreNotSilencedByQuiet) {
  const ran quiet = run({"build", "-q", "-o", "f", "-n", "10"}, numbers(1, 2000));
  expect_warning(
      quiet, 0,
      "2,000 keys read into a filter made for 10: its false-positive rate is now 100 %, promised was 1.00 %; "
      "build it again with -n 2000");
  EXPECT_TRUE(exists("f"));
  build("g", numbers(1, 1000), {"-n", "1000"});  // no warning: nothing is printed
}

TEST_F(Warnings, MakeTheExitCodeOneWithStrictAndTheOutputIsThere) {
  expect_warning(run({"build", "-q", "--strict", "-o", "f", "-n", "10"}, numbers(1, 2000)), 1, "made for 10");
  EXPECT_TRUE(exists("f"));
  EXPECT_EQ(run({"build", "-q", "--strict", "-o", "g", "-n", "1000"}, numbers(1, 1000)).code, 0);
  EXPECT_EQ(run({"add", "-q", "--strict", "g"}, numbers(1, 1000)).code, 0);
  expect_warning(run({"add", "-q", "--strict", "g"}, numbers(1001, 2000)), 1, "g: now holds about ");
  EXPECT_EQ(run({"query", "-c", "g"}, numbers(1, 2000)).out, "2000\n");
  expect_warning(run({"merge", "-q", "--strict", "-o", "h", "g"}), 1, "h: holds about ");
  EXPECT_TRUE(exists("h"));
  const auto built = json_of({"build", "--json", "--strict", "-o", "i", "-n", "10"}, numbers(1, 2000));
  EXPECT_EQ(built["keys_read"], 2000);  // the report is complete, too
}

TEST_F(Warnings, OfRemovalsComeWithQuietAndStrictToo) {
  build("d", numbers(1, 2000), {"--kind", "dual", "--layout", "tenth"});
  expect_warning(run({"remove", "-q", "--strict", "d"}, numbers(1, 1500)), 1, "removals and was made for");
}

TEST_F(Warnings, ComeAlsoWhereInsertsNoLongerChangeAnything) {
  for (const char* const kind : {"bloom", "blocked", "counting"}) {
    const ran built =
        run({"build", "-q", "--force", "-o", "f", "--kind", kind, "-n", "1000", "-p", "0.9"}, numbers(1, 20'000));
    expect_warning(built, 0, "made for 1,000");
    expect_warning(run({"add", "-q", "f"}, numbers(1, 100)), 0, "holds far more keys than the 1,000");
  }
}

TEST_F(Warnings, ComeForFilesThatDoNotSayWhatTheyWereMadeFor) {
  const ran built = run({"build", "-q", "-o", "g", "--format", "guava", "-n", "100"}, numbers(1, 20'000));
  expect_warning(
      built, 0,
      "20,000 keys read into a filter made for 100: its false-positive rate is now 100 %, promised was 3.00 %");
  expect_warning(run({"add", "-q", "g"}, "a\n"), 0, "has a false-positive rate of 100 %: build it again");
  EXPECT_EQ(run({"build", "-q", "-o", "h", "--format", "guava", "-n", "100"}, numbers(1, 100)).err, "");
}

class Refused : public tool_box {};

TEST_F(Refused, MemoryThatLeavesNoAnswerAndWhatWouldDoIsNamed) {
  const std::string refusal =
      "bloomery: 2,000 keys in 8 bytes would have a false-positive rate of 100 %: give --mem 2496 for 0.976 %, or -p "
      "if "
      "such a rate will do";
  expect_error({"build", "-q", "-o", "f", "--mem", "10"}, refusal, numbers(1, 2000));
  expect_error({"build", "-q", "-o", "f", "--mem", "10", "-n", "2000"}, refusal, numbers(1, 2000));
  write("keys", numbers(1, 2000));
  expect_error({"build", "-q", "-o", "f", "--mem", "10", "keys"}, refusal);
  EXPECT_FALSE(exists("f"));
  build("f", numbers(1, 2000), {"--mem", "2496"});
  EXPECT_LE(json_of({"info", "--json", "f"})["fpr_now"], 0.011);
}

TEST_F(Refused, EveryKindAndFormatThatWouldAnswerNothing) {
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{"--mem", "300"},
                                             {"--mem", "300", "--kind", "bloom"},
                                             {"--mem", "300", "--kind", "counting"},
                                             {"--mem", "300", "--kind", "dual"},
                                             {"--mem", "300", "--shards", "4"},
                                             {"--mem", "300", "--format", "dcso"},
                                             {"--bits-per-key", "1"},
                                             {"--bits-per-key", "1", "--format", "dcso"},
                                             {"--bits-per-key", "10", "--hashes", "60", "--kind", "bloom"}}) {
    std::vector<std::string> words = {"build", "-q", "-o", "f"};
    words.insert(words.end(), more.begin(), more.end());
    const ran result = run(words, numbers(1, 2000));
    EXPECT_EQ(result.code, 2) << more.back();
    EXPECT_EQ(lines_in(result.err), 1U) << result.err;
    EXPECT_TRUE(contains(result.err, "bloomery: 2,000 keys in ")) << result.err;
    EXPECT_TRUE(contains(result.err, "would have a false-positive rate of ")) << result.err;
    EXPECT_TRUE(names().empty()) << more.back();
  }
}

TEST_F(Refused, IsNotWhatWasAskedFor) {
  build("loose", numbers(1, 2000), {"-p", "0.9"});
  build("few", "a\n", {"--bits-per-key", "1"});
  build("tight", numbers(1, 2000), {"--mem", "500"});
  EXPECT_LT(json_of({"info", "--json", "tight"})["fpr_now"], 0.5);
  expect_error({"build", "-q", "-o", "x", "--mem", "300", "-p", "1%"},
               "bloomery: 2,000 keys take 2,496 bytes (2.4 KiB) and --mem allows 300 bytes", numbers(1, 2000));
  build("asked", numbers(1, 2000), {"--mem", "300", "-p", "0.7"});
}

TEST_F(Refused, ACeilingOfMemoryIsNoReasonToWhereLessWillDo) {
  // For so few keys a kind with 64-bit digests cannot make use of all of it.
  for (const char* const kind : {"counting", "dual", "cuckoo", "dleft", "blocked"}) {
    build("f", numbers(1, 10), {"--force", "--kind", kind, "--mem", "1M"});
    EXPECT_LE(json_of({"info", "--json", "f"})["memory_bytes"], 1'000'000) << kind;
    EXPECT_EQ(run({"query", "-c", "f"}, numbers(1, 10)).out, "10\n") << kind;
  }
}

TEST_F(Refused, APipeThatFillsTheMemoryWithTooManyKeys) {
  const ran hopeless = sh("seq 1 1200000 | \"$TOOL\" build -q -o f --mem 10");
  EXPECT_EQ(hopeless.code, 2);
  EXPECT_TRUE(contains(hopeless.err, "bloomery: 1,200,000 keys in ")) << hopeless.err;
  EXPECT_TRUE(contains(hopeless.err, "would have a false-positive rate of 100 %: give --mem ")) << hopeless.err;
  const ran better = sh("seq 1 1200000 | \"$TOOL\" build -q -o f --mem 400000");
  EXPECT_EQ(better.code, 2);
  EXPECT_TRUE(contains(better.err, "give their number, -n 1200000, for ")) << better.err;
  EXPECT_FALSE(exists("f"));
}

}  // namespace
