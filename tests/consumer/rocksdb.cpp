// A policy for the tables of RocksDB.
#include <bloomery/rocksdb/level_policy.hpp>

int main() {
  const auto filters = bloomery::rocksdb::plan_level_filters({.keys = 1'000'000});
  return filters && bloomery::rocksdb::new_level_policy(*filters) ? 0 : 1;
}
