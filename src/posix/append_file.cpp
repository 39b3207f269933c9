#include <bloomery/posix/append_file.hpp>
#if !defined(__wasi__)
#include <sys/file.h>
#endif

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY result<append_file> append_file::open_with(file_path path, int flags) noexcept {
  append_file file;
  file.path_.assign(path.c_str());
  file.fd_ = detail::unique_fd(detail::open_again(path.c_str(), O_RDWR | O_CREAT | flags, 0666));
  if (!file.fd_.is_open()) return name_file(detail::fail_errno("cannot open", errno), path.c_str());
  struct stat status {};
  if (::fstat(file.fd_.get(), &status) != 0) return name_file(detail::fail_errno("cannot open", errno), path.c_str());
  if (!S_ISREG(status.st_mode)) return name_file(fail(errc::io, "is no regular file"), path.c_str());
  file.size_ = static_cast<std::uint64_t>(status.st_size);
  return file;
}
BLOOMERY_BODY result<append_file> append_file::open(file_path path) noexcept { return open_with(path, 0); }
BLOOMERY_BODY result<append_file> append_file::create(file_path path) noexcept { return open_with(path, O_EXCL); }

BLOOMERY_BODY result<void> append_file::append(std::span<const std::byte> bytes) noexcept {
  if (broken_) return name_file(fail(errc::io, "cannot be written: an earlier write broke off"), path_.view());
  std::uint64_t at = size_;
  const std::uint64_t end = size_ + bytes.size();
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (written < 0) {
      if (errno == EINTR) continue;
      const failure why = detail::fail_errno("cannot write", errno);
      if (at != size_ && !truncate(size_)) broken_ = true;
      return name_file(why, path_.view());
    }
    at += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  size_ = end;
  return {};
}

BLOOMERY_BODY result<void> append_file::read_at(std::uint64_t offset, std::span<std::byte> out) const noexcept {
  while (!out.empty()) {
    const ssize_t got = ::pread(fd_.get(), out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return name_file(detail::fail_errno("cannot read", errno), path_.view());
    if (got == 0) return name_file(fail(errc::truncated, {}, {offset, offset + out.size()}), path_.view());
    offset += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

BLOOMERY_BODY result<void> append_file::truncate(std::uint64_t size_bytes) noexcept {
  int cut = -1;
  do {
    cut = ::ftruncate(fd_.get(), static_cast<off_t>(size_bytes));
  } while (cut != 0 && errno == EINTR);
  if (cut != 0) return name_file(detail::fail_errno("cannot shorten", errno), path_.view());
  size_ = size_bytes;
  broken_ = false;
  return {};
}

BLOOMERY_BODY result<void> append_file::sync() const noexcept {
  int synced = -1;
  do {
    synced = ::fsync(fd_.get());
  } while (synced != 0 && errno == EINTR);
  if (synced == 0 || errno == EINVAL || errno == ENOTSUP) return {};
  return name_file(detail::fail_errno("cannot write", errno), path_.view());
}

BLOOMERY_BODY result<path_lock> path_lock::take(file_path path) noexcept {
  path_lock lock;
#if !defined(__wasi__)
  lock.fd_ = detail::unique_fd(detail::open_again(path.c_str(), O_RDWR | O_CREAT, 0666));
  if (!lock.fd_.is_open()) return name_file(detail::fail_errno("cannot open", errno), path.c_str());
  int locked = -1;
  do {
    locked = ::flock(lock.fd_.get(), LOCK_EX | LOCK_NB);
  } while (locked != 0 && errno == EINTR);
  if (locked != 0 && errno == EWOULDBLOCK) {
    return name_file(fail(errc::io, "another process, or another object of this one, has this file open"),
                     path.c_str());
  }
  if (locked != 0) return name_file(detail::fail_errno("cannot lock", errno), path.c_str());
#else
  static_cast<void>(path);
#endif
  return lock;
}

BLOOMERY_BODY result<void> remove_file(file_path path) noexcept {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return name_file(detail::fail_errno("cannot remove", errno), path.c_str());
}

BLOOMERY_BODY result<void> rename_file(file_path from, file_path to) noexcept {
  if (std::rename(from.c_str(), to.c_str()) == 0) return {};
  return name_file(detail::fail_errno("cannot rename", errno), from.c_str());
}

BLOOMERY_BODY bool file_exists(file_path path) noexcept {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 || errno != ENOENT;
}

}  // namespace bloomery::inline BLOOMERY_ABI
