// Kind counting: where its counters are, its rates, inserts and erases. Merges, folds and files: counting_merge_test.cpp.
#include <algorithm>
#include <atomic>
#include <bloomery/core/binomial.hpp>
#include <bloomery/filter.hpp>
#include <bloomery/kinds/bloom.hpp>
#include <map>
#include <string>
#include <thread>

#include "kinds/counting_support.hpp"

namespace bloomery::counting_testing {
namespace {

TEST(Counting, SpreadCountersAboveZeroAreTheBitsOfABloomFilter) {
  auto filter = counting::make({.keys = 200, .bits = 4 * 1999, .hashes = 6});
  auto bits = bloom::make({.keys = 200, .bits = 1999, .hashes = 6});
  ASSERT_TRUE(filter && bits);
  std::mt19937_64 digests(1);
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t digest = digests();
    filter->insert(digest);
    bits->insert(digest);
  }
  ASSERT_EQ(filter->counters(), 1999U);
  for (std::uint64_t i = 0; i < 1999; ++i) {
    ASSERT_EQ(counter(*filter, i) != 0, (std::to_integer<unsigned>(bits->payload()[i / 8]) >> (i % 8) & 1U) != 0) << i;
  }
  EXPECT_EQ(filter->fill(), bits->fill());
  EXPECT_EQ(filter->fpr_now(), bits->fpr_now());
}

// The published positions, written plainly.
std::map<std::uint64_t, std::uint64_t> line_counters(std::uint64_t digest, std::uint64_t lines, unsigned hashes) {
  constexpr std::array<std::uint32_t, 16> salts = {
      0x47b6137bU, 0x44974d91U, 0x8824ad5bU, 0xa2b7289dU, 0x705495c7U, 0x2df1424bU, 0x9efc4947U, 0x5c6bfb31U,
      0x6a09e667U, 0xbb67ae85U, 0x3c6ef373U, 0xa54ff53bU, 0x510e527fU, 0x9b05688dU, 0x1f83d9abU, 0x5be0cd19U};
  const auto line = static_cast<std::uint64_t>((static_cast<uint128>(digest) * lines) >> 64U);
  const std::uint64_t y = digest * 0x9e3779b97f4a7c15ULL;
  const auto x = static_cast<std::uint32_t>(y >> 32U);
  const auto r = static_cast<unsigned>(y >> 29U) & 7U;
  std::map<std::uint64_t, std::uint64_t> out;
  for (unsigned i = 0; i < hashes; ++i) {
    const unsigned word = (r + i) % 8;
    const std::uint32_t in_word = (x * salts[word + (i < 8 ? 0 : 8)]) >> 28U;
    ++out[line * 128 + word * 16 + in_word];
  }
  return out;
}

TEST(Counting, LineCountersAreThePublishedOnes) {
  std::mt19937_64 digests(2);
  for (const unsigned hashes : {1U, 5U, 8U, 11U, 16U}) {
    auto filter = counting::make({.keys = 50, .bits = 512 * 7, .hashes = hashes, .layout = "line"});
    ASSERT_TRUE(filter);
    std::map<std::uint64_t, std::uint64_t> expected;
    for (int i = 0; i < 50; ++i) {
      const std::uint64_t digest = digests();
      filter->insert(digest);
      for (const auto& [at, times] : line_counters(digest, 7, hashes)) expected[at] += times;
    }
    for (std::uint64_t i = 0; i < filter->counters(); ++i) {
      ASSERT_EQ(counter(*filter, i), std::min<std::uint64_t>(expected[i], 15)) << "k " << hashes << " counter " << i;
    }
  }
}

TEST(Counting, BatchesOverLinesGiveTheCountersOfSingleKeysWithEveryInstructionSet) {
  std::mt19937_64 digests(15);
  for (unsigned hashes = 1; hashes <= 16; ++hashes) {
    for (const std::size_t count : {0U, 1U, 63U, 64U, 65U, 500U}) {
      std::vector<std::uint64_t> keys(count);
      for (auto& key : keys) key = digests();
      // Some come 20 times, so that counters are stuck.
      if (count > 60) std::fill(keys.begin() + 20, keys.begin() + 40, keys[20]);
      const filter_params size{.keys = 100, .bits = 512 * 11, .hashes = hashes, .layout = "line"};
      auto single = counting::make(size);
      std::uint64_t inserted = 0;
      for (const std::uint64_t key : keys) inserted += single->insert(key) == insert_result::inserted ? 1U : 0U;
      auto queries = keys;
      for (std::size_t i = 0; i < count; ++i) queries.push_back(digests());
      for (const isa level : all_isas) {
        if (!has_isa(level)) continue;
        std::vector<std::uint64_t> words(std::size_t{11} * 8);
        const kernels::counting_view view{words.data(), 11, hashes};
        const digest_feed given(keys.data());
        EXPECT_EQ(kernels::counting_kernels::for_isa(level).insert_lines(words.data(), view, count, given), inserted);
        const auto bytes = std::as_bytes(std::span(words));
        ASSERT_TRUE(std::equal(bytes.begin(), bytes.end(), single->payload().begin(), single->payload().end()))
            << isa_name(level) << " k " << hashes << " keys " << count;
        std::vector<std::uint64_t> mask(mask_words(queries.size()), ~std::uint64_t{0});
        kernels::counting_kernels::for_isa(level).contains_lines(view, queries.size(), digest_feed(queries.data()),
                                                                 mask.data());
        for (std::size_t i = 0; i < queries.size(); ++i) {
          ASSERT_EQ(mask[i / 64] >> (i % 64) & 1U, single->may_contain(queries[i]) ? 1U : 0U) << isa_name(level);
        }
      }
    }
  }
}

TEST(Counting, TheExactRateOfALineIsTheOneBySimulation) {
  // 3e6 queries over 300 fillings: the standard error is below 1.5 % of each rate; 5 % is more than three of them.
  std::mt19937_64 generator(7);
  for (const unsigned hashes : {1U, 3U, 6U, 8U, 11U}) {
    const double expected = counting_model{counter_layout::line}.fpr(14, 512, hashes);
    std::uint64_t positives = 0;
    constexpr std::uint64_t filters = 300;
    constexpr std::uint64_t queries = 10'000;
    for (std::uint64_t i = 0; i < filters; ++i) {
      auto filter = counting::make({.keys = 14, .bits = 512, .hashes = hashes, .layout = "line"});
      for (int key = 0; key < 14; ++key) filter->insert(generator());
      for (std::uint64_t q = 0; q < queries; ++q) positives += filter->may_contain(generator()) ? 1U : 0U;
    }
    const double measured = static_cast<double>(positives) / static_cast<double>(filters * queries);
    EXPECT_NEAR(measured / expected, 1.0, 0.05) << "k " << hashes;
  }
}

TEST(Counting, LinesKeepThePromiseAndAWholeNumberOfThem) {
  // The one-sided Clopper-Pearson bound at 99.9 % confidence is at most 1.05 times the promise.
  for (const double fpr : {0.1, 0.01, 0.001}) {
    auto filter = make("line", 200'000, fpr);
    std::mt19937_64 digests(3);
    for (int i = 0; i < 200'000; ++i) filter.insert(digests());
    const auto queries = static_cast<std::uint64_t>(2e4 / fpr);
    std::uint64_t positives = 0;
    for (std::uint64_t i = 0; i < queries; ++i) positives += filter.may_contain(digests()) ? 1U : 0U;
    EXPECT_LE(binomial::upper_bound(positives, queries, 0.001), 1.05 * fpr) << fpr;
    EXPECT_GE(static_cast<double>(positives), 0.80 * fpr * static_cast<double>(queries)) << fpr;
    EXPECT_NEAR(filter.fpr_now() / fpr, 1.0, 0.05) << fpr;
    EXPECT_NEAR(filter.estimated_keys() / 200'000, 1.0, 0.005) << fpr;
    EXPECT_EQ(filter.memory_bytes() % 64, 0U);
  }
}

TEST(Counting, AKeyIsThereUntilItWasErasedAsOftenAsInserted) {
  for (const char* layout : layouts) {
    auto filter = make(layout, 1000);
    const auto empty = make(layout, 1000);
    std::mt19937_64 digests(4);
    std::vector<std::uint64_t> keys(500);
    for (auto& key : keys) key = digests();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      for (std::size_t times = 0; times <= i % 4; ++times) filter.insert(keys[i]);
    }
    for (std::size_t round = 0; round < 4; ++round) {
      for (std::size_t i = 0; i < keys.size(); ++i) {
        if (i % 4 < round) continue;
        ASSERT_GE(filter.count(keys[i]), i % 4 + 1 - round) << "a count is never too low";
        ASSERT_TRUE(filter.erase(keys[i]));
      }
      for (std::size_t i = 0; i < keys.size(); ++i) {
        if (i % 4 > round) {
          ASSERT_TRUE(filter.may_contain(keys[i])) << layout;
        }
      }
    }
    EXPECT_TRUE(filter == empty) << layout << ": nothing is left behind";
    EXPECT_LE(filter.keys().keys, 10U);
    EXPECT_FALSE(filter.keys().exact);
    EXPECT_EQ(filter.estimated_keys(), 0.0);
  }
}

TEST(Counting, CountsAreRightButForFalsePositives) {
  for (const char* layout : layouts) {
    auto filter = make(layout, 2000);
    std::mt19937_64 digests(5);
    std::vector<std::uint64_t> keys(2000);
    for (auto& key : keys) key = digests();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      for (std::size_t times = 0; times < 1 + i % 10; ++times) filter.insert(keys[i]);
    }
    std::uint64_t too_high = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      ASSERT_GE(filter.count(keys[i]), 1 + i % 10);
      too_high += filter.count(keys[i]) > 1 + i % 10 ? 1U : 0U;
    }
    // As many as false positives: 20 of 2000 expected, standard deviation 4.5; lines vary more.
    EXPECT_LE(too_high, 50U) << layout;
  }
}

TEST(Counting, ErasingWhatIsSurelyAbsentIsRefusedAndChangesNothing) {
  for (const char* layout : layouts) {
    auto filter = make(layout, 1000);
    std::mt19937_64 digests(6);
    for (int i = 0; i < 1000; ++i) filter.insert(digests());
    auto before = filter.clone();
    const std::uint64_t keys = filter.keys().keys;
    std::uint64_t refused = 0;
    for (int i = 0; i < 10'000; ++i) {
      const std::uint64_t digest = digests();
      if (filter.may_contain(digest)) continue;
      ASSERT_FALSE(filter.erase(digest));
      ASSERT_EQ(filter.count(digest), 0U);
      ++refused;
    }
    EXPECT_GT(refused, 9000U);
    EXPECT_TRUE(filter == *before) << layout;
    EXPECT_EQ(filter.keys().keys, keys);
    EXPECT_TRUE(filter.keys().exact);
  }
}

// A digest that probes one counter twice.
std::uint64_t twice_probing(std::uint64_t lines, unsigned hashes) {
  std::mt19937_64 digests(7);
  while (true) {
    const std::uint64_t digest = digests();
    for (const auto& [at, times] : line_counters(digest, lines, hashes)) {
      if (times == 2) return digest;
    }
  }
}

TEST(Counting, AKeyThatProbesACounterTwiceGoesInAndOutLikeOthers) {
  constexpr unsigned hashes = 12;
  auto filter = counting::make({.keys = 10, .bits = 512, .hashes = hashes, .layout = "line"});
  const auto empty = filter->clone();
  const std::uint64_t digest = twice_probing(1, hashes);
  filter->insert(digest);
  EXPECT_EQ(filter->count(digest), 1U);
  EXPECT_TRUE(filter->erase(digest));
  EXPECT_TRUE(*filter == *empty);
}

TEST(Counting, AKeyThatNeedsMoreOfACounterThanThereIsWasNeverInserted) {
  // Every counter of the key is made 1 by loading such a filter, so that it seems to be there: but one it would have raised
  // to 2. The erase is refused, and what it took before it noticed is put back.
  constexpr unsigned hashes = 12;
  auto filter = counting::make({.keys = 10, .bits = 512, .hashes = hashes, .layout = "line"});
  const std::uint64_t digest = twice_probing(1, hashes);
  auto bytes = aligned_buffer::make(64, "test");
  for (const auto& [at, times] : line_counters(digest, 1, hashes)) {
    bytes->data()[at / 2] |= static_cast<std::byte>(1U << (4 * (at % 2)));
  }
  auto loaded = counting::adopt(filter->shape(), std::move(*bytes));
  ASSERT_TRUE(loaded);
  const auto before = loaded->clone();
  ASSERT_TRUE(loaded->may_contain(digest));
  EXPECT_FALSE(loaded->erase(digest));
  EXPECT_TRUE(*loaded == *before);
}

TEST(Counting, ASaturatedCounterStaysAndNeverLosesAKey) {
  for (const char* layout : layouts) {
    auto filter = make(layout, 1000);
    std::mt19937_64 digests(8);
    const std::uint64_t hot = digests();
    std::vector<std::uint64_t> others(1000);
    for (auto& key : others) key = digests();
    for (int i = 0; i < 14; ++i) filter.insert(hot);
    EXPECT_EQ(filter.count(hot), 14U);
    EXPECT_EQ(filter.saturated(), 0U);
    for (int i = 0; i < 100; ++i) filter.insert(hot);
    EXPECT_EQ(filter.count(hot), counting::most_count);
    EXPECT_EQ(filter.saturated(), filter.hashes()) << layout;
    for (const std::uint64_t key : others) filter.insert(key);
    // Far more erases of it than the counters can hold, and the others still lose nothing.
    for (int i = 0; i < 114; ++i) ASSERT_TRUE(filter.erase(hot));
    for (const std::uint64_t key : others) ASSERT_TRUE(filter.may_contain(key)) << layout;
    EXPECT_TRUE(filter.may_contain(hot)) << "what is stuck is there for ever";
    EXPECT_EQ(filter.count(hot), counting::most_count);
    const std::uint64_t stuck = filter.saturated();
    for (const std::uint64_t key : others) ASSERT_TRUE(filter.erase(key));
    EXPECT_EQ(filter.saturated(), stuck);
    EXPECT_GE(stuck, filter.hashes());
    filter.clear();
    EXPECT_EQ(filter.saturated(), 0U);
  }
}

TEST(Counting, DifferentKeysHardlySaturateACounter) {
  for (const char* layout : layouts) {
    auto filter = make(layout, 100'000);
    std::mt19937_64 digests(9);
    for (int i = 0; i < 100'000; ++i) filter.insert(digests());
    EXPECT_EQ(filter.saturated(), 0U) << layout;
  }
}

TEST(Counting, RandomInsertsAndErasesNeverLoseAKey) {
  for (const char* layout : layouts) {
    auto filter = make(layout, 300, 0.05);
    std::mt19937_64 random(10);
    std::map<std::uint64_t, int> held;
    for (int step = 0; step < 30'000; ++step) {
      const std::uint64_t key = mix64(random() % 400 + 1);  // few keys, often: some saturate
      if (random() % 100 < 52) {
        filter.insert(key);
        ++held[key];
      } else if (held[key] > 0) {
        ASSERT_TRUE(filter.erase(key));
        --held[key];
      }
      if (step % 500 != 0) continue;
      for (const auto& [each, times] : held) {
        ASSERT_GE(filter.count(each), static_cast<std::uint64_t>(std::min(times, 15))) << layout << " step " << step;
      }
    }
    EXPECT_GT(filter.saturated(), 0U) << "the test must have met saturation";
  }
}

TEST(Counting, KeysOfTheFrontEraseAndCountOneByOneAndInBatches) {
  auto one = filter<counting>::make({.keys = 1000, .fpr = 0.01});
  auto many = filter<counting>::make({.keys = 1000, .fpr = 0.01, .layout = "spread"});
  std::vector<std::string> keys;
  for (int i = 0; i < 700; ++i) keys.push_back("key " + std::to_string(i % 500));
  const std::span<const std::string> all(keys);
  one->add_batch(all);
  many->add_batch(all);
  EXPECT_GE(one->count("key 1"), 2U);
  std::vector<std::uint64_t> counts(keys.size());
  many->count_batch(all, counts);
  std::uint64_t erased = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(counts[i], one->count(keys[i]));
  for (const auto& key : keys) erased += one->erase(key) ? 1U : 0U;
  EXPECT_EQ(erased, 700U);
  EXPECT_FALSE(one->erase("key 1"));
  EXPECT_EQ(many->erase_batch(all), erased);
  EXPECT_TRUE(one->kind() == many->kind());
}

TEST(Counting, ManyThreadsAddUpEveryCount) {
  // Few words and many threads, which start each round together: an addition that is not one step gets lost.
  constexpr unsigned thread_count = 4;
  constexpr std::size_t keys_each = 1000;
  constexpr int rounds = 100;
  for (const char* layout : layouts) {
    auto shared = counting::make({.keys = 1000, .bits = 512 * 50, .hashes = 6, .layout = layout});
    auto alone = shared->clone();
    std::mt19937_64 digests(14);
    std::vector<std::uint64_t> keys(thread_count * keys_each);
    for (auto& key : keys) key = digests();
    alone->add_batch(keys);
    std::atomic<unsigned> arrived{0};
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    const auto meet = [&arrived](unsigned& stage) {
      ++arrived;
      ++stage;
      while (arrived.load() < stage * thread_count) std::this_thread::yield();
    };
    for (unsigned id = 0; id < thread_count; ++id) {
      threads.emplace_back([&, id] {
        unsigned stage = 0;
        for (int round = 0; round < rounds; ++round) {
          meet(stage);
          {
            concurrent_writer writer(*shared);
            for (std::size_t i = 0; i < keys_each; ++i) writer.insert(keys[id * keys_each + i]);
          }
          meet(stage);
          if (id != 0) continue;
          wrong += *shared == *alone ? 0 : 1;
          shared->clear();
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(wrong.load(), 0) << layout;
  }
}

}  // namespace
}  // namespace bloomery::counting_testing
