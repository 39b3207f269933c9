// lookup_guard: many threads. Run under ThreadSanitizer as well.
#include <atomic>
#include <functional>

#include "guards/guard_support.hpp"

namespace bloomery::guard_testing {
namespace {

constexpr unsigned thread_count = 4;

class LookupGuardConcurrent : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Kinds, LookupGuardConcurrent, testing::Values("blocked", "cuckoo", "growing"));

TEST_P(LookupGuardConcurrent, NoKeyIsLostWhileTheFilterIsRebuilt) {
  table rows;
  for (std::uint64_t i = 0; i < 2000; ++i) rows.write(key_number(i));
  auto guard = made_guard(GetParam(), 4000, {.start = guard_start::unloaded, .report_bytes = 1U << 16U});
  constexpr std::uint64_t each = 1000;
  std::atomic<unsigned> writers = thread_count;
  std::uint64_t rebuilds = 0;
  std::thread rebuilder([&] {
    auto reader = rows.reader();
    while (writers != 0 || rebuilds < 3) {
      const auto done = guard.rebuild(reader);
      ASSERT_TRUE(done) << error_of(done);
      ++rebuilds;
    }
  });
  on_threads(thread_count, [&](unsigned id) {
    for (std::uint64_t i = 0; i < each; ++i) {
      const std::uint64_t number = 10'000 + id * each + i;
      guard.put(key_number(number), [&] { return rows.write(key_number(number)); });
      ASSERT_TRUE(*guard.find(key_number(number), rows.source())) << "a thread sees its own writes";
      ASSERT_TRUE(*guard.find(key_number(10'000 + id * each + i / 2), rows.source()));
      ASSERT_FALSE(*guard.find(absent_number(number), rows.source()));
      if (i % 3 == 0) {
        ASSERT_TRUE(
            guard.remove(key_number(id * 500 + i / 3), [&] { return rows.remove(key_number(id * 500 + i / 3)); }));
      }
    }
    --writers;
  });
  rebuilder.join();
  EXPECT_GE(rebuilds, 3U);
  for (std::uint64_t i = 0; i < thread_count * each; ++i) ASSERT_TRUE(guard.may_contain(key_number(10'000 + i)));
  for (unsigned id = 0; id < thread_count; ++id) {
    for (std::uint64_t i = (each + 2) / 3; i < 500; ++i) ASSERT_TRUE(guard.may_contain(key_number(id * 500 + i)));
  }
}

TEST(LookupGuardConcurrent, ARebuildOnAThreadOfItsOwnEndsAndReports) {
  table rows;
  for (std::uint64_t i = 0; i < 3000; ++i) rows.write(key_number(i));
  auto guard = made_guard("blocked", 3000, {.start = guard_start::unloaded});
  std::atomic<bool> may_go = false;
  auto source = [&](guard_sink& sink) -> result<void> {
    may_go.wait(false);
    return rows.read_all(sink);
  };
  ASSERT_TRUE(guard.start_rebuild(source));
  EXPECT_TRUE(guard.may_contain("nobody")) << "nothing is known yet";
  EXPECT_TRUE(*guard.find(key_number(5), rows.source()));
  while (!guard.is_rebuilding()) std::this_thread::yield();
  const auto second = guard.start_rebuild(source);
  ASSERT_FALSE(second);
  EXPECT_EQ(error_of(second), "the guard is being rebuilt already");
  may_go = true;
  may_go.notify_all();
  EXPECT_TRUE(guard.wait());
  EXPECT_FALSE(guard.may_contain("nobody"));
  EXPECT_EQ(guard.stats().rebuilds, 1U);
}

TEST(LookupGuardConcurrent, ARebuildWaitsForWritesThatBeganBefore) {
  table rows;
  auto guard = made_guard("blocked", 1000);
  std::atomic<bool> began = false;
  std::atomic<bool> may_write = false;
  std::thread writer([&] {
    guard.put("slow", [&] {
      began = true;
      may_write.wait(false);
      return rows.write("slow");
    });
  });
  while (!began) std::this_thread::yield();
  bool had_slow = false;
  auto source = [&](guard_sink& sink) -> result<void> {
    had_slow = *rows.has("slow");
    return rows.read_all(sink);
  };
  ASSERT_TRUE(guard.start_rebuild(source));
  while (!guard.is_rebuilding()) std::this_thread::yield();
  guard.put("quick", [&] { return rows.write("quick"); });
  may_write = true;
  may_write.notify_all();
  writer.join();
  ASSERT_TRUE(guard.wait());
  EXPECT_TRUE(had_slow) << "the source was read after the write that began before";
  EXPECT_TRUE(guard.may_contain("slow"));
  EXPECT_TRUE(guard.may_contain("quick"));
}

// The rows are gone before the new filter is filled, and their removals end after it is in place: what looks like them
// there are other keys.
TEST(LookupGuardConcurrent, AnEraseThatBeganBeforeTheSwapTakesNothingFromTheNewFilter) {
  constexpr std::uint64_t kept = 2000;
  constexpr std::uint64_t removed = 200;
  table rows;
  auto made = lookup_guard::make("cuckoo", {.keys = 4000, .fpr = 0.25}, hasher{});
  ASSERT_TRUE(made);
  lookup_guard& guard = *made;
  for (std::uint64_t i = 0; i < kept + removed; ++i)
    guard.put(key_number(i), [&] { return rows.write(key_number(i)); });
  std::atomic<bool> all_gone = false;
  std::atomic<bool> swapped = false;
  std::function<bool(std::uint64_t)> remove_from = [&](std::uint64_t i) {
    if (i == kept + removed) {
      all_gone = true;
      all_gone.notify_all();
      swapped.wait(false);
      return true;
    }
    return guard.remove(key_number(i), [&] { return rows.remove(key_number(i)) && remove_from(i + 1); });
  };
  std::thread remover;
  auto source = [&](guard_sink& sink) -> result<void> {
    remover = std::thread([&] { remove_from(kept); });
    all_gone.wait(false);
    return rows.read_all(sink);
  };
  const auto done = guard.rebuild(source);
  swapped = true;
  swapped.notify_all();
  remover.join();
  ASSERT_TRUE(done) << error_of(done);
  EXPECT_EQ(guard.stats().removals, removed);
  std::uint64_t alike = 0;
  for (std::uint64_t i = 0; i < removed; ++i) alike += guard.may_contain(key_number(kept + i)) ? 1 : 0;
  EXPECT_GT(alike, 0U) << "otherwise this proves nothing";
  for (std::uint64_t i = 0; i < kept; ++i) ASSERT_TRUE(guard.may_contain(key_number(i))) << i;
}

}  // namespace
}  // namespace bloomery::guard_testing
