// cli/flags/numbers.hpp: numbers as users write and read them.
//
// In:  counts  1000  1e9  10M  1.5G  1Ki      (k M G T P E: powers of 1000; Ki Mi Gi ...: powers of 1024)
//      bytes   the same, with or without a final B: 64KiB  1GB  512
//      FPRs    0.01  1%  1/100  1e-6
//      times   90s  15m  12h  30d  2w  1.5h      (seconds, minutes, hours, days, weeks)
// Values are exact: what does not fit 64 bits or is not an integer is refused, never rounded (bytes may round down).
//
// Out: with_commas(1234567) = "1,234,567"; human_count(1234567) = "1.23 M"; sizes in both notations.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/terminal/problem.hpp"

namespace bloomery::cli {

// The text of a failure describes valid input, without the name of the option.
outcome<std::uint64_t> parse_count(std::string_view text);
outcome<std::uint64_t> parse_bytes(std::string_view text);
// A time in nanoseconds, above 0 and below 36 years.
outcome<std::uint64_t> parse_duration(std::string_view text);
// Whether it is a time rather than a count: it ends with a unit of time.
bool looks_like_duration(std::string_view text);
// Above 0 and below 1.
outcome<double> parse_fpr(std::string_view text);
// A share such as 0.2, 20% or 1/5; 0 or more.
outcome<double> parse_share(std::string_view text);
// A number above 0 with decimals.
outcome<double> parse_real(std::string_view text);
// Decimal or 0x hexadecimal, no suffix; all of 64 bits.
outcome<std::uint64_t> parse_seed(std::string_view text);
// -1 for what is no hexadecimal digit.
inline int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string with_commas(std::uint64_t value);
// "1 key", "1,234 keys"
std::string number_of(std::uint64_t value, std::string_view noun);
std::string human_count(double value);
// "1.2 MiB"
std::string human_size(std::uint64_t bytes);
// "1,234,567 bytes (1.2 MiB)"
std::string exact_size(std::uint64_t bytes);
// "30 d", "1.5 h", "250 ms"
std::string human_duration(std::uint64_t ns);
// "1.00 %", "0.0100 %", "1.2e-09"
std::string percent(double share);
// "1.00 % (1 in 100)"
std::string fpr_text(double fpr);

}  // namespace bloomery::cli
