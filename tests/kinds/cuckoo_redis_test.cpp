// Kind cuckoo, layout redis: places, moves and answers of RedisBloom's own cuckoo filters, from what it wrote itself.
#include <bloomery/filter.hpp>
#include <bloomery/hash/murmur64a.hpp>
#include <bloomery/kinds/cuckoo.hpp>
#include <deque>

#include "kinds/redis_golden.hpp"
#include "support/typed.hpp"

namespace {

using namespace bloomery;
using namespace bloomery::test;
using namespace redis_golden;
using redis_editor = kernels::cuckoo_editor<std::uint64_t, kernels::cuckoo_form::redis>;

std::vector<std::uint64_t> golden_digests(std::size_t count) {
  std::vector<std::uint64_t> digests;
  for (const auto& row : read_table(golden_dir + "keys.tsv")) {
    const std::string key = key_of_hex(row[0]);
    if (digests.size() < count) digests.push_back(murmur64a{0}(key.data(), key.size()));
  }
  EXPECT_EQ(digests.size(), count);
  return digests;
}

struct golden_case {
  std::string name;
  std::uint64_t capacity;
  unsigned slots;
  std::uint64_t growth;
  std::size_t keys;
};
const std::vector<golden_case> cases = {
    {"cf_default_1024", 1024, 2, 1, 200}, {"cf_100_bs2", 100, 2, 1, 80}, {"cf_16_bs4_exp2_grown", 16, 4, 2, 200}};

std::string layout_of(const golden_case& each) { return "redis:" + std::to_string(each.slots); }

// RedisBloom's chain over sub-filters of the layout: a free slot in any sub-filter, the newest first; else moves in the newest; else a
// new sub-filter.
struct chain {
  unsigned slots;
  std::uint64_t buckets;
  std::uint64_t growth;
  std::deque<std::vector<std::byte>> sub_filters{};

