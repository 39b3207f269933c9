// native/chunks.hpp: the stored payload in chunks of 4096 bytes, each with its own checksum.
//
// A mapped file verifies a chunk when it is first touched, so a chunk is a page: what is checked is what is read
// anyway. The checksum is XXH3-64 seeded with the chunk's index; two chunks that changed places are noticed like a
// changed bit. The table is after the payload, one little-endian u64 a chunk, on an 8-byte boundary; the bytes
// between are zero.
#pragma once

#include <array>
#include <bloomery/core/bytes.hpp>
#include <bloomery/core/result.hpp>
#include <bloomery/core/size.hpp>
#include <bloomery/hash/xxh3.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bloomery::inline BLOOMERY_ABI {

inline constexpr unsigned chunk_size_log2 = 12;
inline constexpr std::uint64_t chunk_bytes = std::uint64_t{1} << chunk_size_log2;
inline constexpr std::uint64_t checksum_bytes = 8;

constexpr std::uint64_t chunk_count(std::uint64_t stored_bytes) noexcept {
  return stored_bytes / chunk_bytes + (stored_bytes % chunk_bytes != 0 ? 1 : 0);
}

// Zero bytes between the stored payload and the table.
constexpr std::uint64_t padding_bytes(std::uint64_t stored_bytes) noexcept { return (8 - stored_bytes % 8) % 8; }

BLOOMERY_API std::uint64_t chunk_checksum(std::uint64_t index, std::span<const std::byte> chunk) noexcept;

// The bytes of chunk `index`; the last one may be short.
inline std::span<const std::byte> chunk_at(std::span<const std::byte> stored, std::uint64_t index) noexcept {
  const std::uint64_t first = index * chunk_bytes;
  const std::uint64_t left = stored.size() - first;
  return stored.subspan(to_size(first), to_size(left < chunk_bytes ? left : chunk_bytes));
}

BLOOMERY_API failure chunk_damaged(std::uint64_t payload_offset, std::uint64_t stored_bytes,
                                   std::uint64_t index) noexcept;

// Padding that is not zero counts as damage of the last chunk, whose neighbour it is.
BLOOMERY_API bool all_zero(std::span<const std::byte> bytes) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/native/chunks.cpp>
#endif
