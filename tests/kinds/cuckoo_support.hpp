// What the tests of kind cuckoo share.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <bloomery/kinds/cuckoo.hpp>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace bloomery::cuckoo_testing {

inline constexpr std::array layouts = {"slots4", "slots2", "window", "sorted"};

inline cuckoo make(const filter_params& params) {
  auto made = cuckoo::make(params);
  if (!made) {
    ADD_FAILURE() << describe(made.error()).c_str();
    std::abort();
  }
  return std::move(*made);
}
inline std::string with_width(const std::string& layout, unsigned bits) { return layout + ":" + std::to_string(bits); }
inline unsigned narrowest(const std::string& layout) { return layout == "sorted" ? 5 : 4; }

inline std::vector<std::uint64_t> random_digests(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 generator(seed);
  std::vector<std::uint64_t> out(count);
  for (auto& digest : out) digest = generator();
  return out;
}

}  // namespace bloomery::cuckoo_testing
