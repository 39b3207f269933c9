// cli/dedup/mapped.hpp: first occurrences in files that can be mapped, on all processors.
//
//     mapped_dedup dedup(input, settings, print);
//     auto fits = dedup.run(report_progress);            // false: the table needs more memory than it may have
//
// The same guarantee as exact_dedup (exact.hpp): a line is dropped only after it was compared, byte by byte, with
// an earlier one. But nothing is copied to disk for that: the file is still there. What the table of digests remembers
// of a key is where its line begins, in units of 32 bytes; whether it is the same line is checked in the file.
//
// The input is taken window by window, and each window in four steps, the first three on all threads:
//   hash     its lines are found and hashed, chunk by chunk, and dealt out to shards by digest
//   look up  each shard looks up its own table: a new digest proves a new key, others are suspects
//   check    suspects are compared with the lines that they may repeat, sorted by where those are, so that the file is
//            gone through once, from the front; what was suspected wrongly (one in a hundred thousand) is decided alone
//   print    by a separate thread, while the next window is hashed: all lines but the repeats, in order
//
// Memory: 9 to 18 bytes for each different key, about 18 bytes for each line of a window, and the windows themselves.
#pragma once

#include <bloomery/hash/hasher.hpp>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cli/dedup/table.hpp"
#include "cli/keys/mapped_files.hpp"
#include "cli/terminal/problem.hpp"

namespace bloomery::cli {

struct mapped_dedup_settings {
  hasher hash;
  char terminator = '\n';
  unsigned jobs = 1;
  std::uint64_t table_bytes = std::uint64_t{1} << 30U;
  std::uint64_t window_bytes = std::uint64_t{32} << 20U;  // of input
};

class mapped_dedup {
 public:
  using printer = std::function<outcome<void>(std::string_view)>;
  using progress_callback = std::function<void(std::uint64_t bytes, std::uint64_t lines)>;

  // Without a printer, lines are only counted.
  mapped_dedup(const mapped_files& input, const mapped_dedup_settings& settings, printer print);
  mapped_dedup(const mapped_dedup&) = delete;
  mapped_dedup& operator=(const mapped_dedup&) = delete;
  ~mapped_dedup();

  // False when it ended early for lack of memory; what was printed by then is the beginning of what is right.
  outcome<bool> run(const progress_callback& report_progress);

  [[nodiscard]] std::uint64_t lines() const { return lines_; }
  [[nodiscard]] std::uint64_t different() const { return lines_ - repeats_; }

 private:
  // Whole lines of one file.
  struct chunk {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool unterminated = false;          // the last line of a file that does not end with a terminator
    std::vector<std::uint32_t> starts;  // of the lines, from `begin`
    std::vector<std::uint8_t> repeats;  // 1: not to be printed
  };
  // Lines of a chunk, by shard: those of shard s from shard_ends[s - 1] to shard_ends[s], in order.
  struct hashed_line {
    std::uint64_t digest = 0;
    std::uint32_t line = 0;
    std::uint32_t start = 0;
  };
  struct hashed {
    std::vector<std::uint32_t> shard_ends;
    std::vector<hashed_line> lines;
  };
  struct window {
    std::vector<chunk> chunks;  // reused: the first `used` are of this window
    std::size_t used = 0;
    std::uint64_t begin = 0;
    std::uint64_t lines = 0;
    std::optional<problem> trouble;
    std::exception_ptr thrown;  // by the thread that printed it
  };
  struct suspect {
    std::uint32_t chunk = 0;
    std::uint32_t line = 0;
    std::uint32_t place = 0;  // where the line may stand that it repeats
  };
  struct shard {
    dedup_table table;
    std::vector<suspect> suspects;          // by bin
    std::vector<std::uint32_t> bin_begins;  // and the end of the last
  };

  // False at the end of the input, or when a line is longer than a chunk can be.
  bool cut_window();
  void hash_chunk(std::size_t index);
  void deal_out(hashed& to, const chunk& target, std::span<const std::uint64_t> digests) const;
  void look_up_shard(shard& target);
  void sort_suspects(shard& target, std::vector<suspect>& found) const;
  void prefetch_line(std::uint64_t position) const;
  void check_bin(std::size_t bin);
  void decide_rest();
  outcome<void> print_window();
  outcome<void> print_lines(const window& target);
  outcome<void> gather(std::string_view text);
  outcome<void> await_printer();

  [[nodiscard]] std::string_view key(const chunk& target, std::uint32_t line) const;
  [[nodiscard]] std::uint32_t place_of(std::uint64_t position) const {
    return static_cast<std::uint32_t>(position >> place_shift_);
  }
  // Whether a line that begins at `place` and before `position` is this key.
  [[nodiscard]] bool stands_at(std::uint32_t place, std::string_view key, std::uint64_t position) const;
  [[nodiscard]] std::size_t shard_of(std::uint64_t digest) const { return digest & (shards_.size() - 1); }
  [[nodiscard]] std::size_t bin_of(std::uint32_t place) const { return place >> (bin_shift_ - place_shift_); }
  [[nodiscard]] std::uint64_t table_bytes() const;

  const mapped_files* input_;
  mapped_dedup_settings settings_;
  printer print_;
  unsigned place_shift_ = 5;  // places are so many bytes, as a power of two
  unsigned bin_shift_ = 23;   // and bins, which are checked together
  std::vector<shard> shards_;
  std::size_t file_ = 0;        // that the next window begins in
  std::uint64_t position_ = 0;  // at which
  bool line_too_long_ = false;
  window now_;
  window printed_;              // or being printed
  std::vector<hashed> hashed_;  // of the chunks of now_
  std::mutex wrong_lock_;
  std::vector<suspect> wrong_;  // of now_: not the line that they were taken for
  std::string gathered_;        // lines about to be printed
  std::thread printer_thread_;
  std::uint64_t lines_ = 0;
  std::uint64_t repeats_ = 0;
};

}  // namespace bloomery::cli
