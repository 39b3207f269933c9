// src/formats/rdb.hpp: a value of a Redis module as DUMP returns it and RESTORE takes it.
//
//     byte 7 (module value), the module's id, fields, 0, version of the file format (2 bytes), CRC64 (8 bytes)
//
// A field is an opcode and its value: 2 a number, 4 a double in 8 bytes, 5 a string. Numbers, opcodes and sizes have 6
// bits in one byte, 14 in two (01...), 32 after 0x80 or 64 after 0x81, the highest byte first. A string is a size and
// its bytes; or a number after 0xC0, 0xC1 or 0xC2 (1, 2, 4 bytes, the lowest first), which stands for its digits; or
// after 0xC3 the packed size, the size, and LZF. The checksum is that of Jones over everything before it.
#pragma once

#include <array>
#include <bit>
#include <bloomery/core/bytes.hpp>
#include <bloomery/native/sink.hpp>
#include <charconv>
#include <optional>

#include "src/formats/lzf.hpp"

namespace bloomery::inline BLOOMERY_ABI::formats::rdb {

inline constexpr std::byte module_value{7};
inline constexpr std::uint64_t number_field = 2;
inline constexpr std::uint64_t double_field = 4;
inline constexpr std::uint64_t string_field = 5;
inline constexpr std::uint64_t no_more_fields = 0;
inline constexpr std::size_t footer_bytes = 10;
// That of Redis 7.0. Versions before 8 (Redis 4.0) have no module values of this encoding.
inline constexpr std::uint16_t written_version = 10;
inline constexpr std::uint16_t oldest_version = 8;

inline std::uint64_t crc64(std::uint64_t crc, std::span<const std::byte> bytes) noexcept {
  static constexpr auto table = [] {
    std::array<std::uint64_t, 256> made{};
    for (std::uint64_t i = 0; i < made.size(); ++i) {
      std::uint64_t value = i;
      // The polynomial 0xad93d23594c935a9, its lowest bit first.
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1U) ^ ((value & 1U) != 0 ? 0x95ac9329ac4bc9b5ULL : 0);
      made[to_size(i)] = value;
    }
    return made;
  }();
  for (const std::byte byte : bytes)
    crc = table[to_size((crc ^ std::to_integer<std::uint64_t>(byte)) & 0xffU)] ^ (crc >> 8U);
  return crc;
}

// A string as it is in the file.
struct stored_string {
  enum class packing : std::uint8_t { none, lzf, digits };
  packing packed = packing::none;
  std::span<const std::byte> bytes{};
  std::array<char, 12> digits{};
  std::uint64_t size = 0;  // of the string itself

  // `out` is as long as the string.
  [[nodiscard]] bool unpack(std::span<std::byte> out) const noexcept {
    if (out.size() != size) return false;
    if (packed == packing::lzf) return lzf_unpack(bytes, out);
    const auto from = packed == packing::digits ? std::as_bytes(std::span(digits)).first(to_size(size)) : bytes;
    std::copy(from.begin(), from.end(), out.begin());
    return true;
  }
};

// Bounded: what is not there, or of another kind, returns nothing from then on.
class reader {
 public:
  explicit reader(std::span<const std::byte> bytes) noexcept : from_(bytes) {}

  std::optional<std::uint64_t> number() noexcept {
    if (!opens(number_field)) return {};
    return length();
  }
  std::optional<double> real() noexcept {
    if (!opens(double_field)) return {};
    const double value = from_.read_double();
    if (!from_.ok()) return {};
    return value;
  }
  std::optional<stored_string> string() noexcept {
    if (!opens(string_field)) return {};
    const auto first = from_.take(1);
    if (first.empty()) return {};
    const auto head = std::to_integer<unsigned>(first[0]);
    if (head >= 0xc0) return special_string(head);
    const auto size = length_behind(head);
    if (!size || *size > from_.remaining()) return {};
    return stored_string{.bytes = from_.take(to_size(*size)), .size = *size};
  }
  // A number without an opcode.
  std::optional<std::uint64_t> length() noexcept {
    const auto first = from_.take(1);
    if (first.empty()) return {};
    return length_behind(std::to_integer<unsigned>(first[0]));
  }
  [[nodiscard]] std::size_t remaining() const noexcept { return from_.remaining(); }

