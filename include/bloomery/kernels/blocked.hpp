// kernels/blocked.hpp: the bits of the blocked layouts, and the batch loops over them. Raw words in, masks out.
//
// The scalar functions here define the bits; those of the instruction sets (blocked_avx2.hpp and so on) give the same.
// d is the digest.
//
// split32  block of 8 x 32 bits = 32 bytes, k = 8. block = ((d >> 32) * blocks) >> 32; lane i gets bit
//          (low half of d * salt[i] mod 2^32) >> 27. With d = XXH64, seed 0, this is Parquet's filter to the bit.
// split64  block of 8 x 64 bits = one cache line, k = 1..16. block = floor(d * blocks / 2^64).
//          y = d * in_block_multiplier mod 2^64, x = y >> 32, r = (y >> 29) & 7.
//          Lane i gets bit (x * salt[i] mod 2^32) >> 26 if (i - r) mod 8 < k, so for k >= 8 every lane does; and a
//          second one, (x * salt[8 + i] mod 2^32) >> 26, if (i - r) mod 8 < k - 8.
//          The block comes from the high bits of d, x from a product that depends on all of them.
#pragma once

#include <array>
#include <bloomery/core/bytes.hpp>
#include <bloomery/core/cpu.hpp>
#include <bloomery/core/wide.hpp>
#include <cstdint>
#include <span>

namespace bloomery::inline BLOOMERY_ABI::kernels {

// Odd 32-bit multipliers. The first eight are the constants of the Parquet specification; the others are ours, drawn
// from the fractional bits of the square roots of 2, 3, 5, 7, 11, 13, 17 and 19 and made odd.
inline constexpr std::array<std::uint32_t, 16> blocked_salts = {
    0x47b6137bU, 0x44974d91U, 0x8824ad5bU, 0xa2b7289dU, 0x705495c7U, 0x2df1424bU, 0x9efc4947U, 0x5c6bfb31U,
    0x6a09e667U, 0xbb67ae85U, 0x3c6ef373U, 0xa54ff53bU, 0x510e527fU, 0x9b05688dU, 0x1f83d9abU, 0x5be0cd19U};

// The same, each in the lower half of 64 bits, as vector units want them for products of 64 bits.
constexpr std::array<std::uint64_t, 16> make_wide_salts() noexcept {
  std::array<std::uint64_t, 16> wide{};
  for (unsigned i = 0; i < 16; ++i) wide[i] = blocked_salts[i];
  return wide;
}
alignas(64) inline constexpr std::array<std::uint64_t, 16> wide_salts = make_wide_salts();

inline constexpr std::uint64_t in_block_multiplier = 0x9e3779b97f4a7c15ULL;  // 2^64 / golden ratio, odd

inline constexpr unsigned block_lanes = 8;

// What the batch loops need to know of a filter. Words are little-endian in memory.
struct blocked_view {
  const std::uint64_t* words = nullptr;
  std::uint64_t blocks = 0;
  unsigned hashes = 8;
};

// The number of hash functions of a layout that has no choice: passed to a function, it takes no register.
struct eight_hashes {
  constexpr eight_hashes() noexcept = default;
  constexpr explicit eight_hashes(unsigned /*hashes*/) noexcept {}
  constexpr operator unsigned() const noexcept { return 8; }  // NOLINT(google-explicit-constructor): it is that number
};

struct BLOOMERY_API split32 {
  static constexpr unsigned lane_bits = 32;
  static constexpr unsigned words = 4;  // 64-bit words a block
  static constexpr bool fixed = true;   // k is 8
  using hash_count = eight_hashes;
  using masks = std::array<std::uint64_t, words>;

  static std::uint64_t block(std::uint64_t digest, std::uint64_t blocks) noexcept {
    return ((digest >> 32U) * blocks) >> 32U;
  }
  static std::uint64_t in_block(std::uint64_t digest) noexcept { return digest; }  // what the bits come from
  static masks bits(std::uint64_t digest, unsigned /*hashes*/) noexcept {
    masks out{};
    const auto x = static_cast<std::uint32_t>(digest);
    for (unsigned lane = 0; lane < block_lanes; ++lane) {
      const unsigned bit = (x * blocked_salts[lane]) >> 27U;
      out[lane / 2] |= std::uint64_t{1} << (bit + 32 * (lane % 2));
    }
    return out;
  }
};

struct BLOOMERY_API split64 {
  static constexpr unsigned lane_bits = 64;
  static constexpr unsigned words = 8;
  static constexpr bool fixed = false;
  using hash_count = unsigned;
  using masks = std::array<std::uint64_t, words>;

