// posix/system.hpp: what the file room needs of the system: descriptors that close themselves, and errno as an error.
//
// No error of the library names a file: the caller knows the name and puts it in front.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#include <array>
#include <bloomery/core/result.hpp>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

namespace bloomery::inline BLOOMERY_ABI::detail {

// strerror_r comes in two forms; these tell them apart by what they return.
inline const char* error_words(int /*status*/, const char* buffer) noexcept { return buffer; }
inline const char* error_words(const char* words, const char* /*buffer*/) noexcept { return words; }

// "cannot open: No such file or directory"
inline failure fail_errno(std::string_view what, int number) noexcept {
  if (number == EISDIR) return fail(errc::is_directory);
  std::array<char, 128> buffer{};
  error_text text;
  text.append(what);
  text.append(": ");
  text.append(error_words(::strerror_r(number, buffer.data(), buffer.size()), buffer.data()));
  return fail(errc::io, text.view());
}

class unique_fd {
 public:
  unique_fd() noexcept = default;
  explicit unique_fd(int fd) noexcept : fd_(fd) {}
  unique_fd(unique_fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  unique_fd& operator=(unique_fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  unique_fd(const unique_fd&) = delete;
  unique_fd& operator=(const unique_fd&) = delete;
  ~unique_fd() { reset(); }

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }
  int release() noexcept { return std::exchange(fd_, -1); }

 private:
  void reset() noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  int fd_ = -1;
};

// -1 with errno set on failure.
inline int open_again(const char* path, int flags, mode_t mode = 0) noexcept {
  int fd = -1;
  do {
    fd = ::open(path, flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

inline result<void> write_all(int fd, std::span<const std::byte> bytes) noexcept {
  // Linux writes at most 2 GiB at a time; less keeps a signal's latency low.
  constexpr std::size_t step_bytes = std::size_t{64} << 20U;
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size() < step_bytes ? bytes.size() : step_bytes);
    if (written < 0) {
      if (errno == EINTR) continue;
      return fail_errno("cannot write", errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

// "/dev/stdout", "/dev/fd/5" and the like name a descriptor that is open already; -1 for every other path. Opening such
// a name again would lose the place and the append mode of what the shell set up, and fails for sockets.
inline int descriptor_of(std::string_view path) noexcept {
  if (path == "/dev/stdin") return 0;
  if (path == "/dev/stdout") return 1;
  if (path == "/dev/stderr") return 2;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    const std::string_view digits = path.substr(folder.size());
    if (digits.empty() || digits.size() > 6) return -1;
    int number = 0;
    for (const char c : digits) {
      if (c < '0' || c > '9') return -1;
      number = number * 10 + (c - '0');
    }
    return number;
  }
  return -1;
}

}  // namespace bloomery::inline BLOOMERY_ABI::detail
