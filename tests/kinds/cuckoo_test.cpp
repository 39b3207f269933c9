// Kind cuckoo: where keys lie, what goes in and out, and its batches. How full it gets, its rates, sizes and files:
// cuckoo_size_test.cpp.
#include <algorithm>
#include <bloomery/any_filter.hpp>
#include <bloomery/filter.hpp>
#include <bloomery/kernels/cuckoo/dispatch.hpp>
#include <map>
#include <set>

#include "kinds/cuckoo_support.hpp"

namespace bloomery::cuckoo_testing {
namespace {

template <class Word, kernels::cuckoo_form Form, bool Whole>
const auto& kernels_of(const kernels::cuckoo_table<Word, Form, Whole>& /*table*/, isa level) {
  return kernels::cuckoo_kernels<Word, Form, Whole>::for_isa(level);
}
using kernels::cuckoo_form;

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
      // And after an erase of each key there is space again.
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
    ASSERT_TRUE(filter->add(as_prehashed(std::span(distinct).first(20))));
    std::vector<std::uint64_t> copies(most + 3, distinct[19]);
    copies[0] = distinct[20];
    const auto refused = filter->add(as_prehashed(copies));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::too_many_copies) << layout;
    EXPECT_EQ(refused.error().number[0], most) << layout;
    EXPECT_EQ(refused.error().number[1], most) << "the other key, and all copies but the one that is there";
    const auto full = filter->add(as_prehashed(std::span(distinct).subspan(100)));
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
    const std::uint64_t room = cuckoo_places(
        filter.geometry(), kernels::cuckoo_key_of(digest, filter.geometry().buckets, filter.geometry().fingerprints()));
    std::uint64_t held = 0;
    while (filter.insert(digest) != insert_result::full) ++held;
    ASSERT_EQ(held, room);
    ASSERT_EQ(filter.why_full(digest).code, errc::too_many_copies);
    met.insert(room);
  }
  EXPECT_EQ(met, (std::set<std::uint64_t>{3, 4}));
}

TEST(Cuckoo, ASetHoldsAKeyOnceAndErasesNothing) {
  auto filter = make({.keys = 1000, .fpr = 0.001, .mode = "set"});
  const auto digests = random_digests(9, 1000);
  for (int round = 0; round < 20; ++round) ASSERT_EQ(filter.add_until_full(digests).taken, digests.size());
  EXPECT_EQ(filter.used_slots(), filter.keys().keys);
  EXPECT_GT(filter.keys().keys, 990U);
  for (const std::uint64_t digest : digests) ASSERT_EQ(filter.count(digest), 1U);
  const auto before = filter.clone();
  EXPECT_FALSE(filter.erase(digests[0]));
  EXPECT_TRUE(filter == *before);
  EXPECT_EQ(filter.check_erase().error().code, errc::unsupported);
  EXPECT_TRUE(make({.keys = 10, .fpr = 0.01}).check_erase());
  EXPECT_EQ(cuckoo::make({.keys = 10, .fpr = 0.01, .mode = "bag"}).error().code, errc::unknown_mode);
  EXPECT_FALSE(filter == make({.keys = 1000, .fpr = 0.001}));
}

TEST(Cuckoo, ErasingAKeyThatWasNeverInsertedCanTakeAnotherAway) {
  // The limit that the manual states: a false positive cannot be distinguished from a key.
  auto filter = make({.keys = 200, .fpr = 0.1, .layout = "slots4"});
  const auto digests = random_digests(10, 200);
  filter.add_batch(digests);
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

TEST(Cuckoo, BatchesAnswerAsSingleLookUpsDoWithEveryInstructionSet) {
  for (const std::string layout : layouts) {
    for (unsigned bits = narrowest(layout); bits <= 32; ++bits) {
      auto filter = make({.keys = 300, .bits_per_key = 60, .layout = with_width(layout, bits)});
      auto digests = random_digests(bits, 300);
      digests[0] = 0;
      digests[1] = ~std::uint64_t{0};
      digests[2] = std::uint64_t{1} << 63U;
      filter.add_batch(digests);
      for (const std::uint64_t digest : random_digests(1000 + bits, 300)) digests.push_back(digest);
      const std::byte* bytes = filter.payload().data();
      const auto& geometry = filter.geometry();
      for (const std::size_t count : {0U, 1U, 3U, 63U, 64U, 65U, 128U, 600U}) {
        for (const isa level : all_isas) {
          if (!has_isa(level)) continue;
          std::vector<std::uint64_t> mask(mask_words(count) + 1, ~std::uint64_t{0});
          const digest_feed given(digests.data());
          detail::with_cuckoo<kernels::cuckoo_table>(
              detail::cuckoo_code_of(geometry), bytes, geometry,
              [&](const auto& table) { kernels_of(table, level).contains_batch(table, count, given, mask.data()); });
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
  ASSERT_EQ(filter.add_until_full(digests).taken, digests.size());
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
    const batch_outcome outcome = many.add_until_full(digests);
    EXPECT_EQ(outcome.taken, taken) << layout;
    EXPECT_EQ(outcome.inserted, inserted) << layout;
    EXPECT_TRUE(one == many) << layout;
    EXPECT_EQ(one.keys().keys, many.keys().keys);
    EXPECT_EQ(many.add_batch({}), 0U);
  }
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
}  // namespace bloomery::cuckoo_testing
