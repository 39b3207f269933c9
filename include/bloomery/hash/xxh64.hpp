// hash/xxh64.hpp: XXH64 by Yann Collet, the predecessor of XXH3 and the hash of Parquet's filters.
//
// Use it to meet data of others; for a filter of your own XXH3 is faster, most of all on short keys.
#pragma once

#include <bloomery/hash/concept.hpp>
#include <bloomery/hash/xxhash_inline.hpp>

namespace bloomery::inline BLOOMERY_ABI {

struct xxh64 {
  std::uint64_t seed = 0;

  static constexpr hash_info info{.id = 2,
                                  .name = "xxh64",
                                  .bits = 64,
                                  .seed_bits = 64,
                                  .key_bytes = 0,
                                  .weak = false,
                                  .summary = "XXH64, 64 bits: as in Parquet"};

  std::uint64_t operator()(const void* bytes, std::size_t size) const noexcept { return XXH64(bytes, size, seed); }
};

}  // namespace bloomery::inline BLOOMERY_ABI
