#include <bloomery/native/chunks.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY std::uint64_t chunk_checksum(std::uint64_t index, std::span<const std::byte> chunk) noexcept {
  return xxh3{.seed = index}(chunk.data(), chunk.size());
}

BLOOMERY_BODY failure chunk_damaged(std::uint64_t payload_offset, std::uint64_t stored_bytes,
                                    std::uint64_t index) noexcept {
  const std::uint64_t first = index * chunk_bytes;
  const std::uint64_t end = stored_bytes - first < chunk_bytes ? stored_bytes : first + chunk_bytes;
  return fail(errc::chunk_damaged, {}, {index, payload_offset + first, payload_offset + end - 1});
}

BLOOMERY_BODY bool all_zero(std::span<const std::byte> bytes) noexcept {
  for (const std::byte b : bytes) {
    if (b != std::byte{0}) return false;
  }
  return true;
}

}  // namespace bloomery::inline BLOOMERY_ABI
