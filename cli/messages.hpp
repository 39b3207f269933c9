// cli/messages.hpp: what is said on standard error beside errors. --quiet silences it.
#pragma once

#include <string_view>

#include "cli/flags.hpp"
#include "cli/output.hpp"

namespace bloomery::cli {

// A line as it is.
inline void note(const options& given, std::string_view text) {
  if (!given.has(flag::quiet)) say(std::string(text).append("\n"));
}
// bloomery: warning: ...
inline void warn(const options& given, std::string_view text) {
  if (!given.has(flag::quiet)) say(std::string("bloomery: warning: ").append(text).append("\n"));
}

}  // namespace bloomery::cli
