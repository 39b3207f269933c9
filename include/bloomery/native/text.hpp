// native/text.hpp: a whole native file as text, for mail, tickets and source code.
//
//     -----BEGIN BLOOMERY FILTER-----
//     iUJMTVkNChoBAAEAAQAAAAEAAABAAAAAAAAAAAAAAAAAAAAAAAAAABQAAAAAAAAAFAAAAAAAAAB7
//     ...
//     -----END BLOOMERY FILTER-----
//
// Base64 (RFC 4648, with padding) in lines of 76. Reading allows what copying does to text: CRLF, other line lengths,
// indents, blank lines, white space before and after. Nothing else: a character that is not base64, bits after the
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

}  // namespace detail

// The base64 part of a text and what it decodes to; made by find_text, read by decode_text.
struct text_block {
  std::string_view body{};
  std::uint64_t offset = 0;  // of the body in the text, for messages
  std::uint64_t decoded_bytes = 0;
};

// Whether these bytes begin as the text encoding does.
BLOOMERY_API bool is_text_form(std::span<const std::byte> bytes) noexcept;

// Finds the block and checks its frame, alphabet and padding. Allocates nothing.
BLOOMERY_API result<text_block> find_text(std::span<const std::byte> bytes) noexcept;

// Decodes the first out.size() bytes of the block, or all of it when `out` has block.decoded_bytes.
BLOOMERY_API result<void> decode_text(const text_block& block, std::span<std::byte> out) noexcept;

// Decodes a block where it is needed. It remembers two places, so that who reads on at two of them, a payload and its
// checksums, decodes all of it twice at most.
class BLOOMERY_API text_reader {
 public:
  // The block's text must outlive the reader.
  explicit text_reader(const text_block& block) noexcept : block_(block) {}
  result<void> read_at(std::uint64_t offset, std::span<std::byte> out) noexcept;

 private:
  struct place {
    std::size_t next = 0;    // character
    std::uint64_t made = 0;  // bytes before it
    std::uint32_t held = 0;  // bits that made none yet
    unsigned held_bits = 0;
  };
  // Without `out`, bytes are passed over.
  result<void> decode(place& at, std::uint64_t bytes, std::byte* out) const noexcept;

  text_block block_;
  std::array<place, 2> places_{};
};

// Turns the bytes written to it into the text encoding, on their way to another sink. `finish` writes the rest.
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

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/native/text.cpp>
#endif
