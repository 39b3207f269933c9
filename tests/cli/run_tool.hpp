// Runs the built tool as a user would and gives back what it printed.
//
//     const ran result = run_tool({"plan", "-n", "10M"});
//     EXPECT_EQ(result.code, 0) << result.err;
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace bloomery_test {

struct ran {
  int code = -1;  // of the exit; 128 + the signal when it was killed
  std::string out;
  std::string err;
};

namespace detail {

inline std::string all_of(std::FILE* file) {
  std::string text;
  std::rewind(file);
  std::array<char, 65536> buffer{};
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), file)) text.append(buffer.data(), got);
  return text;
}

inline std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

// Ours, without what changes the tool's looks, and with `settings` ("NAME=value").
inline std::vector<std::string> environment_with(const std::vector<std::string>& settings) {
  std::vector<std::string> out = settings;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view name = std::string_view(*each).substr(0, std::string_view(*each).find('='));
    const bool looks = name == "NO_COLOR" || name == "TERM" || name == "LANG" || name.substr(0, 3) == "LC_";
    const bool set = std::any_of(settings.begin(), settings.end(), [&](const std::string& setting) {
      return std::string_view(setting).substr(0, setting.find('=')) == name;
    });
    if (!looks && !set) out.emplace_back(*each);
  }
  return out;
}

inline int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

}  // namespace detail

// Any program, standard input from /dev/null.
inline ran run_program(std::vector<std::string> words, const std::vector<std::string>& settings = {}) {
  std::FILE* out = std::tmpfile();
  std::FILE* err = std::tmpfile();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, fileno(out), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(err), STDERR_FILENO);
  std::vector<std::string> environment = detail::environment_with(settings);
  // Under nohup and the like signals are ignored, and whoever is born so stays deaf: tests kill what they start.
  sigset_t usual;
  sigemptyset(&usual);
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM}) sigaddset(&usual, number);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  int status = 0;
  ran result;
  const int failed = posix_spawn(&child, words.front().c_str(), &actions, &attributes, detail::pointers(words).data(),
                                 detail::pointers(environment).data());
  EXPECT_EQ(failed, 0) << words.front() << ": " << std::strerror(failed);
  if (failed == 0 && waitpid(child, &status, 0) == child) {
    result = {detail::code_of(status), detail::all_of(out), detail::all_of(err)};
  }
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  std::fclose(out);
  std::fclose(err);
  return result;
}

inline ran run_tool(std::vector<std::string> words, const std::vector<std::string>& settings = {}) {
  words.insert(words.begin(), BLOOMERY_TOOL);
  return run_program(std::move(words), settings);
}

// With a terminal of 100 columns as its input and outputs; all that appears on it is in `out`.
inline ran run_program_on_terminal(std::vector<std::string> words, const std::vector<std::string>& settings) {
  std::vector<std::string> environment = detail::environment_with(settings);
  const std::vector<char*> arguments = detail::pointers(words);
  const std::vector<char*> variables = detail::pointers(environment);
  struct winsize size {};
  size.ws_row = 40;
  size.ws_col = 100;
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    execve(arguments[0], arguments.data(), variables.data());
    _exit(127);
  }
  ran result;
  std::array<char, 4096> buffer{};
  ssize_t got = 0;
  // A terminal whose last user has gone ends with an error, not with 0.
  while ((got = read(terminal, buffer.data(), buffer.size())) > 0) {
    result.out.append(buffer.data(), static_cast<std::size_t>(got));
  }
  int status = 0;
  if (waitpid(child, &status, 0) == child) result.code = detail::code_of(status);
  close(terminal);
  return result;
}

inline ran run_tool_on_terminal(std::vector<std::string> words, const std::vector<std::string>& settings) {
  words.insert(words.begin(), BLOOMERY_TOOL);
  return run_program_on_terminal(std::move(words), settings);
}

inline bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); });
}
inline std::size_t lines_in(std::string_view text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}
inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace bloomery_test
