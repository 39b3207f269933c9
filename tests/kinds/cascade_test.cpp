// Kind cascade: right about every key of both lists, how it is built, and what of parameters and files it refuses.
#include <algorithm>
#include <array>
#include <bloomery/any_filter.hpp>
#include <bloomery/core/binomial.hpp>
#include <bloomery/filter.hpp>
#include <cmath>

#include "kinds/cascade_support.hpp"
#include "kinds/positives.hpp"

namespace bloomery::cascade_testing {
namespace {

// ---- the promise -----------------------------------------------------------------------------------------------------

TEST(Cascade, IsRightAboutEveryKeyOfSmallLists) {
  const std::vector<std::size_t> sizes = {0, 1, 2, 3, 5, 10, 31, 63, 64, 65, 100, 200, 511, 700, 1000, 2000};
  for (const std::size_t in : sizes) {
    for (const std::size_t out : sizes) {
      const lists of = lists::random(in * 5000 + out, in, out);
      const cascade filter = built(of);
      ASSERT_EQ(wrong_answers(filter, of), 0U) << in << " " << out;
      ASSERT_EQ(filter.keys().keys, in);
      ASSERT_EQ(filter.excluded_keys(), out);
      ASSERT_EQ(filter.capacity_keys(), in + out);
      const cascade bounded = built(of, {.fpr = 0.01});
      ASSERT_EQ(wrong_answers(bounded, of), 0U) << in << " " << out;
      ASSERT_LE(bounded.fpr_now(), 0.01);
      ASSERT_FALSE(bounded.geometry().reversed);
    }
  }
}

TEST(Cascade, IsRightAboutEveryKeyAtEveryRatio) {
  bool reversed = false;
  bool alone = false;
  for (const auto& [in, out] : std::vector<std::pair<std::size_t, std::size_t>>{{100'000, 100'000},
                                                                                {150'000, 100'000},
                                                                                {20'000, 400'000},
                                                                                {400'000, 20'000},
                                                                                {3'000, 600'000},
                                                                                {600'000, 3'000},
                                                                                {1, 300'000},
                                                                                {300'000, 1},
                                                                                {0, 300'000},
                                                                                {300'000, 0}}) {
    const lists of = lists::random(in + 3 * out, in, out);
    const cascade filter = built(of, {}, 0);
    EXPECT_EQ(wrong_answers(filter, of), 0U) << in << " " << out;
    reversed = reversed || (filter.geometry().reversed && filter.geometry().has_sieve());
    alone = alone || (filter.geometry().has_table() && !filter.geometry().has_sieve());
  }
  EXPECT_TRUE(reversed && alone) << "both ways, and without a first layer";
}

TEST(Cascade, EmptyListsTakeNoSpace) {
  const cascade nothing = built({});
  EXPECT_EQ(nothing.memory_bytes(), 0U);
  EXPECT_FALSE(nothing.may_contain(7));
  EXPECT_EQ(nothing.fpr_now(), 0.0);
  EXPECT_EQ(nothing.target_fpr(), 0.5);
  EXPECT_EQ(nothing.fill(), 0.0);
  const cascade none_in = built(lists::random(1, 0, 1000));
  EXPECT_EQ(none_in.memory_bytes(), 0U);
  EXPECT_EQ(none_in.fpr_now(), 0.0);
  const cascade none_out = built(lists::random(1, 1000, 0));
  EXPECT_EQ(none_out.memory_bytes(), 0U);
  EXPECT_EQ(none_out.fpr_now(), 1.0);
  EXPECT_TRUE(none_out.may_contain(7));
  for (const cascade* filter : {&nothing, &none_in, &none_out}) {
    const auto again = cascade::view(filter->shape(), filter->payload());
    ASSERT_TRUE(again);
    EXPECT_TRUE(*again == *filter);
    EXPECT_EQ(again->may_contain(7), filter->may_contain(7));
  }
}

// Bounds that a filter with the promised rate breaks once in a million, on each side.
TEST(Cascade, KeysOfNeitherListGetAYesAsOftenAsItReports) {
  constexpr std::uint64_t queries = 1'000'000;
  const auto check = [](const cascade& filter) {
    const std::uint64_t positives = kinds_testing::positives_of(filter, 5, queries);
    EXPECT_LE(binomial::lower_bound(positives, queries, 1e-6), filter.fpr_now());
    EXPECT_GE(binomial::upper_bound(positives, queries, 1e-6), filter.fpr_now());
  };
  for (const auto& [in, out, expected] : std::vector<std::tuple<std::size_t, std::size_t, double>>{
           {20'000, 20'000, 0.5}, {10'000, 800'000, 1.0 / 128}, {800'000, 10'000, 1 - 1.0 / 128}}) {
    const cascade filter = built(lists::random(in, in, out));
    EXPECT_EQ(filter.fpr_now(), expected);
    EXPECT_EQ(filter.target_fpr(), filter.fpr_now());
    check(filter);
  }
  for (const double fpr : {0.9, 0.5, 0.3, 0.1, 0.01, 0.001, 1e-5}) {
    for (const std::size_t out : {0U, 20'000U, 400'000U}) {
      const cascade filter = built(lists::random(out, 20'000, out), {.fpr = fpr});
      EXPECT_LE(filter.fpr_now(), fpr) << out;
      EXPECT_EQ(filter.target_fpr(), fpr);
      EXPECT_FALSE(filter.geometry().reversed);
      // Lower only where that makes it smaller.
      if (out == 0 && fpr <= 0.25) {
        EXPECT_GE(filter.fpr_now(), 0.997 * fpr) << fpr;
      }
      check(filter);
    }
  }
}

// ---- its size --------------------------------------------------------------------------------------------------------

TEST(Cascade, TakesWhatItReportsAndFarLessThanACascadeOfBloomFilters) {
  for (const auto& [in, out] : std::vector<std::pair<std::size_t, std::size_t>>{
           {100'000, 900'000}, {30'000, 1'200'000}, {10'000, 990'000}, {1'200'000, 30'000}, {300'000, 300'000}}) {
    const lists of = lists::random(in, in, out);
    const cascade filter = built(of, {}, 0);
    const sizing::universe keys{.included = in, .excluded = out};
    const double held = static_cast<double>(std::min(in, out));
    const double ratio = static_cast<double>(std::max(in, out)) / held;
    const double formula = in == out ? 2.0 : std::log2(ratio) + 2.0;
    EXPECT_LE(bits_of(filter), 1.04 * held * formula) << in << " " << out;
    EXPECT_GE(bits_of(filter), sizing::least_exact_bits(keys));
    EXPECT_LE(bits_of(filter), (in == out ? 1.03 : 1.12) * sizing::least_exact_bits(keys)) << in << " " << out;
    EXPECT_LE(bits_of(filter), 0.7 * sizing::bloom_cascade_bits(keys)) << in << " " << out;
  }
}

TEST(Cascade, APlanIsAnUpperBoundAndClose) {
  for (const auto& [in, out] : std::vector<std::pair<std::size_t, std::size_t>>{{1, 0},
                                                                                {1, 1},
                                                                                {10, 1000},
                                                                                {500, 700},
                                                                                {1'000, 30'000},
                                                                                {5'000, 5'000},
                                                                                {30'000, 1'000},
                                                                                {20'000, 700'000},
                                                                                {700'000, 20'000}}) {
    for (const std::optional<double> fpr : {std::optional<double>{}, std::optional<double>{0.01}}) {
      const auto plan = cascade::plan({.keys = in, .fpr = fpr, .excluded_keys = out});
      ASSERT_TRUE(plan);
      EXPECT_EQ(plan->keys, in);
      for (std::uint64_t seed = 0; seed < (in + out < 10'000 ? 20 : 2); ++seed) {
        const cascade filter = built(lists::random(100 + seed, in, out), {.fpr = fpr}, 0);
        EXPECT_LE(filter.memory_bytes(), plan->memory_bytes) << in << " " << out;
        EXPECT_NEAR(filter.fpr_now(), plan->fpr, 0.01 * plan->fpr) << in << " " << out;
        if (in + out > 100'000) {
          EXPECT_GE(static_cast<double>(filter.memory_bytes()), 0.96 * static_cast<double>(plan->memory_bytes))
              << in << " " << out;
        }
      }
    }
  }
}

// log2 of n over r, summed up.
TEST(Cascade, TheLeastPossibleSizeIsTheNumberOfChoices) {
  const auto summed = [](std::uint64_t all, std::uint64_t chosen) {
    double bits = 0;
    for (std::uint64_t i = 1; i <= chosen; ++i) {
      bits += std::log2(static_cast<double>(all - chosen + i)) - std::log2(static_cast<double>(i));
    }
    return bits;
  };
  EXPECT_EQ(sizing::least_exact_bits({.included = 0, .excluded = 5}), 0.0);
  EXPECT_EQ(sizing::least_exact_bits({.included = 5, .excluded = 0}), 0.0);
  EXPECT_EQ(sizing::bloom_cascade_bits({.included = 5, .excluded = 0}), 0.0);
  for (const auto& [in, out] :
       std::vector<std::pair<std::uint64_t, std::uint64_t>>{{1, 1}, {1, 1000}, {10, 10}, {100, 9'900}, {5000, 3000}}) {
    EXPECT_NEAR(sizing::least_exact_bits({.included = in, .excluded = out}), summed(in + out, in), 0.2) << in;
    EXPECT_EQ(sizing::bloom_cascade_bits({.included = in, .excluded = out}),
              sizing::bloom_cascade_bits({.included = out, .excluded = in}));
  }
  // One in a hundred, as the papers have it.
  EXPECT_NEAR(sizing::least_exact_bits({.included = 100'000, .excluded = 9'900'000}) / 1e5, 8.08, 0.005);
  EXPECT_NEAR(sizing::bloom_cascade_bits({.included = 100'000, .excluded = 9'900'000}) / 1e5, 13.77, 0.005);
}

// ---- how it is built -------------------------------------------------------------------------------------------------

TEST(Cascade, TheSameListsGiveTheSameBytesInAnyOrderOnAnyNumberOfThreads) {
  for (const auto& [in, out] :
       std::vector<std::pair<std::size_t, std::size_t>>{{500, 700}, {20'000, 300'000}, {500'000, 600'000}}) {
    lists of = lists::random(9, in, out);
    const cascade filter = built(of, {}, 1);
    std::shuffle(of.included.begin(), of.included.end(), std::mt19937_64(1));
    std::sort(of.excluded.begin(), of.excluded.end());
    for (const unsigned threads : {0U, 2U, 3U, 7U})
      EXPECT_TRUE(built(of, {}, threads) == filter) << in << " " << threads;
  }
}

TEST(Cascade, KeysThatComeAgainCountOnceAndChangeNothing) {
  const lists of = lists::random(10, 700, 20'000);
  const cascade filter = built(of);
  lists repeated = of;
  for (std::size_t i = 0; i < 3000; ++i) {
    repeated.included.push_back(of.included[i * i % of.included.size()]);
    repeated.excluded.push_back(of.excluded[i * i % of.excluded.size()]);
  }
  EXPECT_TRUE(built(repeated) == filter);
  const lists same{digest_list(100'000, 17), digest_list(100'000, 18)};
  const cascade one = built(same, {}, 2);
  EXPECT_EQ(one.keys().keys, 1U);
  EXPECT_EQ(one.excluded_keys(), 1U);
  EXPECT_EQ(wrong_answers(one, same), 0U);
  EXPECT_LE(one.memory_bytes(), 250U);
}

TEST(Cascade, ADigestInBothListsIsAnErrorThatReportsHowManyThereAre) {
  for (const std::size_t common : {1U, 3U, 500U}) {
    lists of = lists::random(11, 2000, 30'000);
    for (std::size_t i = 0; i < common; ++i) of.excluded[i * 50] = of.included[i];
    of.excluded.push_back(of.included[0]);  // counts once
    lists copy = of;
    const auto made = cascade::build({}, copy.included, copy.excluded, 1);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, errc::in_both_lists);
    EXPECT_EQ(made.error().number[0], common);
    const auto end = of.included.begin() + static_cast<std::ptrdiff_t>(common);
    EXPECT_NE(std::find(of.included.begin(), end, made.error().number[1]), end);
    const std::string text = error_of(of);
    EXPECT_EQ(text.find("the digests of " + std::to_string(common) + " keys are in both lists"), 0U) << text;
    EXPECT_NE(text.find("another seed"), std::string::npos) << text;
  }
  // The first and the last, and nothing but these.
  EXPECT_NE(error_of({{1, 5}, {0, 1}}), "");
  EXPECT_NE(error_of({{1, 5}, {5, 9}}), "");
  EXPECT_NE(error_of({{7}, {7}}), "");
  EXPECT_EQ(error_of({{1, 5}, {0, 2, 3, 4, 6}}), "");
}

TEST(Cascade, BuildingOnlyReordersTheDigests) {
  for (const bool both : {false, true}) {
    lists of = lists::random(12, 6000, 200'000);
    of.included.resize(6005, of.included[0]);
    if (both) of.excluded[0] = of.included[0];
    lists expected = of;
    EXPECT_EQ(cascade::build({}, of.included, of.excluded, 2).has_value(), !both);
    for (digest_list* list : {&of.included, &of.excluded, &expected.included, &expected.excluded}) {
      std::sort(list->begin(), list->end());
    }
    EXPECT_EQ(of.included, expected.included);
    EXPECT_EQ(of.excluded, expected.excluded);
  }
}

// Digests that count, that differ in a few bits, or whose hashes in the first or second layer are next to each other.
TEST(Cascade, BadlySpreadDigestsAreTaken) {
  const std::uint64_t salt = cascade_geometry::table_salt;
  for (const std::uint64_t multiplier : {kernels::ribbon_multiplier(0, 0), kernels::ribbon_multiplier(0, salt)}) {
    for (const unsigned shift : {0U, 20U, 40U, 48U}) {
      lists counted;
      lists near;
      for (std::uint64_t i = 0; i < 12'000; ++i) {
        (i % 3 == 0 ? counted.included : counted.excluded).push_back(i << shift);
        (i % 3 == 0 ? near.included : near.excluded).push_back(kernels::ribbon_unhash(i << shift, multiplier));
      }
      for (const lists* of : {&counted, &near}) {
        EXPECT_EQ(wrong_answers(built(*of), *of), 0U) << shift;
        EXPECT_EQ(wrong_answers(built(*of, {.fpr = 0.01}), *of), 0U) << shift;
      }
    }
  }
}

TEST(Cascade, RefusedMemoryIsAnErrorAndTheDigestsStay) {
  struct failing {
    int left = 0;
    std::int64_t live = 0;
  };
  const lists of = lists::random(13, 6000, 60'000);
  int allocations = 0;
  for (bool done = false; !done; ++allocations) {
    ASSERT_LT(allocations, 100);
    failing state{.left = allocations};
    const memory_hooks hooks{.allocate = [](void* context, std::size_t size, std::size_t alignment) -> void* {
                               auto* self = static_cast<failing*>(context);
                               if (self->left-- == 0) return nullptr;
                               self->live += static_cast<std::int64_t>(size);
                               return default_memory().allocate(nullptr, size, alignment);
                             },
                             .release =
                                 [](void* context, void* memory, std::size_t size, std::size_t alignment) {
                                   static_cast<failing*>(context)->live -= static_cast<std::int64_t>(size);
                                   default_memory().release(nullptr, memory, size, alignment);
                                 },
                             .context = &state};
    lists copy = of;
    lists expected = of;
    {
      const auto filter = cascade::build({.memory = &hooks}, copy.included, copy.excluded, 1);
      done = filter.has_value();
      if (!done) {
        EXPECT_EQ(filter.error().code, errc::out_of_memory);
        EXPECT_EQ(state.live, 0);
      } else {
        EXPECT_EQ(state.live, static_cast<std::int64_t>(filter->memory_bytes()));
      }
    }
    EXPECT_EQ(state.live, 0);
    for (digest_list* list : {&copy.included, &copy.excluded, &expected.included, &expected.excluded}) {
      std::sort(list->begin(), list->end());
    }
    ASSERT_EQ(copy.included, expected.included);
    ASSERT_EQ(copy.excluded, expected.excluded);
  }
  EXPECT_GT(allocations, 8);
}

// ---- parameters ------------------------------------------------------------------------------------------------------

TEST(Cascade, WhatCannotBeIsRefusedWithWhatWouldDo) {
  const auto refusal = [](const size_request& request, std::string_view layout = {}) {
    const auto plan = cascade::plan(request, layout);
    return plan ? "" : std::string(describe(plan.error()).view());
  };
  const auto says = [](const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; };
  EXPECT_EQ(refusal({.keys = 1000, .excluded_keys = 0}), "");
  EXPECT_EQ(refusal({.keys = 1000, .fpr = 0.01}), "");
  EXPECT_TRUE(says(refusal({.keys = 1000}), "keys to exclude"));
  EXPECT_TRUE(says(refusal({.excluded_keys = 1000}), "number of keys"));
  EXPECT_TRUE(says(refusal({.keys = 0, .excluded_keys = 1000}), "number of keys 0"));
  EXPECT_TRUE(says(refusal({.keys = 1, .excluded_keys = max_keys + 1}), "number of keys 7.2"));
  EXPECT_TRUE(says(refusal({.keys = 1000, .fpr = 1e-11}), "cannot reach"));
  EXPECT_TRUE(says(refusal({.keys = std::uint64_t{1} << 40U, .fpr = 1e-9}), "hash bits"));
  EXPECT_TRUE(says(refusal({.keys = 1000, .fpr = 0.01, .hashes = 3}), "hash functions"));
  EXPECT_TRUE(says(refusal({.keys = 1000, .fpr = 0.01}, "wide"), "has one layout"));
  EXPECT_TRUE(says(refusal({.keys = 1000, .bits_per_key = 9}), "leave the size out"));
  const lists few{{1, 2}, {3}};
  EXPECT_EQ(error_of(few), "");
  EXPECT_TRUE(says(error_of(few, {.memory_bytes = 5000}), "leave the size out"));
  EXPECT_TRUE(says(error_of(few, {.bits = 5000}), "leave the size out"));
  EXPECT_TRUE(says(error_of(few, {.fpr = 2}), "rate 2"));
  EXPECT_TRUE(says(error_of(few, {.mode = "set"}), "no modes"));
  EXPECT_TRUE(says(error_of(few, {.layout = "wide"}), "has one layout"));
  digest_list digests{1, 2};
  EXPECT_FALSE(cascade::build({}, digests, 1)) << "neither a second list nor a rate";
  EXPECT_TRUE(cascade::build({.fpr = 0.1}, digests, 1));
}

TEST(Cascade, TakesKeysOfAnyTypeThroughFilter) {
  std::vector<std::string> revoked;
  std::vector<std::string> valid;
  for (int i = 0; i < 30'000; ++i) (i % 50 == 0 ? revoked : valid).push_back("serial-" + std::to_string(i));
  using keys = std::span<const std::string>;
  const auto made = filter<cascade>::build(keys(revoked), keys(valid), {});
  ASSERT_TRUE(made) << describe(made.error()).c_str();
  for (const std::string& key : revoked) ASSERT_TRUE(made->may_contain(key));
  for (const std::string& key : valid) ASSERT_FALSE(made->may_contain(key));
  std::vector<std::uint64_t> mask(mask_words(valid.size()), ~std::uint64_t{0});
  made->may_contain_batch(keys(valid), mask);
  for (const std::uint64_t word : mask) ASSERT_EQ(word, 0U);
  const auto both = filter<cascade>::build(keys(revoked), keys(revoked), {});
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().code, errc::in_both_lists);
  EXPECT_EQ(both.error().number[0], revoked.size());
}

TEST(Cascade, AnyFilterBuildsItFromTwoListsAndOtherKindsRefuseASecond) {
  lists of = lists::random(20, 300, 9000);
  const hash_spec hash = hasher::of(xxh3{}).spec();
  const auto made = any_filter::build("cascade", {}, hash, of.included, of.excluded);
  ASSERT_TRUE(made) << describe(made.error()).c_str();
  EXPECT_TRUE(made->capabilities().excludes);
  EXPECT_EQ(made->shape().keys, 300U);
  EXPECT_EQ(made->shape().capacity_keys, 9300U);
  std::vector<std::uint64_t> mask(mask_words(of.excluded.size()), ~std::uint64_t{0});
  ASSERT_TRUE(made->may_contain(of.excluded, mask));
  for (const std::uint64_t word : mask) ASSERT_EQ(word, 0U);
  EXPECT_EQ(any_filter::build("cascade", {}, hash, of.included).error().code, errc::missing_parameter);
  const auto other = any_filter::build("ribbon", {.fpr = 0.01}, hash, of.included, of.excluded);
  ASSERT_FALSE(other);
  EXPECT_EQ(describe(other.error()).view(), "kind ribbon cannot exclude keys");
  EXPECT_EQ(any_filter::build("blum", {}, hash, of.included, of.excluded).error().code, errc::unknown_kind);
}

TEST(NightlyCascade, OneInAHundredOfTenMillion) {
  const lists of = lists::random(21, 100'000, 9'900'000);
  const cascade filter = built(of, {}, 4);
  EXPECT_EQ(wrong_answers(filter, of), 0U);
  EXPECT_LE(bits_of(filter), 8.65e5);
  EXPECT_TRUE(built(of, {}, 1) == filter);
}

}  // namespace
}  // namespace bloomery::cascade_testing
