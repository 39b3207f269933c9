// Kind cuckoo: how full it gets, its rates, its sizes, and what of parameters and files it refuses.
#include <algorithm>
#include <bloomery/core/binomial.hpp>
#include <cstdio>

#include "kinds/cuckoo_support.hpp"
#include "kinds/positives.hpp"

namespace bloomery::cuckoo_testing {
namespace {

using kernels::cuckoo_form;
using kinds_testing::positives_of;

// The share of slots in use when an insert first finds no space.
double load_when_full(const std::string& layout, std::uint64_t slots, std::uint64_t seed) {
  const auto choice = find_cuckoo_layout(layout);
  const kernels::cuckoo_geometry one{
      .buckets = 0, .slot_bits = choice->slot_bits, .slots = choice->slots, .form = choice->form};
  const std::uint64_t bits = slots * one.stride() / (choice->form == cuckoo_form::window ? 1 : choice->slots);
  auto filter = make({.keys = slots / 20, .bits = bits, .layout = layout});
  constexpr std::size_t group = 4096;
  std::vector<std::uint64_t> digests(group);
  std::uint64_t held = 0;
  while (true) {
    for (std::size_t i = 0; i < group; ++i) digests[i] = mix64(mix64(seed + 1) + (held + i) * 0x9e3779b97f4a7c15ULL);
    const batch_outcome outcome = filter.add_until_full(digests);
    held += outcome.taken;
    if (outcome.taken != group) break;
  }
  return static_cast<double>(held) / static_cast<double>(filter.geometry().total_slots());
}

void expect_load(const std::string& layout, std::uint64_t slots, unsigned seeds, double least) {
  double sum = 0;
  double worst = 1;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    const double load = load_when_full(layout, slots, seed);
    sum += load;
    worst = std::min(worst, load);
  }
  std::printf("%-10s slots %10llu  seeds %2u  load when full: mean %.4f worst %.4f\n", layout.c_str(),
              static_cast<unsigned long long>(slots), seeds, sum / seeds, worst);
  EXPECT_GE(worst, least) << layout << " " << slots;
}

TEST(Cuckoo, BucketsOf4AreAtLeast95PercentFullBeforeAnInsertIsRefused) {
  for (const char* layout : {"slots4:8", "slots4:12", "slots4:16", "slots4:32", "sorted:8", "sorted:13"}) {
    expect_load(layout, 10'000, 20, 0.955);
    expect_load(layout, 300'000, 2, 0.965);
  }
}

TEST(Cuckoo, OtherLayoutsAreAsFullAsTheTableSays) {
  for (const char* layout : {"window:9", "window:12", "window:32"}) {
    expect_load(layout, 10'000, 20, 0.935);
    expect_load(layout, 300'000, 2, 0.945);
  }
  for (const char* layout : {"slots2:9", "slots2:12"}) {
    expect_load(layout, 10'000, 20, 0.865);
    expect_load(layout, 300'000, 2, 0.88);
  }
  expect_load("slots4:5", 10'000, 20, 0.95);
  expect_load("slots4:4", 10'000, 20, 0.945);
}

TEST(NightlyCuckoo, IsAsFullWith1e8Keys) {
  for (const std::uint64_t slots : {1'000'000U, 10'000'000U}) {
    expect_load("slots4:5", slots, 2, 0.95);
    for (const char* layout : {"slots4:8", "slots4:12"}) expect_load(layout, slots, slots == 1'000'000 ? 20 : 2, 0.965);
    for (const char* layout : {"window:9", "window:12"}) expect_load(layout, slots, slots == 1'000'000 ? 20 : 2, 0.945);
    expect_load("slots2:12", slots, 2, 0.88);
  }
  expect_load("slots4:12", 105'000'000, 1, 0.965);
  expect_load("window:12", 105'000'000, 1, 0.945);
}

TEST(Cuckoo, SmallFiltersHoldWhatTheyAreMadeFor) {
  for (const std::string& layout :
       {std::string{}, std::string("slots4"), std::string("slots2"), std::string("window")}) {
    for (const std::uint64_t keys : {1U, 2U, 5U, 10U, 30U, 100U, 300U}) {
      for (std::uint64_t seed = 0; seed < 300; ++seed) {
        auto filter = make({.keys = keys, .fpr = 0.001, .layout = layout});
        ASSERT_EQ(filter.add_until_full(random_digests(seed, keys)).taken, keys) << layout << " seed " << seed;
      }
    }
  }
}

TEST(Cuckoo, TheRateIsTheOneOfTheFormulaAtEveryLayout) {
  // 10,000 positives are expected: a standard error of 1 %, and filters of 3000 keys add 0.8 %; 4 % is three of both.
  for (const std::string layout : layouts) {
    for (const unsigned bits : {6U, 8U, 11U, 13U}) {
      const std::uint64_t keys = bits < 8 && (layout == "window" || layout == "slots2") ? 3000 : 100'000;
      auto filter = make({.keys = keys, .fpr = 0.9, .layout = with_width(layout, bits)});
      ASSERT_EQ(filter.add_until_full(random_digests(bits, keys)).taken, keys);
      const double expected = cuckoo_model{filter.geometry()}.fpr(static_cast<double>(keys));
      const auto queries = static_cast<std::uint64_t>(10'000 / expected);
      const double measured = static_cast<double>(positives_of(filter, 99, queries)) / static_cast<double>(queries);
      EXPECT_NEAR(measured / expected, 1.0, 0.04) << layout << " " << bits;
      EXPECT_NEAR(filter.fpr_now() / expected, 1.0, 0.02) << layout << " " << bits;
    }
  }
}

TEST(Cuckoo, NamedLayoutsKeepThePromise) {
  // The one-sided Clopper-Pearson bound at 99.9 % confidence is at most 1.05 times the promise; the width is a whole
  // number, so that the rate can be as low as half of it.
  for (const std::string layout : layouts) {
    for (const double fpr : {0.03, 0.01, 0.001}) {
      auto filter = make({.keys = 100'000, .fpr = fpr, .layout = layout});
      ASSERT_EQ(filter.add_until_full(random_digests(3, 100'000)).taken, 100'000U);
      const auto queries = static_cast<std::uint64_t>(1e4 / fpr);
      const std::uint64_t positives = positives_of(filter, 98, queries);
      EXPECT_LE(binomial::upper_bound(positives, queries, 0.001), 1.05 * fpr) << layout << fpr;
      EXPECT_GE(static_cast<double>(positives),
                (layout == "window" || layout == "slots2" ? 0.2 : 0.45) * fpr * static_cast<double>(queries))
          << layout << fpr;
    }
  }
}

TEST(Cuckoo, SizesFollowTheKeysWithoutJumps) {
  // Other cuckoo filters double at powers of two.
  for (const std::uint64_t keys : {std::uint64_t{1} << 20U, std::uint64_t{1} << 32U}) {
    const auto below = cuckoo::plan({.keys = keys - keys / 100, .fpr = 0.001});
    const auto above = cuckoo::plan({.keys = keys + keys / 100, .fpr = 0.001});
    ASSERT_TRUE(below && above);
    EXPECT_NEAR(static_cast<double>(above->bits) / static_cast<double>(below->bits), 1.02, 0.002);
  }
  const auto tenth = cuckoo::plan({.keys = 10'000'000, .fpr = 0.001});
  ASSERT_TRUE(tenth);
  EXPECT_NEAR(tenth->bits_per_key, 12.77, 0.02);
  EXPECT_LE(tenth->fpr, 0.001);
  const auto four = cuckoo::plan({.keys = 10'000'000, .fpr = 0.001}, "slots4");
  ASSERT_TRUE(four);
  EXPECT_NEAR(four->bits_per_key, 13.55, 0.02);
  const auto sorted = cuckoo::plan({.keys = 10'000'000, .fpr = 0.001}, "sorted");
  ASSERT_TRUE(sorted);
  EXPECT_NEAR(sorted->bits_per_key, 12.50, 0.02);
  // Many keys at a high rate in windows would be too many of one class: slots4 then.
  const auto high = cuckoo::make({.keys = 1'000'000, .fpr = 0.05});
  ASSERT_TRUE(high);
  EXPECT_EQ(high->geometry().form, cuckoo_form::slots);
  EXPECT_EQ(cuckoo::make({.keys = 1000, .fpr = 0.001})->geometry().form, cuckoo_form::window);
}

TEST(Cuckoo, EveryNumberOfKeysHasASize) {
  std::mt19937_64 random(15);
  for (const std::string& layout :
       {std::string{}, std::string("slots4"), std::string("window"), std::string("sorted")}) {
    for (std::uint64_t keys = 1; keys < 3000; ++keys)
      ASSERT_TRUE(cuckoo::plan({.keys = keys, .fpr = 0.001}, layout)) << keys;
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t keys = 1 + (random() >> (24 + random() % 36));
      ASSERT_TRUE(cuckoo::plan({.keys = keys, .fpr = 0.01}, layout)) << keys;
    }
  }
}

TEST(Cuckoo, IsSizedByAnyTwoOfKeysRateAndMemory) {
  for (const std::string& layout :
       {std::string{}, std::string("slots4"), std::string("slots2"), std::string("window"), std::string("sorted")}) {
    const auto by_rate = cuckoo::plan({.keys = 200'000, .fpr = 0.002}, layout);
    ASSERT_TRUE(by_rate) << layout;
    EXPECT_LE(by_rate->fpr, 0.002);
    const auto by_memory = cuckoo::plan({.keys = 200'000, .memory_bytes = by_rate->memory_bytes + 16}, layout);
    ASSERT_TRUE(by_memory) << layout;
    EXPECT_LE(by_memory->memory_bytes, by_rate->memory_bytes + 16);
    EXPECT_LE(by_memory->fpr, by_rate->fpr * 1.01);
    const auto by_bits = cuckoo::plan({.keys = 200'000, .bits = by_rate->bits}, layout);
    ASSERT_TRUE(by_bits) << layout;
    EXPECT_LE(by_bits->bits, by_rate->bits);
    EXPECT_LE(by_bits->fpr, by_rate->fpr * 1.01);
    const auto room = cuckoo::plan({.fpr = 0.002, .memory_bytes = by_rate->memory_bytes + 16}, layout);
    ASSERT_TRUE(room) << layout;
    EXPECT_GE(static_cast<double>(room->keys), 199'000.0) << layout;
    EXPECT_LE(room->fpr, 0.002);
    const auto per_key = cuckoo::plan({.keys = 200'000, .bits_per_key = 16}, layout);
    ASSERT_TRUE(per_key) << layout;
    EXPECT_LE(per_key->bits_per_key, 16.0);
    EXPECT_GT(per_key->bits_per_key, 14.5);
    auto filter = make({.fpr = 0.002, .memory_bytes = by_rate->memory_bytes + 16, .layout = layout});
    EXPECT_EQ(filter.add_until_full(random_digests(5, filter.capacity_keys())).taken, filter.capacity_keys());
  }
}

TEST(Cuckoo, BadParametersAreOneClearError) {
  const auto text = [](const auto& result) {
    return result ? std::string("none") : std::string(describe(result.error()).view());
  };
  EXPECT_EQ(text(cuckoo::make({.keys = 10, .fpr = 0.01, .layout = "split64"})),
            "kind cuckoo has the layouts window, slots4, slots2, sorted and redis, also with a width: slots4:12");
  for (const char* layout : {"slots4:3", "slots4:33", "slots4:", "slots4:x", "slots4:012", "slots4:1x", "sorted:4",
                             "window:-9", "slots3", "slots4 "}) {
    EXPECT_EQ(cuckoo::make({.keys = 10, .fpr = 0.01, .layout = layout}).error().code, errc::unknown_layout) << layout;
  }
  EXPECT_EQ(cuckoo::make({.keys = 10, .fpr = 0.01, .hashes = 3}).error().code, errc::kind_has_no_hashes);
  EXPECT_EQ(cuckoo::make({.keys = 10, .fpr = 0.0}).error().code, errc::bad_fpr);
  EXPECT_EQ(cuckoo::make({.keys = 10, .fpr = 1e-12}).error().code, errc::cannot_reach_fpr);
  EXPECT_EQ(cuckoo::make({.keys = 1'000'000, .fpr = 0.001, .layout = "slots4:8"}).error().code, errc::unsupported);
  EXPECT_EQ(cuckoo::make({.keys = 1'000'000, .memory_bytes = 100'000}).error().code, errc::bad_memory);
  EXPECT_EQ(cuckoo::make({.keys = 1'000'000, .bits = 1'000'000}).error().code, errc::bad_memory);
  EXPECT_EQ(cuckoo::make({.keys = 10, .bits = 0}).error().code, errc::bad_memory);
  EXPECT_EQ(cuckoo::make({.fpr = 0.01, .memory_bytes = 8}).error().code, errc::cannot_reach_fpr);
  EXPECT_EQ(cuckoo::plan({.keys = max_keys, .fpr = 1e-6}).error().code, errc::size_overflow);
  EXPECT_EQ(cuckoo::plan({.keys = 100'000'000'000'000, .fpr = 1e-6}).error().code, errc::not_enough_hash_bits);
  const auto small = cuckoo::plan({.keys = 1'000'000, .memory_bytes = 100'000});
  const auto enough = cuckoo::plan({.keys = 1'000'000, .memory_bytes = small.error().number[1] + 16});
  EXPECT_TRUE(enough) << "the error says what would do";
}

TEST(Cuckoo, AnyBytesAreSafeToQueryAndToChange) {
  std::mt19937_64 random(14);
  for (const std::string layout : layouts) {
    for (const unsigned bits : {5U, 12U, 17U, 32U}) {
      const auto shape = make({.keys = 100, .bits_per_key = 100, .layout = with_width(layout, bits)}).shape();
      const auto geometry = cuckoo::payload_bytes(shape);
      ASSERT_TRUE(geometry);
      for (const unsigned pattern : {0U, 1U}) {
        auto bytes = aligned_buffer::make(*geometry, "test");
        const std::uint64_t used =
            make({.keys = 100, .bits_per_key = 100, .layout = with_width(layout, bits)}).geometry().bits();
        for (std::uint64_t bit = 0; bit < used; ++bit) {
          if (pattern == 0 || random() % 8 != 0) bytes->data()[bit / 8] |= static_cast<std::byte>(1U << (bit % 8));
        }
        const auto mapped = cuckoo::view(shape, bytes->bytes());
        ASSERT_TRUE(mapped) << describe(mapped.error()).c_str();
        for (int i = 0; i < 300; ++i) {
          const std::uint64_t digest = random();
          static_cast<void>(mapped->may_contain(digest));
          static_cast<void>(mapped->count(digest));
        }
        auto filter = cuckoo::adopt(shape, std::move(*bytes));
        if (!filter) {  // no insert makes such slots, so that they cannot be changed either
          EXPECT_EQ(filter.error().code, errc::bad_field) << describe(filter.error()).c_str();
          EXPECT_EQ(layout, "window");
          continue;
        }
        for (int i = 0; i < 300; ++i) {
          const std::uint64_t digest = random();
          static_cast<void>(filter->may_contain(digest));
          static_cast<void>(filter->count(digest));
          filter->insert(digest);
          filter->erase(random());
        }
        EXPECT_LE(filter->fill(), 1.0);
        EXPECT_LE(filter->fpr_now(), 1.0);
      }
    }
  }
}

TEST(Cuckoo, SlotsPastTheEndAreRefused) {
  const auto filter = make({.keys = 10, .fpr = 0.01});
  for (const std::uint64_t byte : {std::uint64_t{8} * 8 / 8, filter.memory_bytes() - 1}) {
    auto buffer = aligned_buffer::make(filter.memory_bytes(), "test");
    buffer->data()[byte] = std::byte{0x80};
    const auto loaded = cuckoo::adopt(filter.shape(), std::move(*buffer));
    EXPECT_EQ(static_cast<bool>(loaded), byte < 10);
  }
}

TEST(Cuckoo, HostileShapesAreRefusedBeforeAnythingIsAllocated) {
  const auto good = make({.keys = 100, .fpr = 0.01, .layout = "slots4:12"}).shape();
  ASSERT_TRUE(cuckoo::payload_bytes(good));
  using change = std::pair<std::size_t, std::uint64_t>;
  for (const auto& [index, value] : {change{0, 0},
                                     {0, 1},
                                     {0, 31},
                                     {0, max_filter_bits / 48 + 2},
                                     {0, ~std::uint64_t{0} - 1},
                                     {1, 3},
                                     {1, 33},
                                     {1, 0},
                                     {1, ~std::uint64_t{0}},
                                     {2, 0},
                                     {2, 1},
                                     {2, 3},
                                     {2, 5},
                                     {2, ~std::uint64_t{0}},
                                     {3, 3},
                                     {3, 1},
                                     {4, 2},
                                     {5, 1},
                                     {7, 1}}) {
    auto shape = good;
    shape.field[index] = value;
    EXPECT_FALSE(cuckoo::payload_bytes(shape)) << index << " " << value;
  }
  auto sorted = good;
  sorted.field[3] = 2;
  EXPECT_TRUE(cuckoo::payload_bytes(sorted));
  sorted.field[1] = 4;
  EXPECT_FALSE(cuckoo::payload_bytes(sorted));
  auto more_keys = good;
  more_keys.keys = 4 * good.field[0] + 1;
  EXPECT_FALSE(cuckoo::payload_bytes(more_keys));
  auto wide = good;
  wide.digest_bits = 128;
  EXPECT_FALSE(cuckoo::payload_bytes(wide));
}

}  // namespace
}  // namespace bloomery::cuckoo_testing
