// commands.hpp: THE list of commands. Registration, COMMAND INFO, COMMAND DOCS, ACL categories and the table in
// docs/redis.md come from it.
#pragma once

#include <span>

#include "integrations/redis/api.hpp"
#include "integrations/redis/call.hpp"

namespace bloomery::redis_module {

struct command {
  const char* name;
  command_function run;
  const char* flags;  // of CreateCommand
  const char*
      categories;  // of the ACL, beside those that follow from the flags; servers from Redis 7.4 and Valkey 8 on
  int arity;       // negative: at least
  std::uint64_t key_flags;
  const char* since;  // version of RedisBloom
  const char* summary;
  const char* complexity;
  const char* tips;
  const command_argument* arguments;  // ends with one without a name
};

std::span<const command> commands() noexcept;

bool register_commands(server_context* context) noexcept;

}  // namespace bloomery::redis_module
