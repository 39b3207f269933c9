// core/overlap.hpp: how many keys two filters of the same cells have in common.
//
//     auto common = bloomery::estimate_overlap(cells, fill_a, fill_b, fill_both);
//     common.keys;                    // |A| + |B| - |A or B|
//     common.low, common.high;        // the true number is between them in 95 of 100 cases
//
// The cells that two filters both use are not those of their common keys alone: keys of one collide with other keys of
// the other. So the number is not that of the fill of the intersection, but |A| + |B| - |A or B|, each from its own
// fill; a cell is used in the union if it is in one of the two, so that the fill of the union is fill_a + fill_b -
// fill_both.
//
// Derivation    M cells, k of them used by a key; a share z of cells is free with n keys, and n = M/k ln(1/z). The
//               common keys are M/k ln(zU / (zA zB)). With keys in a number that is Poisson, cells are independent, and
//               by the delta method M Var ln(zU / (zA zB)) = 1/zU - 1/zA - 1/zB + 2 zU/(zA zB) - 1. The number of
//               common keys is what it is, not Poisson: its own variance, k/M of it in these units, ln(zU / (zA zB)),
//               is taken away. For A = B this is the variance of linear counting (Whang, Vander-Zanden, Taylor, ACM
//               TODS 15, 1990).
// Blocks        where the cells of a key are in one of B blocks, each with a share t of the block's cells, keys fall
//               into blocks unevenly. That cancels to first order, and adds t^2 (a b + c^2 / 2) / B: a and b are the
//               keys of one filter alone, c the common ones.
// Hashes        are taken to mix well: the cells of a key are independent of those of other keys.
// Three sets    the intersection of two with a third: cells that are used by chance in the first two are the more
//               likely so in the third the more keys that has in common with one of them. Then `keys` is more than the
//               truth, never less but by chance: an upper bound.
#pragma once

#include <algorithm>
#include <bloomery/core/config.hpp>
#include <cmath>
#include <cstdint>

namespace bloomery::inline BLOOMERY_ABI {

// Of a filter whose number of keys can be estimated from the share of its cells that are in use.
struct cell_shape {
  std::uint64_t cells = 0;   // bits or counters; 0: another kind of filter
  unsigned hashes = 0;       // cells of a key
  std::uint64_t blocks = 0;  // of which each holds all cells of a key; 0: they are anywhere
};

struct overlap {
  double keys = 0;
  double low = 0;
  double high = 0;
};

namespace detail {

inline double share_free(const cell_shape& shape, double fill) noexcept {
  const double least =
      0.5 / static_cast<double>(shape.cells);  // all cells are used: the number of keys is a lower bound
  return std::min(1.0, std::max(least, 1.0 - fill));
}

}  // namespace detail

BLOOMERY_API overlap estimate_overlap(const cell_shape& shape, double fill_a, double fill_b, double fill_both) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/core/overlap.cpp>
#endif
