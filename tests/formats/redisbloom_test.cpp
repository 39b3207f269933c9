// Filters of RedisBloom: see tests/golden/redisbloom/README.md for who wrote the golden ones.
#include <bloomery/any_filter_model.hpp>
#include <bloomery/kinds/cuckoo.hpp>
#include <bloomery/kinds/scalable.hpp>

#include "formats/redisbloom_support.hpp"

namespace bloomery::redisbloom_testing {
namespace {

TEST(RedisBloom, AnswersAsTheProductDoes) {
  for (const redis_case& each : redis_cases()) {
    SCOPED_TRACE(each.name);
    std::vector<std::string> probes;
    std::vector<bool> expected;
    for (const auto& row : rows_of(redis_file(each.name + ".probes.tsv"))) {
      probes.push_back(from_hex(row[0]));
      expected.push_back(row[1] == "1");
    }
    ASSERT_GT(probes.size(), 300U);
    for (const std::string& file : {scandump_of(each.name), dump_of(each.name)}) {
      const auto opened = open_text(file);
      ASSERT_TRUE(opened) << describe(opened.error()).view();
      EXPECT_EQ(opened->form->name, "redisbloom");
      EXPECT_EQ(query(opened->filter, probes), expected);
      EXPECT_EQ(opened->filter.stats()->keys.keys, opened->filter.shape().keys);
    }
  }
}

TEST(RedisBloom, MakesTheBytesOfTheProduct) {
  for (const redis_case& each : redis_cases()) {
    SCOPED_TRACE(each.name);
    auto made = formats::make("redisbloom", each.params, each.options);
    ASSERT_TRUE(made) << describe(made.error()).view();
    insert(*made, redis_keys(each.keys));
    EXPECT_TRUE(text_of(*made, redisbloom()) == scandump_of(each.name));
    EXPECT_TRUE(text_of(*made, redisbloom(), {}, as_dump) == dump_of(each.name));
    EXPECT_TRUE(text_of(*made, redisbloom(), {}, {.form = "scandump"}) == scandump_of(each.name));
  }
}

TEST(RedisBloom, EachEncodingBecomesTheOtherAndIsKept) {
  for (const redis_case& each : redis_cases()) {
    SCOPED_TRACE(each.name);
    const auto scanned = open_text(scandump_of(each.name));
    const auto dumped = open_text(dump_of(each.name));
    ASSERT_TRUE(scanned && dumped);
    EXPECT_EQ(scanned->written.form, "scandump");
    EXPECT_EQ(dumped->written.form, "dump");
    EXPECT_TRUE(scanned->filter == dumped->filter);
    EXPECT_TRUE(text_of(dumped->filter, redisbloom()) == scandump_of(each.name));
    EXPECT_TRUE(text_of(scanned->filter, redisbloom(), {}, as_dump) == dump_of(each.name));
    const auto copy = scanned->filter.clone();
    ASSERT_TRUE(copy);
    EXPECT_TRUE(*copy == scanned->filter);
  }
}

TEST(RedisBloom, GoesOnGrowingAsTheProductDoes) {
  // The first hundred keys are there already: what is added to the file gives the file of all of them.
  const auto all = redis_keys(400);
  auto half = open_text(scandump_of("bf_100_0.01"));
  ASSERT_TRUE(half);
  insert(half->filter, std::vector<std::string>(all.begin() + 100, all.end()));
  EXPECT_TRUE(text_of(half->filter, redisbloom()) == scandump_of("bf_100_0.01_scaled"));
  auto full = open_text(scandump_of("bf_400_0.01_nonscaling"));
  ASSERT_TRUE(full);
  const std::vector<std::string> more = {"one more key"};
  const auto refused = full->filter.add(views_of(more));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::full);
}

TEST(RedisBloom, BloomChainsAreFiltersOfKindScalable) {
  const auto opened = open_text(scandump_of("bf_100_0.01_scaled"));
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->filter.info().id, scalable::info.id);
  EXPECT_TRUE(formats::holds(*formats::find("native"), opened->filter));
  const auto saved = text_of(opened->filter, *formats::find("native"));
  const auto again = open_text(saved);
  ASSERT_TRUE(again);
  EXPECT_TRUE(formats::holds(redisbloom(), again->filter));
  EXPECT_TRUE(text_of(again->filter, redisbloom()) == scandump_of("bf_100_0.01_scaled"));
  // Other digests, other bits.
  auto other = scalable::make({.keys = 100, .fpr = 0.01, .layout = "redis"});
  ASSERT_TRUE(other);
  const auto owned = any_filter::own(std::move(*other), hasher::of(xxh3{}).spec());
  ASSERT_TRUE(owned);
  EXPECT_FALSE(formats::holds(redisbloom(), *owned));
}

