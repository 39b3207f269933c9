// The machine at its worst: full disks, folders that may not be written, signals at every step of a save.
//
// Faults are injected with tests/cli/fault, which fails one system call at a time, so that every call of a save is
// reached on every machine.
#include <csignal>

#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class Faults : public tool_box {
 protected:
  struct writer {
    const char* name;
    std::string command;  // changes or creates f
    bool creates;
    bool typical = false;  // others save by the same code
  };
  static const std::vector<writer>& writers() {
    static const std::vector<writer> all = {
        {"build", "build -q -o f keys", true, true},
        {"build over", "build -q --force -o f keys", false},
        {"build text", "build -q --format text -o f keys", true},
        {"build packed", "build -q --compress zstd -o f keys", true},
        {"add", "add -q f keys", false, true},
        {"remove", "remove -q --u64 set gone", false},
        {"merge", "merge -q -o f a b", true},
        {"merge over", "merge -q --force -o f f b", false, true},
    };
    return all;
  }
  void SetUp() override {
    tool_box::SetUp();
    write("keys", numbers(1, 2000));
    write("gone", "5\n");
    build("a", numbers(1, 100), {"-n", "100000"});
    build("b", numbers(101, 200), {"-n", "100000"});
    build("set", numbers(1, 5000), {"--kind", "bitmap", "--u64"});
    start_ = contents();
  }
  // What every writer finds; `f` only where it is not to be created.
  void prepare(const writer& of) const {
    for (const std::string& name : names()) std::filesystem::remove(path(name));
    for (const auto& [name, bytes] : start_) write(name, bytes);
    if (!of.creates) std::filesystem::copy_file(path("a"), path("f"));
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> contents() const {
    std::vector<std::pair<std::string, std::string>> out;
    for (const std::string& name : names()) out.emplace_back(name, read(name));
    return out;
  }
  // The tool, with the n-th such call going wrong.
  [[nodiscard]] ran faulty(const std::string& command, const std::string& call, int n, int what) const {
    return sh("LD_PRELOAD=" BLOOMERY_FAULT " BLOOMERY_FAULT=" + call + ":" + std::to_string(n) + ":" +
              std::to_string(what) + " exec \"$TOOL\" " + command);
  }
  // Runs the writer with every call of one sort failing in turn; `check` sees each outcome. How many calls there were.
  template <class F>
  int each_call(const writer& of, const std::string& call, int what, F check) const {
    constexpr int most_calls = 100;
    for (int n = 1; n <= most_calls; ++n) {
      prepare(of);
      const auto before = contents();
      const ran result = faulty(of.command, call, n, what);
      if (result.code == 0) return n - 1;
      check(result, before);
    }
    ADD_FAILURE() << of.name << ": " << call << " never came to an end";
    return 0;
  }

 private:
  std::vector<std::pair<std::string, std::string>> start_;
};

TEST_F(Faults, AFullDiskAtAnyWriteLeavesTheOldFileAndNoTemporaryOne) {
  for (const writer& of : writers()) {
    const int writes = each_call(of, "write", -ENOSPC, [&](const ran& result, const auto& before) {
      EXPECT_EQ(result.code, 2) << of.name;
      const std::string name = contains(of.command, "set") ? "set" : "f";
      EXPECT_EQ(result.err, "bloomery: " + name + ": cannot write: No space left on device\n") << of.name;
      EXPECT_EQ(result.out, "") << of.name;
      EXPECT_TRUE(contents() == before) << of.name;
    });
    EXPECT_GE(writes, 1) << of.name;
  }
}

TEST_F(Faults, AFailingSyncOrRenameLeavesTheOldFileAndNoTemporaryOne) {
  for (const writer& of : writers()) {
    for (const char* call : {"fsync", "rename"}) {
      const int calls = each_call(of, call, -EIO, [&](const ran& result, const auto& before) {
        EXPECT_EQ(result.code, 2) << of.name << ' ' << call;
        EXPECT_EQ(lines_in(result.err), 1U) << of.name << ' ' << call;
        EXPECT_TRUE(contains(result.err, "Input/output error")) << result.err;
        EXPECT_TRUE(contents() == before) << of.name << ' ' << call;
      });
      EXPECT_EQ(calls, 1) << of.name << ' ' << call;
    }
  }
}

