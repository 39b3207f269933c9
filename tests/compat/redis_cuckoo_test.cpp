// RedisBloom's cuckoo chain as an engine: the product's own bytes, and a plain model.
#include "compat/redis_support.hpp"

namespace bloomery {
namespace {

using namespace redis_testing;

struct cuckoo_case {
  std::string name;
  cuckoo_settings settings;
  std::size_t keys;
};
std::vector<cuckoo_case> cuckoo_cases() {
  return {{"cf_default_1024", {}, 200},
          {"cf_100_bs2", {.capacity = 100}, 80},
          {"cf_16_bs4_exp2_grown", {.capacity = 16, .slots = 4, .growth = 2}, 200}};
}
owned<cuckoo_chain> make_cuckoo(const cuckoo_settings& settings,
                                const engine_limits& limits = {.max_sub_filters = 32}) {
  auto chain = cuckoo_chain::make(settings, limits);
  EXPECT_TRUE(chain) << describe(chain.error()).view();
  return std::move(*chain);
}

TEST(RedisCuckooChain, TheSameKeysGiveTheProductsDump) {
  for (const cuckoo_case& each : cuckoo_cases()) {
    SCOPED_TRACE(each.name);
    const auto golden = golden_chunks(each.name);
    const auto keys = golden_keys(each.keys);
    auto one_by_one = make_cuckoo(each.settings);
    for (const std::string& key : keys) EXPECT_EQ(one_by_one->insert(key), insert_outcome::inserted);
    EXPECT_TRUE(chunks_of(*one_by_one) == golden);
    auto batch = make_cuckoo(each.settings);
    EXPECT_EQ(batch->insert_batch(views(keys), copies::keep, {}).taken, keys.size());
    EXPECT_TRUE(chunks_of(*batch) == golden);
    const auto loaded = replayed<cuckoo_chain>(golden);
    EXPECT_TRUE(*loaded == *batch);
    EXPECT_EQ(loaded->keys(), keys.size());
    for (const auto& row : test::rows_of(golden_file(each.name + ".probes.tsv"))) {
      EXPECT_EQ(loaded->may_contain(test::from_hex(row[0])), row[1] == "1") << row[0];
    }
  }
}

TEST(RedisCuckooChain, SizesAreThoseThatCfInfoReports) {
  EXPECT_EQ(make_cuckoo({.capacity = 1000})->info_bytes(), 1080U);
  EXPECT_EQ(make_cuckoo({.capacity = 3, .slots = 2})->head().buckets, 1U);
  EXPECT_EQ(make_cuckoo({.capacity = 7, .slots = 2})->head().buckets, 4U);
  EXPECT_EQ(make_cuckoo({.growth = 3})->head().growth, 4U);
  EXPECT_EQ(make_cuckoo({.growth = 0})->head().growth, 0U);
}

// Inserts, removals, compactions and queries in an order by chance, with few distinct keys: buckets fill up, sub-filters
// come and go.
void run_against_model(const cuckoo_settings& settings, std::uint64_t seed) {
  plain_cuckoo model(settings);
  const auto chain = make_cuckoo(settings, {.max_sub_filters = 6});
  for (std::uint64_t step = 0; step < 3000; ++step) {
    const std::uint64_t random = mix64(seed * 10'000 + step);
    const std::string key = std::to_string(random % 400);
    switch (random >> 32U & 7U) {
      case 0:
      case 1:
        ASSERT_EQ(chain->erase(key), model.erase(key));
        break;
      case 2:
        ASSERT_EQ(chain->count(key), model.count(key));
        break;
      case 3: {
        const bool there = model.count(key) != 0;
        ASSERT_EQ(chain->insert_if_absent(key), there ? insert_outcome::present : model.insert(key, 6));
        break;
      }
      case 4:
        if (random % 16 != 0) break;
        chain->compact();
        model.compact(true);
        break;
      default:
        ASSERT_EQ(chain->insert(key), model.insert(key, 6));
    }
    ASSERT_EQ(chain->may_contain(key), model.count(key) != 0);
  }
  model.expect_equal(*chain);
}

TEST(RedisCuckooChain, SinglesAnswerAsThePlainModelDoes) {
  run_against_model({.capacity = 64}, 1);
  run_against_model({.capacity = 16, .slots = 4, .growth = 2}, 2);
  run_against_model({.capacity = 8, .slots = 1, .moves = 3, .growth = 4}, 3);
  run_against_model({.capacity = 300, .slots = 3, .growth = 0}, 4);
  run_against_model({.capacity = 2, .slots = 2}, 5);
  // Many moves for the size: they are left out when no slot is free.
  run_against_model({.capacity = 64, .moves = 500, .growth = 0}, 6);
  run_against_model({.capacity = 16, .slots = 1, .moves = 60}, 7);
}

TEST(RedisCuckooChain, BatchesAnswerAsThePlainModelDoes) {
  for (const copies rule : {copies::keep, copies::drop}) {
    for (const std::uint32_t growth : {0U, 1U, 2U}) {
      const cuckoo_settings settings{.capacity = 256, .growth = growth};
      plain_cuckoo model(settings);
      const auto chain = make_cuckoo(settings, {.max_sub_filters = 4});
      std::uint64_t at = 0;
      for (const std::size_t size : {1U, 63U, 64U, 65U, 500U, 1500U}) {
        std::vector<std::string> keys;
        for (std::size_t i = 0; i < size; ++i) keys.push_back(std::to_string(mix64(at++) % 3000));
        auto mask = mask_for(size);
        chain->may_contain_batch(views(keys), mask);
        for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(bit_of(mask, i), model.count(keys[i]) != 0);
        auto fresh = mask_for(size);
        const auto all = views(keys);
        for (std::size_t first = 0; first < size; ++first) {
          const batch_inserted done = chain->insert_batch(std::span(all).subspan(first), rule, fresh);
          for (std::size_t i = 0; i < done.taken; ++i, ++first) {
            const bool there = model.count(keys[first]) != 0;
            EXPECT_EQ(bit_of(fresh, i), !there);
            if (there && rule == copies::drop) continue;
            EXPECT_EQ(model.insert(keys[first], 4), insert_outcome::inserted);
          }
          EXPECT_TRUE(first == size || model.insert(keys[first], 4) == done.stop);
        }
      }
      model.expect_equal(*chain);
    }
  }
}

TEST(RedisCuckooChain, AFullOneIsAsItWas) {
  const auto chain = make_cuckoo({.capacity = 64, .growth = 0});
  const auto keys = plain_keys(200);
  const batch_inserted done = chain->insert_batch(views(keys), copies::keep, {});
  EXPECT_EQ(done.stop, insert_outcome::full);
  EXPECT_EQ(done.inserted, done.taken);
  EXPECT_EQ(chain->next_growth_bytes(), 0U);
  const auto before = chunks_of(*chain);
  EXPECT_EQ(chain->insert(keys[done.taken]), insert_outcome::full);
  EXPECT_TRUE(chunks_of(*chain) == before);
  for (std::size_t i = 0; i < done.taken; ++i) EXPECT_TRUE(chain->may_contain(keys[i]));
}

TEST(RedisCuckooChain, CompactDropsWhatBecameEmpty) {
  const auto chain = make_cuckoo({.capacity = 64});
  const auto keys = plain_keys(180);
  ASSERT_EQ(chain->insert_batch(views(keys), copies::keep, {}).taken, keys.size());
  const std::size_t grown = chain->sub_filters();
  ASSERT_GT(grown, 2U);
  for (std::size_t i = 10; i < keys.size(); ++i) EXPECT_TRUE(chain->erase(keys[i]));
  chain->compact();
  EXPECT_LT(chain->sub_filters(), grown);
  EXPECT_EQ(chain->removed(), 0U);
  EXPECT_EQ(chain->keys(), 10U);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_TRUE(chain->may_contain(keys[i]));
}

TEST(RedisCuckooChain, ChunksAndRecordsBuildTheSameChain) {
  const auto chain = make_cuckoo({.capacity = 64, .growth = 2});
  for (const std::string& key : plain_keys(300)) chain->insert(key);
  for (const std::uint64_t most : {1U, 9U, 100'000U}) {
    EXPECT_TRUE(chunks_of(*replayed<cuckoo_chain>(chunks_of(*chain, most))) == chunks_of(*chain));
  }
  auto loader = cuckoo_loader::begin(chain->head());
  ASSERT_TRUE(loader);
  for (std::size_t i = 0; i < chain->sub_filters(); ++i) {
    auto slots = block::make(chain->slots(i).size(), nullptr);
    std::copy(chain->slots(i).begin(), chain->slots(i).end(), slots->data());
    const std::byte* const at = slots->data();
    EXPECT_FALSE(loader->add(chain->head().buckets_of(i) * 2, {}));
    ASSERT_TRUE(loader->add(chain->head().buckets_of(i), std::move(*slots)));
    if (i + 1 < chain->sub_filters()) continue;
    EXPECT_FALSE(loader->add(chain->head().buckets_of(i + 1), {}));
    auto same = loader->finish();
    ASSERT_TRUE(same);
    EXPECT_TRUE(chunks_of(**same) == chunks_of(*chain));
    EXPECT_EQ((*same)->slots(i).data(), at);
  }
  EXPECT_EQ(chain->load_chunk(0, {}), chunk_outcome::bad_iterator);
  EXPECT_EQ(chain->load_chunk(INT64_MAX, {}), chunk_outcome::no_sub_filter);
  const std::string bytes(65, '\1');
  EXPECT_EQ(chain->load_chunk(66, bytes_in(bytes)), chunk_outcome::too_large);
}

}  // namespace
}  // namespace bloomery
