// hash/spec.hpp: what a file stores of a hash: which one, its seed, and for keyed hashes the key id, never the key.
//
// The key id is a pseudo-random function of the secret key over one fixed text: SipHash-2-4 under 16-byte keys,
// HighwayHash-64 under 32-byte keys. It proves whether a key is the right one and nothing more: recovering the key from
// it means breaking that function. It is never 0.
//
//     const hash_spec spec = spec_of(xxh3{.seed = 7});
#pragma once

#include <array>
#include <bloomery/core/bytes.hpp>
#include <bloomery/hash/concept.hpp>
#include <span>

namespace bloomery::inline BLOOMERY_ABI {

struct hash_spec {
  std::uint32_t id = 1;
  std::uint64_t seed = 0;
  std::uint64_t key_id = 0;  // 0: not keyed
  friend constexpr bool operator==(const hash_spec&, const hash_spec&) = default;
};

// nullptr when there is none.
BLOOMERY_API const hash_info* find_hash(std::string_view name) noexcept;
BLOOMERY_API const hash_info* find_hash(std::uint32_t id) noexcept;

// The id of a secret key of 16 or 32 bytes; 0 for other sizes, which no hash takes.
BLOOMERY_API std::uint64_t key_id_of(std::span<const std::byte> key) noexcept;

// Of a hash chosen at compile time.
template <hash_function H>
hash_spec spec_of(const H& hash) noexcept {
  hash_spec spec{.id = H::info.id};
  if constexpr (H::info.key_bytes != 0) {
    std::array<std::byte, H::info.key_bytes> key{};
    for (std::size_t i = 0; i < hash.key.size(); ++i) store_le(key.data() + 8 * i, hash.key[i]);
    spec.key_id = key_id_of(key);
  } else if constexpr (H::info.seed_bits != 0 && requires { hash.seed; }) {  // a program's own hash may have none
    spec.seed = hash.seed;
  }
  return spec;
}

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/hash/spec.cpp>
#endif
