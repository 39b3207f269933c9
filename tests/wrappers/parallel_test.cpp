// wrappers/parallel.hpp: as many threads as you like, the same bits, answers and counts. Run under TSan as well.
#include <atomic>
#include <bloomery/wrappers/parallel.hpp>
#include <set>
#include <string>

#include <bloomery/filter.hpp>
#include <bloomery/kinds.hpp>

#include "support/typed.hpp"

namespace {

using namespace bloomery;

std::vector<std::string> text_keys(std::size_t count) {
  std::vector<std::string> keys(count);
  for (std::size_t i = 0; i < count; ++i)
    keys[i] = "https://example.org/page/" + std::to_string(i * 7919 % (count + 1));
  return keys;
}

template <class K>
void expect_the_same_on_any_number_of_threads(const filter_params& size, std::size_t count) {
  const auto keys = text_keys(count);
  const std::span<const std::string> all(keys);
  // Every other key twice, so that what counts as new depends on the order.
  const std::span<const std::string> again = all.first(count / 2);
  auto alone = filter<K>::make(size);
  ASSERT_TRUE(alone);
  const std::uint64_t new_keys = alone->add_batch(again) + alone->add_batch(all);
  std::vector<std::uint64_t> expected(mask_words(count));
  const auto absent = text_keys(count + 1000);
  alone->may_contain_batch(std::span<const std::string>(absent).first(count), expected);
  for (const unsigned threads : {1U, 2U, 3U, 7U}) {
    auto shared = filter<K>::make(size);
    ASSERT_TRUE(shared);
    EXPECT_EQ(parallel::add_batch(*shared, again, threads) + parallel::add_batch(*shared, all, threads), new_keys);
    EXPECT_EQ(shared->kind().keys().keys, alone->kind().keys().keys);
    EXPECT_TRUE(shared->kind() == alone->kind()) << threads << " threads";
    std::vector<std::uint64_t> mask(mask_words(count), ~std::uint64_t{0});
    parallel::may_contain_batch(*shared, std::span<const std::string>(absent).first(count), mask, threads);
    EXPECT_EQ(mask, expected) << threads << " threads";
  }
}

TEST(ConcurrentBatches, GiveTheBitsAnswersAndCountsOfOneThread) {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{65}, std::size_t{60'000}}) {
    expect_the_same_on_any_number_of_threads<blocked>({.keys = count + 1, .fpr = 0.05}, count);
    expect_the_same_on_any_number_of_threads<blocked>({.keys = count + 1, .fpr = 0.05, .layout = "split32"}, count);
    expect_the_same_on_any_number_of_threads<bloom>({.keys = count + 1, .fpr = 0.05}, count);
  }
}

TEST(ConcurrentBatches, TakeSeveralRoundsAndFiltersOfFewLines) {
  expect_the_same_on_any_number_of_threads<blocked>({.keys = 150'000, .fpr = 0.05}, 150'000);
  expect_the_same_on_any_number_of_threads<blocked>({.keys = 10, .fpr = 0.05}, 60'000);
  expect_the_same_on_any_number_of_threads<blocked>({.keys = 10, .fpr = 0.05, .layout = "split32"}, 60'000);
}

TEST(ConcurrentBatches, OfWritersLoseNothing) {
  const auto keys = text_keys(20'000);
  auto shared = filter<blocked>::make({.keys = keys.size(), .fpr = 0.01});
  auto alone = filter<blocked>::make({.keys = keys.size(), .fpr = 0.01});
  ASSERT_TRUE(shared && alone);
  alone->add_batch(std::span<const std::string>(keys));
  run_on_threads(4, [&](unsigned part) {
    auto writer = shared->concurrent();
    writer.add_batch(std::span<const std::string>(keys).subspan(part * 5000, 5000));
  });
  EXPECT_TRUE(shared->kind() == alone->kind());
}

TEST(ConcurrentBatches, EveryPartOfTheWorkIsDoneOnce) {
  for (const unsigned parts : {0U, 1U, 2U, 9U, 256U}) {
    std::array<unsigned, most_threads> done{};
    run_on_threads(parts, [&](unsigned part) { ++done[part]; });
    for (unsigned part = 0; part < most_threads; ++part) EXPECT_EQ(done[part], part < parts ? 1U : 0U);
  }
  EXPECT_GE(machine_threads(), 1U);
}

// Nobody goes on before all have come: each sees what the others wrote before they waited.
TEST(ConcurrentBatches, MembersOfATeamWaitForEachOther) {
  for (const unsigned wish : {0U, 1U, 2U, 5U}) {
    constexpr unsigned rounds = 200;
    std::vector<std::array<unsigned, rounds>> wrote(6);
    std::atomic<unsigned> members = 0;
    std::atomic<unsigned> wrong = 0;
    run_pool(wish, [&](team_member& self) {
      ++members;
      for (unsigned round = 0; round < rounds; ++round) {
        wrote[self.index()][round] = round + 1;
        self.wait();
        for (unsigned other = 0; other < self.size(); ++other) wrong += wrote[other][round] != round + 1 ? 1U : 0U;
      }
    });
    EXPECT_EQ(members, wish == 0 ? 1U : wish);
    EXPECT_EQ(wrong, 0U);
  }
}

TEST(ConcurrentBatches, APartitionHasEveryPartAndKeepsLinesWhole) {
  for (const char* layout : {"split64", "split32"}) {
    const auto filter = blocked::make({.keys = 100'000, .fpr = 0.01, .layout = layout});
    ASSERT_TRUE(filter);
    const auto partition = filter->partition_into(5);
    EXPECT_EQ(partition.of(0), 0U);
    EXPECT_EQ(partition.of(~std::uint64_t{0}), 4U);
    // With two parts, every digest up to this one belongs to the first.
    const auto halves = filter->partition_into(2);
    const std::uint64_t last = parallel::detail::last_of_first(halves);
    EXPECT_EQ(halves.of(last), 0U);
    EXPECT_EQ(halves.of(last + 1), 1U);
    std::vector<std::set<unsigned>> parts_of_line(filter->memory_bytes() / 64 + 1);
    test::digest_source source(1);
    for (const std::uint64_t digest : source.take(200'000)) {
      filter->for_each_touched(digest, [&](std::uint64_t first, std::uint64_t /*size*/) {
        parts_of_line[first / 64].insert(partition.of(digest));
      });
    }
    std::set<unsigned> all;
    for (const auto& parts : parts_of_line) {
      EXPECT_LE(parts.size(), 1U) << layout;
      all.insert(parts.begin(), parts.end());
    }
    EXPECT_EQ(all, (std::set<unsigned>{0, 1, 2, 3, 4}));
  }
}

}  // namespace
