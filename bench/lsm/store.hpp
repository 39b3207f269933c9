// A store of keys on disk with one kind of filter: what bench/lsm fills and asks.
//
//   none, builtin, ours, levels                     LevelDB: without, with its own policy, with ours, with ours by level
//   rocks-none, rocks-bloom, rocks-ribbon, rocks-levels   RocksDB, with its own filters
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lsm {

struct settings {
  std::string folder;      // of this store
  std::string filter;      // one of the above
  std::uint64_t keys = 0;  // that it has or will have
  bool direct = false;     // reads pass by the page cache
};

struct fill_figures {
  double wall_s = 0;
  double cpu_s = 0;         // of the process
  double filter_cpu_s = 0;  // of that, making filters; LevelDB only
  std::uint64_t filter_keys = 0;
};

struct shape {
  std::string files_of_level;  // "3 5 54 110"
  std::uint64_t table_bytes = 0;
  std::uint64_t filter_bytes = 0;
};

class store {
 public:
  store() = default;
  store(const store&) = delete;
  store& operator=(const store&) = delete;
  virtual ~store() = default;
  virtual void put(std::string_view key, std::string_view value) = 0;
  virtual bool get(std::string_view key) = 0;
  // Since it was opened: blocks read from files; looks at blocks that filters saved, and that they did not save.
  virtual std::uint64_t reads() = 0;
  virtual std::uint64_t useful() = 0;
  virtual std::uint64_t false_matches() = 0;
  // Waits until nothing is left to compact.
  virtual void settle() = 0;
  virtual shape describe() = 0;
  virtual fill_figures filter_cost() { return {}; }
};

inline constexpr std::size_t block_cache_bytes = 8 << 20;
inline constexpr double bits_per_key = 10;
inline constexpr unsigned planned_levels = 4;

// To be filled, or to be asked: then nothing is compacted any more, and the process must end without closing it. A LevelDB
// whose gets of absent keys count as seeks would change under the measurement.
std::unique_ptr<store> open_leveldb(const settings& how, bool to_fill);
std::unique_ptr<store> open_rocksdb(const settings& how, bool to_fill);
inline std::unique_ptr<store> open_store(const settings& how, bool to_fill) {
  return how.filter.starts_with("rocks-") ? open_rocksdb(how, to_fill) : open_leveldb(how, to_fill);
}

[[noreturn]] void stop(const std::string& why);

}  // namespace lsm
