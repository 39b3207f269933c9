// How large a filter is: any two of keys, FPR and size give the third.
#include "support/typed_kinds.hpp"

namespace {

using namespace bloomery;
using namespace bloomery::test;

TEST(Sizing, ClassicFormulaAtTheGuidesFigures) {
  // n, p -> bytes and k, as in the well-known tables (to 1 %).
  struct row {
    std::uint64_t keys;
    double fpr;
    double megabytes;
    unsigned hashes;
  };
  for (const row& r : {row{100'000'000, 0.01, 119.8, 7}, row{10'000'000, 0.001, 17.97, 10},
                       row{1'000'000, 1e-4, 2.396, 13}, row{100'000'000, 1e-8, 479.3, 27}}) {
    const auto plan = bloom::plan({.keys = r.keys, .fpr = r.fpr});
    ASSERT_TRUE(plan);
    EXPECT_NEAR(static_cast<double>(plan->memory_bytes) / 1e6, r.megabytes, r.megabytes * 0.01);
    EXPECT_EQ(plan->hashes, r.hashes);
    EXPECT_LE(plan->fpr, r.fpr);
  }
}

TEST(Sizing, BlockedLayoutsNeedTheBitsThatTheLiteratureGives) {
  // Parquet's specification prints 10.5, 16.9, 26.4 and 41 bits per key for split 8 x 32.
  const double expected32[] = {10.53, 16.89, 26.34, 40.99};
  double fpr = 0.01;
  for (const double bits : expected32) {
    const auto plan = blocked::plan({.keys = 1'000'000, .fpr = fpr}, "split32");
    ASSERT_TRUE(plan);
    EXPECT_NEAR(plan->bits_per_key, bits, 0.02);
    fpr /= 10;
  }
  // 8 x 64 with k = 8.
  const auto plan = blocked::plan({.keys = 1'000'000, .fpr = 0.01, .hashes = 8}, "split64");
  EXPECT_NEAR(plan->bits_per_key, 10.10, 0.02);
}

TEST(Sizing, NeverUsesTheClassicFormulaForABlockedFilter) {
  for (const double fpr : {0.05, 0.01, 0.001, 1e-4}) {
    const auto classic = bloom::plan({.keys = 1'000'000, .fpr = fpr});
    const auto block = blocked::plan({.keys = 1'000'000, .fpr = fpr});
    EXPECT_GT(block->bits, classic->bits) << fpr;
  }
}

template <class K>
class SizingOfKind : public testing::Test {};
struct has_any_number_of_bits {
  template <class K>
  static constexpr bool of = foldable<K>&& cell_bits_of<K>() == 1 && !losing<K>;
};
TYPED_TEST_SUITE(SizingOfKind, kinds_with<has_any_number_of_bits>, kind_name);

TYPED_TEST(SizingOfKind, AnyTwoOfKeysRateAndSizeGiveTheThird) {
  for (const std::uint64_t keys : {100ULL, 12'345ULL, 10'000'000ULL, 20'000'000'000ULL}) {
    for (const double fpr : {0.2, 0.01, 0.001}) {
      const auto plan = TypeParam::plan({.keys = keys, .fpr = fpr});
      ASSERT_TRUE(plan) << describe(plan.error()).c_str();
      EXPECT_LE(plan->fpr, fpr);
      const auto rate = TypeParam::plan({.keys = keys, .bits = plan->bits}, plan->layout);
      ASSERT_TRUE(rate);
      EXPECT_DOUBLE_EQ(rate->fpr, plan->fpr);
      EXPECT_EQ(rate->hashes, plan->hashes);
      const auto room = TypeParam::plan({.fpr = plan->fpr, .bits = plan->bits}, plan->layout);
      ASSERT_TRUE(room);
      EXPECT_NEAR(static_cast<double>(room->keys) / static_cast<double>(keys), 1.0, 0.011);
      const auto per_key = TypeParam::plan({.keys = keys, .bits_per_key = plan->bits_per_key}, plan->layout);
      ASSERT_TRUE(per_key);
      EXPECT_NEAR(static_cast<double>(per_key->bits), static_cast<double>(plan->bits), 1.0);  // rounded up
      const auto memory = TypeParam::plan({.keys = keys, .memory_bytes = plan->memory_bytes}, plan->layout);
      ASSERT_TRUE(memory);
      EXPECT_LE(memory->memory_bytes, plan->memory_bytes);
      EXPECT_LE(memory->fpr, plan->fpr * 1.0000001);
    }
  }
}

TYPED_TEST(SizingOfKind, OneBlockOrBitLessWouldBreakThePromise) {
  for (const double fpr : {0.1, 0.01, 0.0005}) {
    const auto plan = TypeParam::plan({.keys = 100'000, .fpr = fpr});
    const std::uint64_t step = plan->layout == "split32" ? 256 : plan->layout == "split64" ? 512 : 1;
    const auto smaller = TypeParam::plan({.keys = 100'000, .bits = plan->bits - step}, plan->layout);
    EXPECT_GT(smaller->fpr, fpr);
  }
}

TYPED_TEST(SizingOfKind, AGivenNumberOfHashesIsKept) {
  const auto plan = TypeParam::plan({.keys = 1000, .fpr = 0.01, .hashes = 4});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->hashes, 4U);
  EXPECT_LE(plan->fpr, 0.01);
  EXPECT_GT(plan->bits, TypeParam::plan({.keys = 1000, .fpr = 0.01})->bits);
}

TYPED_TEST(SizingOfKind, SizesBeyond32BitsAreRight) {
  const auto plan = TypeParam::plan({.keys = 1'000'000'000'000, .fpr = 0.01});
  ASSERT_TRUE(plan);
  EXPECT_NEAR(static_cast<double>(plan->bits), 9.75e12, 0.25e12);
  EXPECT_NEAR(plan->fpr, 0.01, 1e-6);
}

TYPED_TEST(SizingOfKind, BadParametersAreRefusedWithTheRightCode) {
  const auto code = [](const size_request& request) {
    const auto plan = TypeParam::plan(request);
    EXPECT_FALSE(plan);
    return plan ? errc::count_ : plan.error().code;
  };
  EXPECT_EQ(code({.keys = 0, .fpr = 0.01}), errc::bad_keys);
  EXPECT_EQ(code({.keys = max_keys + 1, .fpr = 0.01}), errc::bad_keys);
  EXPECT_EQ(code({.keys = 10, .fpr = 0.0}), errc::bad_fpr);
  EXPECT_EQ(code({.keys = 10, .fpr = 1.0}), errc::bad_fpr);
  EXPECT_EQ(code({.keys = 10, .fpr = -0.5}), errc::bad_fpr);
  EXPECT_EQ(code({.keys = 10, .fpr = std::nan("")}), errc::bad_fpr);
  EXPECT_EQ(code({.keys = 10, .fpr = HUGE_VAL}), errc::bad_fpr);
  EXPECT_EQ(code({.keys = 10}), errc::missing_parameter);
  EXPECT_EQ(code({.fpr = 0.01}), errc::missing_parameter);
  EXPECT_EQ(code({}), errc::missing_parameter);
  EXPECT_EQ(code({.bits = 1000}), errc::missing_parameter);
  EXPECT_EQ(code({.fpr = 0.01, .bits_per_key = 10.0}), errc::missing_parameter);
  EXPECT_EQ(code({.keys = 10, .fpr = 0.01, .bits = 1000}), errc::too_many_parameters);
  EXPECT_EQ(code({.keys = 10, .bits = 1000, .memory_bytes = 100}), errc::too_many_parameters);
  EXPECT_EQ(code({.keys = 10, .fpr = 0.01, .hashes = 0}), errc::bad_hashes);
  EXPECT_EQ(code({.keys = 10, .fpr = 0.01, .hashes = 65}), errc::bad_hashes);
  EXPECT_EQ(code({.keys = 10, .bits_per_key = 0.0}), errc::bad_bits_per_key);
  EXPECT_EQ(code({.keys = 10, .bits_per_key = std::nan("")}), errc::bad_bits_per_key);
  EXPECT_EQ(code({.keys = 10, .memory_bytes = 1}), errc::bad_memory);
  EXPECT_EQ(code({.keys = max_keys, .fpr = 1e-15}), errc::size_overflow);
  EXPECT_EQ(code({.keys = 10, .memory_bytes = ~std::uint64_t{0}}), errc::size_overflow);
}

TEST(Sizing, WideDigestsAreAskedForWhere64BitsDoNotSuffice) {
  EXPECT_EQ(bloom::plan({.keys = 1'000'000'000, .fpr = 1e-6})->digest_bits, 64U);
  EXPECT_EQ(bloom::plan({.keys = 10'000'000'000, .fpr = 1e-8})->digest_bits, 128U);
  const auto block = blocked::plan({.keys = 10'000'000'000, .fpr = 1e-8});
  ASSERT_FALSE(block);
  EXPECT_EQ(block.error().code, errc::not_enough_hash_bits);
}

TEST(Sizing, TinySetsAndExtremeRatesAreSizedToo) {
  for (const std::uint64_t keys : {1ULL, 2ULL, 7ULL}) {
    for (const double fpr : {0.999, 0.5, 1e-9, 1e-15}) {
      const auto plan = bloom::plan({.keys = keys, .fpr = fpr});
      ASSERT_TRUE(plan) << keys << " " << fpr;
      EXPECT_LE(plan->fpr, fpr);
    }
  }
}

TEST(Sizing, TheSplit32LayoutRefusesToGrowBeyondItsHashBits) {
  const auto plan = blocked::plan({.keys = 10'000'000'000, .fpr = 0.01}, "split32");
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, errc::layout_too_large);
  EXPECT_FALSE(blocked::plan({.keys = 10, .fpr = 0.01}, "split16"));
}

}  // namespace
