// version.hpp: the version of the library and the tool.
#pragma once

#include <string_view>

namespace bloomery {

inline constexpr std::string_view version = "0.1.0";

}  // namespace bloomery
