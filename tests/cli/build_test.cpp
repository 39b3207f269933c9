#include <csignal>

#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class Build : public tool_box {};

TEST_F(Build, WritesNoBinaryToATerminal) {
  const ran result = run_tool_on_terminal({"build", "-o", "-", "/dev/null"}, {"TERM=xterm"});
  EXPECT_EQ(result.code, 2);
  EXPECT_TRUE(contains(result.out, "a terminal cannot show a binary filter"));
  EXPECT_TRUE(contains(run_tool_on_terminal({"build", "-o", "-", "--format", "text", "/dev/null"}, {"TERM=xterm"}).out,
                       "-----BEGIN BLOOMERY FILTER-----"));
}

// Starts the tool with input that does not end, and gives its process. The signals do what they do by default, whatever
// our parent has chosen to ignore.
pid_t start_endless(std::vector<std::string> words, int input) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, number);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t child = -1;
  words.insert(words.begin(), BLOOMERY_TOOL);
  EXPECT_EQ(posix_spawn(&child, BLOOMERY_TOOL, &actions, &attributes, detail::pointers(words).data(), environ), 0);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return child;
}

TEST_F(Build, SignalsLeaveTheOldFileAndNoTemporary) {
  build("f", "old\n");
  const std::string before = read("f");
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    std::array<int, 2> pipe_ends{};
    ASSERT_EQ(pipe2(pipe_ends.data(), O_CLOEXEC), 0);
    ASSERT_EQ(::write(pipe_ends[1], "new\n", 4), 4);
    const pid_t child = start_endless({"build", "-q", "--force", "-n", "10", "-o", path("f")}, pipe_ends[0]);
    usleep(200'000);
    kill(child, number);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == number) << number;
    EXPECT_EQ(read("f"), before) << number;
    EXPECT_EQ(names(), std::vector<std::string>{"f"}) << number;
    close(pipe_ends[0]);
    close(pipe_ends[1]);
  }
}

// Stopped at any moment of a run that writes a large file: old or new, never half, and no temporary file.
TEST_F(Build, BeingStoppedWhileWritingLeavesTheOldFileOrTheNew) {
  write("keys", "a\n");
  ASSERT_EQ(run({"build", "-q", "-n", "50M", "-o", "new", "keys"}).code, 0);
  const std::string whole = read("new");
  for (const int milliseconds : {20, 40, 80, 120, 160, 240}) {
    write("f", "old");
    const std::string pause = std::to_string(milliseconds / 1000.0);
    const ran result =
        sh("exec 2>/dev/null; $TOOL build -q --force -n 50M -o f keys & sleep " + pause + "; kill -TERM $!; wait $!");
    const std::string after = read("f");
    EXPECT_TRUE(after == "old" || after == whole) << milliseconds << " ms, " << after.size() << " bytes";
    EXPECT_EQ(names(), (std::vector<std::string>{"f", "keys", "new"})) << milliseconds << " ms, exit " << result.code;
  }
}

}  // namespace
