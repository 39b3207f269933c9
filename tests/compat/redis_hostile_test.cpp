// Headers and records that nobody should send: refused before anything is allocated, or harmless.
#include <limits>

#include "compat/redis_support.hpp"

namespace bloomery {
namespace {

using namespace redis_testing;
using test::counting_memory;

std::string header_text(const bloom_head& head, const std::vector<bloom_record>& records) {
  std::string text(bloom_head::size_bytes + records.size() * bloom_record::stored_bytes, '\0');
  byte_writer to(std::as_writable_bytes(std::span(text)));
  head.write(to);
  for (const bloom_record& record : records) record.write(to);
  return text;
}
bloom_record good_record() { return *bloom_record::sized(100, 0.005, no_rounding | hashes_64); }
bloom_head good_head() { return {.sub_filters = 1, .options = no_rounding | hashes_64}; }

// Both ways in: neither takes it, and nothing was requested for the bits.
void expect_refused(const bloom_head& head, const bloom_record& record) {
  counting_memory memory;
  EXPECT_FALSE(bloom_chain::from_header(bytes_in(header_text(head, {record})), {}, &memory.hooks));
  EXPECT_EQ(memory.requests, 0U);
  auto loader = bloom_loader::begin(head);
  if (!loader) return;
  auto bits = block::make(record.size_bytes < 4096 ? record.size_bytes : 0, nullptr);
  ASSERT_TRUE(bits);
  const bool added = loader->add(record, std::move(*bits)).has_value();
  EXPECT_FALSE(added && loader->finish());
}
template <class F>
void expect_refused_record(F&& alter) {
  bloom_record record = good_record();
  alter(record);
  expect_refused(good_head(), record);
}

TEST(RedisHostile, AGoodHeaderIsTaken) {
  EXPECT_TRUE(bloom_chain::from_header(bytes_in(header_text(good_head(), {good_record()}))));
}

TEST(RedisHostile, RecordsThatCannotBeAreRefused) {
  for (const double rate : {0.0, 1.0, -0.5, 2.0, std::numeric_limits<double>::quiet_NaN(),
                            std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
    expect_refused_record([&](bloom_record& record) { record.error_rate = rate; });
    expect_refused_record([&](bloom_record& record) { record.bits_per_key = rate; });
  }
  for (const std::uint64_t bits : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1151}, ~std::uint64_t{0}}) {
    expect_refused_record([&](bloom_record& record) { record.bits = bits; });
  }
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{43}, std::uint64_t{1} << 61U, ~std::uint64_t{0}}) {
    expect_refused_record([&](bloom_record& record) { record.size_bytes = size; });
    expect_refused_record([&](bloom_record& record) {
      record.size_bytes = size;
      record.bits = size * 8;
    });
  }
  for (const std::uint64_t hashes : {0U, 7U, 9U, 1101U, 4'000'000'000U}) {
    expect_refused_record([&](bloom_record& record) { record.hashes = hashes; });
  }
  // Hash functions in the billions, with bits per key that agree.
  expect_refused_record([](bloom_record& record) {
    record.hashes = 4'000'000'000;
    record.bits_per_key = 4e9 / 0.693147180559945;
  });
  for (const std::uint64_t power : {11U, 63U, 64U, 255U}) {
    expect_refused_record([&](bloom_record& record) { record.log2_bits = power; });
  }
  for (const std::uint64_t capacity : {std::uint64_t{100'000}, ~std::uint64_t{0}}) {
    expect_refused_record([&](bloom_record& record) { record.capacity = capacity; });
  }
  for (const std::uint64_t keys : {std::uint64_t{1}, ~std::uint64_t{0}}) {
    expect_refused_record([&](bloom_record& record) { record.keys = keys; });
  }
}

TEST(RedisHostile, HeadsThatCannotBeAreRefused) {
  for (const std::uint32_t sub_filters : {0U, 2U, 1101U, 5000U, ~0U}) {
    bloom_head head = good_head();
    head.sub_filters = sub_filters;
    expect_refused(head, good_record());
  }
  for (const std::uint32_t options : {16U, 1U << 31U}) {
    bloom_head head = good_head();
    head.options = options;
    expect_refused(head, good_record());
  }
  bloom_head head = good_head();
  head.keys = 5;
  expect_refused(head, good_record());
  // Thousands of sub-filters, with a record for each.
  head = good_head();
  head.sub_filters = 3000;
  EXPECT_FALSE(bloom_chain::from_header(bytes_in(header_text(head, std::vector(3000, good_record())))));
  // Counts whose sum wraps around to what the head states.
  head.sub_filters = 2;
  bloom_record most = good_record();
  most.keys = std::uint64_t{1} << 63U;
  EXPECT_FALSE(bloom_chain::from_header(bytes_in(header_text(head, {most, most}))));
}

TEST(RedisHostile, AHeaderAllocatesNoMoreThanItsLimit) {
  bloom_record large = *bloom_record::sized(std::uint64_t{1} << 40U, 0.01, no_rounding);
  counting_memory memory;
  EXPECT_FALSE(bloom_chain::from_header(bytes_in(header_text(good_head(), {large})),
                                        {.max_load_bytes = std::uint64_t{1} << 30U}, &memory.hooks));
  EXPECT_EQ(memory.requests, 0U);
  bloom_head head = good_head();
  head.sub_filters = 10;
  const std::string ten = header_text(head, std::vector(10, good_record()));
  EXPECT_TRUE(bloom_chain::from_header(bytes_in(ten), {.max_load_bytes = 1440}));
  EXPECT_FALSE(bloom_chain::from_header(bytes_in(ten), {.max_load_bytes = 1439}));
}

TEST(RedisHostile, EveryTruncationIsRefused) {
  const std::string text = header_text(good_head(), {good_record()});
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(bloom_chain::from_header(bytes_in(text.substr(0, size))));
  }
  EXPECT_FALSE(bloom_chain::from_header(bytes_in(text + '\0')));
}

TEST(RedisHostile, EveryFlippedBitIsRefusedOrHarmless) {
  const auto chunks = golden_chunks("bf_100_0.01_scaled");
  const std::string& good = chunks.at(1);
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string text = good;
    text[bit / 8] = static_cast<char>(static_cast<unsigned char>(text[bit / 8]) ^ 1U << bit % 8);
    counting_memory memory;
    auto chain = bloom_chain::from_header(bytes_in(text), {.max_load_bytes = 1U << 20U}, &memory.hooks);
    if (!chain) continue;
    ASSERT_LE(memory.requested_bytes, (1U << 20U) + 1000);
    (*chain)->set_limits({.max_sub_filters = 3});
    for (const std::string& key : plain_keys(20)) {
      EXPECT_TRUE((*chain)->insert(key) != insert_outcome::inserted || (*chain)->may_contain(key));
    }
  }
}

