// The threads behind -j: whatever their number, the same bytes, the same order, the same errors.
#include <unistd.h>
#include <zlib.h>

#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

constexpr std::array thread_counts = {"1", "2", "7"};

class Jobs : public tool_box {
 protected:
  // The line is run with $J as each number of threads and writes `out`; all must be equal. Gives the bytes.
  std::string same_for_all(const std::string& line) const {
    std::string first;
    for (const char* jobs : thread_counts) {
      const ran result = sh(std::string("J=") + jobs + "; rm -f out; " + line);
      EXPECT_EQ(result.code, 0) << line << '\n' << result.err;
      const std::string bytes = read("out");
      EXPECT_FALSE(bytes.empty()) << line;
      if (first.empty()) first = bytes;
      EXPECT_TRUE(bytes == first) << line << " with -j " << jobs;
    }
    return first;
  }
};

// Lines of very different lengths: none, a few bytes, and now and then more than a chunk.
std::string uneven_lines(std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    out.append(std::to_string(i * 7919 % 60013)).append(i * i % 97, 'x').append("\n");
    if (i % 9973 == 4000) out.append(300'000, 'l').append(std::to_string(i)).append("\n\n");
  }
  return out;
}

std::string csv_rows(int count) {
  std::string out = "id,\"the\nname\"\n";
  for (int i = 0; i < count; ++i) {
    out.append(std::to_string(i));
    out.append(i % 3 == 0 ? ",\"a \"\"quoted\"\",\n name " : ",name ").append(std::to_string(i));
    out.append(i % 3 == 0 ? "\"\r\n" : "\r\n");
  }
  return out;
}

void write_gzip(const std::string& path, const std::string& text) {
  const gzFile file = gzopen(path.c_str(), "wb1");
  ASSERT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
  ASSERT_EQ(gzclose(file), Z_OK);
}

