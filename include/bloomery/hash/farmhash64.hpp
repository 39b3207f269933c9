// hash/farmhash64.hpp: FarmHash Fingerprint64 by Geoff Pike.
//
// FarmHash's Hash64 may differ between machines and versions; Fingerprint64 is promised to stay, so it is the one that
// a file may name. It takes no seed. Keys up to 64 bytes are read in a few overlapping words, longer ones in blocks of
// 64 bytes.
#pragma once

#include <bit>
#include <bloomery/core/bytes.hpp>
#include <bloomery/hash/concept.hpp>
#include <utility>

namespace bloomery::inline BLOOMERY_ABI {

struct farmhash64 {
  static constexpr hash_info info{.id = 9,
                                  .name = "farmhash64",
                                  .bits = 64,
                                  .seed_bits = 0,
                                  .key_bytes = 0,
                                  .weak = false,
                                  .summary = "FarmHash Fingerprint64, 64 bits, no seed"};

  std::uint64_t operator()(const void* bytes, std::size_t size) const noexcept {
    const auto* at = static_cast<const std::byte*>(bytes);
    if (size <= 16) return up_to_16(at, size);
    if (size <= 32) return up_to_32(at, size);
    if (size <= 64) return up_to_64(at, size);
    return over_64(at, size);
  }

 private:
  using u64 = std::uint64_t;
  // Primes between 2^63 and 2^64, from the published code.
  static constexpr u64 k0 = 0xc3a5c85c97cb3127ULL;
  static constexpr u64 k1 = 0xb492b66fbe98f273ULL;
  static constexpr u64 k2 = 0x9ae16a3b2f90404fULL;

  static u64 word(const std::byte* at) noexcept { return load_le<u64>(at); }
  static constexpr u64 shift_mix(u64 value) noexcept { return value ^ (value >> 47U); }
  // Two words to one.
  static constexpr u64 join(u64 u, u64 v, u64 multiplier) noexcept {
    const u64 a = shift_mix((u ^ v) * multiplier);
    return shift_mix((v ^ a) * multiplier) * multiplier;
  }

  static u64 up_to_16(const std::byte* at, std::size_t size) noexcept {
    const u64 multiplier = k2 + size * 2;
    if (size >= 8) {
      const u64 a = word(at) + k2;
      const u64 b = word(at + size - 8);
      return join(std::rotr(b, 37) * multiplier + a, (std::rotr(a, 25) + b) * multiplier, multiplier);
    }
    if (size >= 4) {
      const u64 first = load_le<std::uint32_t>(at);
      return join(size + (first << 3U), load_le<std::uint32_t>(at + size - 4), multiplier);
    }
    if (size == 0) return k2;
    const auto first = std::to_integer<std::uint32_t>(at[0]);
    const auto middle = std::to_integer<std::uint32_t>(at[size / 2]);
    const auto last = std::to_integer<std::uint32_t>(at[size - 1]);
    const std::uint32_t y = first + (middle << 8U);
    const std::uint32_t z = static_cast<std::uint32_t>(size) + (last << 2U);
    return shift_mix((y * k2) ^ (z * k0)) * k2;
  }

  static u64 up_to_32(const std::byte* at, std::size_t size) noexcept {
    const u64 multiplier = k2 + size * 2;
    const u64 a = word(at) * k1;
    const u64 b = word(at + 8);
    const u64 c = word(at + size - 8) * multiplier;
    const u64 d = word(at + size - 16) * k2;
    return join(std::rotr(a + b, 43) + std::rotr(c, 30) + d, a + std::rotr(b + k2, 18) + c, multiplier);
  }

  static u64 up_to_64(const std::byte* at, std::size_t size) noexcept {
    const u64 multiplier = k2 + size * 2;
    const u64 a = word(at) * k2;
    const u64 b = word(at + 8);
    const u64 c = word(at + size - 8) * multiplier;
    const u64 d = word(at + size - 16) * k2;
    const u64 y = std::rotr(a + b, 43) + std::rotr(c, 30) + d;
    const u64 z = join(y, a + std::rotr(b + k2, 18) + c, multiplier);
    const u64 e = word(at + 16) * multiplier;
    const u64 f = word(at + 24);
    const u64 g = (y + word(at + size - 32)) * multiplier;
    const u64 h = (z + word(at + size - 24)) * multiplier;
    return join(std::rotr(e + f, 43) + std::rotr(g, 30) + h, e + std::rotr(f + a, 18) + g, multiplier);
  }

  struct word_pair {
    u64 first = 0;
    u64 second = 0;
  };
  // What the loop over blocks carries along: 56 bytes.
  struct state {
    u64 x = 0;
    u64 y = 0;
    u64 z = 0;
    word_pair v;
    word_pair w;

    static word_pair absorb_32(const std::byte* at, u64 a, u64 b) noexcept {
      const u64 last = word(at + 24);
      const u64 start = a + word(at);
      const u64 sum = start + word(at + 8) + word(at + 16);
      return {.first = sum + last, .second = std::rotr(b + start + last, 21) + std::rotr(sum, 44) + start};
    }

    // One block of 64 bytes. The last block uses another multiplier and weighs two of the words nine times.
    void absorb_64(const std::byte* at, u64 multiplier, u64 weight) noexcept {
      x = std::rotr(x + y + v.first + word(at + 8), 37) * multiplier;
      y = std::rotr(y + v.second + word(at + 48), 42) * multiplier;
      x ^= w.second * weight;
      y += v.first * weight + word(at + 40);
      z = std::rotr(z + w.first, 33) * multiplier;
      v = absorb_32(at, v.second * multiplier, x + w.first);
      w = absorb_32(at + 32, z + w.second, y + word(at + 16));
      std::swap(z, x);
    }
  };

  static u64 over_64(const std::byte* at, std::size_t size) noexcept {
    constexpr u64 start = 81;
    state s;
    s.y = start * k1 + 113;
    s.z = shift_mix(s.y * k2 + 113) * k2;
    s.x = start * k2 + word(at);
    // All full blocks but the last 1 to 64 bytes; then the last 64 bytes, which overlap the block before them.
    const std::byte* const last_64 = at + size - 64;
    const std::byte* const end = at + (size - 1) / 64 * 64;
    for (; at != end; at += 64) s.absorb_64(at, k1, 1);
    const u64 multiplier = k1 + ((s.z & 0xffU) << 1U);
    s.w.first += (size - 1) & 63U;
    s.v.first += s.w.first;
    s.w.first += s.v.first;
    s.absorb_64(last_64, multiplier, 9);
    return join(join(s.v.first, s.w.first, multiplier) + shift_mix(s.y) * k0 + s.z,
                join(s.v.second, s.w.second, multiplier) + s.x, multiplier);
  }
};

}  // namespace bloomery::inline BLOOMERY_ABI
