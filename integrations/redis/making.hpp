// making.hpp: filters are made, and filled, by several commands: BF.RESERVE, BF.ADD, BF.MADD and BF.INSERT, and those of CF.
#pragma once

#include "integrations/redis/config.hpp"
#include "integrations/redis/types.hpp"

namespace bloomery::redis_module {

// How a filter is made that is not there.
struct new_bloom {
  double error_rate = configured.error_rate;
  std::uint64_t capacity = configured.capacity;
  std::uint64_t expansion = configured.expansion;
  bool scales = configured.expansion != 0;
};
struct new_cuckoo {
  std::uint64_t capacity = configured.cuckoo_capacity;
  std::uint64_t slots = configured.cuckoo_slots;
  std::uint64_t moves = configured.cuckoo_moves;
  std::uint64_t expansion = configured.cuckoo_expansion;
};

// nullptr: it was not made, and the error was the answer.
redis::bloom_chain* make_filter(const call& made, open_bloom& key, const new_bloom& wanted) noexcept;
redis::cuckoo_chain* make_filter(const call& made, open_cuckoo& key, const new_cuckoo& wanted) noexcept;
// A replica makes the same filter, whatever its own settings are. (Of a Bloom filter with items, BF.INSERT does that.)
void replicate_made(const call& made, const new_bloom& wanted) noexcept;
void replicate_made(const call& made, const new_cuckoo& wanted) noexcept;

// Inserts the arguments from `first` on, answers, and replicates. A filter that is not there is made.
int insert_items(const call& made, open_bloom& key, std::size_t first, const new_bloom& wanted) noexcept;
int insert_items(const call& made, open_cuckoo& key, std::size_t first, const new_cuckoo& wanted,
                 redis::copies rule) noexcept;

}  // namespace bloomery::redis_module
