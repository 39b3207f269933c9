// cli/keys/mapped_files.hpp: input files as memory, one after the other in one space of addresses.
//
// Only files that do not change while they are read: regular ones, not compressed. The bytes at a position can be read
// at any later time, so nothing of the input needs to be copied to be remembered.
//
//     auto input = mapped_files::open(files, most_bytes);          // none: read them otherwise
//     for (const auto& file : input->files()) ... input->bytes_at(file.begin) ...
//
// Pages that were read count as this program's memory until they are released; the system keeps what it has read
// in its own cache all the same. Bytes that can no longer be read, such as those of a file that is truncated meanwhile,
// end the program: see signals.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bloomery::cli {

class mapped_files {
 public:
  // None when one of them is a pipe, packed or empty to the eye, or when all together are larger than `most_bytes`.
  // "-" is standard input, from where it stands.
  static std::optional<mapped_files> open(std::span<const std::string> names, std::uint64_t most_bytes);
  mapped_files(mapped_files&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)),
        size_(other.size_),
        files_(std::move(other.files_)),
        standard_input_end_(other.standard_input_end_) {}
  mapped_files& operator=(mapped_files&&) = delete;
  ~mapped_files();

  struct stretch {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  [[nodiscard]] std::span<const stretch> files() const { return files_; }
  [[nodiscard]] const char* bytes_at(std::uint64_t position) const { return base_ + position; }
  // The file that holds the byte at `position`, or else the next one.
  [[nodiscard]] const stretch& file_of(std::uint64_t position) const;
  // All positions are below.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::uint64_t content_bytes() const;

  // Hints: these bytes will all be read; these will not be for a while.
  void expect(stretch range) const;
  void release(stretch range) const;

  // If it is among them, its position is after what was mapped from now on, as if it had been read.
  void pass_standard_input() const;

 private:
  mapped_files() = default;

  char* base_ = nullptr;
  std::uint64_t size_ = 0;
  std::vector<stretch> files_;
  std::uint64_t standard_input_end_ = 0;  // 0: not among them
};

}  // namespace bloomery::cli
