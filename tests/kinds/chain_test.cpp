// The chain of sub-filters, with a rule whose sub-filters are exact sets: what it does itself, whatever they are.
#include <bloomery/kinds/chain.hpp>
#include <set>
#include <vector>

#include "support/memory.hpp"
#include "support/typed.hpp"

namespace {

using namespace bloomery;
using namespace bloomery::test;

struct exact_set {
  std::set<std::uint64_t> keys;
  std::uint64_t capacity = 0;
};

// Counts look-ups, for what a chain reads and what it does not.
struct exact_rule {
  using sub_filter = exact_set;

  [[nodiscard]] const memory_hooks* memory() const { return hooks; }
  [[nodiscard]] std::size_t most_sub_filters() const { return most; }
  result<exact_set> next(const filter_chain<exact_rule>& chain) const {
    if (refuses) return fail(errc::out_of_memory, "the filter", {1});
    return exact_set{{}, chain.size() == 0 ? 10 : 2 * chain.newest().capacity};
  }
  [[nodiscard]] result<exact_set> clone(const exact_set& of) const { return of; }
  void clear(exact_set& first) const { first.keys.clear(); }
  [[nodiscard]] bool equal(const exact_set& a, const exact_set& b) const { return a.keys == b.keys; }
  [[nodiscard]] bool contains(const exact_set& in, std::uint64_t key) const {
    ++*looks;
    return in.keys.contains(key);
  }
  [[nodiscard]] std::uint64_t room(const exact_set& in) const { return in.capacity - in.keys.size(); }
  void insert(exact_set& into, std::uint64_t key) const { into.keys.insert(key); }

