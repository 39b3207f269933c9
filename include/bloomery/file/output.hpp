// file/output.hpp: writes a file so that at every moment, also after a crash, the path holds the old file or the new
// one.
//
// The bytes go to a hidden temporary file in the same folder, which is synced and then renamed. On any error it is
// removed and the old file is untouched. A symbolic link is followed: its target is replaced, not the link. A replaced
// file keeps its permission bits (and its owner, where the system allows). Pipes, devices and names of open descriptors
// (/dev/stdout) cannot be renamed over: they are written straight to.
//
// A program that ends by a signal calls remove_pending_temporaries() in its handler.
#pragma once

#include <array>
#include <atomic>
#include <bloomery/core/result.hpp>
#include <bloomery/core/wide.hpp>
#include <bloomery/file/system.hpp>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <span>
#include <string_view>

namespace bloomery {

namespace detail {

struct path_text {
  std::array<char, PATH_MAX> text{};
  std::size_t length = 0;

  bool assign(std::string_view path) noexcept {
    length = 0;
    return append(path);
  }
  bool append(std::string_view more) noexcept {
    if (more.size() >= text.size() - length) return false;
    if (!more.empty()) std::memcpy(text.data() + length, more.data(), more.size());
    length += more.size();
    text[length] = '\0';
    return true;
  }
  [[nodiscard]] const char* c_str() const noexcept { return text.data(); }
  [[nodiscard]] std::string_view view() const noexcept { return {text.data(), length}; }
  // With the last slash; empty for a name in the current folder.
  [[nodiscard]] std::string_view folder() const noexcept { return view().substr(0, view().rfind('/') + 1); }
};

// The temporary files being written, where a signal handler finds them. More writers at once than slots are fine, but
// the names of the later ones are not registered.
struct temporary_slot {
  enum state : int { unused, claimed, named };
  std::atomic<int> state{unused};
  path_text path{};
};
inline constinit std::array<temporary_slot, 64> temporary_slots{};

}  // namespace detail

// The name of a temporary file that is being written now, or nullptr. Async-signal-safe.
inline const char* pending_temporary(std::size_t slot = 0) noexcept {
  if (slot >= detail::temporary_slots.size()) return nullptr;
  const auto& found = detail::temporary_slots[slot];
  return found.state.load(std::memory_order_acquire) == detail::temporary_slot::named ? found.path.c_str() : nullptr;
}

// Removes all of them. Async-signal-safe; for the handler of a signal that ends the program.
inline void remove_pending_temporaries() noexcept {
  for (std::size_t slot = 0; slot < detail::temporary_slots.size(); ++slot) {
    if (const char* path = pending_temporary(slot); path != nullptr) ::unlink(path);
  }
}

class output_file {
 public:
  // Refuses at once what would be refused at the end: a directory, and an existing file unless `replace`.
  static result<output_file> open(const char* path, bool replace) noexcept;

  result<void> write(std::span<const std::byte> bytes) noexcept { return detail::write_all(fd_.get(), bytes); }
  // Makes the new file visible under its name. Without this the temporary file is removed at the end of the scope.
  result<void> commit() noexcept;
  // What commit does first: all bytes are on the disk and the file is closed; nothing more can be written.
  result<void> stage() noexcept;
  // After a commit: removes the file again, if there was none before.
  void take_back() noexcept;

  output_file(output_file&& other) noexcept
      : fd_(std::move(other.fd_)),
        target_(other.target_),
        temporary_(other.temporary_),
        slot_(std::exchange(other.slot_, nullptr)),
        old_(other.old_),
        straight_(other.straight_),
        replace_(other.replace_),
        pending_(std::exchange(other.pending_, false)),
        staged_(other.staged_) {}
  output_file& operator=(output_file&&) = delete;
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;
  ~output_file() { discard(); }

 private:
  output_file() noexcept = default;
  result<void> open_straight(const char* path) noexcept;
  result<void> create_temporary() noexcept;
  result<void> keep_permissions() noexcept;
  result<void> publish() noexcept;
  result<void> sync_folder() const noexcept;
  void claim_slot() noexcept;
  void discard() noexcept;

