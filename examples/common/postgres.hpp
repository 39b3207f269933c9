// PostgreSQL with the calls of sqlite.hpp.
#pragma once

#include <libpq-fe.h>

#include <array>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "examples/common/example.hpp"

namespace examples {

class postgres {
 public:
  explicit postgres(const std::string& address) : connection_(PQconnectdb(address.c_str())) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) stop(first_line(PQerrorMessage(connection_.get())));
    must(run("SET lock_timeout = '1ms'"));
    must(run("SET synchronous_commit = off"));  // an example need not outlive a power cut
    must(run("SET client_min_messages = warning"));
    statements_ = 0;
  }

  // What keeps other connections out until "ROLLBACK".
  static constexpr std::array lock_everything{"BEGIN", "LOCK TABLE users"};

  [[nodiscard]] std::uint64_t statements() const { return statements_; }

  bloomery::result<std::uint64_t> run(const char* sql, std::initializer_list<std::string_view> values = {}) {
    const auto done = each(sql, values, [](std::string_view) {});
    if (!done) return bloomery::fail(done.error());
    return changed_;
  }
  bloomery::result<std::optional<std::string>> first(const char* sql,
                                                     std::initializer_list<std::string_view> values = {}) {
    std::optional<std::string> found;
    const auto done = each(sql, values, [&](std::string_view value) {
      if (!found) found = value;
    });
    if (!done) return bloomery::fail(done.error());
    return found;
  }
  // One row after the other, however many there are.
  template <class F>
  bloomery::result<void> each(const char* sql, std::initializer_list<std::string_view> values, F&& row) {
    ++statements_;
    std::vector<std::string> texts(values.begin(), values.end());
    std::vector<const char*> pointers;
    for (const std::string& text : texts) pointers.push_back(text.c_str());
    if (PQsendQueryParams(connection_.get(), sql, static_cast<int>(texts.size()), nullptr, pointers.data(), nullptr,
                          nullptr, 0) == 0)
      return why(PQerrorMessage(connection_.get()));
    PQsetSingleRowMode(connection_.get());
    bloomery::result<void> done;
    while (const answer part{PQgetResult(connection_.get())}) {
      const ExecStatusType state = PQresultStatus(part.get());
      if (state == PGRES_SINGLE_TUPLE) {
        row(std::string_view(PQgetvalue(part.get(), 0, 0)));
      } else if (state == PGRES_COMMAND_OK) {
        changed_ = std::strtoull(PQcmdTuples(part.get()), nullptr, 10);
      } else if (state != PGRES_TUPLES_OK) {
        done = why(PQresultErrorMessage(part.get()));
      }
    }
    return done;
  }

 private:
  static std::string first_line(const char* text) {
    const std::string_view all(text);
    return std::string(all.substr(0, all.find('\n')));
  }
  static bloomery::failure why(const char* text) { return bloomery::fail(bloomery::errc::io, first_line(text)); }

  struct release {
    void operator()(PGconn* connection) const { PQfinish(connection); }
    void operator()(PGresult* result) const { PQclear(result); }
  };
  using answer = std::unique_ptr<PGresult, release>;

  std::unique_ptr<PGconn, release> connection_;
  std::uint64_t statements_ = 0;
  std::uint64_t changed_ = 0;
};

}  // namespace examples
