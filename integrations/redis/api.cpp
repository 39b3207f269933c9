#include "integrations/redis/api.hpp"

namespace bloomery::redis_module {

server_functions server;
bool is_valkey = false;

const char* bind(server_context* context) noexcept {
  // The first word of a context is the function that finds the others.
  using finder = int (*)(const char* name, void* address);
  const auto find = *reinterpret_cast<const finder*>(context);
  const char* missing = nullptr;
#define BLOOMERY_SERVER_BIND(needed, member, name, ...) \
  if (find("RedisModule_" name, static_cast<void*>(&server.member)) != ok && (needed)) missing = name;
  BLOOMERY_SERVER_FUNCTIONS(BLOOMERY_SERVER_BIND)
#undef BLOOMERY_SERVER_BIND
  // It has every function by two names.
  void* own = nullptr;
  is_valkey = find("ValkeyModule_Log", static_cast<void*>(&own)) == ok;
  return missing;
}

}  // namespace bloomery::redis_module
