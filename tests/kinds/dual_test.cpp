// Kind dual: its two filters and its list, what is lost and what comes back, its sizes, and what of merges, parameters and
// files it refuses. How many keys are lost is measured for every kind that may lose some: suites/contract_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <bloomery/core/binomial.hpp>
#include <bloomery/kinds/batch.hpp>
#include <bloomery/kinds/dual.hpp>
#include <cmath>
#include <cstdlib>
#include <random>
#include <set>
#include <vector>

namespace {

using namespace bloomery;

dual make(const filter_params& params) {
  auto made = dual::make(params);
  if (!made) {
    ADD_FAILURE() << describe(made.error()).c_str();
    std::abort();
  }
  return std::move(*made);
}
dual copy_of(const dual& filter) {
  auto copy = filter.clone();
  if (!copy) std::abort();
  return std::move(*copy);
}

std::vector<std::uint64_t> random_digests(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 generator(seed);
  std::vector<std::uint64_t> out(count);
  for (auto& digest : out) digest = generator();
  return out;
}

std::uint64_t missing(const dual& filter, std::span<const std::uint64_t> digests) {
  std::uint64_t count = 0;
  for (const std::uint64_t digest : digests) count += filter.may_contain(digest) ? 0U : 1U;
  return count;
}

TEST(Dual, AnswersAsTwoBlockedFiltersDo) {
  for (const dual_layout& layout : dual_layouts) {
    auto filter = make({.keys = 4000, .fpr = 0.05, .layout = layout.name});
    const std::uint64_t blocks = filter.removals().blocks();
    EXPECT_EQ(filter.adds().blocks(), blocks * layout.share);
    EXPECT_EQ(filter.adds().hashes(), filter.removals().hashes());
    auto adds = blocked::make({.keys = 4000, .bits = 512 * blocks * layout.share, .hashes = filter.adds().hashes()});
    auto removals = blocked::make({.keys = 4000, .bits = 512 * blocks, .hashes = filter.adds().hashes()});
    ASSERT_TRUE(adds && removals);
    const auto digests = random_digests(1, 6000);
    filter.add_batch(std::span(digests).first(4000));
    adds->add_batch(std::span(digests).first(4000));
    for (std::size_t i = 0; i < 4000 / layout.share; ++i) {
      const bool there = adds->may_contain(digests[i]) && !removals->may_contain(digests[i]);
      ASSERT_EQ(filter.erase(digests[i]), there) << i;
      if (there) removals->insert(digests[i]);
    }
    for (const std::uint64_t digest : digests) {
      ASSERT_EQ(filter.may_contain(digest), adds->may_contain(digest) && !removals->may_contain(digest));
    }
    // And the bytes are theirs, one after the other, with an empty list behind.
    const auto bytes = filter.payload();
    const auto first = adds->payload();
    const auto second = removals->payload();
    ASSERT_EQ(bytes.size(), first.size() + second.size() + 8 * (blocks + 16));
    EXPECT_TRUE(std::equal(first.begin(), first.end(), bytes.begin()));
    EXPECT_TRUE(std::equal(second.begin(), second.end(), bytes.begin() + static_cast<std::ptrdiff_t>(first.size())));
    EXPECT_TRUE(std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(first.size() + second.size()), bytes.end(),
                            [](std::byte each) { return each == std::byte{0}; }));
  }
}

