// native/text.hpp: a whole native file as text, for mail, tickets and source code.
//
//     -----BEGIN BLOOMERY FILTER-----
//     iUJMTVkNChoBAAEAAQAAAAEAAABAAAAAAAAAAAAAAAAAAAAAAAAAABQAAAAAAAAAFAAAAAAAAAB7
//     ...
//     -----END BLOOMERY FILTER-----
//
// Base64 (RFC 4648, with padding) in lines of 76. Reading allows what copying does to text: CRLF, other line lengths,
// indents, blank lines, white space before and after. Nothing else: a character that is not base64, bits behind the
// end that are not zero and text around the block are errors, and what remains is caught by the file's own checksums.
#pragma once

#include <array>
#include <bloomery/core/result.hpp>
#include <bloomery/native/foreign.hpp>
#include <bloomery/native/sink.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI {

inline constexpr std::string_view text_begin = "-----BEGIN BLOOMERY FILTER-----";
inline constexpr std::string_view text_end = "-----END BLOOMERY FILTER-----";
inline constexpr std::size_t text_line_chars = 76;

namespace detail {

inline constexpr std::string_view base64_alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
inline constexpr std::uint8_t not_base64 = 0xff;

inline constexpr std::array<std::uint8_t, 256> base64_values = [] {
  std::array<std::uint8_t, 256> values{};
  for (auto& value : values) value = not_base64;
  for (std::size_t i = 0; i < base64_alphabet.size(); ++i) {
    values[static_cast<unsigned char>(base64_alphabet[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}();

constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

inline failure bad_character(char c, std::uint64_t at) noexcept {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "byte %llu is 0x%02x", static_cast<unsigned long long>(at),
                static_cast<unsigned>(static_cast<unsigned char>(c)));
  return fail(errc::bad_text, text.data());
}

}  // namespace detail

// The base64 part of a text and what it decodes to; made by find_text, read by decode_text.
struct text_block {
  std::string_view body{};
  std::uint64_t offset = 0;  // of the body in the text, for messages
  std::uint64_t decoded_bytes = 0;
};

// Whether these bytes begin as the text form does.
inline bool is_text_form(std::span<const std::byte> bytes) noexcept {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  while (!text.empty() && detail::is_blank(text.front())) text.remove_prefix(1);
  return text.starts_with(text_begin);
}

// Finds the block and checks its frame, alphabet and padding. Allocates nothing.
inline result<text_block> find_text(std::span<const std::byte> bytes) noexcept {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t begin = text.find(text_begin);
  if (begin == std::string_view::npos) return fail(errc::bad_text, "it has no BEGIN line");
  for (std::size_t i = 0; i < begin; ++i) {
    if (!detail::is_blank(text[i])) return detail::bad_character(text[i], i);
  }
  text_block block;
  block.offset = begin + text_begin.size();
  const std::size_t end = text.find(text_end, block.offset);
  if (end == std::string_view::npos) return fail(errc::bad_text, "it has no END line, so its end is missing");
  for (std::size_t i = end + text_end.size(); i < text.size(); ++i) {
    if (!detail::is_blank(text[i])) return detail::bad_character(text[i], i);
  }
  block.body = text.substr(block.offset, end - block.offset);

  std::uint64_t characters = 0;
  std::uint64_t pads = 0;
  for (std::size_t i = 0; i < block.body.size(); ++i) {
    const char c = block.body[i];
    if (detail::is_blank(c)) continue;
    const bool value = detail::base64_values[static_cast<unsigned char>(c)] != detail::not_base64;
    if ((!value && c != '=') || (value && pads != 0)) return detail::bad_character(c, block.offset + i);
    ++characters;
    pads += value ? 0 : 1;
  }
  if (characters % 4 != 0 || pads > 2) return fail(errc::bad_text, "characters are missing or were added");
  block.decoded_bytes = characters / 4 * 3 - pads;
  return block;
}

// Decodes the first out.size() bytes of the block, or all of it when `out` has block.decoded_bytes.
inline result<void> decode_text(const text_block& block, std::span<std::byte> out) noexcept {
  if (out.size() > block.decoded_bytes) return fail(errc::bad_span, "the text", {block.decoded_bytes, out.size()});
  std::uint32_t held = 0;
  unsigned held_bits = 0;
  std::size_t made = 0;
  for (std::size_t i = 0; i < block.body.size() && made < out.size(); ++i) {
    const std::uint8_t value = detail::base64_values[static_cast<unsigned char>(block.body[i])];
    if (value == detail::not_base64) continue;
    held = held << 6U | value;
    held_bits += 6;
    if (held_bits < 8) continue;
    held_bits -= 8;
    out[made++] = static_cast<std::byte>(held >> held_bits & 0xffU);
    held &= (1U << held_bits) - 1U;
    // In the last quartet, bits that make no byte must be zero, or two texts would be the same file.
    if (made == block.decoded_bytes && held != 0) return fail(errc::bad_text, "its last character is not usable");
  }
  return {};
}

// Turns the bytes written to it into the text form, on their way to another sink. `finish` writes the rest.
class text_writer {
 public:
  explicit text_writer(byte_sink to) noexcept : to_(to) {}

  result<void> write(std::span<const std::byte> bytes) noexcept {
    if (!begun_) {
      begun_ = true;
      if (auto done = write_line(text_begin); !done) return done;
    }
    for (const std::byte b : bytes) {
      held_ = held_ << 8U | std::to_integer<std::uint32_t>(b);
      if (++held_bytes_ < 3) continue;
      if (auto done = put_quartet(3); !done) return done;
    }
    return {};
  }
  result<void> finish() noexcept {
    if (held_bytes_ != 0) {
      const unsigned used = held_bytes_;
      held_ <<= 8U * (3 - used);
      if (auto done = put_quartet(used); !done) return done;
    }
    if (line_ != 0) {
      if (auto done = end_line(); !done) return done;
    }
    return write_line(text_end);
  }

 private:
  result<void> put_quartet(unsigned bytes) noexcept {
    for (unsigned i = 0; i < 4; ++i) {
      const char c = i <= bytes ? detail::base64_alphabet[held_ >> (18U - 6U * i) & 63U] : '=';
      text_[line_++] = static_cast<std::byte>(c);
    }
    held_ = 0;
    held_bytes_ = 0;
    return line_ == text_line_chars ? end_line() : result<void>{};
  }
  result<void> end_line() noexcept {
    text_[line_] = std::byte{'\n'};
    const std::size_t size = line_ + 1;
    line_ = 0;
    return to_(std::span(text_).first(size));
  }
  result<void> write_line(std::string_view line) noexcept {
    if (auto done = to_(std::as_bytes(std::span(line))); !done) return done;
    constexpr std::byte newline{'\n'};
    return to_({&newline, 1});
  }

  byte_sink to_;
  std::array<std::byte, text_line_chars + 1> text_{};
  std::size_t line_ = 0;
  std::uint32_t held_ = 0;
  unsigned held_bytes_ = 0;
  bool begun_ = false;
};

}  // namespace bloomery::inline BLOOMERY_ABI
