// cli/terminal/text.hpp: sentences for a terminal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace bloomery::cli {

// What stands between blanks.
inline std::vector<std::string_view> words_in(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// `first` and the text after it, broken between words at `columns`; further lines stand under the text. Ends with a
// newline.
inline std::string wrapped(std::string_view first, std::string_view text, std::size_t columns) {
  std::string out(first);
  std::size_t at = first.size();
  bool fresh = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (!fresh && at + 1 + end > columns) {
      out.append("\n").append(first.size(), ' ');
      at = first.size();
      fresh = true;
    }
    if (!fresh) out.append(" ");
    at += end + (fresh ? 0 : 1);
    out.append(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    fresh = false;
  }
  return out.append("\n");
}

}  // namespace bloomery::cli
