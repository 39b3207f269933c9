// core/error.hpp: what went wrong, with the value, where, and what would help.
//
// An error is a code, up to four numbers, a short fixed text, a remedy, and the path if it is about a file. It owns no
// memory, so that "out of memory" can be reported like everything else. core/error_table.hpp has the sentence and the
// remedy of every code.
//
//     bloomery::error e = ...;
//     std::fputs(bloomery::describe(e).c_str(), stderr);    // seen.bloom: exists already: allow replacing it, or ...
//
// A host with a language of its own words the remedies: `describe(e, words)`.
#pragma once

#include <array>
#include <bloomery/core/config.hpp>
#include <bloomery/core/error_table.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI {

// A path, or its end behind "..." where it is longer than the space.
class BLOOMERY_API path_tail {
 public:
  path_tail() noexcept = default;
  explicit path_tail(std::string_view path) noexcept { assign(path); }
  void assign(std::string_view path) noexcept;
  [[nodiscard]] bool empty() const noexcept { return text_[0] == '\0'; }
  [[nodiscard]] std::string_view view() const noexcept { return {text_.data()}; }

 private:
  std::array<char, 200> text_{};  // NUL-terminated
};

struct error {
  errc code = errc::io;
  remedy advice = remedy::none;
  std::array<std::uint64_t, 4> number{};
  std::array<char, 104> text{};  // NUL-terminated; longer texts are cut
  path_tail path{};              // of the file that it is about, if any

  [[nodiscard]] std::string_view text_view() const noexcept { return {text.data()}; }
};

// With the usual remedy of the code.
BLOOMERY_API error make_error(errc code, std::string_view text = {}, std::array<std::uint64_t, 4> number = {}) noexcept;

inline remedy remedy_of(const error& e) noexcept { return e.advice; }
constexpr error_group group_of(errc code) noexcept { return row_of(code).group; }

// Whether the filter took no more because it has no space for this key.
inline bool is_full(const error& e) noexcept {
  return e.code == errc::full || e.code == errc::too_many_copies || e.code == errc::no_room_to_return;
}

// A finished sentence in a fixed buffer.
struct error_text {
  std::array<char, 768> buffer{};
  std::size_t length = 0;

  [[nodiscard]] const char* c_str() const noexcept { return buffer.data(); }
  [[nodiscard]] std::string_view view() const noexcept { return {buffer.data(), length}; }
  void append(std::string_view s) noexcept {
    for (const char c : s) {
      if (length + 1 >= buffer.size()) return;
      buffer[length++] = c;
    }
  }
};

// "0 B", "999 B", "1.2 GiB": three significant digits at most, binary units.
BLOOMERY_API error_text human_bytes(std::uint64_t bytes) noexcept;

// What is wrong: neither the path nor the remedy.
BLOOMERY_API error_text sentence_of(const error& e) noexcept;

// What a host calls a remedy; empty: nothing.
using remedy_words = std::string_view (*)(remedy) noexcept;

// "PATH: what is wrong: what would help", as far as there are such.
BLOOMERY_API error_text describe(const error& e, remedy_words words = plain_words) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/core/error.cpp>
#endif
