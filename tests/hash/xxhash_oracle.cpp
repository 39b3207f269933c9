// The compiled libxxhash, without any header of ours before it.
#include <xxhash.h>

#include "hash/oracles.hpp"

namespace bloomery_test {

std::uint64_t library_xxh64(const void* bytes, std::size_t size, std::uint64_t seed) {
  return XXH64(bytes, size, seed);
}
std::uint64_t library_xxh3(const void* bytes, std::size_t size, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, size, seed);
}
std::pair<std::uint64_t, std::uint64_t> library_xxh3_128(const void* bytes, std::size_t size, std::uint64_t seed) {
  const XXH128_hash_t digest = XXH3_128bits_withSeed(bytes, size, seed);
  return {digest.low64, digest.high64};
}

}  // namespace bloomery_test
