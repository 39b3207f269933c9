// cli/dedup_state.hpp: the file in which exact de-duplication remembers lines from one run to the next.
//
//     auto state = dedup_state::open(path);            // made when it is not there; locked until it is destroyed
//     auto known = state->load(hash);                   // everything checked
//     ... append to known->store ...
//     state->commit(store);                             // now it is remembered
//
// The file holds the keys themselves, as dedup_store writes them, so that the guarantee holds across runs. A run appends
// behind what is there and then writes one of two small commit records, in turn: whoever is interrupted, at any moment,
// leaves the state as the last commit left it. What lies behind the committed bytes is ignored and overwritten.
//
//   bytes     what                                          all numbers little-endian
//   0..7      "BLMYDUP" and a NUL
//   8..11     version, 1
//   512..551  commit record: generation, bytes of keys, number of keys, XXH3 of the key bytes, XXH3 of these 32 bytes
//   1024..    the other commit record; the one with the higher generation counts
//   4096..    keys: each its length as a varint, then its bytes
#pragma once

#include <bloomery/hash/hasher.hpp>
#include <cstdint>
#include <string>

#include "cli/dedup_exact.hpp"

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
  struct commit_record {
    std::uint64_t generation = 0;
    std::uint64_t data_bytes = 0;
    std::uint64_t keys = 0;
    std::uint64_t data_hash = 0;
  };
  dedup_state(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  outcome<void> begin();
  outcome<void> read_front();
  outcome<void> write_commit(const commit_record& record);

  int descriptor_ = -1;
  std::string path_;
  bool is_new_ = false;  // nothing has been committed to it yet, and it was not there before
  commit_record last_;
};

}  // namespace bloomery::cli
