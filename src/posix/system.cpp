#include <bloomery/posix/system.hpp>

namespace bloomery::inline BLOOMERY_ABI::detail {

BLOOMERY_BODY failure fail_errno(std::string_view what, int number) noexcept {
  if (number == EISDIR) return fail(errc::is_directory);
  std::array<char, 128> buffer{};
  error_text text;
  text.append(what);
  text.append(": ");
  text.append(error_words(::strerror_r(number, buffer.data(), buffer.size()), buffer.data()));
  return fail(errc::io, text.view());
}

BLOOMERY_BODY int open_again(const char* path, int flags, mode_t mode) noexcept {
  int fd = -1;
  do {
    fd = ::open(path, flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

// WASI has no processes, no owners and permission bits of files, and no second number for an open file.
#if defined(__wasi__)
BLOOMERY_BODY int duplicate(int /*fd*/) noexcept {
  errno = ENOTSUP;
  return -1;
}
BLOOMERY_BODY result<void> set_owner(int /*fd*/, uid_t /*owner*/, gid_t /*group*/) noexcept { return {}; }
BLOOMERY_BODY result<void> set_mode(int /*fd*/, mode_t /*mode*/) noexcept { return {}; }
BLOOMERY_BODY std::uint64_t process_number() noexcept { return 0; }
#else
BLOOMERY_BODY int duplicate(int fd) noexcept { return ::dup(fd); }
BLOOMERY_BODY result<void> set_owner(int fd, uid_t owner, gid_t group) noexcept {
  // Allowed to the superuser only; for others the file is theirs.
  if (::fchown(fd, owner, group) == 0 || errno == EPERM) return {};
  return fail_errno("cannot keep the owner", errno);
}
BLOOMERY_BODY result<void> set_mode(int fd, mode_t mode) noexcept {
  if (::fchmod(fd, mode) == 0) return {};
  return fail_errno("cannot keep the permissions", errno);
}
BLOOMERY_BODY std::uint64_t process_number() noexcept { return static_cast<std::uint64_t>(::getpid()); }
#endif

BLOOMERY_BODY result<void> write_all(int fd, std::span<const std::byte> bytes) noexcept {
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

BLOOMERY_BODY int descriptor_of(std::string_view path) noexcept {
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
