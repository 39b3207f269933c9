// adaptive<K>: what it learns, when it checks itself, how it grows and is rebuilt, and that no key is ever lost by it.
#include <gtest/gtest.h>

#include <bloomery/core/binomial.hpp>
#include <bloomery/wrappers/adaptive.hpp>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "native/support.hpp"

namespace {
namespace adaptive_tests {

using namespace bloomery;
using namespace bloomery::test;

using numbers = std::vector<std::uint64_t>;
std::span<const std::uint64_t> all_of(const numbers& keys) { return keys; }

numbers numbers_from(std::uint64_t first, std::uint64_t count) {
  numbers made(count);
  for (std::uint64_t i = 0; i < count; ++i) made[i] = first + i;
  return made;
}

template <class K>
adaptive<K> made_for(std::uint64_t keys, double fpr = 0.01, const adaptive_options& options = {}) {
  auto made = adaptive<K>::make({.keys = keys, .fpr = fpr}, options);
  if (!made) ADD_FAILURE() << describe(made.error()).c_str();
  return std::move(*made);
}

template <class Of>
numbers found_in(const Of& filter, const numbers& keys) {
  std::vector<std::uint64_t> mask(mask_words(keys.size()));
  filter.may_contain_batch(all_of(keys), mask);
  numbers found;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if ((mask[i / 64] >> (i % 64) & 1U) != 0) found.push_back(keys[i]);
  }
  return found;
}
template <class Of>
std::uint64_t count_found(const Of& filter, const numbers& keys) {
  return found_in(filter, keys).size();
}

// So many absent keys that the filter calls "maybe".
template <class Of>
numbers false_positives_of(const Of& filter, std::size_t wanted) {
  numbers found;
  for (std::uint64_t first = 1'000'000'000; found.size() < wanted; first += 100'000) {
    const numbers some = found_in(filter, numbers_from(first, 100'000));
    found.insert(found.end(), some.begin(), some.end());
  }
  found.resize(wanted);
  return found;
}

// The keys of a table, and how often somebody wanted them all.
struct table_source {
  numbers keys{};
  unsigned calls = 0;
  bool fails = false;

  template <class Sink>
  result<void> operator()(Sink& sink) {
    ++calls;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (fails && i == keys.size() / 2) return fail(errc::io, "the table went away");
      sink(keys[i]);
    }
    return {};
  }
};

template <class Of>
std::string last_error_of(const Of& filter) {
  return filter.last_error() ? std::string(describe(*filter.last_error()).view()) : std::string("no error");
}

// ---- what every kind gets ----

template <class K>
class Adaptive : public testing::Test {};
using adapted_kinds = testing::Types<blocked, cuckoo>;
TYPED_TEST_SUITE(Adaptive, adapted_kinds, kind_names);

TYPED_TEST(Adaptive, AfterAHundredThousandReportsThoseKeysAnswerNoAndNoKeyIsLost) {
  constexpr std::uint64_t count = 50'000;
  constexpr std::uint64_t reports = 100'000;
  auto filter = made_for<TypeParam>(count, 0.1);
  const numbers inserted = numbers_from(0, count);
  filter.insert_batch(all_of(inserted));
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

TYPED_TEST(Adaptive, AConfirmedAnswerIsTheTruthAndIsAskedForOnceAKey) {
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
  // Again, as a batch: only what is there is asked for, every false positive is known.
  asked = 0;
  const numbers keys = numbers_from(0, 4 * count);
  std::vector<std::uint64_t> mask(mask_words(keys.size()));
  filter.may_contain_confirmed_batch(all_of(keys), mask, is_there);
  for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(mask[i / 64] >> (i % 64) & 1U, i < count ? 1U : 0U);
  EXPECT_EQ(asked, count);
  EXPECT_EQ(filter.stats().avoided, maybe - count);
}

TYPED_TEST(Adaptive, TheOldestReportsMakeRoomForNewOnes) {
  auto filter = made_for<TypeParam>(20'000, 0.1, {.report_bytes = std::uint64_t{64} << 10U});
  filter.insert_batch(all_of(numbers_from(0, 20'000)));
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
  filter.insert_batch(all_of(table.keys));
  const numbers batch = numbers_from(1000, count);
  const guarded_outcome outcome = filter.insert_batch(all_of(batch));
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
    EXPECT_EQ(at_once.insert_batch(all_of(numbers_from(0, count))).refused, 0U);
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
  // It is not asked again for every key, although a full filter would want it.
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
  filter.insert_batch(all_of(table.keys));
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
          for (std::uint64_t key = 0; key < 6000; ++key) {
            if (filter->insert(key) != insert_result::full) inside.push_back(key);
            EXPECT_TRUE(!filter->last_error() || filter->last_error()->code == errc::out_of_memory);
            ASSERT_TRUE(filter->may_contain(inside.back()));
          }
          EXPECT_EQ(count_found(*filter, inside), inside.size());
          EXPECT_FALSE(filter->last_error()) << "it recovers";
          EXPECT_LE(filter->stats().failures, 1U);
          EXPECT_TRUE(inside.size() == 6000 || bounded_kind<TypeParam>);
        }
      }
      EXPECT_EQ(memory.live, 0U);
      refused_once = memory.requests > n;
    }
    EXPECT_GE(made, 4U);
  }
}

// ---- when it checks ----

TEST(AdaptiveChecks, ComeEveryTenThousandAdds) {
  auto one_by_one = made_for<blocked>(100'000);
  auto at_once = made_for<blocked>(100'000);
  for (std::uint64_t key = 0; key < 9999; ++key) one_by_one.insert(key % 100);
  EXPECT_EQ(one_by_one.stats().checks, 0U);
  one_by_one.insert(7);
  EXPECT_EQ(one_by_one.stats().checks, 1U);
  for (std::uint64_t key = 0; key < 25'000; ++key) one_by_one.insert(key);
  EXPECT_EQ(one_by_one.stats().checks, 3U);
  at_once.insert_batch(all_of(numbers_from(0, 35'000)));
  EXPECT_EQ(at_once.stats().checks, 3U);
  EXPECT_EQ(at_once.stats().adds, 35'000U);
  // As long as it holds fewer keys than it was made for, its fill need not be read.
  EXPECT_EQ(at_once.stats().readings, 0U);
}

TEST(AdaptiveChecks, ComeAsOftenAsWantedAndInSmallFiltersMoreOften) {
  auto often = made_for<cuckoo>(100'000, 0.01, {.check_every = 100});
  auto never = made_for<cuckoo>(1000, 0.01, {.check_every = 0});
  auto small = made_for<cuckoo>(8000);
  for (std::uint64_t key = 0; key < 5000; ++key) {
    often.insert(key);
    never.insert(key);
    small.insert(key);
  }
  EXPECT_EQ(often.stats().checks, 50U);
  EXPECT_EQ(never.stats().checks, 0U);
  EXPECT_EQ(small.stats().checks, 5U);
  ASSERT_TRUE(never.check());
  EXPECT_EQ(never.stats().checks, 1U);
}

TEST(AdaptiveChecks, ReadTheFillAFewTimesOnTheWayToTwiceTheTarget) {
  auto filter = made_for<bloom>(50'000, 0.01, {.check_every = 10});
  table_source table;
  filter.set_source(table);
  for (std::uint64_t key = 0; filter.stats().rebuilds == 0; ++key) {
    ASSERT_LT(key, 70'000U);
    ASSERT_EQ(key < 50'000 ? filter.stats().readings : 0U, 0U);
    table.keys.push_back(key);
    filter.insert(key);
  }
  EXPECT_GE(filter.stats().readings, 5U);
  EXPECT_LE(filter.stats().readings, 15U);
  EXPECT_NEAR(static_cast<double>(filter.capacity_keys()), static_cast<double>(filter.keys().keys) * 1.5, 1000);
}

TEST(AdaptiveChecks, SayWhatTheyDid) {
  auto filter = made_for<blocked>(1000, 0.01, {.check_every = 0});
  table_source table;
  table.keys = numbers_from(0, 1500);
  filter.set_source(table);
  filter.insert_batch(all_of(numbers_from(0, 1000)));
  EXPECT_EQ(filter.check(), adaptation::none);
  filter.insert_batch(all_of(table.keys));
  EXPECT_GT(filter.fpr_now(), 0.02);
  EXPECT_EQ(filter.check(), adaptation::rebuilt);
  EXPECT_LE(filter.fpr_now(), 0.01);
  EXPECT_EQ(filter.check(), adaptation::none);
  filter.remove_source();
  EXPECT_EQ(error_of(filter.rebuild()), "there is no source of keys to rebuild the filter from: set one");
}

// An opponent asks for what he found to be false positives, each once.
TEST(AdaptiveChecks, AHighRateOfReportsRebuildsToo) {
  constexpr std::uint64_t count = 10'000;
  auto filter = made_for<blocked>(count, 0.05, {.check_every = 0});
  table_source table;
  table.keys = numbers_from(0, count);
  filter.insert_batch(all_of(table.keys));
  const auto attack = [&] {
    for (const std::uint64_t key : false_positives_of(filter, 500)) {
      EXPECT_FALSE(filter.may_contain_confirmed(key, [](std::uint64_t) { return false; }));
    }
  };
  attack();
  EXPECT_EQ(filter.observed_fpr(), 1.0);
  EXPECT_EQ(error_of(filter.check()),
            "false positives are above twice the target, and there is no source of keys to rebuild from");
  filter.set_source(table);
  std::uint64_t rebuilds = 0;
  for (; rebuilds < 20; ++rebuilds) {
    if (!filter.check()) break;
    EXPECT_EQ(filter.stats().rebuilds, rebuilds + 1);
    EXPECT_EQ(filter.observed_fpr(), 0.0);
    EXPECT_EQ(count_found(filter, table.keys), count);
    attack();
  }
  // Memory is not given for ever.
  EXPECT_EQ(rebuilds, 4U);
  EXPECT_LE(filter.capacity_keys(), 4 * count);
  EXPECT_EQ(error_of(filter.check()),
            "false positives are above twice the target in a filter with room: use another hash, or a keyed one");
  // As many false positives as promised are no reason.
  auto honest = made_for<blocked>(count, 0.05, {.check_every = 0});
  honest.set_source(table);
  honest.insert_batch(all_of(table.keys));
  for (std::uint64_t key = count; key < 10 * count; ++key) {
    EXPECT_FALSE(honest.may_contain_confirmed(key, [](std::uint64_t) { return false; }));
  }
  EXPECT_EQ(honest.check(), adaptation::none);
}

// ---- keys and their digests ----

// All keys of one length have one digest.
struct length_hash {
  static constexpr hash_info info{.id = 9999, .name = "length", .bits = 64, .summary = ""};
  std::uint64_t operator()(const void* /*bytes*/, std::size_t size) const noexcept { return mix64(size); }
};

TEST(AdaptiveKeys, AReportDeniesNoOtherKeyEvenIfItsDigestIsTheSame) {
  auto filter = adaptive<blocked, length_hash>::make({.keys = 1000, .fpr = 0.01});
  ASSERT_TRUE(filter);
  filter->insert("alice");
  ASSERT_TRUE(filter->report_false_positive("craig"));
  EXPECT_FALSE(filter->may_contain("craig"));
  EXPECT_TRUE(filter->may_contain("alice"));
  const std::vector<std::string> names{"alice", "craig", "trudy"};
  std::vector<std::uint64_t> mask(1);
  filter->may_contain_batch(std::span<const std::string>(names), mask);
  EXPECT_EQ(mask[0], 0b101U);
  // A key that looks like it makes it "maybe" again: it might be the same key by another name, see below.
  filter->insert("trudy");
  EXPECT_TRUE(filter->may_contain("craig"));
}

TEST(AdaptiveKeys, AKeyIsTheSameByItsDigest) {
  auto filter = made_for<cuckoo>(1000);
  const std::uint64_t digest = digest_of(xxh3{}, "alice");
  ASSERT_TRUE(filter.report_false_positive(prehashed{digest}));
  ASSERT_TRUE(filter.report_false_positive("alice"));
  filter.insert("alice");
  EXPECT_TRUE(filter.may_contain("alice"));
  EXPECT_TRUE(filter.may_contain(prehashed{digest}));
  ASSERT_TRUE(filter.report_false_positive("bob"));
  filter.insert(prehashed{digest_of(xxh3{}, "bob")});
  EXPECT_TRUE(filter.may_contain("bob"));
}

TEST(AdaptiveKeys, OfEveryTypeAreRemembered) {
  auto filter = adaptive<blocked, length_hash>::make({.keys = 1000, .fpr = 0.01});
  ASSERT_TRUE(filter);
  const auto check = [&](const auto& present, const auto& absent) {
    filter->insert(present);
    ASSERT_TRUE(filter->may_contain(absent));
    ASSERT_TRUE(filter->report_false_positive(absent));
    EXPECT_FALSE(filter->may_contain(absent));
    EXPECT_TRUE(filter->may_contain(present));
  };
  check(std::string("text"), std::string("tent"));
  check(std::uint32_t{5}, -5);
  check(std::tuple("user", 42), std::tuple("user", 43));
  check(std::vector<unsigned char>{1, 2, 3}, std::vector<unsigned char>{1, 2, 4});
  check(std::string(4096, 'a'), std::string(4096, 'b'));
}

TEST(AdaptiveKeys, ThatCannotBeRememberedGoOnToAnswerMaybe) {
  auto filter = adaptive<blocked, length_hash>::make({.keys = 1000, .fpr = 0.01});
  ASSERT_TRUE(filter);
  const std::string present(5000, 'a');
  const std::string absent(5000, 'b');
  filter->insert(present);
  EXPECT_EQ(error_of(filter->report_false_positive(absent)),
            "a key of 5000 bytes is too long to be remembered: at most 4096");
  EXPECT_TRUE(filter->may_contain(absent));
  EXPECT_FALSE(filter->may_contain_confirmed(absent, [](const std::string&) { return false; }));
  EXPECT_TRUE(filter->may_contain(present));
  // Digests stand for long parts of a tuple: two tuples may look alike.
  const std::tuple long_part(1, std::string(600, 'a'));
  filter->insert(long_part);
  EXPECT_EQ(error_of(filter->report_false_positive(std::tuple(1, std::string(600, 'b')))),
            "a tuple that is folded into a digest is too long to be remembered");
  EXPECT_TRUE(filter->may_contain(long_part));
  auto none = made_for<blocked>(1000, 0.01, {.report_bytes = 0});
  EXPECT_EQ(error_of(none.report_false_positive("x")), "this filter was made to remember no reported keys");
  EXPECT_EQ(error_of(adaptive<blocked>::make({.keys = 10, .fpr = 0.01}, {.report_bytes = 100})),
            "memory of 100 bytes is too small: this kind needs at least 16384 bytes");
}

// ---- other kinds, files, threads ----

template <class K>
class AdaptiveKinds : public testing::Test {};
using further_kinds = testing::Types<bloom, counting, scalable>;
TYPED_TEST_SUITE(AdaptiveKinds, further_kinds, kind_names);

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
TEST(AdaptiveWide, LinksMayTakeDigestsOfOtherWidths) {
  constexpr double rate = 1e-15;
  auto filter = made_for<bloom>(64, rate);
  ASSERT_EQ(filter.sub_filter(0).digest_bits(), 64U);
  const numbers keys = numbers_from(0, 20'000);
  filter.insert_batch(all_of(numbers_from(0, 10'000)));
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

TEST(AdaptiveFile, OneLinkIsSavedAndAdaptedAgain) {
  const folder box;
  const std::string path = box / "filter";
  auto filter = made_for<blocked>(1000);
  filter.insert_batch(all_of(numbers_from(0, 1000)));
  ASSERT_TRUE(filter.save(path.c_str()));
  auto stored = bloomery::filter<blocked>::load(path.c_str());
  ASSERT_TRUE(stored);
  auto again = adaptive<blocked>::over(std::move(*stored));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->target_fpr(), again->sub_filter(0).target_fpr());
  again->insert_batch(all_of(numbers_from(1000, 1000)));
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
  filter->insert_batch(all_of(numbers_from(0, 1500)));
  ASSERT_EQ(filter->sub_filters(), 2U);
  EXPECT_EQ(filter->sub_filter(1).mode(), cuckoo_mode::set);
  EXPECT_EQ(filter->sub_filter(1).geometry().slots, 4U);
}

TEST(AdaptiveConcurrent, ManyMayAskAndEveryAnswerOfTheListIsCounted) {
  auto filter = made_for<cuckoo>(10'000, 0.1);
  filter.insert_batch(all_of(numbers_from(0, 10'000)));
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

}  // namespace adaptive_tests
}  // namespace
