// What the tests of kind cascade share.
#pragma once

#include <gtest/gtest.h>

#include <bloomery/kinds/cascade.hpp>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace bloomery::cascade_testing {

using digest_list = std::vector<std::uint64_t>;

inline digest_list random_digests(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 generator(seed);
  digest_list out(count);
  for (auto& digest : out) digest = generator();
  return out;
}

// Two lists that have nothing in common.
struct lists {
  digest_list included;
  digest_list excluded;

  static lists random(std::uint64_t seed, std::size_t in, std::size_t out) {
    return {random_digests(2 * seed + 1, in), random_digests(2 * seed + 2, out)};
  }
};

inline cascade built(const lists& of, const filter_params& params = {}, unsigned threads = 1) {
  lists copy = of;
  auto made = cascade::build(params, copy.included, copy.excluded, threads);
  if (!made) {
    ADD_FAILURE() << describe(made.error()).c_str();
    std::abort();
  }
  return std::move(*made);
}
inline std::string error_of(lists of, const filter_params& params = {}) {
  const auto made = cascade::build(params, of.included, of.excluded, 1);
  return made ? "" : std::string(describe(made.error()).view());
}

// How many digests get another answer than this one, looked up at once or one by one.
inline std::uint64_t wrong_answers(const cascade& filter, const digest_list& digests, bool right) {
  std::vector<std::uint64_t> mask(mask_words(digests.size()), 0x5555555555555555U);
  filter.may_contain_batch(digests, mask);
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < digests.size(); ++i) {
    const bool answer = (mask[i / 64] >> (i % 64) & 1U) != 0;
    wrong += answer != right || filter.may_contain(digests[i]) != right ? 1U : 0U;
  }
  if (digests.size() % 64 != 0) {
    EXPECT_EQ(mask.back() >> (digests.size() % 64), 0U) << "bits beyond the last answer";
  }
  return wrong;
}
inline std::uint64_t wrong_answers(const cascade& filter, const lists& of) {
  return wrong_answers(filter, of.included, true) + wrong_answers(filter, of.excluded, false);
}

inline double bits_of(const cascade& filter) { return static_cast<double>(filter.memory_bytes()) * 8.0; }

}  // namespace bloomery::cascade_testing
