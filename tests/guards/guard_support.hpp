// What the tests of guards share: a table that stands for a database, and threads.
#pragma once

#include <gtest/gtest.h>

#include <bloomery/guards/lookup_guard.hpp>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support/files.hpp"
#include "support/memory.hpp"

namespace bloomery::guard_testing {

using namespace bloomery::test;

inline std::string key_number(std::uint64_t number) { return "key number " + std::to_string(number); }
inline std::string absent_number(std::uint64_t number) { return "absent number " + std::to_string(number); }

// A set of keys with a lock, which counts its look-ups and can be told to fail, as a database that is locked.
class table {
 public:
  bool write(const std::string& key) {
    const std::lock_guard alone(lock_);
    return keys_.insert(key).second;
  }
  bool remove(const std::string& key) {
    const std::lock_guard alone(lock_);
    return keys_.erase(key) != 0;
  }
  result<bool> has(const std::string& key) {
    const std::lock_guard alone(lock_);
    ++lookups_;
    if (locked) return fail(errc::io, "the database is locked");
    return keys_.contains(key);
  }
  // Every key, or those before number `fail_at`, and then an error.
  result<void> read_all(guard_sink& sink) {
    std::vector<std::string> all;
    {
      const std::lock_guard alone(lock_);
      all.assign(keys_.begin(), keys_.end());
    }
    std::uint64_t given = 0;
    for (const std::string& key : all) {
      if (given++ == fail_at) return fail(errc::io, "the connection was lost");
      sink(key);
    }
    return {};
  }
  [[nodiscard]] std::uint64_t lookups() const { return lookups_; }
  [[nodiscard]] auto source() {
    return [this](const std::string& key) { return has(key); };
  }
  [[nodiscard]] auto reader() {
    return [this](guard_sink& sink) { return read_all(sink); };
  }

  bool locked = false;
  std::uint64_t fail_at = ~std::uint64_t{0};

 private:
  std::mutex lock_;
  std::set<std::string> keys_;
  std::uint64_t lookups_ = 0;
};

inline lookup_guard made_guard(std::string_view kind, std::uint64_t keys, const lookup_guard_options& options = {},
                               const memory_hooks* memory = nullptr) {
  auto made = lookup_guard::make(kind, {.keys = keys, .fpr = 0.01, .memory = memory}, hasher{}, options);
  if (!made) ADD_FAILURE() << describe(made.error()).c_str();
  return std::move(*made);
}

// With the path of the file.
template <class R>
std::string described(const R& outcome) {
  return outcome ? "no error" : std::string(describe(outcome.error()).view());
}

template <class F>
void on_threads(unsigned count, F&& f) {
  std::vector<std::thread> threads;
  for (unsigned id = 0; id < count; ++id) threads.emplace_back([&f, id] { f(id); });
  for (auto& thread : threads) thread.join();
}

}  // namespace bloomery::guard_testing