  [[nodiscard]] redis_editor editor(std::size_t sub_filter) {
    const std::uint64_t of_sub_filter = sub_filters[sub_filter].size() / slots;
    return {sub_filters[sub_filter].data(),
            {.buckets = of_sub_filter, .slot_bits = 8, .slots = slots, .form = kernels::cuckoo_form::redis}};
  }
  void add_sub_filter() {
    sub_filters.emplace_back(sub_filters.empty() ? buckets * slots : sub_filters.back().size() * growth);
  }
  void insert(std::uint64_t digest) {
    for (std::size_t sub_filter = sub_filters.size(); sub_filter-- > 0;) {
      if (editor(sub_filter).put_where_free(editor(sub_filter).key(digest))) return;
    }
    const redis_editor newest = editor(sub_filters.size() - 1);
    const auto before = sub_filters.back();
    if (newest.put_by_moves(newest.key(digest))) return;
    EXPECT_EQ(sub_filters.back(), before) << "moves that find no room are undone";
    add_sub_filter();
    insert(digest);
  }
};

TEST(CuckooRedis, HasTheBytesThatRedisBloomWrote) {
  for (const golden_case& each : cases) {
    SCOPED_TRACE(each.name);
    const auto sized = sizing::size_cuckoo({.keys = each.capacity, .fpr = 0.05}, layout_of(each));
    ASSERT_TRUE(sized);
    chain made{.slots = each.slots, .buckets = sized->geometry.buckets, .growth = each.growth};
    made.add_sub_filter();
    for (const std::uint64_t digest : golden_digests(each.keys)) made.insert(digest);
    std::string bytes;
    for (const auto& sub_filter : made.sub_filters)
      bytes.append(reinterpret_cast<const char*>(sub_filter.data()), sub_filter.size());
    EXPECT_EQ(bytes, dumped_bits(each.name, made.sub_filters.size()));
    // The header: items, buckets of the first sub-filter, deletes, sub-filters.
    const std::string header = read_text(golden_dir + each.name + ".chunk0_iter1.bin");
    ASSERT_EQ(header.size(), 38U);
    byte_reader from(std::as_bytes(std::span(header)));
    EXPECT_EQ(from.read<std::uint64_t>(), each.keys);
    EXPECT_EQ(from.read<std::uint64_t>(), made.buckets);
    EXPECT_EQ(from.read<std::uint64_t>(), 0U);
    EXPECT_EQ(from.read<std::uint64_t>(), made.sub_filters.size());
    // And its answers.
    for (const auto& row : read_table(golden_dir + each.name + ".probes.tsv")) {
      const std::string key = key_of_hex(row[0]);
      const std::uint64_t digest = murmur64a{0}(key.data(), key.size());
      bool found = false;
      for (std::size_t sub_filter = 0; sub_filter < made.sub_filters.size(); ++sub_filter) {
        found |= made.editor(sub_filter).contains(made.editor(sub_filter).key(digest));
      }
      EXPECT_EQ(found, row[1] == "1") << row[0];
    }
  }
}

TEST(CuckooRedis, OneLinkIsAFilterOfTheKind) {
  const golden_case& each = cases[0];
  auto seen = cuckoo::make({.keys = each.capacity, .fpr = 0.05, .layout = layout_of(each)});
  ASSERT_TRUE(seen) << describe(seen.error()).c_str();
  const auto digests = golden_digests(each.keys);
  EXPECT_EQ(seen->add_until_full(digests).taken, digests.size());
  const std::string dumped = dumped_bits(each.name, 1);
  ASSERT_EQ(seen->payload().size(), dumped.size());
  EXPECT_EQ(std::memcmp(seen->payload().data(), dumped.data(), dumped.size()), 0);
  EXPECT_EQ(seen->used_slots(), digests.size());
  std::vector<std::uint64_t> mask(mask_words(digests.size()));
  seen->may_contain_batch(digests, mask);
  for (std::size_t i = 0; i < digests.size(); ++i) {
    EXPECT_TRUE(seen->may_contain(digests[i]));
    EXPECT_GE(seen->count(digests[i]), 1U);
    EXPECT_EQ(mask[i / 64] >> (i % 64) & 1U, 1U);
  }
  // Out again, in another order: empty.
  for (std::size_t i = digests.size(); i-- > 0;) EXPECT_TRUE(seen->erase(digests[i]));
  EXPECT_EQ(seen->used_slots(), 0U);
}

TEST(CuckooRedis, AFullOneIsExactlyAsItWas) {
  for (const char* layout : {"redis:1", "redis", "redis:3", "redis:4", "redis:255"}) {
    SCOPED_TRACE(layout);
    auto seen = cuckoo::make({.keys = 2000, .fpr = 0.9, .layout = layout});
    ASSERT_TRUE(seen);
    digest_source digests(5);
    std::vector<std::uint64_t> in;
    for (std::uint64_t refused = 0; refused < 200;) {
      auto before = seen->clone();
      ASSERT_TRUE(before);
      const std::uint64_t digest = digests();
      if (seen->insert(digest) != insert_result::full) {
        in.push_back(digest);
        continue;
      }
      ++refused;
      ASSERT_TRUE(*seen == *before);
      ASSERT_EQ(seen->keys().keys, before->keys().keys);
    }
    for (const std::uint64_t digest : in) ASSERT_TRUE(seen->may_contain(digest));
    EXPECT_EQ(seen->used_slots(), in.size());
  }
}

// 200,000 absent keys: 99.99 % of runs lie within four standard deviations of the formula.
TEST(CuckooRedis, HasTheRateOfEightBits) {
  for (const auto& [layout, keys] : {std::pair{"redis", 36'000U}, std::pair{"redis:4", 52'000U}}) {
    auto seen = cuckoo::make({.keys = 65'536, .fpr = 0.05, .layout = layout});
    ASSERT_TRUE(seen);
    digest_source digests(6);
    for (unsigned i = 0; i < keys; ++i) ASSERT_NE(seen->insert(digests()), insert_result::full) << layout << " " << i;
    unsigned found = 0;
    for (int i = 0; i < 200'000; ++i) found += seen->may_contain(digests()) ? 1U : 0U;
    const double rate = cuckoo_redis_model{seen->geometry()}.fpr(keys);
    EXPECT_NEAR(found, 200'000 * rate, 4 * std::sqrt(200'000 * rate)) << layout;
    EXPECT_NEAR(seen->fpr_now(), rate, rate / 20);
  }
}

TEST(CuckooRedis, IsSizedAsCfReserveDoes) {
  const auto buckets = [](std::uint64_t keys, std::string_view layout) -> std::uint64_t {
    const auto sized = sizing::size_cuckoo({.keys = keys, .fpr = 0.9}, layout);
    return sized ? sized->geometry.buckets : 0;
  };
  EXPECT_EQ(buckets(1, "redis"), 1U);
  EXPECT_EQ(buckets(1023, "redis"), 512U);
  EXPECT_EQ(buckets(1024, "redis"), 512U);
  EXPECT_EQ(buckets(1026, "redis"), 1024U);
  EXPECT_EQ(buckets(100, "redis:255"), 1U);
  EXPECT_EQ(buckets(100, "redis:1"), 128U);
  const auto too_low = cuckoo::make({.keys = 1000, .fpr = 0.01, .layout = "redis"});
  ASSERT_FALSE(too_low);
  EXPECT_EQ(too_low.error().text_view(),
            "layout redis has fingerprints of 8 bits: ask for a rate of 2 %, redis:4 of 4 %");
  EXPECT_TRUE(cuckoo::make({.keys = 1000, .fpr = 0.02, .layout = "redis"}));
  for (const char* wrong : {"redis:0", "redis:256", "redis:", "redis:x", "redis:1000"}) {
    const auto refused = cuckoo::make({.keys = 1000, .fpr = 0.05, .layout = wrong});
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().text_view(), "buckets of layout redis have 1 to 255 slots: redis:4");
  }
}

TEST(CuckooRedis, RefusesHostileShapes) {
  auto seen = cuckoo::make({.keys = 1000, .fpr = 0.05, .layout = "redis:4"});
  ASSERT_TRUE(seen);
  const stored_shape good = seen->shape();
  ASSERT_TRUE(cuckoo::payload_bytes(good));
  const auto refused = [&](std::size_t field, std::uint64_t value) {
    stored_shape shape = good;
    shape.field[field] = value;
    return !cuckoo::payload_bytes(shape);
  };
  for (const std::uint64_t buckets : {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{1} << 63U}) {
    EXPECT_TRUE(refused(0, buckets)) << buckets;
  }
  for (const std::uint64_t bits : {0U, 7U, 9U, 255U}) EXPECT_TRUE(refused(1, bits)) << bits;
  for (const std::uint64_t slots : {0U, 256U, 1U << 31U}) EXPECT_TRUE(refused(2, slots)) << slots;
  EXPECT_TRUE(refused(3, 4));
}

}  // namespace
