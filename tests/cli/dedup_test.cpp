// bloomery dedup as its users run it.
#include <signal.h>
#include <nlohmann/json.hpp>

#include <thread>

#include "cli/tool_box.hpp"

namespace bloomery_test {
namespace {

class Dedup : public tool_box {
 protected:
  // `count` lines of which about a third repeat earlier ones.
  static std::string lines_with_repeats(int count) {
    std::string out;
    std::uint64_t state = 1;
    for (int i = 0; i < count; ++i) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      out.append("https://example.org/").append(std::to_string((state >> 33U) % static_cast<unsigned>(count)));
      out.append("\n");
    }
    return out;
  }
};

TEST_F(Dedup, PrintsFirstOccurrencesInOrder) {
  const ran result = run({"dedup"}, "b\na\nb\nc\na\nd");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, "b\na\nc\nd\n");
  EXPECT_EQ(result.err, "");
}

TEST_F(Dedup, AgreesWithAwkOnFilesAndPipesWhateverTheThreads) {
  write("in", lines_with_repeats(200000));
  const std::string first = sh("awk '!s[$0]++' in").out;
  const std::string again = sh("awk '++s[$0]==2' in").out;
  for (const std::string jobs : {"1", "2", "7"}) {
    EXPECT_EQ(run({"dedup", "-j", jobs, "in"}).out, first);
    EXPECT_EQ(sh("cat in | \"$TOOL\" dedup -j " + jobs).out, first);
    EXPECT_EQ(run({"dedup", "-j", jobs, "--repeated", "in"}).out, again);
  }
  const std::string counts =
      sh("awk '{ if (!s[$0]++) o[n++] = $0 } END { for (i = 0; i < n; i++) print s[o[i]] \"\\t\" o[i] }' in").out;
  EXPECT_EQ(run({"dedup", "--counts", "in"}).out, counts);
}

TEST_F(Dedup, StaysExactWhenItDoesNotFitIntoMemory) {
  // A table for 32 MiB holds less than a million keys.
  const ran made = sh("awk 'BEGIN { for (i = 0; i < 1500000; i++) print (i * 7919) % 1300000 }' > in");
  ASSERT_EQ(made.code, 0);
  const ran same = sh("\"$TOOL\" dedup --mem 32Mi in > out; awk '!s[$0]++' in | cmp - out");
  EXPECT_EQ(same.code, 0) << same.out << same.err;
}

TEST_F(Dedup, ConfirmsSuspectsOfAHashThatCollides) {
  // 32 bits for 150,000 lines: two or three pairs collide, and none of these lines may be lost.
  const std::string lines = numbers(1, 150000);
  const ran result = run({"dedup", "--hash", "murmur3-x86-32"}, lines + lines);
  EXPECT_EQ(result.out, lines);
}

TEST_F(Dedup, TakesKeysAsTheOptionsSelectThemAndPrintsCompleteLines) {
  EXPECT_EQ(run({"dedup", "-f", "2", "-d", ","}, "1,x\n2,y\n3,x\n").out, "1,x\n2,y\n");
  EXPECT_EQ(run({"dedup", "-f", "1,2", "-d", ","}, "ab,c\na,bc\nab,c\n").out, "ab,c\na,bc\n");
  EXPECT_EQ(run({"dedup", "--csv", "-f", "1"}, "\"x\ny\",1\n\"x\ny\",2\nz,3\n").out, "\"x\ny\",1\nz,3\n");
  EXPECT_EQ(run({"dedup", "--u64"}, "1\n01\n2\n").out, "1\n2\n");
  EXPECT_EQ(run({"dedup", "--hex"}, "ff\nFF\n00\n").out, "ff\n00\n");
  EXPECT_EQ(run({"dedup", "--crlf"}, "a\r\na\nb\r\n").out, "a\r\nb\r\n");
  EXPECT_EQ(run({"dedup", "--repeated", "-f", "1", "-d", ","}, "1,x\n2,y\n1,z\n1,w\n").out, "1,z\n");
  EXPECT_EQ(run({"dedup", "--counts", "-f", "1", "-d", ","}, "1,x\n2,y\n1,z\n1,w\n").out, "3\t1,x\n1\t2,y\n");
  write("nul", std::string_view("a\0b\na\0b\0b\na\0", 12));
  EXPECT_EQ(run({"dedup", "-0", "nul"}).out, std::string("a\0b\na\0b\0", 8));
}

