// kernels/ribbon.hpp: what a look-up in a ribbon filter does with a digest. This code defines the bits.
//
// A layer is a row of slots, each of as many bits as a fingerprint has. A key has a start among the slots, 64
// coefficients and a fingerprint; the filter was built such that the slots from the start on whose coefficient is 1,
// all xored, are the fingerprint of every key of the layer. Keys that did not fit were bumped into the next layer:
// those that start below the threshold of their bucket. So a look-up walks the layers up to the first that did not bump
// it, and compares there.
//
// Digest      the hash in the first layer is (d ^ d >> 32) * m, d the digest and m the layer's multiplier; that in the
//             next layer is made of this hash in the same way. Start: the upper half of hash * starts. Coefficients and
//             fingerprint: of hash * ribbon_row_multiplier, the two halves xored, bit 0 set; and the upper half.
// Blocks      64 slots, stored by columns: bit i of word j belongs to slot i, and to bit ribbon_bit_of(j) of the
//             fingerprint (an order that vectors come by without shuffling). Blocks before `first_wide` have `columns`
//             words, those from there on one more; a key has as many bits as the block in which it starts.
// Thresholds  a bucket is 256 starts; 2 bits for each, bucket 0 in the lowest bits of byte 0, name one of
//             ribbon_thresholds.
#pragma once

#include <algorithm>
#include <array>
#include <bloomery/core/bytes.hpp>
#include <bloomery/core/wide.hpp>
#include <cstddef>
#include <cstdint>

namespace bloomery::inline BLOOMERY_ABI::kernels {

inline constexpr unsigned ribbon_width = 64;           // coefficients of a key, and slots of a block
inline constexpr unsigned ribbon_bucket_starts = 256;  // that have a threshold together
inline constexpr unsigned ribbon_most_layers = 5;
inline constexpr unsigned ribbon_most_columns = 32;
// A look-up may read so many words beyond the last block.
inline constexpr unsigned ribbon_overflow_words = 8;

// A filter beyond this size is large enough that prefetching its lines pays. Measured: below, look-ups that follow each
// other hide the second cache by themselves.
inline constexpr std::uint64_t ribbon_far_bytes = std::uint64_t{1} << 20U;

inline constexpr std::uint64_t ribbon_row_multiplier = 0x9e3779b97f4a7c15ULL;

// Starts of a bucket below the threshold are bumped. Measured: with these three steps and 2.5 % more keys than
// slots, some 0.4 % of the slots stay empty and 2.9 % of the keys are bumped.
inline constexpr std::array<std::uint64_t, 4> ribbon_thresholds = {0, 16, 44, ribbon_bucket_starts};

inline std::uint64_t ribbon_threshold(unsigned code) noexcept {
  constexpr std::uint64_t packed =
      ribbon_thresholds[3] << 48U | ribbon_thresholds[2] << 32U | ribbon_thresholds[1] << 16U;
  return packed >> (16 * code) & 0xffffU;
}

// Other layers, and other seeds, mix in other ways.
constexpr std::uint64_t ribbon_multiplier(unsigned layer, std::uint64_t seed) noexcept {
  return mix64(seed * ribbon_most_layers + layer + 1) | 1U;
}
constexpr std::uint64_t ribbon_hash(std::uint64_t key, std::uint64_t multiplier) noexcept {
  return (key ^ key >> 32U) * multiplier;
}
// The key that was the input of ribbon_hash.
constexpr std::uint64_t ribbon_unhash(std::uint64_t hash, std::uint64_t multiplier) noexcept {
  std::uint64_t inverse = multiplier;  // right in 3 bits, and in twice as many after each step
  for (int i = 0; i < 5; ++i) inverse *= 2 - multiplier * inverse;
  const std::uint64_t key = hash * inverse;
  return key ^ key >> 32U;
}

struct ribbon_row {
  std::uint64_t coefficients;
  std::uint32_t fingerprint;
};
inline ribbon_row ribbon_row_of(std::uint64_t hash) noexcept {
  const uint128 product = multiply_wide(hash, ribbon_row_multiplier);
  const auto upper = static_cast<std::uint64_t>(product >> 64U);
  return {(upper ^ static_cast<std::uint64_t>(product)) | 1U, static_cast<std::uint32_t>(upper)};
}

// Which bit of the fingerprint a column holds.
constexpr unsigned ribbon_bit_of(unsigned column) noexcept {
  const unsigned i = column % 8;
  return column - i + (i < 4 ? 2 * i + 1 : 2 * i - 8);
}
// The bits of a fingerprint that so many columns hold.
constexpr std::uint32_t ribbon_bits_of(unsigned columns) noexcept {
  std::uint32_t bits = 0;
  for (unsigned j = 0; j < columns; ++j) bits |= std::uint32_t{1} << ribbon_bit_of(j);
  return bits;
}

struct ribbon_layer {
  const std::uint64_t* words = nullptr;
  const std::byte* thresholds = nullptr;
  std::uint64_t multiplier = 0;
  std::uint64_t starts = 0;
  std::uint64_t first_wide = 0;

  [[nodiscard]] std::uint64_t start_of(std::uint64_t hash) const noexcept { return fast_range(hash, starts); }
  [[nodiscard]] static std::uint64_t threshold_byte(std::uint64_t start) noexcept {
    return start / (4 * ribbon_bucket_starts);
  }
  // That of the start's bucket.
  [[nodiscard]] std::uint64_t threshold_of(std::uint64_t start) const noexcept {
    const auto byte = std::to_integer<unsigned>(thresholds[threshold_byte(start)]);
    const unsigned code = byte >> (start / ribbon_bucket_starts % 4 * 2) & 3U;
    return ribbon_threshold(code);
  }
  [[nodiscard]] bool is_bumped(std::uint64_t start) const noexcept {
    return start % ribbon_bucket_starts < threshold_of(start);
  }
};

// The place of a key in its layer: the words of two blocks, and its coefficients as masks of them.
struct ribbon_place {
  std::uint64_t word;
  unsigned columns;  // of the first block, and what is looked up
  bool wide;
  std::uint64_t here;
  std::uint64_t next;
};

// The bit that the slots named by the masks sum up to, of the words of one column in both blocks. All in one byte order.
inline std::uint32_t ribbon_parity(std::uint64_t word, std::uint64_t behind, std::uint64_t here,
                                   std::uint64_t next) noexcept {
  return static_cast<std::uint32_t>(__builtin_parityll((word & here) | (behind & next)));
}

struct ribbon_view {
  std::array<ribbon_layer, ribbon_most_layers> layers{};
  std::uint64_t size_bytes = 0;
  unsigned count = 0;                     // of layers
  unsigned columns = 0;                   // of blocks that are not wide
  std::array<std::uint32_t, 2> wanted{};  // bits of the fingerprint in blocks that are not wide, and in those that are

  [[nodiscard]] std::uint64_t word_of(const ribbon_layer& layer, std::uint64_t block) const noexcept {
    return block * columns + (std::max(block, layer.first_wide) - layer.first_wide);
  }
  [[nodiscard]] ribbon_place place(const ribbon_layer& layer, std::uint64_t start,
                                   std::uint64_t coefficients) const noexcept {
    const std::uint64_t block = start / ribbon_width;
    const std::uint64_t shift = start % ribbon_width;
    const bool wide = block >= layer.first_wide;
    return {.word = word_of(layer, block),
            .columns = columns + (wide ? 1U : 0U),
            .wide = wide,
            .here = coefficients << shift,
            .next = coefficients >> 1U >> (ribbon_width - 1 - shift)};
  }
};

}  // namespace bloomery::inline BLOOMERY_ABI::kernels