TEST(RedisBloom, OneSubFilterOfACuckooFilterIsAFilterOfKindCuckoo) {
  const auto opened = open_text(scandump_of("cf_default_1024"));
  ASSERT_TRUE(opened);
  const auto ours = redisbloom().as_native(opened->filter);
  ASSERT_TRUE(ours) << describe(ours.error()).view();
  EXPECT_EQ(ours->info().id, cuckoo::info.id);
  EXPECT_TRUE(formats::holds(redisbloom(), *ours));
  EXPECT_TRUE(text_of(*ours, redisbloom()) == scandump_of("cf_default_1024"));
  EXPECT_TRUE(text_of(*ours, redisbloom(), {}, as_dump) == dump_of("cf_default_1024"));
  const auto grown = open_text(scandump_of("cf_100_bs2"));
  ASSERT_TRUE(grown);
  EXPECT_FALSE(redisbloom().as_native(grown->filter));
}

TEST(RedisBloom, CuckooFiltersCountAndErase) {
  auto opened = open_text(dump_of("cf_16_bs4_exp2_grown"));
  ASSERT_TRUE(opened);
  const auto keys = redis_keys(200);
  const hasher hash = *hasher::make(opened->filter.hash());
  std::vector<std::uint64_t> digests(keys.size());
  hash.digests(views_of(keys), digests);
  std::vector<std::uint64_t> counts(keys.size());
  ASSERT_TRUE(opened->filter.count(as_prehashed(digests), counts));
  for (const std::uint64_t count : counts) EXPECT_GE(count, 1U);
  ASSERT_TRUE(opened->filter.add(prehashed{digests[0]}));
  std::vector<std::uint64_t> again(1);
  ASSERT_TRUE(opened->filter.count(as_prehashed(std::span(digests).first(1)), again));
  EXPECT_EQ(again[0], counts[0] + 1);
  EXPECT_EQ(*opened->filter.erase(as_prehashed(std::span(digests).first(1))), 1U);
  // Out one by one; those that are left stay, also while sub-filters are emptied and dropped.
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ(*opened->filter.erase(as_prehashed(std::span(digests).subspan(i, 1))), 1U) << i;
    std::vector<std::uint64_t> mask(mask_words(keys.size()));
    ASSERT_TRUE(opened->filter.may_contain(as_prehashed(digests), mask));
    for (std::size_t left = i + 1; left < keys.size(); ++left) {
      ASSERT_TRUE((mask[left / 64] >> (left % 64) & 1U) != 0) << i << " " << left;
    }
  }
  EXPECT_EQ(opened->filter.shape().keys, 0U);
  EXPECT_EQ(opened->filter.facts()[0].value.integer(), 1U) << "one sub-filter is left";
}

