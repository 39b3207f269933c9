// bloom_type.hpp: the data type `MBbloom--`. A key of it holds a redis::bloom_chain and nothing else, so that a value can
// be exchanged with RedisBloom by RDB, DUMP and RESTORE in both directions.
#pragma once

#include <bloomery/compat/redis/bloom_chain.hpp>

#include "integrations/redis/filter_type.hpp"

namespace bloomery::redis_module {

struct bloom_traits {
  using chain_type = redis::bloom_chain;
  static constexpr const char* name = "MBbloom--";
  static constexpr const char* title = "Bloom filter";
  static constexpr const char* load_command = "BF.LOADCHUNK";

  static filter_counts& counts() noexcept { return counted.bloom; }
  static std::uint64_t header_bytes(const chain_type& chain) noexcept { return chain.header_bytes(); }
  static void save(server_io* to, const chain_type& chain) noexcept;
  static result<redis::owned<chain_type>> load(server_io* from, int encoding) noexcept;
  static void add_digest(server_digest* to, const chain_type& chain) noexcept;
};
using open_bloom = open_filter<bloom_traits>;

}  // namespace bloomery::redis_module
