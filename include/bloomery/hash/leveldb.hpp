// hash/leveldb.hpp: the hash of LevelDB, 32 bits.
//
// Here because LevelDB's filters use it, with seed 0xbc9f1d34. RocksDB has one that takes the last bytes of a key as
// signed: another function. Lengths count modulo 2^32.
//
// It has only 2^32 digests, and the empty key gives the seed itself: weak, and for foreign data only.
#pragma once

#include <bloomery/core/bytes.hpp>
#include <bloomery/hash/concept.hpp>
#include <bloomery/hash/partial.hpp>

namespace bloomery::inline BLOOMERY_ABI {

struct leveldb_hash {
  std::uint32_t seed = 0;

  static constexpr hash_info info{.id = 16,
                                  .name = "leveldb",
                                  .bits = 32,
                                  .seed_bits = 32,
                                  .key_bytes = 0,
                                  .weak = true,
                                  .summary = "LevelDB's own, 32 bits: foreign data only"};

  std::uint64_t operator()(const void* bytes, std::size_t size) const noexcept {
    constexpr std::uint32_t m = 0xc6a4a793U;
    const auto* at = static_cast<const std::byte*>(bytes);
    std::uint32_t h = seed ^ (static_cast<std::uint32_t>(size) * m);
    std::size_t left = size;
    for (; left >= 4; left -= 4, at += 4) {
      h = (h + load_le<std::uint32_t>(at)) * m;
      h ^= h >> 16U;
    }
    if (left != 0) {
      h = (h + static_cast<std::uint32_t>(load_partial_le(at, left))) * m;
      h ^= h >> 24U;
    }
    return h;
  }
};

}  // namespace bloomery::inline BLOOMERY_ABI
