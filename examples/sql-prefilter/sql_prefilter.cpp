// A filter in front of an SQL table: built from the table's keys, "absent" needs no statement. What each writer must do, and what
// happens when one does not. See README.md.
#include <bloomery/guards/lookup_guard.hpp>
#include <chrono>
#include <functional>

#include "examples/common/postgres.hpp"
#include "examples/common/sqlite.hpp"

using namespace examples;

namespace {

constexpr const char* select_points = "SELECT points FROM users WHERE name = $1";
constexpr const char* insert_user = "INSERT INTO users VALUES ($1, $2) ON CONFLICT DO NOTHING";

std::string user(std::uint64_t number) { return "user" + std::to_string(number); }

template <class Database>
void fill(Database& db, std::uint64_t rows) {
  must(db.run("DROP TABLE IF EXISTS users"));
  must(db.run("CREATE TABLE users (name TEXT PRIMARY KEY, points INTEGER NOT NULL)"));
  must(db.run("BEGIN"));
  for (std::uint64_t i = 0; i < rows; ++i) must(db.run(insert_user, {user(i), std::to_string(i)}));
  must(db.run("COMMIT"));
}

// The table behind its filter.
template <class Database>
class users_table {
 public:
  explicit users_table(Database& db)
      : db_(db),
        keys_([this](bloomery::guard_sink& sink) { return db_.each("SELECT name FROM users", {}, sink); }),
        guard_(must(bloomery::lookup_guard::make("blocked", {.keys = count(), .fpr = 0.05}, bloomery::hasher{},
                                                 {.start = bloomery::guard_start::unloaded}))) {
    rebuild();
  }

  bloomery::result<std::optional<std::string>> points(const std::string& name) {
    return guard_.find(name, [this](const std::string& key) { return db_.first(select_points, {key}); });
  }
  // Filter and table in one step.
  bloomery::result<bool> insert(const std::string& name, std::uint64_t points) {
    return guard_.put(name, [&] { return changed(db_.run(insert_user, {name, std::to_string(points)})); });
  }
  bloomery::result<bool> remove(const std::string& name) {
    return guard_.remove(name, [&] { return changed(db_.run("DELETE FROM users WHERE name = $1", {name})); });
  }
  void rebuild() { must(guard_.rebuild(keys_)); }

  [[nodiscard]] bloomery::lookup_stats stats() const { return guard_.stats(); }
  [[nodiscard]] std::uint64_t filter_bytes() const {
    return guard_.with_filter([](const bloomery::any_filter& filter) { return filter.allocated_bytes(); });
  }

 private:
  static bloomery::result<bool> changed(const bloomery::result<std::uint64_t>& rows) {
    if (!rows) return bloomery::fail(rows.error());
    return *rows != 0;
  }
  std::uint64_t count() { return std::stoull(must(db_.first("SELECT count(*) FROM users")).value_or("0")); }

  Database& db_;
  std::function<bloomery::result<void>(bloomery::guard_sink&)> keys_;
  bloomery::lookup_guard guard_;
};

double microseconds_each(std::chrono::steady_clock::time_point started, std::uint64_t calls) {
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - started;
  return took.count() / static_cast<double>(calls);
}

// The same look-ups without and with the filter: `absent` of each hundred are for names that the table does not have.
template <class Database>
void look_up(Database& db, users_table<Database>& users, std::uint64_t rows, std::uint64_t lookups,
             std::uint64_t absent) {
  const auto wanted = [&](random_numbers& random) {
    const bool there = random.below(100) >= absent;
    return user(random.below(rows) + (there ? 0 : rows));
  };
  std::uint64_t before = db.statements();
  random_numbers random(1);
  auto started = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < lookups; ++i) must(db.first(select_points, {wanted(random)}));
  const double plain_us = microseconds_each(started, lookups);
  const std::uint64_t plain = db.statements() - before;

  before = db.statements();
  random = random_numbers(1);
  started = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < lookups; ++i) must(users.points(wanted(random)));
  const double filtered_us = microseconds_each(started, lookups);
  const std::uint64_t filtered = db.statements() - before;
  const bloomery::lookup_stats stats = users.stats();

  std::printf("look-ups     %s, %s %% of them for names that are not there\n", grouped(lookups).c_str(),
              grouped(absent).c_str());
  std::printf("  plain      %s statements, %.2f us each\n", grouped(plain).c_str(), plain_us);
  std::printf("  filtered   %s statements, %.2f us each\n", grouped(filtered).c_str(), filtered_us);
  std::printf("  saved      %s of the useless ones (usual claim: 70 to 90 %%), %s of all\n",
              percent(stats.saved, stats.absent()).c_str(), percent(plain - filtered, plain).c_str());
}

