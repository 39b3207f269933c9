#include "cli/terminal/signals.hpp"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bloomery/posix/output.hpp>
#include <string_view>

namespace bloomery::cli {
namespace {

std::atomic<bool> line_shown{false};
static_assert(std::atomic<bool>::is_always_lock_free, "the handler reads it");

// Only async-signal-safe calls: unlink, write, sigaction, raise.
extern "C" void on_signal(int number) {
  remove_pending_temporaries();
  if (line_shown.load()) {
    constexpr std::array<char, 4> clear = {'\r', '\x1b', '[', 'K'};
    [[maybe_unused]] const auto written = write(STDERR_FILENO, clear.data(), clear.size());
  }
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(number, &action, nullptr);
  raise(number);  // delivered when the handler returns
}

// A mapped file lost bytes, or its disk cannot read them. The run cannot continue.
extern "C" void on_lost_bytes(int /*number*/) {
  remove_pending_temporaries();
  constexpr std::string_view text =
      "bloomery: a file could not be read to its end: it became shorter meanwhile, or its disk fails: try again\n";
  constexpr int exit_error = 2;
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text.data(), text.size());
  _exit(exit_error);
}

}  // namespace

void handle_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGXCPU}) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, nullptr);
  }
  struct sigaction lost {};
  lost.sa_handler = on_lost_bytes;
  sigemptyset(&lost.sa_mask);
  sigaction(SIGBUS, &lost, nullptr);
  // A file above the limit of `ulimit -f` is then an error of the write, as a full disk is.
  signal(SIGXFSZ, SIG_IGN);
}

void progress_line_is_shown(bool shown) { line_shown.store(shown); }

}  // namespace bloomery::cli
