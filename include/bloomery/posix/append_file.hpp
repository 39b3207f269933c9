// posix/append_file.hpp: a file that grows by records, each of which is in it whole or not at all, and a lock that one
// process holds at a time.
//
//     auto lock = bloomery::path_lock::take("seen.lock");            // errc::io: another process has it
//     auto log = bloomery::append_file::open("seen.journal");        // created where there is none
//     auto done = log->append(record);                               // refused: the file is as it was before
//
// A write that fails in the middle (disk full, file too large) is taken back. A process that is killed there leaves a
// record cut short: who reads the file checks its end, and cuts it off with `truncate`.
#pragma once

#include <bloomery/core/file_path.hpp>
#include <bloomery/core/result.hpp>
#include <bloomery/posix/system.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bloomery::inline BLOOMERY_ABI {

class BLOOMERY_API append_file {
 public:
  static result<append_file> open(file_path path) noexcept;
  // One that is not there yet.
  static result<append_file> create(file_path path) noexcept;

  // After an error that could not be taken back, every later call fails until truncate() succeeds.
  result<void> append(std::span<const std::byte> bytes) noexcept;
  [[nodiscard]] result<void> read_at(std::uint64_t offset, std::span<std::byte> out) const noexcept;
  result<void> truncate(std::uint64_t size_bytes) noexcept;
  // Until it is on the disk: for a power failure; a process that is killed loses nothing without it.
  [[nodiscard]] result<void> sync() const noexcept;
  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return size_; }

 private:
  append_file() noexcept = default;
  static result<append_file> open_with(file_path path, int flags) noexcept;

  detail::unique_fd fd_;
  path_tail path_;
  std::uint64_t size_ = 0;
  bool broken_ = false;
};

// Held until the end of the scope, or of the process however it ends. The file stays. Where the system has no such
// locks (WASI, which has no processes), it is always free.
class BLOOMERY_API path_lock {
 public:
  static result<path_lock> take(file_path path) noexcept;
  path_lock() noexcept = default;  // holds nothing

 private:
  detail::unique_fd fd_;
};

// Nothing where there is no such file. A file gets another name, in place of what has it.
BLOOMERY_API result<void> remove_file(file_path path) noexcept;
BLOOMERY_API result<void> rename_file(file_path from, file_path to) noexcept;
[[nodiscard]] BLOOMERY_API bool file_exists(file_path path) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/posix/append_file.cpp>
#endif
