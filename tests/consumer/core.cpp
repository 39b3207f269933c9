// The core as an embedder uses it: one header, one library; and its guards.
#include <bloomery/bloomery.hpp>
#include <cstdio>
#include <map>
#include <optional>
#include <string>

namespace {

struct row_store {
  std::map<std::string, int> rows;
  std::optional<int> get(const std::string& key) {
    const auto row = rows.find(key);
    return row == rows.end() ? std::nullopt : std::optional<int>(row->second);
  }
  bool put(const std::string& key, int value) { return rows.insert_or_assign(key, value).second; }
  bool remove(const std::string& key) { return rows.erase(key) != 0; }
};

bool guards_work() {
  const bloomery::hasher hash;
  row_store cache;
  row_store table;
  auto users =
      bloomery::cache_guard<row_store, row_store>::make(cache, table, "cuckoo", {.keys = 1000, .fpr = 0.01}, hash);
  auto seen = bloomery::seen_set::make("scalable", {.keys = 1000, .fpr = 0.01}, hash);
  auto peers = bloomery::summary_exchange::make("a", hash);
  if (!users || !seen || !peers || !users->put(std::string("alice"), 7)) return false;
  const auto found = users->get(std::string("alice"));
  const auto fresh = seen->insert_if_new("alice");
  bloomery::metrics page;
  bloomery::memory_sink text;
  const bool rendered = page.add("users", *users) && page.add("seen", *seen) && page.render(bloomery::byte_sink(text));
  return found && *found && fresh && *fresh && rendered && peers->expect("b") && peers->may_have("alice");
}

}  // namespace

int main() {
  auto filter = bloomery::filter<bloomery::blocked>::make({.keys = 1000, .fpr = 0.01});
  if (!filter) {
    std::fprintf(stderr, "%s\n", bloomery::describe(filter.error()).c_str());
    return 2;
  }
  if (filter->may_contain("alice")) return 1;
  filter->insert("alice");
  return filter->may_contain("alice") && guards_work() ? 0 : 1;
}
