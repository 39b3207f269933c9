#include <gtest/gtest.h>

#include <algorithm>
#include <bloomery/core/binomial.hpp>
#include <bloomery/filter.hpp>
#include <bloomery/kinds/batch.hpp>
#include <bloomery/kinds/cuckoo.hpp>
#include <cstdio>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace bloomery;
using kernels::cuckoo_form;

constexpr std::array layouts = {"slots4", "slots2", "window", "sorted"};

cuckoo make(const filter_params& params) {
  auto made = cuckoo::make(params);
  if (!made) {
    ADD_FAILURE() << describe(made.error()).c_str();
    std::abort();
  }
  return std::move(*made);
}
std::string with_width(const std::string& layout, unsigned bits) { return layout + ":" + std::to_string(bits); }
unsigned narrowest(const std::string& layout) { return layout == "sorted" ? 5 : 4; }

std::vector<std::uint64_t> random_digests(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 generator(seed);
  std::vector<std::uint64_t> out(count);
  for (auto& digest : out) digest = generator();
  return out;
}

// How many of so many digests, other ones for each seed, may be there.
std::uint64_t positives_of(const cuckoo& filter, std::uint64_t seed, std::uint64_t queries) {
  constexpr std::size_t group = 4096;
  std::vector<std::uint64_t> digests(group);
  std::vector<std::uint64_t> mask(mask_words(group));
  std::uint64_t positives = 0;
  for (std::uint64_t first = 0; first < queries; first += group) {
    const std::size_t size = std::min<std::uint64_t>(group, queries - first);
    for (std::size_t i = 0; i < size; ++i) digests[i] = mix64(mix64(seed) + (first + i) * 0x9e3779b97f4a7c15ULL);
    filter.may_contain_batch(std::span(digests).first(size), mask);
    for (std::size_t word = 0; word < mask_words(size); ++word) {
      positives += static_cast<std::uint64_t>(std::popcount(mask[word]));
    }
  }
  return positives;
}

std::uint64_t bits_at(std::span<const std::byte> bytes, std::uint64_t first, unsigned count) {
  std::uint64_t out = 0;
  for (unsigned i = 0; i < count; ++i) {
    const std::uint64_t bit = first + i;
    out |= (std::to_integer<std::uint64_t>(bytes[bit / 8]) >> (bit % 8) & 1U) << i;
  }
  return out;
}

// The published places of a key, written plainly.
struct places {
  std::uint64_t first;
  std::uint64_t other;
  std::uint64_t fingerprint;
};
places places_of(std::uint64_t digest, std::uint64_t buckets, unsigned fingerprint_bits) {
  places out{};
  out.first = static_cast<std::uint64_t>((static_cast<uint128>(digest) * buckets) >> 64U);
  out.fingerprint = digest % (std::uint64_t{1} << fingerprint_bits);
  if (out.fingerprint == 0) out.fingerprint = 1;
  const std::uint64_t mixed = out.fingerprint * out.fingerprint * 0x9e3779b97f4a7c15ULL;
  const auto sum = static_cast<std::uint64_t>((static_cast<uint128>(mixed) * buckets) >> 64U) | 1U;
  out.other = sum >= out.first ? sum - out.first : sum + buckets - out.first;
  return out;
}

