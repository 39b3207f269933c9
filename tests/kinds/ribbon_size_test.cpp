// Kind ribbon: its rates, its sizes, and what of parameters and files it refuses.
#include <bloomery/core/binomial.hpp>
#include <cmath>

#include "kinds/ribbon_support.hpp"

namespace bloomery::ribbon_testing {
namespace {

TEST(Ribbon, TheRateIsTheOneAskedForAndNoLower) {
  constexpr std::uint64_t queries = 1'000'000;
  const auto digests = random_digests(4, 20'000);
  for (const double fpr : {0.5, 0.4, 0.26, 0.25, 0.1, 0.01, 1.0 / 128, 1.0 / 256, 0.001}) {
    const ribbon filter = built({.fpr = fpr}, digests);
    const std::uint64_t positives = positives_of(filter, 5, queries);
    EXPECT_LE(binomial::lower_bound(positives, queries, 1e-6), fpr) << fpr;
    EXPECT_GE(binomial::upper_bound(positives, queries, 1e-6), fpr) << fpr;
    EXPECT_LE(filter.fpr_now(), fpr);
    EXPECT_GE(filter.fpr_now(), 0.997 * fpr);
    EXPECT_EQ(filter.target_fpr(), fpr);
  }
  // Few keys, for which most slots are 0.
  const ribbon small = built({.fpr = 0.01}, random_digests(6, 3));
  const std::uint64_t positives = positives_of(small, 7, queries);
  EXPECT_EQ(small.fpr_now(), 1.0 / 128) << "whole blocks: all are wide";
  EXPECT_LE(binomial::lower_bound(positives, queries, 1e-6), small.fpr_now());
  EXPECT_GE(binomial::upper_bound(positives, queries, 1e-6), small.fpr_now());
}

TEST(Ribbon, AMillionKeysTakeOnePercentMoreThanTheInformationBound) {
  const auto digests = random_digests(8, 1'000'000);
  for (const double fpr : {1.0 / 4, 1.0 / 256, std::ldexp(1.0, -16)}) {
    const ribbon filter = built({.fpr = fpr}, digests, 0);
    EXPECT_LE(static_cast<double>(filter.memory_bytes()) * 8 / 1e6, -std::log2(fpr) * 1.01) << fpr;
    EXPECT_TRUE(holds_all(filter, digests));
  }
  for (const double fpr : {0.01, 0.001}) {
    const ribbon filter = built({.fpr = fpr}, digests, 0);
    EXPECT_LE(static_cast<double>(filter.memory_bytes()) * 8 / 1e6, -std::log2(fpr) * 1.01 + 0.0862) << fpr;
  }
  const ribbon half = built({.fpr = 0.5}, digests, 0);
  EXPECT_LE(static_cast<double>(half.memory_bytes()) * 8 / 1e6, 1.015);
}

TEST(Ribbon, APlanIsAnUpperBoundAndCloseFromTenThousandKeysOn) {
  for (const std::uint64_t keys :
       {1ULL, 10ULL, 64ULL, 100ULL, 1000ULL, 4096ULL, 4097ULL, 5000ULL, 10'000ULL, 50'000ULL, 200'000ULL, 700'000ULL}) {
    for (const double fpr : {0.5, 0.01}) {
      const auto plan = ribbon::plan({.keys = keys, .fpr = fpr});
      ASSERT_TRUE(plan);
      const std::uint64_t repeats = keys < 10'000 ? 40 : 2;
      for (std::uint64_t seed = 0; seed < repeats; ++seed) {
        const ribbon filter = built({.fpr = fpr}, random_digests(seed, keys), 0);
        EXPECT_LE(filter.memory_bytes(), plan->memory_bytes) << keys;
        if (keys >= 10'000) {
          const double least = keys >= 200'000 ? 0.99 : 0.94;
          EXPECT_GE(static_cast<double>(filter.memory_bytes()), least * static_cast<double>(plan->memory_bytes))
              << keys;
        }
      }
      EXPECT_LE(plan->fpr, fpr);
      EXPECT_GE(plan->fpr, 0.999999 * fpr);
    }
  }
}

TEST(Ribbon, ASizeIsKeptAndUsed) {
  const auto digests = random_digests(13, 50'000);
  for (const double bits : {1.2, 2.0, 5.5, 8.2, 10.0, 16.7, 32.0}) {
    const ribbon filter = built({.bits_per_key = bits}, digests);
    EXPECT_LE(static_cast<double>(filter.memory_bytes()) * 8, bits * 50'000);
    EXPECT_GE(static_cast<double>(filter.memory_bytes()) * 8, 0.96 * bits * 50'000);
    EXPECT_LE(filter.target_fpr(), std::exp2(-bits / 1.03) * 1.08);
    EXPECT_TRUE(holds_all(filter, digests));
  }
  const ribbon by_memory = built({.memory_bytes = 60'000}, digests);
  EXPECT_LE(by_memory.memory_bytes(), 60'000U);
  EXPECT_TRUE(built({.bits = 480'000}, digests) == by_memory);
  EXPECT_NE(error_of({.fpr = 0.01, .memory_bytes = 30'000}, digests).find("too small"), std::string::npos);
  EXPECT_EQ(error_of({.fpr = 0.01, .memory_bytes = 60'000}, digests), "");
  EXPECT_NE(error_of({.memory_bytes = 5000}, digests).find("too small"), std::string::npos);
  EXPECT_NE(error_of({.bits = 3}, digests).find("too small"), std::string::npos);
}

TEST(Ribbon, APlanSolvesForWhatIsMissing) {
  const auto rate = ribbon::plan({.keys = 1'000'000, .memory_bytes = 1'020'000});
  ASSERT_TRUE(rate);
  EXPECT_LE(rate->memory_bytes, 1'020'000U);
  EXPECT_GE(rate->memory_bytes, 1'019'000U);
  EXPECT_NEAR(rate->fpr, std::exp2(-8.06), 0.0002);
  const auto room = ribbon::plan({.fpr = 0.01, .memory_bytes = 1'000'000});
  ASSERT_TRUE(room);
  EXPECT_LE(room->memory_bytes, 1'000'000U);
  const auto more = ribbon::plan({.keys = room->keys + 200, .fpr = 0.01});
  ASSERT_TRUE(more);
  EXPECT_GT(more->memory_bytes, 1'000'000U);
  EXPECT_EQ(ribbon::plan({.keys = 1000, .fpr = 1.0 / 256})->lines, 2U);
  EXPECT_EQ(ribbon::plan({.keys = 1000, .fpr = 0.01})->lines, 3U);
  EXPECT_EQ(ribbon::plan({.keys = 1'000, .fpr = 0.9})->fpr, 0.5);
  // As many columns as 64 bits of digest allow for.
  const auto huge = ribbon::plan({.keys = std::uint64_t{1} << 40U, .memory_bytes = std::uint64_t{1} << 50U});
  ASSERT_TRUE(huge);
  EXPECT_EQ(huge->fpr, std::ldexp(1.0, -17));
}

TEST(Ribbon, WhatCannotBeIsRefusedWithWhatWouldDo) {
  const auto refusal = [](const size_request& request, std::string_view layout = {}) {
    const auto plan = ribbon::plan(request, layout);
    return plan ? "" : std::string(describe(plan.error()).view());
  };
  EXPECT_NE(refusal({.keys = 1000, .fpr = 1e-11}).find("cannot reach"), std::string::npos);
  EXPECT_NE(refusal({.keys = std::uint64_t{1} << 40U, .fpr = 1e-8}).find("hash bits"), std::string::npos);
  EXPECT_NE(refusal({.keys = 1000, .fpr = 0.01, .hashes = 3}).find("hash functions"), std::string::npos);
  EXPECT_NE(refusal({.keys = 1000, .fpr = 0.01}, "wide").find("has one layout"), std::string::npos);
  EXPECT_NE(refusal({.fpr = 0.01, .memory_bytes = 3}).find("too small"), std::string::npos);
  EXPECT_NE(refusal({.keys = 1000}).find("false-positive rate"), std::string::npos);
  EXPECT_NE(error_of({.keys = 1000}, {1, 2}).find("false-positive rate"), std::string::npos);
  EXPECT_NE(error_of({.fpr = 0.01, .mode = "set"}, {1, 2}).find("no modes"), std::string::npos);
  EXPECT_NE(error_of({.fpr = 0.01, .layout = "wide"}, {1, 2}).find("has one layout"), std::string::npos);
  EXPECT_NE(error_of({.keys = 2, .fpr = 0.01, .bits = 500}, {1, 2}).find("not both"), std::string::npos);
  EXPECT_NE(error_of({.fpr = 2}, {1, 2}).find("rate 2"), std::string::npos);
}

TEST(Ribbon, HostileShapesAreRefused) {
  const ribbon filter = built({.fpr = 0.01}, random_digests(14, 6000));
  const stored_shape good = filter.shape();
  ASSERT_EQ(*ribbon::payload_bytes(good), filter.memory_bytes());
  const auto refused = [&](auto change) {
    stored_shape shape = good;
    change(shape);
    return !ribbon::payload_bytes(shape);
  };
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{33}, ~std::uint64_t{0}}) {
    EXPECT_TRUE(refused([&](stored_shape& shape) { shape.field[0] = value; })) << value;
  }
  EXPECT_TRUE(refused([](stored_shape& shape) { shape.field[0] = 32; })) << "33 columns";
  EXPECT_TRUE(refused([](stored_shape& shape) { shape.field[1] = std::uint64_t{1} << 32U; }));
  EXPECT_TRUE(refused([](stored_shape& shape) { shape.field[2] = std::uint64_t{1} << 32U; }));
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 54U, ~std::uint64_t{0}}) {
    EXPECT_TRUE(refused([&](stored_shape& shape) { shape.field[3] = value; })) << value;
  }
  EXPECT_TRUE(refused([](stored_shape& shape) { shape.field[7] = 2; })) << "behind a layer that is not there";
  EXPECT_TRUE(refused([](stored_shape& shape) { shape.keys = shape.capacity_keys = 0; }));
  EXPECT_TRUE(refused([](stored_shape& shape) { shape.keys = shape.capacity_keys = 1'000'000; }));
  EXPECT_TRUE(refused([](stored_shape& shape) { ++shape.capacity_keys; }));
  EXPECT_TRUE(refused([](stored_shape& shape) { shape.keys_exact = false; }));
  EXPECT_TRUE(refused([](stored_shape& shape) { shape.digest_bits = 128; }));
  EXPECT_FALSE(refused([](stored_shape&) {}));
}

}  // namespace
}  // namespace bloomery::ribbon_testing
