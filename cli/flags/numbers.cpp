#include "cli/flags/numbers.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bloomery/core/error.hpp>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

namespace bloomery::cli {
namespace {

__extension__ using uint128 = unsigned __int128;

constexpr std::string_view count_hint = "give a whole number such as 1000, 1e9, 10M or 1Gi";
constexpr std::string_view bytes_hint = "give a size such as 4096, 64KiB, 512M or 1Gi";
constexpr std::string_view too_large = "is too large: the largest is 18446744073709551615";

// digits * 10^exponent, as written.
struct decimal {
  std::uint64_t digits = 0;
  int exponent = 0;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes a decimal number from the front of `text`; none when there is no number or it has more digits than fit.
std::optional<decimal> take_decimal(std::string_view& text) {
  decimal number;
  std::size_t at = 0;
  bool any = false;
  bool behind_point = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '.' && !behind_point) {
      behind_point = true;
      continue;
    }
    if (!is_digit(c)) break;
    any = true;
    if (number.digits > (std::numeric_limits<std::uint64_t>::max() - 9) / 10) return {};
    number.digits = number.digits * 10 + static_cast<std::uint64_t>(c - '0');
    if (behind_point) --number.exponent;
  }
  if (!any) return {};
  text.remove_prefix(at);
  // An exponent needs a digit: in "1E" the letter is a suffix.
  if (text.size() >= 2 && (text[0] == 'e' || text[0] == 'E')) {
    const std::size_t first = text[1] == '+' || text[1] == '-' ? 2 : 1;
    int exponent = 0;
    const auto [end, bad] = std::from_chars(text.data() + first, text.data() + text.size(), exponent);
    if (bad == std::errc{} && first < text.size() && is_digit(text[first]) && exponent <= 400) {
      number.exponent += text[1] == '-' ? -exponent : exponent;
      text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    }
  }
  return number;
}

// The factor of a suffix, or 0 when it is none.
std::uint64_t suffix_factor(std::string_view suffix) {
  if (suffix.empty()) return 1;
  constexpr std::string_view letters = "KMGTPE";
  const char letter = suffix[0] == 'k' ? 'K' : suffix[0];
  const std::size_t power = letters.find(letter);
  if (power == std::string_view::npos || suffix.size() > 2) return 0;
  if (suffix.size() == 2 && suffix[1] != 'i') return 0;
  std::uint64_t factor = 1;
  for (std::size_t i = 0; i <= power; ++i) factor *= suffix.size() == 2 ? 1024 : 1000;
  return factor;
}

enum class fraction : std::uint8_t { refused, dropped };

outcome<std::uint64_t> parse_whole(std::string_view text, fraction rule, std::string_view hint) {
  std::string_view rest = text;
  const auto number = take_decimal(rest);
  if (rule == fraction::dropped && !rest.empty() && rest.back() == 'B') rest.remove_suffix(1);
  const std::uint64_t factor = suffix_factor(rest);
  if (!number || factor == 0) return fail_text(fmt::format("'{}' is not usable: {}", text, hint));
  uint128 value = static_cast<uint128>(number->digits) * factor;
  constexpr auto limit = std::numeric_limits<std::uint64_t>::max();
  for (int i = 0; i < number->exponent && value != 0; ++i) {
    if (value > limit) return fail_text(fmt::format("'{}' {}", text, too_large));
    value *= 10;
  }
  for (int i = 0; i > number->exponent && value != 0; --i) {
    if (value % 10 != 0 && rule == fraction::refused) {
      return fail_text(fmt::format("'{}' is not a whole number: {}", text, hint));
    }
    value /= 10;
  }
  if (value > limit) return fail_text(fmt::format("'{}' {}", text, too_large));
  return static_cast<std::uint64_t>(value);
}

struct time_unit {
  std::string_view name;
  double ns;
};
constexpr std::array<time_unit, 5> time_units = {
    {{"w", 604800e9}, {"d", 86400e9}, {"h", 3600e9}, {"m", 60e9}, {"s", 1e9}}};

std::optional<double> plain_number(std::string_view text) {
  double value = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (bad != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

// 0.01, 1%, 1/100
std::optional<double> ratio(std::string_view text) {
  if (!text.empty() && text.back() == '%') {
    const auto value = plain_number(text.substr(0, text.size() - 1));
    return value ? std::optional(*value / 100.0) : std::nullopt;
  }
  if (const auto slash = text.find('/'); slash != std::string_view::npos) {
    const auto above = plain_number(text.substr(0, slash));
    const auto below = plain_number(text.substr(slash + 1));
    if (!above || !below || !(*below > 0)) return {};
    return *above / *below;
  }
  return plain_number(text);
}

}  // namespace

outcome<std::uint64_t> parse_count(std::string_view text) { return parse_whole(text, fraction::refused, count_hint); }
outcome<std::uint64_t> parse_bytes(std::string_view text) { return parse_whole(text, fraction::dropped, bytes_hint); }

bool looks_like_duration(std::string_view text) {
  return !text.empty() && std::any_of(time_units.begin(), time_units.end(),
                                      [&](const time_unit& unit) { return unit.name[0] == text.back(); });
}

outcome<std::uint64_t> parse_duration(std::string_view text) {
  constexpr double longest_ns = 1.1e18;
  for (const time_unit& unit : time_units) {
    if (text.empty() || text.back() != unit.name[0]) continue;
    const auto value = plain_number(text.substr(0, text.size() - 1));
    if (!value || !(*value > 0)) break;
    const double ns = *value * unit.ns;
    if (!(ns < longest_ns)) return fail_text(fmt::format("'{}' is too long: the longest is 34 years", text));
    if (ns >= 1) return static_cast<std::uint64_t>(ns + 0.5);
  }
  return fail_text(fmt::format("'{}' is not usable: give a time such as 90s, 15m, 12h, 30d or 2w", text));
}

outcome<double> parse_fpr(std::string_view text) {
  const auto value = ratio(text);
  if (!value || !(*value > 0.0 && *value < 1.0)) {
    return fail_text(text_of(make_error(errc::bad_fpr, text)) + ", such as 0.01, 1% or 1/100");
  }
  return *value;
}

outcome<double> parse_share(std::string_view text) {
  const auto value = ratio(text);
  if (!value || !(*value >= 0.0)) {
    return fail_text(fmt::format("'{}' is not usable: give a share such as 20%, 0.2 or 1/5", text));
  }
  return *value;
}

outcome<double> parse_real(std::string_view text) {
  const auto value = plain_number(text);
  if (!value || !(*value > 0.0)) {
    return fail_text(fmt::format("'{}' is not usable: give a number above 0, such as 10 or 9.6", text));
  }
  return *value;
}

outcome<std::uint64_t> parse_seed(std::string_view text) {
  const bool hex = text.substr(0, 2) == "0x" || text.substr(0, 2) == "0X";
  const std::string_view digits = hex ? text.substr(2) : text;
  std::uint64_t value = 0;
  const auto [end, bad] = std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
  if (bad != std::errc{} || end != digits.data() + digits.size()) {
    return fail_text(
        fmt::format("'{}' is not usable: give a whole number from 0 to 18446744073709551615, or 0x...", text));
  }
  return value;
}

std::string with_commas(std::uint64_t value) {
  std::string text = std::to_string(value);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

std::string number_of(std::uint64_t value, std::string_view noun) {
  return fmt::format("{} {}{}", with_commas(value), noun, value == 1 ? "" : "s");
}

std::string human_count(double value) {
  constexpr std::array<const char*, 7> units = {"", " k", " M", " G", " T", " P", " E"};
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < units.size()) {
    value /= 1000.0;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.0f}", value);
  const int decimals = value >= 99.95 ? 0 : (value >= 9.995 ? 1 : 2);
  return fmt::format("{:.{}f}{}", value, decimals, units[unit]);
}

std::string human_size(std::uint64_t bytes) { return std::string(human_bytes(bytes).view()); }

std::string exact_size(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} {}", bytes, bytes == 1 ? "byte" : "bytes");
  return fmt::format("{} bytes ({})", with_commas(bytes), human_size(bytes));
}

std::string human_duration(std::uint64_t ns) {
  const auto value = static_cast<double>(ns);
  for (const time_unit& unit : time_units) {
    // Weeks are what a person may write; what is shown are days.
    if (unit.name == "w" || value < unit.ns) continue;
    return fmt::format("{:.4g} {}", value / unit.ns, unit.name == "m" ? "min" : unit.name);
  }
  return fmt::format("{:.4g} ms", value / 1e6);
}

std::string percent(double share) {
  const double value = share * 100.0;
  if (value == 0.0) return "0 %";
  if (value >= 99.995) return fmt::format("{:.0f} %", value);
  if (value >= 0.001) {
    // Three significant digits, also of what rounds up to a power of ten: 0.99999 is 1.00.
    const int decimals = 2 - static_cast<int>(std::floor(std::log10(value / 0.9995)));
    return fmt::format("{:.{}f} %", value, decimals < 0 ? 0 : decimals);
  }
  return fmt::format("{:.3g} %", value);
}

std::string fpr_text(double fpr) {
  if (!(fpr > 0.0)) return "0 %";
  if (fpr >= 0.5) return percent(fpr);
  const double one_in = 1.0 / fpr;
  if (one_in < 1000 || one_in >= 1e21) return fmt::format("{} (1 in {:.3g})", percent(fpr), one_in);
  return fmt::format("{} (1 in {})", percent(fpr),
                     one_in < 1e6 ? with_commas(static_cast<std::uint64_t>(one_in + 0.5)) : human_count(one_in));
}

}  // namespace bloomery::cli