std::string cuckoo_text(const cuckoo_head& head) {
  std::string text(cuckoo_head::stored_bytes, '\0');
  byte_writer to(std::as_writable_bytes(std::span(text)));
  head.write(to);
  return text;
}

TEST(RedisHostile, CuckooHeadsThatCannotBeAreRefused) {
  const cuckoo_head good{.buckets = 64};
  EXPECT_TRUE(cuckoo_chain::from_header(bytes_in(cuckoo_text(good))));
  std::vector<cuckoo_head> bad;
  const auto alter = [&](auto&& change) {
    bad.push_back(good);
    change(bad.back());
  };
  for (const std::uint64_t buckets :
       {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{1} << 57U, std::uint64_t{1} << 40U, ~std::uint64_t{0}}) {
    alter([&](cuckoo_head& head) { head.buckets = buckets; });
  }
  for (const std::uint64_t slots : {0U, 256U, 65535U}) alter([&](cuckoo_head& head) { head.slots = slots; });
  alter([](cuckoo_head& head) { head.moves = 0; });
  for (const std::uint64_t growth : {3U, 65535U}) alter([&](cuckoo_head& head) { head.growth = growth; });
  for (const std::uint64_t sub_filters : {std::uint64_t{0}, std::uint64_t{65536}, ~std::uint64_t{0}}) {
    alter([&](cuckoo_head& head) { head.sub_filters = sub_filters; });
  }
  alter([](cuckoo_head& head) {
    head.growth = 0;
    head.sub_filters = 2;
  });
  alter([](cuckoo_head& head) {  // 2^6 times 2^15 five times
    head.growth = 32768;
    head.sub_filters = 6;
  });
  for (const cuckoo_head& head : bad) {
    counting_memory memory;
    EXPECT_FALSE(cuckoo_chain::from_header(bytes_in(cuckoo_text(head)), {}, &memory.hooks));
    EXPECT_FALSE(cuckoo_loader::begin(head, {}, &memory.hooks));
    EXPECT_EQ(memory.requests, 0U);
  }
  cuckoo_head many = good;
  many.sub_filters = 65535;
  EXPECT_FALSE(cuckoo_chain::from_header(bytes_in(cuckoo_text(many)), {.max_load_bytes = 1U << 20U}));
  for (std::size_t size = 0; size < 38; ++size) {
    EXPECT_FALSE(cuckoo_chain::from_header(bytes_in(cuckoo_text(good).substr(0, size))));
  }
}