TEST(Cuckoo, AKeyLiesWhereItIsPublishedToAtEveryWidth) {
  for (const std::string layout : layouts) {
    for (unsigned bits = narrowest(layout); bits <= 32; ++bits) {
      auto filter = make({.keys = 50, .bits_per_key = 200, .layout = with_width(layout, bits)});
      const auto& geometry = filter.geometry();
      const bool window = layout == "window";
      for (const std::uint64_t digest : random_digests(bits, 40)) {
        filter.clear();
        ASSERT_EQ(filter.insert(digest), insert_result::inserted);
        const places at = places_of(digest, geometry.buckets, window ? bits - 1 : bits);
        ASSERT_EQ(at.first % 2 + at.other % 2, 1U) << "the two are never the same";
        std::uint64_t bucket_bits = std::uint64_t{geometry.slots} * bits;
        std::uint64_t expected = window ? at.fingerprint << 1U : at.fingerprint;
        unsigned width = bits;
        std::uint64_t start = at.first * bucket_bits;
        if (window) start = at.first * bits;
        if (layout == "sorted") {
          // Three zeros and the fingerprint's lowest bits d: a number of 12 bits, and its upper bits in the fourth place.
          bucket_bits -= 4;
          start = at.first * bucket_bits;
          const std::uint64_t d = at.fingerprint % 16;
          const std::uint64_t upper = at.fingerprint / 16;
          ASSERT_EQ(bits_at(filter.payload(), start, 12), d * (d + 1) * (d + 2) * (d + 3) / 24);
          start += 12 + (d == 0 ? 0 : 3 * (bits - 4));
          width = bits - 4;
          // Without lowest bits it is sorted by its upper ones, behind the zeros as well.
          if (d == 0) start += 3 * (bits - 4);
          expected = upper;
        }
        ASSERT_EQ(bits_at(filter.payload(), start, width), expected) << layout << " " << bits;
        unsigned set_bits = 0;
        for (const std::byte byte : filter.payload())
          set_bits += static_cast<unsigned>(std::popcount(std::to_integer<unsigned>(byte)));
        const auto number = layout == "sorted" ? bits_at(filter.payload(), at.first * bucket_bits, 12) : 0;
        ASSERT_EQ(set_bits, static_cast<unsigned>(std::popcount(expected) + std::popcount(number)))
            << "and nowhere else";
      }
    }
  }
}

TEST(Cuckoo, FillingsHaveTheBytesThatFilesOfThemHave) {
  // Which moves an insert makes is part of the format: the same keys in the same order are the same bytes for ever.
  struct frozen {
    const char* layout;
    std::uint64_t checksum;
  };
  for (const auto& [layout, checksum] : {frozen{"slots4:12", 12695410278895499207ULL},
                                         {"slots2:9", 2848901902341226383ULL},
                                         {"window:12", 184790503479962676ULL},
                                         {"sorted:13", 629336691350501162ULL},
                                         {"window:31", 888961257189372967ULL},
                                         {"slots4:32", 17550460360473756501ULL}}) {
    auto filter = make({.keys = 2000, .fpr = 0.2, .layout = layout});
    for (const std::uint64_t digest : random_digests(1, 2000)) ASSERT_NE(filter.insert(digest), insert_result::full);
    EXPECT_EQ(xxh3{}(filter.payload().data(), filter.payload().size()), checksum) << layout;
  }
}

TEST(Cuckoo, FourSortedNumbersBelow16AreOneOf3876) {
  std::set<unsigned> numbers;
  for (std::uint32_t a = 0; a < 16; ++a) {
    for (std::uint32_t b = a; b < 16; ++b) {
      for (std::uint32_t c = b; c < 16; ++c) {
        for (std::uint32_t d = c; d < 16; ++d) {
          const unsigned number = kernels::sorted_number(a, b, c, d);
          numbers.insert(number);
          ASSERT_LT(number, kernels::sorted_numbers);
          // In any order, with upper bits that follow their number: the same sorted bucket comes back.
          std::array<std::uint32_t, 4> order = {a, b, c, d};
          std::uint64_t first_stored = 0;
          do {
            std::uint64_t lanes = 0;
            for (unsigned i = 0; i < 4; ++i) lanes |= std::uint64_t{order[i] | (15 - order[i]) << 4U} << (8 * i);
            const std::uint64_t stored = kernels::sorted_pack(lanes, 8);
            if (first_stored == 0) first_stored = stored;
            ASSERT_EQ(stored, first_stored);
            ASSERT_EQ(stored & 0xfffU, number);
            ASSERT_EQ(stored >> 28U, 0U);
          } while (std::next_permutation(order.begin(), order.end()));
          const std::uint64_t lanes = kernels::sorted_unpack(first_stored, 8);
          const std::array<std::uint32_t, 4> sorted = {a, b, c, d};
          for (unsigned i = 0; i < 4; ++i) ASSERT_EQ(lanes >> (8 * i) & 0xffU, sorted[i] | (15 - sorted[i]) << 4U);
        }
      }
    }
  }
  EXPECT_EQ(numbers.size(), 3876U);
  EXPECT_EQ(*numbers.rbegin(), 3875U);
}

