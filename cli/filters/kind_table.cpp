#include "cli/filters/kind_table.hpp"

#include <array>
#include <bloomery/kinds.hpp>

namespace bloomery::cli {
namespace {

template <class K>
constexpr kind_entry entry_of() noexcept {
  return {.info = &K::info,
          .plan = &K::plan,
          .takes_keys = dynamic_kind<K>,
          .merges = mergeable<K>,
          .erases = erasable<K>,
          .folds = foldable<K>,
          .counts = countable<K>,
          .excludes = excluding_kind<K>};
}

template <class... Ks>
constexpr auto entries_of(type_list<Ks...> /*kinds*/) noexcept {
  return std::array{entry_of<Ks>()...};
}

constexpr auto entries = entries_of(kind_list{});

}  // namespace

std::span<const kind_entry> kind_table() noexcept { return entries; }

const kind_entry* find_entry(std::string_view name) noexcept {
  for (const kind_entry& entry : entries) {
    if (entry.info->name == name) return &entry;
  }
  return nullptr;
}

const kind_info* find_kind(std::string_view name) noexcept {
  const kind_entry* entry = find_entry(name);
  return entry == nullptr ? nullptr : entry->info;
}

result<size_plan> plan_kind(const kind_info& kind, const size_request& request, std::string_view layout) noexcept {
  const kind_entry* entry = find_entry(kind.name);
  if (entry == nullptr) return fail(errc::unknown_kind, kind.name);
  return entry->plan(request, layout);
}

std::string kinds_that(bool kind_entry::*ability) {
  std::string names;
  for (const kind_entry& entry : entries) {
    if (entry.*ability) names.append(names.empty() ? "" : ", ").append(entry.info->name);
  }
  return names;
}

}  // namespace bloomery::cli
