// core/divisor.hpp: remainders by a number that is fixed for long, without a division each.
//
//     const bloomery::divisor bits(958);
//     std::uint64_t position = bits.remainder_of(hash);       // hash % 958, exactly, for every hash
//
// Filters of other products take hash mod m with any m. The divisor keeps the reciprocal v, the largest number with
// v * m < 2^64. The high word of x * v is then the quotient of x, or one less: x * v / 2^64 is at most x / m, and it is
// more than x / m - 1 because v is more than 2^64 / m - 1 - 1 / m. So one subtraction, made or not, mends it.
#pragma once

#include <bloomery/core/wide.hpp>
#include <cstdint>

namespace bloomery::inline BLOOMERY_ABI {

class divisor {
 public:
  static constexpr std::uint64_t max = std::uint64_t{1} << 63U;

  constexpr divisor() noexcept = default;
  // From 1 to max, beyond which twice the divisor would overflow.
  constexpr explicit divisor(std::uint64_t by) noexcept : by_(by), reciprocal_(~std::uint64_t{0} / by) {}

  [[nodiscard]] constexpr std::uint64_t value() const noexcept { return by_; }
  [[nodiscard]] constexpr std::uint64_t remainder_of(std::uint64_t x) const noexcept {
    const std::uint64_t rest = x - fast_range(x, reciprocal_) * by_;
    return rest >= by_ ? rest - by_ : rest;
  }

 private:
  std::uint64_t by_ = 1;
  std::uint64_t reciprocal_ = ~std::uint64_t{0};
};

}  // namespace bloomery::inline BLOOMERY_ABI
