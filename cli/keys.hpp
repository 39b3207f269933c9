// cli/keys.hpp: keys out of files and standard input, in batches.
//
//     auto reader = key_reader::make(given, files, hash);      // "-" or no files: standard input
//     key_batch batch;
//     while (true) {
//       auto more = reader->next(batch);
//       if (!more) return failed(more.error());
//       if (!*more) break;
//       for (const record& each : batch.records) ...          // each.text to print, each.key to hash
//     }
//
// A record is a line (or what -0 or --csv makes of it); its key is those bytes, or what -f, --hex and --u64 make of
// them. Several fields are encoded as the library encodes a tuple, so `-f 1,2` finds what digest_of(hash, std::tuple(a,
// b)) inserted; with --hex the fields are the bytes, with --u64 integers. A batch holds what is there: with a slow pipe
// it is short, so that answers come while the input still runs. It is valid until the next call. Records never cross
// batches, and a batch refers to nothing but its own block, so blocks can be parsed apart from reading.
#pragma once

#include <bloomery/hash/hasher.hpp>
#include <bloomery/hash/key.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/byte_source.hpp"
#include "cli/flags.hpp"
#include "cli/problem.hpp"

namespace bloomery::cli {

struct record {
  std::string_view text;     // without the terminator
  std::string_view key;      // the bytes that are hashed
  std::uint64_t number = 0;  // of the line at which it begins, from 1, in its file
};

// Memory for keys that are not bytes of the input. Pointers stay valid until reset.
class key_arena {
 public:
  std::span<char> take(std::size_t size);
  void reset();

 private:
  static constexpr std::size_t block_bytes = std::size_t{1} << 16U;
  std::vector<std::unique_ptr<char[]>> blocks_;  // all of block_bytes
  std::vector<std::unique_ptr<char[]>> large_;
  std::size_t block_ = 0;
  std::size_t used_ = 0;
};

struct key_batch {
  std::vector<record> records;
  key_arena arena;
};

// How records and keys are written, from the options.
struct key_format {
  char terminator = '\n';
  bool crlf = false;
  bool csv = false;
  bool header = false;
  bool hex = false;
  bool u64 = false;
  char delimiter = '\t';
  std::vector<std::string> fields;       // as given with -f
  std::vector<std::uint64_t> positions;  // the same from 0; empty while names are not yet known, or without -f

  static outcome<key_format> from(const options& given);
  // Names of the header to positions.
  outcome<void> resolve(std::span<const std::string_view> names);
};

class key_reader {
 public:
  static constexpr std::size_t batch_records = 4096;

  static outcome<key_reader> make(const options& given, std::span<const std::string> files, const hasher& hash);

  // False at the end of all input.
  outcome<bool> next(key_batch& batch);

  [[nodiscard]] std::uint64_t records_read() const { return records_; }
  // For progress; total is 0 when it is not known.
  [[nodiscard]] std::uint64_t bytes_taken() const { return finished_bytes_ + source_.bytes_taken(); }
  [[nodiscard]] std::uint64_t total_bytes() const { return total_; }
  // Whether every input can be read twice.
  [[nodiscard]] bool all_regular() const { return all_regular_; }
  // The file that the last batch came from.
  [[nodiscard]] const std::string& name() const { return source_.name(); }
  [[nodiscard]] char terminator() const { return format_.terminator; }

 private:
  key_reader(key_format format, const hasher& hash) : format_(std::move(format)), hash_(hash) {}
  outcome<bool> open_next();
  outcome<void> fill();
  outcome<void> take_records(key_batch& batch);
  outcome<void> take_one(std::string_view text, key_batch& batch);
  // The length of the first record in the buffer without its terminator; none when its end is not there yet.
  std::optional<std::size_t> record_length();
  std::optional<std::size_t> csv_record_length();
  outcome<void> split(std::string_view text, key_arena& arena);
  outcome<void> split_csv(std::string_view text, key_arena& arena);
  outcome<std::string_view> key_of(std::string_view text, key_arena& arena);
  outcome<std::string_view> tuple_of(std::span<const std::string_view> fields, key_arena& arena) const;
  outcome<std::string_view> bytes_of(std::string_view text, key_arena& arena) const;
  [[nodiscard]] failed bad_line(std::string_view what) const;

  key_format format_;
  hasher hash_;
  std::vector<std::string> files_;
  std::size_t next_file_ = 0;
  byte_source source_;
  bool open_ = false;
  bool ended_ = false;  // the source has given all of its bytes
  bool header_due_ = false;
  std::vector<char> buffer_;  // [begin_, end_) is not yet used
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t scanned_ = 0;  // of [begin_, end_): known to hold no end of a record
  enum class csv_state : std::uint8_t { field_start, plain, quoted, after_quote };
  csv_state csv_state_ = csv_state::field_start;  // of the scan at begin_ + scanned_
  std::vector<std::string_view> parts_;
  std::vector<std::string_view> chosen_;
  std::optional<problem> deferred_;  // comes behind the records before it
  std::uint64_t line_ = 1;
  std::uint64_t records_ = 0;
  std::uint64_t finished_bytes_ = 0;
  std::uint64_t total_ = 0;
  bool all_regular_ = true;
};

}  // namespace bloomery::cli
