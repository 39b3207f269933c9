// core/wide.hpp: 64 x 64 -> 128-bit multiplication and checked 64-bit arithmetic.
#pragma once

#include <bloomery/core/config.hpp>
#include <cstdint>
#include <limits>

namespace bloomery::inline BLOOMERY_ABI {

__extension__ using uint128 = unsigned __int128;

namespace detail {
// By four products of 32 x 32 bits, which all processors have.
constexpr uint128 multiply_by_halves(std::uint64_t a, std::uint64_t b) noexcept {
  constexpr std::uint64_t half = 0xffffffffU;
  const std::uint64_t low = (a & half) * (b & half);
  const std::uint64_t first =
      (a >> 32U) * (b & half) + (low >> 32U);  // at most (2^32 - 1) * 2^32: it does not overflow
  const std::uint64_t second = (a & half) * (b >> 32U) + (first & half);
  const std::uint64_t high = (a >> 32U) * (b >> 32U) + (first >> 32U) + (second >> 32U);
  return static_cast<uint128>(high) << 64U | (second << 32U | (low & half));
}
}  // namespace detail

// The whole product. WebAssembly has no such instruction, and compilers call a function there that takes two 128-bit
// numbers.
constexpr uint128 multiply_wide(std::uint64_t a, std::uint64_t b) noexcept {
#if defined(__wasm__)
  return detail::multiply_by_halves(a, b);
#else
  return static_cast<uint128>(a) * b;
#endif
}

// The two halves of the product, united by exclusive or.
inline std::uint64_t folded_product(std::uint64_t a, std::uint64_t b) noexcept {
  const uint128 product = multiply_wide(a, b);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
}

// The same for a factor that was just computed. With BMI2 the instruction is written out: a compiler keeps a number of
// 128 bits in a pair of registers, and g++ 12 pays up to three moves for that.
inline std::uint64_t folded_product_of_computed(std::uint64_t a, std::uint64_t b) noexcept {
#if defined(__x86_64__) && defined(__BMI2__)
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  __asm__("mulx %3, %0, %1" : "=r"(low), "=d"(high) : "d"(a), "r"(b));
  return low ^ high;
#else
  return folded_product(a, b);
#endif
}

// Maps a well-mixed 64-bit value to [0, range) by its high bits: no division, no bias worth the name below 2^57.
constexpr std::uint64_t fast_range(std::uint64_t value, std::uint64_t range) noexcept {
  return static_cast<std::uint64_t>(multiply_wide(value, range) >> 64U);
}

constexpr bool checked_multiply(std::uint64_t a, std::uint64_t b, std::uint64_t& product) noexcept {
  product = a * b;
  return multiply_wide(a, b) >> 64U == 0;
}
constexpr bool checked_add(std::uint64_t a, std::uint64_t b, std::uint64_t& sum) noexcept {
  return !__builtin_add_overflow(a, b, &sum);
}

// A finaliser with full avalanche (the constants are those of MurmurHash3's 64-bit finaliser).
constexpr std::uint64_t mix64(std::uint64_t x) noexcept {
  x ^= x >> 33U;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33U;
  x *= 0xc4ceb9fe1a85ec53ULL;
  x ^= x >> 33U;
  return x;
}

// The x of which this is the mix64.
constexpr std::uint64_t unmix64(std::uint64_t x) noexcept {
  x ^= x >> 33U;
  x *= 0x9cb4b2f8129337dbULL;
  x ^= x >> 33U;
  x *= 0x4f74430c22a54005ULL;
  x ^= x >> 33U;
  return x;
}

}  // namespace bloomery::inline BLOOMERY_ABI
