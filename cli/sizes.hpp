// cli/sizes.hpp: sizing a kind that is chosen by name, and the memory that there is.
#pragma once

#include <bloomery/kinds/concept.hpp>
#include <bloomery/sizing.hpp>
#include <cstdint>
#include <string_view>

#include "cli/problem.hpp"

namespace bloomery::cli {

// K::plan of the kind with this info.
result<size_plan> plan_kind(const kind_info& kind, const size_request& request, std::string_view layout = {});

// What this process may still take: MemAvailable, or the limit of its control group where that is lower. The largest
// number when neither can be read.
std::uint64_t available_memory_bytes();

// A problem when so many bytes cannot be had.
outcome<void> check_memory(std::uint64_t bytes);

}  // namespace bloomery::cli
