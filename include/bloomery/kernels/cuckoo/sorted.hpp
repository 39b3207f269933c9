// kernels/cuckoo/sorted.hpp: four slots of a bucket in four bits less.
//
// The order of the slots of a bucket means nothing, so they are kept sorted by their lowest 4 bits. Four sorted numbers
// below 16 can be chosen in C(19, 4) = 3876 ways, and the number of the way fits 12 bits instead of 16:
//
//     number of a <= b <= c <= d    a + C(b + 1, 2) + C(c + 2, 3) + C(d + 3, 4)
//
// Stored are these 12 bits, and above them the upper bits of the four slots in the same order. Slots with the same
// lowest bits are sorted by their upper bits, so that a content has one form.
#pragma once

#include <array>
#include <bloomery/core/config.hpp>
#include <cstdint>

namespace bloomery::inline BLOOMERY_ABI::kernels {

inline constexpr unsigned sorted_numbers = 3876;

constexpr unsigned sorted_number(unsigned a, unsigned b, unsigned c, unsigned d) noexcept {
  return a + (b + 1) * b / 2 + (c + 2) * (c + 1) * c / 6 + (d + 3) * (d + 2) * (d + 1) * d / 24;
}

// The four numbers of each way, the smallest in the lowest 4 bits. Beyond 3876, which no writer stores: zeros.
constexpr std::array<std::uint16_t, 4096> make_sorted_table() noexcept {
  std::array<std::uint16_t, 4096> table{};
  for (unsigned d = 0; d < 16; ++d) {
    for (unsigned c = 0; c <= d; ++c) {
      for (unsigned b = 0; b <= c; ++b) {
        for (unsigned a = 0; a <= b; ++a) {
          table[sorted_number(a, b, c, d)] = static_cast<std::uint16_t>(a | b << 4U | c << 8U | d << 12U);
        }
      }
    }
  }
  return table;
}
inline constexpr std::array<std::uint16_t, 4096> sorted_table = make_sorted_table();

// The lanes of a bucket from what is stored; what is above the bucket in `stored` is passed over.
template <class Word>
Word sorted_unpack(Word stored, unsigned slot_bits) noexcept {
  const std::uint32_t low = sorted_table[static_cast<std::size_t>(stored & 0xfffU)];
  stored >>= 12U;
  const unsigned upper = slot_bits - 4;
  const Word mask = (Word{1} << upper) - 1;
  Word lanes = 0;
  for (unsigned lane = 0; lane < 4; ++lane) {
    const Word slot = (stored & mask) << 4U | (low >> (4 * lane) & 15U);
    lanes |= slot << (lane * slot_bits);
    stored >>= upper;
  }
  return lanes;
}

template <class Word>
Word sorted_pack(Word lanes, unsigned slot_bits) noexcept {
  const Word mask = (Word{1} << slot_bits) - 1;
  // Turned so that the lowest 4 bits come first in the order.
  std::array<std::uint32_t, 4> slot;
  for (unsigned lane = 0; lane < 4; ++lane) {
    const auto value = static_cast<std::uint32_t>(lanes >> (lane * slot_bits) & mask);
    slot[lane] = value >> 4U | value << 28U;
  }
  const auto order = [&slot](unsigned i, unsigned j) {
    const std::uint32_t less = slot[i] < slot[j] ? slot[i] : slot[j];
    slot[j] ^= slot[i] ^ less;
    slot[i] = less;
  };
  order(0, 1);
  order(2, 3);
  order(0, 2);
  order(1, 3);
  order(1, 2);
  Word stored = sorted_number(slot[0] >> 28U, slot[1] >> 28U, slot[2] >> 28U, slot[3] >> 28U);
  const unsigned upper = slot_bits - 4;
  for (unsigned lane = 0; lane < 4; ++lane) {
    stored |= static_cast<Word>(slot[lane] & 0xfffffffU) << (12 + lane * upper);
  }
  return stored;
}

}  // namespace bloomery::inline BLOOMERY_ABI::kernels