  std::uint64_t* looks;
  std::size_t most = 20;
  bool refuses = false;
  const memory_hooks* hooks = nullptr;
};

class Chain : public testing::Test {
 protected:
  filter_chain<exact_rule> made(std::size_t most = 20) {
    filter_chain<exact_rule> chain(exact_rule{.looks = &looks_, .most = most});
    EXPECT_TRUE(chain.grow());
    return chain;
  }
  static std::vector<std::uint64_t> keys_from(std::uint64_t first, std::uint64_t count) {
    std::vector<std::uint64_t> keys;
    for (std::uint64_t i = 0; i < count; ++i) keys.push_back(first + i);
    return keys;
  }
  static std::uint64_t held(const filter_chain<exact_rule>& chain) {
    return chain.sum([](const exact_set& each) { return std::uint64_t{each.keys.size()}; });
  }
  std::uint64_t looks_ = 0;
};

TEST_F(Chain, FillsTheNewestAndGrowsByItsRule) {
  auto chain = made();
  for (const std::uint64_t key : keys_from(0, 75)) ASSERT_EQ(chain.insert(key), insert_result::inserted);
  ASSERT_EQ(chain.size(), 4U);  // 10, 20, 40, 80
  EXPECT_EQ(chain[0].keys.size(), 10U);
  EXPECT_EQ(chain[2].keys.size(), 40U);
  EXPECT_EQ(chain.newest().keys.size(), 5U);
  EXPECT_EQ(chain.insert(std::uint64_t{3}), insert_result::present) << "in the oldest";
  EXPECT_EQ(held(chain), 75U);
}

TEST_F(Chain, ABatchDoesWhatItsKeysDoOneByOne) {
  for (const std::size_t count : {1U, 64U, 65U, 1000U, 5000U}) {
    auto keys = keys_from(0, count);
    keys.insert(keys.end(), keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(count / 2));  // some twice
    auto one_by_one = made();
    auto at_once = made();
    std::uint64_t inserted = 0;
    for (const std::uint64_t key : keys) inserted += one_by_one.insert(key) == insert_result::inserted ? 1U : 0U;
    const batch_outcome outcome = at_once.add_until_full(std::span<const std::uint64_t>(keys));
    EXPECT_EQ(outcome.taken, keys.size());
    EXPECT_EQ(outcome.inserted, inserted);
    EXPECT_TRUE(at_once == one_by_one);
    // Some that are there, and some that are not.
    const auto mixed = keys_from(count / 2, count);
    std::vector<std::uint64_t> mask(mask_words(mixed.size()), ~std::uint64_t{0});
    at_once.may_contain_batch(std::span<const std::uint64_t>(mixed), mask);
    for (std::size_t i = 0; i < mixed.size(); ++i) {
      ASSERT_EQ((mask[i / 64] >> (i % 64) & 1U) != 0, mixed[i] < count) << i;
      ASSERT_EQ(at_once.may_contain(mixed[i]), mixed[i] < count);
    }
  }
}

TEST_F(Chain, StopsAtTheLimitOfSubFiltersAndSaysWhere) {
  auto chain = made(3);  // 10 + 20 + 40
  const auto keys = keys_from(0, 100);
  const batch_outcome outcome = chain.add_until_full(std::span<const std::uint64_t>(keys));
  EXPECT_EQ(outcome.taken, 70U);
  EXPECT_EQ(outcome.inserted, 70U);
  EXPECT_EQ(chain.insert(std::uint64_t{99}), insert_result::full);
  EXPECT_EQ(chain.insert(std::uint64_t{69}), insert_result::present);
  EXPECT_EQ(chain.grow().error().code, errc::full);
  // A later key that is there is no reason to stop.
  const std::vector<std::uint64_t> known{5, 45, 69};
  EXPECT_EQ(chain.add_until_full(std::span<const std::uint64_t>(known)).taken, 3U);
}

TEST_F(Chain, LooksIntoTheNewestFirstAndNoFurtherForWhatIsThere) {
  auto chain = made();
  for (const std::uint64_t key : keys_from(0, 150)) chain.insert(key);
  ASSERT_EQ(chain.size(), 4U);
  looks_ = 0;
  EXPECT_TRUE(chain.may_contain(std::uint64_t{149}));
  EXPECT_EQ(looks_, 1U);
  EXPECT_TRUE(chain.may_contain(std::uint64_t{0}));
  EXPECT_EQ(looks_, 1U + 4U);
  looks_ = 0;
  const auto newest = keys_from(70, 64);  // all in the newest
  std::vector<std::uint64_t> mask(1);
  chain.may_contain_batch(std::span<const std::uint64_t>(newest), mask);
  EXPECT_EQ(mask[0], ~std::uint64_t{0});
  EXPECT_EQ(looks_, 64U);
}

TEST_F(Chain, WhatIsRefusedLeavesItAsItWas) {
  auto chain = made();
  for (const std::uint64_t key : keys_from(0, 10)) chain.insert(key);
  const auto before = chain.clone();
  ASSERT_TRUE(before);
  chain.rule().refuses = true;
  EXPECT_EQ(chain.insert(std::uint64_t{10}), insert_result::full);
  EXPECT_TRUE(chain == *before);
  chain.rule().refuses = false;
  EXPECT_EQ(chain.insert(std::uint64_t{10}), insert_result::inserted);
  // The memory of the list itself.
  counting_memory memory(1);
  {
    filter_chain<exact_rule> counted(exact_rule{.looks = &looks_, .hooks = &memory.hooks});
    ASSERT_TRUE(counted.grow());
    EXPECT_EQ(counted.grow().error().code, errc::out_of_memory);
    EXPECT_EQ(counted.size(), 1U);
    EXPECT_TRUE(counted.grow());
  }
  EXPECT_EQ(memory.live, 0U);
}

TEST_F(Chain, IsClonedComparedAndCleared) {
  auto chain = made();
  for (const std::uint64_t key : keys_from(0, 50)) chain.insert(key);
  auto copy = chain.clone();
  ASSERT_TRUE(copy);
  EXPECT_TRUE(*copy == chain);
  copy->insert(std::uint64_t{1000});
  EXPECT_FALSE(*copy == chain);
  EXPECT_FALSE(chain.may_contain(std::uint64_t{1000}));
  chain.clear();
  EXPECT_EQ(chain.size(), 1U);
  EXPECT_EQ(held(chain), 0U);
  EXPECT_FALSE(chain.may_contain(std::uint64_t{1}));
  EXPECT_NEAR(copy->joint_fpr([](const exact_set&) { return 0.5; }), 1 - 0.125, 1e-12);
}

}  // namespace