TEST(Cuckoo, EveryWidthHoldsItsKeysAndGivesThemBackOneByOne) {
  for (const std::string layout : layouts) {
    for (unsigned bits = narrowest(layout); bits <= 32; ++bits) {
      // Few keys where slots are narrow, so that no class of them is overfull.
      const std::uint64_t keys = bits < 6 ? 8 : bits < 8 ? 40 : 700;
      auto filter = make({.keys = keys, .fpr = 0.9, .layout = with_width(layout, bits)});
      const auto empty = filter.clone();
      const auto digests = random_digests(100 + bits, keys);
      for (const std::uint64_t digest : digests)
        ASSERT_NE(filter.insert(digest), insert_result::full) << layout << bits;
      ASSERT_EQ(filter.used_slots(), keys);
      for (const std::uint64_t digest : digests) {
        ASSERT_TRUE(filter.may_contain(digest)) << layout << " " << bits;
        ASSERT_GE(filter.count(digest), 1U);
      }
      for (std::size_t i = 0; i < digests.size(); ++i) {
        ASSERT_TRUE(filter.erase(digests[i]));
        if (i % 50 != 0) continue;
        for (std::size_t j = i + 1; j < digests.size(); ++j)
          ASSERT_TRUE(filter.may_contain(digests[j])) << layout << bits;
      }
      EXPECT_TRUE(filter == *empty) << layout << " " << bits << ": nothing is left behind";
      EXPECT_EQ(filter.keys().keys, 0U);
    }
  }
}

TEST(Cuckoo, AFullFilterIsExactlyAsItWasAndLosesNothing) {
  for (const std::string layout : layouts) {
    for (const unsigned bits : {9U, 12U, 20U}) {
      auto filter = make({.keys = 3000, .fpr = 0.9, .layout = with_width(layout, bits)});
      const auto digests = random_digests(7, 8000);
      std::vector<std::uint64_t> held;
      std::uint64_t refused = 0;
      for (const std::uint64_t digest : digests) {
        const auto before = filter.clone();
        const std::uint64_t keys = filter.keys().keys;
        if (filter.insert(digest) != insert_result::full) {
          held.push_back(digest);
          continue;
        }
        ASSERT_TRUE(filter == *before) << layout << bits;
        ASSERT_EQ(filter.keys().keys, keys);
        if (++refused == 30) break;
      }
      EXPECT_EQ(refused, 30U);
      EXPECT_EQ(filter.used_slots(), held.size());
      for (const std::uint64_t digest : held) ASSERT_TRUE(filter.may_contain(digest)) << layout << bits;
      // And after an erase of each key there is room again.
      for (std::size_t i = 0; i < 100; ++i) ASSERT_TRUE(filter.erase(held[i]));
      EXPECT_NE(filter.insert(digests[7999]), insert_result::full);
    }
  }
}

