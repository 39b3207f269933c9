// What the tests of kind counting share.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <bloomery/kinds/counting.hpp>
#include <cstdlib>
#include <random>
#include <string_view>
#include <vector>

namespace bloomery::counting_testing {

inline constexpr std::array layouts = {"spread", "line"};

inline counting make(std::string_view layout, std::uint64_t keys, double fpr = 0.01) {
  auto made = counting::make({.keys = keys, .fpr = fpr, .layout = layout});
  if (!made) {
    ADD_FAILURE() << describe(made.error()).c_str();
    std::abort();
  }
  return std::move(*made);
}

inline std::uint64_t counter(const counting& filter, std::uint64_t i) {
  return std::to_integer<std::uint64_t>(filter.payload()[i / 2]) >> (4 * (i % 2)) & 15U;
}

}  // namespace bloomery::counting_testing
