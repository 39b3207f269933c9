// How many keys two filters have in common: the interval holds the true number as often as it claims.
#include <gtest/gtest.h>

#include <bloomery/kinds/blocked.hpp>
#include <bloomery/kinds/bloom.hpp>
#include <bloomery/kinds/counting.hpp>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace bloomery;

struct keys_of_two {
  std::size_t a, b, common;
};

template <class K>
K filled(const filter_params& params, const std::vector<std::uint64_t>& own, const std::vector<std::uint64_t>& common) {
  auto filter = K::make(params);
  if (!filter) ADD_FAILURE() << describe(filter.error()).c_str();
  filter->add_batch(own);
  filter->add_batch(common);
  return std::move(*filter);
}

std::vector<std::uint64_t> digests(std::mt19937_64& random, std::size_t count) {
  std::vector<std::uint64_t> out(count);
  for (auto& digest : out) digest = random();
  return out;
}

// Over many pairs: how often the interval holds the truth, and how far the mean of the estimates is from it.
struct coverage {
  double held = 0;
  double mean = 0;
  double stored = 0;  // mean of what the filter reports of its keys
};

template <class K>
coverage measure(const filter_params& params, const keys_of_two& sizes, unsigned pairs) {
  std::mt19937_64 random(20261118);
  coverage out;
  for (unsigned i = 0; i < pairs; ++i) {
    const auto common = digests(random, sizes.common);
    auto a = filled<K>(params, digests(random, sizes.a - sizes.common), common);
    const auto b = filled<K>(params, digests(random, sizes.b - sizes.common), common);
    const double fill_a = a.fill();
    EXPECT_TRUE(a.intersect(b));
    const overlap found = estimate_overlap(a.cells(), fill_a, b.fill(), a.fill());
    EXPECT_LE(found.low, found.keys);
    EXPECT_GE(found.high, found.keys);
    const auto truth = static_cast<double>(sizes.common);
    out.held += found.low <= truth && truth <= found.high ? 1.0 / pairs : 0.0;
    out.mean += found.keys / pairs;
    out.stored += static_cast<double>(a.keys().keys) / pairs;
    EXPECT_FALSE(a.keys().exact);
  }
  return out;
}

template <class K>
void expect_coverage(const char* layout, double fpr = 0.01) {
  constexpr unsigned pairs = 300;
  const filter_params params{.keys = 2000, .fpr = fpr, .layout = layout};
  for (const keys_of_two& sizes : {keys_of_two{2000, 2000, 200}, {2000, 2000, 2000}, {2000, 500, 100}}) {
    const coverage found = measure<K>(params, sizes, pairs);
    const std::string what = std::string(K::info.name) + " " + layout + " " + std::to_string(sizes.common);
    // 95 % of 300 is 285, with a standard deviation of 3.8: 3.4 of them either way.
    EXPECT_GE(found.held, 0.907) << what;
    EXPECT_LE(found.held, 0.993) << what;
    // An estimate is off by its standard error, of the order of sqrt(keys); the mean of 300 by a seventeenth of it.
    EXPECT_NEAR(found.mean, static_cast<double>(sizes.common), 8) << what;
    EXPECT_NEAR(found.stored, found.mean, 1) << what;
  }
}

TEST(Overlap, TheIntervalHoldsTheTrueNumberAsOftenAsItSays) {
  expect_coverage<bloom>("");
  expect_coverage<bloom>("", 0.001);
  expect_coverage<blocked>("split64");
  expect_coverage<blocked>("split32");
  expect_coverage<counting>("spread");
  expect_coverage<counting>("line");
}

TEST(Overlap, OfSetsWithNothingInCommonIsAboutNothing) {
  const coverage found = measure<blocked>({.keys = 2000, .fpr = 0.01}, {2000, 2000, 0}, 200);
  EXPECT_GE(found.held, 0.93);  // what would be below 0 is 0
  EXPECT_LE(found.mean, 30);
}

TEST(Overlap, OfThreeSetsIsAnUpperBound) {
  // Half of each is shared with one other and not with the third: the worst case for what lies in all.
  std::mt19937_64 random(7);
  double least = 1e9;
  double mean = 0;
  constexpr int rounds = 50;
  for (int i = 0; i < rounds; ++i) {
    const auto all = digests(random, 100);
    std::vector<std::vector<std::uint64_t>> pairs;
    for (int j = 0; j < 3; ++j) pairs.push_back(digests(random, 900));
    std::vector<blocked> filters;
    for (std::size_t j = 0; j < 3; ++j) {
      filters.push_back(filled<blocked>({.keys = 2000, .fpr = 0.01}, pairs[j], all));
      filters.back().add_batch(pairs[(j + 1) % 3]);
    }
    ASSERT_TRUE(filters[0].intersect(filters[1]));
    const double before = filters[0].fill();
    ASSERT_TRUE(filters[0].intersect(filters[2]));
    const overlap found = estimate_overlap(filters[0].cells(), before, filters[2].fill(), filters[0].fill());
    least = std::min(least, found.high);
    mean += found.keys / rounds;
  }
  EXPECT_GE(least, 100);
  EXPECT_GE(mean, 100);
}

TEST(Overlap, FullAndEmptyFiltersGiveNumbers) {
  const cell_shape shape{.cells = 1024, .hashes = 7};
  for (const double a : {0.0, 0.5, 1.0}) {
    for (const double b : {0.0, 0.5, 1.0}) {
      const overlap found = estimate_overlap(shape, a, b, std::min(a, b));
      EXPECT_TRUE(std::isfinite(found.keys) && std::isfinite(found.low) && std::isfinite(found.high)) << a << " " << b;
      EXPECT_GE(found.low, 0);
    }
  }
  EXPECT_EQ(estimate_overlap({}, 0.5, 0.5, 0.5).keys, 0);
}

}  // namespace
