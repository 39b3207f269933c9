// Every verb that writes, with every call to the system failing in turn: see fault_box.hpp for what must hold.
//
// The suites whose names begin with Nightly go through all of what the others sample.
#include <csignal>

#include "cli/fault_box.hpp"

namespace {

using namespace bloomery_test;

class EveryFault : public fault_box {
 protected:
  // Seen by few lines of code each, and the same ones in every writer.
  static bool is_typical(const writer& of) {
    const std::string_view name = of.name;
    return name == "build over" || name == "shards over" || name == "add" || name == "merge";
  }
  void check_json(const std::string& command) {
    const int calls = usual(command).calls.at("malloc");
    for (int n = 2; n <= calls; ++n) {
      const ran result = faulty(command, "malloc", n, -ENOMEM);
      EXPECT_TRUE(result.code == 0 || result.code == 2) << command << ' ' << n << ": " << result.code;
      EXPECT_EQ(lines_in(result.err), result.code == 0 ? 0U : 1U) << command << ' ' << n << ": " << result.err;
    }
  }
};
class NightlyEveryFault : public EveryFault {};

constexpr bool is_survived = true;

TEST_F(EveryFault, OfAFileIsOneLineAndTheOldFiles) {
  for (const writer& of : writers()) {
    for (const fault& with : {fault{"read", -EIO}, fault{"pread", -EIO}, fault{"write", -ENOSPC}, fault{"fsync", -EIO},
                              fault{"rename", -EIO}, fault{"mmap", -ENOMEM}, fault{"mmapanon", -ENOMEM}}) {
      check_every(of, with);
    }
  }
}

TEST_F(EveryFault, ThatInterruptsOrMovesHalfOfTheBytesIsSurvived) {
  for (const writer& of : writers()) {
    if (!is_typical(of) && !contains(of.name, "add zstd") && !contains(of.name, "merge bitmap")) continue;
    for (const char* call : {"read", "pread", "write"}) {
      check_every(of, {call, -EINTR, is_survived});
      check_every(of, {call, 0, is_survived});
    }
    for (const char* call : {"fsync", "syncfolder", "flock"}) check_every(of, {call, -EINTR, is_survived});
  }
}

TEST_F(EveryFault, OfANameIsOneLineAndTheOldFiles) {
  for (const writer& of : writers()) {
    if (!contains(of.name, "over")) continue;
    for (const char* call : {"stat", "flock", "close", "readlink", "dup"}) check_every(of, {call, -EIO});
    check_every(of, {"open", -EMFILE}, 4);
  }
}

TEST_F(EveryFault, OfAFolderThatIsNotSyncedReportsThatTheFileIsInPlace) {
  for (const writer& of : writers()) {
    if (!is_typical(of)) continue;
    const usual_run& without = usual(of.command);
    EXPECT_EQ(without.calls.at("syncfolder"), 1) << of.name << ": one folder is synced once";
    prepare();
    const ran result = faulty(of.command, "syncfolder", 1, -EIO);
    EXPECT_EQ(result.code, 2) << of.name;
    EXPECT_TRUE(contains(result.err,
                         ": is written and in place, but its folder could not be synced (Input/output "
                         "error): after a power failure the old file may be back; check the disk\n"))
        << of.name << ": " << result.err;
    check_outcome(of.name, result, without.after);
  }
}

// A report that cannot be made comes after the file.
TEST_F(EveryFault, OfAReportNamesTheFileThatIsInPlace) {
  for (const char* command : {"build --json -o f keys", "merge --json -o f a b", "add --json a more",
                              "remove --json --u64 set gone", "convert --json a -o f --to text"}) {
    prepare();
    const ran without = sh(std::string("exec \"$TOOL\" ") + command);
    EXPECT_EQ(without.code, 0) << command;
    const files after = contents();
    prepare();
    const ran result = faulty(command, "stdout", 1, -ENOSPC);
    EXPECT_EQ(result.code, 2) << command;
    EXPECT_TRUE(contains(result.err,
                         ": is written and in place, but standard output: cannot write: No space left on "
                         "device\n"))
        << command << ": " << result.err;
    EXPECT_TRUE(contents() == after) << command;
  }
}

#ifndef BLOOMERY_FAULT_NO_MALLOC

// Another part of the calls for each writer.
TEST_F(EveryFault, OfMemoryIsOneLineAndTheOldFiles) {
  int stride = 0;
  for (const writer& of : writers()) check_every(of, {"malloc", -ENOMEM}, 29 + stride++ % 5);
}

TEST_F(EveryFault, OfMemoryInsideABitmapIsOneLineAndTheOldFiles) {
  for (const writer& of : writers()) {
    if (contains(of.name, "bitmap")) check_every(of, {"malloc", -ENOMEM}, contains(of.name, "remove") ? 1 : 3);
  }
}

TEST_F(EveryFault, OfMemoryWhileTheReportIsMadeReportsThatTheFileIsInPlace) {
  const std::string command = "merge --json -o f a b";
  const usual_run& without = usual(command);
  constexpr int report = 20;  // so many allocations at least
  for (int n = without.calls.at("malloc"), end = n - report; n > end; n -= 3) {
    prepare();
    const ran result = faulty(command, "malloc", n, -ENOMEM);
    EXPECT_EQ(result.code, 2) << n;
    EXPECT_EQ(result.err, "bloomery: f: is written and in place, but the system refused memory for the report\n") << n;
    EXPECT_TRUE(contents() == without.after) << n;
  }
}

// From the start of the process on, and for good: not even an exception has memory then.
TEST_F(EveryFault, OfAllMemoryIsOneLine) {
  const std::string line = "bloomery: the system refused memory: give fewer keys at a time, or a smaller -n\n";
  for (const char* command : {"build -q -o f keys", "add -q a more", "query a keys", "info a", "kinds", "plan -n 100",
                              "--help", "--version", "verify a --keys keys", "dedup keys", "count --u64 set keys"}) {
    for (const int n : {1, 2}) {
      const ran result = faulty(command, "malloc:" + std::to_string(n) + "+:" + std::to_string(-ENOMEM));
      EXPECT_TRUE(has_failed()) << command << ' ' << n;
      EXPECT_EQ(result.code, 2) << command << ' ' << n;
      EXPECT_EQ(result.err, line) << command << ' ' << n;
      EXPECT_EQ(result.out, "") << command << ' ' << n;
    }
  }
  EXPECT_TRUE(contents() == start());
}

TEST_F(EveryFault, OfMemoryInJsonIsNoCrash) { check_json("info --json a"); }

TEST_F(NightlyEveryFault, OfMemoryInJsonIsNoCrash) {
  for (const char* command : {"kinds --json", "formats --json", "plan --json -n 100", "verify --json a --keys keys"}) {
    check_json(command);
  }
}

TEST_F(NightlyEveryFault, OfMemoryIsOneLineAndTheOldFiles) {
  for (const writer& of : writers()) check_every(of, {"malloc", -ENOMEM});
}

TEST_F(NightlyEveryFault, OfMemoryForGoodIsOneLineAndTheOldFiles) {
  for (const writer& of : writers()) {
    const usual_run& without = usual(of.command);
    for (int n = 1; n <= without.calls.at("malloc"); ++n) {
      const std::string plan = "malloc:" + std::to_string(n) + "+:" + std::to_string(-ENOMEM);
      prepare();
      check_outcome(of.name + (" " + plan), faulty(of.command, plan), without.after);
    }
  }
}

#endif

TEST_F(NightlyEveryFault, OfANameIsOneLineAndTheOldFiles) {
  for (const writer& of : writers()) {
    for (const char* call : {"open", "stat", "flock", "close", "readlink", "dup", "syncfolder"}) {
      check_every(of, {call, -EIO});
    }
  }
}

TEST_F(EveryFault, OfAThreadIsSurvived) {
  std::string keys = "1\n";  // one that is there
  for (int i = 0; i < 200000; ++i) keys.append(std::to_string(i * 7919)).append("\n");
  write("keys", keys);
  for (const char* command :
       {"build -q --jobs 4 -o - keys", "build -q --jobs 4 --kind ribbon -o - keys",
        "build -q --jobs 4 --shards 4 -o new keys", "query --jobs 4 -c a keys", "verify --jobs 4 b --keys more"}) {
    const ran without = sh(std::string("exec \"$TOOL\" ") + command);
    ASSERT_EQ(without.code, 0) << command << ": " << without.err;
    for (const char* n : {"1", "1+", "2+"}) {
      for (const std::string& name : names()) {
        if (name.rfind("new.", 0) == 0) std::filesystem::remove(path(name));
      }
      const ran result = faulty(command, std::string("thread:") + n + ":" + std::to_string(-EAGAIN));
      EXPECT_TRUE(has_failed() || std::string_view(command).substr(0, 5) != "build") << command << ' ' << n;
      EXPECT_EQ(result.code, 0) << command << ' ' << n << ": " << result.err;
      EXPECT_TRUE(result.out == without.out) << command << ' ' << n;
      EXPECT_EQ(result.err, without.err) << command << ' ' << n;
    }
  }
}

}  // namespace