  struct old_file {
    bool exists = false;
    mode_t mode = 0;
    uid_t owner = 0;
    gid_t group = 0;
  };
  detail::unique_fd fd_;
  detail::path_text target_;
  detail::path_text temporary_;
  detail::temporary_slot* slot_ = nullptr;
  old_file old_{};
  bool straight_ = false;
  bool replace_ = false;
  bool pending_ = false;
  bool staged_ = false;
};

namespace detail {

// Follows symbolic links of the last component, also to a file that does not exist yet.
inline result<void> follow_links(path_text& path) noexcept {
  constexpr int max_links = 40;
  for (int links = 0; links < max_links; ++links) {
    std::array<char, PATH_MAX> to{};
    const ssize_t size = ::readlink(path.c_str(), to.data(), to.size());
    if (size < 0) return {};  // not a link, or not there; the next call on it says which
    const std::string_view next(to.data(), static_cast<std::size_t>(size));
    path_text joined;
    const bool fits = (next.starts_with('/') || joined.append(path.folder())) && joined.append(next);
    if (!fits) return fail_errno("cannot create", ENAMETOOLONG);
    path = joined;
  }
  return fail_errno("cannot create", ELOOP);
}

// Hard to guess and different for every call; the exclusive creation is what makes it unique.
inline std::uint64_t temporary_number() noexcept {
  static std::atomic<std::uint64_t> calls{0};
  std::timespec now{};
  std::timespec_get(&now, TIME_UTC);
  std::uint64_t number = mix64(static_cast<std::uint64_t>(now.tv_sec) * 1000000007ULL);
  number = mix64(number ^ static_cast<std::uint64_t>(now.tv_nsec));
  number = mix64(number ^ static_cast<std::uint64_t>(::getpid()));
  return mix64(number ^ calls.fetch_add(1, std::memory_order_relaxed));
}

// A rename that fails with EEXIST instead of replacing.
inline int rename_new(const char* from, const char* to) noexcept {
#ifdef RENAME_NOREPLACE
  if (::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
#endif
  if (::link(from, to) != 0) return -1;
  ::unlink(from);
  return 0;
}

}  // namespace detail

inline result<output_file> output_file::open(const char* path, bool replace) noexcept {
  output_file file;
  file.replace_ = replace;
  if (detail::descriptor_of(path) >= 0) {
    if (auto done = file.open_straight(path); !done) return fail(done.error());
    return file;
  }
  if (!file.target_.assign(path)) return detail::fail_errno("cannot create", ENAMETOOLONG);
  if (auto done = detail::follow_links(file.target_); !done) return fail(done.error());
  struct stat status {};
  if (::stat(file.target_.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return fail(errc::is_directory);
    if (!S_ISREG(status.st_mode)) {
      if (auto done = file.open_straight(path); !done) return fail(done.error());
      return file;
    }
    if (!replace) return fail(errc::already_exists);
    file.old_ = {.exists = true,
                 .mode = status.st_mode & static_cast<mode_t>(0777),
                 .owner = status.st_uid,
                 .group = status.st_gid};
  } else if (errno != ENOENT) {
    return detail::fail_errno("cannot create", errno);
  }
  if (auto done = file.create_temporary(); !done) return fail(done.error());
  return file;
}

inline result<void> output_file::open_straight(const char* path) noexcept {
  const int number = detail::descriptor_of(path);
  const int fd = number >= 0 ? ::dup(number) : detail::open_again(path, O_WRONLY);
  if (fd < 0) return detail::fail_errno("cannot open", errno);
  fd_ = detail::unique_fd(fd);
  straight_ = true;
  return {};
}

inline result<void> output_file::create_temporary() noexcept {
  constexpr int attempts = 16;
  claim_slot();
  for (int attempt = 0; attempt < attempts; ++attempt) {
    std::array<char, 48> name{};
    std::snprintf(name.data(), name.size(), ".bloomery-%016llx.tmp",
                  static_cast<unsigned long long>(detail::temporary_number()));
    temporary_.assign(target_.folder());
    if (!temporary_.append(name.data())) return detail::fail_errno("cannot create", ENAMETOOLONG);
    // Registered before it exists: a signal between the two lines then leaves nothing behind.
    if (slot_ != nullptr) {
      slot_->path = temporary_;
      slot_->state.store(detail::temporary_slot::named, std::memory_order_release);
    }
    // A file that others may not read must not be readable while it is being written.
    const mode_t mode = old_.exists ? 0600 : 0666;
    const int fd = detail::open_again(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    if (fd >= 0) {
      fd_ = detail::unique_fd(fd);
      pending_ = true;
      return {};
    }
    if (slot_ != nullptr) slot_->state.store(detail::temporary_slot::claimed, std::memory_order_release);
    if (errno != EEXIST) return detail::fail_errno("cannot create", errno);
  }
  return detail::fail_errno("cannot create", EEXIST);
}

inline result<void> output_file::keep_permissions() noexcept {
  if (!old_.exists) return {};
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0) return detail::fail_errno("cannot write", errno);
  if (status.st_uid != old_.owner || status.st_gid != old_.group) {
    // Allowed to the superuser only; for others the new file is theirs.
    if (::fchown(fd_.get(), old_.owner, old_.group) != 0 && errno != EPERM) {
      return detail::fail_errno("cannot keep the owner", errno);
    }
  }
  if (::fchmod(fd_.get(), old_.mode) != 0) return detail::fail_errno("cannot keep the permissions", errno);
  return {};
}

inline result<void> output_file::commit() noexcept {
  if (auto done = stage(); !done) return done;
  if (straight_) return {};
  if (auto done = publish(); !done) return done;
  return sync_folder();
}

inline void output_file::take_back() noexcept {
  if (staged_ && !straight_ && !pending_ && !old_.exists) ::unlink(target_.c_str());
}

inline result<void> output_file::stage() noexcept {
  if (std::exchange(staged_, true)) return {};
  if (straight_) {
    const int fd = fd_.release();
    if (fd >= 0 && ::close(fd) != 0 && errno != EINTR) return detail::fail_errno("cannot write", errno);
    return {};
  }
  if (auto done = keep_permissions(); !done) return done;
  int synced = -1;
  do {
    synced = ::fsync(fd_.get());
  } while (synced != 0 && errno == EINTR);
  // Some file systems cannot sync, which is not this file's fault.
  if (synced != 0 && errno != EINVAL && errno != ENOTSUP) return detail::fail_errno("cannot write", errno);
  const int fd = fd_.release();
  if (::close(fd) != 0 && errno != EINTR) return detail::fail_errno("cannot write", errno);
  return {};
}

inline result<void> output_file::publish() noexcept {
  const int renamed = replace_ ? ::rename(temporary_.c_str(), target_.c_str())
                               : detail::rename_new(temporary_.c_str(), target_.c_str());
  if (renamed != 0) {
    if (errno == EEXIST) return fail(errc::already_exists);
    return detail::fail_errno("cannot create", errno);
  }
  pending_ = false;
  return {};
}

// The rename survives a power failure only once the folder is written. The file is in place by now, so only a failing
// disk is an error; a folder that cannot be opened for reading is not.
inline result<void> output_file::sync_folder() const noexcept {
  detail::path_text folder;
  folder.assign(target_.folder().empty() ? std::string_view{"."} : target_.folder());
  const detail::unique_fd fd(detail::open_again(folder.c_str(), O_RDONLY | O_DIRECTORY));
  if (!fd.is_open()) return {};
  if (::fsync(fd.get()) != 0 && errno == EIO) return detail::fail_errno("cannot sync the folder", errno);
  return {};
}

inline void output_file::claim_slot() noexcept {
  for (auto& slot : detail::temporary_slots) {
    int expected = detail::temporary_slot::unused;
    if (slot.state.compare_exchange_strong(expected, detail::temporary_slot::claimed, std::memory_order_acq_rel)) {
      slot_ = &slot;
      return;
    }
  }
}

inline void output_file::discard() noexcept {
  if (pending_) ::unlink(temporary_.c_str());
  pending_ = false;
  if (slot_ != nullptr) slot_->state.store(detail::temporary_slot::unused, std::memory_order_release);
  slot_ = nullptr;
}

}  // namespace bloomery
