// src/formats/crc32c.hpp: CRC-32C (Castagnoli), a byte at a time: what is checked with it here is small.
#pragma once

#include <array>
#include <bloomery/core/config.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bloomery::inline BLOOMERY_ABI::formats {

namespace detail {

constexpr std::array<std::uint32_t, 256> crc32c_table() noexcept {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t rest = i;
    for (int bit = 0; bit < 8; ++bit) rest = rest >> 1U ^ ((rest & 1U) != 0 ? 0x82f63b78U : 0U);
    table[i] = rest;
  }
  return table;
}

}  // namespace detail

constexpr std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept {
  constexpr auto table = detail::crc32c_table();
  std::uint32_t rest = 0xffffffffU;
  for (const std::byte byte : bytes) rest = rest >> 8U ^ table[(rest ^ std::to_integer<std::uint32_t>(byte)) & 0xffU];
  return ~rest;
}

}  // namespace bloomery::inline BLOOMERY_ABI::formats
