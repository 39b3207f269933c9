// The growing filter: its rate while it grows, its modes, its merges, and memory that is refused.
//
// Rates: of q queries with keys that are absent, x are answered "maybe"; the standard error of x / q is sqrt(p / q). Tests
// allow five of them (a wrong alarm in 1.7 million) and 3 % for the law itself, whose Poisson form leaves out how unevenly
// lines are filled.
#include <bloomery/kinds/growing.hpp>

#include "support/memory.hpp"
#include "support/typed.hpp"

namespace {

using namespace bloomery;
using namespace bloomery::test;

growing make_growing(const filter_params& params) {
  auto made = growing::make(params);
  if (!made) {
    ADD_FAILURE() << describe(made.error()).c_str();
    std::abort();
  }
  return std::move(*made);
}

double measured_rate(const growing& filter, std::uint64_t queries, std::uint64_t seed) {
  constexpr std::size_t group = 8192;
  std::vector<std::uint64_t> mask(mask_words(group));
  digest_source absent(seed);
  std::uint64_t positives = 0;
  for (std::uint64_t asked = 0; asked < queries; asked += group) {
    filter.may_contain_batch(absent.take(group), mask);
    for (const std::uint64_t word : mask) positives += static_cast<std::uint64_t>(std::popcount(word));
  }
  return static_cast<double>(positives) / static_cast<double>(queries / group * group + group);
}

void expect_near(double measured, std::uint64_t queries, double expected) {
  EXPECT_NEAR(measured, expected, 5 * std::sqrt(expected / static_cast<double>(queries)) + 0.03 * expected);
}
void expect_its_rate(const growing& filter, std::uint64_t queries, std::uint64_t seed) {
  expect_near(measured_rate(filter, queries, seed), queries, filter.fpr_now());
}

// Grows to each size in turn and measures there: against the law and against what the filter reports of itself.
void expect_law(std::string_view layout, const std::vector<std::uint64_t>& sizes, std::uint64_t queries) {
  auto filter = make_growing({.keys = 1000, .fpr = 0.01, .layout = layout});
  const growing_model law{filter.slot_bits(), static_cast<unsigned>(std::bit_width(filter.pages()) - 1)};
  const digest_source keys(1);
  std::uint64_t next = 0;
  for (const std::uint64_t size : sizes) {
    std::vector<std::uint64_t> group;
    while (next < size) {
      group.clear();
      while (next < size && group.size() < 4096) group.push_back(keys.at(next++));
      filter.add_batch(group);
    }
    for (std::uint64_t i = 0; i < size; i += size / 50'000 + 1) ASSERT_TRUE(filter.may_contain(keys.at(i)));
    const double expected = law.fpr(static_cast<double>(size));
    EXPECT_NEAR(filter.fpr_now() / expected, 1.0, size < 10'000 ? 0.03 : 0.01) << size;
    const double measured = measured_rate(filter, queries, size);
    expect_near(measured, queries, expected);
    expect_near(measured, queries, filter.fpr_now());
    EXPECT_LE(filter.fpr_now(), filter.target_fpr());
    EXPECT_EQ(filter.occurrences(), size);
    EXPECT_NEAR(filter.estimated_keys() / static_cast<double>(size), 1.0, 0.002);
    std::printf("%-8.*s n %10llu  pages %7llu  bits/key %5.1f  fill %.3f  measured %.6f%%  law %.6f%%  itself %.6f%%\n",
                static_cast<int>(layout.size()), layout.data(), static_cast<unsigned long long>(size),
                static_cast<unsigned long long>(filter.pages()),
                8 * static_cast<double>(filter.memory_bytes()) / static_cast<double>(size), filter.fill(),
                100 * measured, 100 * expected, 100 * filter.fpr_now());
  }
}

TEST(Growing, KeepsToTheLawAtEveryDecadeTo10MillionKeys) {
  expect_law("slots16", {1'000, 1'536, 10'000, 100'000, 1'000'000, 10'000'000}, 10'000'000);
}

TEST(Growing, KeepsToTheLawWithWiderSlots) {
  // Too rare to be measured closely: five standard errors are what is allowed.
  expect_law("slots24", {1'000, 100'000, 1'000'000}, 20'000'000);
  expect_law("slots32", {1'000, 200'000}, 1'000'000);
}

TEST(NightlyGrowing, KeepsToTheLawTo100MillionKeys) {
  expect_law("slots16", {1'000'000, 10'000'000, 100'000'000}, 100'000'000);
  expect_law("slots24", {1'000'000, 10'000'000, 100'000'000}, 1'000'000'000);
}

TEST(NightlyGrowing, KeepsToTheLawTo1BillionKeys) { expect_law("slots16", {1'000'000'000}, 100'000'000); }

TEST(Growing, SaysUpToHowManyKeysItKeepsItsRate) {
  // c (j + 1 + f) / 2^w with c = 24, w = 16: 1 % is reached after 25 doublings of 1536.
  const growing_model law{16, 0};
  const std::uint64_t most = law.capacity(0.01);
  EXPECT_NEAR(static_cast<double>(most), 1536 * std::exp2(25) * 1.45, 1536 * std::exp2(25) * 0.05);
  EXPECT_LE(law.fpr(static_cast<double>(most)), 0.01);
  EXPECT_GT(law.fpr(static_cast<double>(most) * 1.01), 0.01);
  for (const double rate : {0.0003, 0.001, 0.005}) {
    const auto kept = static_cast<double>(law.capacity(rate));
    EXPECT_NEAR(law.fpr(kept) / rate, 1.0, 0.01) << rate;
  }
  EXPECT_EQ(make_growing({.keys = 1000, .fpr = 0.01}).capacity_keys(), most);
}

TEST(Growing, ChoosesTheWidthOfItsSlotsByTheRate) {
  for (const auto& [rate, bits] : {std::pair{0.1, 16U}, {0.01, 16U}, {0.005, 24U}, {1e-4, 24U}, {1e-5, 32U}}) {
    const auto filter = make_growing({.keys = 1000, .fpr = rate});
    EXPECT_EQ(filter.slot_bits(), bits) << rate;
    EXPECT_GE(static_cast<double>(filter.capacity_keys()), 1000 * std::exp2(20)) << rate;
  }
  EXPECT_EQ(make_growing({.keys = 1000, .fpr = 0.005, .layout = "slots16"}).slot_bits(), 16U);
  EXPECT_EQ(growing::make({.keys = 1000, .fpr = 0.0001, .layout = "slots16"}).error().code, errc::cannot_reach_fpr);
  EXPECT_EQ(growing::make({.keys = 1000, .fpr = 1e-12}).error().code, errc::cannot_reach_fpr);
  EXPECT_EQ(growing::make({.keys = 1000, .fpr = 0.01, .layout = "slots12"}).error().code, errc::unknown_layout);
  EXPECT_EQ(growing::make({.keys = 1000, .fpr = 0.01, .mode = "bag"}).error().code, errc::unknown_mode);
  EXPECT_EQ(growing::make({.keys = 1000, .fpr = 0.01, .hashes = 3}).error().code, errc::kind_has_no_hashes);
  EXPECT_EQ(growing::make({.keys = 1000, .memory_bytes = 100}).error().code, errc::bad_memory);
  EXPECT_EQ(growing::make({.fpr = 0.01, .memory_bytes = 100}).error().code, errc::bad_memory);
  EXPECT_EQ(make_growing({.keys = 1000, .memory_bytes = 1 << 20}).slot_bits(), 32U);
  EXPECT_EQ(make_growing({.fpr = 0.01, .memory_bytes = 1 << 20}).pages(), 128U);
  EXPECT_FALSE(growing::make({.keys = max_keys, .fpr = 0.01}));
}

TEST(Growing, CountsEveryOccurrenceAndErasesOneAtATime) {
  auto filter = make_growing({.keys = 1000, .fpr = 0.01});
  const std::uint64_t key = mix64(1);
  EXPECT_FALSE(filter.erase(key)) << "surely absent";
  EXPECT_EQ(filter.insert(key), insert_result::inserted);
  EXPECT_EQ(filter.insert(key), insert_result::present);
  EXPECT_EQ(filter.occurrences(), 2U);
  EXPECT_EQ(filter.keys().keys, 1U);
  EXPECT_EQ(filter.count(key), 2U);
  EXPECT_TRUE(filter.erase(key));
  EXPECT_TRUE(filter.may_contain(key));
  EXPECT_TRUE(filter.rejuvenate(key));
  EXPECT_TRUE(filter.erase(key));
  EXPECT_FALSE(filter.may_contain(key));
  EXPECT_FALSE(filter.rejuvenate(key));
  EXPECT_TRUE(filter == make_growing({.keys = 1000, .fpr = 0.01}));
  EXPECT_TRUE(filter.keys().exact) << "an empty filter knows again";
}

TEST(Growing, ASetStoresAKeyOnceAndRefusesToErase) {
  auto filter = make_growing({.keys = 1000, .fpr = 0.01, .mode = "set"});
  const std::uint64_t key = mix64(1);
  EXPECT_EQ(filter.insert(key), insert_result::inserted);
  EXPECT_EQ(filter.insert(key), insert_result::present);
  EXPECT_EQ(filter.occurrences(), 1U);
  EXPECT_EQ(filter.count(key), 1U);
  EXPECT_FALSE(filter.erase(key));
  EXPECT_FALSE(filter.rejuvenate(key));
  EXPECT_TRUE(filter.may_contain(key));
  ASSERT_FALSE(filter.check_erase());
  EXPECT_NE(describe(filter.check_erase().error()).view().find("mode set"), std::string_view::npos);
  // Nothing is lost by what is not stored.
  digest_source digests(2);
  const auto keys = digests.take(50'000);
  filter.add_batch(keys);
  const double rate = filter.fpr_now();
  EXPECT_EQ(filter.add_batch(keys), 0U);
  EXPECT_EQ(filter.fpr_now(), rate);
  for (const std::uint64_t one : keys) ASSERT_TRUE(filter.may_contain(one));
}

TEST(Growing, KnowsItsRateAfterErasesAndRejuvenation) {
  auto filter = make_growing({.keys = 1000, .fpr = 0.01});
  digest_source digests(3);
  const auto keys = digests.take(300'000);
  filter.add_batch(keys);
  const double full = filter.fpr_now();
  for (std::size_t i = 0; i < keys.size(); i += 2) ASSERT_TRUE(filter.erase(keys[i]));
  EXPECT_LT(filter.fpr_now(), 0.55 * full);
  expect_its_rate(filter, 5'000'000, 1004);
  for (std::size_t i = 1; i < keys.size(); i += 2) ASSERT_TRUE(filter.rejuvenate(keys[i]));
  EXPECT_LT(filter.fpr_now(), 0.15 * full);
  expect_its_rate(filter, 5'000'000, 1005);
  for (std::size_t i = 1; i < keys.size(); i += 2) ASSERT_TRUE(filter.may_contain(keys[i]));
}

TEST(Growing, MergesFiltersOfAnySizesAndKnowsTheRate) {
  for (const auto& [a_keys, b_keys] : {std::pair{1'000U, 200'000U}, {200'000U, 1'000U}, {100'000U, 100'000U}}) {
    auto a = make_growing({.keys = 1000, .fpr = 0.01});
    auto b = make_growing({.keys = 50'000, .fpr = 0.01});
    digest_source digests(a_keys);
    const auto first = digests.take(a_keys);
    const auto second = digests.take(b_keys);
    a.add_batch(first);
    b.add_batch(second);
    const double together = a.fpr_now() + b.fpr_now();
    ASSERT_TRUE(a.merge(b));
    EXPECT_EQ(a.occurrences(), first.size() + second.size());
    EXPECT_LT(a.fpr_now(), together * 1.001);
    expect_its_rate(a, 5'000'000, 7);
    for (const std::uint64_t key : first) ASSERT_TRUE(a.erase(key));
    for (const std::uint64_t key : second) ASSERT_TRUE(a.may_contain(key));
  }
}

TEST(Growing, RefusesMergesThatDoNotFit) {
  auto filter = make_growing({.keys = 1000, .fpr = 0.01});
  filter.insert(mix64(1));
  auto before = filter.clone();
  EXPECT_EQ(filter.merge(filter).error().code, errc::mismatch);
  EXPECT_EQ(filter.merge(make_growing({.keys = 1000, .fpr = 0.001})).error().code, errc::mismatch);
  EXPECT_EQ(filter.merge(make_growing({.keys = 1000, .fpr = 0.01, .mode = "set"})).error().code, errc::mismatch);
  EXPECT_TRUE(filter == *before);
}

TEST(Growing, RefusesAMergeThatBreaksThePromiseUnlessAnyRateWillDo) {
  auto filter = make_growing({.keys = 1000, .fpr = 0.01});
  digest_source digests(6);
  filter.add_batch(digests.take(100'000));
  auto other = make_growing({.keys = 1000, .fpr = 0.01});
  other.add_batch(digests.take(1'000'000));
  auto third = other.clone();
  ASSERT_TRUE(other.merge(filter));
  auto before = other.clone();
  const auto refused = other.merge(*third);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::merge_exceeds_target);
  EXPECT_TRUE(other == *before);
  ASSERT_TRUE(other.merge(*third, merge_fpr::any));
  EXPECT_GT(other.fpr_now(), 0.01);
}

TEST(Growing, TakesMemoryAheadOfItsKeys) {
  counting_memory memory;
  auto filter = make_growing({.keys = 1000, .fpr = 0.01, .memory = &memory.hooks});
  ASSERT_TRUE(filter.reserve(100'000));
  const std::uint64_t bytes = filter.memory_bytes();
  const std::uint64_t requests = memory.requests;
  digest_source digests(7);
  filter.add_batch(digests.take(100'000));
  // Directories and spills only: no pages.
  EXPECT_LT(filter.memory_bytes(), bytes + 50'000);
  EXPECT_LT(memory.requests, requests + 1000);
  memory.refuse_at = memory.requests;
  EXPECT_EQ(filter.reserve(10'000'000).error().code, errc::out_of_memory);
}

TEST(Growing, SurvivesEveryRefusedAllocation) {
  // Whatever is refused: keys whose insert did not say `full` are there.
  const digest_source digests(8);
  const auto fill = [&](counting_memory& memory) {
    auto filter = growing::make({.keys = 1000, .fpr = 0.01, .memory = &memory.hooks});
    if (!filter) {
      EXPECT_EQ(filter.error().code, errc::out_of_memory);
      return;
    }
    std::vector<std::uint64_t> held;
    for (std::uint64_t i = 0; i < 20'000; ++i) {
      if (filter->add(digests.at(i))) held.push_back(digests.at(i));
    }
    EXPECT_GE(held.size(), 19'999U);
    for (const std::uint64_t digest : held) ASSERT_TRUE(filter->may_contain(digest));
    const auto copy = filter->clone();
    if (!copy) {
      EXPECT_EQ(copy.error().code, errc::out_of_memory);
    }
  };
  counting_memory memory;
  fill(memory);
  const std::uint64_t requests = memory.requests;
  ASSERT_GT(requests, 30U);
  for (std::uint64_t n = 0; n < requests; ++n) {
    memory.requests = 0;
    memory.refuse_at = n;
    fill(memory);
    ASSERT_EQ(memory.live_bytes, 0) << n;
  }
}

std::vector<std::byte> saved_state(const growing& filter) {
  std::vector<std::byte> bytes(filter.serialized_bytes());
  EXPECT_TRUE(filter.serialize(bytes));
  const stored_shape shape = filter.shape();
  const auto* numbers = reinterpret_cast<const std::byte*>(shape.field.data());
  bytes.insert(bytes.end(), numbers, numbers + sizeof shape.field);
  bytes.push_back(static_cast<std::byte>(shape.keys_exact));
  for (unsigned i = 0; i < 64; i += 8) bytes.push_back(static_cast<std::byte>(shape.keys >> i));
  return bytes;
}

// Of each insert one request for memory is refused, or all from one on. An insert that reports full leaves the filter as
// it was, to the byte, and the same key is taken when there is memory again.
TEST(Growing, AnInsertThatIsRefusedMemoryReportsFullAndChangesNothing) {
  for (const unsigned zeros : {0U, 9U}) {
    counting_memory memory;
    auto filter = make_growing({.keys = 1000, .fpr = 0.01, .memory = &memory.hooks});
    const digest_source digests(9);
    std::uint64_t refused = 0;
    for (std::uint64_t i = 0; i < 8000; ++i) {
      const std::uint64_t digest = digests.at(i) >> zeros;
      const std::vector<std::byte> state = saved_state(filter);
      const auto expected = filter.may_contain(digest) ? insert_result::present : insert_result::inserted;
      (i % 2 == 0 ? memory.refuse_at : memory.refuse_from) = memory.requests + i / 2 % 4;
      const insert_result outcome = filter.insert(digest);
      memory.refuse_at = memory.refuse_from = ~std::uint64_t{0};
      if (outcome == insert_result::full) {
        ++refused;
        ASSERT_EQ(saved_state(filter), state) << i;
        ASSERT_EQ(filter.insert(digest), expected) << i;
      } else {
        ASSERT_EQ(outcome, expected) << i;
      }
    }
    for (std::uint64_t i = 0; i < 8000; ++i) ASSERT_TRUE(filter.may_contain(digests.at(i) >> zeros));
    EXPECT_GE(refused, zeros == 0 ? 1U : 4U) << zeros;
  }
}

TEST(Growing, ABatchStopsAtTheKeyThatIsRefusedMemory) {
  counting_memory memory;
  auto filter = make_growing({.keys = 1000, .fpr = 0.01, .memory = &memory.hooks});
  memory.refuse_from = memory.requests;
  digest_source digests(9);
  const key_list keys = digests.take(100'000);
  const batch_outcome outcome = filter.add_until_full(keys);
  ASSERT_GT(outcome.taken, 500U);
  ASSERT_LT(outcome.taken, keys.size());
  EXPECT_EQ(outcome.inserted, filter.keys().keys);
  EXPECT_EQ(filter.occurrences(), outcome.taken);
  for (std::size_t i = 0; i < outcome.taken; ++i) ASSERT_TRUE(filter.may_contain(keys[i]));
  EXPECT_LT(filter.fpr_now(), 0.01);
  EXPECT_FALSE(filter.add(keys[outcome.taken]));
  memory.refuse_from = ~std::uint64_t{0};
  const std::span<const std::uint64_t> left = std::span(keys).subspan(outcome.taken);
  EXPECT_EQ(filter.add_until_full(left).taken, left.size());
  for (const std::uint64_t key : keys) ASSERT_TRUE(filter.may_contain(key));
}

TEST(Growing, AMergeThatIsRefusedMemoryChangesNothing) {
  for (const char* mode : {"multiset", "set"}) {
    counting_memory memory;
    auto filter = make_growing({.keys = 1000, .fpr = 0.02, .memory = &memory.hooks, .mode = mode});
    auto other = make_growing({.keys = 1000, .fpr = 0.02, .mode = mode});
    const digest_source digests(10);
    for (std::uint64_t i = 0; i < 6000; ++i) filter.insert(digests.at(i));
    for (std::uint64_t i = 3000; i < 20'000; ++i) other.insert(digests.at(i) >> (i % 4));
    const std::vector<std::byte> state = saved_state(filter);
    std::uint64_t refused = 0;
    for (bool done = false; !done; ++refused) {
      memory.refuse_at = memory.requests + refused;
      const auto merged = filter.merge(other, merge_fpr::any);
      memory.refuse_at = ~std::uint64_t{0};
      done = merged.has_value();
      if (done) break;
      ASSERT_EQ(merged.error().code, errc::out_of_memory);
      ASSERT_EQ(saved_state(filter), state) << refused;
    }
    EXPECT_GT(refused, 5U);
    for (std::uint64_t i = 0; i < 6000; ++i) ASSERT_TRUE(filter.may_contain(digests.at(i)));
    for (std::uint64_t i = 3000; i < 20'000; ++i) ASSERT_TRUE(filter.may_contain(digests.at(i) >> (i % 4)));
  }
}

// More keys that were spilled than a batch keeps waiting, in batches that end anywhere in a group. Digests whose first bits are
// zeros make few pages deep, and the directory two levels.
void expect_batches_as_single(unsigned zeros) {
  auto filter = make_growing({.keys = 1000, .fpr = 0.01});
  const digest_source present(21);
  const digest_source absent(22);
  std::vector<std::uint64_t> keys;
  while (filter.spilled() < 600 && keys.size() < 1'000'000) {
    keys.push_back(present.at(keys.size()) >> zeros);
    filter.insert(keys.back());
  }
  ASSERT_GE(filter.spilled(), 600U);
  const std::size_t inserted = keys.size();
  for (std::size_t i = 0; i < inserted; ++i) keys.push_back(absent.at(i) >> zeros);
  for (const std::size_t count : {std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{129}, std::size_t{191},
                                  std::size_t{192}, std::size_t{300}, keys.size()}) {
    for (const std::size_t first : {std::size_t{0}, keys.size() - count}) {
      std::vector<std::uint64_t> mask(mask_words(count), ~std::uint64_t{0});
      filter.may_contain_batch(std::span<const std::uint64_t>(keys).subspan(first, count), mask);
      for (std::size_t i = 0; i < count; ++i) {
        const bool answer = (mask[i / 64] >> (i % 64) & 1U) != 0;
        ASSERT_EQ(answer, filter.may_contain(keys[first + i])) << count << " keys, number " << i;
        ASSERT_TRUE(answer || first + i >= inserted) << count << " keys, number " << i;
      }
    }
  }
}

TEST(Growing, BatchesAnswerAsSingleLookUpsDoAlsoForKeysThatWereSpilled) {
  expect_batches_as_single(0);
  expect_batches_as_single(7);
}

}  // namespace
