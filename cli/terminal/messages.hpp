// cli/terminal/messages.hpp: what is printed on standard error beside errors. --quiet silences notes and advice, not warnings: what is
// warned of breaks a promise. With --strict a warning or advice makes the exit code 1 (main.cpp).
#pragma once

#include <string_view>

#include "cli/flags/flags.hpp"
#include "cli/terminal/output.hpp"

namespace bloomery::cli {

// A line as it is.
inline void note(const options& given, std::string_view text) {
  if (!given.has(flag::quiet)) say(std::string(text).append("\n"));
}

namespace message_parts {
inline bool warning_printed = false;
}
// bloomery: warning: ...
inline void warn(const options& /*given*/, std::string_view text) {
  message_parts::warning_printed = true;
  say(std::string("bloomery: warning: ").append(text).append("\n"));
}
// The same of what could be better but was asked for: --quiet silences it.
inline void advise(const options& given, std::string_view text) {
  if (!given.has(flag::quiet)) return warn(given, text);
  message_parts::warning_printed = true;
}
inline bool has_warned() { return message_parts::warning_printed; }

}  // namespace bloomery::cli