TEST_F(Dedup, KeepsTheHeaderInFront) {
  write("a", "id,name\n1,x\n2,x\n");
  write("b", "id,name\n3,y\n");
  EXPECT_EQ(run({"dedup", "--csv", "--header", "-f", "name", "a", "b"}).out, "id,name\n1,x\n3,y\n");
  EXPECT_EQ(run({"dedup", "--csv", "--header", "-f", "name", "--approx", "a", "b"}).out, "id,name\n1,x\n3,y\n");
  EXPECT_EQ(run({"dedup", "--csv", "--header", "-f", "name", "--counts", "a", "b"}).out,
            "count\tid,name\n2\t1,x\n1\t3,y\n");
  EXPECT_EQ(run({"dedup", "--csv", "--header", "-f", "name"}, "id,name\n").out, "id,name\n");
}

TEST_F(Dedup, TakesEveryKindOfLine) {
  EXPECT_EQ(run({"dedup"}, "").out, "");
  EXPECT_EQ(run({"dedup"}, "\n\n\n").out, "\n");
  EXPECT_EQ(run({"dedup"}, "a").out, "a\n");
  const std::string binary("\xff\xfe\0\x80\n\xff\xfe\0\x80\n\xff\xfe\0\x81\n", 15);
  EXPECT_EQ(run({"dedup"}, binary).out, std::string("\xff\xfe\0\x80\n\xff\xfe\0\x81\n", 10));
  const std::string megabytes(5U << 20U, 'q');
  EXPECT_EQ(run({"dedup"}, megabytes + "1\n" + megabytes + "2\n" + megabytes + "1\n").out,
            megabytes + "1\n" + megabytes + "2\n");
  write("a", "x\ny\n");
  write("b", "y\nz\n");
  EXPECT_EQ(run({"dedup", "a", "b", "a"}).out, "x\ny\nz\n");
  EXPECT_EQ(sh("gzip -c a > a.gz && \"$TOOL\" dedup a.gz b").out, "x\ny\nz\n");
}

TEST_F(Dedup, AnswersWhileTheInputStillRuns) {
  const ran result =
      sh("mkfifo in out; (\"$TOOL\" dedup < in > out &) ; exec 8> in 9< out;"
         "printf 'a\\na\\nb\\n' >&8; read x <&9; read y <&9; printf 'b\\nc\\n' >&8; read z <&9; echo $x $y $z");
  EXPECT_EQ(result.out, "a b c\n") << result.err;
}

TEST_F(Dedup, ContinuesAcrossRunsWithAState) {
  EXPECT_EQ(run({"dedup", "--state", "s"}, "a\nb\na\n").out, "a\nb\n");
  EXPECT_EQ(run({"dedup", "--state", "s"}, "b\nc\n").out, "c\n");
  EXPECT_EQ(run({"dedup", "--state", "s"}, "a\nb\nc\n").out, "");
  EXPECT_EQ(run({"dedup", "--state", "s", "--repeated"}, "a\nd\nd\na\n").out, "a\nd\n");
  EXPECT_EQ(run({"dedup", "--state", "s"}, "d\ne\n").out, "e\n");
  EXPECT_EQ(names(), std::vector<std::string>{"s"});
}

TEST_F(Dedup, RemembersNothingOfARunThatFails) {
  EXPECT_EQ(run({"dedup", "--state", "s", "--u64"}, "1\n2\n").code, 0);
  const std::string before = read("s");
  const ran result = run({"dedup", "--state", "s", "--u64"}, "3\n4\nfive\n");
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "3\n4\n");
  EXPECT_EQ(result.err, "bloomery: standard input: line 3: 'five' is not an integer from 0 to 18446744073709551615\n");
  EXPECT_EQ(run({"dedup", "--state", "s", "--u64"}, "1\n3\n").out, "3\n");
  const ran fresh = run({"dedup", "--state", "t", "--u64"}, "3\nfive\n");
  EXPECT_EQ(fresh.code, 2);
  EXPECT_FALSE(exists("t"));
}

