// module.cpp: what the server calls when it loads the module.
#include "integrations/redis/api.hpp"
#include "integrations/redis/commands.hpp"
#include "integrations/redis/config.hpp"
#include "integrations/redis/counters.hpp"
#include "integrations/redis/memory.hpp"
#include "integrations/redis/types.hpp"

namespace {

// RedisBloom's name, so that clients which look for it find it, and the version of RedisBloom whose commands these are. Our
// own version is in INFO.
constexpr const char* module_name = "bf";
constexpr int compatible_version = 80000;

}  // namespace

// The server looks for this name. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" __attribute__((visibility("default"))) int RedisModule_OnLoad(
    bloomery::redis_module::server_context* context, bloomery::redis_module::server_string** arguments, int count) {
  using namespace bloomery::redis_module;
  const char* const missing = bind(context);
  if (missing != nullptr) {
    if (server.log != nullptr) server.log(context, "warning", "bloomery needs Redis 7.0: there is no %s", missing);
    return error;
  }
  if (server.is_module_name_busy(module_name) != 0) return error;
  server.set_module_attributes(context, module_name, compatible_version, api_version);
  server.set_module_options(context, handles_io_errors | handles_async_load);
  prepare_memory();
  const bool registered = filter_type<bloom_traits>::create(context) && filter_type<cuckoo_traits>::create(context) &&
                          register_commands(context) && register_info(context) == ok &&
                          register_config(context, {arguments, static_cast<std::size_t>(count)});
  return registered ? ok : error;
}
