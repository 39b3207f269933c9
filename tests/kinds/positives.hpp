// What tests of false-positive rates share.
#pragma once

#include <algorithm>
#include <bit>
#include <bloomery/kinds/concept.hpp>
#include <cstdint>
#include <span>
#include <vector>

namespace bloomery::kinds_testing {

// How many of so many digests, other ones for each seed, may be there.
template <filter_kind K>
std::uint64_t positives_of(const K& filter, std::uint64_t seed, std::uint64_t queries) {
  constexpr std::size_t group = 4096;
  std::vector<std::uint64_t> digests(group);
  std::vector<std::uint64_t> mask(mask_words(group));
  std::uint64_t positives = 0;
  for (std::uint64_t first = 0; first < queries; first += group) {
    const std::size_t size = std::min<std::uint64_t>(group, queries - first);
    for (std::size_t i = 0; i < size; ++i) digests[i] = mix64(mix64(seed) + (first + i) * 0x9e3779b97f4a7c15ULL);
    filter.may_contain_batch(std::span(digests).first(size), mask);
    for (std::size_t word = 0; word < mask_words(size); ++word) {
      positives += static_cast<std::uint64_t>(std::popcount(mask[word]));
    }
  }
  return positives;
}

}  // namespace bloomery::kinds_testing
