// hash/murmur3_spark.hpp: MurmurHash3 x86_32 as Apache Spark has it, twice.
//
// Here because Spark's Bloom filters use it. The function differs from the published one in what it does with the last
// 1 to 3 bytes of a key: each is taken as a signed number and mixed in as a whole word. Keys of whole words, integers
// of 8 bytes among them, have the published value. A digest is two hashes: the second, in the upper half, is seeded
// with the first.
#pragma once

#include <bit>
#include <bloomery/core/bytes.hpp>
#include <bloomery/hash/concept.hpp>

namespace bloomery::inline BLOOMERY_ABI {

struct murmur3_spark {
  std::uint32_t seed = 0;

  static constexpr hash_info info{.id = 22,
                                  .name = "murmur3-spark",
                                  .bits = 64,
                                  .seed_bits = 32,
                                  .key_bytes = 0,
                                  .weak = true,
                                  .summary = "MurmurHash3 x86_32 twice, as Spark changed it: Spark's Bloom filters"};

  static std::uint32_t once(const void* bytes, std::size_t size, std::uint32_t with) noexcept {
    const auto* at = static_cast<const std::byte*>(bytes);
    std::uint32_t h = with;
    std::size_t left = size;
    for (; left >= 4; left -= 4, at += 4) h = mixed(h, load_le<std::uint32_t>(at));
    for (; left != 0; --left, ++at) {
      const auto signed_byte = static_cast<std::int8_t>(std::to_integer<std::uint8_t>(*at));
      h = mixed(h, static_cast<std::uint32_t>(std::int32_t{signed_byte}));
    }
    h ^= static_cast<std::uint32_t>(size);
    h = (h ^ (h >> 16U)) * 0x85ebca6bU;
    h = (h ^ (h >> 13U)) * 0xc2b2ae35U;
    return h ^ (h >> 16U);
  }
  std::uint64_t operator()(const void* bytes, std::size_t size) const noexcept {
    const std::uint32_t first = once(bytes, size, seed);
    return first | std::uint64_t{once(bytes, size, first)} << 32U;
  }

 private:
  static constexpr std::uint32_t mixed(std::uint32_t h, std::uint32_t word) noexcept {
    h ^= std::rotl(word * 0xcc9e2d51U, 15) * 0x1b873593U;
    return std::rotl(h, 13) * 5 + 0xe6546b64U;
  }
};

}  // namespace bloomery::inline BLOOMERY_ABI