TEST_F(Dedup, LeavesTheStateWholeWhenItIsKilled) {
  ASSERT_EQ(run({"dedup", "--state", "s"}, "a\nb\n").code, 0);
  for (const std::string signal : {"TERM", "KILL"}) {
    const ran result =
        sh("mkfifo in out; \"$TOOL\" dedup --state s < in > out & exec 8> in 9< out; printf 'c\\n' >&8; read x <&9; "
           "kill -" +
           signal + " $!; wait $!; echo $x; rm in out");
    EXPECT_EQ(result.out, "c\n");
    EXPECT_EQ(names(), std::vector<std::string>{"s"});
    EXPECT_EQ(run({"dedup", "--json", "--state", "s"}, "a\nb\n").out.find("\"new\": 0") != std::string::npos, true);
  }
}

TEST_F(Dedup, LeavesNoSpillFilesEvenWhenKilledHard) {
  const ran result =
      sh("mkdir t; mkfifo in out; \"$TOOL\" dedup -T t < in > out & exec 8> in 9< out; printf 'a\\nb\\na\\n' >&8;"
         "read x <&9; ls -A t | wc -l; kill -9 $!; ls -A t | wc -l; rm in out");
  EXPECT_EQ(result.out, "0\n0\n") << result.err;
}

TEST_F(Dedup, AFullDiskIsAnErrorAndLeavesTheStateWhole) {
  write("in", numbers(1, 200000));
  const ran spill = sh("ulimit -f 64; cat in | { \"$TOOL\" dedup -T .; echo $? >&2; } | cat > /dev/null");
  EXPECT_EQ(
      spill.err,
      "bloomery: .: cannot write: File too large: more room is needed there, or another folder (--temp-dir)\n2\n");
  ASSERT_EQ(run({"dedup", "--state", "s"}, "a\n").code, 0);
  const ran state = sh("ulimit -f 64; { \"$TOOL\" dedup --state s in; echo $? >&2; } | cat > /dev/null");
  EXPECT_TRUE(contains(state.err, "bloomery: s: cannot write: File too large")) << state.err;
  EXPECT_EQ(run({"dedup", "--state", "s"}, "a\n1\n").out, "1\n");
  EXPECT_EQ(names(), (std::vector<std::string>{"in", "s"}));
}

TEST_F(Dedup, TwoRunsCannotUseOneStateAtOnce) {
  const ran result =
      sh("mkfifo in out; \"$TOOL\" dedup --state s < in > out & exec 8> in 9< out; printf 'a\\n' >&8; read x <&9;"
         "echo b | \"$TOOL\" dedup --state s; echo $?; exec 8>&-; wait $!; rm in out");
  EXPECT_EQ(result.out, "2\n");
  EXPECT_EQ(result.err, "bloomery: s: is being used by another dedup: try again when that is done\n");
  EXPECT_EQ(run({"dedup", "--state", "s"}, "a\nb\n").out, "b\n");
}

TEST_F(Dedup, ApproxPrintsNothingTwiceAndLosesFewLines) {
  const std::string lines = numbers(1, 200000);
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"-n", "200k"}, {"-p", "1/1000"}}) {
    std::vector<std::string> words = {"dedup", "--approx"};
    words.insert(words.end(), more.begin(), more.end());
    const ran result = run(words, lines + lines);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_GT(lines_in(result.out), 200000U * 99 / 100);
    write("out", result.out);
    EXPECT_EQ(sh("sort out | uniq -d").out, "");
    EXPECT_EQ(sh("sort -nc out").code, 0);
  }
  write("in", lines + lines);
  EXPECT_GT(lines_in(sh("cat in | \"$TOOL\" dedup --approx").out), 200000U * 99 / 100);
  EXPECT_GT(lines_in(run({"dedup", "--approx", "--repeated", "in"}).out), 200000U * 98 / 100);
}

