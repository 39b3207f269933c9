// cache_guard: what get, put and remove do to filter, cache and source, also when one of them fails.
#include <array>
#include <atomic>
#include <bloomery/guards/cache_guard.hpp>
#include <functional>
#include <map>

#include "guards/guard_support.hpp"

namespace bloomery::guard_testing {
namespace {

// Stands for a cache or a database: rows, a count of calls, and a switch that makes every call fail.
class row_store {
 public:
  using row = std::optional<int>;
  result<row> get(const std::string& key) {
    const std::lock_guard alone(lock_);
    ++gets;
    if (gone) return fail(errc::io, "the connection was lost");
    const auto found = rows.find(key);
    return found == rows.end() ? row() : row(found->second);
  }
  result<bool> put(const std::string& key, int value) {
    const std::lock_guard alone(lock_);
    ++puts;
    if (gone || puts == fail_put) return fail(errc::io, "the connection was lost");
    return rows.insert_or_assign(key, value).second;
  }
  result<bool> remove(const std::string& key) {
    const std::lock_guard alone(lock_);
    ++removals;
    if (gone) return fail(errc::io, "the connection was lost");
    return rows.erase(key) != 0;
  }
  std::map<std::string, int> rows;
  bool gone = false;
  int gets = 0;
  int puts = 0;
  int removals = 0;
  int fail_put = -1;

