// lookup_guard: what it answers, what it counts, and what becomes of failures.
#include "guards/guard_support.hpp"

namespace bloomery::guard_testing {
namespace {

void write_keys(lookup_guard& guard, table& rows, std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t i = first; i < first + count; ++i) {
    guard.put(key_number(i), [&] { return rows.write(key_number(i)); });
  }
}
void expect_all_found(lookup_guard& guard, table& rows, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto found = guard.find(key_number(i), rows.source());
    ASSERT_TRUE(found && *found) << key_number(i);
  }
}

TEST(LookupGuard, AnAbsentKeyDoesNotReachTheSource) {
  table rows;
  auto guard = made_guard("blocked", 1000);
  write_keys(guard, rows, 0, 1000);
  constexpr std::uint64_t asked = 20'000;
  for (std::uint64_t i = 0; i < asked; ++i) {
    const auto found = guard.find(absent_number(i), rows.source());
    ASSERT_TRUE(found && !*found);
  }
  const lookup_stats stats = guard.stats();
  EXPECT_EQ(rows.lookups(), stats.false_positives) << "the source was queried for false positives alone";
  EXPECT_EQ(stats.saved + stats.false_positives, asked);
  EXPECT_LE(stats.fpr_at_least(), 0.01) << "the rate that it was made for";
  EXPECT_GE(stats.fpr_at_most(), stats.measured_fpr());
  EXPECT_DOUBLE_EQ(stats.efficiency(), static_cast<double>(stats.saved) / asked);
  expect_all_found(guard, rows, 1000);
  EXPECT_EQ(guard.stats().confirmed, 1000U);
}

TEST(LookupGuard, TheSourceMayReturnWhatItHas) {
  auto guard = made_guard("blocked", 100);
  ASSERT_TRUE(guard.insert("alice"));
  const auto row = [](const auto&) { return std::optional<int>(7); };
  const auto found = guard.find("alice", row);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->value_or(0), 7);
  const auto absent = guard.find("nobody", row);
  ASSERT_TRUE(absent);
  EXPECT_FALSE(*absent) << "without a call: it would have returned 7";
}

TEST(LookupGuard, IntegersAndTuplesAreKeys) {
  auto guard = made_guard("blocked", 100);
  ASSERT_TRUE(guard.insert(42));
  ASSERT_TRUE(guard.insert(std::tuple("user", 7)));
  EXPECT_TRUE(guard.may_contain(42));
  EXPECT_TRUE(guard.may_contain(std::tuple("user", 7)));
  EXPECT_FALSE(guard.may_contain(std::tuple("user", 8)));
}

TEST(LookupGuard, AnErrorOfTheSourceIsReturnedAndTeachesNothing) {
  table rows;
  auto guard = made_guard("blocked", 100, {.report_bytes = 1U << 16U});
  write_keys(guard, rows, 0, 10);
  rows.locked = true;
  const auto failed = guard.find(key_number(3), rows.source());
  ASSERT_FALSE(failed);
  EXPECT_EQ(error_of(failed), "the database is locked");
  EXPECT_EQ(guard.stats().failed, 1U);
  rows.locked = false;
  expect_all_found(guard, rows, 10);
}

TEST(LookupGuard, UnloadedAnswersMaybeUntilTheKeysAreRead) {
  table rows;
  for (std::uint64_t i = 0; i < 5000; ++i) rows.write(key_number(i));
  auto guard = made_guard("blocked", 100, {.start = guard_start::unloaded});
  expect_all_found(guard, rows, 100);
  EXPECT_TRUE(guard.may_contain("nobody"));
  EXPECT_EQ(guard.stats().unfiltered, 100U);
  EXPECT_EQ(guard.why_rebuild(), rebuild_reason::unfiltered);
  auto reader = rows.reader();
  const auto done = guard.rebuild(reader);
  ASSERT_TRUE(done) << error_of(done);
  EXPECT_TRUE(guard.is_filtering());
  expect_all_found(guard, rows, 5000);
  EXPECT_EQ(guard.why_rebuild(), rebuild_reason::none) << "it was made large enough: fifty times what was expected";
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < 10'000; ++i) wrong += guard.may_contain(absent_number(i)) ? 1 : 0;
  EXPECT_LT(wrong, 200U) << "1 % of 10,000 are 100";
}