TEST(RedisHostile, TheKeysOfACuckooHeaderAreNotBelieved) {
  cuckoo_head head{.keys = ~std::uint64_t{0}, .buckets = 64, .removed = ~std::uint64_t{0}, .sub_filters = 3};
  auto chain = cuckoo_chain::from_header(bytes_in(cuckoo_text(head)));
  ASSERT_TRUE(chain);
  EXPECT_EQ((*chain)->keys(), 0U);
  const std::string full(128, '\7');
  EXPECT_EQ((*chain)->load_chunk(129, bytes_in(full)), chunk_outcome::loaded);
  EXPECT_EQ((*chain)->load_chunk(129, bytes_in(full)), chunk_outcome::loaded);
  EXPECT_EQ((*chain)->keys(), 128U);
}

// As many sub-filters as there may be, of eight slots: what a walk over them costs is linear in their number.
TEST(RedisHostile, CompactingThousandsOfSubFiltersReadsABoundedNumberOfSlots) {
  const cuckoo_head head{.buckets = 1, .removed = std::uint64_t{1} << 40U, .sub_filters = 65535, .slots = 8};
  auto chain = cuckoo_chain::from_header(bytes_in(cuckoo_text(head)));
  ASSERT_TRUE(chain);
  const std::string keys(1000, '\1');
  for (std::int64_t i = 0; i < 125; ++i) {
    EXPECT_EQ((*chain)->load_chunk(i * 8 + 9, bytes_in(keys.substr(0, 8))), chunk_outcome::loaded);
  }
  EXPECT_EQ((*chain)->keys(), 1000U);
  (*chain)->compact();
  EXPECT_EQ((*chain)->keys(), 1000U);
  EXPECT_EQ((*chain)->sub_filters(), 125U);
  EXPECT_LE((*chain)->compact_steps(), 65535U * 8 + 1000U * 125 * 16);
}

