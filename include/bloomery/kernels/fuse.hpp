// kernels/fuse.hpp: the cells of the binary fuse filter: which ones a digest has, and look-ups in batches. Bytes in,
// masks out.
//
// The scalar code here defines the cells. Cells are in segments of 2^b, segments in shards; a key has one cell in each
// of 3 or 4 segments that follow each other, and is there when these cells, all xored, are its fingerprint.
//
//     x     = (digest ^ seed) * 0x9e3779b97f4a7c15 mod 2^64
//     shard = the upper shard_bits bits of x; r = the 32 bits below them
//     first = shard * cells of a shard + floor(r * S * 2^b / 2^32)     S: segments that a first cell may be in
//     y     = (x ^ (x >> 32)) * 0xd1342543de82ef95 mod 2^64
//     cell i = (first + i * 2^b) ^ (bits 64 - i * b and up of y, b of them)     i = 1, 2 (3)
//     fingerprint = the lowest 8, 16 or 32 bits of y
//
// A shard has S + 2 (S + 3) segments. x ascends with the first cell, so that keys sorted by x are where their cells
// are: that is what makes building fast. Another seed is another x of every digest. Cells of more than a byte are
// little-endian.
#pragma once

#include <array>
#include <bloomery/core/bytes.hpp>
#include <bloomery/hash/digest_feed.hpp>
#include <cstddef>
#include <cstdint>

namespace bloomery::inline BLOOMERY_ABI::kernels {

inline constexpr std::uint64_t fuse_scatter = 0x9e3779b97f4a7c15ULL;  // 2^64 / golden ratio, odd
inline constexpr std::uint64_t fuse_spread = 0xd1342543de82ef95ULL;

// The number that takes fuse_scatter back: each step of Newton's method doubles the bits that are right, from 3 on.
constexpr std::uint64_t fuse_inverse(std::uint64_t odd) noexcept {
  std::uint64_t inverse = odd;
  for (int i = 0; i < 5; ++i) inverse *= 2 - odd * inverse;
  return inverse;
}
inline constexpr std::uint64_t fuse_gather = fuse_inverse(fuse_scatter);
static_assert(fuse_scatter * fuse_gather == 1);

constexpr std::uint64_t fuse_x_of(std::uint64_t digest, std::uint64_t seed) noexcept {
  return (digest ^ seed) * fuse_scatter;
}
constexpr std::uint64_t fuse_digest_of(std::uint64_t x, std::uint64_t seed) noexcept { return x * fuse_gather ^ seed; }

struct fuse_geometry {
  std::uint64_t seed = 0;
  std::uint64_t segments = 1;  // of a shard, that a first cell may be in
  unsigned segment_bits = 2;   // log2 of the cells of a segment
  unsigned shard_bits = 0;     // log2 of the shards
  unsigned wise = 3;           // cells of a key
  unsigned cell_bits = 8;

  // Numbers beyond these are refused: products then stay within 64 bits, and a cell of a shard within 32.
  static constexpr unsigned most_segment_bits = 20;
  static constexpr unsigned most_shard_bits = 32;
  static constexpr std::uint64_t most_shard_cells = std::uint64_t{1} << 31U;

  [[nodiscard]] std::uint64_t shards() const noexcept { return std::uint64_t{1} << shard_bits; }
  [[nodiscard]] std::uint64_t starts() const noexcept { return segments << segment_bits; }
  [[nodiscard]] std::uint64_t shard_cells() const noexcept { return (segments + wise - 1) << segment_bits; }
  [[nodiscard]] std::uint64_t cells() const noexcept { return shard_cells() << shard_bits; }
  // In whole words.
  [[nodiscard]] std::uint64_t payload_bytes() const noexcept { return (cells() * (cell_bits / 8) + 7) / 8 * 8; }
  bool operator==(const fuse_geometry&) const = default;
};

// The cells of one key.
template <unsigned Wise>
struct fuse_key {
  std::array<std::uint64_t, Wise> at;
  std::uint64_t y;  // its lowest bits are the fingerprint
};

// A geometry as look-ups want it.
struct fuse_places {
  std::uint64_t seed = 0;
  std::uint64_t starts = 0;
  std::uint64_t shard_cells = 0;
  std::uint64_t segment_cells = 0;
  unsigned segment_bits = 0;
  unsigned shard_bits = 0;

  fuse_places() noexcept = default;
  explicit fuse_places(const fuse_geometry& geometry) noexcept
      : seed(geometry.seed),
        starts(geometry.starts()),
        shard_cells(geometry.shard_cells()),
        segment_cells(std::uint64_t{1} << geometry.segment_bits),
        segment_bits(geometry.segment_bits),
        shard_bits(geometry.shard_bits) {}

  template <unsigned Wise>
  [[nodiscard]] fuse_key<Wise> of_x(std::uint64_t x) const noexcept {
    fuse_key<Wise> key;
    key.y = (x ^ (x >> 32U)) * fuse_spread;
    const std::uint64_t r = x << shard_bits >> 32U;
    key.at[0] = r * starts >> 32U;
    // A branch that is always guessed right, for four instructions that most filters do not need.
    if (shard_bits != 0) key.at[0] += (x >> (64U - shard_bits)) * shard_cells;
    for (unsigned i = 1; i < Wise; ++i) {
      key.at[i] = (key.at[0] + i * segment_cells) ^ (key.y << ((i - 1) * segment_bits) >> (64U - segment_bits));
    }
    return key;
  }
  template <unsigned Wise>
  [[nodiscard]] fuse_key<Wise> of(std::uint64_t digest) const noexcept {
    return of_x<Wise>(fuse_x_of(digest, seed));
  }
};

// The cells themselves, to be queried. `none`: there are no keys, and whatever the cells hold, none is there.
template <class Cell, unsigned Wise>
struct fuse_table {
  const std::byte* bytes;
  fuse_places places;
  Cell never;

  fuse_table(const std::byte* cells, const fuse_places& of, bool none) noexcept
      : bytes(cells), places(of), never(static_cast<Cell>(none ? 1 : 0)) {}

  [[nodiscard]] std::uint64_t size_bytes() const noexcept {
    return (places.shard_cells << places.shard_bits) * sizeof(Cell);
  }
  [[nodiscard]] const std::byte* address(std::uint64_t cell) const noexcept { return bytes + cell * sizeof(Cell); }
  [[nodiscard]] Cell load(std::uint64_t cell) const noexcept { return load_le<Cell>(address(cell)); }
  [[nodiscard]] bool contains(std::uint64_t digest) const noexcept {
    const fuse_key<Wise> key = places.of<Wise>(digest);
    auto left = static_cast<Cell>(key.y);
    for (const std::uint64_t cell : key.at) left = static_cast<Cell>(left ^ load(cell));
    return static_cast<Cell>(left | never) == 0;
  }
};

// The cells of 64 keys, cell by cell.
template <unsigned Wise>
struct fuse_group {
  static constexpr std::size_t size = 64;
  alignas(32) std::array<std::array<std::uint64_t, size>, Wise> at;
  alignas(32) std::array<std::uint64_t, size> y;
};

// A filter up to this size is near enough for the processor to overlap its loads by itself.
inline constexpr std::uint64_t fuse_near_bytes = std::uint64_t{2} << 20U;

}  // namespace bloomery::inline BLOOMERY_ABI::kernels
