// Against cache penetration: a filter in front of a cache in front of a database. A flood of keys that do not exist, rows that are
// not cached yet, and a cache that goes away in the middle. See README.md.
#include <bloomery/guards/cache_guard.hpp>
#include <chrono>

#include "examples/common/redis.hpp"
#include "examples/common/sqlite.hpp"

using namespace examples;

namespace {

using text = std::optional<std::string>;

// What cache_guard needs of a cache: three functions. Entries live for ten minutes.
class redis_cache {
 public:
  explicit redis_cache(redis& server) : server_(server) {}
  bloomery::result<text> get(const std::string& key) {
    auto got = server_({"GET", "user:" + key});
    if (!got) return bloomery::fail(got.error());
    return std::move(got->text);
  }
  bloomery::result<void> put(const std::string& key, const std::string& value) {
    return done(server_({"SET", "user:" + key, value, "EX", "600"}));
  }
  bloomery::result<void> remove(const std::string& key) { return done(server_({"DEL", "user:" + key})); }

 private:
  static bloomery::result<void> done(const bloomery::result<redis::reply>& got) {
    if (!got) return bloomery::fail(got.error());
    return {};
  }
  redis& server_;
};

// And of a database.
class users_table {
 public:
  explicit users_table(sqlite& db) : db_(db) {}
  bloomery::result<text> get(const std::string& key) {
    return db_.first("SELECT data FROM users WHERE name = $1", {key});
  }
  bloomery::result<bool> put(const std::string& key, const std::string& value) {
    return changed(db_.run("INSERT INTO users VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET data = excluded.data",
                           {key, value}));
  }
  bloomery::result<bool> remove(const std::string& key) {
    return changed(db_.run("DELETE FROM users WHERE name = $1", {key}));
  }
  bloomery::result<void> all(bloomery::guard_sink& sink) { return db_.each("SELECT name FROM users", {}, sink); }

 private:
  static bloomery::result<bool> changed(const bloomery::result<std::uint64_t>& rows) {
    if (!rows) return bloomery::fail(rows.error());
    return *rows != 0;
  }
  sqlite& db_;
};

using guard_of_users = bloomery::cache_guard<redis_cache, users_table>;

std::string user(std::uint64_t number) { return "user" + std::to_string(number); }
std::string data_of(const std::string& name) { return "data of " + name; }

// What a run of look-ups has cost.
struct cost {
  const redis& server;
  const sqlite& db;
  std::uint64_t commands = server.commands();
  std::uint64_t statements = db.statements();
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();

