#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class Query : public tool_box {
 protected:
  void SetUp() override {
    tool_box::SetUp();
    build("f", "ann\nbob\n");
  }
};

TEST_F(Query, PrintsThePresentLinesInOrder) {
  const ran result = run({"query", "f"}, "eve\nbob\nann\nbob\n");
  EXPECT_EQ(result.out, "bob\nann\nbob\n");
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.code, 0);
}

TEST_F(Query, ExitIsOneWhenNothingWasSelected) {
  const ran result = run({"query", "f"}, "eve\n");
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(run({"query", "f"}, "").code, 1);
}

TEST_F(Query, InvertPrintsTheAbsentLines) {
  const ran result = run({"query", "-v", "f"}, "eve\nbob\nzoe\n");
  EXPECT_EQ(result.out, "eve\nzoe\n");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(run({"query", "-v", "f"}, "bob\n").code, 1);
}

TEST_F(Query, CountPrintsANumber) {
  EXPECT_EQ(run({"query", "-c", "f"}, "eve\nbob\nbob\n").out, "2\n");
  EXPECT_EQ(run({"query", "-cv", "f"}, "eve\nbob\nbob\n").out, "1\n");
  const ran none = run({"query", "--count", "f"}, "eve\n");
  EXPECT_EQ(none.out, "0\n");
  EXPECT_EQ(none.code, 1);
}

TEST_F(Query, QuietAnswersByExitCodeOnly) {
  for (const auto& [options, input, code] :
       std::vector<std::tuple<std::string, std::string, int>>{{"-q", "eve\nbob\n", 0},
                                                              {"-q", "eve\n", 1},
                                                              {"-qv", "eve\nbob\n", 0},
                                                              {"-qv", "bob\n", 1},
                                                              {"-qc", "bob\n", 0}}) {
    const ran result = run({"query", options, "f"}, input);
    EXPECT_EQ(result.code, code) << options << ' ' << input;
    EXPECT_EQ(result.out + result.err, "") << options << ' ' << input;
  }
}

TEST_F(Query, QuietEndsWithTheFirstMatch) {
  // The input never ends; the answer does not need it to.
  EXPECT_EQ(sh("{ echo bob; exec yes; } | $TOOL query -q f").code, 0);
}

TEST_F(Query, MarkShowsEveryLine) {
  const ran result = run({"query", "--mark", "f"}, "eve\nbob\n");
  EXPECT_EQ(result.out, "0\teve\n1\tbob\n");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(run({"query", "--mark", "f"}, "eve\n").code, 1);
}

TEST_F(Query, JsonCounts) {
  const auto counts = json_of({"query", "--json", "f"}, "eve\nbob\nann\n");
  EXPECT_EQ(counts["filter"], "f");
  EXPECT_EQ(counts["keys"], 3);
  EXPECT_EQ(counts["present"], 2);
  EXPECT_EQ(counts["absent"], 1);
}

TEST_F(Query, TheFilterMayComeFromStandardInputOrAPipe) {
  write("keys", "eve\nbob\n");
  EXPECT_EQ(sh("$TOOL query - keys < f").out, "bob\n");
  EXPECT_EQ(sh("cat f | $TOOL query - keys").out, "bob\n");
  EXPECT_EQ(sh("mkfifo pipe; cat f > pipe & $TOOL query pipe keys").out, "bob\n");
}

TEST_F(Query, AClosedPipeIsQuiet) {
  write("many", numbers(1, 300000));
  const ran result = sh("$TOOL query -v f many | head -n 1");
  EXPECT_EQ(result.out, "1\n");
  EXPECT_EQ(result.err, "");
  // Also where the parent ignores SIGPIPE, so that the write fails instead.
  const ran ignoring = sh("trap '' PIPE; { $TOOL query -v f many; echo $? > code; } | head -n 1");
  EXPECT_EQ(ignoring.out, "1\n");
  EXPECT_EQ(ignoring.err, "");
  EXPECT_EQ(read("code"), "2\n");
}

TEST_F(Query, AFullDiskIsAnError) {
  const ran result = sh("echo bob | $TOOL query f > /dev/full");
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.err, "bloomery: standard output: cannot write: No space left on device\n");
}

TEST_F(Query, AnswersWhileTheInputStillRuns) {
  // The second line is written only after the answer to the first has arrived.
  const ran result =
      sh("mkfifo in out; $TOOL query f < in > out & exec 3> in 4< out; echo bob >&3; read first <&4; echo ann >&3; "
         "read second <&4; exec 3>&-; wait; echo $first $second");
  EXPECT_EQ(result.out, "bob ann\n");
}

TEST_F(Query, WrongFilesAreNamedWithWhatIsWrong) {
  write("text", "hello\n");
  write("empty", "");
  const std::string whole = read("f");
  write("cut", whole.substr(0, whole.size() - 1));
  write("short", whole.substr(0, 100));
  write("longer", whole + "x");
  std::string newer = whole;
  newer[8] = 2;
  write("newer", newer);
  std::string header = whole;
  header[40] = static_cast<char>(header[40] ^ 1);
  write("header", header);
  const auto size = std::to_string(whole.size());
  expect_error({"query", "nosuch"}, "bloomery: nosuch: cannot open: No such file or directory");
  expect_error({"query", "."}, "bloomery: .: is a directory: give a file");
  expect_error({"query", "empty"}, "bloomery: empty: is empty: a filter file has at least 256 bytes");
  expect_error({"query", "cut"}, "bloomery: cut: is cut short: it has " + std::to_string(whole.size() - 1) +
                                     " bytes and should have " + size + "; copy or build it again");
  expect_error({"query", "short"},
               "bloomery: short: is cut short: it has 100 bytes and should have 256; copy or build it again");
  expect_error(
      {"query", "newer"},
      "bloomery: newer: was written by a newer Bloomery (file version 2, this one reads up to 1): update Bloomery");
  for (const auto& [file, part] : std::vector<std::pair<std::string, std::string>>{
           {"text", "is not a filter in any known format: it starts with \"hello"},
           {"longer", "something was appended"},
           {"header", "its header is damaged"}}) {
    const ran result = run({"query", file});
    EXPECT_EQ(result.code, 2) << file;
    EXPECT_EQ(lines_in(result.err), 1U) << result.err;
    EXPECT_EQ(result.err.rfind("bloomery: " + file + ": ", 0), 0U) << result.err;
    EXPECT_TRUE(contains(result.err, part)) << result.err;
  }
}

TEST_F(Query, ADamagedChunkIsAnErrorWhenTouchedUnlessTrusted) {
  build("g", numbers(1, 100000), {"-n", "100000"});
  std::string bytes = read("g");
  bytes[70000] = static_cast<char>(bytes[70000] ^ 0x10);
  write("damaged", bytes);
  const ran result = run({"query", "-c", "damaged"}, numbers(1, 100000));
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(contains(result.err, "bloomery: damaged: is damaged in chunk 16, bytes 69632 to 73727")) << result.err;
  EXPECT_NE(run({"query", "-c", "--trust", "damaged"}, numbers(1, 100000)).code, 2);
  EXPECT_EQ(run({"info", "damaged"}).code, 2);
}

}  // namespace
