// Kind scalable, layout redis: the sub-filters, bits and answers of RedisBloom's own chains, from what it wrote itself
// (tests/golden/redisbloom).
#include <bloomery/hash/hasher.hpp>
#include <bloomery/hash/murmur64a.hpp>
#include <bloomery/kinds/scalable.hpp>

#include "kinds/redis_golden.hpp"
#include "support/typed.hpp"

namespace {

using namespace bloomery;
using namespace bloomery::test;
using namespace redis_golden;

digest128 digest_of_hex(const std::string& hex) {
  const std::string key = key_of_hex(hex);
  return murmur64a_pair(key.data(), key.size());
}

struct golden_case {
  std::string name;
  std::uint64_t capacity = 100;
  double fpr = 0.01;
  std::uint64_t growth = 2;
  bool fixed = false;
  std::size_t keys = 0;
};

std::vector<golden_case> golden_cases() {
  std::vector<golden_case> cases;
  for (const auto& row : read_table(golden_dir + "cases.tsv")) {
    golden_case each{.name = row[0], .keys = std::stoul(row[2])};
    std::istringstream words(row[1]);
    std::string word;
    words >> word;
    if (word == "BF.RESERVE") words >> each.fpr >> each.capacity;
    while (words >> word) {
      if (word == "EXPANSION") words >> each.growth;
      each.fixed |= word == "NONSCALING";
    }
    cases.push_back(each);
  }
  return cases;
}

struct dumped_sub_filter {
  std::uint64_t bytes, bits, keys;
  double fpr;
  std::uint64_t hashes, capacity;
};
dumped_sub_filter sub_filter_in(const std::string& header, std::size_t sub_filter) {
  byte_reader from(std::as_bytes(std::span(header)).subspan(20 + 53 * sub_filter, 53));
  dumped_sub_filter out{};
  out.bytes = from.read<std::uint64_t>();
  out.bits = from.read<std::uint64_t>();
  out.keys = from.read<std::uint64_t>();
  out.fpr = from.read_double();
  static_cast<void>(from.read_double());  // bits a key
  out.hashes = from.read<std::uint32_t>();
  out.capacity = from.read<std::uint64_t>();
  EXPECT_EQ(from.read<std::uint8_t>(), 0U);
  return out;
}

scalable made_as(const golden_case& each) {
  auto filter = scalable::make({.keys = each.capacity,
                                .fpr = each.fpr,
                                .layout = "redis",
                                .mode = each.fixed ? "fixed" : "scaling",
                                .growth = each.growth});
  EXPECT_TRUE(filter) << describe(filter.error()).c_str();
  return std::move(*filter);
}

std::vector<digest128> golden_digests(std::size_t count) {
  std::vector<digest128> digests;
  for (const auto& row : read_table(golden_dir + "keys.tsv")) {
    if (digests.size() < count) digests.push_back(digest_of_hex(row[0]));
  }
  EXPECT_EQ(digests.size(), count);
  return digests;
}

TEST(ScalableRedis, LinksAndBitsAreThoseThatRedisBloomWrote) {
  const auto cases = golden_cases();
  ASSERT_EQ(cases.size(), 7U);
  for (const golden_case& each : cases) {
    SCOPED_TRACE(each.name);
    const auto digests = golden_digests(each.keys);
    scalable one_by_one = made_as(each);
    std::uint64_t inserted = 0;
    for (const digest128& digest : digests) inserted += one_by_one.insert(digest) == insert_result::inserted ? 1U : 0U;
    scalable batched = made_as(each);
    EXPECT_EQ(batched.add_batch(digests), inserted);
    EXPECT_TRUE(batched == one_by_one);

    const std::string header = read_text(golden_dir + each.name + ".chunk0_iter1.bin");
    ASSERT_GE(header.size(), 20U);
    byte_reader from(std::as_bytes(std::span(header)));
    EXPECT_EQ(from.read<std::uint64_t>(), inserted);
    EXPECT_EQ(one_by_one.keys().keys, inserted);
    ASSERT_EQ(from.read<std::uint32_t>(), one_by_one.sub_filters());
    EXPECT_EQ(from.read<std::uint32_t>(), each.fixed ? 13U : 5U);
    EXPECT_EQ(from.read<std::uint32_t>(), one_by_one.growth());
    ASSERT_EQ(header.size(), 20 + 53 * one_by_one.sub_filters());
    std::string bits;
    for (std::size_t i = 0; i < one_by_one.sub_filters(); ++i) {
      const dumped_sub_filter sub_filter = sub_filter_in(header, i);
      EXPECT_EQ(one_by_one.sub_filter_bytes(i).size(), sub_filter.bytes) << i;
      EXPECT_EQ(one_by_one.sub_filter_bytes(i).size() * 8, sub_filter.bits) << i;
      EXPECT_EQ(one_by_one.sub_filter_keys(i), sub_filter.keys) << i;
      EXPECT_EQ(one_by_one.sub_filter_fpr(i), sub_filter.fpr) << i;
      EXPECT_EQ(one_by_one.sub_filter_hashes(i), sub_filter.hashes) << i;
      EXPECT_EQ(one_by_one.sub_filter_capacity(i), sub_filter.capacity) << i;
      const auto bytes = one_by_one.sub_filter_bytes(i);
      bits.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    EXPECT_TRUE(bits == dumped_bits(each.name, one_by_one.sub_filters()));
  }
}

TEST(ScalableRedis, EveryProbeIsAnsweredAsRedisBloomAnsweredIt) {
  for (const golden_case& each : golden_cases()) {
    SCOPED_TRACE(each.name);
    scalable filter = made_as(each);
    filter.add_batch(golden_digests(each.keys));
    const auto probes = read_table(golden_dir + each.name + ".probes.tsv");
    ASSERT_GT(probes.size(), 300U);
    for (const auto& probe : probes) {
      ASSERT_EQ(filter.may_contain(digest_of_hex(probe[0])), probe[1] == "1") << probe[0];
    }
  }
}

TEST(ScalableRedis, AFilterThatDoesNotScaleRefusesTheNextKeyAsRedisBloomDoes) {
  auto filter = scalable::make({.keys = 400, .fpr = 0.01, .layout = "redis", .mode = "fixed"});
  ASSERT_TRUE(filter);
  std::vector<digest128> digests;
  for (std::uint64_t i = 0; i < 1000; ++i) digests.push_back({mix64(2 * i), mix64(2 * i + 1)});
  const batch_outcome outcome = filter->add_until_full(std::span<const digest128>(digests));
  EXPECT_EQ(outcome.inserted, 400U);
  ASSERT_LT(outcome.taken, 1000U);
  EXPECT_EQ(filter->insert(digests[outcome.taken]), insert_result::full);
  EXPECT_EQ(filter->insert(digests[0]), insert_result::present);
  EXPECT_EQ(filter->sub_filters(), 1U);
}

TEST(ScalableRedis, FilesKeepLinksAndAnswers) {
  auto filter = scalable::make({.keys = 10, .fpr = 0.01, .layout = "redis"});
  ASSERT_TRUE(filter);
  std::vector<digest128> digests;
  for (std::uint64_t i = 0; i < 2000; ++i) digests.push_back({mix64(2 * i), mix64(2 * i + 1)});
  filter->add_batch(std::span<const digest128>(digests).first(1000));
  memory_sink sink;
  ASSERT_TRUE(save_to(*filter, hasher::of(xxh3{}).spec(), byte_sink(sink)));
  const auto loaded = load_bytes<scalable>(sink.bytes());
  ASSERT_TRUE(loaded) << describe(loaded.error()).c_str();
  EXPECT_TRUE(loaded->filter == *filter);
  EXPECT_EQ(loaded->header.shape.digest_bits, 128U);
  for (const digest128& digest : digests) ASSERT_EQ(loaded->filter.may_contain(digest), filter->may_contain(digest));
}

TEST(ScalableRedis, DigestsOf64BitsHaveDefinedAnswers) {
  auto filter = scalable::make({.keys = 50, .fpr = 0.01, .layout = "redis"});
  ASSERT_TRUE(filter);
  digest_source source(3);
  const auto digests = source.take(1000);
  auto one_by_one = filter->clone();
  ASSERT_TRUE(one_by_one);
  for (const std::uint64_t digest : digests) one_by_one->insert(digest);
  filter->add_batch(digests);
  EXPECT_TRUE(*filter == *one_by_one);
  std::vector<std::uint64_t> mask(mask_words(digests.size()));
  filter->may_contain_batch(digests, mask);
  for (std::size_t i = 0; i < digests.size(); ++i) {
    ASSERT_TRUE(filter->may_contain(digests[i]));
    ASSERT_EQ(mask[i / 64] >> (i % 64) & 1U, 1U);
  }
}

}  // namespace
