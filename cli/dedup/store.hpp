// cli/dedup/store.hpp: the bytes of all different keys, on disk, in the order in which they came.
//
// What a table of digests suspects is proven here. Keys are appended and get ordinals 0, 1, 2...; in memory stays where
// every sixteenth begins, half a byte a key. Suspicions are checked many at a time, in the order of the file: where
// they are close together the file is read through in large pieces, where they do not, each is read alone.
//
//     auto ordinal = store.append(entry);
//     store.flush();
//     auto wrong = refuted(store.file(), store.has_texts(), suspects, bytes);     // which keys are not what was stored
//     auto same = store.holds(ordinal, key);                                      // one, of any length
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cli/dedup/spill.hpp"

namespace bloomery::cli {

// A record as de-duplication sees it.
struct dedup_entry {
  std::string_view key;
  std::string_view text;       // what is printed
  std::uint64_t sequence = 0;  // its place in the input
};

// A key that may be the one stored as `ordinal`.
struct suspect {
  std::uint64_t group_at = 0;     // in the store's file
  std::uint32_t group_bytes = 0;  // unchecked_group: too long to be checked with others
  std::uint32_t ordinal = 0;
  std::uint64_t key_at = 0;  // in the bytes of the window
  std::uint64_t key_size = 0;
  std::uint64_t out_at = 0;  // where in the window's output the line would stand
  std::uint64_t sequence = 0;
};

class dedup_store {
 public:
  static constexpr std::uint32_t unchecked_group = 0xffffffff;

  dedup_store() = default;
  // With texts, sequence numbers and texts are kept too, for for_each.
  dedup_store(spill_file file, bool with_texts) : file_(std::move(file)), with_texts_(with_texts) {}

  outcome<std::uint32_t> append(const dedup_entry& entry);
  outcome<void> flush() { return file_.flush(); }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::uint64_t memory_bytes() const { return groups_.capacity() * sizeof(std::uint64_t); }
  [[nodiscard]] const spill_file& file() const { return file_; }
  [[nodiscard]] spill_file& file() { return file_; }
  [[nodiscard]] bool has_texts() const { return with_texts_; }

  // Fills in the position of the group of its ordinal. All of it must have been flushed.
  void locate(suspect& source) const;
  // Whether the key stored as `ordinal` is this one. Keys of any length, a piece at a time.
  outcome<bool> holds(std::uint32_t ordinal, std::string_view key);

  // Takes over a file of keys that is already there, as open_state read it: each key in order.
  void adopt(std::uint64_t offset);

 private:
  spill_file file_;
  bool with_texts_ = false;
  std::uint64_t size_ = 0;
  std::vector<std::uint64_t> groups_;  // where every sixteenth record begins
  std::string scratch_;
};

// One after the other, all that a store with texts holds.
class stored_entries {
 public:
  explicit stored_entries(const dedup_store& source);
  // Valid until the next call; none at the end.
  outcome<std::optional<dedup_entry>> next();

 private:
  spill_reader reader_;
  std::string key_;
};

// The indices, ascending, of the suspects whose key (in `bytes`) is not the stored one, or is too long to be checked
// here. Reads what has been flushed only.
outcome<std::vector<std::uint32_t>> refuted(const spill_file& file, bool with_texts, std::span<const suspect> suspects,
                                            std::string_view bytes);

}  // namespace bloomery::cli
