// types.hpp: the data types `MBbloom--` and `MBbloomCF`. A key of one holds a redis::bloom_chain, of the other a
// redis::cuckoo_chain, and nothing else, so that a value can be exchanged with RedisBloom by RDB, DUMP and RESTORE in both
// directions. What all types share is in filter_type.hpp.
#pragma once

#include <bloomery/compat/redis/bloom_chain.hpp>
#include <bloomery/compat/redis/cuckoo_chain.hpp>

#include "integrations/redis/config.hpp"
#include "integrations/redis/filter_type.hpp"

namespace bloomery::redis_module {

struct bloom_traits {
  using chain_type = redis::bloom_chain;
  static constexpr const char* name = "MBbloom--";
  static constexpr const char* title = "Bloom filter";
  static constexpr const char* load_command = "BF.LOADCHUNK";
  // What those hear who listen to events of keys.
  static constexpr const char* event_reserve = "bloom.reserve";
  static constexpr const char* event_add = "bloom.add";
  static constexpr const char* event_load = "bloom.load";

  static filter_counts& counts() noexcept { return counted.bloom; }
  static std::uint64_t header_bytes(const chain_type& chain) noexcept { return chain.header_bytes(); }
  static void save(server_io* to, const chain_type& chain) noexcept;
  static result<redis::owned<chain_type>> load(server_io* from, int encoding) noexcept;
  static void add_digest(server_digest* to, const chain_type& chain) noexcept;
  // Bits that an item needs to be looked at, at most.
  static constexpr std::uint64_t most_work_per_sub_filter = redis::max_bloom_hashes;
  static std::uint64_t work_per_item(const chain_type& chain) noexcept;
};
using open_bloom = open_filter<bloom_traits>;

struct cuckoo_traits {
  using chain_type = redis::cuckoo_chain;
  static constexpr const char* name = "MBbloomCF";
  static constexpr const char* title = "cuckoo filter";
  static constexpr const char* load_command = "CF.LOADCHUNK";
  static constexpr const char* event_reserve = "cuckoo.reserve";
  static constexpr const char* event_add = "cuckoo.add";
  static constexpr const char* event_del = "cuckoo.del";
  static constexpr const char* event_compact = "cuckoo.compact";
  static constexpr const char* event_load = "cuckoo.load";

  static filter_counts& counts() noexcept { return counted.cuckoo; }
  static std::uint64_t header_bytes(const chain_type&) noexcept { return chain_type::header_bytes; }
  static void save(server_io* to, const chain_type& chain) noexcept;
  static result<redis::owned<chain_type>> load(server_io* from, int encoding) noexcept;
  static void add_digest(server_digest* to, const chain_type& chain) noexcept;
  // Slots that an item needs to be looked at.
  static constexpr std::uint64_t most_work_per_sub_filter = 2 * static_cast<std::uint64_t>(max_slots);
  static std::uint64_t work_per_item(const chain_type& chain) noexcept {
    return 2 * chain.head().slots * chain.sub_filters();
  }
};
using open_cuckoo = open_filter<cuckoo_traits>;

// Whether a cuckoo filter that comes from outside may have so many sub-filters. A chain of many is slow to look up, and the
// commands of this module make none that is longer than the setting. What a master sends or a file holds is taken.
bool may_load(server_context* context, std::uint64_t sub_filters) noexcept;

}  // namespace bloomery::redis_module
