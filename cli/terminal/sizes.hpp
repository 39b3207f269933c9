// cli/terminal/sizes.hpp: available memory.
#pragma once

#include <cstdint>

#include "cli/terminal/problem.hpp"

namespace bloomery::cli {

// What this process may still take: MemAvailable, or the limit of its control group where that is lower. The largest
// number when neither can be read.
std::uint64_t available_memory_bytes();

// A problem if so many bytes are not available.
outcome<void> check_memory(std::uint64_t bytes);

}  // namespace bloomery::cli
