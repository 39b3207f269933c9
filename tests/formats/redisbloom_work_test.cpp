// Filters of RedisBloom with altered numbers: the work of a call is bounded by what is there. Counted, not timed.
#include <algorithm>
#include <bloomery/any_filter_model.hpp>
#include <filesystem>
#include <map>

#include "src/formats/redis_cuckoo_model.hpp"
#include "support/format_files.hpp"

namespace bloomery {
namespace {

using namespace test;
using formats::redisbloom::cuckoo_model;
using redis::cuckoo_chain;

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20U;

result<formats::opened> open_altered(const std::string& file, counting_memory& memory) {
  auto opened =
      formats::open_bytes(bytes_of(file), {.from = "redisbloom", .load = {.memory = &memory.hooks}, .in_memory = true});
  memory.requested_bytes = 0;
  return opened;
}

std::vector<std::uint64_t> digests_from(std::uint64_t first, std::size_t count) {
  std::vector<std::uint64_t> digests;
  for (std::uint64_t i = 0; i < count; ++i) digests.push_back(mix64(first + i));
  return digests;
}

std::string saved(const any_filter& filter) { return text_of(filter, *formats::find("redisbloom")); }

// A full cuckoo filter that does not grow, of 32 KiB.
std::string full_cuckoo() {
  auto made = formats::make("redisbloom", {.keys = 20'000, .mode = "fixed"}, {.kind = "cuckoo"});
  EXPECT_TRUE(made);
  EXPECT_FALSE(made->add(as_prehashed(digests_from(0, 40'000))));
  return saved(*made);
}

TEST(RedisBloomWork, AFlippedExpansionAddsNoLinkThatIsThousandsOfTimesLarger) {
  const std::string good = full_cuckoo();
  for (unsigned bit = 0; bit < 16; ++bit) {
    SCOPED_TRACE(bit);
    std::string file = good;
    file[36 + bit / 8] = static_cast<char>(static_cast<unsigned char>(file[36 + bit / 8]) ^ (1U << bit % 8));
    counting_memory memory;
    auto opened = open_altered(file, memory);
    if (!opened) continue;
    for (const std::uint64_t digest : digests_from(50'000, 20)) {
      const auto inserted = opened->filter.add(prehashed{digest});
      EXPECT_TRUE(inserted || inserted.error().code == errc::full);
    }
    EXPECT_LE(memory.requested_bytes, cuckoo_chain::max_step_bytes + mebibyte);
    const std::uint64_t present = mix64(0);
    EXPECT_EQ(opened->filter.erase(as_prehashed({&present, 1})).value_or(0), 1U);
  }
}

TEST(RedisBloomWork, AnExpansionThatIsUsualStillGrows) {
  for (const std::uint64_t growth : {1U, 2U, 16U, 1024U}) {
    auto made = formats::make("redisbloom", {.keys = 1000, .growth = growth}, {.kind = "cuckoo"});
    ASSERT_TRUE(made);
    EXPECT_TRUE(made->add(as_prehashed(digests_from(0, 2000)))) << growth;
  }
}

std::string cuckoo_bytes(std::uint64_t sub_filters, std::uint64_t slots, std::uint64_t removed,
                         const std::string& slots_of_all) {
  std::string file(38, '\0');
  const auto put = [&](std::size_t at, std::uint64_t value, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i) file[at + i] = static_cast<char>(value >> (8 * i) & 0xffU);
  };
  put(0, slots_of_all.size(), 8);
  put(8, 1, 8);
  put(16, removed, 8);
  put(24, sub_filters, 8);
  put(32, slots, 2);
  put(34, 20, 2);
  put(36, 1, 2);
  return file + slots_of_all;
}

TEST(RedisBloomWork, TidyingReadsABoundedNumberOfSlots) {
  // Sub-filters of one bucket with 255 slots. The older ones are full but for the last few, so that each of the keys in the newer
  // ones would be looked for a place in hundreds of full buckets.
  constexpr std::uint64_t sub_filters = 1000;
  constexpr std::uint64_t slots = 255;
  std::string all(sub_filters * slots, '\1');
  std::fill(all.begin() + 600 * slots, all.begin() + 750 * slots, '\0');
  const std::string file = cuckoo_bytes(sub_filters, slots, std::uint64_t{1} << 40U, all);
  auto opened = open_text(file, {.from = "redisbloom", .in_memory = true});
  ASSERT_TRUE(opened) << describe(opened.error()).view();
  std::uint64_t digest = 0;
  while (mix64(digest) % 255 != 0) ++digest;  // fingerprint 1
  digest = mix64(digest);
  EXPECT_EQ(opened->filter.erase(as_prehashed({&digest, 1})).value_or(0), 1U);
  const cuckoo_chain* chain = cuckoo_model::in(opened->filter);
  ASSERT_NE(chain, nullptr);
  EXPECT_LE(chain->compact_steps(), chain->max_compact_steps() + slots * sub_filters);
  EXPECT_LE(chain->max_compact_steps(), 20 * mebibyte + 256 * file.size());
  // No key is lost where it stops.
  std::vector<std::uint64_t> counts(1);
  ASSERT_TRUE(opened->filter.count(as_prehashed({&digest, 1}), counts));
  EXPECT_EQ(counts[0], (sub_filters - 150) * slots - 1);
}

TEST(RedisBloomWork, TheKeysOfACuckooFilterAreCountedAtLoad) {
  const std::string good = full_cuckoo();
  const auto keys = open_text(good)->filter.shape().keys;
  EXPECT_GT(keys, 20'000U);
  for (std::size_t at = 0; at < 8; ++at) {
    std::string file = good;
    file[at] = static_cast<char>(static_cast<unsigned char>(file[at]) ^ 1U);
    const auto opened = open_text(file, {.from = "redisbloom", .in_memory = true});
    if (!opened) continue;
    EXPECT_EQ(opened->filter.shape().keys, keys);
    EXPECT_TRUE(saved(opened->filter) == good);
  }
}

TEST(RedisBloomWork, MoreLinksThanAnyRateAllowsAreRefused) {
  auto made = formats::make("redisbloom", {.keys = 1, .fpr = 0.01, .growth = 1});
  ASSERT_TRUE(made);
  const std::string one = saved(*made);
  const auto chain_of = [&](std::uint32_t sub_filters) {
    std::string file = one.substr(0, 20);
    std::memcpy(file.data() + 8, &sub_filters, 4);
    for (std::uint32_t i = 0; i < sub_filters; ++i) file += one.substr(20, 53);
    for (std::uint32_t i = 0; i < sub_filters; ++i) file += one.substr(73);
    return open_text(file, {.from = "redisbloom"}).has_value();
  };
  EXPECT_TRUE(chain_of(1100));
  EXPECT_FALSE(chain_of(1101));
}

std::string with_crc(std::string dump) {
  dump.resize(dump.size() - 8);
  const std::uint64_t crc = formats::rdb::crc64(0, std::as_bytes(std::span(dump)));
  dump.append(reinterpret_cast<const char*>(&crc), 8);
  return dump;
}

// Refused, or a few keys are inserted, looked up and erased with a bounded number of steps.
void expect_bounded_work(const std::string& file) {
  counting_memory memory;
  auto opened = open_altered(file, memory);
  if (!opened) return;
  any_filter& filter = opened->filter;
  std::vector<std::string> keys;
  for (int i = 0; i < 12; ++i) keys.push_back("key " + std::to_string(i));
  static_cast<void>(filter.add(views_of(keys)));
  static_cast<void>(query(filter, keys));
  std::uint64_t most = cuckoo_chain::max_step_bytes;
  if (const cuckoo_chain* chain = cuckoo_model::in(filter)) {
    std::vector<std::uint64_t> digests(keys.size());
    hasher::make(filter.hash())->digests(views_of(keys), digests);
    static_cast<void>(filter.erase(as_prehashed(digests)));
    EXPECT_LE(chain->sub_filters(), std::max<std::size_t>(32, file.size()));
    EXPECT_LE(chain->compact_steps(), chain->max_compact_steps() + mebibyte);
    EXPECT_LE(chain->head().moves * chain->head().slots, 65535U * 255U);
    most += file.size() * 17;
  } else {
    // At most the largest growth times what is there, with a sub-filter's smaller rate.
    most += std::uint64_t{32768} * file.size() * 64;
  }
  EXPECT_LE(memory.requested_bytes, most);
}

TEST(RedisBloomWork, EveryFlippedBitIsRefusedOrHarmless) {
  constexpr std::size_t most_bytes = 300;  // the numbers, and some of the bits
  std::map<std::string, std::map<unsigned long, std::string>> chunks;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(BLOOMERY_GOLDEN_DIR "/redisbloom/2.8.20")) {
    const std::string name = entry.path().filename().string();
    if (const auto at = name.find(".chunk"); at != std::string::npos) {
      chunks[name.substr(0, at)][std::stoul(name.substr(at + 6))] = golden("redisbloom/2.8.20/" + name);
    }
    if (!name.ends_with(".rdbdump.bin")) continue;
    SCOPED_TRACE(name);
    ++files;
    const std::string good = golden("redisbloom/2.8.20/" + name);
    for (std::size_t bit = 80; bit < std::min(good.size() - 8, most_bytes) * 8; ++bit) {
      std::string file = good;
      file[bit / 8] = static_cast<char>(static_cast<unsigned char>(file[bit / 8]) ^ (1U << bit % 8));
      expect_bounded_work(with_crc(file));
    }
  }
  for (const auto& [name, parts] : chunks) {
    SCOPED_TRACE(name);
    std::string good;
    for (const auto& [number, bytes] : parts) good += bytes;
    for (std::size_t bit = 0; bit < std::min(good.size(), most_bytes) * 8; ++bit) {
      std::string file = good;
      file[bit / 8] = static_cast<char>(static_cast<unsigned char>(file[bit / 8]) ^ (1U << bit % 8));
      expect_bounded_work(file);
    }
  }
  EXPECT_GE(files, 10U);
}

}  // namespace
}  // namespace bloomery
