// Kind dleft: its FPR and sizes, its parameters, and shapes and bytes that are hostile.
#include <algorithm>
#include <bloomery/core/binomial.hpp>
#include <bloomery/kinds/batch.hpp>
#include <string>

#include "kinds/dleft_support.hpp"

namespace bloomery::dleft_testing {
namespace {

TEST(Dleft, TheRateIsTheOneOfTheFormulaAtEveryWidth) {
  // 10,000 positives are expected: a standard error of 1 %; 4 % is four of it.
  for (const unsigned bits : {6U, 8U, 11U, 13U}) {
    auto filter = of_shape(2000, bits);
    const std::uint64_t keys = 56'000;
    ASSERT_EQ(filter.add_until_full(random_digests(bits, keys)).taken, keys);
    const double expected = dleft_model{filter.geometry()}.fpr(static_cast<double>(keys));
    const auto queries = static_cast<std::uint64_t>(10'000 / expected);
    std::uint64_t positives = 0;
    for (const std::uint64_t digest : random_digests(99, queries)) positives += filter.may_contain(digest) ? 1U : 0U;
    EXPECT_NEAR(static_cast<double>(positives) / 10'000, 1.0, 0.04) << bits;
    EXPECT_NEAR(filter.fpr_now() / expected, 1.0, 0.02) << bits;
  }
}

TEST(Dleft, TheSizesAreTheOnesOfTheManual) {
  const auto percent = dleft::plan({.keys = 10'000'000, .fpr = 0.01});
  const auto tenth = dleft::plan({.keys = 10'000'000, .fpr = 0.001});
  ASSERT_TRUE(percent && tenth);
  EXPECT_NEAR(percent->bits_per_key, 15.9, 0.05);
  EXPECT_NEAR(tenth->bits_per_key, 19.3, 0.05);
  EXPECT_LE(percent->fpr, 0.01);
  EXPECT_LE(tenth->fpr, 0.001);
  for (const std::uint64_t keys : {std::uint64_t{1} << 20U, std::uint64_t{1} << 32U}) {
    const auto below = dleft::plan({.keys = keys - keys / 100, .fpr = 0.001});
    const auto above = dleft::plan({.keys = keys + keys / 100, .fpr = 0.001});
    ASSERT_TRUE(below && above);
    EXPECT_NEAR(static_cast<double>(above->bits) / static_cast<double>(below->bits), 1.02, 0.002) << "no jumps";
  }
  for (std::uint64_t keys = 1; keys < 3000; ++keys) ASSERT_TRUE(dleft::plan({.keys = keys, .fpr = 0.001})) << keys;
}

TEST(Dleft, IsSizedByAnyTwoOfKeysRateAndMemory) {
  const auto by_rate = dleft::plan({.keys = 200'000, .fpr = 0.002});
  ASSERT_TRUE(by_rate);
  const auto by_memory = dleft::plan({.keys = 200'000, .memory_bytes = by_rate->memory_bytes + 8});
  ASSERT_TRUE(by_memory);
  EXPECT_LE(by_memory->memory_bytes, by_rate->memory_bytes + 8);
  EXPECT_LE(by_memory->fpr, by_rate->fpr * 1.01);
  const auto by_bits = dleft::plan({.keys = 200'000, .bits = by_rate->bits});
  ASSERT_TRUE(by_bits);
  EXPECT_LE(by_bits->bits, by_rate->bits);
  EXPECT_LE(by_bits->fpr, by_rate->fpr * 1.01);
  const auto per_key = dleft::plan({.keys = 200'000, .bits_per_key = 20});
  ASSERT_TRUE(per_key);
  EXPECT_LE(per_key->bits_per_key, 20.0);
  auto filter = make({.fpr = 0.002, .memory_bytes = by_rate->memory_bytes + 8});
  EXPECT_GE(filter.capacity_keys(), 199'000U);
  EXPECT_LE(filter.memory_bytes(), by_rate->memory_bytes + 8);
  EXPECT_EQ(filter.add_until_full(random_digests(5, filter.capacity_keys())).taken, filter.capacity_keys());
}

TEST(Dleft, BadParametersAreOneClearError) {
  EXPECT_STREQ(describe(dleft::make({.keys = 10, .fpr = 0.01, .layout = "split64"}).error()).c_str(),
               "kind dleft has one layout: leave the layout out");
  EXPECT_EQ(dleft::make({.keys = 10, .fpr = 0.01, .hashes = 3}).error().code, errc::kind_has_no_hashes);
  EXPECT_EQ(dleft::make({.keys = 10, .fpr = 0.0}).error().code, errc::bad_fpr);
  EXPECT_EQ(dleft::make({.keys = 1'000'000, .memory_bytes = 100'000}).error().code, errc::bad_memory);
  EXPECT_EQ(dleft::make({.keys = 1'000'000, .bits = 1'000'000}).error().code, errc::bad_memory);
  EXPECT_EQ(dleft::make({.keys = 10, .bits = 0}).error().code, errc::bad_memory);
  EXPECT_EQ(dleft::make({.fpr = 0.01, .memory_bytes = 8}).error().code, errc::cannot_reach_fpr);
  EXPECT_EQ(dleft::plan({.keys = max_keys, .fpr = 1e-6}).error().code, errc::size_overflow);
  EXPECT_EQ(dleft::plan({.keys = 100'000'000'000'000, .fpr = 1e-6}).error().code, errc::not_enough_hash_bits);
  const auto small = dleft::plan({.keys = 1'000'000, .memory_bytes = 100'000});
  EXPECT_TRUE(dleft::plan({.keys = 1'000'000, .memory_bytes = small.error().number[1]}))
      << "the error says what would do";
}

TEST(Dleft, AnyBytesAreSafeToQueryAndToChange) {
  std::mt19937_64 random(14);
  for (const unsigned bits : {6U, 12U, 17U, 30U, 38U}) {
    for (const unsigned pattern : {0U, 1U}) {
      const auto made = of_shape(9, bits);
      auto bytes = aligned_buffer::make(made.memory_bytes(), "test");
      for (std::uint64_t i = 64; i < made.geometry().end(); ++i) {
        bytes->data()[i] = pattern == 0 ? std::byte{0xff} : static_cast<std::byte>(random());
      }
      auto filter = dleft::adopt(made.shape(), std::move(*bytes));
      ASSERT_TRUE(filter) << describe(filter.error()).c_str();
      for (int i = 0; i < 1000; ++i) {
        const std::uint64_t digest = random();
        static_cast<void>(filter->may_contain(digest));
        static_cast<void>(filter->count(digest));
        filter->insert(digest);
        filter->erase(random());
      }
      static_cast<void>(filter->merge(made));
      EXPECT_LE(filter->fill(), 1.0);
    }
  }
}

TEST(Dleft, HostileShapesAreRefusedBeforeAnythingIsAllocated) {
  const auto good = make({.keys = 100, .fpr = 0.01}).shape();
  ASSERT_TRUE(dleft::payload_bytes(good));
  using change = std::pair<std::size_t, std::uint64_t>;
  for (const auto& [index, value] : {change{0, 0},
                                     {0, max_filter_bits / 1280 + 1},
                                     {0, ~std::uint64_t{0}},
                                     {1, 5},
                                     {1, 39},
                                     {1, ~std::uint64_t{0}},
                                     {2, 2},
                                     {3, 9},
                                     {4, 1},
                                     {7, 1}}) {
    auto shape = good;
    shape.field[index] = value;
    EXPECT_FALSE(dleft::payload_bytes(shape)) << index << " " << value;
  }
  auto more_keys = good;
  more_keys.keys = 3 * 32 * good.field[0] + 1;  // a counter holds 3
  EXPECT_FALSE(dleft::payload_bytes(more_keys));
  auto wide = good;
  wide.digest_bits = 128;
  EXPECT_FALSE(dleft::payload_bytes(wide));
  auto estimated = good;
  estimated.keys_exact = false;
  EXPECT_FALSE(dleft::payload_bytes(estimated));
}

TEST(Dleft, AStashThatIsNoListOfValuesIsRefused) {
  auto shape = of_shape(4, 10).shape();
  const std::uint64_t values = 4 << 10;
  const auto adopted = [&](std::uint64_t stashed, std::uint64_t first, std::uint64_t second, std::uint64_t past = 0) {
    shape.field[3] = stashed;
    auto bytes = aligned_buffer::make(*dleft::payload_bytes(shape), "test");
    store_le(bytes->data(), first);
    store_le(bytes->data() + 8, second);
    store_le(bytes->data() + bytes->size_bytes() - 8, past);
    return static_cast<bool>(dleft::adopt(shape, std::move(*bytes)));
  };
  EXPECT_TRUE(adopted(2, 1, values));
  EXPECT_FALSE(adopted(2, 1, values + 1));
  EXPECT_FALSE(adopted(2, 1, 0));
  EXPECT_FALSE(adopted(1, 1, 5));
  EXPECT_FALSE(adopted(0, 0, 0, 1)) << "bytes past the end";
  // Of a view, which reads nothing, a copy is refused.
  shape.field[3] = 1;
  auto bytes = aligned_buffer::make(*dleft::payload_bytes(shape), "test");
  store_le(bytes->data(), values + 1);
  const auto seen = dleft::view(shape, bytes->bytes());
  ASSERT_TRUE(seen);
  EXPECT_FALSE(seen->may_contain(1));
  EXPECT_EQ(seen->clone().error().code, errc::bad_field);
  EXPECT_EQ(of_shape(4, 10).merge(*seen).error().code, errc::bad_field);
}

}  // namespace
}  // namespace bloomery::dleft_testing