// Every removal would empty the newest sub-filter. Its keys are offered to all of the older ones, which are full.
TEST(RedisHostile, ARemovalReadsABoundedNumberOfSlots) {
  const cuckoo_head head{.buckets = 256, .removed = std::uint64_t{1} << 60U, .sub_filters = 32, .slots = 255};
  auto chain = cuckoo_chain::from_header(bytes_in(cuckoo_text(head)));
  ASSERT_TRUE(chain);
  const auto own = (*chain)->table(0).key(cuckoo_chain::digest_of("a"));
  const std::string full(256 * 255, static_cast<char>(own.fingerprint));
  for (std::int64_t end = 256 * 255; end <= 32 * 256 * 255; end += 256 * 255) {
    ASSERT_EQ((*chain)->load_chunk(end + 1, bytes_in(full)), chunk_outcome::loaded);
  }
  ASSERT_GT((*chain)->keys() / 32 * 510 * 31, cuckoo_chain::max_erase_steps);
  ASSERT_TRUE((*chain)->erase("a"));
  EXPECT_EQ((*chain)->removed(), 0U);
  EXPECT_GT((*chain)->compact_steps(), cuckoo_chain::max_erase_steps / 2);
  EXPECT_LE((*chain)->compact_steps(), cuckoo_chain::max_erase_steps + 510);
}
TEST(RedisHostile, ARemovalDoesNotReadALargeSubFilter) {
  const cuckoo_head head{.buckets = 1U << 18U, .removed = std::uint64_t{1} << 60U, .sub_filters = 2, .slots = 255};
  auto chain = cuckoo_chain::from_header(bytes_in(cuckoo_text(head)));
  ASSERT_TRUE(chain);
  ASSERT_EQ((*chain)->insert("a"), insert_outcome::inserted);
  ASSERT_TRUE((*chain)->erase("a"));
  EXPECT_EQ((*chain)->compact_steps(), 0U);
  EXPECT_EQ((*chain)->sub_filters(), 2U);
}

TEST(RedisHostile, ACuckooFilterGrowsByBoundedSteps) {
  auto chain = cuckoo_chain::make({.capacity = 64, .growth = 32768});
  ASSERT_TRUE(chain);
  EXPECT_GT((*chain)->next_growth_bytes(), std::uint64_t{64} * 32768 - 1);
  auto larger = cuckoo_chain::make({.capacity = 32768, .growth = 32768});
  ASSERT_TRUE(larger);
  EXPECT_EQ((*larger)->next_growth_bytes(), 0U);  // 1 GiB
  const auto keys = plain_keys(40'000);
  const batch_inserted done = (*larger)->insert_batch(views(keys), copies::keep, {});
  EXPECT_EQ(done.stop, insert_outcome::limit);
  EXPECT_GT(done.taken, 20'000U);
}

TEST(RedisHostile, SettingsThatCannotBeAreRefused) {
  for (const double rate : {0.0, 1.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_FALSE(bloom_chain::make({.error_rate = rate}));
  }
  EXPECT_FALSE(bloom_chain::make({.capacity = 0}));
  EXPECT_FALSE(bloom_chain::make({.capacity = ~std::uint64_t{0}}));
  EXPECT_FALSE(bloom_chain::make({.growth = 0}));
  EXPECT_FALSE(bloom_chain::make({.growth = 32769}));
  EXPECT_TRUE(bloom_chain::make({.growth = 0, .options = no_rounding | hashes_64 | no_scaling}));
  EXPECT_FALSE(bloom_chain::make({.options = 16}));
  EXPECT_FALSE(bloom_chain::make({.capacity = 70, .options = keys_are_bits}));
  EXPECT_TRUE(bloom_chain::make({.capacity = 12, .options = keys_are_bits}));
  EXPECT_FALSE(cuckoo_chain::make({.slots = 0}));
  EXPECT_FALSE(cuckoo_chain::make({.slots = 256}));
  EXPECT_FALSE(cuckoo_chain::make({.moves = 0}));
  EXPECT_FALSE(cuckoo_chain::make({.moves = 65536}));
  EXPECT_FALSE(cuckoo_chain::make({.growth = 32769}));
  EXPECT_FALSE(cuckoo_chain::make({.capacity = ~std::uint64_t{0}}));
  EXPECT_FALSE(cuckoo_chain::make({.capacity = std::uint64_t{1} << 40U}));
}

}  // namespace
}  // namespace bloomery
