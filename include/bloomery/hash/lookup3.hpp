// hash/lookup3.hpp: lookup3 by Bob Jenkins, as 64 bits (hashlittle2) and as 32 (hashlittle).
//
// Old and slower than MurmurHash3, still found in databases, kernels and network gear. The 64-bit seed carries the two
// 32-bit start values of hashlittle2: pc in the low half, pb in the high half. The digest joins its two results the
// same way: pc + (pb << 32). pb is the less mixed of the two (flipping a bit of the key flips some of its bits with a
// probability that is 0.28 away from one half), so the hash is weak: digests are finished with mix64.
#pragma once

#include <bit>
#include <bloomery/core/bytes.hpp>
#include <bloomery/hash/concept.hpp>
#include <bloomery/hash/partial.hpp>

namespace bloomery::inline BLOOMERY_ABI {

struct lookup3_words {
  std::uint32_t pc = 0;
  std::uint32_t pb = 0;
};

// hashlittle2 of the published code: two start values in, two results out. Lengths count modulo 2^32.
inline lookup3_words lookup3_hashlittle2(const void* bytes, std::size_t size, lookup3_words start) noexcept {
  const auto* at = static_cast<const std::byte*>(bytes);
  std::uint32_t a = 0xdeadbeefU + static_cast<std::uint32_t>(size) + start.pc;
  std::uint32_t b = a;
  std::uint32_t c = a + start.pb;
  // One step: `to` takes over the difference, turned by `turn`, and the third word is added to the second.
  const auto mix_step = [](std::uint32_t& to, std::uint32_t& from, std::uint32_t third, int turn) {
    to -= from;
    to ^= std::rotl(from, turn);
    from += third;
  };
  std::size_t left = size;
  for (; left > 12; left -= 12, at += 12) {
    a += load_le<std::uint32_t>(at);
    b += load_le<std::uint32_t>(at + 4);
    c += load_le<std::uint32_t>(at + 8);
    mix_step(a, c, b, 4);
    mix_step(b, a, c, 6);
    mix_step(c, b, a, 8);
    mix_step(a, c, b, 16);
    mix_step(b, a, c, 19);
    mix_step(c, b, a, 4);
  }
  // Only the empty key leaves nothing here, and it is not mixed at all.
  if (left == 0) return {.pc = c, .pb = b};
  const std::uint64_t low = load_partial_le(at, left < 8 ? left : 8);
  a += static_cast<std::uint32_t>(low);
  b += static_cast<std::uint32_t>(low >> 32U);
  if (left > 8) c += static_cast<std::uint32_t>(load_partial_le(at + 8, left - 8));
  const auto final_step = [](std::uint32_t& to, std::uint32_t from, int turn) {
    to ^= from;
    to -= std::rotl(from, turn);
  };
  final_step(c, b, 14);
  final_step(a, c, 11);
  final_step(b, a, 25);
  final_step(c, b, 16);
  final_step(a, c, 4);
  final_step(b, a, 14);
  final_step(c, b, 24);
  return {.pc = c, .pb = b};
}

// hashlittle of the published code: 32 bits.
inline std::uint32_t lookup3_hashlittle(const void* bytes, std::size_t size, std::uint32_t start = 0) noexcept {
  return lookup3_hashlittle2(bytes, size, {.pc = start, .pb = 0}).pc;
}

struct lookup3 {
  std::uint64_t seed = 0;

  static constexpr hash_info info{.id = 8,
                                  .name = "lookup3",
                                  .bits = 64,
                                  .seed_bits = 64,
                                  .key_bytes = 0,
                                  .weak = true,
                                  .summary = "Jenkins lookup3 (hashlittle2), 64 bits: for foreign data"};

  std::uint64_t operator()(const void* bytes, std::size_t size) const noexcept {
    const auto words = lookup3_hashlittle2(
        bytes, size, {.pc = static_cast<std::uint32_t>(seed), .pb = static_cast<std::uint32_t>(seed >> 32U)});
    return words.pc + (static_cast<std::uint64_t>(words.pb) << 32U);
  }
};

}  // namespace bloomery::inline BLOOMERY_ABI
