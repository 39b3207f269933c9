// sizing/levels.hpp: memory shared among the filters of a log-structured store.
#include <gtest/gtest.h>

#include <bloomery/kinds/table.hpp>
#include <bloomery/sizing/levels.hpp>
#include <cmath>
#include <string_view>

namespace {

using namespace bloomery;

level_request request_for(std::string_view kind, std::uint64_t memory_bytes, std::string_view layout = {}) {
  return {.keys = 100'000'000,
          .levels = 5,
          .size_ratio = 10,
          .memory_bytes = memory_bytes,
          .solve = find_kind(kind)->plan,
          .layout = layout};
}

double rate_of(const level_request& request, std::uint64_t keys, double bytes) {
  if (bytes < 1) return 1;
  const auto plan = request.solve({.keys = keys, .memory_bytes = static_cast<std::uint64_t>(bytes)}, request.layout);
  return plan ? plan->fpr : 1.0;
}

// Shifts memory from every level to every other, little and much of it, and counts again.
void expect_no_better_share(const level_request& request) {
  const auto answer = *share_levels(request);
  for (const level_share& from : answer.shared()) {
    for (const level_share& to : answer.shared()) {
      if (&from == &to) continue;
      for (const double share : {0.001, 0.01, 0.05, 0.2, 1.0}) {
        const double shifted = std::floor(static_cast<double>(from.memory_bytes) * share);
        if (shifted < 1) continue;
        const double now = from.fpr + to.fpr;
        const double then = rate_of(request, from.keys, static_cast<double>(from.memory_bytes) - shifted) +
                            rate_of(request, to.keys, static_cast<double>(to.memory_bytes) + shifted);
        EXPECT_GT(then, now - answer.false_reads * 1e-3)
            << shifted << " bytes from the level of " << from.keys << " keys to that of " << to.keys;
      }
    }
  }
}

TEST(Levels, NoShiftOfMemoryBetweenTwoLevelsLowersTheReads) {
  for (const std::uint64_t memory : {30'000'000U, 125'000'000U, 300'000'000U}) {
    expect_no_better_share(request_for("bloom", memory));
  }
  expect_no_better_share(request_for("blocked", 125'000'000, "split64"));
}

TEST(Levels, TheFprsOfBloomFiltersAreProportionalToTheKeys) {
  const auto answer = *share_levels(request_for("bloom", 125'000'000));
  const level_share& last = answer.shared().back();
  for (const level_share& level : answer.shared()) {
    const double ratio = level.fpr / last.fpr / (static_cast<double>(level.keys) / static_cast<double>(last.keys));
    EXPECT_NEAR(ratio, 1.0, 0.1) << level.keys;
  }
}

TEST(Levels, UsesTheMemoryAndNoMore) {
  for (const std::uint64_t memory : {1000U, 1'000'000U, 125'000'000U}) {
    const auto answer = *share_levels(request_for("bloom", memory));
    std::uint64_t sum = 0;
    for (const level_share& level : answer.shared()) sum += level.memory_bytes;
    EXPECT_EQ(sum, answer.memory_bytes);
    EXPECT_LE(sum, memory);
    EXPECT_GT(static_cast<double>(sum), 0.99 * static_cast<double>(memory));
  }
}

TEST(Levels, LeavesTheLargestLevelsWithoutAFilterWhenMemoryIsShort) {
  const auto answer = *share_levels(request_for("bloom", 1'000'000));
  EXPECT_EQ(answer.shared().back().memory_bytes, 0U);
  EXPECT_EQ(answer.shared().back().fpr, 1.0);
  EXPECT_LT(answer.levels.front().fpr, 0.01);
  EXPECT_LT(answer.false_reads, answer.uniform_false_reads);
}

TEST(Levels, StopsWhereMoreMemoryGainsNothing) {
  const auto answer = *share_levels(request_for("bloom", 100'000'000'000));
  EXPECT_LT(answer.memory_bytes, 1'000'000'000U);
  EXPECT_LT(answer.false_reads, 1e-10);
}

TEST(Levels, WholeBitsAreSharedAsPowersOfTwo) {
  level_request request = request_for("bloom", 125'000'000);
  request.solve = &plan_of_whole_bits;
  request.whole_bits = true;
  const auto answer = *share_levels(request);
  // A tenth bit of the largest level would take more than the 13th to 16th of the one before, which gain the rest.
  EXPECT_EQ(answer.levels[4].bits_per_key, 9.0);
  EXPECT_EQ(answer.levels[3].bits_per_key, 16.0);
  EXPECT_EQ(answer.levels[0].bits_per_key, 16.0);
  EXPECT_LE(answer.memory_bytes, request.memory_bytes);
  EXPECT_LT(answer.false_reads, 0.5 * answer.uniform_false_reads);
  for (const level_share& level : answer.alike()) EXPECT_EQ(level.bits_per_key, 10.0);
}

TEST(Levels, WithWholeBitsNoOtherSplitOfTheMemoryReadsLess) {
  // All splits of four levels of ratio 2, by trying them.
  level_request request{.keys = 1500,
                        .levels = 4,
                        .size_ratio = 2,
                        .memory_bytes = 1500,
                        .solve = &plan_of_whole_bits,
                        .whole_bits = true};
  const auto answer = *share_levels(request);
  std::array<std::uint64_t, 4> keys{};
  ASSERT_TRUE(keys_of_levels(request, keys));
  double best = 4;
  for (unsigned split = 0; split < 17 * 17 * 17 * 17; ++split) {
    double reads = 0;
    double bits = 0;
    for (unsigned i = 0, left = split; i < 4; ++i, left /= 17) {
      reads += std::exp2(-static_cast<double>(left % 17));
      bits += static_cast<double>(keys[i]) * (left % 17);
    }
    if (bits <= 12'000 && reads < best) best = reads;
  }
  EXPECT_LE(answer.false_reads, best * 1.1) << "less than a bit of the smallest level is left over";
}

TEST(Levels, WhatIsNotUsableIsAnError) {
  const auto with = [](auto change) {
    level_request request = request_for("bloom", 1'000'000);
    change(request);
    return share_levels(request);
  };
  EXPECT_TRUE(with([](level_request&) {}));
  EXPECT_FALSE(with([](level_request& r) { r.levels = 0; }));
  EXPECT_FALSE(with([](level_request& r) { r.levels = 65; }));
  EXPECT_FALSE(with([](level_request& r) { r.keys = 0; }));
  EXPECT_FALSE(with([](level_request& r) { r.keys = max_keys + 1; }));
  EXPECT_FALSE(with([](level_request& r) { r.keys = 1000; }));
  EXPECT_FALSE(with([](level_request& r) { r.size_ratio = 0.5; }));
  EXPECT_FALSE(with([](level_request& r) { r.size_ratio = std::nan(""); }));
  EXPECT_FALSE(with([](level_request& r) { r.size_ratio = 1e300; }));
}

}  // namespace
