// cli/keys/keys.hpp: keys out of files and standard input, in chunks.
//
// A record is a line (or what -0 or --csv makes of it); its key is those bytes, or what -f, --hex and --u64 make of
// them. Several fields are encoded as the library encodes a tuple, so `-f 1,2` finds what digest_of(hash, std::tuple(a,
// b)) inserted; with --hex the fields are the bytes, with --u64 integers. With --funnel they are joined, as a funnel of
// Guava does that puts one after the other.
//
// A chunk is a stretch of one file made of complete records, 256 KiB or so (more only where one record is longer), and
// owns its bytes. From a slow pipe it holds what is there, so that answers come while the input still runs. Most verbs
// let digest_stream (digests.hpp) read them, on all processors. This is what it does, and what can be done by hand:
//
//     auto reader = key_reader::make(opts, files, hash);      // "-" or no files: standard input
//     key_chunk chunk;
//     while (true) {
//       auto more = reader->next(chunk);
//       if (!more) return failed(more.error());
//       if (!*more) break;
//       for (const record& each : chunk.records()) ...        // each.text to print, each.key to hash
//     }
//
// The three steps of next() are apart for the sake of threads: read() takes bytes and decides where the chunk ends (one
// thread at a time, in order), parse() finds records and keys (any thread), settle() assigns line numbers (in order).
#pragma once

#include <bloomery/formats.hpp>
#include <bloomery/hash/hasher.hpp>
#include <bloomery/hash/key.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/flags/flags.hpp"
#include "cli/keys/byte_source.hpp"
#include "cli/keys/csv_scanner.hpp"
#include "cli/terminal/problem.hpp"

namespace bloomery::cli {

struct record {
  std::string_view text;     // without the terminator
  std::string_view key;      // the bytes that are hashed
  std::uint64_t number = 0;  // of the line at which it begins, from 1, in its file; known once the chunk is settled
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

// What --funnel makes of a key: the bytes that a funnel of Guava feeds to the hash.
enum class key_funnel : std::uint8_t {
  none,
  bytes,  // unchanged
  utf8,   // text: refused where it is not UTF-8
  utf16,  // the same text as UTF-16 code units, little-endian
  int32,  // a signed decimal integer in 4 bytes, little-endian
  int64,  // and in 8
};

// How records and keys are written, from the options.
struct key_format {
  char terminator = '\n';
  bool crlf = false;
  bool csv = false;
  bool header = false;
  bool hex = false;
  bool u64 = false;
  key_funnel funnel = key_funnel::none;
  bool row_and_column = false;  // two fields, a row and FAMILY:QUALIFIER, as HBase hashes them together
  char delimiter = '\t';
  std::vector<std::string> fields;       // as in -f
  std::vector<std::uint64_t> positions;  // the same from 0; empty while names are not yet known, or without -f

  static outcome<key_format> from(const options& opts);
  // Two fields are a row and a column: those of -f, or the first two.
  outcome<void> use_rows_and_columns();
  // Names of the header to positions.
  outcome<void> resolve(std::span<const std::string_view> names);
  // Whether the key is the record as it stands.
  [[nodiscard]] bool is_plain() const {
    return !crlf && !csv && !hex && !u64 && !row_and_column && funnel <= key_funnel::bytes && positions.empty();
  }
};

class record_view;

// Bytes, and what the steps of reading make of them. Reused again and again, so that its memory is.
struct key_chunk {
  key_chunk() = default;
  key_chunk(const key_chunk&) = delete;
  key_chunk& operator=(const key_chunk&) = delete;

  // Records and their keys; valid until the chunk is used again. keys[i] is the key of records()[i].
  [[nodiscard]] record_view records() const;
  [[nodiscard]] std::size_t size() const { return keys.size(); }
  std::vector<std::string_view> keys;

