// config.hpp: what a user can set, by load arguments, in the server's configuration file and by CONFIG SET. Names are
// those of RedisBloom; before Redis 8.0 a server puts the module's name in front of them: bf.bf-error-rate.
#pragma once

#include <cstdint>
#include <span>

#include "integrations/redis/api.hpp"

namespace bloomery::redis_module {

inline constexpr double max_error_rate = 0.25;  // what is above is this
inline constexpr std::uint64_t max_capacity = std::uint64_t{1} << 30U;
inline constexpr std::uint64_t max_expansion = 32768;
inline constexpr long long max_slots = 255;
inline constexpr long long max_moves = 65535;

struct settings {
  // Of filters that BF.ADD, BF.MADD and BF.INSERT make, where these do not say.
  double error_rate = 0.01;
  std::uint64_t capacity = 100;
  std::uint64_t expansion = 2;  // 0: a filter that does not scale
  // Of cuckoo filters.
  std::uint64_t cuckoo_slots = 2;  // a bucket
  std::uint64_t cuckoo_capacity = 1024;
  std::uint64_t cuckoo_moves = 20;
  std::uint64_t cuckoo_expansion = 1;     // 0: a filter that does not grow
  std::uint64_t cuckoo_sub_filters = 32;  // a filter does not grow beyond so many
  // Of one filter; 0: no limit.
  std::uint64_t memory_limit_bytes = 0;
  // Bits, or slots of cuckoo filters, that one command may need to look at; 0: no limit.
  std::uint64_t work_limit = 0;
};
extern settings configured;

// Registers and loads all of them. `arguments` are those of the module: pairs of a name and a value, which replace the
// defaults. False: an argument is wrong, and the log says which.
bool register_config(server_context* context, std::span<server_string* const> arguments) noexcept;

}  // namespace bloomery::redis_module
