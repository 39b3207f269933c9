// guarded<K>: one filter that many threads use; the same lock as each shard of sharded<K> has.
#include <bloomery/wrappers/guarded.hpp>
#include <thread>

#include "support/memory.hpp"
#include "support/typed_kinds.hpp"

namespace {

using namespace bloomery;
using namespace bloomery::test;

template <class K>
class GuardedConcurrent : public testing::Test {};
TYPED_TEST_SUITE(GuardedConcurrent, kinds_with<first_of_each<keyed_kinds>>, kind_name);

// Run under ThreadSanitizer as well.
TYPED_TEST(GuardedConcurrent, NoInsertIsLostAndEveryOneIsCounted) {
  constexpr std::uint64_t each = 3000;
  constexpr unsigned writers = 4;
  guarded<TypeParam> filter(std::move(*TypeParam::make({.keys = writers * each, .fpr = 1e-6})));
  std::atomic<std::uint64_t> inserted = 0;
  std::vector<std::thread> threads;
  for (unsigned id = 0; id < writers; ++id) {
    threads.emplace_back([&, id] {
      std::vector<std::uint64_t> digests;
      for (std::uint64_t i = 0; i < each; ++i) digests.push_back(sample_digest(id * each + i));
      for (std::size_t i = 0; i < each / 2; ++i) {
        inserted += filter.insert(digests[i]) == insert_result::inserted ? 1U : 0U;
        ASSERT_TRUE(filter.may_contain(digests[i]));
      }
      inserted += filter.add_batch(std::span<const std::uint64_t>(digests).subspan(each / 2)).inserted;
      std::vector<std::uint64_t> mask(mask_words(each));
      filter.may_contain_batch(std::span<const std::uint64_t>(digests), mask);
      for (std::size_t i = 0; i < each; ++i) ASSERT_EQ(mask[i / 64] >> (i % 64) & 1U, 1U);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(filter.keys().keys, inserted.load());
  auto moved = std::move(filter);
  EXPECT_EQ(moved.filter().keys().keys, inserted.load()) << "also what was inserted without a lock";
  EXPECT_TRUE(moved.may_contain(sample_digest(1)));
}

}  // namespace
