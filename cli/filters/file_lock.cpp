#include "cli/filters/file_lock.hpp"

#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

namespace bloomery::cli {
namespace {

failed busy(const std::string& path) {
  return fail_file(path, "is being changed by another process: try again when it is done");
}

failed not_regular(const std::string& path) {
  return fail_file(path, "is no file that can be changed in place: give a regular file");
}

// By name, before it is opened for writing, which a pipe or device would notice.
outcome<void> check_regular(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return fail_file(path, detail::fail_errno("cannot open", errno).value());
  if (S_ISDIR(status.st_mode)) return fail_file(path, make_error(errc::is_directory));
  if (!S_ISREG(status.st_mode)) return not_regular(path);
  return {};
}

}  // namespace

bool file_lock::is_at_path() const {
  struct stat locked {};
  struct stat named {};
  return fstat(file_.descriptor(), &locked) == 0 && stat(path_.c_str(), &named) == 0 && locked.st_dev == named.st_dev &&
         locked.st_ino == named.st_ino;
}

outcome<file_lock> file_lock::take(const std::string& path) {
  // Each iteration means that another process replaced the file between two of our calls.
  constexpr int attempts = 100;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    if (auto usable = check_regular(path); !usable) return failed(usable.error());
    detail::unique_fd file(detail::open_again(path.c_str(), O_RDWR | O_NOCTTY));
    if (!file.is_open()) {
      if (errno == ENOENT) continue;
      return fail_file(path, detail::fail_errno("cannot open for changing", errno).value());
    }
    int locked = -1;
    do {
      locked = flock(file.get(), LOCK_EX | LOCK_NB);
    } while (locked != 0 && errno == EINTR);
    if (locked != 0 && errno == EWOULDBLOCK) return busy(path);
    if (locked != 0) return fail_file(path, detail::fail_errno("cannot lock", errno).value());
    auto input = input_file::adopt(std::move(file));
    if (!input) return fail_file(path, input.error());
    if (!input->is_regular()) return not_regular(path);
    file_lock lock(path, std::move(*input));
    if (lock.is_at_path()) return lock;
  }
  return busy(path);
}

outcome<void> file_lock::check_path() const {
  if (is_at_path()) return {};
  return fail_file(path_, "was replaced by another process meanwhile and is left as it is: try again");
}

}  // namespace bloomery::cli
