// cli/dedup/merge.hpp: the files between the two halves of a de-duplication that did not fit into memory.
//
// Spilled entries are still to be de-duplicated: sequence, key, and the text where it is not the key. Survivors are
// lines that will be printed: sequence, count, text. Both are in input order in each file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/dedup/exact.hpp"

namespace bloomery::cli {

outcome<void> append_spilled(spill_file& to, const dedup_entry& entry);
outcome<void> append_survivor(spill_file& to, std::uint64_t sequence, std::uint64_t count, std::string_view text);

// Entries of a spill file, many at a time.
class spilled_entries {
 public:
  explicit spilled_entries(const spill_file& from);
  // Valid until the next call; empty at the end.
  outcome<std::span<const dedup_entry>> next();

 private:
  spill_reader reader_;
  std::string bytes_;
  std::vector<dedup_entry> entries_;
};

// Lines that survive one partition.
class survivor_sink final : public dedup_sink {
 public:
  explicit survivor_sink(spill_file& to) : to_(&to) {}
  void encode(std::string& to, std::uint64_t sequence, std::uint64_t count, std::string_view text) const override;
  outcome<void> write(std::string_view encoded) override { return to_->append(encoded); }

 private:
  spill_file* to_;
};

// All survivors to the sink, by sequence.
outcome<void> merge_survivors(std::span<const spill_file> survivors, dedup_sink& sink);

}  // namespace bloomery::cli
