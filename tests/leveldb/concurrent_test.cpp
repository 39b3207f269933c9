// Under ThreadSanitizer, too: LevelDB makes filters in its own thread while others get.
#include <atomic>
#include <bloomery/leveldb/counted.hpp>
#include <thread>

#include "database.hpp"

// LevelDB itself is not instrumented: ThreadSanitizer sees what it copies and compares in its memtable, and not the atomics that
// order it. Reads and writes of the policies, which are compiled here, are checked.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() { return "race_top:memcmp\nrace_top:memcpy\nrace_top:memmove\n"; }
#endif
#endif

namespace bloomery::test {
namespace {

TEST(LeveldbConcurrent, GetsDuringWritesAndCompactionsMissNoKeyThatWasThere) {
  const folder box;
  const auto policy = leveldb::new_filter_policy();
  const auto counting = leveldb::new_counting_policy(policy.get());
  database db(box / "db");
  db.open(counting.get());
  leveldb::counted_db counted(db.get());
  constexpr std::uint64_t count = 4000;
  std::atomic<std::uint64_t> written{0};
  std::atomic<std::uint64_t> wrong{0};
  const auto reader = [&](std::uint64_t seed) {
    std::string value;
    for (std::uint64_t i = seed, now = 0; now < count; ++i) {
      now = written.load(std::memory_order_acquire);
      const std::uint64_t which = now == 0 ? 0 : i * 7919 % now;
      const std::string key = decimal_key(2 * which);
      const bool found = counted.get({}, key, &value).ok();
      if (now != 0 && (!found || value != value_for(key))) wrong.fetch_add(1);
      if (!counted.get({}, decimal_key(2 * which + 1), &value).IsNotFound()) wrong.fetch_add(1);
    }
  };
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < 3; ++i) threads.emplace_back(reader, i);
  for (std::uint64_t i = 0; i < count; ++i) {
    db.put(decimal_key(2 * i), value_for(decimal_key(2 * i)));
    written.store(i + 1, std::memory_order_release);
    if (i == count / 2) db.compact();
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0U);
  const auto counts = counted.counts();
  EXPECT_GT(counts.useful, 0U);
  EXPECT_EQ(counts.gets % 2, 0U);
}

TEST(LeveldbConcurrent, OnePolicyMakesFiltersForSeveralDatabasesAtATime) {
  const folder box;
  const auto policy = leveldb::new_filter_policy({.bits_per_key = 12});
  std::atomic<std::uint64_t> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      database db(box / std::to_string(i));
      db.open(policy.get());
      for (std::uint64_t k = 0; k < 1000; ++k) db.put(decimal_key(k * 3), value_for(decimal_key(k * 3)));
      db.open(policy.get());  // recovers the log: filters made in this thread
      for (std::uint64_t k = 0; k < 3000; ++k) {
        const bool found = db.value_of(decimal_key(k)) != "-";
        if (found != (k % 3 == 0)) wrong.fetch_add(1);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0U);
}

}  // namespace
}  // namespace bloomery::test
