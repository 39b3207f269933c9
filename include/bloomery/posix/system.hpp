// posix/system.hpp: what the file layer needs of the system: descriptors that close themselves, and errno as an error.
//
// Functions that take a path put it into their errors (`name_file`), as do the classes of open files.
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

// strerror_r has two signatures; these distinguish them by the return type.
inline const char* error_words(int /*status*/, const char* buffer) noexcept { return buffer; }
inline const char* error_words(const char* words, const char* /*buffer*/) noexcept { return words; }

// "cannot open: No such file or directory"
BLOOMERY_API failure fail_errno(std::string_view what, int number) noexcept;

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
BLOOMERY_API int open_again(const char* path, int flags, mode_t mode = 0) noexcept;

// The same open file by another number; -1 with errno ENOTSUP where the system has no such call.
BLOOMERY_API int duplicate(int fd) noexcept;

// Owner and group, as far as the system allows to set them, and permission bits. Nothing where files have no such.
BLOOMERY_API result<void> set_owner(int fd, uid_t owner, gid_t group) noexcept;
BLOOMERY_API result<void> set_mode(int fd, mode_t mode) noexcept;

// Another number for each process that runs; 0 where there are no processes.
BLOOMERY_API std::uint64_t process_number() noexcept;

BLOOMERY_API result<void> write_all(int fd, std::span<const std::byte> bytes) noexcept;

// "/dev/stdout", "/dev/fd/5" and the like name a descriptor that is open already; -1 for every other path. Opening such
// a name again would lose the place and the append mode of what the shell set up, and fails for sockets.
BLOOMERY_API int descriptor_of(std::string_view path) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI::detail

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/posix/system.cpp>
#endif
