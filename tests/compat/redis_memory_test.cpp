// The memory of RedisBloom's engines: every block comes from the hooks, what they report is what they took, and a refused
// block changes nothing.
#include "compat/redis_support.hpp"

namespace bloomery {
namespace {

using namespace redis_testing;
using test::counting_memory;

// Both engines behind one face.
struct bloom_engine {
  using chain = bloom_chain;
  static result<owned<chain>> make(const memory_hooks* memory) { return chain::make({.capacity = 20}, {}, memory); }
  static insert_outcome insert(chain& into, const std::string& key) { return into.insert(key); }
};
struct cuckoo_engine {
  using chain = cuckoo_chain;
  static result<owned<chain>> make(const memory_hooks* memory) {
    return chain::make({.capacity = 32, .growth = 2}, {}, memory);
  }
  static insert_outcome insert(chain& into, const std::string& key) { return into.insert(key); }
};

template <class Engine>
class RedisEngineMemory : public testing::Test {};
using redis_engines = testing::Types<bloom_engine, cuckoo_engine>;
TYPED_TEST_SUITE(RedisEngineMemory, redis_engines);

TEST(RedisEngineSize, ADefaultFilterTakesLittle) {
  counting_memory memory;
  const auto chain = bloom_chain::make({}, {}, &memory.hooks);
  ASSERT_TRUE(chain);
  EXPECT_EQ(memory.live_bytes, (*chain)->allocated_bytes());
  EXPECT_EQ(memory.live_bytes, memory.requested_bytes);
  EXPECT_LE(memory.live_bytes, 248U);  // 365 were allowed
  counting_memory of_cuckoo;
  const auto cuckoo = cuckoo_chain::make({}, {}, &of_cuckoo.hooks);
  ASSERT_TRUE(cuckoo);
  EXPECT_EQ(of_cuckoo.live_bytes, 1024U + 72U + 16U);
}

TYPED_TEST(RedisEngineMemory, WhatIsReportedIsWhatTheHooksGave) {
  counting_memory memory;
  {
    auto chain = TypeParam::make(&memory.hooks);
    ASSERT_TRUE(chain);
    for (const std::string& key : plain_keys(2000)) {
      const std::uint64_t before = memory.requested_bytes;
      const std::uint64_t next = (*chain)->next_growth_bytes();
      ASSERT_NE(TypeParam::insert(**chain, key), insert_outcome::full);
      ASSERT_TRUE(memory.requested_bytes == before || memory.requested_bytes == before + next);
      ASSERT_EQ(memory.live_bytes, (*chain)->allocated_bytes());
    }
    ASSERT_GT((*chain)->sub_filters(), 4U);
    // A copy of it, and of one that was loaded, is in the hooks' memory too.
    const std::uint64_t one = memory.live_bytes;
    auto copy = (*chain)->clone();
    ASSERT_TRUE(copy);
    EXPECT_EQ(memory.live_bytes, one + (*copy)->allocated_bytes());
    auto loaded = replayed<typename TypeParam::chain>(chunks_of(**chain), &memory.hooks);
    EXPECT_EQ(memory.live_bytes, one + (*copy)->allocated_bytes() + loaded->allocated_bytes());
    auto of_loaded = loaded->clone();
    ASSERT_TRUE(of_loaded);
    EXPECT_EQ(memory.live_bytes, one + (*copy)->allocated_bytes() + 2 * loaded->allocated_bytes());
    EXPECT_TRUE(**of_loaded == **chain);
    (*chain)->clear();
    EXPECT_EQ((*chain)->sub_filters(), 1U);
  }
  EXPECT_EQ(memory.live, 0U);
  EXPECT_EQ(memory.live_bytes, 0U);
}

// Every request in turn is refused: the chain is as it was, and the next attempt succeeds.
TYPED_TEST(RedisEngineMemory, ARefusedBlockChangesNothing) {
  const auto keys = plain_keys(700);
  std::uint64_t refused = 0;
  for (std::uint64_t at = 0; at < 100; ++at) {
    counting_memory memory(at);
    {
      auto chain = TypeParam::make(&memory.hooks);
      if (!chain) {
        EXPECT_EQ(chain.error().code, errc::out_of_memory);
        EXPECT_EQ(memory.live, 0U);
        ++refused;
        continue;
      }
      for (const std::string& key : keys) {
        auto copy = (*chain)->clone(&default_memory());
        const std::uint64_t bytes = memory.live_bytes;
        if (TypeParam::insert(**chain, key) != insert_outcome::no_memory) continue;
        ++refused;
        EXPECT_TRUE(chunks_of(**chain) == chunks_of(**copy));
        EXPECT_EQ(memory.live_bytes, bytes);
        EXPECT_EQ((*chain)->allocated_bytes(), bytes);
        EXPECT_EQ(TypeParam::insert(**chain, key), insert_outcome::inserted);
      }
      for (const std::string& key : keys) EXPECT_TRUE((*chain)->may_contain(key));
      if (memory.requests <= at) break;
    }
    EXPECT_EQ(memory.live, 0U);
  }
  EXPECT_GE(refused, 8U);
}

TYPED_TEST(RedisEngineMemory, ARefusedCopyOrLoadLeavesNothingBehind) {
  auto chain = TypeParam::make(nullptr);
  ASSERT_TRUE(chain);
  for (const std::string& key : plain_keys(500)) TypeParam::insert(**chain, key);
  const auto header = chunks_of(**chain)[1];
  std::uint64_t refused = 0;
  for (std::uint64_t at = 0; at < 50; ++at) {
    counting_memory memory(at);
    const bool copied = (*chain)->clone(&memory.hooks).has_value();
    EXPECT_EQ(memory.live, 0U);
    counting_memory of_load(at);
    const auto loaded = TypeParam::chain::from_header(bytes_in(header), {}, &of_load.hooks);
    EXPECT_EQ(copied, loaded.has_value());
    refused += copied ? 0 : 1;
    EXPECT_TRUE(loaded.has_value() || of_load.live == 0);
  }
  EXPECT_EQ(refused, 2 + (*chain)->sub_filters());
}

TEST(RedisEngineMemoryBatch, ABatchStopsWhereMemoryIsRefused) {
  counting_memory memory(4);  // object, list, bits; the bits of the second sub-filter, then its list
  auto chain = bloom_chain::make({.capacity = 20}, {}, &memory.hooks);
  ASSERT_TRUE(chain);
  const auto keys = plain_keys(100);
  auto fresh = mask_for(keys.size());
  const batch_inserted done = (*chain)->insert_batch(views(keys), fresh);
  EXPECT_EQ(done.stop, insert_outcome::no_memory);
  EXPECT_EQ(done.inserted, 20U);
  EXPECT_EQ((*chain)->keys(), 20U);
  EXPECT_EQ((*chain)->allocated_bytes(), memory.live_bytes);
  EXPECT_FALSE((*chain)->may_contain(keys[done.taken]));
  const auto rest = views(keys);
  EXPECT_EQ((*chain)->insert_batch(std::span(rest).subspan(done.taken), fresh).taken, keys.size() - done.taken);
}

// A defragmenter that moves all blocks, or each second one.
struct moving {
  counting_memory& memory;
  std::uint64_t offered = 0;
  std::uint64_t every = 1;
  [[nodiscard]] block_mover mover() { return {.move = move, .context = this}; }