TEST(LookupGuard, ALoaderThatFailsLeavesMaybeOrTheOldFilter) {
  table rows;
  for (std::uint64_t i = 0; i < 1000; ++i) rows.write(key_number(i));
  auto guard = made_guard("blocked", 1000, {.start = guard_start::unloaded});
  rows.fail_at = 500;
  auto reader = rows.reader();
  const auto failed = guard.rebuild(reader);
  ASSERT_FALSE(failed);
  EXPECT_EQ(error_of(failed), "the connection was lost");
  EXPECT_FALSE(guard.is_filtering());
  EXPECT_EQ(guard.stats().failed_rebuilds, 1U);
  ASSERT_TRUE(guard.last_error());
  expect_all_found(guard, rows, 1000);
  rows.fail_at = ~std::uint64_t{0};
  ASSERT_TRUE(guard.rebuild(reader));
  EXPECT_FALSE(guard.last_error());
  rows.fail_at = 1;
  ASSERT_FALSE(guard.rebuild(reader));
  EXPECT_TRUE(guard.is_filtering()) << "the old filter stays";
  expect_all_found(guard, rows, 1000);
  EXPECT_FALSE(guard.may_contain("nobody at all"));
}

TEST(LookupGuard, AKeyThatDoesNotFitMakesEveryAnswerMaybe) {
  table rows;
  auto guard = made_guard("cuckoo", 64);
  std::uint64_t count = 0;
  while (guard.is_filtering() && count < 10'000) {
    guard.put(key_number(count), [&] { return rows.write(key_number(count)); });
    ++count;
  }
  ASSERT_LT(count, 10'000U) << "a cuckoo filter is full at some time";
  ASSERT_TRUE(guard.last_error());
  EXPECT_EQ(guard.last_error()->code, errc::full);
  expect_all_found(guard, rows, count);
  EXPECT_TRUE(guard.may_contain("nobody"));
  auto reader = rows.reader();
  ASSERT_TRUE(guard.rebuild(reader));
  expect_all_found(guard, rows, count);
  EXPECT_FALSE(guard.may_contain("nobody"));
}

TEST(LookupGuard, AFalsePositiveThatWasReportedReachesTheSourceOnce) {
  table rows;
  auto guard = made_guard("blocked", 1000, {.report_bytes = 1U << 20U});
  write_keys(guard, rows, 0, 1000);
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t i = 0; i < 10'000; ++i) EXPECT_FALSE(*guard.find(absent_number(i), rows.source()));
  }
  const lookup_stats stats = guard.stats();
  EXPECT_GT(stats.false_positives, 20U);
  EXPECT_EQ(stats.remembered, 2 * stats.false_positives);
  EXPECT_EQ(stats.reports, stats.false_positives);
  EXPECT_EQ(rows.lookups(), stats.false_positives);
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    guard.put(absent_number(i), [&] { return rows.write(absent_number(i)); });
    ASSERT_TRUE(*guard.find(absent_number(i), rows.source())) << "reported or not, it is there now";
  }
}

TEST(LookupGuard, AKeyThatWasWrittenWhileTheSourceAnsweredIsNotRemembered) {
  auto guard = made_guard("blocked", 10, {.report_bytes = 1U << 16U});
  for (std::uint64_t i = 0; i < 10; ++i) ASSERT_TRUE(guard.insert(key_number(i)));
  std::uint64_t number = 0;
  while (!guard.may_contain(absent_number(number))) ++number;
  const std::string key = absent_number(number);  // a false positive
  // The source answered "absent" before another thread wrote the key; its answer arrives after.
  const auto late = [&](const std::string&) {
    EXPECT_TRUE(guard.insert(key));
    return false;
  };
  EXPECT_FALSE(*guard.find(key, late));
  EXPECT_TRUE(guard.may_contain(key));
  // The same while the write is under way.
  while (number < 1'000'000 && !(guard.may_contain(absent_number(++number)))) {
  }
  const std::string other = absent_number(number);
  guard.put(other, [&] { EXPECT_FALSE(*guard.find(other, [](const std::string&) { return false; })); });
  EXPECT_TRUE(guard.may_contain(other));
}

TEST(LookupGuard, RemovedKeysLeaveKindsThatErase) {
  table rows;
  auto guard = made_guard("cuckoo", 4000);
  write_keys(guard, rows, 0, 2000);
  write_keys(guard, rows, 0, 2000);  // every key once more: the source has it already
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_TRUE(guard.remove(key_number(i), [&] { return rows.remove(key_number(i)); }));
    EXPECT_FALSE(guard.remove(key_number(i), [&] { return rows.remove(key_number(i)); })) << "gone already";
  }
  for (std::uint64_t i = 1000; i < 2000; ++i) ASSERT_TRUE(*guard.find(key_number(i), rows.source()));
  std::uint64_t left = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) left += guard.may_contain(key_number(i)) ? 1 : 0;
  EXPECT_LT(left, 30U);
  EXPECT_EQ(guard.stats().erased, 2000U + 1000U) << "the second copies, and the removed keys";
}

