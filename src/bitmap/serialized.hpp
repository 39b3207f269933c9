// A set in the portable encoding of 64-bit Roaring bitmaps: u64 number of parts, then each part: u32 high bits, the portable
// 32-bit encoding, in which each container has its smallest encoding.
#pragma once

#include <bloomery/core/pieces.hpp>
#include <bloomery/core/result.hpp>
#include <cstdint>

#include "src/bitmap/containers.hpp"

namespace bloomery::inline BLOOMERY_ABI {
namespace bitmap_engine_parts {

// In memory, not in a file: each container in the encoding that it has.
std::uint64_t memory_bytes(const integer_set& set) noexcept;
std::uint64_t serialized_bytes(const integer_set& set) noexcept;
result<void> serialize(const integer_set& set, const byte_sink& sink) noexcept;
// A new set, of values that were checked before they were believed.
result<integer_set*> deserialize(const byte_feed& bytes) noexcept;

}  // namespace bitmap_engine_parts
}  // namespace bloomery::inline BLOOMERY_ABI
