// kernels/blocked.hpp: the bits of the blocked layouts, and the batch loops over them. Raw words in, masks out.
//
// The scalar functions here define the bits; the AVX2 ones (blocked_avx2.hpp) give the same. d is the digest.
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

namespace bloomery::kernels {

// Odd 32-bit multipliers. The first eight are the constants of the Parquet specification; the others are ours, drawn
// from the fractional bits of the square roots of 2, 3, 5, 7, 11, 13, 17 and 19 and made odd.
inline constexpr std::array<std::uint32_t, 16> blocked_salts = {
    0x47b6137bU, 0x44974d91U, 0x8824ad5bU, 0xa2b7289dU, 0x705495c7U, 0x2df1424bU, 0x9efc4947U, 0x5c6bfb31U,
    0x6a09e667U, 0xbb67ae85U, 0x3c6ef373U, 0xa54ff53bU, 0x510e527fU, 0x9b05688dU, 0x1f83d9abU, 0x5be0cd19U};

inline constexpr std::uint64_t in_block_multiplier = 0x9e3779b97f4a7c15ULL;  // 2^64 / golden ratio, odd

inline constexpr unsigned block_lanes = 8;

// What the batch loops need to know of a filter. Words are little-endian in memory.
struct blocked_view {
  const std::uint64_t* words = nullptr;
  std::uint64_t blocks = 0;
  unsigned hashes = 8;
};

struct split32 {
  static constexpr unsigned lane_bits = 32;
  static constexpr unsigned words = 4;  // 64-bit words a block
  using masks = std::array<std::uint64_t, words>;

  static std::uint64_t block(std::uint64_t digest, std::uint64_t blocks) noexcept {
    return ((digest >> 32U) * blocks) >> 32U;
  }
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

struct split64 {
  static constexpr unsigned lane_bits = 64;
  static constexpr unsigned words = 8;
  using masks = std::array<std::uint64_t, words>;

  static std::uint64_t block(std::uint64_t digest, std::uint64_t blocks) noexcept { return fast_range(digest, blocks); }
  static masks bits(std::uint64_t digest, unsigned hashes) noexcept {
    masks out{};
    const std::uint64_t y = digest * in_block_multiplier;
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

// How many keys ahead the batch loops prefetch; covers memory latency at a few ns a key.
inline constexpr std::size_t blocked_ahead = 24;

// Runs `each(i)` over the batch with the block of key i + blocked_ahead on its way.
template <class Layout, class Each>
inline __attribute__((always_inline)) void blocked_pipeline(const blocked_view& view,
                                                            std::span<const std::uint64_t> digests, Each&& each) {
  const std::size_t count = digests.size();
  const std::size_t lead = count < blocked_ahead ? count : blocked_ahead;
  const std::uint64_t* words = view.words;
  for (std::size_t i = 0; i < lead; ++i) {
    __builtin_prefetch(words + Layout::block(digests[i], view.blocks) * Layout::words);
  }
  for (std::size_t i = 0; i + lead < count; ++i) {
    __builtin_prefetch(words + Layout::block(digests[i + lead], view.blocks) * Layout::words);
    each(i);
  }
  for (std::size_t i = count - lead; i < count; ++i) each(i);
}

template <class Layout>
void blocked_ask_scalar(const blocked_view& view, std::span<const std::uint64_t> digests,
                        std::span<std::uint64_t> mask) noexcept {
  for (std::size_t word = 0; word < (digests.size() + 63) / 64; ++word) mask[word] = 0;
  blocked_pipeline<Layout>(view, digests, [&](std::size_t i) {
    mask[i / 64] |= std::uint64_t{blocked_contains<Layout>(view, digests[i])} << (i % 64);
  });
}

template <class Layout>
std::uint64_t blocked_insert_scalar(std::uint64_t* words, const blocked_view& view,
                                    std::span<const std::uint64_t> digests) noexcept {
  std::uint64_t inserted = 0;
  blocked_pipeline<Layout>(
      view, digests, [&](std::size_t i) { inserted += blocked_insert<Layout>(words, view, digests[i]) ? 1U : 0U; });
  return inserted;
}

}  // namespace bloomery::kernels
