// hash/hbase.hpp: the three hashes of HBase's Bloom filters, 32 bits each, and the pair that a filter makes of each.
//
//     hbase-jenkins   type 0: lookup3 (hashlittle)
//     hbase-murmur    type 1, the default: MurmurHash2, but the last 1 to 3 bytes of a key are signed, which is another
//                     function for keys with a byte from 0x80 on there
//     hbase-murmur3   type 2: MurmurHash3 x86_32
//
// A filter hashes a key with 0 and then with the first result as seed. The pair has 64 bits in all, in the low halves of
// two words: enough to read such filters, and nothing to build new ones with.
#pragma once

#include <bloomery/core/bytes.hpp>
#include <bloomery/core/wide.hpp>
#include <bloomery/hash/concept.hpp>
#include <bloomery/hash/lookup3.hpp>
#include <bloomery/hash/murmur2.hpp>
#include <bloomery/hash/murmur3.hpp>

namespace bloomery::inline BLOOMERY_ABI {

// MurmurHash2 with signed last bytes: a negative one inverts the bits above it.
inline std::uint32_t hbase_murmur2_32(const void* bytes, std::size_t size, std::uint32_t seed) noexcept {
  return detail::murmur2_with_tail(bytes, size, seed, [](const std::byte* at, std::size_t left) {
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < left; ++i) {
      number ^= static_cast<std::uint32_t>(static_cast<std::int32_t>(static_cast<std::int8_t>(at[i]))) << (8 * i);
    }
    return number;
  });
}

namespace detail {

// Function: a type with static of(bytes, size, seed).
template <class Function>
struct hbase_pair {
  [[nodiscard]] digest128 hash128(const void* bytes, std::size_t size) const noexcept {
    const std::uint32_t first = Function::of(bytes, size, 0);
    return {first, Function::of(bytes, size, first)};
  }
  std::uint64_t operator()(const void* bytes, std::size_t size) const noexcept {
    const digest128 both = hash128(bytes, size);
    return mix64(both.low | (both.high << 32U));
  }
};

struct hbase_jenkins_32 {
  static std::uint32_t of(const void* bytes, std::size_t size, std::uint32_t seed) noexcept {
    return lookup3_hashlittle(bytes, size, seed);
  }
};
struct hbase_murmur_32 {
  static std::uint32_t of(const void* bytes, std::size_t size, std::uint32_t seed) noexcept {
    return hbase_murmur2_32(bytes, size, seed);
  }
};
struct hbase_murmur3_32 {
  static std::uint32_t of(const void* bytes, std::size_t size, std::uint32_t seed) noexcept {
    return static_cast<std::uint32_t>(murmur3_x86_32{seed}(bytes, size));
  }
};

}  // namespace detail

struct hbase_jenkins : detail::hbase_pair<detail::hbase_jenkins_32> {
  static constexpr hash_info info{.id = 24,
                                  .name = "hbase-jenkins",
                                  .bits = 128,
                                  .seed_bits = 0,
                                  .key_bytes = 0,
                                  .weak = false,
                                  .halves = true,
                                  .summary = "lookup3 twice, 2 x 32 bits, no seed: filters of HBase"};
};

struct hbase_murmur : detail::hbase_pair<detail::hbase_murmur_32> {
  static constexpr hash_info info{.id = 25,
                                  .name = "hbase-murmur",
                                  .bits = 128,
                                  .seed_bits = 0,
                                  .key_bytes = 0,
                                  .weak = false,
                                  .halves = true,
                                  .summary = "MurmurHash2 with signed last bytes twice, 2 x 32 bits: HBase's default"};
};

struct hbase_murmur3 : detail::hbase_pair<detail::hbase_murmur3_32> {
  static constexpr hash_info info{.id = 26,
                                  .name = "hbase-murmur3",
                                  .bits = 128,
                                  .seed_bits = 0,
                                  .key_bytes = 0,
                                  .weak = false,
                                  .halves = true,
                                  .summary = "MurmurHash3 x86_32 twice, 2 x 32 bits, no seed: filters of HBase"};
};

}  // namespace bloomery::inline BLOOMERY_ABI
