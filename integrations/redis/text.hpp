// text.hpp: arguments as text and numbers.
#pragma once

#include <charconv>
#include <string_view>

#include "integrations/redis/api.hpp"

namespace bloomery::redis_module {

inline std::string_view view(const server_string* text) noexcept {
  std::size_t size = 0;
  const char* const bytes = server.string_bytes(text, &size);
  return {bytes, size};
}

inline char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Regardless of case.
inline bool same_word(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

// The whole text is a number.
template <class Number>
bool parse_all(std::string_view text, Number& to) noexcept {
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, to);
  return parsed.ec == std::errc{} && parsed.ptr == end;
}

}  // namespace bloomery::redis_module