TEST(RedisBloom, TidiesACuckooFilterAsTheProductDoes) {
  // Two sub-filters of one bucket of two slots. Keys a, b fill the first, c is in the second. Without a, which is more than a
  // tenth, c moves to the first sub-filter, and the second one goes.
  auto made = formats::make("redisbloom", {.keys = 4}, {.kind = "cuckoo", .bucket_size = "2"});
  ASSERT_TRUE(made);
  const std::vector<std::string> keys = {"a", "b", "c", "d", "e", "f", "g"};
  insert(*made, keys);
  ASSERT_GT(made->facts()[0].value.integer(), 1U);
  const hasher hash = *hasher::make(made->hash());
  std::vector<std::uint64_t> digests(keys.size());
  hash.digests(views_of(keys), digests);
  EXPECT_EQ(*made->erase(as_prehashed(std::span(digests).first(4))), 4U);
  EXPECT_EQ(made->facts()[0].value.integer(), 1U);
  const std::string file = text_of(*made, redisbloom());
  EXPECT_EQ(static_cast<int>(file[0]), 3) << "keys";
  EXPECT_EQ(static_cast<int>(file[16]), 0) << "removed since then";
}

TEST(RedisBloom, OldChainsHaveRoundedSubFiltersAnd32BitHashes) {
  // BF.RESERVE 0.01 100 of a release before 2.2: 1102.8 bits become 2^11, and space for 85 keys more (945 bits / 11.03).
  const plain_sub_filter first = sub_filter_of(256, 185, 0.005, 11);
  for (const std::uint32_t options : {0U, 4U}) {
    SCOPED_TRACE(options);
    auto opened = open_text(chain_bytes(0, options, 2, {first}));
    ASSERT_TRUE(opened) << describe(opened.error()).view();
    EXPECT_EQ(opened->form->name, "redisbloom");
    EXPECT_EQ(opened->filter.hash().id, options == 4 ? paired_murmur64a::info.id : paired_murmur2::info.id);
    EXPECT_FALSE(formats::holds(*formats::find("native"), opened->filter));
    const auto keys = redis_keys(100);
    EXPECT_LE(insert(opened->filter, keys), 100U);
    const std::string file = text_of(opened->filter, redisbloom());
    ASSERT_EQ(file.size(), 73U + 256U);
    EXPECT_TRUE(file.substr(73) == bits_by_hand(256, 2048, first.hashes, keys, options == 4));
    // It grows into a rounded sub-filter: 370 keys at half the rate have 4,626 bits, rounded to 2^13.
    insert(opened->filter, redis_keys(400));
    const auto grown = text_of(opened->filter, redisbloom(), {}, as_dump);
    const auto again = open_text(grown);
    ASSERT_TRUE(again) << describe(again.error()).view();
    EXPECT_TRUE(again->filter == opened->filter);
    EXPECT_EQ(again->filter.facts()[0].value.text(), "redis, rounded");
    EXPECT_EQ(again->filter.facts()[3].value.integer(), 2U);
    const std::string two = text_of(again->filter, redisbloom());
    ASSERT_EQ(two.size(), 20U + 2 * 53U + 256U + 1024U);
    EXPECT_EQ(static_cast<int>(two[20 + 2 * 53 - 1]), 13);
    for (const bool present : query(again->filter, redis_keys(400))) EXPECT_TRUE(present);
  }
}

TEST(RedisBloom, PositionsOfARoundedSubFilterAreBelowItsPowerOfTwo) {
  auto opened = open_text(chain_bytes(0, 4, 2, {sub_filter_of(144, 100, 0.005, 10)}));
  ASSERT_TRUE(opened);
  const auto keys = redis_keys(90);
  insert(opened->filter, keys);
  EXPECT_TRUE(text_of(opened->filter, redisbloom()).substr(73) == bits_by_hand(144, 1024, 8, keys, true));
}

TEST(RedisBloom, SubFiltersThatAreNotRoundedMayHave32BitHashes) {
  const auto opened = open_text(chain_bytes(0, 1, 2, {sub_filter_of(144, 100, 0.005, 0)}));
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->filter.info().id, scalable::info.id);
  auto copy = opened->filter.clone();
  const auto keys = redis_keys(90);
  insert(*copy, keys);
  EXPECT_TRUE(text_of(*copy, redisbloom()).substr(73) == bits_by_hand(144, 1152, 8, keys, false));
}

}  // namespace
}  // namespace bloomery::redisbloom_testing