  static std::uint64_t block(std::uint64_t digest, std::uint64_t blocks) noexcept { return fast_range(digest, blocks); }
  static std::uint64_t in_block(std::uint64_t digest) noexcept { return digest * in_block_multiplier; }
  static masks bits(std::uint64_t digest, unsigned hashes) noexcept {
    masks out{};
    const std::uint64_t y = in_block(digest);
    const auto x = static_cast<std::uint32_t>(y >> 32U);
    const auto rotation = static_cast<unsigned>(y >> 29U) & 7U;
    // Which lanes are used depends on the key, so no branch on it; how many depends on the filter.
    for (unsigned lane = 0; lane < block_lanes; ++lane) {
      const std::uint64_t used = ((lane - rotation) & 7U) < hashes ? 1 : 0;
      out[lane] = used << ((x * blocked_salts[lane]) >> 26U);
    }
    if (hashes <= block_lanes) return out;
    for (unsigned lane = 0; lane < block_lanes; ++lane) {
      const std::uint64_t used = ((lane - rotation) & 7U) < hashes - block_lanes ? 1 : 0;
      out[lane] |= used << ((x * blocked_salts[block_lanes + lane]) >> 26U);
    }
    return out;
  }
};

template <class Layout>
bool blocked_contains(const blocked_view& view, std::uint64_t digest) noexcept {
  const std::uint64_t* block = view.words + Layout::block(digest, view.blocks) * Layout::words;
  const auto masks = Layout::bits(digest, view.hashes);
  std::uint64_t missing = 0;
  for (unsigned i = 0; i < Layout::words; ++i) missing |= little_endian(masks[i]) & ~block[i];
  return missing == 0;
}

template <class Layout>
bool blocked_insert(std::uint64_t* words, const blocked_view& view, std::uint64_t digest) noexcept {
  std::uint64_t* block = words + Layout::block(digest, view.blocks) * Layout::words;
  const auto masks = Layout::bits(digest, view.hashes);
  std::uint64_t missing = 0;
  for (unsigned i = 0; i < Layout::words; ++i) {
    const std::uint64_t mask = little_endian(masks[i]);
    missing |= mask & ~block[i];
    block[i] |= mask;
  }
  return missing != 0;
}

// So many keys are prepared together: hashed, their blocks computed and the lines prefetched, while the same number
// before them is looked up. One word of the mask is one such group. Enough to cover memory latency at two ns a key and
// more.
inline constexpr std::size_t blocked_group = 64;
// A filter beyond this size is read from main memory.
inline constexpr std::uint64_t blocked_far_bytes = std::uint64_t{64} << 20U;

// The keys between prefetch and probe: their block, and what their bits come from.
struct blocked_keys {
  alignas(64) std::array<const std::uint64_t*, blocked_group> block;
  alignas(64) std::array<std::uint64_t, blocked_group> y;
};

// Which lanes of a block a key uses: all of them once (k = 8, and split32), some (k < 8), or all once and some a second
// time (k > 8). One loop for each, so that the loops have no branch on k.
enum class lane_case : std::uint8_t { every, some, twice };
template <lane_case Case>
struct case_tag {};

// All ones in the lanes that a key with this rotation uses; a row for each rotation, 8 lanes of 64 bits.
struct lane_rows {
  alignas(64) std::array<std::array<std::uint64_t, 8>, 8> row{};
};
constexpr std::array<lane_rows, 9> make_lane_rows() noexcept {
  std::array<lane_rows, 9> table{};
  for (unsigned count = 0; count <= 8; ++count) {
    for (unsigned rotation = 0; rotation < 8; ++rotation) {
      for (unsigned lane = 0; lane < 8; ++lane) {
        table[count].row[rotation][lane] = ((lane - rotation) & 7U) < count ? ~std::uint64_t{0} : 0U;
      }
    }
  }
  return table;
}
inline constexpr std::array<lane_rows, 9> active_lanes = make_lane_rows();
inline const lane_rows* rows_for(unsigned hashes) noexcept {
  return &active_lanes[hashes > block_lanes ? hashes - block_lanes : hashes];
}
inline const std::uint64_t* row_of(const lane_rows* rows, std::uint64_t y) noexcept {
  return rows->row[(y >> 29U) & 7U].data();
}

// How many of the lowest eight bits are set, without the instruction that not every processor has.
constexpr unsigned bits_of_byte(unsigned byte) noexcept {
  const unsigned pairs = byte - ((byte >> 1U) & 0x55U);
  const unsigned fours = (pairs & 0x33U) + ((pairs >> 2U) & 0x33U);
  return (fours + (fours >> 4U)) & 0xfU;
}

}  // namespace bloomery::inline BLOOMERY_ABI::kernels
