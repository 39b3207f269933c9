// cli/filters/kind_table.hpp: the kinds of kinds.hpp as a table, for files that name kinds and size them but run none
// of their code: reading that of all kinds takes longer than compiling a verb.
#pragma once

#include <bloomery/kinds/concept.hpp>
#include <span>
#include <string>
#include <string_view>

namespace bloomery::cli {

struct kind_entry {
  const kind_info* info;
  result<size_plan> (*plan)(const size_request& request, std::string_view layout) noexcept;
  bool takes_keys;  // one by one: not static
  bool merges;
  bool erases;
  bool folds;
  bool counts;
  bool excludes;
};

// All kinds, in the order of kinds.hpp.
std::span<const kind_entry> kind_table() noexcept;

// The kind with this name, or nullptr.
const kind_info* find_kind(std::string_view name) noexcept;

// The entry of a kind, which may be the name of none; then it is nullptr.
const kind_entry* find_entry(std::string_view name) noexcept;

// How large a filter of this kind is.
result<size_plan> plan_kind(const kind_info& kind, const size_request& request, std::string_view layout = {}) noexcept;

// "bitmap, ...": the kinds with this ability.
std::string kinds_that(bool kind_entry::*ability);

}  // namespace bloomery::cli
