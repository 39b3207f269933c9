#include <algorithm>
#include <array>
#include <bloomery/guards/metrics_reader.hpp>
#include <cstdio>
#include <cstdlib>

namespace bloomery::inline BLOOMERY_ABI {
namespace detail {

inline bool is_name_char(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':';
}
inline std::string_view take_name(std::string_view& text) noexcept {
  std::size_t size = 0;
  while (size < text.size() && is_name_char(text[size])) ++size;
  const std::string_view name = text.substr(0, size);
  text.remove_prefix(size);
  return name;
}
inline void skip_blanks(std::string_view& text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
}
// name="value", and what is between it and the next; false when it is none.
inline bool take_label(std::string_view& text, std::string_view& name, std::string_view& value) noexcept {
  skip_blanks(text);
  name = take_name(text);
  if (name.empty() || !text.starts_with("=\"")) return false;
  text.remove_prefix(2);
  std::size_t size = 0;
  while (size < text.size() && text[size] != '"') size += text[size] == '\\' ? 2 : 1;
  if (size >= text.size()) return false;
  value = text.substr(0, size);
  text.remove_prefix(size + 1);
  skip_blanks(text);
  if (text.starts_with(',')) text.remove_prefix(1);
  return true;
}

// A number as the format writes it, at the front of `text`.
inline bool take_number(std::string_view& text, double& value) noexcept {
  const std::size_t size = std::min(text.find_first_of(" \t"), text.size());
  std::array<char, 64> digits{};
  if (size == 0 || size >= digits.size()) return false;
  text.copy(digits.data(), size);
  text.remove_prefix(size);
  char* end = nullptr;
  value = std::strtod(digits.data(), &end);
  return end == digits.data() + size;
}

inline bool take_sample(std::string_view line, metric_sample& sample) noexcept {
  sample.family = take_name(line);
  if (sample.family.empty()) return false;
  skip_blanks(line);
  sample.labels = {};
  if (line.starts_with('{')) {
    line.remove_prefix(1);
    const char* const begin = line.data();
    skip_blanks(line);
    while (!line.empty() && line.front() != '}') {
      std::string_view name;
      std::string_view value;
      if (!take_label(line, name, value)) return false;
      skip_blanks(line);
    }
    if (line.empty()) return false;
    sample.labels = {begin, static_cast<std::size_t>(line.data() - begin)};
    line.remove_prefix(1);
  }
  skip_blanks(line);
  if (!take_number(line, sample.value)) return false;
  skip_blanks(line);
  double time = 0;  // a sample may have one
  return line.empty() || (take_number(line, time) && (skip_blanks(line), line.empty()));
}

}  // namespace detail

BLOOMERY_BODY std::string_view metric_sample::label(std::string_view name) const noexcept {
  std::string_view text = labels;
  std::string_view each;
  std::string_view written;
  while (!text.empty() && detail::take_label(text, each, written)) {
    if (each == name) return written;
  }
  return {};
}

BLOOMERY_BODY result<void> read_metrics(std::string_view text, function_ref<void(const metric_sample&)> take) noexcept {
  std::uint64_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t size = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, size);
    text.remove_prefix(std::min(size + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    detail::skip_blanks(line);
    if (line.empty() || line.front() == '#') continue;
    metric_sample sample;
    if (!detail::take_sample(line, sample)) {
      std::array<char, 80> what{};
      std::snprintf(what.data(), what.size(), "line %llu is no sample of a metric: give text as Prometheus reads it",
                    static_cast<unsigned long long>(number));
      return fail(errc::io, what.data());
    }
    take(sample);
  }
  return {};
}

}  // namespace bloomery::inline BLOOMERY_ABI
