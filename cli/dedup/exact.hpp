// cli/dedup/exact.hpp: first occurrences, exactly, in order, in bounded memory.
//
//     auto dedup = exact_dedup::make(settings, sink);
//     (*dedup)->add(entries, digests);              // as they come
//     (*dedup)->flush();                            // when the input is idle
//     (*dedup)->finish();
//
// The guarantee: every different key gets its line printed exactly once, whatever the hash does. A digest that is new
// proves a new key; one that was seen before only makes a suspect, and a suspect is dropped only when its bytes have
// been compared with the stored ones. Order is that of the input.
//
//   memory   a table of digests (table.hpp), 9 to 18 bytes for each different key, and two windows
//   disk     the keys themselves (store.hpp), read again to confirm suspects
//
// Lines are gathered into a window: those that are certainly new, encoded as they will be written, suspects apart. When
// the window is full its suspects are checked together and it is written, while the next one fills: checking thousands
// in one pass means reading through the store instead of jumping about in it.
//
// When the table has taken its share of memory it is frozen. From then on keys that it does not know go to 64 files by
// digest; at the end each file is de-duplicated alone, in the same way, and the lines that are left are merged by their
// place in the input. They come late, but they come in order: all lines before them have been printed by then.
#pragma once

#include <bloomery/hash/hasher.hpp>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "cli/dedup/spill.hpp"
#include "cli/dedup/store.hpp"
#include "cli/dedup/table.hpp"
#include "cli/terminal/problem.hpp"

namespace bloomery::cli {

enum class dedup_mode : std::uint8_t {
  first,     // each key once, at its first occurrence
  repeated,  // keys that occur again, once each, at their second occurrence
  counts,    // each key once, at the end, with the number of its occurrences
};

struct dedup_settings {
  dedup_mode mode = dedup_mode::first;
  hasher hash;                                          // makes the digests
  std::string folder;                                   // for spills
  std::uint64_t table_bytes = std::uint64_t{1} << 30U;  // when more, the table is frozen
  std::size_t window_bytes = std::size_t{48} << 20U;    // each of two
  bool background = true;                               // check one window while the next one fills
  unsigned level = 0;                                   // how often the input has been split already
};

// Where lines go: formatted when they are found, written when they are proven.
class dedup_sink {
 public:
  dedup_sink() = default;
  dedup_sink(const dedup_sink&) = delete;
  dedup_sink& operator=(const dedup_sink&) = delete;
  virtual ~dedup_sink() = default;
  virtual void encode(std::string& to, std::uint64_t sequence, std::uint64_t count, std::string_view text) const = 0;
  virtual outcome<void> write(std::string_view encoded) = 0;
};

// The keys of earlier runs: a store that has a name, and its table.
struct dedup_memory {
  dedup_store store;
  std::unique_ptr<dedup_table> table;
};

class exact_dedup {
 public:
  static outcome<std::unique_ptr<exact_dedup>> make(dedup_settings settings, dedup_sink& sink);
  // Goes on from what is known. Its table is never frozen: when it is too large that is a problem.
  static std::unique_ptr<exact_dedup> resume(dedup_settings settings, dedup_sink& sink, dedup_memory known);
  exact_dedup(const exact_dedup&) = delete;
  exact_dedup& operator=(const exact_dedup&) = delete;
  ~exact_dedup();

  outcome<void> add(std::span<const dedup_entry> entries, std::span<const std::uint64_t> digests);
  // Writes all that has been added, as far as it can be known.
  outcome<void> flush();
  outcome<void> finish();

  // Different keys; after finish() those that were split off too.
  [[nodiscard]] std::uint64_t different() const { return different_; }
  [[nodiscard]] std::uint64_t memory_bytes() const;
  [[nodiscard]] bool was_split() const { return was_split_; }
  // For a state: what is known now. The store has been flushed.
  [[nodiscard]] dedup_store& store() { return known_.store; }

 private:
  struct window {
    std::string out;                // encoded lines that are certainly new
    std::string bytes;              // of suspects: key, then its text if that differs
    std::vector<suspect> suspects;  // in input order
    std::vector<std::uint32_t> wrong;
    std::optional<problem> trouble;
    std::exception_ptr thrown;  // by the thread that checked it
    bool written = false;
    void clear();
    [[nodiscard]] std::string_view key(std::size_t index) const;
    [[nodiscard]] std::string_view text(std::size_t index) const;
  };
  // What was split off: by digest, what the frozen table wrongly suspected, and lines that are decided already.
  struct split {
    std::vector<spill_file> partitions;
    spill_file decided;
  };

  exact_dedup(dedup_settings settings, dedup_sink& sink, dedup_memory known, bool may_split);
  outcome<void> take_new(const dedup_entry& entry, std::uint64_t digest);
  void take_suspect(const dedup_entry& entry, std::uint32_t ordinal);
  outcome<void> swap_windows();
  void check(window& checked);
  outcome<void> settle();
  outcome<void> settle_first(window& checked);
  outcome<void> settle_again(window& checked);
  outcome<std::optional<std::uint32_t>> decide(const window& checked, std::size_t index);
  outcome<void> freeze();
  outcome<void> write_counts();
  [[nodiscard]] std::uint64_t count_of(std::uint32_t ordinal) const;
  outcome<void> finish_split();
  outcome<void> finish_partition(std::size_t index, spill_file& survivors);

  dedup_settings settings_;
  dedup_sink* sink_;
  dedup_memory known_;
  bool may_split_;
  bool was_split_ = false;
  std::unique_ptr<split> split_;
  window filling_;
  window checking_;
  bool checking_is_due_ = false;
  std::thread checker_;
  std::uint64_t different_ = 0;
  std::vector<std::uint32_t> counts_;                         // by ordinal
  std::unordered_map<std::uint32_t, std::uint64_t> carries_;  // of counts above 2^32
  std::vector<std::uint32_t> late_;                           // ordinals that are not in input order
  std::vector<bool> reported_;                                // by ordinal
};

}  // namespace bloomery::cli
