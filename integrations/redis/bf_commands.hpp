// bf_commands.hpp: the handlers of BF.*, and what they share.
#pragma once

#include <bloomery/compat/redis/bloom_chain.hpp>

#include "integrations/redis/bloom_type.hpp"
#include "integrations/redis/call.hpp"
#include "integrations/redis/config.hpp"
#include "integrations/redis/items.hpp"
#include "integrations/redis/memory.hpp"

namespace bloomery::redis_module {

int bf_reserve(const call& made) noexcept;    // bf_make.cpp
int bf_insert(const call& made) noexcept;     // bf_make.cpp
int bf_add(const call& made) noexcept;        // bf_add.cpp
int bf_madd(const call& made) noexcept;       // bf_add.cpp
int bf_exists(const call& made) noexcept;     // bf_query.cpp
int bf_mexists(const call& made) noexcept;    // bf_query.cpp
int bf_card(const call& made) noexcept;       // bf_info.cpp
int bf_info(const call& made) noexcept;       // bf_info.cpp
int bf_debug(const call& made) noexcept;      // bf_info.cpp
int bf_scandump(const call& made) noexcept;   // bf_dump.cpp
int bf_loadchunk(const call& made) noexcept;  // bf_dump.cpp

// How a filter is made that is not there.
struct new_filter {
  double error_rate = configured.error_rate;
  std::uint64_t capacity = configured.capacity;
  std::uint64_t expansion = configured.expansion;
  bool scales = configured.expansion != 0;
};
// nullptr: it was not made, and the error was the answer.
redis::bloom_chain* make_filter(const call& made, open_bloom& key, const new_filter& wanted) noexcept;

// Inserts the arguments from `first` on, answers, and replicates. A filter that is not there is made.
int insert_items(const call& made, open_bloom& key, std::size_t first, const new_filter& wanted) noexcept;

// Bits that an item may need to be looked at.
std::uint64_t bits_per_item(const redis::bloom_chain& chain) noexcept;
std::uint64_t bits_per_item(const new_filter& wanted) noexcept;
// The same for one item.
inline bool may_work(const call& made, const redis::bloom_chain& chain) noexcept {
  // With a limit that is not very low, no filter takes so much for one item.
  if (chain.sub_filters() * redis::max_bloom_hashes <= configured.work_limit) return true;
  return may_work(made, bits_per_item(chain), 1);
}

// What a command that makes filters, and one that fills them, reports to those who listen.
inline constexpr const char* event_reserve = "bloom.reserve";
inline constexpr const char* event_add = "bloom.add";
inline constexpr const char* event_load = "bloom.load";

}  // namespace bloomery::redis_module