TEST(Cuckoo, NoKeyIsLostAtLoadsFrom50PercentToTheEnd) {
  for (const std::string layout : layouts) {
    auto filter = make({.keys = 5000, .fpr = 0.9, .layout = with_width(layout, 11)});
    const auto digests = random_digests(8, 10'000);
    std::size_t held = 0;
    double next = 0.5;
    while (filter.insert(digests[held]) != insert_result::full) {
      ++held;
      if (static_cast<double>(held) < next * static_cast<double>(filter.geometry().total_slots())) continue;
      next += next < 0.9 ? 0.1 : 0.01;
      for (std::size_t i = 0; i < held; ++i)
        ASSERT_TRUE(filter.may_contain(digests[i])) << layout << " " << filter.fill();
    }
    EXPECT_GE(held, 5000U);
    for (std::size_t i = 0; i < held; ++i) ASSERT_TRUE(filter.may_contain(digests[i])) << layout;
  }
}

TEST(Cuckoo, CopiesOfAKeyHaveRoomInItsTwoBucketsAndNoneBeyond) {
  for (const std::string layout : layouts) {
    auto filter = make({.keys = 1000, .fpr = 0.001, .layout = layout});
    const auto empty = filter.clone();
    const std::uint64_t digest = 0x123456789abcdefULL * 97;
    const unsigned most = layout == "slots4" || layout == "sorted" ? 8 : 4;
    for (unsigned i = 0; i < most; ++i) {
      ASSERT_EQ(filter.insert(digest), i == 0 ? insert_result::inserted : insert_result::present) << layout;
      ASSERT_EQ(filter.count(digest), i + 1) << layout;
    }
    const auto before = filter.clone();
    EXPECT_EQ(filter.insert(digest), insert_result::full) << layout;
    EXPECT_TRUE(filter == *before);
    EXPECT_EQ(filter.keys().keys, 1U);
    for (unsigned i = most; i > 0; --i) {
      ASSERT_EQ(filter.count(digest), i) << layout;
      ASSERT_EQ(filter.keys().keys, 1U);
      ASSERT_TRUE(filter.erase(digest));
    }
    EXPECT_FALSE(filter.erase(digest));
    EXPECT_TRUE(filter == *empty) << layout;
    EXPECT_EQ(filter.keys().keys, 0U);
  }
}

TEST(Cuckoo, TooManyCopiesOfAKeyAreAnotherErrorThanAFullFilter) {
  const auto spec = hasher::of(xxh3{}).spec();
  const auto distinct = random_digests(21, 5000);
  for (const std::string layout : layouts) {
    const std::uint64_t most = layout == "slots4" || layout == "sorted" ? 8 : 4;
    auto filter = any_filter::make("cuckoo", {.keys = 1000, .fpr = 0.001, .layout = layout}, spec);
    ASSERT_TRUE(filter);
    ASSERT_TRUE(filter->insert(std::span(distinct).first(20)));
    std::vector<std::uint64_t> copies(most + 3, distinct[19]);
    copies[0] = distinct[20];
    const auto refused = filter->insert(copies);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::too_many_copies) << layout;
    EXPECT_EQ(refused.error().number[0], most) << layout;
    EXPECT_EQ(refused.error().number[1], most) << "the other key, and all copies but the one that is there";
    const auto full = filter->insert(std::span(distinct).subspan(100));
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().code, errc::full) << layout;
    EXPECT_GE(full.error().number[0], 1000U) << layout;
  }
}

TEST(Cuckoo, TheSlotsOfAKeyAreCountedWhereItsBucketsMeet) {
  using kernels::cuckoo_places;
  const kernels::cuckoo_geometry window{.buckets = 8, .slot_bits = 8, .slots = 2, .form = cuckoo_form::window};
  EXPECT_EQ(cuckoo_places(window, {.first = 2, .other = 3, .fingerprint = 1}), 3U);
  EXPECT_EQ(cuckoo_places(window, {.first = 3, .other = 2, .fingerprint = 1}), 3U);
  EXPECT_EQ(cuckoo_places(window, {.first = 2, .other = 5, .fingerprint = 1}), 4U);
  const kernels::cuckoo_geometry slots{.buckets = 8, .slot_bits = 8, .slots = 4, .form = cuckoo_form::slots};
  EXPECT_EQ(cuckoo_places(slots, {.first = 2, .other = 3, .fingerprint = 1}), 8U);
  const kernels::cuckoo_geometry redis{.buckets = 8, .slot_bits = 8, .slots = 2, .form = cuckoo_form::redis};
  EXPECT_EQ(cuckoo_places(redis, {.first = 2, .other = 2, .fingerprint = 1}), 2U);
  EXPECT_EQ(cuckoo_places(redis, {.first = 2, .other = 3, .fingerprint = 1}), 4U);
  // As an insert finds it, with so few buckets that neighbours are frequent.
  std::set<std::uint64_t> met;
  for (const std::uint64_t digest : random_digests(22, 200)) {
    auto filter = make({.keys = 1, .bits = 21 * 12, .layout = "window:12"});
    const std::uint64_t places = cuckoo_places(
        filter.geometry(), kernels::cuckoo_key_of(digest, filter.geometry().buckets, filter.geometry().fingerprints()));
    std::uint64_t held = 0;
    while (filter.insert(digest) != insert_result::full) ++held;
    ASSERT_EQ(held, places);
    ASSERT_EQ(filter.why_full(digest).code, errc::too_many_copies);
    met.insert(places);
  }
  EXPECT_EQ(met, (std::set<std::uint64_t>{3, 4}));
}

