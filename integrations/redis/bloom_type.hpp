// bloom_type.hpp: the data type `MBbloom--`. A key of it holds a redis::bloom_chain and nothing else, so that a value can
// be exchanged with RedisBloom by RDB, DUMP and RESTORE in both directions.
#pragma once

#include <bloomery/compat/redis/bloom_chain.hpp>

#include "integrations/redis/api.hpp"

namespace bloomery::redis_module {

bool register_bloom_type(server_context* context) noexcept;

// A key that is open, and what it holds.
class open_bloom {
 public:
  open_bloom(server_context* context, server_string* name, int mode) noexcept;
  ~open_bloom();
  open_bloom(const open_bloom&) = delete;
  open_bloom& operator=(const open_bloom&) = delete;

  // nullptr: there is no key, or one of another type.
  [[nodiscard]] redis::bloom_chain* chain() const noexcept { return chain_; }
  [[nodiscard]] bool has_other_type() const noexcept { return has_other_type_; }
  // There was no key.
  void set(redis::owned<redis::bloom_chain> chain) noexcept;

 private:
  server_key* key_;
  redis::bloom_chain* chain_ = nullptr;
  bool has_other_type_ = false;
};

}  // namespace bloomery::redis_module
