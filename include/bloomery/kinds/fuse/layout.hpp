// kinds/fuse/layout.hpp: the layouts of kind fuse, how many keys their cells hold, and their sizes.
//
// How full. Keys find space when they can be peeled: one that is alone in some cell is taken away, then one that is
// alone now, and so on to the last. In a long row of large segments that is possible up to 0.918 keys (4 cells a key:
// 0.977) for each cell that a first cell may be in; small segments hold less. A few segments hold more than their
// share, because fewer keys reach those at the ends. `few` (1 to 8 segments, in keys for each cell of one segment),
// `share` (what small segments have of that) and `slope` (what each further segment adds) are fitted to what 95 of 100
// sets of random keys were content with, from segments of 2^12 cells on 20 of 20. With 3 cells a key two keys may also
// have the same ones, which nothing but another seed undoes: segments are large enough to make that rare, with all
// shards together. Of the sizes of segments that will do, the one with the fewest cells in all is taken.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <bloomery/core/size.hpp>
#include <bloomery/kernels/fuse.hpp>
#include <bloomery/sizing/sizing.hpp>
#include <cmath>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI {

struct fuse_model {
  static constexpr std::string_view name = "fuse";
  // Keys of a shard, at most: the memory for building is some 15 bytes for each.
  static constexpr std::uint64_t most_shard_keys = std::uint64_t{1} << 24U;
  static constexpr unsigned least_segment_bits = 2;
  static constexpr std::array<unsigned, 3> widths = {8, 16, 32};

  unsigned wise = 3;
  unsigned cell_bits = 8;

  struct table {
    std::array<double, 8> few;
    std::array<double, 17> share;  // by log2 of a segment's cells, from 2 on
    std::array<double, 17> slope;
  };
  static constexpr table wise3 = {
      {2.36, 3.02, 3.68, 4.38, 5.12, 5.88, 6.65, 7.42},
      {0.28, 0.40, 0.45, 0.68, 0.86, 0.94, 0.975, 0.985, 1, 1, 1, 1, 1, 1, 1, 1, 1},
      {0.1, 0.1, 0.1, 0.3, 0.55, 0.76, 0.82, 0.835, 0.86, 0.872, 0.885, 0.893, 0.899, 0.902, 0.904, 0.905, 0.905}};
  static constexpr table wise4 = {
      {2.98, 3.64, 4.29, 4.97, 5.69, 6.43, 7.18, 7.96},
      {0.30, 0.50, 0.75, 0.90, 0.955, 0.975, 0.99, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
      {0.1, 0.2, 0.4, 0.66, 0.785, 0.835, 0.868, 0.89, 0.917, 0.93, 0.945, 0.953, 0.957, 0.96, 0.961, 0.962, 0.962}};

  // Keys that so many segments of 2^bits cells hold.
  [[nodiscard]] double keys_in(std::uint64_t segments, unsigned bits) const noexcept {
    const table& measured = wise == 3 ? wise3 : wise4;
    const std::size_t i = bits - least_segment_bits;
    const std::uint64_t most = measured.few.size();
    double keys = measured.few[to_size(std::min(segments, most) - 1)] * measured.share[i];
    if (segments > most) keys += static_cast<double>(segments - most) * measured.slope[i];
    return std::ldexp(keys, static_cast<int>(bits));
  }
  [[nodiscard]] std::uint64_t segments_for(double keys, unsigned bits) const noexcept {
    std::uint64_t segments = 1;
    while (segments < 8 && keys_in(segments, bits) < keys) ++segments;
    const double missing = std::ldexp(keys - keys_in(segments, bits), -static_cast<int>(bits));
    if (missing <= 0) return segments;
    return segments + static_cast<std::uint64_t>(std::ceil(missing / (wise == 3 ? wise3 : wise4).slope[bits - 2]));
  }
  // Whether two keys of so many seldom have the same cells: 1 filter in 30 of the small ones, 1 in 80 of others. With 4
  // cells a key it is next to never.
  [[nodiscard]] bool tells_apart(std::uint64_t keys, unsigned bits) const noexcept {
    const double most = keys < 100'000 ? 0.08 : 0.03;
    return wise == 4 || static_cast<double>(keys) <= std::ldexp(most, 2 * static_cast<int>(bits));
  }
  [[nodiscard]] kernels::fuse_geometry geometry_for(std::uint64_t keys) const noexcept {
    kernels::fuse_geometry out{.wise = wise, .cell_bits = cell_bits};
    const std::uint64_t shards = std::min(keys == 0 ? 1 : std::bit_ceil((keys - 1) / most_shard_keys + 1),
                                          std::uint64_t{1} << kernels::fuse_geometry::most_shard_bits);
    out.shard_bits = static_cast<unsigned>(std::countr_zero(shards));
    // All shards are of one size, for the largest of them: the number of keys in one varies by its root.
    double most = static_cast<double>(keys) / static_cast<double>(shards);
    if (shards != 1) most += 3.0 * std::sqrt(most);
    std::uint64_t least_cells = ~std::uint64_t{0};
    constexpr unsigned last = least_segment_bits + static_cast<unsigned>(wise3.slope.size()) - 1;
    for (unsigned bits = least_segment_bits; bits <= last; ++bits) {
      if (!tells_apart(keys, bits) && bits != last) continue;
      kernels::fuse_geometry candidate = out;
      candidate.segment_bits = bits;
      candidate.segments = segments_for(most, bits);
      if (candidate.shard_cells() >= least_cells) continue;
      least_cells = candidate.shard_cells();
      out = candidate;
    }
    return out;
  }
  // The same with more space, for sets that could not be peeled: every step is a sixteenth and a segment more.
  static kernels::fuse_geometry larger(kernels::fuse_geometry geometry, std::uint64_t steps) noexcept {
    geometry.segments += geometry.segments * steps / 16 + steps;
    return geometry;
  }
  [[nodiscard]] double fpr() const noexcept { return std::ldexp(1.0, -static_cast<int>(cell_bits)); }
};

// The value of --layout: cells of a key, and their width or 0.
struct fuse_choice {
  unsigned wise = 3;
  unsigned cell_bits = 0;
};

BLOOMERY_API std::string_view fuse_layout_name(unsigned wise, unsigned cell_bits) noexcept;

namespace sizing {

struct fuse_sized {
  kernels::fuse_geometry geometry{};
  size_plan plan{};
  double room = 0;  // bits that it may take, where a size was provided
};

// What a request leaves for the cells, in bits; 0: it gives no size.
BLOOMERY_API double fuse_room(const size_request& request) noexcept;
inline bool fuse_fits(const size_request& request, double room, const size_plan& plan) noexcept {
  if (request.memory_bytes) return static_cast<double>(plan.memory_bytes) * 8.0 <= room;
  return room == 0 || static_cast<double>(plan.bits) <= room;
}

BLOOMERY_API result<fuse_sized> size_fuse(const size_request& request, std::string_view layout) noexcept;

}  // namespace sizing
}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds/fuse/layout.cpp>
#endif
