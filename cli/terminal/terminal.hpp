// cli/terminal/terminal.hpp: what the terminal can do: colour, width, characters outside ASCII.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cli/flags/flags.hpp"

namespace bloomery::cli {

enum class style : std::uint8_t { bold, dim, good, bad, caution };

// Colours for one output: --color decides, else a terminal that is not dumb, and no NO_COLOR.
class painter {
 public:
  painter(const options& opts, int descriptor);
  [[nodiscard]] std::string operator()(style how, std::string_view text) const;
  [[nodiscard]] bool on() const { return on_; }

 private:
  bool on_ = false;
};

bool is_terminal(int descriptor);
// Whether the locale's characters are UTF-8; else draw in ASCII.
bool has_utf8();
// Of the terminal of the descriptor; 80 if unknown.
std::size_t terminal_columns(int descriptor);

}  // namespace bloomery::cli
