#include <gtest/gtest.h>

#include <array>
#include <bloomery/core/wide.hpp>
#include <limits>

namespace bloomery {
namespace {

constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
constexpr std::array<std::uint64_t, 12> corners = {0,
                                                   1,
                                                   2,
                                                   0xffffffffU,
                                                   std::uint64_t{1} << 32U,
                                                   (std::uint64_t{1} << 32U) + 1,
                                                   (std::uint64_t{1} << 63U) - 1,
                                                   std::uint64_t{1} << 63U,
                                                   0xffffffff00000000U,
                                                   0x9e3779b97f4a7c15U,
                                                   largest - 1,
                                                   largest};

void expect_product(std::uint64_t a, std::uint64_t b) {
  const uint128 expected = static_cast<uint128>(a) * b;
  const uint128 by_halves = detail::multiply_by_halves(a, b);
  ASSERT_TRUE(by_halves == expected) << a << " * " << b;
  ASSERT_TRUE(multiply_wide(a, b) == expected) << a << " * " << b;
  ASSERT_EQ(fast_range(a, b), static_cast<std::uint64_t>(expected >> 64U));
  std::uint64_t product = 0;
  ASSERT_EQ(checked_multiply(a, b, product), expected >> 64U == 0) << a << " * " << b;
  ASSERT_EQ(product, static_cast<std::uint64_t>(expected));
}

TEST(MultiplyWide, ByHalvesIsTheProductAtEveryCorner) {
  for (const std::uint64_t a : corners) {
    for (const std::uint64_t b : corners) expect_product(a, b);
  }
}

TEST(MultiplyWide, ByHalvesIsTheProductOfAnyNumbers) {
  for (std::uint64_t i = 0; i < 100'000; ++i) expect_product(mix64(i), mix64(~i) >> (i % 64));
}

static_assert(detail::multiply_by_halves(largest, largest) >> 64U == largest - 1);
static_assert(static_cast<std::uint64_t>(detail::multiply_by_halves(largest, largest)) == 1);

}  // namespace
}  // namespace bloomery
