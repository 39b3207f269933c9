// hash/identity.hpp: the key is the digest. For the `bitmap` kind, which stores integers exactly.
//
// Keys are 8 bytes: the little-endian encoding of the integer, which is what digest_of makes of every integer key.
// Other sizes are refused where keys enter (`hasher::accepts`); what `operator()` returns for them is only defined so
// that nothing is read out of bounds: the integer of the first 8 bytes, or of fewer.
#pragma once

#include <bloomery/hash/concept.hpp>
#include <bloomery/hash/partial.hpp>

namespace bloomery::inline BLOOMERY_ABI {

struct identity {
  static constexpr hash_info info{.id = 13,
                                  .name = "identity",
                                  .bits = 64,
                                  .seed_bits = 0,
                                  .key_bytes = 0,
                                  .weak = false,
                                  .summary = "the 64-bit integer itself: for kind bitmap, integer keys only"};
  // The one key size that is accepted.
  static constexpr std::size_t only_size_bytes = 8;

  std::uint64_t operator()(const void* bytes, std::size_t size) const noexcept {
    return load_partial_le(static_cast<const std::byte*>(bytes), size < 8 ? size : 8);
  }
};

}  // namespace bloomery::inline BLOOMERY_ABI
