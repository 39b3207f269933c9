// RedisBloom's Bloom chain as an engine: the product's own bytes, and a plain model.
#include "compat/redis_support.hpp"

namespace bloomery {
namespace {

using namespace redis_testing;

constexpr std::uint32_t usual = no_rounding | hashes_64;

struct bloom_case {
  std::string name;
  bloom_settings settings;
  std::size_t keys;
};
std::vector<bloom_case> bloom_cases() {
  return {{"bf_default", {}, 50},
          {"bf_100_0.01", {}, 100},
          {"bf_100_0.01_scaled", {}, 400},
          {"bf_100_0.001_exp4_scaled", {.error_rate = 0.001, .growth = 4}, 400},
          {"bf_400_0.01_nonscaling", {.capacity = 400, .options = usual | no_scaling}, 400},
          {"bf_10_0.01_exp1_scaled", {.capacity = 10, .growth = 1}, 100},
          {"bf_1_0.24", {.error_rate = 0.24, .capacity = 1}, 1}};
}

owned<bloom_chain> make_bloom(const bloom_settings& settings, const engine_limits& limits = {},
                              const memory_hooks* memory = nullptr) {
  auto chain = bloom_chain::make(settings, limits, memory);
  EXPECT_TRUE(chain) << describe(chain.error()).view();
  return std::move(*chain);
}

TEST(RedisBloomChain, TheSameKeysGiveTheProductsDump) {
  for (const bloom_case& each : bloom_cases()) {
    SCOPED_TRACE(each.name);
    const auto golden = golden_chunks(each.name);
    const auto keys = golden_keys(each.keys);
    auto one_by_one = make_bloom(each.settings);
    for (const std::string& key : keys) one_by_one->insert(key);
    EXPECT_TRUE(chunks_of(*one_by_one) == golden);
    auto batch = make_bloom(each.settings);
    auto fresh = mask_for(keys.size());
    EXPECT_EQ(batch->insert_batch(views(keys), fresh).taken, keys.size());
    EXPECT_TRUE(chunks_of(*batch) == golden);
    const auto loaded = replayed<bloom_chain>(golden);
    EXPECT_TRUE(*loaded == *batch);
    for (const auto& row : test::rows_of(golden_file(each.name + ".probes.tsv"))) {
      EXPECT_EQ(loaded->may_contain(test::from_hex(row[0])), row[1] == "1") << row[0];
    }
  }
}

TEST(RedisBloomChain, SizesAreThoseThatBfInfoReports) {
  EXPECT_EQ(make_bloom({})->info_bytes(), 240U);
  EXPECT_EQ(make_bloom({.error_rate = 0.001})->info_bytes(), 296U);
  EXPECT_EQ(make_bloom({.options = usual | no_scaling})->info_bytes(), 216U);
  EXPECT_EQ(make_bloom({.capacity = 3, .options = usual | no_scaling})->info_bytes(), 104U);
}

TEST(RedisBloomChain, CollisionsAreTheProducts) {
  const auto chain = make_bloom({.capacity = 10});
  auto fresh = mask_for(100);
  EXPECT_EQ(chain->insert_batch(views(plain_keys(100)), fresh).inserted, 99U);
  std::vector<std::uint64_t> sizes;
  for (std::size_t i = 0; i < chain->sub_filters(); ++i) sizes.push_back(chain->record(i).keys);
  EXPECT_EQ(sizes, (std::vector<std::uint64_t>{10, 20, 40, 29}));
  const auto lower = make_bloom({.error_rate = 0.001});
  std::uint64_t inserted = 0;
  for (const std::string& key : plain_keys(4000)) inserted += lower->insert(key) == insert_outcome::inserted ? 1U : 0U;
  EXPECT_EQ(inserted, 3997U);
  EXPECT_EQ(lower->keys(), 3997U);
}

// Every encoding and hash, in batches of all sizes with keys that repeat, against the model one by one.
TEST(RedisBloomChain, BatchesAnswerAsThePlainModelDoes) {
  for (const std::uint32_t options : {usual, 1U, 4U, 0U, usual | no_scaling}) {
    for (const double error : {0.3, 0.01, 0.000001}) {
      SCOPED_TRACE(options);
      const bloom_settings settings{.error_rate = error, .capacity = 30, .growth = 3, .options = options};
      plain_bloom model(settings);
      const auto chain = make_bloom(settings);
      const auto single = make_bloom(settings);
      std::uint64_t at = 0;
      for (const std::size_t size : {1U, 2U, 63U, 64U, 65U, 200U, 1000U}) {
        std::vector<std::string> keys;
        for (std::size_t i = 0; i < size; ++i) keys.push_back(std::to_string(mix64(at++) % 1500));
        auto mask = mask_for(size);
        chain->may_contain_batch(views(keys), mask);
        for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(bit_of(mask, i), model.holds(keys[i]));
        auto fresh = mask_for(size);
        std::size_t first = 0;
        // Behind an item that is not taken the batch goes on, as the commands do.
        while (first < size) {
          const batch_inserted done =
              chain->insert_batch(std::span<const std::string_view>(views(keys)).subspan(first), fresh);
          std::uint64_t inserted = 0;
          for (std::size_t i = 0; i < done.taken; ++i) {
            const insert_outcome expected = model.insert(keys[first + i]);
            EXPECT_EQ(bit_of(fresh, i) ? insert_outcome::inserted : insert_outcome::present, expected);
            EXPECT_EQ(single->insert(keys[first + i]), expected);
            inserted += expected == insert_outcome::inserted ? 1U : 0U;
          }
          EXPECT_EQ(done.inserted, inserted);
          first += done.taken;
          if (first == size) break;
          EXPECT_EQ(done.stop, insert_outcome::full);
          EXPECT_EQ(model.insert(keys[first]), insert_outcome::full);
          EXPECT_EQ(single->insert(keys[first]), insert_outcome::full);
          ++first;
        }
      }
      model.expect_equal(*chain);
      EXPECT_TRUE(*chain == *single);
    }
  }
}

// Beyond 64 KiB memory is prefetched, beyond 2 MiB all positions are read in waves; with few, some and many hashes.
TEST(RedisBloomChain, LargeSubFiltersAnswerAsThePlainModelDoes) {
  struct {
    double error_rate;
    std::uint64_t capacity;
    std::size_t more_than_bytes;
  } const cases[] = {{0.001, 60'000, std::size_t{1} << 16U},
                     {0.9, 12'000'000, std::size_t{2} << 20U},
                     {0.25, 5'000'000, std::size_t{2} << 20U},
                     {0.001, 1'300'000, std::size_t{2} << 20U},
                     {0.000001, 700'000, std::size_t{2} << 20U}};
  for (const auto& one : cases) {
    SCOPED_TRACE(one.error_rate);
    const bloom_settings settings{.error_rate = one.error_rate, .capacity = one.capacity};
    plain_bloom model(settings);
    const auto chain = make_bloom(settings);
    ASSERT_GT(chain->bits(0).size(), one.more_than_bytes);
    const auto keys = plain_keys(1000);
    auto fresh = mask_for(keys.size());
    EXPECT_EQ(chain->insert_batch(views(keys), fresh).taken, keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      EXPECT_EQ(bit_of(fresh, i), model.insert(keys[i]) == insert_outcome::inserted);
    }
    model.expect_equal(*chain);
    const auto asked = plain_keys(2000);
    auto mask = mask_for(asked.size());
    chain->may_contain_batch(views(asked), mask);
    for (std::size_t i = 0; i < asked.size(); ++i) EXPECT_EQ(bit_of(mask, i), model.holds(asked[i]));
  }
}

TEST(RedisBloomChain, TheLimitOfSubFiltersEndsGrowing) {
  const auto chain = make_bloom({.capacity = 10}, {.max_sub_filters = 2});
  auto fresh = mask_for(100);
  const batch_inserted done = chain->insert_batch(views(plain_keys(100)), fresh);
  EXPECT_EQ(done.stop, insert_outcome::limit);
  EXPECT_EQ(done.inserted, 30U);
  EXPECT_EQ(chain->sub_filters(), 2U);
  EXPECT_EQ(chain->next_growth_bytes(), 0U);
  EXPECT_EQ(chain->insert(plain_keys(100)[done.taken]), insert_outcome::limit);
  EXPECT_EQ(chain->insert("0"), insert_outcome::present);
  chain->set_limits({.max_sub_filters = 3});
  EXPECT_NE(chain->next_growth_bytes(), 0U);
  EXPECT_EQ(chain->insert(plain_keys(100)[done.taken]), insert_outcome::inserted);
}

TEST(RedisBloomChain, ChunksAreTakenFromAnyOffset) {
  const auto chain = make_bloom({.capacity = 50});
  for (const std::string& key : plain_keys(300)) chain->insert(key);
  for (const std::uint64_t most : {1U, 7U, 100U, 100'000U}) {
    const auto chunks = chunks_of(*chain, most);
    for (const auto& [iterator, bytes] : chunks) {
      EXPECT_TRUE(iterator == 1 || bytes.size() <= most);
    }
    EXPECT_TRUE(*replayed<bloom_chain>(chunks) == *chain);
  }
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < chain->sub_filters(); ++i) all += chain->bits(i).size();
  EXPECT_EQ(chain->scan(0).iterator, 0);
  EXPECT_EQ(chain->scan(-1).iterator, 0);
  EXPECT_EQ(chain->scan(static_cast<std::int64_t>(all) + 1).iterator, 0);
  EXPECT_EQ(chain->scan(static_cast<std::int64_t>(all)).bytes.size(), 1U);
}

TEST(RedisBloomChain, ChunksThatDoNotFitAreRefused) {
  const auto chain = make_bloom({});
  const auto before = chunks_of(*chain);
  const std::string bytes(144, '\xff');
  EXPECT_EQ(chain->load_chunk(0, bytes_in(bytes)), chunk_outcome::bad_iterator);
  EXPECT_EQ(chain->load_chunk(-5, bytes_in(bytes)), chunk_outcome::bad_iterator);
  EXPECT_EQ(chain->load_chunk(143, bytes_in(bytes)), chunk_outcome::bad_iterator);
  EXPECT_EQ(chain->load_chunk(144, bytes_in(bytes)), chunk_outcome::no_sub_filter);
  EXPECT_EQ(chain->load_chunk(146, bytes_in(bytes)), chunk_outcome::too_large);
  EXPECT_EQ(chain->load_chunk(289, bytes_in(bytes)), chunk_outcome::no_sub_filter);
  EXPECT_EQ(chain->load_chunk(INT64_MAX, bytes_in(bytes)), chunk_outcome::no_sub_filter);
  EXPECT_TRUE(chunks_of(*chain) == before);
  EXPECT_EQ(chain->load_chunk(145, bytes_in(bytes)), chunk_outcome::loaded);
  EXPECT_TRUE(chain->may_contain("anything"));
}

TEST(RedisBloomChain, RecordsBuildTheSameChain) {
  for (const std::uint32_t options : {usual, 0U}) {
    const auto chain = make_bloom({.capacity = 20, .options = options});
    for (const std::string& key : plain_keys(200)) chain->insert(key);
    auto loader = bloom_loader::begin(chain->head());
    ASSERT_TRUE(loader);
    for (std::size_t i = 0; i < chain->sub_filters(); ++i) {
      auto bits = block::make(chain->bits(i).size(), nullptr);
      ASSERT_TRUE(bits);
      std::copy(chain->bits(i).begin(), chain->bits(i).end(), bits->data());
      const std::byte* const at = bits->data();
      ASSERT_TRUE(loader->add(chain->record(i), std::move(*bits)));
      if (i + 1 < chain->sub_filters()) continue;
      auto same = loader->finish();
      ASSERT_TRUE(same);
      EXPECT_TRUE(**same == *chain);
      EXPECT_EQ((*same)->bits(i).data(), at);  // adopted, not copied
      EXPECT_EQ((*same)->insert("another"), chain->insert("another"));
    }
    EXPECT_FALSE(loader->finish());
    chain->clear();
    EXPECT_EQ(chain->keys(), 0U);
    EXPECT_EQ(chain->sub_filters(), 1U);
    EXPECT_FALSE(chain->may_contain("1"));
  }
}

}  // namespace
}  // namespace bloomery
