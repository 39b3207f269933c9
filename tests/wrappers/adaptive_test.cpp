// adaptive<K>: what it learns, how it grows and is rebuilt, and that no key is ever lost by it. When it checks itself, and keys of every
// type, are in adaptive_checks_test.cpp.
#include <bloomery/core/binomial.hpp>
#include <thread>
#include <unordered_set>

#include "support/memory.hpp"
#include "support/typed_kinds.hpp"
#include "wrappers/adaptive_support.hpp"

namespace bloomery::adaptive_testing {
namespace {

using namespace bloomery::test;

// ---- what every kind gets ----

template <class K>
class Adaptive : public testing::Test {};
TYPED_TEST_SUITE(Adaptive, kinds_with<first_of_each<fixed_size_kinds>>, kind_name);

TYPED_TEST(Adaptive, AfterAHundredThousandReportsThoseKeysAnswerNoAndNoKeyIsLost) {
  constexpr std::uint64_t count = 50'000;
  constexpr std::uint64_t reports = 100'000;
  auto filter = made_for<TypeParam>(count, 0.1);
  const numbers inserted = numbers_from(0, count);
  filter.add_batch(all_of(inserted));
  const numbers reported = false_positives_of(filter, reports);
  const std::uint64_t before = filter.memory_bytes();
  for (const std::uint64_t key : reported) {
    ASSERT_TRUE(filter.may_contain(key));
    ASSERT_TRUE(filter.report_false_positive(key));
    ASSERT_FALSE(filter.may_contain(key));
  }
  EXPECT_EQ(count_found(filter, reported), 0U);
  for (const std::uint64_t key : reported) ASSERT_FALSE(filter.may_contain(key));
  EXPECT_EQ(count_found(filter, inserted), count);
  for (const std::uint64_t key : inserted) ASSERT_TRUE(filter.may_contain(key));
  EXPECT_EQ(filter.reported_keys(), reports);
  EXPECT_EQ(filter.stats().reports, reports);
  EXPECT_EQ(filter.stats().avoided, 3 * reports);
  EXPECT_EQ(filter.stats().dropped, 0U);
  EXPECT_LE(filter.memory_bytes(), before + adaptive_options{}.report_bytes);
  // Others answer as they did: the list denies nobody else.
  const numbers others = false_positives_of(filter, 1000);
  for (const std::uint64_t key : others) ASSERT_TRUE(filter.may_contain(key));
  // What is inserted after its report is found.
  for (std::size_t i = 0; i < reported.size(); i += 10) filter.insert(reported[i]);
  for (std::size_t i = 0; i < reported.size(); ++i) ASSERT_EQ(filter.may_contain(reported[i]), i % 10 == 0) << i;
  EXPECT_EQ(count_found(filter, inserted), count);
}

TYPED_TEST(Adaptive, AConfirmedAnswerIsTheTruthAndIsLookedUpOnceAKey) {
  constexpr std::uint64_t count = 5000;
  auto filter = made_for<TypeParam>(count, 0.1);
  for (std::uint64_t i = 0; i < count; ++i) filter.insert(i);
  std::uint64_t asked = 0;
  const auto is_there = [&](std::uint64_t key) {
    ++asked;
    return key < count;
  };
  std::uint64_t maybe = 0;
  for (std::uint64_t key = 0; key < 4 * count; ++key) {
    maybe += filter.may_contain(key) ? 1U : 0U;
    ASSERT_EQ(filter.may_contain_confirmed(key, is_there), key < count);
  }
  EXPECT_EQ(asked, maybe);
  EXPECT_GT(maybe, count + 100);
  EXPECT_EQ(filter.stats().confirmed, 4 * count);
  EXPECT_EQ(filter.stats().false_positives, maybe - count);
  EXPECT_DOUBLE_EQ(filter.observed_fpr(), static_cast<double>(maybe - count) / (3 * count));
  // Again, as a batch: only what is there is confirmed, every false positive is known.
  asked = 0;
  const numbers keys = numbers_from(0, 4 * count);
  std::vector<std::uint64_t> mask(mask_words(keys.size()));
  filter.may_contain_confirmed_batch(all_of(keys), mask, is_there);
  for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(mask[i / 64] >> (i % 64) & 1U, i < count ? 1U : 0U);
  EXPECT_EQ(asked, count);
  EXPECT_EQ(filter.stats().avoided, maybe - count);
}

TYPED_TEST(Adaptive, TheOldestReportsMakeSpaceForNewOnes) {
  auto filter = made_for<TypeParam>(20'000, 0.1, {.report_bytes = std::uint64_t{64} << 10U});
  filter.add_batch(all_of(numbers_from(0, 20'000)));
  const std::uint64_t before = filter.memory_bytes();
  const numbers reported = false_positives_of(filter, 5000);
  for (const std::uint64_t key : reported) ASSERT_TRUE(filter.report_false_positive(key));
  const std::uint64_t kept = filter.reported_keys();
  EXPECT_GT(kept, 1000U);
  EXPECT_EQ(kept + filter.stats().dropped, reported.size());
  EXPECT_EQ(filter.memory_bytes(), before + (std::uint64_t{64} << 10U));
  for (std::size_t i = 0; i < reported.size(); ++i) {
    ASSERT_EQ(filter.may_contain(reported[i]), i < reported.size() - kept) << i;
  }
  filter.forget_reports();
  EXPECT_EQ(count_found(filter, reported), reported.size());
}

TYPED_TEST(Adaptive, IsRebuiltFromItsSourceWhenItsRateIsTwiceTheTarget) {
  constexpr std::uint64_t count = 60'000;
  auto filter = made_for<TypeParam>(5000);
  table_source table;
  filter.set_source(table);
  // The key of a call is not in the table yet when the call is made.
  for (std::uint64_t key = 0; key < count; ++key) {
    filter.insert(key);
    table.keys.push_back(key);
    ASSERT_TRUE(filter.may_contain(key));
    if (key % 7919 == 0) {
      ASSERT_EQ(count_found(filter, table.keys), key + 1);
    }
  }
  EXPECT_EQ(count_found(filter, table.keys), count);
  EXPECT_EQ(filter.sub_filters(), 1U);
  const adaptive_stats stats = filter.stats();
  EXPECT_EQ(stats.rebuilds, table.calls);
  EXPECT_GE(stats.rebuilds, 4U);
  EXPECT_LE(stats.rebuilds, 8U);
  EXPECT_EQ(stats.growths, 0U);
  EXPECT_EQ(stats.failures, 0U);
  EXPECT_LE(filter.capacity_keys(), count * 3 / 2 + 1);
  EXPECT_LE(filter.fpr_now(), 0.02);
  const std::uint64_t wrong = count_found(filter, numbers_from(1'000'000, 200'000));
  EXPECT_LE(binomial::lower_bound(wrong, 200'000, 0.001), 0.02);
}

TYPED_TEST(Adaptive, ABatchThatItsSourceKnowsNothingOfIsKept) {
  constexpr std::uint64_t count = 40'000;
  auto filter = made_for<TypeParam>(2000);
  table_source table;
  table.keys = numbers_from(0, 1000);
  filter.set_source(table);
  filter.add_batch(all_of(table.keys));
  const numbers batch = numbers_from(1000, count);
  const guarded_outcome outcome = filter.add_batch(all_of(batch));
  EXPECT_EQ(outcome.refused, 0U);
  EXPECT_GE(filter.stats().rebuilds, 3U);
  EXPECT_EQ(count_found(filter, batch), count);
  EXPECT_EQ(count_found(filter, table.keys), 1000U);
  EXPECT_LE(filter.fpr_now(), 0.02);
}

TYPED_TEST(Adaptive, GrowsWithoutASourceAndStaysBelowTwiceTheTarget) {
  for (const double target : {0.1, 0.01}) {
    constexpr std::uint64_t count = 60'000;
    auto one_by_one = made_for<TypeParam>(1000, target);
    auto at_once = made_for<TypeParam>(1000, target);
    for (std::uint64_t key = 0; key < count; ++key) {
      one_by_one.insert(key);
      ASSERT_TRUE(one_by_one.may_contain(key));
    }
    EXPECT_EQ(at_once.add_batch(all_of(numbers_from(0, count))).refused, 0U);
    for (const auto* filter : {&one_by_one, &at_once}) {
      EXPECT_EQ(count_found(*filter, numbers_from(0, count)), count);
      EXPECT_EQ(filter->sub_filters(), 6U);  // 1000, then 1.5 times all before: 2.5^n
      EXPECT_EQ(filter->stats().growths, 5U);
      EXPECT_EQ(filter->stats().rebuilds, 0U);
      EXPECT_LE(filter->fpr_now(), 2 * target);
      const std::uint64_t wrong = count_found(*filter, numbers_from(1'000'000, 200'000));
      EXPECT_LE(binomial::lower_bound(wrong, 200'000, 0.001), 2 * target);
    }
    EXPECT_EQ(at_once.keys().keys, one_by_one.keys().keys);
  }
}

TYPED_TEST(Adaptive, ASourceThatFailsLeavesItAsItWas) {
  auto filter = made_for<TypeParam>(1000);
  table_source table;
  table.keys = numbers_from(0, 2000);
  table.fails = true;
  filter.set_source(table);
  std::uint64_t refused = 0;
  for (const std::uint64_t key : table.keys) {
    const insert_result done = filter.insert(key);
    refused += done == insert_result::full ? 1U : 0U;
    ASSERT_EQ(filter.may_contain(key) || done == insert_result::full, true) << key;
  }
  EXPECT_EQ(last_error_of(filter), "the table went away");
  EXPECT_EQ(filter.stats().rebuilds, 0U);
  EXPECT_GT(filter.stats().failures, 0U);
  // It is not read again for every key, although a full filter would want it.
  EXPECT_EQ(table.calls, filter.stats().failures);
  EXPECT_LE(table.calls, 2 * 2000U / 125);
  EXPECT_EQ(refused != 0, (bounded_kind<TypeParam>));
  EXPECT_EQ(error_of(filter.rebuild()), "the table went away");
  const auto same = filter.sub_filter(0).clone();
  ASSERT_TRUE(same);
  EXPECT_FALSE(filter.rebuild());
  EXPECT_TRUE(filter.sub_filter(0) == *same);
  table.fails = false;
  ASSERT_TRUE(filter.rebuild());
  EXPECT_EQ(count_found(filter, table.keys), 2000U);
  EXPECT_LE(filter.fpr_now(), 0.01);
}

TYPED_TEST(Adaptive, ASourceMayHaveMoreKeysAndCopiesOfThem) {
  auto filter = made_for<TypeParam>(100);
  table_source table;
  for (int copies = 0; copies < 12; ++copies) {
    for (std::uint64_t key = 0; key < 3000; ++key) table.keys.push_back(key);
  }
  filter.set_source(table);
  ASSERT_TRUE(filter.rebuild());
  EXPECT_EQ(count_found(filter, numbers_from(0, 3000)), 3000U);
  EXPECT_LE(filter.capacity_keys(), 3000U * 1.1 * 1.5);
  EXPECT_EQ(table.calls, 2U);
  EXPECT_LE(filter.fpr_now(), 0.01);
  EXPECT_NEAR(static_cast<double>(filter.keys().keys), 3000, 60);
  // A thousand times as many as it was made for: their number is known after one pass over them.
  auto small = made_for<TypeParam>(100);
  table_source large;
  large.keys = numbers_from(0, 100'000);
  small.set_source(large);
  ASSERT_TRUE(small.rebuild());
  EXPECT_EQ(large.calls, 2U);
  EXPECT_EQ(count_found(small, large.keys), 100'000U);
  EXPECT_NEAR(static_cast<double>(small.capacity_keys()), 150'000, 15'000);
}

TYPED_TEST(Adaptive, ARebuildForgetsWhatItsSourceLostAndFindsWhatWasReportedWrongly) {
  auto filter = made_for<TypeParam>(10'000);
  table_source table;
  table.keys = numbers_from(0, 10'000);
  filter.set_source(table);
  filter.add_batch(all_of(table.keys));
  ASSERT_TRUE(filter.report_false_positive(table.keys[9000]));  // a lie, which the caller answers for
  EXPECT_FALSE(filter.may_contain(table.keys[9000]));
  table.keys.erase(table.keys.begin(), table.keys.begin() + 5000);
  ASSERT_TRUE(filter.rebuild());
  EXPECT_EQ(count_found(filter, table.keys), 5000U);
  EXPECT_LE(count_found(filter, numbers_from(0, 5000)), 100U);
}

// ---- refused memory ----

// Every request is refused once; whatever happens, an inserted key is found.
TYPED_TEST(Adaptive, MemoryThatIsRefusedIsAnErrorAndNoKeyIsLost) {
  for (const bool has_source : {false, true}) {
    bool refused_once = true;
    unsigned made = 0;
    for (std::uint64_t n = 0; refused_once; ++n) {
      ASSERT_LT(n, 100U);
      counting_memory memory(n);
      {
        auto filter = adaptive<TypeParam>::make({.keys = 500, .fpr = 0.01, .memory = &memory.hooks},
                                                {.report_bytes = recent_keys::min_limit_bytes});
        if (!filter) {
          EXPECT_EQ(filter.error().code, errc::out_of_memory);
        } else {
          ++made;
          table_source table;
          if (has_source) filter->set_source(table);
          const auto reported = filter->report_false_positive("nobody");
          EXPECT_TRUE(reported || reported.error().code == errc::out_of_memory);
          EXPECT_EQ(filter->may_contain("nobody"), false);
          numbers& inside = table.keys;
          std::uint64_t keys = 6000;
          for (std::uint64_t key = 0; key < keys; ++key) {
            const bool failed_before = filter->last_error().has_value();
            if (filter->insert(key) != insert_result::full) inside.push_back(key);
            EXPECT_TRUE(!filter->last_error() || filter->last_error()->code == errc::out_of_memory);
            ASSERT_TRUE(filter->may_contain(inside.back()));
            // It tries again after an eighth of its capacity, which may be beyond the last key.
            if (filter->last_error() && !failed_before) keys = std::max(keys, key + filter->capacity_keys() / 8 + 65);
          }
          EXPECT_EQ(count_found(*filter, inside), inside.size());
          EXPECT_FALSE(filter->last_error()) << "it recovers";
          EXPECT_LE(filter->stats().failures, 1U);
          EXPECT_TRUE(inside.size() == keys || bounded_kind<TypeParam>);
        }
      }
      EXPECT_EQ(memory.live, 0U);
      refused_once = memory.requests > n;
    }
    EXPECT_GE(made, 4U);
  }
}

// ---- other kinds, files, threads ----

template <class K>
class AdaptiveKinds : public testing::Test {};
TYPED_TEST_SUITE(AdaptiveKinds, kinds_with<first_of_each<keyed_kinds>>, kind_name);

TYPED_TEST(AdaptiveKinds, AreAdaptedToo) {
  for (const bool has_source : {false, true}) {
    auto filter = made_for<TypeParam>(1000, 0.05);
    table_source table;
    table.keys = numbers_from(0, 8000);
    if (has_source) filter.set_source(table);
    for (const std::uint64_t key : table.keys) filter.insert(key);
    EXPECT_EQ(count_found(filter, table.keys), 8000U);
    EXPECT_LE(filter.fpr_now(), 0.1);
    const numbers reported = false_positives_of(filter, 500);
    for (const std::uint64_t key : reported) ASSERT_TRUE(filter.report_false_positive(key));
    EXPECT_EQ(count_found(filter, reported), 0U);
    EXPECT_EQ(count_found(filter, table.keys), 8000U);
    filter.clear();
    EXPECT_EQ(filter.keys().keys, 0U);
    EXPECT_EQ(count_found(filter, table.keys), 0U);
  }
}

// From digests of 64 bits to such of 128 and back to one filter.
TEST(AdaptiveWide, SubFiltersMayTakeDigestsOfOtherWidths) {
  constexpr double rate = 1e-15;
  auto filter = made_for<bloom>(64, rate);
  ASSERT_EQ(filter.sub_filter(0).digest_bits(), 64U);
  const numbers keys = numbers_from(0, 20'000);
  filter.add_batch(all_of(numbers_from(0, 10'000)));
  for (std::uint64_t key = 10'000; key < 20'000; ++key) filter.insert(key);
  ASSERT_EQ(filter.sub_filter(filter.sub_filters() - 1).digest_bits(), 128U);
  EXPECT_EQ(count_found(filter, keys), 20'000U);
  for (const std::uint64_t key : keys) ASSERT_TRUE(filter.may_contain(key));
  EXPECT_EQ(count_found(filter, numbers_from(1'000'000, 10'000)), 0U);
  table_source table;
  table.keys = keys;
  filter.set_source(table);
  ASSERT_TRUE(filter.rebuild());
  EXPECT_EQ(filter.sub_filter(0).digest_bits(), 128U);
  EXPECT_EQ(count_found(filter, keys), 20'000U);
}

TEST(AdaptiveFile, OneSubFilterIsSavedAndAdaptedAgain) {
  const folder box;
  const std::string path = box / "filter";
  auto filter = made_for<blocked>(1000);
  filter.add_batch(all_of(numbers_from(0, 1000)));
  ASSERT_TRUE(filter.save(std::filesystem::path(path)));
  auto stored = bloomery::filter<blocked>::load(path.c_str());
  ASSERT_TRUE(stored);
  auto again = adaptive<blocked>::over(std::move(*stored));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->target_fpr(), again->sub_filter(0).target_fpr());
  again->add_batch(all_of(numbers_from(1000, 1000)));
  EXPECT_EQ(again->sub_filters(), 2U);
  EXPECT_EQ(count_found(*again, numbers_from(0, 2000)), 2000U);
  EXPECT_EQ(error_of(again->save(path.c_str())),
            "a filter in several sub-filters is not saved: set a source and rebuild it");
}

TEST(AdaptiveOver, GrowsInTheLayoutAndModeThatItWasMadeIn) {
  auto filter = [] {
    const std::string layout = "slots4";  // gone when the filter grows
    const std::string mode = "set";
    return adaptive<cuckoo>::make({.keys = 1000, .fpr = 0.01, .layout = layout, .mode = mode});
  }();
  ASSERT_TRUE(filter) << error_of(filter);
  filter->add_batch(all_of(numbers_from(0, 1500)));
  ASSERT_EQ(filter->sub_filters(), 2U);
  EXPECT_EQ(filter->sub_filter(1).mode(), cuckoo_mode::set);
  EXPECT_EQ(filter->sub_filter(1).geometry().slots, 4U);
}

TEST(AdaptiveConcurrent, ManyMayQueryAndEveryAnswerOfTheListIsCounted) {
  auto filter = made_for<cuckoo>(10'000, 0.1);
  filter.add_batch(all_of(numbers_from(0, 10'000)));
  const numbers reported = false_positives_of(filter, 1000);
  for (const std::uint64_t key : reported) ASSERT_TRUE(filter.report_false_positive(key));
  const auto& shared = filter;
  std::vector<std::thread> readers;
  for (int id = 0; id < 4; ++id) {
    readers.emplace_back([&] {
      for (const std::uint64_t key : reported) EXPECT_FALSE(shared.may_contain(key));
      EXPECT_EQ(count_found(shared, numbers_from(0, 10'000)), 10'000U);
    });
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(filter.stats().avoided, 4000U);
  auto moved = std::move(filter);
  EXPECT_EQ(moved.stats().avoided, 4000U);
  EXPECT_EQ(count_found(moved, reported), 0U);
}

}  // namespace
}  // namespace bloomery::adaptive_testing
