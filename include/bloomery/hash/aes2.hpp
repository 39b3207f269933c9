// hash/aes2.hpp: integers by two AES rounds. The quickest hash here where the processor has AES instructions, for
// integer keys that nobody chooses.
//
// Two rounds of AES encryption (SubBytes, ShiftRows, MixColumns, AddRoundKey of FIPS 197) of 16 bytes that hold the key
// twice, in little-endian order. The digest is the first 8 bytes of the result:
//
//     s = seed * 0x9e3779b97f4a7c15 mod 2^64;  s = s ^ (s >> 32)
//     round key 1: s ^ 0x13198a2e03707344, then s ^ 0x243f6a8885a308d3           8 bytes each, little-endian
//     round key 2:     0x082efa98ec4e6c89, then     0xa4093822299f31d0
//
// That is three instructions, where XXH3 has thirteen. With the key twice in the block every byte of the digest depends
// on every byte of the key, no two integers have the same digest, and counters, steps, grids and random keys keep the
// FPR of the kind (tests/hash/integer_hashes_test.cpp). Keys with three or four bits set do not: they collide far more
// often than random ones (docs/hashes.md). With zeros in place of the second copy, keys in steps of 2^20
// gave 30 % false positives instead of 0.5 %. Two rounds are no cipher: whoever chooses the keys finds any number of
// false positives; for such keys take siphash13. A key of 8 bytes is the integer that it is in little-endian order;
// keys of any other size get their XXH3 digest under the same seed.
//
// Programs compiled with AES instructions (-march=native, or -maes) inline them; others on x86 call a function where
// the processor has them and AVX2. Elsewhere, ARM included, 16 look-ups in a table of 1 KiB take their place, and mum
// is quicker.
#pragma once

#include <array>
#include <bit>
#include <bloomery/core/bytes.hpp>
#include <bloomery/core/cpu.hpp>
#include <bloomery/hash/xxh3.hpp>

namespace bloomery::inline BLOOMERY_ABI {

namespace detail {

// What a byte of row 0 adds to its column in one round: 2, 1, 1 and 3 times its substitute. A byte of row r adds the
// same, turned by r bytes.
constexpr std::array<std::uint32_t, 256> aes_columns() noexcept {
  const auto doubled = [](unsigned x) { return ((x << 1U) ^ (x >= 0x80 ? 0x11bU : 0U)) & 0xffU; };
  // Powers of 3, which are all bytes but 0, give the inverses: 3^i * 3^(255-i) = 1.
  std::array<std::uint8_t, 256> power{};
  std::array<std::uint8_t, 256> logarithm{};
  unsigned value = 1;
  for (unsigned i = 0; i < 255; ++i) {
    power[i] = static_cast<std::uint8_t>(value);
    logarithm[value] = static_cast<std::uint8_t>(i);
    value = doubled(value) ^ value;
  }
  power[255] = 1;
  std::array<std::uint32_t, 256> columns{};
  for (unsigned x = 0; x < 256; ++x) {
    const std::uint8_t inverse = x == 0 ? std::uint8_t{0} : power[255U - logarithm[x]];
    unsigned substitute = 0x63U ^ inverse;
    for (int turn = 1; turn <= 4; ++turn) substitute ^= std::rotl(inverse, turn);
    const unsigned twice = doubled(substitute);
    columns[x] = twice | substitute << 8U | substitute << 16U | (twice ^ substitute) << 24U;
  }
  return columns;
}
inline constexpr std::array<std::uint32_t, 256> aes_column = aes_columns();

// One column of a round, without its key: row r from the byte r of the r-th word.
inline std::uint32_t aes_mix(std::uint32_t row0, std::uint32_t row1, std::uint32_t row2, std::uint32_t row3) noexcept {
  return aes_column[row0 & 0xffU] ^ std::rotl(aes_column[(row1 >> 8U) & 0xffU], 8) ^
         std::rotl(aes_column[(row2 >> 16U) & 0xffU], 16) ^ std::rotl(aes_column[row3 >> 24U], 24);
}

}  // namespace detail

struct aes2 {
  std::uint64_t seed = 0;

  static constexpr hash_info info{.id = 15,
                                  .name = "aes2",
                                  .bits = 64,
                                  .seed_bits = 64,
                                  .key_bytes = 0,
                                  .weak = false,
                                  .summary = "two AES rounds for integers, the quickest with AVX2; other keys as xxh3"};

  // Fractional bits of pi, as two words of 8 bytes.
  using round_key = std::array<std::uint64_t, 2>;
  static constexpr round_key second_key = {0x082efa98ec4e6c89ULL, 0xa4093822299f31d0ULL};
  [[nodiscard]] round_key first_key() const noexcept {
    const std::uint64_t product = seed * 0x9e3779b97f4a7c15ULL;
    const std::uint64_t spread = product ^ (product >> 32U);
    return {spread ^ 0x13198a2e03707344ULL, spread ^ 0x243f6a8885a308d3ULL};
  }

  [[nodiscard]] std::uint64_t integer(std::uint64_t key) const noexcept {
#if defined(__x86_64__) && defined(__AES__)
    return by_instructions(key, first_key());
#else
#if defined(__x86_64__)
    if (active_isa() == isa::avx2 || active_isa() == isa::avx512) return by_instructions(key, first_key());
#endif
    return by_table(key, first_key());
#endif
  }
  std::uint64_t operator()(const void* bytes, std::size_t size) const noexcept {
    if (size == 8) return integer(load_le<std::uint64_t>(static_cast<const std::byte*>(bytes)));
    return xxh3{.seed = seed}(bytes, size);
  }

  // The definition, for every processor.
  static std::uint64_t by_table(std::uint64_t key, const round_key& first) noexcept {
    const auto low = static_cast<std::uint32_t>(key);
    const auto high = static_cast<std::uint32_t>(key >> 32U);
    // The key twice: columns 2 and 3 are columns 0 and 1 again until the round key is added.
    const std::uint64_t even = detail::aes_mix(low, high, low, high);
    const std::uint64_t odd = detail::aes_mix(high, low, high, low);
    const std::uint64_t front = first[0] ^ (even | odd << 32U);
    const std::uint64_t back = first[1] ^ (even | odd << 32U);
    const auto column0 = static_cast<std::uint32_t>(front);
    const auto column1 = static_cast<std::uint32_t>(front >> 32U);
    const auto column2 = static_cast<std::uint32_t>(back);
    const auto column3 = static_cast<std::uint32_t>(back >> 32U);
    const std::uint64_t digest_low = detail::aes_mix(column0, column1, column2, column3);
    const std::uint64_t digest_high = detail::aes_mix(column1, column2, column3, column0);
    return second_key[0] ^ (digest_low | digest_high << 32U);
  }

#if defined(__x86_64__)
  __attribute__((target("aes"))) static std::uint64_t by_instructions(std::uint64_t key,
                                                                      const round_key& first) noexcept {
    using block = long long __attribute__((vector_size(16)));
    const auto word = [](std::uint64_t value) { return static_cast<long long>(value); };
    block state = {word(key), word(key)};
    state = __builtin_ia32_aesenc128(state, block{word(first[0]), word(first[1])});
    state = __builtin_ia32_aesenc128(state, block{word(second_key[0]), word(second_key[1])});
    return static_cast<std::uint64_t>(state[0]);
  }
#endif
};

}  // namespace bloomery::inline BLOOMERY_ABI