TEST_F(Faults, AWriteThatTakesHalfIsContinued) {
  for (const writer& of : writers()) {
    prepare(of);
    ASSERT_EQ(sh("exec \"$TOOL\" " + of.command).code, 0) << of.name;
    const auto whole = contents();
    prepare(of);
    ASSERT_EQ(faulty(of.command, "write", 1, 0).code, 0) << of.name;
    EXPECT_TRUE(contents() == whole) << of.name;
  }
}

TEST_F(Faults, ASignalInTheMiddleOfASaveLeavesTheOldFileAndNoTemporaryOne) {
  for (const writer& of : writers()) {
    if (!of.typical) continue;
    for (const auto& [call, number] : {std::pair("write", SIGINT), std::pair("write", SIGTERM),
                                       std::pair("fsync", SIGHUP), std::pair("rename", SIGINT)}) {
      const std::string what = std::string(of.name) + " " + call;
      const int signal_number = number;
      const int calls = each_call(of, call, number, [&](const ran& result, const auto& before) {
        EXPECT_EQ(result.code, 128 + signal_number) << what << ": as a shell sees one that was killed";
        EXPECT_EQ(result.out + result.err, "") << what;
        EXPECT_TRUE(contents() == before) << what;
      });
      EXPECT_GE(calls, 1) << what;
    }
  }
}

TEST_F(Faults, ASignalWhileInputIsReadLeavesTheOldFileAndNoTemporaryOne) {
  std::filesystem::copy_file(path("a"), path("f"));
  for (const char* command : {"build -q --force -o f pipe", "build -q --force -n 1000 -o f pipe", "add -q f pipe",
                              "remove -q --u64 set pipe", "merge -q --force -o f f pipe"}) {
    for (const auto& [name, number] : {std::pair("INT", SIGINT), std::pair("TERM", SIGTERM)}) {
      // Opening the pipe returns when the tool reads it. A shell has its background jobs ignore Ctrl-C: undone by env.
      const ran result = sh(std::string("mkfifo pipe; env --default-signal=INT \"$TOOL\" ") + command +
                            " > said 2>&1 & exec 3> pipe; printf '1\\n2\\n' >&3; kill -" + name + " $!; wait $!");
      EXPECT_EQ(result.code, 128 + number) << command;
      EXPECT_EQ(read("said"), "") << command;
      std::filesystem::remove(path("said"));
      std::filesystem::remove(path("pipe"));
      EXPECT_EQ(names(), (std::vector<std::string>{"a", "b", "f", "gone", "keys", "set"})) << command;
      EXPECT_TRUE(read("f") == read("a")) << command;
    }
  }
}

TEST_F(Faults, EvenKillLeavesTheOldFileAndAtMostOneHiddenTemporaryOne) {
  for (const writer& of : writers()) {
    if (!of.typical) continue;
    for (const char* call : {"write", "fsync", "rename"}) {
      each_call(of, call, SIGKILL, [&](const ran& result, const auto& before) {
        EXPECT_EQ(result.code, 128 + SIGKILL) << of.name << ' ' << call;
        auto after = contents();
        const auto is_temporary = [](const auto& file) { return file.first.rfind(".bloomery-", 0) == 0; };
        EXPECT_LE(std::count_if(after.begin(), after.end(), is_temporary), 1) << of.name << ' ' << call;
        after.erase(std::remove_if(after.begin(), after.end(), is_temporary), after.end());
        EXPECT_TRUE(after == before) << of.name << ' ' << call;
      });
    }
    prepare(of);
    EXPECT_EQ(faulty(of.command, "rename", 1, SIGKILL).code, 128 + SIGKILL) << of.name;
    EXPECT_EQ(sh("exec \"$TOOL\" " + of.command).code, 0) << of.name << ": what is left disturbs nobody";
  }
}

TEST_F(Faults, AFileAboveTheLimitOfTheShellIsAnError) {
  const auto there = names();
  const ran result = sh("ulimit -f 8; exec \"$TOOL\" build -q -n 1M -o f keys");
  EXPECT_EQ(result.err, "bloomery: f: cannot write: File too large\n");
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(names(), there);
}

