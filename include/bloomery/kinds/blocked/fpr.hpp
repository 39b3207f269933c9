// kinds/blocked/fpr.hpp: the exact false-positive rate of the blocked layouts.
//
// A block has 8 lanes of L bits. A key with rotation r (0..7) draws one bit in each lane l with (l - r) mod 8 < min(k,
// 8), and a second one in each lane with (l - r) mod 8 < k - 8. All draws are uniform and independent. A query probes
// the same way; by symmetry take its rotation as 0. With c draws in a lane so far, and q1 = 1 - 1/L, q2 = 1 - 2/L:
//   a lane probed once answers yes with probability   1 - q1^c
//   a lane probed twice                               1 - (2 - 1/L) q1^c + (1 - 1/L) q2^c
// The FPR is the mean of the product over the probed lanes. Multiplied out, each term is a coefficient times the mean
// of prod_l base_l^(c_l). Each of the n keys falls into the block with probability 1/blocks and then multiplies the
// term by v_r = prod_l base_l^(draws of rotation r in lane l), so that mean is (1 - (1 - mean_r v_r) / blocks)^n: no
// Poisson approximation, right for one block as for 2^40. At most 3^8 terms (k = 16); 256 for k = 8.
#pragma once

#include <array>
#include <bloomery/core/config.hpp>
#include <cmath>
#include <cstdint>

namespace bloomery::inline BLOOMERY_ABI {

class blocked_fpr {
 public:
  static constexpr unsigned lanes = 8;

  blocked_fpr(unsigned lane_bits, unsigned hashes) noexcept
      : once_(hashes < lanes ? hashes : lanes), twice_(hashes > lanes ? hashes - lanes : 0) {
    const double width = static_cast<double>(lane_bits);
    base_ = {1.0, 1.0 - 1.0 / width, 1.0 - 2.0 / width};
    once_factor_ = {1.0, -1.0, 0.0};
    twice_factor_ = {1.0, -(2.0 - 1.0 / width), 1.0 - 1.0 / width};
    for (unsigned lane = 0; lane < lanes; ++lane) {
      for (unsigned rotation = 0; rotation < lanes; ++rotation) {
        const unsigned distance = (lane + lanes - rotation) % lanes;
        draws_[lane][rotation] = (distance < once_ ? 1U : 0U) + (distance < twice_ ? 1U : 0U);
      }
    }
  }

  [[nodiscard]] double operator()(std::uint64_t keys, std::uint64_t blocks) const noexcept {
    std::array<double, lanes> product{};
    product.fill(1.0);
    const double rate = sum(0, 1.0, product, static_cast<double>(keys), static_cast<double>(blocks));
    // The terms are of size 1 and alternate, so that rounding leaves noise near 1e-13; nothing below is claimed.
    if (!(rate > floor)) return floor;
    return rate < 1.0 ? rate : 1.0;
  }

  static constexpr double floor = 1e-12;

 private:
  [[nodiscard]] double sum(unsigned lane, double factor, const std::array<double, lanes>& product, double keys,
                           double blocks) const noexcept {
    if (lane == once_) {  // the lanes from here on are not probed
      double mean = 0;
      for (const double v : product) mean += v;
      mean /= static_cast<double>(lanes);
      const double missing = (1.0 - mean) / blocks;
      return factor * (missing >= 1.0 ? 0.0 : std::exp(keys * std::log1p(-missing)));
    }
    const auto& factors = lane < twice_ ? twice_factor_ : once_factor_;
    double total = 0;
    for (std::size_t choice = 0; choice < 3; ++choice) {
      if (factors[choice] == 0.0) continue;
      std::array<double, lanes> next = product;
      for (unsigned rotation = 0; rotation < lanes; ++rotation) {
        for (unsigned draw = 0; draw < draws_[lane][rotation]; ++draw) next[rotation] *= base_[choice];
      }
      total += sum(lane + 1, factor * factors[choice], next, keys, blocks);
    }
    return total;
  }

  unsigned once_;
  unsigned twice_;
  std::array<double, 3> base_{};
  std::array<double, 3> once_factor_{};
  std::array<double, 3> twice_factor_{};
  std::array<std::array<unsigned, lanes>, lanes> draws_{};
};

// The FPR of one block whose lanes are so full: the mean, over the lane that the first of k probes falls into, of the
// product of the fills of the lanes that it and the next ones read.
BLOOMERY_API double rate_of_lanes(const std::array<double, 8>& fill, unsigned hashes) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds/blocked/fpr.cpp>
#endif
