// version.hpp: the version of the library and the tool.
#pragma once

#include <bloomery/core/config.hpp>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI {

inline constexpr std::string_view version = "0.1.0";

}  // namespace bloomery::inline BLOOMERY_ABI
