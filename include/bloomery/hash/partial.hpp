// hash/partial.hpp: the last few bytes of a key as an integer.
#pragma once

#include <cstddef>
#include <cstdint>

#include <bloomery/core/bytes.hpp>

namespace bloomery::inline BLOOMERY_ABI {

// The little-endian integer of `size` bytes, 0 to 8; reads no byte outside them.
inline std::uint64_t load_partial_le(const std::byte* from, std::size_t size) noexcept {
  if (size >= 8) return load_le<std::uint64_t>(from);
  if (size >= 4) {
    // Two loads that overlap: the shared bytes agree, so OR joins them.
    const std::uint64_t low = load_le<std::uint32_t>(from);
    const std::uint64_t high = load_le<std::uint32_t>(from + size - 4);
    return low | high << (8U * (size - 4U));
  }
  if (size == 0) return 0;
  // One to three bytes: first, middle and last name each of them at least once.
  const auto first = std::to_integer<std::uint64_t>(from[0]);
  const auto middle = std::to_integer<std::uint64_t>(from[size / 2]);
  const auto last = std::to_integer<std::uint64_t>(from[size - 1]);
  return first | middle << (8U * (size / 2U)) | last << (8U * (size - 1U));
}

}  // namespace bloomery::inline BLOOMERY_ABI
