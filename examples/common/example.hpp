// What the examples share: options, failures, and numbers as people read them.
#pragma once

#include <bloomery/core/result.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

namespace examples {

[[noreturn]] inline void stop(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(2);
}

// The value, or the end of the program with the library's sentence.
template <class T>
T must(bloomery::result<T> made) {
  if (!made) stop(bloomery::describe(made.error()).c_str());
  if constexpr (!std::is_void_v<T>) return std::move(*made);
}

// The number behind an option: --words 1000000, --words 1e6 or --words 1M.
inline std::uint64_t option(std::span<char* const> arguments, std::string_view name, std::uint64_t otherwise) {
  for (std::size_t i = 1; i + 1 < arguments.size(); ++i) {
    if (arguments[i] != name) continue;
    char* end = nullptr;
    double value = std::strtod(arguments[i + 1], &end);
    for (const char unit : {'k', 'M', 'G'}) {
      value *= 1000;
      if (*end == unit) return static_cast<std::uint64_t>(value);
    }
    if (*end != 0 || value < 0) stop(std::string(name) + " takes a number, not " + arguments[i + 1]);
    return static_cast<std::uint64_t>(value / 1e9);
  }
  return otherwise;
}

// Whether there is such an option; and the text behind it.
inline bool flag(std::span<char* const> arguments, std::string_view name) {
  for (const char* each : arguments) {
    if (each == name) return true;
  }
  return false;
}
inline std::string text_option(std::span<char* const> arguments, std::string_view name, std::string otherwise) {
  for (std::size_t i = 1; i + 1 < arguments.size(); ++i) {
    if (arguments[i] == name) return arguments[i + 1];
  }
  return otherwise;
}

// 1234567 as 1,234,567.
inline std::string grouped(std::uint64_t number) {
  std::string out = std::to_string(number);
  for (std::size_t i = out.size(); i > 3;) out.insert(i -= 3, 1, ',');
  return out;
}

inline std::string percent(std::uint64_t part, std::uint64_t whole) {
  char out[32];
  std::snprintf(out, sizeof out, "%.2f %%",
                whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
  return out;
}

inline std::string mebibytes(std::uint64_t bytes) {
  char out[32];
  std::snprintf(out, sizeof out, "%.1f MiB", static_cast<double>(bytes) / 1048576);
  return out;
}

// Numbers that look random and are the same in every run (splitmix64).
class random_numbers {
 public:
  explicit random_numbers(std::uint64_t seed) : state_(seed) {}
  std::uint64_t operator()() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t limit) { return (*this)() % limit; }

 private:
  std::uint64_t state_;
};

}  // namespace examples
