#include "cli/terminal/output.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "cli/terminal/standard_streams.hpp"

namespace bloomery::cli {
namespace {

// 0, or errno.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

output::output() { buffer_.reserve(block_bytes); }

void output::drain(std::string_view text) {
  if (error_ == 0) error_ = write_all(STDOUT_FILENO, text);
}

void output::write_slow(std::string_view text) {
  drain(buffer_);
  buffer_.clear();
  if (text.size() >= block_bytes) {
    drain(text);
  } else {
    buffer_.append(text);
  }
}

void output::write_json(const nlohmann::ordered_json& value) {
  write(value.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  write('\n');
}

outcome<void> output::flush() {
  drain(buffer_);
  buffer_.clear();
  if (error_ == EPIPE) return fail_quiet();
  if (error_ == EBADF && is_standard_output_closed()) {
    return fail_file("standard output", "is closed: redirect it with > FILE or a pipe");
  }
  if (error_ != 0) return fail_file("standard output", std::string("cannot write: ") + std::strerror(error_));
  return {};
}

void write_stderr(std::string_view text) {
  // Nowhere to report that standard error cannot be written.
  [[maybe_unused]] const int ignored = write_all(STDERR_FILENO, text);
}

}  // namespace bloomery::cli
