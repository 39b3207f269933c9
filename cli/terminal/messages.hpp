// cli/terminal/messages.hpp: what is printed on standard error beside errors. --quiet silences notes and advice, not
// warnings: what is warned of breaks a promise of the filter. With --strict a warning or advice makes the exit code 1
// (main.cpp).
#pragma once

#include <string_view>

#include "cli/flags/flags.hpp"
#include "cli/terminal/output.hpp"

namespace bloomery::cli {

// A plain line.
inline void note(const options& opts, std::string_view text) {
  if (!opts.has(flag::quiet)) write_stderr(std::string(text).append("\n"));
}

// Whether a warning was printed, or silenced by --quiet.
inline bool& has_warned() {
  static bool warned = false;
  return warned;
}
// bloomery: warning: ...
inline void warn(const options& /*opts*/, std::string_view text) {
  has_warned() = true;
  write_stderr(std::string("bloomery: warning: ").append(text).append("\n"));
}
// The same for a result that could be better but was requested: --quiet silences it.
inline void advise(const options& opts, std::string_view text) {
  if (!opts.has(flag::quiet)) return warn(opts, text);
  has_warned() = true;
}

}  // namespace bloomery::cli
