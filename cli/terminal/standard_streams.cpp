#include "cli/terminal/standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace bloomery::cli {
namespace {

std::array<bool, 3> closed_by_caller{};

}  // namespace

bool guard_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    // The wrong way round: reading what is open for writing fails, and the reverse.
    const int mode = stream == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    // The lowest free descriptor is taken, and all below are in use.
    if (open("/dev/null", mode) != stream) return false;
    closed_by_caller[static_cast<std::size_t>(stream)] = true;
  }
  return true;
}

outcome<void> check_standard_input() {
  if (!closed_by_caller[STDIN_FILENO]) return {};
  return fail_file("standard input", "is closed: name a file, or redirect it with < FILE or a pipe");
}

bool is_standard_output_closed() { return closed_by_caller[STDOUT_FILENO]; }

}  // namespace bloomery::cli
