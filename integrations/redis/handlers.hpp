// handlers.hpp: what runs the commands. commands.cpp registers them.
#pragma once

#include "integrations/redis/call.hpp"

namespace bloomery::redis_module {

// bf_make.cpp, cf_make.cpp
int bf_reserve(const call& made) noexcept;
int bf_insert(const call& made) noexcept;
int cf_reserve(const call& made) noexcept;
int cf_insert(const call& made) noexcept;
int cf_insertnx(const call& made) noexcept;
// bf_add.cpp, cf_add.cpp
int bf_add(const call& made) noexcept;
int bf_madd(const call& made) noexcept;
int cf_add(const call& made) noexcept;
int cf_addnx(const call& made) noexcept;
// query.cpp
int bf_exists(const call& made) noexcept;
int bf_mexists(const call& made) noexcept;
int cf_exists(const call& made) noexcept;
int cf_mexists(const call& made) noexcept;
int cf_count(const call& made) noexcept;
// cf_remove.cpp
int cf_del(const call& made) noexcept;
int cf_compact(const call& made) noexcept;
// bf_info.cpp, cf_info.cpp
int bf_card(const call& made) noexcept;
int bf_info(const call& made) noexcept;
int bf_debug(const call& made) noexcept;
int cf_info(const call& made) noexcept;
int cf_debug(const call& made) noexcept;
// bf_dump.cpp, cf_dump.cpp
int bf_scandump(const call& made) noexcept;
int bf_loadchunk(const call& made) noexcept;
int cf_scandump(const call& made) noexcept;
int cf_loadchunk(const call& made) noexcept;

}  // namespace bloomery::redis_module