  // Digests of the keys, where they were made: of 64 bits, and wider ones where a filter takes them.
  std::vector<std::uint64_t> digests64;
  std::vector<std::uint64_t> wide_words;
  unsigned wide_bits = 128;
  [[nodiscard]] digest_span digests(unsigned bits) const {
    return bits == 64 ? digest_span(digests64)
                      : digest_span(wide_words.data(), wide_words.size() * 64 / wide_bits, wide_bits);
  }

  // For the work of a verb in the threads: text to print, and numbers or bits.
  std::string text;
  std::vector<std::uint64_t> mask;
  std::uint64_t tally = 0;

  // What goes wrong after the records of this chunk: reading ends with it. A verb's work sets it with fail().
  std::optional<problem> failure;
  void fail(problem what) {
    failure = std::move(what);
    failed_line_.reset();
  }

  std::string file;               // the name of the input, for messages
  std::uint64_t bytes_taken = 0;  // of all input up to the end of this chunk, in bytes of the files
  bool waited = false;            // from a pipe or terminal: a reader may be waiting for the results

 private:
  friend class key_reader;
  friend class chunk_parser;
  friend class record_view;

  std::string_view bytes() const { return {buffer_.get() + begin_, end_ - begin_}; }
  void reserve(std::size_t size);
  void clear();

  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;  // of the first record
  std::size_t end_ = 0;
  bool starts_file_ = false;  // the first chunk of its file
  bool may_have_mark_ = false;
  std::shared_ptr<const key_format> format_;  // with the positions from this file's header
  std::uint64_t line_base_ = 0;               // lines before the chunk: of the header until it is settled
  std::uint64_t lines_ = 0;                   // in it
  std::vector<std::string_view> texts_;       // empty: the keys are the texts
  std::vector<std::uint64_t> line_offsets_;   // of each record in the chunk; empty: record i is line i
  std::optional<std::uint64_t> failed_line_;  // offset of the line that `failure` is about, until it is settled
  key_arena arena_;
  std::vector<std::string_view> fields_;  // scratch: the fields of one record
  std::vector<std::string_view> chosen_;
};

// The records of a chunk, made on access.
class record_view {
 public:
  explicit record_view(const key_chunk& chunk) : chunk_(&chunk) {}
  [[nodiscard]] std::size_t size() const { return chunk_->keys.size(); }
  [[nodiscard]] bool empty() const { return chunk_->keys.empty(); }
  record operator[](std::size_t i) const { return {text(i), chunk_->keys[i], number(i)}; }
  [[nodiscard]] std::string_view text(std::size_t i) const {
    return chunk_->texts_.empty() ? chunk_->keys[i] : chunk_->texts_[i];
  }
  [[nodiscard]] std::uint64_t number(std::size_t i) const {
    return chunk_->line_base_ + 1 + (chunk_->line_offsets_.empty() ? i : chunk_->line_offsets_[i]);
  }

  class iterator {
   public:
    iterator(const key_chunk& chunk, std::size_t at) : chunk_(&chunk), at_(at) {}
    record operator*() const { return record_view(*chunk_)[at_]; }
    iterator& operator++() {
      ++at_;
      return *this;
    }
    friend bool operator!=(const iterator& a, const iterator& b) { return a.at_ != b.at_; }

   private:
    const key_chunk* chunk_;
    std::size_t at_;
  };
  [[nodiscard]] iterator begin() const { return {*chunk_, 0}; }
  [[nodiscard]] iterator end() const { return {*chunk_, size()}; }

 private:
  const key_chunk* chunk_;
};
inline record_view key_chunk::records() const { return record_view(*this); }

// From -j, else as many as there are processors for this process.
unsigned jobs_of(const options& opts);

class key_reader {
 public:
  static constexpr std::size_t usual_chunk_bytes = std::size_t{1} << 18U;
  // What verbs process in one batch where keys do not come from a chunk.
  static constexpr std::size_t batch_records = 4096;

  static outcome<key_reader> make(const options& opts, std::span<const std::string> files, const hasher& hash,
                                  std::size_t chunk_bytes = usual_chunk_bytes);

