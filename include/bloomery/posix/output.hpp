// posix/output.hpp: writes a file so that at every moment, also after a crash, the path holds the old file or the new
// one.
//
// The bytes go to a hidden temporary file in the same folder, which is synced and then renamed. On any error it is
// removed and the old file is untouched, with one exception: errc::not_synced means that the new file is in place, but
// a power failure may bring back the old one. A symbolic link is followed: its target is replaced, not the link. A
// replaced file keeps its permission bits (and its owner, where the system allows). Pipes, devices and names of open
// descriptors (/dev/stdout) cannot be renamed over: they are written straight to.
//
// Several files that belong together are switched by posix/output_set.hpp.
//
// A program that ends by a signal calls remove_pending_temporaries() in its handler.
#pragma once

#include <array>
#include <atomic>
#include <bloomery/core/result.hpp>
#include <bloomery/posix/names.hpp>
#include <bloomery/posix/system.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI {

namespace detail {

// The temporary files being written, where a signal handler finds them. More writers at once than slots are fine, but
// the names of the later ones are not registered.
struct temporary_slot {
  enum state : int { unused, claimed, named };
  std::atomic<int> state{unused};
  path_text path{};
};
BLOOMERY_API inline constinit std::array<temporary_slot, 64> temporary_slots{};

// Files that are being switched together (posix/output_set.hpp), where a signal handler finds them.
struct pending_set {
  void (*withdraw)(pending_set& self) noexcept = nullptr;
};
BLOOMERY_API inline constinit std::array<std::atomic<pending_set*>, 8> pending_sets{};

}  // namespace detail

// The name of a temporary file that is being written now, or nullptr. Async-signal-safe.
BLOOMERY_API const char* pending_temporary(std::size_t slot = 0) noexcept;

// Removes all of them, and brings back the old files of a set that is half switched. Async-signal-safe; for the handler
// of a signal that ends the program.
BLOOMERY_API void remove_pending_temporaries() noexcept;

class BLOOMERY_API output_file {
 public:
  // Refuses at once what would be refused at the end: a directory, and an existing file unless `replace`.
  static result<output_file> open(const char* path, bool replace) noexcept;

  result<void> write(std::span<const std::byte> bytes) noexcept {
    return name_file(detail::write_all(fd_.get(), bytes), path_.view());
  }
  // Makes the new file visible under its name. Without this the temporary file is removed at the end of the scope.
  result<void> commit() noexcept;
  // What commit does first: all bytes are on the disk and the file is closed; nothing more can be written.
  result<void> stage() noexcept;
  // After a commit: removes the file again, if there was none before.
  void take_back() noexcept;

  // In place of commit, for files that belong together; after stage, with nothing between that can fail but the system.
  // The new file gets its name, and the old one is kept under a hidden name.
  result<void> switch_in() noexcept;
  // Undoes it, wherever it stopped: the old file is back, or there is none again. False: the system refused, and the
  // old file has a hidden name. Async-signal-safe.
  bool switch_back() noexcept;
  // The old file is not needed any more. Async-signal-safe.
  void drop_old() noexcept;
  // From here on a signal handler does not know the temporary file.
  void release_slot() noexcept;
  [[nodiscard]] std::string_view folder() const noexcept { return target_.folder(); }

  output_file(output_file&& other) noexcept
      : fd_(std::move(other.fd_)),
        path_(other.path_),
        target_(other.target_),
        temporary_(other.temporary_),
        slot_(std::exchange(other.slot_, nullptr)),
        old_(other.old_),
        straight_(other.straight_),
        replace_(other.replace_),
        pending_(std::exchange(other.pending_, false)),
        staged_(other.staged_),
        new_(other.new_) {}
  output_file& operator=(output_file&&) = delete;
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;
  ~output_file() { discard(); }

 private:
  output_file() noexcept = default;
  result<void> open_new(const char* path) noexcept;
  result<void> open_straight(const char* path) noexcept;
  result<void> create_temporary() noexcept;
  result<void> keep_permissions() noexcept;
  result<void> publish() noexcept;
  result<void> write_out() noexcept;
  result<void> exchange() noexcept;
  [[nodiscard]] bool is_new_file(const detail::path_text& path) const noexcept;
  [[nodiscard]] detail::path_text old_name() const noexcept;
  void claim_slot() noexcept;
  void discard() noexcept;

  struct old_file {
    bool exists = false;
    mode_t mode = 0;
    uid_t owner = 0;
    gid_t group = 0;
  };
  detail::unique_fd fd_;
  path_tail path_;  // as it was opened, for errors
  detail::path_text target_;
  detail::path_text temporary_;
  detail::temporary_slot* slot_ = nullptr;
  old_file old_{};
  bool straight_ = false;
  bool replace_ = false;
  bool pending_ = false;
  bool staged_ = false;
  struct {
    dev_t device = 0;
    ino_t number = 0;
  } new_{};  // the file that was written, once it is staged
};

inline void output_file::take_back() noexcept {
  if (staged_ && !straight_ && !pending_ && !old_.exists) ::unlink(target_.c_str());
}

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/posix/output.cpp>
#endif
