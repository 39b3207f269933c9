// Filters of a few keys, in the formats of other products: `stats` reports the rate that they deliver.
#include <algorithm>
#include <cmath>

#include "support/format_files.hpp"

namespace bloomery {
namespace {

using namespace test;

std::vector<std::string> small_keys(std::uint64_t first, std::size_t count) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < count; ++i) keys.push_back("key " + std::to_string(mix64(first + i)));
  return keys;
}

TEST(SmallFilters, OfEveryFormatReportTheRateThatTheyDeliver) {
  constexpr unsigned filters = 12;
  constexpr std::size_t queries = 20'000;
  constexpr std::size_t keys = 20;
  for (const formats::format* form : formats::list()) {
    if (form->is_native() || !form->writes || form->make == nullptr) continue;
    SCOPED_TRACE(form->name);
    double reported = 0;
    std::size_t positives = 0;
    for (unsigned i = 0; i < filters; ++i) {
      auto made = formats::make(form->name, {.keys = keys, .fpr = 0.0005});
      if (!made) made = formats::make(form->name, {.keys = keys, .bits_per_key = 16});
      ASSERT_TRUE(made) << describe(made.error()).view();
      insert(*made, small_keys(i * 1'000'000ULL, keys));
      const auto stats = made->stats();
      ASSERT_TRUE(stats);
      reported += stats->fpr_now / filters;
      const auto answers = query(*made, small_keys(i * 1'000'000ULL + 500'000, queries));
      positives += static_cast<std::size_t>(std::count(answers.begin(), answers.end(), true));
    }
    const auto found = static_cast<double>(positives);
    const double expected = reported * filters * queries;
    // Twice what chance makes of it, and what the formula is off by.
    EXPECT_LT(found, 1.4 * expected + 4 * std::sqrt(expected) + 4);
    EXPECT_GT(found, 0.6 * expected - 4 * std::sqrt(expected) - 4);
  }
}

}  // namespace
}  // namespace bloomery