  static void* move(void* context, void* block, std::size_t size) {
    auto& self = *static_cast<moving*>(context);
    if (self.offered++ % self.every != 0) return nullptr;
    void* const now = self.memory.hooks.allocate(self.memory.hooks.context, size, block_alignment_bytes);
    std::memcpy(now, block, size);
    std::memset(block, 0xa5, size);
    self.memory.hooks.release(self.memory.hooks.context, block, size, block_alignment_bytes);
    return now;
  }
};

TYPED_TEST(RedisEngineMemory, RelocatingMovesEveryBlock) {
  for (const std::uint64_t every : {1U, 2U}) {
    counting_memory memory;
    {
      auto chain = TypeParam::make(&memory.hooks);
      ASSERT_TRUE(chain);
      for (const std::string& key : plain_keys(500)) TypeParam::insert(**chain, key);
      auto copy = (*chain)->clone(&default_memory());
      const std::uint64_t blocks = memory.live;
      const std::uint64_t bytes = memory.live_bytes;
      moving defragmenter{.memory = memory, .every = every};
      owned<typename TypeParam::chain> moved(TypeParam::chain::relocate(chain->release(), defragmenter.mover()));
      EXPECT_EQ(defragmenter.offered, blocks);
      EXPECT_EQ(memory.live, blocks);
      EXPECT_EQ(memory.live_bytes, bytes);
      EXPECT_TRUE(*moved == **copy);
      for (const std::string& key : plain_keys(900)) TypeParam::insert(*moved, key);
      for (const std::string& key : plain_keys(900)) EXPECT_TRUE(moved->may_contain(key));
    }
    EXPECT_EQ(memory.live, 0U);
  }
}

TEST(RedisEngineBlock, AnAdoptedBlockIsReleasedByItsHooks) {
  counting_memory memory;
  void* const bytes = memory.hooks.allocate(memory.hooks.context, 24, block_alignment_bytes);
  {
    block taken = block::adopt(bytes, 24, &memory.hooks);
    block other = std::move(taken);
    EXPECT_EQ(other.size_bytes(), 24U);
    EXPECT_EQ(taken.data(), nullptr);  // NOLINT(bugprone-use-after-move): what is left is defined
  }
  EXPECT_EQ(memory.live, 0U);
  EXPECT_FALSE(block::make(std::uint64_t{1} << 63U, &memory.hooks));
}

}  // namespace
}  // namespace bloomery
