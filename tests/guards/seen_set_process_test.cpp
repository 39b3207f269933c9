// seen_set: processes that are killed, and disks that are full.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bloomery/guards/seen_set.hpp>

#include "guards/guard_support.hpp"

namespace bloomery::guard_testing {
namespace {

constexpr filter_params few_keys{.keys = 1000, .fpr = 1e-6};
constexpr seen_set_options short_journal{.journal_bytes = 4096};

// Inserts keys on two threads from number `first` on, and reports each that is done, until it is killed.
[[noreturn]] void insert_until_killed(const std::string& path, std::uint64_t first, int report) {
  auto set = seen_set::open(path, "scalable", few_keys, hasher{}, short_journal);
  if (!set) _exit(3);
  on_threads(2, [&](unsigned id) {
    for (std::uint64_t i = first + id; true; i += 2) {
      const auto fresh = set->insert_if_new(key_number(i));
      if (!fresh || write(report, &i, sizeof(i)) != sizeof(i)) _exit(4);
    }
  });
  _exit(5);
}

TEST(SeenSetProcess, WhatWasReportedIsSeenAfterKillNineAndNothingElseIs) {
  const folder box;
  const std::string path = box / "seen";
  std::vector<std::uint64_t> reported;
  std::uint64_t first = 0;
  std::uint64_t replayed = 0;
  for (unsigned round = 0; round < 12; ++round) {
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) insert_until_killed(path, first, ends[1]);
    close(ends[1]);
    // Killed in the middle: after another number of inserts each time, around and between snapshots.
    const std::uint64_t wanted = 150 + 97 * round;
    std::uint64_t number = 0;
    std::uint64_t largest = first;
    bool killed = false;
    for (std::uint64_t got = 0; read(ends[0], &number, sizeof(number)) == sizeof(number); ++got) {
      reported.push_back(number);
      largest = std::max(largest, number);
      if (got == wanted) killed = kill(child, SIGKILL) == 0;
    }
    close(ends[0]);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
    auto set = seen_set::open(path, "scalable", few_keys, hasher{}, short_journal);
    ASSERT_TRUE(set) << described(set);
    replayed += set->stats().replayed;
    EXPECT_LE(set->stats().replayed, 4 * short_journal.journal_bytes / 16) << "the replay is bounded";
    for (const std::uint64_t each : reported) ASSERT_TRUE(set->may_contain(key_number(each))) << each;
    for (std::uint64_t i = largest + 1000; i < largest + 1100; ++i) ASSERT_FALSE(set->may_contain(key_number(i)));
    first = largest + 1000;
  }
  EXPECT_GT(replayed, 0U);
}

// Files of this process end at `bytes` until the end of the scope.
class file_limit {
 public:
  explicit file_limit(std::uint64_t bytes) : old_signal_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &old_);
    rlimit lower = old_;
    lower.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &lower);
  }
  file_limit(const file_limit&) = delete;
  file_limit& operator=(const file_limit&) = delete;
  ~file_limit() {
    setrlimit(RLIMIT_FSIZE, &old_);
    signal(SIGXFSZ, old_signal_);
  }

 private:
  rlimit old_{};
  void (*old_signal_)(int);
};

TEST(SeenSetProcess, AFullDiskIsAnErrorAndTheKeyStaysNew) {
  const folder box;
  const std::string path = box / "seen";
  std::uint64_t taken = 0;
  {
    auto set = seen_set::open(path, "scalable", few_keys, hasher{});
    ASSERT_TRUE(set);
    result<bool> last = true;
    {
      const file_limit full(64 + 16 * 50 + 7);  // in the middle of a record
      for (; last; ++taken) last = set->insert_if_new(key_number(taken));
      --taken;
      EXPECT_EQ(described(last), path + ".journal: cannot write: File too large");
      EXPECT_EQ(taken, 50U);
      EXPECT_FALSE(set->may_contain(key_number(taken)));
      EXPECT_FALSE(set->insert_if_new(key_number(taken)));
    }
    EXPECT_TRUE(*set->insert_if_new(key_number(taken))) << "there is space again";
  }
  auto again = seen_set::open(path, "scalable", few_keys, hasher{});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->stats().torn_bytes, 0U);
  for (std::uint64_t i = 0; i <= taken; ++i) EXPECT_TRUE(again->may_contain(key_number(i)));
}

TEST(SeenSetProcess, SnapshotsThatFailLoseNothingAndEndInErrorsNotInAnEndlessJournal) {
  const folder box;
  const std::string path = box / "seen";
  // A snapshot has more than 64 KiB, a journal less.
  const filter_params large{.keys = 100'000, .fpr = 1e-6};
  std::uint64_t taken = 0;
  {
    auto set = seen_set::open(path, "blocked", large, hasher{}, short_journal);
    ASSERT_TRUE(set);
    result<bool> last = true;
    const file_limit full(std::uint64_t{64} << 10U);
    while (last && taken < 100'000) last = set->insert_if_new(key_number(taken++));
    --taken;
    ASSERT_FALSE(last);
    EXPECT_NE(described(last).find("cannot write: File too large"), std::string::npos) << described(last);
    EXPECT_GT(set->stats().failed_snapshots, 1U);
    EXPECT_EQ(set->stats().snapshots, 0U);
    EXPECT_LE(set->stats().journal_bytes, 4 * short_journal.journal_bytes + 16);
    ASSERT_TRUE(set->last_error());
  }
  {
    auto set = seen_set::open(path, "blocked", large, hasher{}, short_journal);
    ASSERT_TRUE(set) << described(set);
    EXPECT_EQ(set->stats().replayed, taken);
    for (std::uint64_t i = 0; i < taken; ++i) ASSERT_TRUE(set->may_contain(key_number(i)));
    for (std::uint64_t i = taken; i < taken + 2000; ++i) ASSERT_TRUE(set->insert_if_new(key_number(i)));
    EXPECT_GT(set->stats().snapshots, 0U);
    EXPECT_FALSE(set->last_error());
  }
  auto set = seen_set::open(path, "blocked", large, hasher{}, short_journal);
  ASSERT_TRUE(set) << described(set);
  for (std::uint64_t i = 0; i < taken + 2000; ++i) ASSERT_TRUE(set->may_contain(key_number(i)));
}

}  // namespace
}  // namespace bloomery::guard_testing
