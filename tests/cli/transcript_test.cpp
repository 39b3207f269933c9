// Runs the transcripts of tests/cli/transcripts, each test of one as a test of its own: query.txt has the suite
// QueryTranscript. They are read when the program starts, so a new one needs no compilation. The format, and how a
// transcript is compared, is in transcript.hpp.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "cli/tool_box.hpp"
#include "cli/transcript.hpp"

namespace {

using namespace bloomery_test;

class TranscriptRun : public tool_box {
 public:
  TranscriptRun(std::string file, std::shared_ptr<const transcript> all, std::size_t index)
      : file_(std::move(file)), all_(std::move(all)), index_(index) {}

  void TestBody() override {
    if (!all_->error.empty()) {
      ADD_FAILURE_AT(file_.c_str(), 1) << file_ << ": " << all_->error;
      return;
    }
    if (run_steps(all_->setup)) run_steps(all_->tests[index_].steps);
  }

 private:
  // Stops at the first step that is not as expected: those after it build on it.
  bool run_steps(const std::vector<transcript_step>& steps) const {
    for (const transcript_step& step : steps) {
      const std::string wrong = difference(step, run_step(step, path("")));
      if (wrong.empty()) continue;
      ADD_FAILURE_AT(file_.c_str(), step.line) << "$ " << step.command << "\n" << wrong;
      return false;
    }
    return true;
  }

  std::string file_;
  std::shared_ptr<const transcript> all_;
  std::size_t index_;
};

// small_filters.txt: SmallFiltersTranscript
std::string suite_name(const std::filesystem::path& file) {
  std::string out;
  bool starts = true;
  for (const char c : file.stem().string()) {
    if (c != '_') out.push_back(starts ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c);
    starts = c == '_';
  }
  return out + "Transcript";
}

std::vector<std::filesystem::path> transcript_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(BLOOMERY_SOURCE_DIR "/tests/cli/transcripts")) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// A file that is no transcript becomes one test, which fails.
std::size_t register_all() {
  std::size_t registered = 0;
  for (const auto& file : transcript_files()) {
    std::ifstream stream(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    const auto parsed = std::make_shared<const transcript>(parse_transcript(text));
    const std::size_t tests = parsed->error.empty() ? parsed->tests.size() : 1;
    for (std::size_t i = 0; i < tests; ++i) {
      const std::string name = parsed->error.empty() ? parsed->tests[i].name : "IsATranscript";
      const int line = parsed->error.empty() ? parsed->tests[i].line : 1;
      testing::RegisterTest(suite_name(file).c_str(), name.c_str(), nullptr, nullptr, file.c_str(), line,
                            [file, parsed, i]() -> testing::Test* { return new TranscriptRun(file, parsed, i); });
      ++registered;
    }
  }
  return registered;
}
const std::size_t registered_tests = register_all();

// What the first step of a transcript that prints "a" and "b", "w" on standard error, and exits with 3 lacks.
std::string wrong_with(const std::string& expectation) {
  const transcript parsed = parse_transcript("== T\n$ echo\n" + expectation);
  EXPECT_EQ(parsed.error, "") << expectation;
  return difference(parsed.tests.at(0).steps.at(0), {3, "a\nb\n", "w\n"});
}

TEST(Transcript, TheFilesAreFound) { EXPECT_GT(registered_tests, 50U); }

TEST(Transcript, TheWholeResultMustBeAsExpected) {
  for (const char* right : {"a\nb\n! w\n? 3\n", "~ [a-c]\nb\n!~ .\n? 3\n\n", "...\n!...\n? 3\n",
                            "a\n...\nb\n! w\n? 3\n", "| a\n| b\n! w\n? 3\n", "# a comment\na\nb\n! w\n? 3\n"}) {
    EXPECT_EQ(wrong_with(right), "") << right;
  }
  for (const char* wrong :
       {"a\n! w\n? 3\n", "a\nb\nc\n! w\n? 3\n", "b\na\n! w\n? 3\n", "a\n\nb\n! w\n? 3\n", "a\nb\n? 3\n",
        "a\nb\n! x\n? 3\n", "a\nb\n! w\n", "a\nb\n! w\n? 2\n", "a\n~ [ac]\n! w\n? 3\n", "~ .*\n! w\n? 3\n",
        "...\na\n! w\n? 3\n", "a\nb\n!~ v+\n? 3\n", "! w\n? 3\n"}) {
    EXPECT_NE(wrong_with(wrong), "") << wrong;
  }
  const transcript open_end = parse_transcript("== T\n$ echo\na\n");
  EXPECT_NE(difference(open_end.tests[0].steps[0], {0, "a", ""}), "");
  const transcript said = parse_transcript("== T\n$ echo\na\n(no newline)\n");
  EXPECT_EQ(difference(said.tests[0].steps[0], {0, "a", ""}), "");
}

TEST(Transcript, CommandsRunInTheirFolderWithTheTool) {
  const transcript parsed =
      parse_transcript("== T\n$ cat > made <<'END'\n> one\n>\n> $two\n> END\n$ cat made; exit 4\n");
  ASSERT_EQ(parsed.error, "");
  const std::string folder = testing::TempDir();
  EXPECT_EQ(difference(parsed.tests[0].steps[0], run_step(parsed.tests[0].steps[0], folder)), "");
  const ran shown = run_step(parsed.tests[0].steps[1], folder);
  EXPECT_EQ(shown.out, "one\n\n$two\n");
  EXPECT_EQ(shown.code, 4);
  const transcript tool = parse_transcript("== T\n$ rm made; bloomery --version\n");
  EXPECT_EQ(run_step(tool.tests[0].steps[0], folder).out.rfind("bloomery ", 0), 0U);
}

TEST(Transcript, WhatIsNoTranscriptIsRefused) {
  for (const char* text :
       {"", "# only a comment\n", "$ echo before any test\n", "== T\n", "== T\noutput before a command\n",
        "== T\n$ a\n== T\n$ b\n", "== two words\n$ a\n", "== T\n$ a\n? x\n", "== T\n$ a\n~ (\n",
        "== T\n$ a\n== setup\n$ b\n", "== T\n$ a\nb\n> c\n", "== setup\n$ a\n"}) {
    EXPECT_NE(parse_transcript(text).error, "") << text;
  }
}

}  // namespace
