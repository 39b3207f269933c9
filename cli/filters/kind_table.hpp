// cli/filters/kind_table.hpp: what the tool asks the table of kinds (bloomery/kinds/table.hpp) beyond a kind's entry.
#pragma once

#include <bloomery/kinds/table.hpp>
#include <string>
#include <string_view>

namespace bloomery::cli {

// How large a filter of this kind is; of another product's, as large as one of the kind of the same name.
result<size_plan> plan_kind(const kind_info& kind, const size_request& request, std::string_view layout = {}) noexcept;

// "bitmap, ...": the kinds with this capability.
std::string kinds_that(bool kind_capabilities::*can);

}  // namespace bloomery::cli
