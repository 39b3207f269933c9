// cli/keys/byte_source.hpp: the bytes of an input file or of standard input, unpacked.
//
// gzip, zstd and xz are recognised by their first bytes; files of several members, frames or streams are one stream, as
// their own tools have it. Input that ends in the middle of compressed data is an error, not a short input. Input that
// cannot be keys, such as bzip2 or a filter, is refused by name: see input_signature.hpp.
//
// Reading from a pipe or a terminal can block forever. So a read that does not wait returns what is there, to answer
// lines while later ones are still to come; and a waiting read ends, with a quiet problem, as soon as the descriptor
// passed to open() becomes readable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal/problem.hpp"

namespace bloomery::cli {

class byte_source {
 public:
  // Whether the first bytes decide, or all bytes are read unchanged (--no-decompress).
  enum class decompression : std::uint8_t { by_content, none };

  // What is known of a file from its first bytes. Missing files, directories, files that may not be read and
  // what is refused by name are problems.
  struct facts {
    bool regular = false;
    std::uint64_t size_bytes = 0;  // of a regular file
  };
  static outcome<facts> stat(const std::string& path, decompression how = decompression::by_content);

  byte_source() = default;
  // "-" is standard input. `wake` is -1, or a descriptor that ends waiting when it is readable.
  static outcome<byte_source> open(const std::string& path, int wake = -1,
                                   decompression how = decompression::by_content);
  byte_source(byte_source&& other) noexcept;
  byte_source& operator=(byte_source&& other) noexcept;
  ~byte_source();

  enum class patience : std::uint8_t { wait, now };
  // Some bytes, as soon as there are any; 0 at the end. With `now` also 0 when none are there yet: see is_starved.
  outcome<std::size_t> read(std::span<char> to, patience how = patience::wait);
  // Whether the last read gave nothing because nothing was there, not because of the end.
  [[nodiscard]] bool is_starved() const { return starved_; }

  [[nodiscard]] bool is_regular() const { return regular_; }
  void set_wake(int descriptor) { wake_ = descriptor; }

  // For messages: the path, or "standard input".
  [[nodiscard]] const std::string& name() const { return name_; }
  // Bytes of the file, for progress.
  [[nodiscard]] std::uint64_t bytes_taken() const { return taken_; }

 private:
  // Unpacks one format. `read` takes packed bytes from the source as it needs them.
  struct unpacker {
    virtual ~unpacker() = default;
    virtual outcome<std::size_t> read(byte_source& from, std::span<char> to) = 0;
  };
  struct gzip_unpacker;
  struct zstd_unpacker;
  struct xz_unpacker;

  outcome<void> detect();
  // Refills `packed_` after what is left in it; false at the end of the file, or when starved.
  outcome<bool> refill();
  outcome<std::size_t> read_raw(std::span<char> to);
  // False when starved. Regular files are always ready.
  outcome<bool> wait_for_bytes();
  [[nodiscard]] std::string_view left() const { return std::string_view(packed_).substr(at_); }

  int descriptor_ = -1;
  int wake_ = -1;
  bool regular_ = false;
  bool starved_ = false;
  patience patience_ = patience::wait;
  std::string name_;
  std::uint64_t taken_ = 0;
  std::string packed_;  // raw bytes that were read and not yet used
  std::size_t at_ = 0;
  std::unique_ptr<unpacker> unpacker_;
};

}  // namespace bloomery::cli