TEST(Cuckoo, ASetHoldsAKeyOnceAndErasesNothing) {
  auto filter = make({.keys = 1000, .fpr = 0.001, .mode = "set"});
  const auto digests = random_digests(9, 1000);
  for (int round = 0; round < 20; ++round) ASSERT_EQ(filter.insert_until_full(digests).taken, digests.size());
  EXPECT_EQ(filter.used_slots(), filter.keys().keys);
  EXPECT_GT(filter.keys().keys, 990U);
  for (const std::uint64_t digest : digests) ASSERT_EQ(filter.count(digest), 1U);
  const auto before = filter.clone();
  EXPECT_FALSE(filter.erase(digests[0]));
  EXPECT_TRUE(filter == *before);
  EXPECT_EQ(filter.check_erase().error().code, errc::unsupported);
  EXPECT_TRUE(make({.keys = 10, .fpr = 0.01}).check_erase());
  EXPECT_EQ(cuckoo::make({.keys = 10, .fpr = 0.01, .mode = "bag"}).error().code, errc::unsupported);
  EXPECT_FALSE(filter == make({.keys = 1000, .fpr = 0.001}));
}

TEST(Cuckoo, ErasingAKeyThatWasNeverInsertedCanTakeAnotherAway) {
  // The limit that the manual states: a false positive is not told from a key.
  auto filter = make({.keys = 200, .fpr = 0.1, .layout = "slots4"});
  const auto digests = random_digests(10, 200);
  filter.insert_batch(digests);
  std::mt19937_64 generator(11);
  std::uint64_t stranger = generator();
  while (!filter.may_contain(stranger)) stranger = generator();
  EXPECT_TRUE(filter.erase(stranger));
  std::uint64_t lost = 0;
  for (const std::uint64_t digest : digests) lost += filter.may_contain(digest) ? 0U : 1U;
  EXPECT_EQ(lost, 1U);
}

TEST(Cuckoo, RandomInsertsAndErasesAgreeWithAListOfKeys) {
  for (const std::string layout : layouts) {
    auto filter = make({.keys = 900, .fpr = 0.9, .layout = with_width(layout, 14)});
    std::mt19937_64 random(12);
    std::map<std::uint64_t, unsigned> held;
    std::uint64_t occurrences = 0;
    std::uint64_t refused = 0;
    for (int step = 0; step < 12'000; ++step) {
      const std::uint64_t key = mix64(random() % 700 + 1);
      if (random() % 100 < 55) {
        if (filter.insert(key) == insert_result::full) {
          ++refused;
        } else {
          ++held[key];
          ++occurrences;
        }
      } else if (held[key] > 0) {
        ASSERT_TRUE(filter.erase(key));
        --held[key];
        --occurrences;
      }
      if (step % 1000 != 0) continue;
      ASSERT_EQ(filter.used_slots(), occurrences) << layout;
      for (const auto& [each, times] : held) ASSERT_GE(filter.count(each), times) << layout << " step " << step;
    }
    EXPECT_GT(refused, 0U) << "the test must have met a full filter";
    for (const auto& [each, times] : held) {
      for (unsigned i = 0; i < times; ++i) ASSERT_TRUE(filter.erase(each));
    }
    EXPECT_EQ(filter.used_slots(), 0U);
    EXPECT_EQ(filter.keys().keys, 0U) << "keys are counted exactly";
  }
}

