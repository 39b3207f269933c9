// hash/byte_key.hpp: where the bytes of a key are.
#pragma once

#include <bloomery/core/config.hpp>
#include <cstddef>

namespace bloomery::inline BLOOMERY_ABI {

// A key's bytes. Not a span: an array of spans is zeroed when it is made, which costs as much as hashing.
struct byte_key {
  const std::byte* first;
  std::size_t count;
  [[nodiscard]] const std::byte* data() const noexcept { return first; }
  [[nodiscard]] std::size_t size() const noexcept { return count; }
};

}  // namespace bloomery::inline BLOOMERY_ABI
