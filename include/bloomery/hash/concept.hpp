// hash/concept.hpp: what a hash function is here.
//
// A hash turns bytes into a digest: 64 bits by default, 128 where the number of keys and the false-positive rate need
// more (see docs/hashes.md). It is a small value: its members are the seed or the secret key, nothing else.
//
//     bloomery::xxh3 hash{.seed = 7};
//     std::uint64_t digest = hash(key.data(), key.size());
//
// A digest must be well mixed in all of its bits, because kinds take positions from its high bits. A function that is
// not (`info.weak`) is finished with mix64 where digests are made (hasher.hpp); `operator()` is always the raw
// function.
#pragma once

#include <array>
#include <bloomery/core/wide.hpp>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI {

struct digest128 {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend constexpr bool operator==(const digest128&, const digest128&) = default;
};

// Four words, for the one product whose filters need them (bits-and-blooms).
struct digest256 {
  std::array<std::uint64_t, 4> word{};
  friend constexpr bool operator==(const digest256&, const digest256&) = default;
};

struct hash_info {
  std::uint32_t id = 0;       // stored in files: never reused, never changed
  std::string_view name;      // as passed to --hash
  unsigned bits = 64;         // of the widest digest: 32, 64 or 128
  unsigned seed_bits = 64;    // 0: takes no seed (the seed must be 0)
  std::size_t key_bytes = 0;  // of the secret key; 0: not keyed
  bool weak = false;          // digests are finished with mix64
  bool halves = false;        // its two words hold 32 bits each: to read filters of a product, not for large new ones
  std::string_view summary;   // one line for `bloomery hashes`
};

// Every hash has `static constexpr hash_info info` and `std::uint64_t operator()(const void*, std::size_t) const`.
template <class H>
concept hash_function = requires(const H hash, const void* bytes, std::size_t size) {
  { H::info } -> std::convertible_to<const hash_info&>;
  { hash(bytes, size) }
  noexcept->std::same_as<std::uint64_t>;
};

// Hashes of 128 bits also have `digest128 hash128(const void*, std::size_t) const`; its low word need not be the
// digest.
template <class H>
concept hash128_function = hash_function<H> && requires(const H hash, const void* bytes, std::size_t size) {
  { hash.hash128(bytes, size) }
  noexcept->std::same_as<digest128>;
};

// And of 256 bits `digest256 hash256(const void*, std::size_t) const`.
template <class H>
concept hash256_function = hash_function<H> && requires(const H hash, const void* bytes, std::size_t size) {
  { hash.hash256(bytes, size) }
  noexcept->std::same_as<digest256>;
};

// Hashes that take an integer key from a register, with the value that its 8 little-endian bytes have.
template <class H>
concept integer_hash = hash_function<H> && !H::info.weak && requires(const H hash, std::uint64_t key) {
  { hash.integer(key) }
  noexcept->std::same_as<std::uint64_t>;
};

}  // namespace bloomery::inline BLOOMERY_ABI
