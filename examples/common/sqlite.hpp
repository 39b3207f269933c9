// SQLite, as far as the examples need it: statements with values, rows as text, and how many statements the database has run.
// Several threads open the file each for itself. postgres.hpp has the same calls.
#pragma once

#include <sqlite3.h>

#include <array>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "examples/common/example.hpp"

namespace examples {

class sqlite {
 public:
  // Waits up to `wait_ms` for a lock of another connection.
  explicit sqlite(const std::string& path, int wait_ms = 0) {
    if (sqlite3_open(path.c_str(), &database_) != SQLITE_OK) stop(path + ": " + sqlite3_errmsg(database_));
    sqlite3_busy_timeout(database_, wait_ms);
    const auto count = [](unsigned, void* self, void*, void*) {
      ++static_cast<sqlite*>(self)->statements_;
      return 0;
    };
    must(run("PRAGMA synchronous = OFF"));  // an example need not outlive a power cut
    sqlite3_trace_v2(database_, SQLITE_TRACE_STMT, count, this);
  }
  sqlite(const sqlite&) = delete;
  sqlite& operator=(const sqlite&) = delete;
  ~sqlite() {
    for (const auto& [sql, statement] : prepared_) sqlite3_finalize(statement);
    sqlite3_close(database_);
  }

  // What keeps other connections out until "ROLLBACK".
  static constexpr std::array lock_everything{"BEGIN EXCLUSIVE"};

  // Counted by the database itself, in its trace hook.
  [[nodiscard]] std::uint64_t statements() const { return statements_; }

  // How many rows the statement has changed. $1, $2 and so on in it are the values.
  bloomery::result<std::uint64_t> run(const char* sql, std::initializer_list<std::string_view> values = {}) {
    const auto done = each(sql, values, [](std::string_view) {});
    if (!done) return bloomery::fail(done.error());
    return static_cast<std::uint64_t>(sqlite3_changes(database_));
  }
  // The first column of the first row.
  bloomery::result<std::optional<std::string>> first(const char* sql,
                                                     std::initializer_list<std::string_view> values = {}) {
    std::optional<std::string> found;
    const auto done = each(sql, values, [&](std::string_view value) {
      if (!found) found = value;
    });
    if (!done) return bloomery::fail(done.error());
    return found;
  }
  // Calls row(first column) for every row.
  template <class F>
  bloomery::result<void> each(const char* sql, std::initializer_list<std::string_view> values, F&& row) {
    sqlite3_stmt*& statement = prepared_[sql];
    if (statement == nullptr && sqlite3_prepare_v2(database_, sql, -1, &statement, nullptr) != SQLITE_OK) return why();
    int number = 0;
    for (const std::string_view value : values) {
      const char name[] = {'$', static_cast<char>('0' + ++number), 0};  // up to nine
      const int index = sqlite3_bind_parameter_index(statement, name);
      sqlite3_bind_text(statement, index, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
    }
    int state = 0;
    while ((state = sqlite3_step(statement)) == SQLITE_ROW) {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
      row(std::string_view(text, static_cast<std::size_t>(sqlite3_column_bytes(statement, 0))));
    }
    sqlite3_reset(statement);
    if (state != SQLITE_DONE) return why();
    return {};
  }

 private:
  [[nodiscard]] bloomery::failure why() const { return bloomery::fail(bloomery::errc::io, sqlite3_errmsg(database_)); }

  sqlite3* database_ = nullptr;
  std::map<std::string_view, sqlite3_stmt*> prepared_;  // statements are literals
  std::uint64_t statements_ = 0;
};

}  // namespace examples