TEST_F(Faults, AFullStandardOutputIsAnError) {
  build("f", numbers(1, 2000));
  for (const char* command : {"query f keys",
                              "query -c f keys",
                              "query --json f keys",
                              "count --u64 set keys",
                              "info f",
                              "info --json f",
                              "plan -n 1M",
                              "plan --json -n 1M",
                              "kinds",
                              "kinds --json",
                              "hashes --quick",
                              "--help",
                              "--version",
                              "build --help",
                              "verify f --keys keys --probes 100",
                              "build -o - keys",
                              "build --format text -o - keys",
                              "merge -o - f f",
                              "dedup keys",
                              "dedup --counts keys",
                              "dedup --json keys",
                              "dedup --approx keys"}) {
    const ran result = sh(std::string("exec \"$TOOL\" ") + command + " > /dev/full");
    EXPECT_EQ(result.code, 2) << command;
    EXPECT_TRUE(contains(result.err, "bloomery: standard output: cannot write: No space left on device\n"))
        << command << ": " << result.err;
  }
}

TEST_F(Faults, AClosedPipeIsQuiet) {
  write("keys", numbers(1, 300000));
  build("f", numbers(1, 100), {"-n", "100"});
  for (const char* command :
       {"query -v f keys", "query --mark f keys", "count --u64 set keys", "count --json --u64 set keys",
        "build -q -n 10M -o - keys", "merge -q -o - f", "plan -n 1M --plot", "kinds", "hashes --quick", "info f",
        "--help", "build --help", "dedup keys", "dedup --counts keys"}) {
    const ran result = sh(std::string("{ \"$TOOL\" ") + command + "; echo $? > code; } | head -c 1 > first");
    EXPECT_EQ(result.err, "") << command;
    EXPECT_EQ(read("first").size(), 1U) << command;
    // Killed by SIGPIPE, or done before the reader went.
    EXPECT_TRUE(read("code") == "141\n" || read("code") == "0\n") << command << ": " << read("code");
  }
  const ran gone = sh("\"$TOOL\" query -v f keys | true");
  EXPECT_EQ(gone.err, "");
}

// Root may do everything; without these two capabilities it may not.
TEST_F(Faults, WhatMayNotBeReadOrWrittenIsSaid) {
  const std::string may_not =
      geteuid() == 0 ? "exec setpriv --bounding-set=-dac_override,-dac_read_search \"$TOOL\" " : "exec \"$TOOL\" ";
  const auto refuses = [&](const std::string& command, const std::string& line) {
    const ran result = sh(may_not + command);
    EXPECT_EQ(result.err, "bloomery: " + line + "\n") << command;
    EXPECT_EQ(result.out, "") << command;
    EXPECT_EQ(result.code, 2) << command;
  };
  write("keys", "a\n");
  build("f", "a\n", {"-n", "100"});
  build("hidden", "a\n", {"-n", "100"});
  build("fixed", "a\n", {"-n", "100"});
  write("hidden.keys", "a\n");
  ASSERT_EQ(sh("mkdir folder; cp f folder/f; cp f folder/g; chmod 0 hidden hidden.keys; chmod a-w fixed folder").code,
            0);
  const auto there = names();
  refuses("query hidden keys", "hidden: cannot open: Permission denied");
  refuses("info hidden", "hidden: cannot open: Permission denied");
  refuses("verify hidden --keys keys", "hidden: cannot open: Permission denied");
  refuses("merge -o new f hidden", "hidden: cannot open: Permission denied");
  refuses("query f hidden.keys", "hidden.keys: cannot open: Permission denied");
  refuses("build -o new hidden.keys", "hidden.keys: cannot open: Permission denied");
  refuses("add f hidden.keys", "hidden.keys: cannot open: Permission denied");
  refuses("add hidden keys", "hidden: cannot open for changing: Permission denied");
  refuses("add fixed keys", "fixed: cannot open for changing: Permission denied");
  refuses("build -q -o folder/new keys", "folder/new: cannot create: Permission denied");
  refuses("build -q --force -o folder/f keys", "folder/f: cannot create: Permission denied");
  refuses("add folder/f keys", "folder/f: cannot create: Permission denied");
  refuses("merge -q -o folder/new f", "folder/new: cannot create: Permission denied");
  EXPECT_EQ(names(), there);
  ASSERT_EQ(
      sh("cmp folder/f folder/g && test \"$(ls -A folder)\" = \"$(printf 'f\\ng')\"; r=$?; chmod u+w folder; exit $r")
          .code,
      0);
}

}  // namespace
