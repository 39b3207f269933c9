// adaptive<K>: when it checks itself, and which keys it remembers as false positives.
#include <bloomery/kinds/blocked.hpp>
#include <bloomery/kinds/bloom.hpp>
#include <bloomery/kinds/cuckoo.hpp>
#include <tuple>

#include "support/typed.hpp"
#include "wrappers/adaptive_support.hpp"

namespace bloomery::adaptive_testing {
namespace {

using namespace bloomery::test;

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
  at_once.add_batch(all_of(numbers_from(0, 35'000)));
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

TEST(AdaptiveChecks, ReportWhatTheyDid) {
  auto filter = made_for<blocked>(1000, 0.01, {.check_every = 0});
  table_source table;
  table.keys = numbers_from(0, 1500);
  filter.set_source(table);
  filter.add_batch(all_of(numbers_from(0, 1000)));
  EXPECT_EQ(filter.check(), adaptation::none);
  filter.add_batch(all_of(table.keys));
  EXPECT_GT(filter.fpr_now(), 0.02);
  EXPECT_EQ(filter.check(), adaptation::rebuilt);
  EXPECT_LE(filter.fpr_now(), 0.01);
  EXPECT_EQ(filter.check(), adaptation::none);
  filter.remove_source();
  EXPECT_EQ(error_of(filter.rebuild()), "there is no source of keys to rebuild the filter from: set one");
}

// An opponent looks up what he found to be false positives, each once.
TEST(AdaptiveChecks, AHighRateOfReportsRebuildsToo) {
  constexpr std::uint64_t count = 10'000;
  auto filter = made_for<blocked>(count, 0.05, {.check_every = 0});
  table_source table;
  table.keys = numbers_from(0, count);
  filter.add_batch(all_of(table.keys));
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
  // Memory is not provided for ever.
  EXPECT_GE(rebuilds, 3U);
  EXPECT_LE(rebuilds, 5U);
  EXPECT_LE(filter.capacity_keys(), 4 * count);
  EXPECT_EQ(error_of(filter.check()),
            "false positives are above twice the target in a filter with room: use another hash, or a keyed one");
  // As many false positives as promised are no reason.
  auto honest = made_for<blocked>(count, 0.05, {.check_every = 0});
  honest.set_source(table);
  honest.add_batch(all_of(table.keys));
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

}  // namespace
}  // namespace bloomery::adaptive_testing