TEST(LookupGuard, RemovedKeysStayMaybeInOtherKindsUntilARebuild) {
  table rows;
  auto guard = made_guard("blocked", 2000);
  write_keys(guard, rows, 0, 1000);
  for (std::uint64_t i = 0; i < 1000; ++i) guard.remove(key_number(i), [&] { return rows.remove(key_number(i)); });
  EXPECT_TRUE(guard.may_contain(key_number(0)));
  EXPECT_EQ(guard.stats().removals, 1000U);
  auto reader = rows.reader();
  ASSERT_TRUE(guard.rebuild(reader));
  EXPECT_FALSE(guard.may_contain(key_number(0)));
}

TEST(LookupGuard, RefusedMemoryIsAnErrorOrMaybe) {
  std::uint64_t succeeded = 0;
  for (std::uint64_t refused = 0; refused < 40 && succeeded == 0; ++refused) {
    table rows;
    counting_memory memory(refused);
    auto made = lookup_guard::make("blocked", {.keys = 200, .fpr = 0.01, .memory = &memory.hooks}, hasher{},
                                   {.report_bytes = 1U << 16U});
    if (!made) {
      EXPECT_EQ(made.error().code, errc::out_of_memory);
      continue;
    }
    write_keys(*made, rows, 0, 100);
    std::uint64_t written = 100;
    auto source = [&](guard_sink& sink) -> result<void> {
      write_keys(*made, rows, 100, 100);  // recorded, while the source is read
      written = 200;
      return rows.read_all(sink);
    };
    const auto done = made->rebuild(source);
    if (!done) {
      EXPECT_EQ(done.error().code, errc::out_of_memory);
    }
    expect_all_found(*made, rows, written);
    for (std::uint64_t i = 0; i < 2000; ++i) EXPECT_FALSE(*made->find(absent_number(i), rows.source()));
    succeeded += memory.requests <= refused ? 1 : 0;
  }
  EXPECT_EQ(succeeded, 1U) << "the last round was not refused anything";
}

TEST(LookupGuard, KindsThatForgetAreRefused) {
  for (const std::string_view kind : {"window", "dual"}) {
    const auto made = lookup_guard::make(kind, {.keys = 1000, .fpr = 0.01}, hasher{});
    ASSERT_FALSE(made) << kind;
    EXPECT_EQ(made.error().code, errc::unsupported);
  }
  const auto small = lookup_guard::make("blocked", {.keys = 10, .fpr = 0.01}, hasher{}, {.report_bytes = 100});
  ASSERT_FALSE(small);
  EXPECT_EQ(small.error().code, errc::bad_memory);
}

TEST(LookupGuard, AStaticFilterFiltersUntilTheFirstInsert) {
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < 1000; ++i) names.push_back(key_number(i));
  const std::vector<std::string_view> keys(names.begin(), names.end());
  auto built = any_filter::build("fuse", {.fpr = 0.01}, hasher{}, keys);
  ASSERT_TRUE(built);
  auto guard = lookup_guard::over(std::move(*built));
  ASSERT_TRUE(guard) << error_of(guard);
  EXPECT_TRUE(guard->may_contain(key_number(3)));
  EXPECT_FALSE(guard->may_contain("nobody"));
  EXPECT_FALSE(guard->insert("new")) << "it takes no keys";
  EXPECT_TRUE(guard->may_contain("new"));
  EXPECT_FALSE(guard->is_filtering());
}

TEST(LookupGuard, TooManyFalsePositivesAreNoticed) {
  table rows;
  auto guard = made_guard("blocked", 100);
  write_keys(guard, rows, 0, 100);
  EXPECT_EQ(guard.why_rebuild(), rebuild_reason::none);
  const auto absent = [](const std::string&) { return false; };
  std::uint64_t number = 0;
  for (int found = 0; found < 100;) {  // an opponent who repeats what he found
    if (!guard.may_contain(absent_number(++number))) continue;
    ++found;
    EXPECT_FALSE(*guard.find(absent_number(number), absent));
  }
  EXPECT_EQ(guard.why_rebuild(), rebuild_reason::false_positives);
  write_keys(guard, rows, 100, 100);
  EXPECT_EQ(guard.why_rebuild(), rebuild_reason::overfull);
}

}  // namespace
}  // namespace bloomery::guard_testing