// Of these names: how many reach the database.
template <class Database>
std::uint64_t reach(Database& db, users_table<Database>& users, const char* prefix, std::uint64_t names) {
  const std::uint64_t before = db.statements();
  for (std::uint64_t i = 0; i < names; ++i) must(users.points(prefix + std::to_string(i)));
  return db.statements() - before;
}

template <class Database>
void write(Database& db, Database& another, users_table<Database>& users) {
  must(users.insert("alice", 7));
  std::printf("insert       through the filter: %s\n", must(users.points("alice")) ? "found" : "MISSED");

  // Another program writes 100 rows and does not know of the filter.
  for (int i = 0; i < 100; ++i) must(another.run(insert_user, {"forgotten" + std::to_string(i), "7"}));
  std::uint64_t missed = 0;
  for (int i = 0; i < 100; ++i) missed += must(users.points("forgotten" + std::to_string(i))) ? 0U : 1U;
  users.rebuild();
  std::uint64_t found = 0;
  for (int i = 0; i < 100; ++i) found += must(users.points("forgotten" + std::to_string(i))) ? 1U : 0U;
  std::printf("forgotten    100 rows written past the filter: %s are missed, %s found after a rebuild\n",
              grouped(missed).c_str(), grouped(found).c_str());

  for (int i = 0; i < 1000; ++i) must(users.insert("gone" + std::to_string(i), 7));
  for (int i = 0; i < 1000; ++i) must(users.remove("gone" + std::to_string(i)));
  const std::uint64_t before = reach(db, users, "gone", 1000);
  users.rebuild();
  std::printf("deleted      1,000 rows: %s stay \"maybe\" and cost a statement, %s after a rebuild\n",
              grouped(before).c_str(), grouped(reach(db, users, "gone", 1000)).c_str());
}

// Another connection holds the table: an error or the filter's "absent", never a wrong one.
template <class Database>
void lock(Database& another, users_table<Database>& users) {
  for (const char* each : Database::lock_everything) must(another.run(each));
  std::uint64_t absent = 0;
  for (int i = 0; i < 100; ++i) {
    const auto found = users.points("nobody" + std::to_string(i));
    absent += found && !*found ? 1U : 0U;
  }
  const auto found = users.points("alice");
  const auto inserted = users.insert("bob", 8);
  std::printf("locked       of 100 absent names %s are answered all the same\n", grouped(absent).c_str());
  std::printf("  alice      %s\n", found ? "ANSWERED" : bloomery::describe(found.error()).c_str());
  must(another.run("ROLLBACK"));
  std::printf("unlocked     alice: %s; bob, whose insert %s: %s\n", must(users.points("alice")) ? "found" : "MISSED",
              inserted ? "SUCCEEDED" : "failed", must(users.points("bob")) ? "FOUND" : "absent");
}

template <class Database>
void show(Database& db, Database& another, std::span<char* const> arguments) {
  const std::uint64_t rows = option(arguments, "--rows", 50'000);
  fill(db, rows);
  const auto started = std::chrono::steady_clock::now();
  users_table<Database> users(db);
  const double seconds = microseconds_each(started, 1) / 1e6;
  std::printf("table        %s rows; filter at 5 %% from SELECT: %s KiB, %.2f s\n", grouped(rows).c_str(),
              grouped(users.filter_bytes() / 1024).c_str(), seconds);
  look_up(db, users, rows, option(arguments, "--lookups", 20'000), option(arguments, "--absent", 80));
  write(db, another, users);
  lock(another, users);
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char* const> arguments(argv, static_cast<std::size_t>(argc));
  const std::string address = text_option(arguments, "--postgres", "");
  if (address.empty()) {
    const std::string path = text_option(arguments, "--folder", ".") + "/users.db";
    sqlite db(path);
    sqlite another(path);
    show(db, another, arguments);
  } else {
    postgres db(address);
    postgres another(address);
    show(db, another, arguments);
  }
}
