// bloomery dedup on a machine that fails: each call of every sort goes wrong in turn (tests/cli/fault). A run ends with 0 and all
// of its lines, or with 2 and one line that says why; its state is then the one before it or the one after it, and no line
// that has not been printed is known to it.
#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <optional>

#include "cli/dedup/exact.hpp"
#include "cli/tool_box.hpp"

namespace bloomery_test {
namespace {

using namespace bloomery;
using namespace bloomery::cli;

class DedupFaults : public tool_box {
 protected:
  struct way {
    std::string name;
    std::string options;
    bool piped = true;
    std::string begin_with{};  // options of the run that makes the state; "": there is none before
    bool typical = false;      // others write and read by the same code
  };
  static const std::vector<way>& ways() {
    static const std::vector<way> all = {
        {.name = "pipe", .options = "-T .", .typical = true},
        {.name = "pipe, one thread", .options = "-T . -j 1"},
        {.name = "counts", .options = "-T . --counts"},
        {.name = "repeated", .options = "-T . --repeated"},
        {.name = "mapped", .options = "in", .piped = false, .typical = true},
        {.name = "state", .options = "--state s", .begin_with = "--state s", .typical = true},
        {.name = "new state", .options = "--state s"},
        {.name = "json with a state", .options = "--json --state s", .begin_with = "--state s"},
        {.name = "approx", .options = "--approx -n 100"},
        {.name = "approx file", .options = "--approx in", .piped = false},
        {.name = "approx state",
         .options = "--approx --state s",
         .begin_with = "--approx -n 100 --state s",
         .typical = true},
        {.name = "approx new state", .options = "--approx -n 100 --state s"},
    };
    return all;
  }
  void SetUp() override {
    tool_box::SetUp();
    std::string lines;
    for (int i = 0; i < 3000; ++i) lines.append("line ").append(std::to_string(i % 2500)).append("\n");
    write("in", lines);
    write("before", "line 1\nline 2\nother\n");
  }

  // What a run finds, and what it leaves and prints when nothing goes wrong. The bytes of a state depend on nothing else.
  struct clean_run {
    std::optional<std::string> before;
    std::optional<std::string> after;
    std::string out;
  };
  [[nodiscard]] std::optional<std::string> state() const {
    return exists("s") ? std::optional(read("s")) : std::nullopt;
  }
  [[nodiscard]] ran run_way(const way& of, const std::string& faults = {}) const {
    return sh((of.piped ? "cat in | " : "") + faults + " \"$TOOL\" dedup " + of.options);
  }
  [[nodiscard]] clean_run run_clean(const way& of) const {
    clean_run clean;
    std::filesystem::remove(path("s"));
    if (!of.begin_with.empty()) {
      EXPECT_EQ(sh("\"$TOOL\" dedup " + of.begin_with + " before").code, 0) << of.name;
    }
    clean.before = state();
    const ran result = run_way(of);
    EXPECT_EQ(result.code, 0) << of.name << result.err;
    EXPECT_GT(result.out.size(), 50U) << of.name;
    clean.after = state();
    clean.out = result.out;
    return clean;
  }
  // Whether the call was reached.
  [[nodiscard]] bool check(const way& of, const clean_run& clean, const std::string& call, int n, int what) const {
    const std::string where = of.name + ": " + call + ":" + std::to_string(n) + ":" + std::to_string(what);
    std::filesystem::remove(path("failed"));
    std::filesystem::remove(path("s"));
    if (clean.before) write("s", *clean.before);
    const ran result = run_way(of, "LD_PRELOAD=" BLOOMERY_FAULT " BLOOMERY_FAULT_LOG=failed BLOOMERY_FAULT=" + call +
                                       ":" + std::to_string(n) + ":" + std::to_string(what));
    if (what == 0 || what == -EINTR) {
      EXPECT_EQ(result.code, 0) << where << ": is continued: " << result.err;
    }
    if (result.code == 0) {
      EXPECT_TRUE(result.out == clean.out) << where << ": other output";
      EXPECT_EQ(result.err, "") << where;
      EXPECT_TRUE(state() == clean.after) << where << ": not what was seen is remembered";
    } else {
      EXPECT_EQ(result.code, 2) << where;
      EXPECT_EQ(lines_in(result.err), 1U) << where << ": " << result.err;
      EXPECT_EQ(result.err.rfind("bloomery: ", 0), 0U) << where << ": " << result.err;
      EXPECT_FALSE(contains(result.err, "Success")) << where << ": " << result.err;
      // So the next run prints every line that this one did not.
      EXPECT_TRUE(state() == clean.before || (state() == clean.after && result.out == clean.out))
          << where << ": the state is neither the old one nor, with everything printed, the new one";
    }
    return exists("failed");
  }
  void check_all(const std::string& call, const std::vector<int>& whats, bool typical_only = false,
                 int step = 1) const {
    int reached = 0;
    for (const way& of : ways()) {
      if (typical_only && !of.typical) continue;
      const clean_run clean = run_clean(of);
      for (const int what : whats) {
        constexpr int most_calls = 3000;
        int n = 1;
        while (n < most_calls && check(of, clean, call, n, what)) n += step;
        EXPECT_LT(n, most_calls) << of.name << ": " << call << " never came to an end";
        reached += n - 1;
      }
    }
    EXPECT_GT(reached, 0) << call;
  }
};

TEST_F(DedupFaults, AnyWriteThatFailsIsAnErrorAndLeavesTheStateAsItWas) {
  check_all("stdout", {-EIO});
  check_all("pwrite", {-ENOSPC});
  check_all("write", {-ENOSPC}, true);
}

TEST_F(DedupFaults, AnyReadThatFailsIsAnErrorAndLeavesTheStateAsItWas) {
  check_all("stdin", {-EIO}, true);
  check_all("pread", {-EIO}, true);
}

TEST_F(DedupFaults, CallsThatAreInterruptedOrMoveHalfAreContinued) {
  for (const std::string call : {"stdout", "pwrite", "stdin", "pread"}) check_all(call, {0, -EINTR}, true);
  for (const std::string call : {"fdatasync", "ftruncate", "flock"}) check_all(call, {-EINTR}, true);
}

TEST_F(DedupFaults, AnySyncOrRenameThatFailsLeavesTheStateOldOrNew) {
  for (const std::string call : {"fdatasync", "fsync", "rename", "ftruncate", "flock", "syncfolder"}) {
    check_all(call, {-EIO}, true);
  }
}

TEST_F(DedupFaults, AThreadThatCannotBeMadeIsDoneWithout) { check_all("thread", {-EAGAIN}, true); }

TEST_F(DedupFaults, MemoryThatIsRefusedIsAnError) {
  check_all("mmapanon", {-ENOMEM}, true, 67);
#ifndef BLOOMERY_FAULT_NO_MALLOC
  check_all("malloc", {-ENOMEM}, true, 29);
#endif
}

class NightlyDedupFaults : public DedupFaults {};

TEST_F(NightlyDedupFaults, MemoryThatIsRefusedAnywhereIsAnError) {
  check_all("mmapanon", {-ENOMEM});
#ifndef BLOOMERY_FAULT_NO_MALLOC
  check_all("malloc", {-ENOMEM});
#endif
}

// The engine, closer than the tool gets: it splits what does not fit into memory.
class failing_sink final : public dedup_sink {
 public:
  explicit failing_sink(int fails_at) : left_(fails_at) {}
  void encode(std::string& to, std::uint64_t /*sequence*/, std::uint64_t /*count*/,
              std::string_view text) const override {
    to.append(text).append("\n");
  }
  outcome<void> write(std::string_view encoded) override {
    if (--left_ == 0) {
      has_failed_ = true;
      return fail_text("cannot write");
    }
    all_.append(encoded);
    return {};
  }
  [[nodiscard]] bool has_failed() const { return has_failed_; }
  [[nodiscard]] const std::string& all() const { return all_; }

