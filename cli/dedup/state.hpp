// cli/dedup/state.hpp: the file in which exact de-duplication remembers lines from one run to the next.
//
//     auto state = dedup_state::open(path);            // made when it is not there; locked until it is destroyed
//     auto known = state->load(hash);                   // everything checked
//     ... append to known->store ...
//     state->commit(store);                             // now it is remembered
//
// The file holds the keys themselves, as dedup_store writes them, so that the guarantee holds across runs. A run
// appends at the end and then writes one of two small commit records, alternating: a run that is interrupted, at any
// moment, leaves the state as the last commit left it. Bytes after the committed ones are ignored and overwritten. The
// keys are on the disk before the record is written, so that a record never counts for keys that are not there. A run
// that fails cuts off what it appended, and takes its commit record back if that was all that failed.
//
//   bytes     what                                          all numbers little-endian
//   0..7      "BLMYDUP" and a NUL
//   8..11     version, 1
//   512..551  commit record: generation, bytes of keys, number of keys, XXH3 of the key bytes, XXH3 of these 32 bytes
//   1024..    the other commit record; the one with the higher generation counts
//   4096..    keys: each its length as a varint, then its bytes
#pragma once

#include <array>
#include <bloomery/hash/hasher.hpp>
#include <cstddef>
#include <cstdint>
#include <string>

#include "cli/dedup/exact.hpp"

namespace bloomery::cli {

class dedup_state {
 public:
  // A file that is being used by another process, is no state, is damaged or of a newer version is a problem.
  static outcome<dedup_state> open(const std::string& path);
  dedup_state(dedup_state&& other) noexcept;
  dedup_state& operator=(dedup_state&&) = delete;
  ~dedup_state();

  // The store continues the file; the table has the digests of `hash`, which may differ from run to run.
  outcome<dedup_memory> load(const hasher& hash);
  outcome<void> commit(dedup_store& store);

 private:
  static constexpr std::size_t commit_bytes = 40;
  struct commit_record {
    std::uint64_t generation = 0;
    std::uint64_t data_bytes = 0;
    std::uint64_t keys = 0;
    std::uint64_t data_hash = 0;
  };
  dedup_state(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  outcome<void> lock();
  outcome<void> begin();
  outcome<void> read_front();
  static std::array<char, commit_bytes> encoded(const commit_record& record);
  outcome<void> write_commit(const commit_record& record);
  // As the last commit left it.
  void restore() noexcept;

  int descriptor_ = -1;
  std::string path_;
  bool is_new_ = false;         // it was not there before, and nothing has been committed to it yet
  bool was_empty_ = false;      // it was there without a byte, and nothing has been committed to it yet
  bool is_dirty_ = false;       // keys may have been appended that are not committed
  bool slot_is_dirty_ = false;  // a commit record was written, and may or may not be on the disk
  commit_record last_;
  std::array<char, commit_bytes> slot_before_{};  // what the next commit record overwrites
};

}  // namespace bloomery::cli
