// cf_commands.hpp: the handlers of CF.*, and what they share.
#pragma once

#include "integrations/redis/call.hpp"
#include "integrations/redis/config.hpp"
#include "integrations/redis/cuckoo_type.hpp"
#include "integrations/redis/items.hpp"
#include "integrations/redis/memory.hpp"

namespace bloomery::redis_module {

int cf_reserve(const call& made) noexcept;    // cf_make.cpp
int cf_insert(const call& made) noexcept;     // cf_make.cpp
int cf_insertnx(const call& made) noexcept;   // cf_make.cpp
int cf_add(const call& made) noexcept;        // cf_add.cpp
int cf_addnx(const call& made) noexcept;      // cf_add.cpp
int cf_exists(const call& made) noexcept;     // cf_query.cpp
int cf_mexists(const call& made) noexcept;    // cf_query.cpp
int cf_count(const call& made) noexcept;      // cf_query.cpp
int cf_del(const call& made) noexcept;        // cf_remove.cpp
int cf_compact(const call& made) noexcept;    // cf_remove.cpp
int cf_info(const call& made) noexcept;       // cf_info.cpp
int cf_debug(const call& made) noexcept;      // cf_info.cpp
int cf_scandump(const call& made) noexcept;   // cf_dump.cpp
int cf_loadchunk(const call& made) noexcept;  // cf_dump.cpp

// How a filter is made that is not there.
struct new_cuckoo {
  std::uint64_t capacity = configured.cuckoo_capacity;
  std::uint64_t slots = configured.cuckoo_slots;
  std::uint64_t moves = configured.cuckoo_moves;
  std::uint64_t expansion = configured.cuckoo_expansion;
};
// nullptr: it was not made, and the error was the answer.
redis::cuckoo_chain* make_cuckoo(const call& made, open_cuckoo& key, const new_cuckoo& wanted) noexcept;
// A replica makes the same filter, whatever its own settings are.
void replicate_made(const call& made, const new_cuckoo& wanted) noexcept;

// Inserts the arguments from `first` on, answers, and replicates. A filter that is not there is made.
int insert_cuckoo_items(const call& made, open_cuckoo& key, std::size_t first, const new_cuckoo& wanted,
                        redis::copies rule) noexcept;

// Slots that looking up an item reads.
std::uint64_t slots_per_item(const redis::cuckoo_chain& chain) noexcept;
// Whether a command may look one up. If not, that was the answer.
inline bool may_look_up(const call& made, const redis::cuckoo_chain& chain) noexcept {
  // With a limit that is not very low, no filter takes so much for one item.
  if (chain.sub_filters() * 2 * static_cast<std::uint64_t>(max_slots) <= configured.work_limit) return true;
  return may_work(made, slots_per_item(chain), 1);
}

// What commands report to those who listen.
inline constexpr const char* event_cuckoo_reserve = "cuckoo.reserve";
inline constexpr const char* event_cuckoo_add = "cuckoo.add";
inline constexpr const char* event_cuckoo_del = "cuckoo.del";
inline constexpr const char* event_cuckoo_compact = "cuckoo.compact";
inline constexpr const char* event_cuckoo_load = "cuckoo.load";

}  // namespace bloomery::redis_module
