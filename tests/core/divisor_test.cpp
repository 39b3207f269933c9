// Remainders without division, against the division; and a finaliser that can be undone.
#include <gtest/gtest.h>

#include <bloomery/core/divisor.hpp>
#include <vector>

namespace {

using namespace bloomery;

// Every power of two that a divisor may be, its neighbours, and numbers between.
std::vector<std::uint64_t> divisors_to_try() {
  std::vector<std::uint64_t> out;
  for (unsigned power = 0; power < 64; ++power) {
    const std::uint64_t two = std::uint64_t{1} << power;
    for (const std::uint64_t by : {two - 1, two, two + 1, mix64(power) >> (63 - power)}) {
      if (by != 0 && by <= divisor::max) out.push_back(by);
    }
  }
  return out;
}

TEST(Divisor, GivesTheRemainderOfTheDivision) {
  std::uint64_t next = 1;
  for (const std::uint64_t by : divisors_to_try()) {
    const divisor of(by);
    EXPECT_EQ(of.value(), by);
    // Multiples of the divisor and the largest numbers are where a quotient that is one too small would show.
    std::vector<std::uint64_t> numbers = {0, 1, by - 1, by, by + 1, ~std::uint64_t{0}, ~std::uint64_t{0} - 1};
    for (std::uint64_t i = 0; i < 200; ++i) {
      const std::uint64_t random = mix64(next++);
      const std::uint64_t multiple = random / by * by;
      for (const std::uint64_t x : {random, multiple, multiple - 1, multiple + by - 1}) numbers.push_back(x);
    }
    const std::uint64_t last = ~std::uint64_t{0} / by * by;  // the largest multiple
    for (const std::uint64_t x : {last, last - 1, last + 1}) numbers.push_back(x);
    for (const std::uint64_t x : numbers) ASSERT_EQ(of.remainder_of(x), x % by) << x << " by " << by;
  }
}

TEST(Divisor, IsUsableAtCompileTimeAndByDefaultDividesByOne) {
  static_assert(divisor(958).remainder_of(123456789) == 123456789 % 958);
  static_assert(divisor().remainder_of(~std::uint64_t{0}) == 0);
}

TEST(Mix, UnmixGivesTheNumberBackAndTheOtherWayRound) {
  for (std::uint64_t i = 0; i < 100000; ++i) {
    const std::uint64_t x = i < 64 ? std::uint64_t{1} << i : i * 0x9e3779b97f4a7c15ULL;
    ASSERT_EQ(unmix64(mix64(x)), x);
    ASSERT_EQ(mix64(unmix64(x)), x);
  }
  static_assert(unmix64(mix64(0)) == 0 && unmix64(mix64(~std::uint64_t{0})) == ~std::uint64_t{0});
}

}  // namespace