 private:
  bool opens(std::uint64_t field) noexcept { return length() == field; }
  std::optional<std::uint64_t> length_behind(unsigned head) noexcept {
    if (head < 0x40) return head;
    const std::size_t more = head < 0x80 ? 1 : head == 0x80 ? 4 : head == 0x81 ? 8 : 0;
    const auto bytes = from_.take(more);
    if (bytes.size() != more || more == 0) return {};
    std::uint64_t value = head < 0x80 ? head & 0x3fU : 0;
    for (const std::byte byte : bytes) value = value << 8U | std::to_integer<std::uint64_t>(byte);
    return value;
  }
  std::optional<stored_string> special_string(unsigned head) noexcept {
    if (head == 0xc3) {
      const auto packed = length();
      const auto size = length();
      if (!packed || !size || *packed > from_.remaining() || *size > lzf_most_bytes(*packed)) return {};
      return stored_string{.packed = stored_string::packing::lzf, .bytes = from_.take(to_size(*packed)), .size = *size};
    }
    std::int32_t value = 0;
    if (head == 0xc0) {
      const std::int32_t low = from_.read<std::uint8_t>();
      value = low < 128 ? low : low - 256;
    } else if (head == 0xc1) {
      value = static_cast<std::int16_t>(from_.read<std::uint16_t>());
    } else if (head == 0xc2) {
      value = static_cast<std::int32_t>(from_.read<std::uint32_t>());
    } else {
      return {};
    }
    if (!from_.ok()) return {};
    stored_string out{.packed = stored_string::packing::digits};
    const auto end = std::to_chars(out.digits.data(), out.digits.data() + out.digits.size(), value).ptr;
    out.size = static_cast<std::uint64_t>(end - out.digits.data());
    return out;
  }

  byte_reader from_;
};

// Writes a value, field by field; `finish` returns whether all of it could be written.
class writer {
 public:
  writer(const byte_sink& to, std::uint64_t module_id) noexcept : to_(to) {
    put(std::array{module_value});
    length(module_id);
  }
  void number(std::uint64_t value) noexcept {
    length(number_field);
    length(value);
  }
  void real(double value) noexcept {
    length(double_field);
    std::array<std::byte, 8> bytes{};
    store_le(bytes.data(), std::bit_cast<std::uint64_t>(value));
    put(bytes);
  }
  void string(std::span<const std::byte> bytes) noexcept {
    length(string_field);
    if (as_number(bytes) || packed(bytes)) return;
    length(bytes.size());
    put(bytes);
  }
  result<void> finish() noexcept {
    length(no_more_fields);
    std::array<std::byte, footer_bytes> footer{};
    store_le(footer.data(), written_version);
    put(std::span(footer).first(2));
    store_le(footer.data() + 2, crc_);
    put(std::span(footer).subspan(2));
    return state_;
  }

 private:
  void put(std::span<const std::byte> bytes) noexcept {
    if (!state_) return;
    crc_ = crc64(crc_, bytes);
    state_ = to_(bytes);
  }
  void length(std::uint64_t value) noexcept {
    std::array<std::byte, 9> bytes{};
    const bool wide = value > UINT32_MAX;
    const std::size_t size = value < 64 ? 0 : value < 16384 ? 1 : wide ? 8 : 4;
    for (std::size_t i = 0; i <= size; ++i) bytes[i] = static_cast<std::byte>(value >> 8U * (size - i) % 64 & 0xffU);
    if (size == 1) bytes[0] |= std::byte{0x40};
    if (size > 1) bytes[0] = wide ? std::byte{0x81} : std::byte{0x80};
    put(std::span(bytes).first(size + 1));
  }
  // A string of up to 11 bytes that is a number as it would be written.
  bool as_number(std::span<const std::byte> bytes) noexcept {
    if (bytes.empty() || bytes.size() > 11) return false;
    const auto* text = reinterpret_cast<const char*>(bytes.data());
    std::int32_t value = 0;
    const auto [end, bad] = std::from_chars(text, text + bytes.size(), value);
    if (bad != std::errc{} || end != text + bytes.size()) return false;
    std::array<char, 12> again{};
    const auto last = std::to_chars(again.data(), again.data() + again.size(), value).ptr;
    if (!std::equal(text, end, again.data(), last)) return false;
    const unsigned form = value >= INT8_MIN && value <= INT8_MAX ? 0 : value >= INT16_MIN && value <= INT16_MAX ? 1 : 2;
    std::array<std::byte, 5> out{static_cast<std::byte>(0xc0U + form)};
    store_le(out.data() + 1, static_cast<std::uint32_t>(value));
    put(std::span(out).first(1 + (std::size_t{1} << form)));
    return true;
  }
  // Strings of more than 20 bytes, when that saves at least four. A refusal of memory leaves them as they are.
  bool packed(std::span<const std::byte> bytes) noexcept {
    if (bytes.size() <= 20 || bytes.size() > UINT32_MAX) return false;
    if (!packer_) {
      auto made = lzf_packer::make();
      if (!made) return false;
      packer_ = std::move(*made);
    }
    auto out = aligned_buffer::make(bytes.size() - 4, "packing");
    if (!out) return false;
    const std::size_t size = packer_->pack(bytes, out->bytes());
    if (size == 0) return false;
    put(std::array{std::byte{0xc3}});
    length(size);
    length(bytes.size());
    put(out->bytes().first(size));
    return true;
  }

  const byte_sink& to_;
  std::uint64_t crc_ = 0;
  result<void> state_{};
  std::optional<lzf_packer> packer_;
};

}  // namespace bloomery::inline BLOOMERY_ABI::formats::rdb