  void print(const char* what, std::uint64_t lookups) const {
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - started;
    std::printf("  %-10s %s look-ups: %s in the cache, %s in the database, %.1f us each\n", what,
                grouped(lookups).c_str(), grouped(server.commands() - commands).c_str(),
                grouped(db.statements() - statements).c_str(), took.count() / static_cast<double>(lookups));
  }
};

bool has(const bloomery::result<text>& found, const std::string& name) {
  return found && *found && **found == data_of(name);
}

// Keys that do not exist: without the filter each of them is looked up in the cache and in the database.
void flood(guard_of_users& users, redis_cache& cache, users_table& table, const redis& server, const sqlite& db,
           std::uint64_t lookups) {
  std::printf("flood        of keys that do not exist\n");
  const cost plain{server, db};
  for (std::uint64_t i = 0; i < lookups / 10; ++i) {
    const std::string name = "nobody" + std::to_string(i);
    if (must(cache.get(name)) || must(table.get(name))) stop("somebody");
  }
  plain.print("plain", lookups / 10);
  const cost guarded{server, db};
  for (std::uint64_t i = 0; i < lookups; ++i) {
    if (must(users.get("nobody" + std::to_string(i)))) stop("somebody");
  }
  guarded.print("guarded", lookups);
  const bloomery::lookup_stats stats = users.stats().lookups;
  std::printf("  saved      %s of the useless look-ups (usual claim: 50 to 80 %%)\n",
              percent(stats.saved, stats.absent()).c_str());
}

void reads_and_writes(guard_of_users& users, const redis& server, const sqlite& db, std::uint64_t rows) {
  const std::string name = user(rows - 1);
  const cost cold{server, db};
  const bool first = has(users.get(name), name);
  const std::uint64_t statements = db.statements() - cold.statements;
  const bool second = has(users.get(name), name);
  std::printf("cold row     a row that is not cached yet: %s, with %s statement; again: %s, with %s\n",
              first ? "found" : "MISSED", grouped(statements).c_str(), second ? "found" : "MISSED",
              grouped(db.statements() - cold.statements - statements).c_str());

  // Half of the look-ups are for absent keys, half for 2,000 of the rows.
  const bloomery::cache_stats before = users.stats();
  const cost mixed{server, db};
  random_numbers random(1);
  for (int i = 0; i < 20'000; ++i) {
    const bool there = random.below(2) == 0;
    const std::string wanted = user(random.below(2'000) + (there ? 0 : rows));
    if (has(users.get(wanted), wanted) != there) stop("a wrong answer: " + wanted);
  }
  std::printf("mixed        half of the keys do not exist, half are hot\n");
  mixed.print("guarded", 20'000);
  const bloomery::cache_stats after = users.stats();
  const std::uint64_t hits = after.hits - before.hits;
  std::printf("  hit rate   %s of the look-ups in the cache\n",
              percent(hits, hits + after.misses - before.misses).c_str());

  must(users.put("alice", data_of("alice")));
  const bool inserted = has(users.get("alice"), "alice");
  must(users.remove("alice"));
  const auto removed = users.get("alice");
  std::printf("writes       alice is put: %s; removed: %s\n", inserted ? "found" : "MISSED",
              removed && !*removed ? "absent" : "THERE");
}

// The database decides while Redis is away, and what was changed meanwhile is not read from what Redis still has.
void without_cache(guard_of_users& users, redis& server) {
  static_cast<void>(server({"SHUTDOWN", "NOSAVE"}));
  std::uint64_t found = 0;
  std::uint64_t absent = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const auto nobody = users.get("nobody" + std::to_string(i));
    found += has(users.get(user(i)), user(i)) ? 1U : 0U;
    absent += nobody && !*nobody ? 1U : 0U;
  }
  const auto stored = users.put("bob", data_of("bob"));
  std::printf("Redis ends   of 1,000 rows %s are found, of 1,000 absent keys %s are absent; bob is put: %s\n",
              grouped(found).c_str(), grouped(absent).c_str(),
              stored && has(users.get("bob"), "bob") ? "found" : "MISSED");
}

// Nobody has the answer to a key that may be there: an error.
void without_both(guard_of_users& users, const std::string& path) {
  sqlite another(path);
  for (const char* each : sqlite::lock_everything) must(another.run(each));
  const auto found = users.get("bob");
  const auto nobody = users.get("nobody");
  std::printf("locked       bob: %s; nobody: %s\n", found ? "ANSWERED" : bloomery::describe(found.error()).c_str(),
              nobody && !*nobody ? "absent" : "NOT KNOWN");
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char* const> arguments(argv, static_cast<std::size_t>(argc));
  const std::uint64_t rows = std::max<std::uint64_t>(option(arguments, "--rows", 20'000), 10'000);
  const std::string path = text_option(arguments, "--folder", ".") + "/users.db";
  const char* socket = std::getenv("REDIS_SOCKET");
  if (socket == nullptr) stop("REDIS_SOCKET names no server: start this program with examples/run cache-guard");
  redis server{socket};
  must(server({"PING"}));

  sqlite db(path);
  must(db.run("DROP TABLE IF EXISTS users"));
  must(db.run("CREATE TABLE users (name TEXT PRIMARY KEY, data TEXT NOT NULL)"));
  must(db.run("BEGIN"));
  for (std::uint64_t i = 0; i < rows; ++i)
    must(db.run("INSERT INTO users VALUES ($1, $2)", {user(i), data_of(user(i))}));
  must(db.run("COMMIT"));

  redis_cache cache(server);
  users_table table(db);
  // For a quarter more rows than there are: others will come.
  guard_of_users users = must(guard_of_users::make(cache, table, "blocked", {.keys = rows + rows / 4, .fpr = 0.01},
                                                   bloomery::hasher{}, {.start = bloomery::guard_start::unloaded}));
  const auto keys = [&](bloomery::guard_sink& sink) { return table.all(sink); };
  must(users.lookups().rebuild(keys));
  const std::uint64_t bytes =
      users.lookups().with_filter([](const bloomery::any_filter& filter) { return filter.allocated_bytes(); });
  std::printf("database     %s rows; filter at 1 %%: %s KiB; the cache is empty\n", grouped(rows).c_str(),
              grouped(bytes / 1024).c_str());

  flood(users, cache, table, server, db, option(arguments, "--flood", 100'000));
  reads_and_writes(users, server, db, rows);
  without_cache(users, server);
  without_both(users, path);
}
