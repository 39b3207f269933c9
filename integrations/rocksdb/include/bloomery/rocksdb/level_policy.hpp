// bloomery/rocksdb/level_policy.hpp: which of RocksDB's own filters each level has. Link bloomery::rocksdb.
//
//     const auto filters = bloomery::rocksdb::plan_level_filters({.keys = 100'000'000, .bits_per_key = 10, .levels = 5});
//     rocksdb::BlockBasedTableOptions table;
//     table.filter_policy = bloomery::rocksdb::new_level_policy(*filters);
//     options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
//
// What it is    a policy that builds RocksDB's Bloom or Ribbon filters, with the bits per key of the level that a table is made for.
//               The plan is that of sizing/levels.hpp, which `plan --lsm` of the tool prints: more bits where there are few
//               keys, so that fewer blocks are read for nothing in the same memory.
// Not ours      filters of our own cannot be plugged in: since RocksDB 7.0 the classes that build and read filter bits are internal
//               to it. Little would be gained: Ribbon needs 7 bits for an FPR of 1 %, and the hash is XXH3.
// Bits          are those of a Bloom filter. Ribbon has the same FPR in 30 % less memory, and takes several times the CPU to make:
//               Bloom where tables live a short time (level 0, and what is flushed), Ribbon below.
// Switching     RocksDB's built-in policies read all of these filters, and this one reads theirs: nothing is rewritten.
// Threads       any number.
#pragma once

#include <rocksdb/filter_policy.h>

#include <array>
#include <bloomery/core/result.hpp>
#include <memory>

namespace bloomery::inline BLOOMERY_ABI::rocksdb {

inline constexpr std::size_t most_levels_planned = 16;

struct level_filter {
  double bits_per_key = 10;  // below 0.5: no filter
  bool ribbon = false;
};
struct level_filters {
  std::array<level_filter, most_levels_planned> of_level{};  // deeper levels as the last
  level_filter otherwise{};                                  // where the level is not known, as in SstFileWriter
};

struct level_plan_request {
  std::uint64_t keys = 0;
  double bits_per_key = 10;  // on average, of Bloom filters: the memory that levels share
  unsigned levels = 4;       // that have keys, with level 0; up to most_levels_planned
  double size_ratio = 10;    // RocksDB's max_bytes_for_level_multiplier
  unsigned ribbon_from = 1;  // the first level with Ribbon filters; most_levels_planned: Bloom alone
};
// Errors are those of share_levels. Levels below the last have the last one's filter, which is `otherwise`, too.
BLOOMERY_API result<level_filters> plan_level_filters(const level_plan_request& request) noexcept;

BLOOMERY_API std::shared_ptr<const ::rocksdb::FilterPolicy> new_level_policy(const level_filters& filters);

}  // namespace bloomery::inline BLOOMERY_ABI::rocksdb
