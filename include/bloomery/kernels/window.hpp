// kernels/window.hpp: the lines of the window filter: 15 lanes and a stamp, how they are queried and written.
//
// Line      64 bytes: 16 lanes of 32 bits, little-endian. Lanes 0 to 14 hold bits. Lane 15 is the stamp: the generation
//           in which the line was last written, a number below the modulus.
// Digest    its high bits choose a line. Of its product with 2^64 / golden ratio, bits 32 to 63 are `probe`; the
//           digest's bit in lane p is bit (probe * multiplier[p] mod 2^32) >> 27.
//
// Two layouts use such lines.
//
// stamped   One line a digest, k lanes a key. In generation G logical lane i is lane (i - G) mod 15, so that what is
//           lane i in one generation is lane i + 1 in the next: a shift moves nothing. A key is written to logical
//           lanes 0 to k - 1. It is there while k logical lanes in a row hold its bits. A line with the stamp S has
//           missed G - S shifts: its first G - S logical lanes are left over from 15 generations before, and are read
//           as zero until an insert clears them. So the modulus must be a multiple of 15.
// rotating  `slots` lines a digest, one after the other, each a small Bloom filter of its own: generation G writes to
//           slot G mod slots, in k lanes from (digest mod 2^32) * 15 / 2^32 on, and around after lane 14. A slot whose
//           stamp is not the youngest generation of that slot is left over, and read as zero. The modulus is a multiple
//           of slots.
//
// A query writes nothing, and may be made for a generation ahead of all that was written. This code defines the bits;
// kernels/window/avx2.hpp gives the same ones.
#pragma once

#include <array>
#include <bit>
#include <bloomery/core/bytes.hpp>
#include <bloomery/core/size.hpp>
#include <bloomery/core/wide.hpp>
#include <cstddef>
#include <cstdint>

namespace bloomery::inline BLOOMERY_ABI::kernels {

inline constexpr std::size_t window_line_bytes = 64;
inline constexpr unsigned window_lanes = 15;
inline constexpr unsigned window_lane_bits = 32;
inline constexpr std::uint32_t window_all_lanes = (1U << window_lanes) - 1;

// Odd, otherwise arbitrary; the last one keeps the stamp's lane out.
alignas(64) inline constexpr std::array<std::uint32_t, 16> window_multipliers = {
    0x35daa571U, 0xf238f89bU, 0x36c68c2bU, 0xa2ac77fdU, 0x678f1f9dU, 0xdb5be285U, 0xee302ee3U, 0x565b8fb5U,
    0x8115dd9bU, 0xa5a7d0e3U, 0x525bb613U, 0x931f33f5U, 0x035e26fbU, 0x81849383U, 0x30575f95U, 0};

// What a filter is at one moment.
struct window_view {
  const std::byte* bytes = nullptr;
  std::uint64_t lines = 0;
  unsigned hashes = 0;           // k
  unsigned slots = 1;            // lines a digest: 1 is stamped
  std::uint32_t generation = 0;  // below the modulus
  std::uint32_t modulus = 0;
  // Of the layout stamped: the lane that is logical lane 0.
  unsigned base = (window_lanes - generation % window_lanes) % window_lanes;

  [[nodiscard]] std::uint64_t line_of(std::uint64_t digest) const noexcept { return fast_range(digest, lines); }
  [[nodiscard]] std::size_t offset_of(std::uint64_t digest) const noexcept {
    return to_size(line_of(digest) * slots * window_line_bytes);
  }
  // How many generations ago a stamp was the generation.
  [[nodiscard]] std::uint32_t gap(std::uint32_t stamp) const noexcept {
    return generation >= stamp ? generation - stamp : generation + (modulus - stamp);
  }
  [[nodiscard]] std::uint32_t generation_before(std::uint32_t age) const noexcept {
    return generation >= age ? generation - age : generation + (modulus - age);
  }
  // The k lanes of a key from logical lane 0 on.
  [[nodiscard]] std::uint32_t key_lanes() const noexcept { return (1U << hashes) - 1; }
};

constexpr std::uint32_t window_probe(std::uint64_t digest) noexcept {
  return static_cast<std::uint32_t>((digest * 0x9e3779b97f4a7c15ULL) >> 32U);
}
constexpr unsigned window_rotation(std::uint64_t digest) noexcept {
  return static_cast<unsigned>(((digest & 0xffffffffU) * window_lanes) >> 32U);
}
constexpr std::uint32_t window_bit(std::uint32_t probe, unsigned lane) noexcept {
  return 1U << ((probe * window_multipliers[lane]) >> 27U);
}

inline std::uint32_t window_lane(const std::byte* line, unsigned lane) noexcept {
  return load_le<std::uint32_t>(line + std::size_t{4} * lane);
}
inline std::uint32_t window_stamp(const std::byte* line) noexcept { return window_lane(line, window_lanes); }

// A mask of lanes, as seen from lane `base`; and back.
constexpr std::uint32_t window_logical(std::uint32_t lanes, unsigned base) noexcept {
  return (lanes >> base | lanes << (window_lanes - base)) & window_all_lanes;
}
constexpr std::uint32_t window_physical(std::uint32_t lanes, unsigned base) noexcept {
  return (lanes << base | lanes >> (window_lanes - base)) & window_all_lanes;
}

// A bit for each lane at which a run of `length` lanes begins.
constexpr std::uint32_t window_runs(std::uint32_t lanes, unsigned length) noexcept {
  for (unsigned have = 1; have < length;) {
    const unsigned step = have < length - have ? have : length - have;
    lanes &= lanes >> step;
    have += step;
  }
  return lanes;
}

// The logical lanes of a line that are not left over.
constexpr std::uint32_t window_live(std::uint32_t gap) noexcept {
  return gap >= window_lanes ? 0U : window_all_lanes & (window_all_lanes << gap);
}

// What an insert found.
struct window_insert_outcome {
  std::size_t taken = 0;
  std::uint64_t inserted = 0;  // of keys that were surely absent
  std::uint64_t counted = 0;   // of keys that set a new bit in this generation
};

// Makes a line, and all its slots, as if it had just been written: for stamps that would grow too old.
inline void window_refresh(std::byte* bytes, const window_view& view, std::uint64_t line) noexcept {
  for (unsigned slot = 0; slot < view.slots; ++slot) {
    std::byte* at = bytes + (line * view.slots + slot) * window_line_bytes;
    std::uint32_t live = 0;
    std::uint32_t stamp = view.generation;
    if (view.slots == 1) {
      live = window_physical(window_live(view.gap(window_stamp(at))), view.base);
    } else {
      const unsigned age = (view.generation % view.slots + view.slots - slot) % view.slots;
      stamp = view.generation_before(age);
      live = window_stamp(at) == stamp ? window_all_lanes : 0U;
    }
    for (unsigned lane = 0; lane < window_lanes; ++lane) {
      if ((live >> lane & 1U) == 0) store_le(at + std::size_t{4} * lane, std::uint32_t{0});
    }
    store_le(at + std::size_t{4} * window_lanes, stamp);
  }
}

// A bit for each lane that holds the probe's bit.
inline std::uint32_t window_lane_hits(const std::byte* line, std::uint32_t probe) noexcept {
  std::uint32_t hits = 0;
  for (unsigned lane = 0; lane < window_lanes; ++lane) {
    hits |= ((window_lane(line, lane) & window_bit(probe, lane)) != 0 ? 1U : 0U) << lane;
  }
  return hits;
}

}  // namespace bloomery::inline BLOOMERY_ABI::kernels