TEST_F(Dedup, ApproxGrowsFromAPipeAndKeepsItsFpr) {
  // Three filters.
  const ran result =
      sh("awk 'BEGIN { for (i = 0; i < 4000000; i++) print i }' | \"$TOOL\" dedup --approx -p 1% | wc -l");
  const long printed = std::stol(result.out);
  EXPECT_GT(printed, 3960000);
  EXPECT_LE(printed, 4000000);
}

TEST_F(Dedup, ApproxStateIsAnOrdinaryFilter) {
  EXPECT_EQ(run({"dedup", "--approx", "-n", "1000", "--state", "s"}, "a\nb\na\n").out, "a\nb\n");
  EXPECT_EQ(run({"dedup", "--approx", "--state", "s"}, "b\nc\n").out, "c\n");
  EXPECT_EQ(run({"query", "s"}, "a\nc\nzzz\n").out, "a\nc\n");
  const ran more = run({"dedup", "--approx", "--state", "s"}, numbers(1, 5000));
  EXPECT_EQ(more.code, 0);
  EXPECT_EQ(more.err, "") << "it grows";
  EXPECT_GT(lines_in(more.out), 4900U);
}

TEST_F(Dedup, JsonReportsHowManyAndPrintsNoLines) {
  const auto found = json_of({"dedup", "--json"}, "a\nb\na\n");
  EXPECT_EQ(found["lines"], 3);
  EXPECT_EQ(found["different"], 2);
  EXPECT_EQ(found["repetitions"], 1);
  EXPECT_EQ(found["exact"], true);
}

TEST_F(Dedup, RefusesWhatContradictsItself) {
  expect_error({"dedup", "--counts", "--repeated"},
               "bloomery: dedup: --counts and --repeated contradict each other: give one");
  expect_error({"dedup", "--counts", "--approx"}, "bloomery: dedup: --counts is exact: leave --approx out");
  expect_error({"dedup", "--counts", "--state", "s"}, "bloomery: dedup: --counts counts one run: leave --state out");
  expect_error(
      {"dedup", "-p", "1%"},
      "bloomery: dedup: -p is a share of mistakes and dedup makes none: give --approx as well, or leave -p out");
  expect_error(
      {"dedup", "-n", "1000"},
      "bloomery: dedup: -n is the size of a filter and dedup needs none: give --approx as well, or leave -n out");
  expect_error({"dedup", "--mem", "1M"}, "bloomery: dedup: --mem: dedup needs 33,554,432 bytes (32.0 MiB) at least");
  expect_error({"dedup", "--approx", "--state", "s"},
               "bloomery: dedup: --approx --state: give -n, the number of different lines that the state will hold");
  expect_error({"dedup", "missing"}, "bloomery: missing: cannot open: No such file or directory");
  expect_error(
      {"dedup", "-T", "nowhere"},
      "bloomery: nowhere: cannot make a temporary file in it: No such file or directory: give another folder with "
      "--temp-dir",
      "a\n");
  EXPECT_EQ(names(), std::vector<std::string>{});
}

TEST_F(Dedup, RefusesStatesThatAreNone) {
  build("filter", "a\n");
  expect_error({"dedup", "--state", "filter"},
               "bloomery: filter: is a filter, which only --approx can continue: give --approx");
  write("text", "hello\n");
  expect_error({"dedup", "--state", "text"}, "bloomery: text: is not the state of a dedup: give one, or a new name");
  std::filesystem::create_directory(path("folder"));
  expect_error({"dedup", "--state", "folder"}, "bloomery: folder: is a directory: give a file");
  ASSERT_EQ(run({"dedup", "--state", "s"}, "a\n").code, 0);
  std::string newer = read("s");
  newer[8] = 2;
  write("s", newer);
  expect_error({"dedup", "--state", "s"},
               "bloomery: s: is a state of version 2, this program reads version 1: use a newer bloomery");
  write("in", "a\n");
  expect_error({"dedup", "--state", "in", "in"}, "bloomery: in: is an input as well: give another name for the output");
}

}  // namespace
}  // namespace bloomery_test