TEST_F(Jobs, EveryKindIsTheSameForAnyNumberOfThreads) {
  write("lines", uneven_lines(30'000));
  write("numbers", numbers(1, 200'000));
  for (const char* kind : {"blocked", "bloom"}) {
    const std::string known =
        same_for_all(std::string("$TOOL build -q -j $J --kind ") + kind + " -n 30000 -o out lines");
    EXPECT_TRUE(known != same_for_all(std::string("$TOOL build -q -j $J --kind ") + kind + " -o out lines"));
  }
  same_for_all("$TOOL build -q -j $J --kind bitmap --u64 -o out numbers");
}

TEST_F(Jobs, EveryInputIsTheSameForAnyNumberOfThreads) {
  const std::string lines = uneven_lines(20'000);
  const std::string rows = csv_rows(40'000);
  write("lines", lines);
  write("more", numbers(1, 100'000));
  write("none", "");
  write("unended", lines.substr(0, lines.size() - 1));
  write("rows.csv", rows);
  write_gzip(path("rows.gz"), rows);
  const std::string all = same_for_all("$TOOL build -q -j $J -o out lines none more none");
  EXPECT_TRUE(all == same_for_all("cat lines more | $TOOL build -q -j $J -o out"));
  EXPECT_TRUE(all == same_for_all("{ cat lines; sleep 0.05; head -c 99 more; sleep 0.05; tail -c +100 more; } | "
                                  "$TOOL build -q -j $J -o out"));
  EXPECT_TRUE(all == same_for_all("$TOOL build -q -j $J -o out unended more"));
  const std::string csv = same_for_all("$TOOL build -q -j $J --csv --header -f 2,id -o out rows.csv");
  EXPECT_TRUE(csv == same_for_all("$TOOL build -q -j $J --csv --header -f 2,id -o out rows.gz"));
  EXPECT_TRUE(csv != same_for_all("$TOOL build -q -j $J --csv --header -f 2 -o out rows.csv"));
}

TEST_F(Jobs, AnswersComeInTheOrderOfTheInput) {
  build("f", numbers(1, 100'000), {"--kind", "bitmap", "--u64"});
  std::string input;
  std::string marked;
  std::string absent;
  for (int i = 0; i < 300'000; ++i) {
    const std::string line = std::to_string(static_cast<std::uint64_t>(i) * 7919 % 200'003);
    const bool present = line != "0" && std::stoi(line) <= 100'000;
    input.append(line).append("\n");
    marked.append(present ? "1\t" : "0\t").append(line).append("\n");
    if (!present) absent.append(line).append("\n");
  }
  write("input", input);
  EXPECT_TRUE(marked == same_for_all("$TOOL query --u64 --mark -j $J f input > out"));
  EXPECT_TRUE(absent == same_for_all("cat input | $TOOL query --u64 -v -j $J f > out"));
}

TEST_F(Jobs, AnErrorComesAfterTheAnswersBeforeItWithItsLine) {
  build("f", numbers(1, 100), {"--u64"});
  const std::string before = numbers(1, 150'000);
  write("first", before);
  write("second", before + "bad\n" + before + "worse\n");
  for (const char* jobs : thread_counts) {
    const ran result = run({"query", "--u64", "--mark", "-j", jobs, "f", "first", "second"});
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(result.err, "bloomery: second: line 150001: 'bad' is not an integer from 0 to 18446744073709551615\n");
    EXPECT_EQ(lines_in(result.out), 300'000U) << jobs;
    EXPECT_EQ(result.out.substr(result.out.size() - 8), "\t150000\n");
    expect_error({"build", "--u64", "-j", jobs, "-o", "g", "first", "second"},
                 "bloomery: second: line 150001: 'bad' is not an integer from 0 to 18446744073709551615");
    EXPECT_FALSE(exists("g"));
  }
}

TEST_F(Jobs, LinesOfRecordsWithNewlinesAreCounted) {
  std::string rows = csv_rows(30'000);
  const std::size_t lines = lines_in(rows);
  rows.append("one field\n");
  write("rows", rows);
  for (const char* jobs : thread_counts) {
    expect_error({"build", "--csv", "-f", "2", "-j", jobs, "-o", "g", "rows"},
                 "bloomery: rows: line " + std::to_string(lines + 1) + " has 1 field, there is no field 2");
  }
}

// What would hang, timeout ends with 124.
TEST_F(Jobs, AnEarlyEndDoesNotWaitForInputThatDoesNotCome) {
  build("f", "bob\n");
  write("keys", numbers(1, 200'000) + "bob\n");
  for (const char* jobs : thread_counts) {
    const std::string tool = std::string("timeout 20 $TOOL query -q -j ") + jobs;
    // A pipe that has a writer and no bytes; and one that nobody will ever write to.
    EXPECT_EQ(sh("mkfifo open; exec 3<> open; " + tool + " f keys - < open; code=$?; rm open; exit $code").code, 0);
    EXPECT_EQ(sh("mkfifo closed; " + tool + " f keys closed; code=$?; rm closed; exit $code").code, 0);
  }
}

TEST_F(Jobs, AnswersComeWhileTheInputStillRunsForAnyNumberOfThreads) {
  build("f", "ann\nbob\n");
  for (const char* jobs : thread_counts) {
    const ran result = sh(std::string("rm -f in out; mkfifo in out; timeout 20 $TOOL query -j ") + jobs +
                          " f < in > out & exec 3> in 4< out; for name in bob ann bob bob ann; do echo $name >&3; "
                          "read answer <&4; echo $answer; done; printf eve >&3; printf '\\nbo' >&3; exec 3>&-; wait");
    EXPECT_EQ(result.out, "bob\nann\nbob\nbob\nann\n") << jobs;
  }
}

// More than a chunk, then the beginning of a line: all whole lines are answered before the rest of it comes.
TEST_F(Jobs, AWholeChunkIsAnsweredBeforeTheNextIsThere) {
  build("f", "bob\n");
  std::string input(300'000, '\n');
  input.append("bob\nbegi");
  write("input", input);
  for (const char* jobs : thread_counts) {
    const ran result = sh(std::string("rm -f in out; mkfifo in out; timeout 20 $TOOL query -j ") + jobs +
                          " f < in > out & exec 3> in 4< out; cat input >&3; read answer <&4; echo $answer; "
                          "exec 3>&-; wait");
    EXPECT_EQ(result.out, "bob\n") << jobs;
  }
}

TEST_F(Jobs, PackedInputIsAnsweredWhileItStillRuns) {
  build("f", "ann\nbob\n");
  write_gzip(path("bob.gz"), "eve\nbob\n");
  write_gzip(path("ann.gz"), "ann\n");
  for (const char* jobs : thread_counts) {
    const ran result = sh(std::string("rm -f in out; mkfifo in out; timeout 20 $TOOL query -j ") + jobs +
                          " f < in > out & exec 3> in 4< out; for name in bob ann bob; do cat $name.gz >&3; "
                          "read answer <&4; echo $answer; done; exec 3>&-; wait");
    EXPECT_EQ(result.out, "bob\nann\nbob\n") << jobs;
  }
}

TEST_F(Jobs, AClosedPipeEndsManyThreadsQuietly) {
  write("keys", numbers(1, 400'000));
  build("f", "none\n");
  for (const char* jobs : thread_counts) {
    const ran result = sh(std::string("trap '' PIPE; { timeout 20 $TOOL query -v -j ") + jobs +
                          " f keys; echo $? > code; } | head -n 1");
    EXPECT_EQ(result.out, "1\n");
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(read("code"), "2\n") << jobs;
  }
}

TEST_F(Jobs, AnyNumberOfThreadsIsTaken) {
  write("keys", numbers(1, 200'000));
  ASSERT_EQ(run({"build", "-q", "-o", "f", "keys"}).code, 0);
  ASSERT_EQ(run({"build", "-q", "-j", "1000000", "-o", "g", "keys"}).code, 0);
  EXPECT_TRUE(read("f") == read("g"));
  EXPECT_EQ(run({"build", "-q", "-j", "0", "-o", "h", "keys"}).code, 2);
}

}  // namespace
