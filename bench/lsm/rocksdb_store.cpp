#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/perf_context.h>
#include <rocksdb/perf_level.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>

#include <bloomery/rocksdb/level_policy.hpp>
#include <chrono>
#include <thread>

#include "bench/lsm/store.hpp"

namespace lsm {
namespace {

// Sizes as LevelDB's defaults, so that the levels are as large; filters and index blocks stay in memory with their tables, as there.
class rocksdb_store final : public store {
 public:
  rocksdb_store(const settings& how, bool to_fill) {
    rocksdb::Options options;
    options.create_if_missing = to_fill;
    options.compression = rocksdb::kNoCompression;
    options.write_buffer_size = 4 << 20;
    options.target_file_size_base = 2 << 20;
    options.max_bytes_for_level_base = 10 << 20;
    options.max_open_files = -1;
    options.max_background_jobs = 1;
    options.use_direct_reads = how.direct;
    options.disable_auto_compactions = !to_fill;
    options.statistics = rocksdb::CreateDBStatistics();
    options.statistics->set_stats_level(rocksdb::StatsLevel::kExceptTimers);
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = rocksdb::NewLRUCache(block_cache_bytes);
    table.filter_policy = policy_of(how);
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    statistics_ = options.statistics;
    rocksdb::DB* opened = nullptr;
    const auto status = rocksdb::DB::Open(options, how.folder, &opened);
    if (!status.ok()) stop(status.ToString());
    db_.reset(opened);
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
    rocksdb::get_perf_context()->Reset();
  }

  void put(std::string_view key, std::string_view value) override {
    const auto status =
        db_->Put({}, rocksdb::Slice(key.data(), key.size()), rocksdb::Slice(value.data(), value.size()));
    if (!status.ok()) stop(status.ToString());
  }
  bool get(std::string_view key) override {
    const auto status = db_->Get({}, rocksdb::Slice(key.data(), key.size()), &value_);
    if (!status.ok() && !status.IsNotFound()) stop(status.ToString());
    return status.ok();
  }
  std::uint64_t reads() override { return rocksdb::get_perf_context()->block_read_count; }
  std::uint64_t useful() override { return statistics_->getTickerCount(rocksdb::BLOOM_FILTER_USEFUL); }
  std::uint64_t false_matches() override {
    return statistics_->getTickerCount(rocksdb::BLOOM_FILTER_FULL_POSITIVE) -
           statistics_->getTickerCount(rocksdb::BLOOM_FILTER_FULL_TRUE_POSITIVE);
  }

  void settle() override {
    if (const auto status = db_->Flush({}); !status.ok()) stop(status.ToString());
    for (int quiet = 0; quiet < 6;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(250));
      std::uint64_t busy = 0;
      for (const char* what : {"rocksdb.num-running-compactions", "rocksdb.compaction-pending",
                               "rocksdb.num-running-flushes", "rocksdb.mem-table-flush-pending"}) {
        std::uint64_t count = 0;
        busy += db_->GetIntProperty(what, &count) ? count : 1;
      }
      quiet = busy == 0 ? quiet + 1 : 0;
    }
  }
  shape describe() override {
    shape out;
    std::string count;
    for (int level = 0; level < db_->NumberLevels(); ++level) {
      if (!db_->GetProperty("rocksdb.num-files-at-level" + std::to_string(level), &count)) break;
      out.files_of_level += (level == 0 ? "" : " ") + count;
    }
    while (out.files_of_level.ends_with(" 0")) out.files_of_level.resize(out.files_of_level.size() - 2);
    rocksdb::TablePropertiesCollection all;
    if (const auto status = db_->GetPropertiesOfAllTables(&all); !status.ok()) stop(status.ToString());
    for (const auto& [name, table] : all) {
      out.filter_bytes += table->filter_size;
      out.table_bytes += table->data_size + table->index_size + table->filter_size;
    }
    return out;
  }

 private:
  static std::shared_ptr<const rocksdb::FilterPolicy> policy_of(const settings& how) {
    if (how.filter == "rocks-none") return nullptr;
    if (how.filter == "rocks-bloom") {
      return std::shared_ptr<const rocksdb::FilterPolicy>(rocksdb::NewBloomFilterPolicy(bits_per_key));
    }
    if (how.filter == "rocks-ribbon") {
      return std::shared_ptr<const rocksdb::FilterPolicy>(rocksdb::NewRibbonFilterPolicy(bits_per_key));
    }
    if (how.filter != "rocks-levels") stop("there is no filter " + how.filter);
    const auto filters = bloomery::rocksdb::plan_level_filters(
        {.keys = how.keys, .bits_per_key = bits_per_key, .levels = planned_levels});
    if (!filters) stop("no plan for so many keys");
    return bloomery::rocksdb::new_level_policy(*filters);
  }

  std::shared_ptr<rocksdb::Statistics> statistics_;
  std::unique_ptr<rocksdb::DB> db_;
  std::string value_;
};

}  // namespace

std::unique_ptr<store> open_rocksdb(const settings& how, bool to_fill) {
  return std::make_unique<rocksdb_store>(how, to_fill);
}

}  // namespace lsm
