// cuckoo_type.hpp: the data type `MBbloomCF`. A key of it holds a redis::cuckoo_chain and nothing else, so that a value can
// be exchanged with RedisBloom by RDB, DUMP and RESTORE in both directions.
#pragma once

#include <bloomery/compat/redis/cuckoo_chain.hpp>

#include "integrations/redis/filter_type.hpp"

namespace bloomery::redis_module {

struct cuckoo_traits {
  using chain_type = redis::cuckoo_chain;
  static constexpr const char* name = "MBbloomCF";
  static constexpr const char* title = "cuckoo filter";
  static constexpr const char* load_command = "CF.LOADCHUNK";

  static filter_counts& counts() noexcept { return counted.cuckoo; }
  static std::uint64_t header_bytes(const chain_type&) noexcept { return chain_type::header_bytes; }
  static void save(server_io* to, const chain_type& chain) noexcept;
  static result<redis::owned<chain_type>> load(server_io* from, int encoding) noexcept;
  static void add_digest(server_digest* to, const chain_type& chain) noexcept;
};
using open_cuckoo = open_filter<cuckoo_traits>;

// Whether a filter that comes from outside may have so many sub-filters. A chain of many is slow to look up, and the
// commands of this module make none that is longer than the setting. What a master sends or a file holds is taken.
bool may_load(server_context* context, std::uint64_t sub_filters) noexcept;

}  // namespace bloomery::redis_module