// The share of slots in use when an insert first finds no room.
double load_when_full(const std::string& layout, std::uint64_t slots, std::uint64_t seed) {
  const auto choice = find_cuckoo_layout(layout);
  cuckoo_model model;
  model.geometry = {.buckets = 0, .slot_bits = choice->slot_bits, .slots = choice->slots, .form = choice->form};
  const std::uint64_t bits =
      slots * model.geometry.stride() / (choice->form == cuckoo_form::window ? 1 : choice->slots);
  auto filter = make({.keys = slots / 20, .bits = bits, .layout = layout});
  constexpr std::size_t group = 4096;
  std::vector<std::uint64_t> digests(group);
  std::uint64_t held = 0;
  while (true) {
    for (std::size_t i = 0; i < group; ++i) digests[i] = mix64(mix64(seed + 1) + (held + i) * 0x9e3779b97f4a7c15ULL);
    const batch_outcome outcome = filter.insert_until_full(digests);
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
        ASSERT_EQ(filter.insert_until_full(random_digests(seed, keys)).taken, keys) << layout << " seed " << seed;
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
      ASSERT_EQ(filter.insert_until_full(random_digests(bits, keys)).taken, keys);
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
      ASSERT_EQ(filter.insert_until_full(random_digests(3, 100'000)).taken, 100'000U);
      const auto queries = static_cast<std::uint64_t>(1e4 / fpr);
      const std::uint64_t positives = positives_of(filter, 98, queries);
      EXPECT_LE(binomial::upper_bound(positives, queries, 0.001), 1.05 * fpr) << layout << fpr;
      EXPECT_GE(static_cast<double>(positives),
                (layout == "window" || layout == "slots2" ? 0.2 : 0.45) * fpr * static_cast<double>(queries))
          << layout << fpr;
    }
  }
}

TEST(Cuckoo, BatchesAnswerAsSingleLookUpsDoWithEveryInstructionSet) {
  for (const std::string layout : layouts) {
    for (unsigned bits = narrowest(layout); bits <= 32; ++bits) {
      auto filter = make({.keys = 300, .bits_per_key = 60, .layout = with_width(layout, bits)});
      auto digests = random_digests(bits, 300);
      digests[0] = 0;
      digests[1] = ~std::uint64_t{0};
      digests[2] = std::uint64_t{1} << 63U;
      filter.insert_batch(digests);
      for (const std::uint64_t digest : random_digests(1000 + bits, 300)) digests.push_back(digest);
      const std::byte* bytes = filter.payload().data();
      const auto& geometry = filter.geometry();
      for (const std::size_t count : {0U, 1U, 3U, 63U, 64U, 65U, 128U, 600U}) {
        for (const isa level : all_isas) {
          if (!has_isa(level)) continue;
          std::vector<std::uint64_t> mask(mask_words(count) + 1, ~std::uint64_t{0});
          const kernels::given_digests given{digests.data()};
          detail::with_cuckoo<kernels::cuckoo_table>(
              detail::cuckoo_code_of(geometry), bytes, geometry, [&](const auto& table) {
                kernels::cuckoo_ask_with(level, table, count, kernels::digest_feed(given), mask.data());
              });
          for (std::size_t i = 0; i < count; ++i) {
            ASSERT_EQ(mask[i / 64] >> (i % 64) & 1U, filter.may_contain(digests[i]) ? 1U : 0U)
                << layout << bits << isa_name(level) << i;
          }
          const std::uint64_t behind = count % 64 == 0 ? 0 : mask[count / 64] >> (count % 64);
          ASSERT_EQ(behind, 0U);
          ASSERT_EQ(mask.back(), ~std::uint64_t{0}) << "nothing is written behind the answers";
        }
      }
    }
  }
}

TEST(Cuckoo, FarFiltersAnswerAsNearOnes) {
  auto filter = make({.keys = 700'000, .fpr = 0.001});
  ASSERT_GT(filter.memory_bytes(), kernels::cuckoo_far_bytes);
  auto digests = random_digests(6, 700'000);
  ASSERT_EQ(filter.insert_until_full(digests).taken, digests.size());
  digests.resize(1000);
  for (const std::uint64_t digest : random_digests(7, 3000)) digests.push_back(digest);
  std::vector<std::uint64_t> mask(mask_words(digests.size()));
  filter.may_contain_batch(digests, mask);
  for (std::size_t i = 0; i < digests.size(); ++i) {
    ASSERT_EQ(mask[i / 64] >> (i % 64) & 1U, filter.may_contain(digests[i]) ? 1U : 0U);
  }
}

TEST(Cuckoo, BatchesStopWhereSingleInsertsFirstFail) {
  for (const std::string layout : layouts) {
    const std::string named = with_width(layout, layout == "sorted" ? 9 : 12);
    auto one = make({.keys = 1000, .fpr = 0.9, .layout = named});
    auto many = make({.keys = 1000, .fpr = 0.9, .layout = named});
    const auto digests = random_digests(13, 3000);
    std::size_t taken = 0;
    std::uint64_t inserted = 0;
    for (; taken < digests.size(); ++taken) {
      const insert_result outcome = one.insert(digests[taken]);
      if (outcome == insert_result::full) break;
      inserted += outcome == insert_result::inserted ? 1U : 0U;
    }
    ASSERT_LT(taken, digests.size());
    const batch_outcome outcome = many.insert_until_full(digests);
    EXPECT_EQ(outcome.taken, taken) << layout;
    EXPECT_EQ(outcome.inserted, inserted) << layout;
    EXPECT_TRUE(one == many) << layout;
    EXPECT_EQ(one.keys().keys, many.keys().keys);
    EXPECT_EQ(many.insert_batch({}), 0U);
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
    EXPECT_EQ(filter.insert_until_full(random_digests(5, filter.capacity_keys())).taken, filter.capacity_keys());
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
    EXPECT_EQ(cuckoo::make({.keys = 10, .fpr = 0.01, .layout = layout}).error().code, errc::unsupported) << layout;
  }
  EXPECT_EQ(cuckoo::make({.keys = 10, .fpr = 0.01, .hashes = 3}).error().code, errc::unsupported);
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

TEST(Cuckoo, AnyBytesAreSafeToAskAndToChange) {
  std::mt19937_64 random(14);
  for (const std::string layout : layouts) {
    for (const unsigned bits : {5U, 12U, 17U, 32U}) {
      const auto shape = make({.keys = 100, .bits_per_key = 100, .layout = with_width(layout, bits)}).shape();
      const auto geometry = cuckoo::payload_bytes(shape);
      ASSERT_TRUE(geometry);
      for (const unsigned pattern : {0U, 1U}) {
        auto bytes = aligned_buffer::make(*geometry, "test");
        const std::uint64_t used =
            cuckoo_model{make({.keys = 100, .bits_per_key = 100, .layout = with_width(layout, bits)}).geometry()}
                .bits();
        for (std::uint64_t bit = 0; bit < used; ++bit) {
          if (pattern == 0 || random() % 8 != 0) bytes->data()[bit / 8] |= static_cast<std::byte>(1U << (bit % 8));
        }
        auto filter = cuckoo::adopt(shape, std::move(*bytes));
        ASSERT_TRUE(filter) << describe(filter.error()).c_str();
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

TEST(Cuckoo, TheManualsExampleDoesWhatItSays) {
  auto filter = bloomery::filter<cuckoo>::make({.keys = 1'000'000, .fpr = 0.001});
  ASSERT_TRUE(filter);
  EXPECT_EQ(filter->insert("alice"), insert_result::inserted);
  EXPECT_TRUE(filter->may_contain("alice"));
  EXPECT_TRUE(filter->erase("alice"));
  EXPECT_FALSE(filter->may_contain("alice"));
}

}  // namespace
