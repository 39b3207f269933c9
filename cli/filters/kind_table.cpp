#include "cli/filters/kind_table.hpp"

namespace bloomery::cli {

result<size_plan> plan_kind(const kind_info& kind, const size_request& request, std::string_view layout) noexcept {
  const kind_entry* entry = find_kind(kind.name);
  if (entry == nullptr) return fail(errc::unknown_kind, kind.name);
  return entry->plan(request, layout);
}

std::string kinds_that(bool kind_capabilities::*can) {
  std::string names;
  for (const kind_entry& kind : kinds()) {
    if (kind.capabilities.*can) names.append(names.empty() ? "" : ", ").append(kind.info->name);
  }
  return names;
}

}  // namespace bloomery::cli
