// hash/digest.hpp: from bytes to the digest that a filter takes.
//
// The same calls serve a hash chosen at compile time (`xxh3`) and one chosen at run time (`hasher`); both are
// `digester`s. A digest differs from the raw function only for weak hashes, which are finished with mix64.
//
//     std::uint64_t digest = bloomery::digest_bytes(bloomery::xxh3{}, key.data(), key.size());
#pragma once

#include <bloomery/core/bytes.hpp>
#include <bloomery/hash/concept.hpp>
#include <span>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI {

// A hash chosen at run time (hasher.hpp).
template <class H>
concept run_time_hash = requires(const H hash, const void* bytes, std::size_t size) {
  { hash.info() } -> std::same_as<const hash_info&>;
  { hash.digest(bytes, size) } -> std::same_as<std::uint64_t>;
  { hash.digest128_of(bytes, size) } -> std::same_as<digest128>;
};

template <class H>
concept digester = hash_function<H> || run_time_hash<H>;

// Takes an integer key from a register.
template <class H>
concept integer_digester = integer_hash<H> ||(run_time_hash<H>&& requires(const H hash, std::uint64_t key) {
  { hash.integer(key) } -> std::same_as<std::uint64_t>;
});

template <digester H>
const hash_info& info_of(const H& hash) noexcept {
  if constexpr (hash_function<H>) {
    return H::info;
  } else {
    return hash.info();
  }
}

template <digester H>
std::uint64_t digest_bytes(const H& hash, const void* bytes, std::size_t size) noexcept {
  if constexpr (!hash_function<H>) {
    return hash.digest(bytes, size);
  } else if constexpr (H::info.weak) {
    return mix64(hash(bytes, size));
  } else {
    return hash(bytes, size);
  }
}

// 128 bits. Of a hash with fewer bits (see `info_of(hash).bits`) the high word is computed from the low one: it adds no
// information, but every call has a defined answer. At compile time such a hash is refused.
template <digester H>
digest128 digest128_bytes(const H& hash, const void* bytes, std::size_t size) noexcept {
  if constexpr (hash_function<H>) {
    static_assert(hash128_function<H>, "this hash has no 128-bit digest: use xxh3 or murmur3_x64_128");
    static_assert(H::info.bits == 128 && !H::info.weak);
    return hash.hash128(bytes, size);
  } else {
    return hash.digest128_of(bytes, size);
  }
}

}  // namespace bloomery::inline BLOOMERY_ABI