 private:
  std::mutex lock_;
};

using guard_of_rows = cache_guard<row_store, row_store>;
guard_of_rows made_cache_guard(row_store& cache, row_store& source, std::string_view kind = "blocked",
                               const lookup_guard_options& options = {}) {
  auto made = guard_of_rows::make(cache, source, kind, {.keys = 2000, .fpr = 0.01}, hasher{}, options);
  if (!made) ADD_FAILURE() << describe(made.error()).c_str();
  return std::move(*made);
}
int value_in(guard_of_rows& guard, const std::string& key) {
  const auto found = guard.get(key);
  EXPECT_TRUE(found) << error_of(found);
  return found && *found ? **found : -1;
}

TEST(CacheGuard, GetGoesFromFilterToCacheToSource) {
  row_store cache;
  row_store source;
  auto guard = made_cache_guard(cache, source);
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(*guard.put(key_number(static_cast<std::uint64_t>(i)), i));
  EXPECT_EQ(cache.rows, source.rows) << "put stores in both";
  cache.rows.clear();
  EXPECT_EQ(value_in(guard, key_number(5)), 5) << "a row that is not cached is found";
  EXPECT_EQ(cache.rows.size(), 1U) << "and cached";
  EXPECT_EQ(value_in(guard, key_number(5)), 5);
  EXPECT_EQ(source.gets, 1);
  cache.gets = source.gets = 0;
  for (std::uint64_t i = 0; i < 10'000; ++i) ASSERT_EQ(value_in(guard, absent_number(i)), -1);
  const cache_stats stats = guard.stats();
  EXPECT_EQ(static_cast<std::uint64_t>(source.gets), stats.lookups.false_positives);
  EXPECT_EQ(cache.gets, source.gets) << "an absent key reaches neither, but for false positives";
  EXPECT_LE(stats.lookups.fpr_at_least(), 0.01);
  EXPECT_EQ(stats.hits, 1U);
  EXPECT_EQ(stats.source_reads(), 1 + stats.lookups.false_positives);
  EXPECT_GT(stats.source_efficiency(), stats.efficiency());
}

TEST(CacheGuard, RemoveEmptiesSourceAndCacheAndTheFilterOnlyWhereItErases) {
  for (const std::string_view kind : {"blocked", "cuckoo"}) {
    row_store cache;
    row_store source;
    auto guard = made_cache_guard(cache, source, kind);
    ASSERT_TRUE(*guard.put("alice", 1));
    EXPECT_FALSE(*guard.put("alice", 2)) << "the source had her already";
    EXPECT_EQ(value_in(guard, "alice"), 2);
    EXPECT_TRUE(*guard.remove("alice"));
    EXPECT_FALSE(*guard.remove("alice"));
    EXPECT_TRUE(cache.rows.empty() && source.rows.empty());
    EXPECT_EQ(guard.lookups().may_contain("alice"), kind == "blocked") << kind;
    EXPECT_EQ(value_in(guard, "alice"), -1);
  }
}

TEST(CacheGuard, ACacheThatGoesAwayCostsReadsAndNoAnswer) {
  row_store cache;
  row_store source;
  auto guard = made_cache_guard(cache, source);
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(guard.put(key_number(static_cast<std::uint64_t>(i)), i));
  cache.gone = true;
  for (int i = 0; i < 500; ++i) EXPECT_EQ(value_in(guard, key_number(static_cast<std::uint64_t>(i))), i);
  // Written while the cache is away: it still has the old values when it is back.
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(guard.put(key_number(static_cast<std::uint64_t>(i)), i + 1000));
  EXPECT_TRUE(*guard.remove(key_number(7)));
  cache.gone = false;
  ASSERT_EQ(cache.rows.at(key_number(8)), 8) << "otherwise this proves nothing";
  for (int i = 0; i < 500; ++i) {
    EXPECT_EQ(value_in(guard, key_number(static_cast<std::uint64_t>(i))), i == 7 ? -1 : i + 1000);
  }
  EXPECT_EQ(cache.rows.at(key_number(8)), 1008) << "it took the new value";
  const int before = source.gets;
  EXPECT_EQ(value_in(guard, key_number(8)), 1008);
  EXPECT_EQ(source.gets, before) << "and is trusted again";
  EXPECT_GT(guard.stats().failed_writes, 0U);
}

TEST(CacheGuard, MoreOldKeysThanAreListedAreReadFromTheSourceUntilTheCacheWasEmptied) {
  row_store cache;
  row_store source;
  auto guard = made_cache_guard(cache, source, "growing");
  constexpr int many = 20'000;  // of 256 groups with 16 each
  for (int i = 0; i < many; ++i) ASSERT_TRUE(guard.put(key_number(static_cast<std::uint64_t>(i)), i));
  cache.gone = true;
  for (int i = 0; i < many; ++i) ASSERT_TRUE(guard.put(key_number(static_cast<std::uint64_t>(i)), -i - 10));
  cache.gone = false;
  for (int i = 0; i < many; ++i) {
    ASSERT_EQ(guard.get(key_number(static_cast<std::uint64_t>(i)))->value_or(1), -i - 10);
  }
  const std::uint64_t distrusted = guard.stats().distrusted;
  EXPECT_EQ(distrusted, static_cast<std::uint64_t>(many));
  guard.cache_was_emptied();
  EXPECT_EQ(guard.get(key_number(3))->value_or(1), -13);
  EXPECT_EQ(guard.stats().distrusted, distrusted);
}

TEST(CacheGuard, ALockedSourceIsAnErrorAndHidesNoRow) {
  row_store cache;
  row_store source;
  auto guard = made_cache_guard(cache, source, "blocked", {.report_bytes = 1U << 16U});
  ASSERT_TRUE(guard.put("alice", 1));
  cache.rows.clear();
  source.gone = true;
  const auto failed = guard.get("alice");
  ASSERT_FALSE(failed);
  EXPECT_EQ(error_of(failed), "the connection was lost");
  EXPECT_FALSE(guard.put("bob", 2));
  EXPECT_FALSE(guard.remove("alice"));
  EXPECT_TRUE(cache.rows.empty()) << "nothing that the source did not take";
  source.gone = false;
  EXPECT_EQ(value_in(guard, "alice"), 1);
  EXPECT_EQ(value_in(guard, "bob"), -1);
  EXPECT_EQ(guard.stats().failed_sources, 1U);
}

TEST(CacheGuard, APutThatFailedInTheSourceLeavesNothingOldInTheCache) {
  row_store cache;
  row_store source;
  auto guard = made_cache_guard(cache, source);
  ASSERT_TRUE(guard.put("alice", 1));
  source.fail_put = source.puts + 1;
  source.rows["alice"] = 2;  // it stored the value, and its answer was lost
  EXPECT_FALSE(guard.put("alice", 2));
  EXPECT_EQ(value_in(guard, "alice"), 2);
}

TEST(CacheGuard, AGetThatReadTheSourceBeforeAPutDoesNotOverwriteTheCacheAfterIt) {
  row_store cache;
  struct slow_source : row_store {
    guard_of_rows* writer = nullptr;
    std::function<void()> after_get;
    result<row> get(const std::string& key) {
      auto found = row_store::get(key);
      if (after_get) std::exchange(after_get, {})();
      return found;
    }
  } source;
  auto made = cache_guard<row_store, slow_source>::make(cache, source, "blocked", {.keys = 100, .fpr = 0.01}, hasher{});
  ASSERT_TRUE(made);
  ASSERT_TRUE(made->put("alice", 1));
  cache.rows.clear();
  source.after_get = [&] { ASSERT_TRUE(made->put("alice", 2)); };
  EXPECT_EQ(made->get("alice")->value_or(0), 1) << "what was there when it was read";
  EXPECT_EQ(cache.rows.at("alice"), 2);
  EXPECT_EQ(made->stats().skipped_fills, 1U);
  EXPECT_EQ(made->get("alice")->value_or(0), 2);
  cache.rows.clear();
  source.after_get = [&] { ASSERT_TRUE(*made->remove("alice")); };
  EXPECT_EQ(made->get("alice")->value_or(0), 2);
  EXPECT_TRUE(cache.rows.empty()) << "a removed row does not come back";
}

TEST(CacheGuard, ItsMetricsHaveTheCache) {
  row_store cache;
  row_store source;
  auto guard = made_cache_guard(cache, source);
  ASSERT_TRUE(guard.put("alice", 1));
  EXPECT_EQ(value_in(guard, "alice"), 1);
  metrics page;
  ASSERT_TRUE(page.add("users", guard));
  memory_sink sink;
  ASSERT_TRUE(page.render(byte_sink(sink)));
  const std::string text(reinterpret_cast<const char*>(sink.bytes().data()), sink.bytes().size());
  for (const char* line : {"bloomery_cache_reads_total{name=\"users\",answer=\"hit\"} 1\n",
                           "bloomery_cache_writes_total{name=\"users\",outcome=\"done\"} 1\n",
                           "bloomery_lookups_total{name=\"users\",answer=\"confirmed\"} 1\n",
                           "bloomery_cache_seconds_count{name=\"users\"} 1\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

// Each row's value only grows, so that a value that goes back was an old one.
TEST(CacheGuardConcurrent, NoThreadSeesAnOlderValueThanItsOwnWrite) {
  row_store cache;
  row_store source;
  auto guard = made_cache_guard(cache, source, "cuckoo");
  constexpr unsigned writers = 3;
  constexpr int rounds = 300;
  std::atomic<bool> done = false;
  std::thread cleaner([&] {  // a cache loses what it has
    while (!done) {
      for (std::uint64_t i = 0; i < writers; ++i) static_cast<void>(cache.remove(key_number(i)));
    }
  });
  std::thread reader([&] {
    std::array<int, writers> last{};
    while (!done) {
      for (std::uint64_t i = 0; i < writers; ++i) {
        const auto found = guard.get(key_number(i));
        ASSERT_TRUE(found);
        if (!*found) continue;
        static_cast<void>(guard.get(absent_number(i)));
        last[i] = **found;
      }
    }
  });
  on_threads(writers, [&](unsigned id) {
    const std::string key = key_number(id);
    for (int round = 1; round <= rounds; ++round) {
      ASSERT_TRUE(guard.put(key, round));
      const auto found = guard.get(key);
      ASSERT_TRUE(found && *found);
      ASSERT_EQ(**found, round);
      if (round % 10 == 0) {
        ASSERT_TRUE(*guard.remove(key));
        ASSERT_FALSE(*guard.get(key));
      }
    }
  });
  done = true;
  cleaner.join();
  reader.join();
  for (std::uint64_t i = 0; i < writers; ++i) EXPECT_FALSE(*guard.get(key_number(i)));
}

}  // namespace
}  // namespace bloomery::guard_testing
