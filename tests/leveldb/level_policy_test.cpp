// Bits per level: what the log of LevelDB tells, and what the plan makes of it.
#include <bloomery/compat/leveldb/windows.hpp>
#include <bloomery/leveldb/level_policy.hpp>
#include <bloomery/sizing/levels.hpp>
#include <cstdarg>
#include <cstdio>
#include <thread>

#include "database.hpp"

namespace bloomery::test {
namespace {

constexpr std::array<unsigned, leveldb::level_count> many_bits{16, 14, 12, 8, 7, 6, 5};

// As LevelDB does: a format and its numbers.
__attribute__((format(printf, 2, 3))) void write_line(::leveldb::Logger* log, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  log->Logv(format, arguments);
  va_end(arguments);
}

// The bits per key of the filters that this thread would make now.
unsigned bits_now(const ::leveldb::FilterPolicy& policy) {
  std::vector<std::string> keys;
  for (std::uint64_t i = 0; i < 35; ++i) keys.push_back(decimal_key(i));
  const std::vector<::leveldb::Slice> slices(keys.begin(), keys.end());
  std::string filter;
  policy.CreateFilter(slices.data(), static_cast<int>(slices.size()), &filter);
  return static_cast<unsigned>((filter.size() - 1) * 8 / keys.size());
}

TEST(LeveldbLevels, TheLogTellsTheThreadThatMakesTablesTheirLevel) {
  auto one = leveldb::new_level_policy({.bits = {.of_level = many_bits, .otherwise = 10}}, nullptr);
  auto other = leveldb::new_level_policy({.bits = {.of_level = many_bits, .otherwise = 9}}, nullptr);
  ::leveldb::Logger* log = one.log.get();
  EXPECT_EQ(bits_now(*one.policy), 10U);
  write_line(log, "Level-0 table #%llu: started", 7ULL);
  EXPECT_EQ(bits_now(*one.policy), 16U);
  write_line(log, "Level-0 table #%llu: %lld bytes %s", 7ULL, 1000LL, "OK");
  EXPECT_EQ(bits_now(*one.policy), 10U);
  write_line(log, "Compacting %d@%d + %d@%d files", 1, 2, 11, 3);
  EXPECT_EQ(bits_now(*one.policy), 8U);
  write_line(log, "Generated table #%llu@%d: %lld keys, %lld bytes", 8ULL, 2, 9LL, 9LL);
  EXPECT_EQ(bits_now(*one.policy), 8U);
  // A memtable is written in the middle of a compaction.
  write_line(log, "Level-0 table #%llu: started", 9ULL);
  EXPECT_EQ(bits_now(*one.policy), 16U);
  write_line(log, "Level-0 table #%llu: %lld bytes %s", 9ULL, 1000LL, "OK");
  EXPECT_EQ(bits_now(*one.policy), 8U);
  EXPECT_EQ(bits_now(*other.policy), 9U);
  std::thread([&] { EXPECT_EQ(bits_now(*one.policy), 10U); }).join();
  write_line(other.log.get(), "Compacting %d@%d + %d@%d files", 4, 0, 3, 1);
  EXPECT_EQ(bits_now(*other.policy), 14U);
  EXPECT_EQ(bits_now(*one.policy), 10U);
  write_line(log, "Compacting by another rule, to level 3");
  EXPECT_EQ(bits_now(*one.policy), 10U);
  write_line(log, "Compacting %d@%d + %d@%d files", 1, 98, 1, 99);
  EXPECT_EQ(bits_now(*one.policy), 10U);
}

TEST(LeveldbLevels, ThePlanIsThatOfTheLevelsAndReadsLessForNothing) {
  const auto bits = leveldb::plan_level_bits({.keys = 3'000'000, .bits_per_key = 10, .levels = 4});
  ASSERT_TRUE(bits);
  const auto plan = share_levels({.keys = 3'000'000,
                                  .levels = 4,
                                  .memory_bytes = 3'000'000 * 10 / 8,
                                  .solve = &plan_of_whole_bits,
                                  .whole_bits = true});
  ASSERT_TRUE(plan);
  for (std::size_t level = 0; level < 4; ++level) {
    EXPECT_EQ(bits->of_level[level], static_cast<unsigned>(plan->shared()[level].bits_per_key));
    EXPECT_GE(bits->of_level[level], bits->of_level[level + 1]);
  }
  EXPECT_EQ(bits->of_level[6], bits->of_level[3]);
  EXPECT_EQ(bits->otherwise, bits->of_level[3]);
  EXPECT_LT(plan->false_reads, 0.7 * 4 / 1024);
  EXPECT_FALSE(leveldb::plan_level_bits({.keys = 3'000'000, .levels = 8}));
  EXPECT_FALSE(leveldb::plan_level_bits({.keys = 0}));
  EXPECT_FALSE(leveldb::plan_level_bits({.keys = 3, .levels = 4}));
}

class counting_log final : public ::leveldb::Logger {
 public:
  explicit counting_log(int& lines) : lines_(lines) {}
  void Logv(const char* format, std::va_list arguments) override {
    char text[200];
    ASSERT_GT(std::vsnprintf(text, sizeof text, format, arguments), 0);
    ++lines_;
  }

 private:
  int& lines_;
};

TEST(LeveldbLevels, TablesOfADatabaseHaveTheBitsOfTheLevelTheyWereMadeFor) {
  const folder box;
  int lines = 0;
  auto by_level = leveldb::new_level_policy({.bits = {.of_level = many_bits, .otherwise = 3}}, new counting_log(lines));
  database db(box / "db");
  db.options.info_log = by_level.log.get();
  // The widest filter of a table: some have a bit less.
  const auto bits_of = [](const std::string& table) {
    const auto [offset, size] = filter_block(table, std::string(leveldb::builtin_policy_name));
    unsigned widest = 0;
    for (const unsigned code : filter_codes(table, std::string(leveldb::builtin_policy_name))) {
      widest = std::max(widest, 3 + (code - leveldb::first_window_code) / leveldb::window_seeds);
    }
    EXPECT_GT(size, 0U);
    return widest;
  };
  db.open(by_level.policy.get());
  for (std::uint64_t round = 0; round < 2; ++round) {
    for (std::uint64_t i = 0; i < 2000; ++i) db.put(decimal_key(i), value_for(decimal_key(i)));
    db.compact();
  }
  std::string levels;
  unsigned deepest = 0;
  for (unsigned level = 1; level < leveldb::level_count; ++level) {
    ASSERT_TRUE(db->GetProperty("leveldb.num-files-at-level" + std::to_string(level), &levels));
    if (levels != "0") deepest = level;
  }
  ASSERT_GT(deepest, 0U);
  const auto compacted = db.tables();
  for (const auto& [path, table] : compacted) EXPECT_EQ(bits_of(table), many_bits[deepest]) << path;
  for (std::uint64_t i = 0; i < 300; ++i) db.put(decimal_key(i), value_for("new"));
  db.open(by_level.policy.get());  // the log becomes a table of level 0, in this thread
  std::size_t recovered = 0;
  for (const auto& [path, table] : db.tables()) {
    if (compacted.count(path) != 0) continue;
    EXPECT_EQ(bits_of(table), many_bits[0]) << path;
    ++recovered;
  }
  EXPECT_EQ(recovered, 1U);
  for (std::uint64_t i = 0; i < 2500; ++i) {
    ASSERT_EQ(db.value_of(decimal_key(i)), i < 300 ? value_for("new") : i < 2000 ? value_for(decimal_key(i)) : "-");
  }
  db.close();
  EXPECT_GT(lines, 10);
}

}  // namespace
}  // namespace bloomery::test
