// core/bytes.hpp: the one door through which stored integers pass. Everything that we store is little-endian.
//
// `byte_reader` is bounded: reading past the end returns zero and sets `ok()` to false, so that a parser checks once
// after a group of fields instead of after each.
#pragma once

#include <bit>
#include <bloomery/core/config.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace bloomery::inline BLOOMERY_ABI {

template <std::unsigned_integral T>
constexpr T byte_swap(T value) noexcept {
  T swapped = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    swapped = static_cast<T>(swapped << 8U) | static_cast<T>(value & 0xffU);
    value = static_cast<T>(value >> 8U);
  }
  return swapped;
}

// Host order to little-endian and back (the same operation).
template <std::unsigned_integral T>
constexpr T little_endian(T value) noexcept {
  if constexpr (std::endian::native == std::endian::little || sizeof(T) == 1) {
    return value;
  } else {
    return byte_swap(value);
  }
}

template <std::unsigned_integral T>
T load_le(const void* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return little_endian(value);
}

template <std::unsigned_integral T>
void store_le(void* to, T value) noexcept {
  value = little_endian(value);
  std::memcpy(to, &value, sizeof(T));
}

// For files of other products, some of which store the highest byte first.
template <std::unsigned_integral T>
T load_be(const void* from) noexcept {
  return byte_swap(load_le<T>(from));
}
template <std::unsigned_integral T>
void store_be(void* to, T value) noexcept {
  store_le(to, byte_swap(value));
}

class byte_reader {
 public:
  explicit byte_reader(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  template <std::unsigned_integral T>
  T read() noexcept {
    const auto field = take(sizeof(T));
    return field.empty() ? T{0} : load_le<T>(field.data());
  }
  double read_double() noexcept { return std::bit_cast<double>(read<std::uint64_t>()); }

  // The next `count` bytes, or an empty span (and ok() == false) when there are fewer.
  std::span<const std::byte> take(std::size_t count) noexcept {
    if (count > bytes_.size() - at_) {
      ok_ = false;
      at_ = bytes_.size();
      return {};
    }
    const auto field = bytes_.subspan(at_, count);
    at_ += count;
    return field;
  }
  [[nodiscard]] std::size_t position() const noexcept { return at_; }
  [[nodiscard]] std::size_t remaining() const noexcept { return bytes_.size() - at_; }
  [[nodiscard]] bool ok() const noexcept { return ok_; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

// Writes into a span that the caller sized; a write past the end is dropped and sets ok() to false.
class byte_writer {
 public:
  explicit byte_writer(std::span<std::byte> bytes) noexcept : bytes_(bytes) {}

  template <std::unsigned_integral T>
  void write(T value) noexcept {
    if (sizeof(T) > bytes_.size() - at_) {
      ok_ = false;
      return;
    }
    store_le(bytes_.data() + at_, value);
    at_ += sizeof(T);
  }
  void write_double(double value) noexcept { write(std::bit_cast<std::uint64_t>(value)); }
  void write_bytes(std::span<const std::byte> from) noexcept {
    if (from.size() > bytes_.size() - at_) {
      ok_ = false;
      return;
    }
    if (!from.empty()) std::memcpy(bytes_.data() + at_, from.data(), from.size());
    at_ += from.size();
  }
  [[nodiscard]] std::size_t position() const noexcept { return at_; }
  [[nodiscard]] bool ok() const noexcept { return ok_; }

 private:
  std::span<std::byte> bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace bloomery::inline BLOOMERY_ABI