  // The keys of words, as a command line has them, into a chunk; nothing is read. Words hold no NUL.
  static outcome<void> take_words(const options& opts, std::span<const std::string> words, const hasher& hash,
                                  key_chunk& chunk, formats::key_form form = formats::key_form::digest);
  // Keys as a filter looks them up; called before the first is read.
  outcome<void> use(formats::key_form form);

  // One chunk after the other; false at the end of all input. A failure comes after the records before it.
  outcome<bool> next(key_chunk& chunk);

  // The steps of next(). False at the end of all input.
  outcome<bool> read(key_chunk& chunk);
  // Whether read() would return false, as far as is known.
  [[nodiscard]] bool has_ended() const { return !open_ && next_file_ == files_.size(); }
  void parse(key_chunk& chunk) const;
  void settle(key_chunk& chunk);
  // For verbs that print complete records below the header of the first file: a file with other columns, or with the
  // same ones in another order, is a problem. Elsewhere -f finds its columns by name in each file.
  void require_same_header() { same_header_ = true; }
  // Waiting for input ends when this descriptor is readable.
  void set_wake(int descriptor) {
    wake_ = descriptor;
    source_.set_wake(descriptor);
  }

  // Of what was settled.
  [[nodiscard]] std::uint64_t records_read() const { return records_; }
  [[nodiscard]] std::uint64_t bytes_taken() const { return settled_bytes_; }
  // For progress; 0 when it is not known.
  [[nodiscard]] std::uint64_t total_bytes() const { return total_; }
  // Whether every input can be read twice.
  [[nodiscard]] bool all_regular() const { return all_regular_; }
  [[nodiscard]] char terminator() const { return format_->terminator; }
  // The header of the first file, as it stands, with --header. Known once a chunk was settled, or at the end.
  [[nodiscard]] const std::optional<std::string>& header() const { return header_; }
  [[nodiscard]] unsigned jobs() const { return jobs_; }
  [[nodiscard]] std::size_t chunk_bytes() const { return chunk_bytes_; }

 private:
  explicit key_reader(const hasher& hash) : hash_(hash) {}
  outcome<bool> open_next();
  void close_source();
  // Reads into the chunk until it is full, the file ends, or complete records are there and no more bytes.
  outcome<void> fill(key_chunk& chunk);
  // Scans the new bytes and moves `cut_`.
  void find_end(const key_chunk& chunk);
  outcome<void> take_header(key_chunk& chunk);
  // What the names of this file's header, which are in chunk.parts_, make of `resolved`.
  outcome<void> use_header(const key_chunk& chunk, key_format& resolved);

  // Fixed.
  std::shared_ptr<const key_format> format_;
  hasher hash_;
  std::vector<std::string> files_;
  byte_source::decompression decompression_ = byte_source::decompression::by_content;
  std::size_t chunk_bytes_ = usual_chunk_bytes;
  unsigned jobs_ = 1;
  int wake_ = -1;
  std::uint64_t total_ = 0;
  bool all_regular_ = true;
  // For read().
  std::size_t next_file_ = 0;
  byte_source source_;
  bool open_ = false;
  bool at_start_ = false;    // no chunk of this file has been delivered yet
  bool mark_due_ = false;    // it may begin with a byte order mark that has not been passed over
  bool header_due_ = false;  // its header has not been read yet
  bool ended_ = false;       // all bytes of the source were read
  std::shared_ptr<const key_format> file_format_;
  bool same_header_ = false;
  std::optional<std::string> header_;
  std::vector<std::string> columns_;  // the names in it
  std::string header_file_;           // whose it is
  std::string carried_;               // the beginning of a record
  csv_scanner scanner_;               // after all bytes that were read
  std::size_t scanned_ = 0;           // of the chunk: what was scanned
  std::size_t cut_ = 0;               // after the last complete record of the chunk
  std::optional<problem> deferred_;
  std::uint64_t finished_bytes_ = 0;
  // For settle().
  std::uint64_t next_line_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t settled_bytes_ = 0;
};

}  // namespace bloomery::cli
