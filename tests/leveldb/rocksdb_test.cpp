// Policies inside a real RocksDB: which of its own filters a table has depends on its level.
#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/metadata.h>
#include <rocksdb/table.h>

#include <bloomery/rocksdb/level_policy.hpp>

#include "support/files.hpp"

namespace bloomery::test {
namespace {

std::string numbered(std::uint64_t i) {
  std::string digits = std::to_string(i);
  return std::string(16 - digits.size(), '0') + digits;
}

class rocks {
 public:
  rocks(const std::string& path, std::shared_ptr<const ::rocksdb::FilterPolicy> policy) {
    options.create_if_missing = true;
    options.compression = ::rocksdb::kNoCompression;
    options.disable_auto_compactions = true;
    options.num_levels = 4;
    ::rocksdb::BlockBasedTableOptions table;
    table.filter_policy = std::move(policy);
    options.table_factory.reset(::rocksdb::NewBlockBasedTableFactory(table));
    ::rocksdb::DB* opened = nullptr;
    const auto status = ::rocksdb::DB::Open(options, path, &opened);
    EXPECT_TRUE(status.ok()) << status.ToString();
    db_.reset(opened);
  }
  ::rocksdb::DB* operator->() const { return db_.get(); }

  void put(std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t i = from; i < to; ++i) ASSERT_TRUE(db_->Put({}, numbered(2 * i), "value").ok());
    ASSERT_TRUE(db_->Flush({}).ok());
  }
  void compact_to(int level) {
    ::rocksdb::CompactRangeOptions how;
    how.change_level = true;
    how.target_level = level;
    how.bottommost_level_compaction = ::rocksdb::BottommostLevelCompaction::kForce;
    ASSERT_TRUE(db_->CompactRange(how, nullptr, nullptr).ok());
  }
  void expect_even(std::uint64_t count) {
    std::string value;
    for (std::uint64_t i = 0; i < 2 * count; ++i) ASSERT_EQ(db_->Get({}, numbered(i), &value).ok(), i % 2 == 0) << i;
  }
  // Bits per key of all filters.
  [[nodiscard]] double filter_bits() const {
    ::rocksdb::TablePropertiesCollection all;
    EXPECT_TRUE(db_->GetPropertiesOfAllTables(&all).ok());
    double bytes = 0, keys = 0;
    for (const auto& [name, table] : all) {
      bytes += static_cast<double>(table->filter_size);
      keys += static_cast<double>(table->num_entries);
    }
    return bytes * 8 / keys;
  }

  ::rocksdb::Options options;

 private:
  std::unique_ptr<::rocksdb::DB> db_;
};

TEST(RocksdbLevels, FlushedTablesHaveBloomFiltersAndCompactedOnesRibbonWithTheBitsOfTheirLevel) {
  const folder box;
  rocksdb::level_filters filters;
  filters.of_level[0] = {.bits_per_key = 16, .ribbon = false};
  for (std::size_t level = 1; level < filters.of_level.size(); ++level)
    filters.of_level[level] = {.bits_per_key = 10, .ribbon = true};
  rocks db(box / "db", rocksdb::new_level_policy(filters));
  db.put(0, 20000);
  EXPECT_NEAR(db.filter_bits(), 16, 0.5);
  db.expect_even(20000);
  db.compact_to(3);
  EXPECT_NEAR(db.filter_bits(), 7, 0.6);  // Ribbon: 30 % less than a Bloom filter of 10 bits
  db.expect_even(20000);
}

TEST(RocksdbLevels, ALevelWithoutBitsHasNoFilterAndDatabasesChangePolicyAsTheyAre) {
  const folder box;
  const std::shared_ptr<const ::rocksdb::FilterPolicy> builtin(::rocksdb::NewBloomFilterPolicy(10));
  rocksdb::level_filters none;
  for (auto& filter : none.of_level) filter.bits_per_key = 0;
  {
    rocks db(box / "db", builtin);
    db.put(0, 5000);
    db.expect_even(5000);
  }
  {
    rocks db(box / "db", rocksdb::new_level_policy({}));
    EXPECT_NEAR(db.filter_bits(), 10, 0.5);
    db.expect_even(5000);
    db.put(5000, 10000);
    db.expect_even(10000);
  }
  {
    rocks db(box / "db", rocksdb::new_level_policy(none));
    db.expect_even(10000);
    db.compact_to(2);
    EXPECT_EQ(db.filter_bits(), 0);
    db.expect_even(10000);
  }
  rocks db(box / "db", builtin);
  db.expect_even(10000);
}

TEST(RocksdbLevels, ThePlanGivesSmallLevelsMoreBitsAndDeepOnesRibbon) {
  const auto filters =
      rocksdb::plan_level_filters({.keys = 100'000'000, .bits_per_key = 10, .levels = 5, .ribbon_from = 2});
  ASSERT_TRUE(filters);
  for (std::size_t level = 0; level + 1 < 5; ++level) {
    EXPECT_GT(filters->of_level[level].bits_per_key, filters->of_level[level + 1].bits_per_key);
    EXPECT_EQ(filters->of_level[level].ribbon, level >= 2);
  }
  EXPECT_LT(filters->of_level[4].bits_per_key, 10);
  EXPECT_EQ(filters->of_level[15].bits_per_key, filters->of_level[4].bits_per_key);
  EXPECT_FALSE(rocksdb::plan_level_filters({.keys = 100, .levels = 17}));
  EXPECT_FALSE(rocksdb::plan_level_filters({.keys = 0}));
}

}  // namespace
}  // namespace bloomery::test