 private:
  int left_;
  bool has_failed_ = false;
  std::string all_;
};

struct engine_outcome {
  bool fine = true;
  std::string text;
};

engine_outcome run_split(dedup_mode mode, bool background, failing_sink& sink) {
  const hasher hash;
  // Longer ones once the table is frozen, so that the parts are larger than the store.
  std::vector<std::string> lines;
  for (int i = 0; i < 2000; ++i) {
    lines.push_back("line " + std::to_string(i % 1500) + std::string(i % 1500 < 600 ? 0 : 600, 'x'));
  }
  auto made = exact_dedup::make({.mode = mode,
                                 .hash = hash,
                                 .folder = std::filesystem::temp_directory_path().string(),
                                 .table_bytes = 655360 + 300,  // an empty table and 512 keys
                                 .window_bytes = 200000,
                                 .background = background},
                                sink);
  if (!made) return {false, made.error().text};
  for (std::size_t i = 0; i < lines.size(); i += 100) {
    std::vector<dedup_entry> entries;
    std::vector<std::uint64_t> digests;
    for (std::size_t j = i; j < i + 100; ++j) {
      entries.push_back({lines[j], lines[j], j});
      digests.push_back(hash.digest(lines[j].data(), lines[j].size()));
    }
    if (auto added = (*made)->add(entries, digests); !added) return {false, added.error().text};
  }
  EXPECT_TRUE((*made)->was_split());
  const auto finished = (*made)->finish();
  return finished ? engine_outcome{} : engine_outcome{false, finished.error().text};
}

TEST(DedupEngineFaults, NoFailedWriteOfASplitRunIsForgotten) {
  for (const auto& [mode, background] : {std::pair(dedup_mode::first, true), std::pair(dedup_mode::counts, false)}) {
    int n = 1;
    for (; n < 50; ++n) {
      failing_sink sink(n);
      const engine_outcome done = run_split(mode, background, sink);
      EXPECT_EQ(done.fine, !sink.has_failed()) << n;
      EXPECT_EQ(done.text, sink.has_failed() ? "cannot write" : "");
      if (done.fine) break;
    }
    EXPECT_GT(n, 1);
    EXPECT_LT(n, 50);
  }
}

TEST(DedupEngineFaults, NoFailedWriteToASpillIsForgotten) {
  failing_sink whole(0);
  ASSERT_TRUE(run_split(dedup_mode::first, true, whole).fine);
  struct rlimit before {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  std::vector<std::string> wrong;
  int failures = 0;
  for (const rlim_t limit : {0U, 1000U, 4000U, 8000U, 9000U, 10000U, 12000U, 100000U}) {
    const struct rlimit small { limit, before.rlim_max };
    failing_sink sink(0);
    setrlimit(RLIMIT_FSIZE, &small);
    const engine_outcome done = run_split(dedup_mode::first, true, sink);
    setrlimit(RLIMIT_FSIZE, &before);
    failures += done.fine ? 0 : 1;
    if (done.fine && sink.all() != whole.all()) wrong.push_back(std::to_string(limit));
    if (!done.fine && !contains(done.text, "cannot write: File too large")) wrong.push_back(done.text);
  }
  signal(SIGXFSZ, handler);
  EXPECT_TRUE(wrong.empty()) << wrong.front();
  EXPECT_GE(failures, 5);
  EXPECT_LT(failures, 8);
}

}  // namespace
}  // namespace bloomery_test