TEST(Dual, FalsePositivesAreThoseOfTheAddFilterThatNoRemovalHides) {
  for (const dual_layout& layout : dual_layouts) {
    for (const double fpr : {0.1, 0.01}) {
      auto filter = make({.keys = 100'000, .fpr = fpr, .layout = layout.name});
      const auto keys = random_digests(2, 100'000);
      filter.add_batch(keys);
      const double before = filter.fpr_now();
      EXPECT_NEAR(before / fpr, 0.97, 0.05);
      const auto queries = random_digests(3, 1'000'000);
      std::size_t next = 0;
      for (const double share : {0.0, 0.5, 0.9}) {
        const auto end = static_cast<std::size_t>(share * 100'000 / layout.share);
        for (; next < end; ++next) filter.erase(keys[next]);
        const double measured = 1 - static_cast<double>(missing(filter, queries)) / 1e6;
        const double now = filter.fpr_now();
        EXPECT_NEAR(measured, now, 5 * std::sqrt(now / 1e6)) << layout.name << " " << fpr << " " << share;
        EXPECT_LE(now, before);
      }
      if (layout.share == 1) {
        // Whatever is removed hides what seemed to be there because of it: with everything removed nothing is left.
        for (; next < keys.size(); ++next) filter.erase(keys[next]);
        EXPECT_LT(filter.fpr_now(), 0.02 * fpr);
      }
    }
  }
}

TEST(Dual, AKeyThatWasRemovedComesBackAndLeavesAgain) {
  auto filter = make({.keys = 1000, .fpr = 0.01});
  const auto keys = random_digests(4, 1000);
  filter.add_batch(keys);
  const std::uint64_t counted = filter.keys().keys;
  for (int round = 0; round < 5; ++round) {
    EXPECT_TRUE(filter.erase(keys[7]));
    EXPECT_FALSE(filter.may_contain(keys[7]));
    EXPECT_FALSE(filter.erase(keys[7]));
    EXPECT_EQ(filter.keys().keys, counted - 1);
    EXPECT_EQ(filter.returned(), 0U);
    EXPECT_EQ(filter.insert(keys[7]), insert_result::inserted);
    EXPECT_TRUE(filter.may_contain(keys[7]));
    EXPECT_EQ(filter.insert(keys[7]), insert_result::present);
    EXPECT_EQ(filter.keys().keys, counted);
    EXPECT_EQ(filter.returned(), 1U);
  }
  // One removal, however often it came and went; and it cost no other key.
  EXPECT_EQ(filter.loss_now().removals, 1U);
  EXPECT_EQ(missing(filter, keys), 0U);
}

TEST(Dual, AKeyThatIsAddedAfterARemovalIsNotLostAtOnce) {
  auto filter = make({.keys = 20'000, .fpr = 0.05});
  const auto old = random_digests(5, 10'000);
  const auto fresh = random_digests(6, 2000);
  filter.add_batch(old);
  for (const std::uint64_t digest : old) filter.erase(digest);
  std::uint64_t hidden = 0;
  for (const std::uint64_t digest : fresh) hidden += filter.removals().may_contain(digest) ? 1U : 0U;
  EXPECT_GT(hidden, 5U);
  auto one_by_one = copy_of(filter);
  const batch_outcome done = filter.add_until_full(fresh);
  EXPECT_EQ(done.taken, fresh.size());
  EXPECT_EQ(missing(filter, fresh), 0U);
  EXPECT_EQ(filter.returned(), hidden);
  std::uint64_t inserted = 0;
  for (const std::uint64_t digest : fresh) inserted += one_by_one.insert(digest) == insert_result::inserted ? 1U : 0U;
  EXPECT_TRUE(filter == one_by_one);
  EXPECT_EQ(done.inserted, inserted);
  EXPECT_EQ(filter.keys().keys, one_by_one.keys().keys);
}

TEST(Dual, WhenTheListIsFullAnInsertIsRefusedAndNothingChanges) {
  auto filter = make({.keys = 20'000, .fpr = 0.01});
  const auto keys = random_digests(7, 10'000);
  filter.add_batch(keys);
  erase_batch(filter, std::span<const std::uint64_t>(keys));
  ASSERT_GT(filter.loss_now().removals, 9900U);
  std::vector<std::uint64_t> gone;
  for (const std::uint64_t key : keys) {
    if (filter.removals().may_contain(key)) gone.push_back(key);
  }
  auto before = copy_of(filter);
  const batch_outcome done = filter.add_until_full(gone);
  ASSERT_LT(done.taken, gone.size());
  EXPECT_EQ(done.inserted, done.taken);
  EXPECT_GT(filter.returned(), filter.return_slots() * 6 / 10) << "the list is well used";
  EXPECT_LE(filter.returned(), filter.return_slots());
  EXPECT_EQ(missing(filter, std::span(gone).first(done.taken)), 0U);
  const std::uint64_t refused = gone[done.taken];
  before = copy_of(filter);
  EXPECT_EQ(filter.insert(refused), insert_result::full);
  EXPECT_TRUE(filter == before);
  EXPECT_EQ(filter.keys().keys, before.keys().keys);
  EXPECT_FALSE(filter.may_contain(refused));
  const error why = filter.why_full(refused);
  EXPECT_EQ(why.code, errc::no_room_to_return);
  EXPECT_EQ(why.number[0], filter.returned());
  // What is not removed still has space, and what leaves frees some.
  for (const std::uint64_t digest : random_digests(8, 50)) {
    const bool removed = filter.removals().may_contain(digest);
    EXPECT_TRUE(removed || filter.insert(digest) != insert_result::full);
  }
  for (std::size_t i = 0; i < done.taken; ++i) ASSERT_TRUE(filter.erase(gone[i]));
  EXPECT_EQ(filter.returned(), 0U);
  EXPECT_EQ(filter.insert(refused), insert_result::inserted);
}

TEST(Dual, AnyDigestComesBack) {
  auto filter = make({.keys = 100, .fpr = 0.01});
  for (const std::uint64_t digest : {std::uint64_t{0}, std::uint64_t{2}, ~std::uint64_t{0}, std::uint64_t{1} << 63U}) {
    EXPECT_EQ(filter.insert(digest), insert_result::inserted);
    EXPECT_TRUE(filter.erase(digest));
    EXPECT_FALSE(filter.may_contain(digest));
    EXPECT_EQ(filter.insert(digest), insert_result::inserted);
    EXPECT_TRUE(filter.may_contain(digest));
    EXPECT_TRUE(filter.erase(digest));
    EXPECT_FALSE(filter.may_contain(digest));
  }
  EXPECT_EQ(filter.keys().keys, 0U);
}

TEST(Dual, RandomInsertsAndErasesAgreeWithASetOfKeysButForTheLost) {
  auto filter = make({.keys = 2000, .fpr = 0.02});
  std::mt19937_64 random(9);
  std::set<std::uint64_t> held;
  std::set<std::uint64_t> ever;
  std::uint64_t lost_at_once = 0;
  for (int step = 0; step < 4000; ++step) {
    const std::uint64_t key = mix64(random() % 2000 + 1);
    if (random() % 100 < 80) {
      const insert_result done = filter.insert(key);
      if (done != insert_result::full) {
        held.insert(key);
        ever.insert(key);
        lost_at_once += filter.may_contain(key) ? 0U : 1U;
      }
    } else {
      const bool seemed = filter.may_contain(key);
      ASSERT_EQ(filter.erase(key), seemed);
      ASSERT_FALSE(filter.may_contain(key));
      held.erase(key);
    }
  }
  EXPECT_EQ(lost_at_once, 0U) << "what was just inserted is there";
  EXPECT_GT(filter.returned(), 0U);
  std::uint64_t lost = 0;
  for (const std::uint64_t key : held) lost += filter.may_contain(key) ? 0U : 1U;
  EXPECT_LE(binomial::lower_bound(lost, held.size(), 0.001), filter.loss_now().rate * 1.05);
  std::uint64_t back = 0;
  for (const std::uint64_t key : ever) back += held.count(key) == 0 && filter.may_contain(key) ? 1U : 0U;
  EXPECT_EQ(back, 0U) << "what was removed stays away";
}

TEST(Dual, MergesFiltersWithTheSameRemovals) {
  const auto keys = random_digests(10, 3000);
  auto a = make({.keys = 3000, .fpr = 0.01});
  a.add_batch(std::span(keys).first(1000));
  erase_batch(a, std::span<const std::uint64_t>(keys).first(100));
  auto b = copy_of(a);
  a.add_batch(std::span(keys).subspan(1000, 1000));
  b.add_batch(std::span(keys).subspan(2000));
  EXPECT_EQ(a.insert(keys[3]), insert_result::inserted);
  EXPECT_EQ(b.insert(keys[4]), insert_result::inserted);
  EXPECT_EQ(b.insert(keys[5]), insert_result::inserted);
  EXPECT_EQ(a.insert(keys[5]), insert_result::inserted);
  auto both = copy_of(a);
  ASSERT_TRUE(both.merge(b));
  // What either says yes to, and so nothing is lost that was there.
  for (const std::uint64_t key : keys) {
    const bool in_one = a.may_contain(key) || b.may_contain(key);
    ASSERT_TRUE(both.may_contain(key) || !in_one);
  }
  for (std::size_t i = 0; i < 100; ++i) ASSERT_EQ(both.may_contain(keys[i]), i >= 3 && i <= 5) << i;
  EXPECT_FALSE(both.keys().exact);
  EXPECT_NEAR(static_cast<double>(both.keys().keys), 2903.0, 60.0);
  EXPECT_EQ(both.returned(), 3U);

  ASSERT_TRUE(a.intersect(b));
  for (std::size_t i = 100; i < 1000; ++i) ASSERT_TRUE(a.may_contain(keys[i]));
  for (std::size_t i = 0; i < 100; ++i) ASSERT_EQ(a.may_contain(keys[i]), i == 5) << i;
  EXPECT_EQ(a.returned(), 1U);
}

TEST(Dual, AMergeThatWouldLoseKeysIsRefusedAndChangesNothing) {
  const auto keys = random_digests(11, 1000);
  auto a = make({.keys = 1000, .fpr = 0.01});
  auto b = make({.keys = 1000, .fpr = 0.01});
  a.add_batch(keys);
  b.add_batch(keys);
  a.erase(keys[0]);
  const auto before = copy_of(a);
  for (const auto& done : {a.merge(b), a.intersect(b), b.merge(a), b.intersect(a)}) {
    ASSERT_FALSE(done);
    EXPECT_STREQ(describe(done.error()).c_str(),
                 "the filters do not fit together: their removals differ, and what one removed and the other has "
                 "would be lost");
  }
  EXPECT_TRUE(a == before);
  EXPECT_TRUE(b.may_contain(keys[0]));
  EXPECT_EQ(a.merge(make({.keys = 1000, .fpr = 0.01, .layout = "half"})).error().code, errc::mismatch);
  EXPECT_EQ(a.merge(make({.keys = 3000, .fpr = 0.01})).error().code, errc::mismatch);
  EXPECT_EQ(a.merge(make({.keys = 1000, .bits = a.memory_bytes() * 8, .hashes = 3})).error().code, errc::mismatch);
  // Two lists that do not fit into one.
  a.clear();
  b.clear();
  a.add_batch(keys);
  erase_batch(a, std::span<const std::uint64_t>(keys));
  b = copy_of(a);
  EXPECT_GT(a.add_until_full(std::span(keys).first(500)).taken, 0U);
  EXPECT_GT(b.add_until_full(std::span(keys).subspan(500)).taken, 0U);
  const auto full = copy_of(a);
  EXPECT_EQ(a.merge(b).error().code, errc::no_room_to_return);
  EXPECT_TRUE(a == full);
  EXPECT_EQ(a.returned(), full.returned());
  EXPECT_EQ(a.keys().keys, full.keys().keys);
}

TEST(Dual, FoldsOnlyBeforeTheFirstRemoval) {
  auto filter = make({.keys = 1000, .bits = 1088 * 24 + 1024, .hashes = 6});
  const auto keys = random_digests(12, 800);
  filter.add_batch(keys);
  ASSERT_EQ(filter.fold_units(), 24U);
  const auto folded = filter.fold(3);
  ASSERT_TRUE(folded);
  EXPECT_EQ(folded->removals().blocks(), 8U);
  EXPECT_EQ(missing(*folded, keys), 0U);
  EXPECT_EQ(folded->keys().keys, filter.keys().keys);
  EXPECT_EQ(filter.fold(5).error().code, errc::cannot_fold);
  EXPECT_EQ(filter.fold(0).error().code, errc::cannot_fold);
  ASSERT_TRUE(filter.erase(keys[0]));
  EXPECT_STREQ(describe(filter.fold(3).error()).c_str(),
               "keys were removed from it: folded, it would lose more of the others");
}

TEST(Dual, TheSizesAreTheOnesOfTheManual) {
  struct claim {
    std::string_view layout;
    double percent;
    double tenth;
  };
  for (const claim& of :
       {claim{"even", 21.15, 33.13}, {"half", 15.55, 24.36}, {"quarter", 12.75, 19.98}, {"tenth", 11.07, 17.35}}) {
    const auto percent = dual::plan({.keys = 10'000'000, .fpr = 0.01}, of.layout);
    const auto tenth = dual::plan({.keys = 10'000'000, .fpr = 0.001}, of.layout);
    ASSERT_TRUE(percent && tenth);
    EXPECT_NEAR(percent->bits_per_key, of.percent, 0.01) << of.layout;
    EXPECT_NEAR(tenth->bits_per_key, of.tenth, 0.01) << of.layout;
    EXPECT_LE(percent->fpr, 0.01);
    EXPECT_EQ(percent->memory_bytes * 8, percent->bits);
  }
  // Both filters keep the rate, at what each was made for.
  for (const dual_layout& layout : dual_layouts) {
    for (const std::uint64_t keys : {1U, 7U, 100U, 12'345U}) {
      const auto filter = make({.keys = keys, .fpr = 0.01, .layout = layout.name});
      const loss_state loss = filter.loss_now();
      EXPECT_EQ(loss.capacity_removals, (keys + layout.share - 1) / layout.share);
      const blocked_model model;
      EXPECT_LE(model.fpr(keys, filter.adds().bits(), filter.adds().hashes()), 0.01);
      EXPECT_LE(model.fpr(loss.capacity_removals, filter.removals().bits(), filter.removals().hashes()), 0.01);
    }
  }
}

TEST(Dual, IsSizedByAnyTwoOfKeysRateAndMemory) {
  for (const dual_layout& layout : dual_layouts) {
    const auto by_rate = dual::plan({.keys = 200'000, .fpr = 0.002}, layout.name);
    ASSERT_TRUE(by_rate);
    const auto by_memory = dual::plan({.keys = 200'000, .memory_bytes = by_rate->memory_bytes}, layout.name);
    ASSERT_TRUE(by_memory);
    EXPECT_EQ(by_memory->memory_bytes, by_rate->memory_bytes);
    EXPECT_LE(by_memory->fpr, by_rate->fpr * 1.001);
    const auto per_key = dual::plan({.keys = 200'000, .bits_per_key = by_rate->bits_per_key}, layout.name);
    ASSERT_TRUE(per_key);
    EXPECT_EQ(per_key->bits, by_rate->bits);
    const auto filter = make({.fpr = 0.002, .memory_bytes = by_rate->memory_bytes, .layout = layout.name});
    EXPECT_GE(filter.capacity_keys(), 199'900U);
    EXPECT_LE(filter.memory_bytes(), by_rate->memory_bytes);
  }
}

TEST(Dual, BadParametersAreOneClearError) {
  EXPECT_STREQ(describe(dual::make({.keys = 10, .fpr = 0.01, .layout = "split64"}).error()).c_str(),
               "kind dual has the layouts even, half, quarter and tenth");
  EXPECT_EQ(dual::make({.keys = 10, .fpr = 0.01, .hashes = 17}).error().code, errc::bad_hashes);
  EXPECT_EQ(dual::make({.keys = 10, .fpr = 0.0}).error().code, errc::bad_fpr);
  EXPECT_EQ(dual::make({.keys = 10, .memory_bytes = 263}).error().code, errc::bad_memory);
  EXPECT_TRUE(dual::make({.keys = 10, .memory_bytes = 264}));
  EXPECT_EQ(dual::plan({.keys = 100'000'000'000'000, .fpr = 1e-6}).error().code, errc::not_enough_hash_bits);
}

TEST(Dual, HostileShapesAreRefusedBeforeAnythingIsAllocated) {
  auto filter = make({.keys = 1000, .fpr = 0.01});
  filter.insert(1);
  filter.erase(1);
  const auto good = filter.shape();
  ASSERT_TRUE(dual::payload_bytes(good));
  using change = std::pair<std::size_t, std::uint64_t>;
  for (const auto& [index, value] : {change{0, 0},
                                     {0, max_filter_bits / 1088 + 1},
                                     {0, ~std::uint64_t{0}},
                                     {1, 0},
                                     {1, 17},
                                     {2, 0},
                                     {2, 3},
                                     {2, 11},
                                     {2, std::uint64_t{1} << 32U | 1U},
                                     {5, good.field[0] + 17},
                                     {6, 1},
                                     {7, 1}}) {
    auto shape = good;
    shape.field[index] = value;
    EXPECT_EQ(dual::payload_bytes(shape).error().code, errc::bad_field) << index << " " << value;
  }
  auto listed = good;
  listed.field[4] = 0;
  listed.field[5] = 1;
  EXPECT_FALSE(dual::payload_bytes(listed)) << "nothing comes back that was never removed";
  auto wide = good;
  wide.digest_bits = 128;
  EXPECT_FALSE(dual::payload_bytes(wide));
}

TEST(Dual, CountsThatDoNotFitTheBytesAreRefused) {
  auto filter = make({.keys = 1000, .fpr = 0.01});
  filter.insert(mix64(1));
  filter.erase(mix64(1));
  filter.insert(mix64(1));
  const auto adopted = [&](std::size_t index, std::uint64_t value) {
    auto shape = filter.shape();
    shape.field[index] = value;
    auto bytes = aligned_buffer::make(filter.memory_bytes(), "test");
    std::memcpy(bytes->data(), filter.payload().data(), filter.memory_bytes());
    return dual::adopt(shape, std::move(*bytes));
  };
  EXPECT_TRUE(adopted(5, 1));
  EXPECT_EQ(adopted(5, 0).error().code, errc::bad_field);
  EXPECT_EQ(adopted(5, 2).error().code, errc::bad_field);
  auto shape = filter.shape();
  shape.field[4] = 0;
  shape.field[5] = 0;
  // A view reads nothing and is safe to query; a copy of it, which could be changed, is refused.
  const auto seen = dual::view(shape, filter.payload());
  ASSERT_TRUE(seen);
  EXPECT_TRUE(seen->may_contain(mix64(1)));
  EXPECT_EQ(seen->clone().error().code, errc::bad_field);
  EXPECT_FALSE(make({.keys = 1000, .fpr = 0.01}).merge(*seen));
}

TEST(Dual, AnyBytesAreSafeToQueryAndToChange) {
  std::mt19937_64 random(14);
  for (const bool all_set : {true, false}) {
    auto shape = make({.keys = 300, .fpr = 0.01, .layout = "quarter"}).shape();
    auto bytes = aligned_buffer::make(*dual::payload_bytes(shape), "test");
    for (std::uint64_t i = 0; i < bytes->size_bytes(); ++i) {
      bytes->data()[i] = all_set ? std::byte{0xff} : static_cast<std::byte>(random());
    }
    shape.field[4] = 7;
    shape.field[5] = shape.field[0] + 16;
    auto filter = dual::adopt(shape, std::move(*bytes));
    ASSERT_TRUE(filter) << describe(filter.error()).c_str();
    for (int i = 0; i < 1000; ++i) {
      static_cast<void>(filter->may_contain(random()));
      filter->insert(random());
      filter->erase(random());
    }
    EXPECT_LE(filter->fpr_now(), 1.0);
    EXPECT_GE(filter->fpr_now(), 0.0);
    EXPECT_GE(filter->estimated_keys(), 0.0);
  }
}

TEST(ReturnList, HoldsWhatItTookAndWrapsAtItsEnd) {
  for (const std::uint64_t slots : {1U, 5U, 63U, 64U, 65U, 500U}) {
    auto store = bit_store::make(slots, "test", nullptr);
    return_list list(store->bytes());
    std::set<std::uint64_t> held;
    for (const std::uint64_t digest : random_digests(slots, 2 * slots)) {
      const std::uint64_t used = list.used();
      const bool took = list.insert(digest);
      EXPECT_EQ(list.used(), used + (took ? 1 : 0));
      if (took) held.insert(digest);
      ASSERT_EQ(list.contains(digest), took);
      // Within the slots that a reader knows of.
      bool seen = !took;
      list.for_each_touched(digest, [&](std::uint64_t first, std::uint64_t size) {
        ASSERT_LE(first + size, slots * 8);
        for (std::uint64_t i = first / 8; i < (first + size) / 8; ++i) seen |= store->word(i) == digest;
      });
      EXPECT_TRUE(seen);
    }
    EXPECT_EQ(list.used(), held.size());
    EXPECT_GE(held.size(), slots <= 64 ? slots : slots * 7 / 10);
    for (const std::uint64_t digest : held) {
      ASSERT_TRUE(list.insert(digest)) << "again";
      ASSERT_TRUE(list.erase(digest));
      ASSERT_FALSE(list.erase(digest));
    }
    EXPECT_EQ(list.used(), 0U);
  }
}

}  // namespace
