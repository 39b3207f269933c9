// cli/keys/key_parser.hpp: records and keys out of the bytes of one chunk. Used by key_reader alone.
#pragma once

#include "cli/keys/keys.hpp"

namespace bloomery::cli {

// An abbreviation of arbitrary input, for a message.
std::string quoted(std::string_view text);

class chunk_parser {
 public:
  // `chunk` has its bytes and its format.
  chunk_parser(key_chunk& chunk, const hasher& hash);

  // Stops at the first record that is wrong, with the chunk's `failure` set.
  void run();
  // The fields of one record, into chunk.parts_.
  outcome<void> split(std::string_view text);

  // A byte order mark, which is no part of the first field of a CSV file.
  static constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

 private:
  void run_plain();
  void run_lines();
  void run_csv();
  // `text` to print, `content` to make the key of. False when that failed.
  bool take(std::string_view text, std::string_view content);
  outcome<void> split_csv(std::string_view text);
  outcome<std::string_view> key_of(std::string_view text);
  outcome<std::string_view> joined(std::span<const std::string_view> fields);
  outcome<std::string_view> row_and_column(std::string_view row, std::string_view column);
  outcome<std::string_view> tuple_of(std::span<const std::string_view> fields);
  outcome<std::string_view> bytes_of(std::string_view text);
  outcome<std::string_view> funnelled(std::string_view text);
  outcome<std::string_view> text_in_utf16(std::string_view text);
  [[nodiscard]] failed no_field(std::uint64_t position) const;

  key_chunk& chunk_;
  const key_format& format_;
  const hasher& hash_;
  bool any_size_;           // the hash takes keys of every size
  std::size_t last_field_;  // later fields are ignored
  std::uint64_t line_ = 0;  // offset in the chunk
};

}  // namespace bloomery::cli
