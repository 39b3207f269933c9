// src/formats/base64.hpp: base64 (RFC 4648) with padding and without line breaks, in both alphabets: the standard one
// with + and /, the URL-safe one with - and _.
#pragma once

#include <array>
#include <bloomery/core/result.hpp>
#include <bloomery/native/sink.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI::formats {

namespace base64 {

inline constexpr std::string_view standard = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
inline constexpr std::string_view url_safe = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// The value of a character in six bits; above them, which alphabets do not have it. What neither has, has both marks.
inline constexpr unsigned not_standard = 0x40;
inline constexpr unsigned not_url_safe = 0x80;
inline constexpr std::array<std::uint8_t, 256> values = [] {
  std::array<std::uint8_t, 256> of{};
  for (auto& value : of) value = not_standard | not_url_safe;
  for (std::size_t i = 0; i < 62; ++i) of[static_cast<unsigned char>(standard[i])] = static_cast<std::uint8_t>(i);
  for (std::size_t i = 62; i < 64; ++i) {
    of[static_cast<unsigned char>(standard[i])] = static_cast<std::uint8_t>(i | not_url_safe);
    of[static_cast<unsigned char>(url_safe[i])] = static_cast<std::uint8_t>(i | not_standard);
  }
  return of;
}();
inline constexpr unsigned value_of(char c) noexcept { return values[static_cast<unsigned char>(c)]; }

}  // namespace base64

inline bool is_base64(char c) noexcept {
  using namespace base64;
  return (value_of(c) & (not_standard | not_url_safe)) != (not_standard | not_url_safe);
}

// How many bytes a text of this size stands for; nothing if none of this size does.
inline std::size_t base64_bytes(std::string_view text) noexcept {
  if (text.empty() || text.size() % 4 != 0) return 0;
  return text.size() / 4 * 3 - (text.ends_with("==") ? 2U : text.ends_with('=') ? 1U : 0U);
}

struct base64_text {
  bool ok = false;
  bool standard = false;  // it has a character that only the standard alphabet has
};

// Decodes the first out.size() bytes, or all, of which there are base64_bytes(text). Characters of both alphabets in
// one text, and bits after the last byte that are not zero, are errors.
inline base64_text decode_base64(std::string_view text, std::span<std::byte> out) noexcept {
  using namespace base64;
  unsigned marks = 0;
  std::size_t at = 0;
  std::size_t made = 0;
  for (; out.size() - made >= 3; at += 4, made += 3) {
    const unsigned a = value_of(text[at]);
    const unsigned b = value_of(text[at + 1]);
    const unsigned c = value_of(text[at + 2]);
    const unsigned d = value_of(text[at + 3]);
    marks |= a | b | c | d;
    const unsigned held = (a & 63U) << 18U | (b & 63U) << 12U | (c & 63U) << 6U | (d & 63U);
    out[made] = static_cast<std::byte>(held >> 16U);
    out[made + 1] = static_cast<std::byte>(held >> 8U & 0xffU);
    out[made + 2] = static_cast<std::byte>(held & 0xffU);
  }
  if (const std::size_t rest = out.size() - made; rest != 0) {
    const unsigned a = value_of(text[at]);
    const unsigned b = value_of(text[at + 1]);
    const unsigned c = rest == 2 ? value_of(text[at + 2]) : 0;
    marks |= a | b | c;
    const unsigned held = (a & 63U) << 18U | (b & 63U) << 12U | (c & 63U) << 6U;
    out[made] = static_cast<std::byte>(held >> 16U);
    if (rest == 2) out[made + 1] = static_cast<std::byte>(held >> 8U & 0xffU);
    const bool last = made + rest == base64_bytes(text);
    if (last && (held & (rest == 2 ? 0xffU : 0xffffU)) != 0) return {};
  }
  return {(marks & (not_standard | not_url_safe)) != (not_standard | not_url_safe), (marks & not_url_safe) != 0};
}

// Encodes what is written to it on the way to another sink. `finish` writes the rest.
class base64_writer {
 public:
  base64_writer(const byte_sink& to, bool standard) noexcept
      : to_(to), alphabet_(standard ? base64::standard : base64::url_safe) {}

  result<void> write(std::span<const std::byte> bytes) noexcept {
    for (const std::byte b : bytes) {
      held_ = held_ << 8U | std::to_integer<std::uint32_t>(b);
      if (++held_bytes_ < 3) continue;
      put(4);
      if (used_ < out_.size()) continue;
      if (auto done = flush(); !done) return done;
    }
    return {};
  }
  result<void> finish() noexcept {
    if (held_bytes_ != 0) {
      const unsigned characters = held_bytes_ + 1;
      held_ <<= 8U * (3 - held_bytes_);
      put(characters);
    }
    return flush();
  }

 private:
  void put(unsigned characters) noexcept {
    for (unsigned i = 0; i < 4; ++i) {
      out_[used_++] = static_cast<std::byte>(i < characters ? alphabet_[held_ >> (18U - 6U * i) & 63U] : '=');
    }
    held_ = 0;
    held_bytes_ = 0;
  }
  result<void> flush() noexcept {
    const auto done = to_(std::span<const std::byte>(out_).first(used_));
    used_ = 0;
    return done;
  }

  byte_sink to_;
  std::string_view alphabet_;
  std::uint32_t held_ = 0;
  unsigned held_bytes_ = 0;
  std::size_t used_ = 0;
  std::array<std::byte, 4096> out_{};
};

}  // namespace bloomery::inline BLOOMERY_ABI::formats
