// cli/dedup/spill.hpp: files for data that does not fit into memory.
//
// A spill has no name: it is made without one where the system can, else unlinked right after it is opened. Whatever
// ends the program, kill -9 too, leaves nothing on disk. It is in the folder of --temp-dir, TMPDIR or /tmp.
//
//     auto file = spill_file::make(folder);
//     file->append(bytes);  file->flush();             // at the end; small pieces are buffered
//     file->read(offset, span);                         // what has been flushed
//
// Numbers in spills are varints: 7 bits a byte, the lowest first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/flags/flags.hpp"
#include "cli/terminal/problem.hpp"

namespace bloomery::cli {

// The folder in which spills are made.
std::string spill_folder(const options& opts);

// All of the bytes, or all up to the end of the file, at an offset: calls that are interrupted or transfer less are
// continued. What the system refuses leaves its errno.
bool write_at(int descriptor, std::string_view bytes, std::uint64_t offset);
std::optional<std::size_t> read_at(int descriptor, std::span<char> to, std::uint64_t offset);

class spill_file {
 public:
  static outcome<spill_file> make(const std::string& folder);
  // The `size` bytes from `start` on of a file that has a name, and space after them. The descriptor is owned.
  static spill_file named(int descriptor, std::string name, std::uint64_t start, std::uint64_t size);
  spill_file() = default;
  spill_file(spill_file&& other) noexcept;
  spill_file& operator=(spill_file&& other) noexcept;
  ~spill_file();

  outcome<void> append(std::string_view bytes);
  outcome<void> flush();
  // Everything appended, flushed or not.
  [[nodiscard]] std::uint64_t size_bytes() const { return flushed_ + pending_.size(); }
  [[nodiscard]] std::uint64_t flushed_bytes() const { return flushed_; }

  // Fills `to` from bytes that have been flushed. May be called while another thread appends.
  [[nodiscard]] outcome<void> read(std::uint64_t offset, std::span<char> to) const;

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  static constexpr std::size_t block_bytes = std::size_t{1} << 16U;
  outcome<void> write_out(std::string_view bytes);

  int descriptor_ = -1;
  std::string name_;  // for messages
  std::uint64_t start_ = 0;
  std::uint64_t flushed_ = 0;
  std::string pending_;
};

// Reads a spill from its beginning, once it has been flushed.
class spill_reader {
 public:
  spill_reader() = default;
  spill_reader(const spill_file& file, std::size_t buffer_bytes) : file_(&file), block_bytes_(buffer_bytes) {}

  [[nodiscard]] bool at_end() const { return at_ == buffer_.size() && next_ == file_->flushed_bytes(); }
  [[nodiscard]] std::uint64_t position() const { return next_ - (buffer_.size() - at_); }
  outcome<std::uint64_t> number();
  // Valid until the next call.
  outcome<std::string_view> bytes(std::uint64_t size);

 private:
  // At least `size` unread bytes in the buffer.
  outcome<void> need(std::uint64_t size);

  const spill_file* file_ = nullptr;
  std::size_t block_bytes_ = 0;
  std::uint64_t next_ = 0;  // the first byte that is not yet in the buffer
  std::string buffer_;
  std::size_t at_ = 0;
};

constexpr std::size_t max_number_bytes = 10;
inline void append_number(std::string& to, std::uint64_t number) {
  while (number >= 0x80) {
    to.push_back(static_cast<char>(number | 0x80));
    number >>= 7U;
  }
  to.push_back(static_cast<char>(number));
}
// Takes a number from the front; false when it is incomplete.
inline bool take_number(std::string_view& from, std::uint64_t& number) {
  number = 0;
  for (std::size_t i = 0; i < from.size() && i < max_number_bytes; ++i) {
    const auto byte = static_cast<unsigned char>(from[i]);
    number |= static_cast<std::uint64_t>(byte & 0x7fU) << (7 * i);
    if (byte < 0x80) {
      from.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

}  // namespace bloomery::cli
