// Kind fuse: the cells of a key, and how they are filled.
#include <algorithm>
#include <bloomery/core/binomial.hpp>
#include <bloomery/filter.hpp>
#include <bloomery/hash/xxh3.hpp>
#include <numeric>
#include <random>

#include "kinds/fuse_support.hpp"
#include "kinds/positives.hpp"

namespace bloomery::fuse_testing {

std::vector<std::uint64_t> random_digests(std::uint64_t seed, std::size_t count) {
  std::vector<std::uint64_t> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = mix64(mix64(seed) + i * 0x9e3779b97f4a7c15ULL);
  return out;
}

result<fuse> try_build(const filter_params& params, std::vector<std::uint64_t> digests, unsigned threads) {
  return fuse::build(params, digests, threads);
}
fuse build(const filter_params& params, std::vector<std::uint64_t> digests, unsigned threads) {
  auto built = try_build(params, std::move(digests), threads);
  if (!built) {
    ADD_FAILURE() << describe(built.error()).c_str();
    std::abort();
  }
  return std::move(*built);
}
fuse build(const char* layout, std::vector<std::uint64_t> digests, unsigned threads) {
  return build({.fpr = 0.9, .layout = layout}, std::move(digests), threads);
}

bool may_contain(const fuse& filter, std::uint64_t digest) { return filter.may_contain(digest); }
std::uint64_t present_of(const fuse& filter, std::span<const std::uint64_t> digests) {
  std::vector<std::uint64_t> mask(mask_words(digests.size()));
  filter.may_contain_batch(digests, mask);
  std::uint64_t present = 0;
  for (const std::uint64_t word : mask) present += static_cast<std::uint64_t>(std::popcount(word));
  return present;
}
std::uint64_t positives_of(const fuse& filter, std::uint64_t seed, std::uint64_t queries) {
  return kinds_testing::positives_of(filter, ~seed, queries);
}
bool is_as_planned(const fuse& filter, const char* layout) {
  const auto plan = fuse::plan({.keys = std::max<std::uint64_t>(filter.keys().keys, 1), .fpr = 0.9}, layout);
  return plan && filter.memory_bytes() == plan->memory_bytes;
}

}  // namespace bloomery::fuse_testing

namespace bloomery::fuse_testing {
namespace {

// ---- the cells ----

// The published cells of a key, written plainly.
struct plain_key {
  std::vector<std::uint64_t> cells;
  std::uint64_t y;
};
plain_key plain_key_of(std::uint64_t digest, const kernels::fuse_geometry& geometry) {
  const std::uint64_t x = (digest ^ geometry.seed) * 0x9e3779b97f4a7c15ULL;
  const std::uint64_t segment = std::uint64_t{1} << geometry.segment_bits;
  const std::uint64_t shard = geometry.shard_bits == 0 ? 0 : x >> (64 - geometry.shard_bits);
  const std::uint64_t r = (x << geometry.shard_bits) >> 32U;
  plain_key out;
  out.y = (x ^ (x >> 32U)) * 0xd1342543de82ef95ULL;
  const std::uint64_t first =
      shard * (geometry.segments + geometry.wise - 1) * segment + r * (geometry.segments * segment) / (1ULL << 32U);
  out.cells.push_back(first);
  for (unsigned i = 1; i < geometry.wise; ++i) {
    const std::uint64_t in_segment = (out.y >> (64 - i * geometry.segment_bits)) % segment;
    out.cells.push_back((first / segment + i) * segment + (first % segment ^ in_segment));
  }
  return out;
}
std::uint64_t cell_of(const fuse& filter, std::uint64_t cell) {
  const std::uint64_t bytes = filter.geometry().cell_bits / 8;
  std::uint64_t value = 0;
  for (std::uint64_t i = 0; i < bytes; ++i) {
    value |= std::to_integer<std::uint64_t>(filter.payload()[cell * bytes + i]) << (8 * i);
  }
  return value;
}
std::uint64_t left_of(const fuse& filter, std::uint64_t digest) {
  const plain_key key = plain_key_of(digest, filter.geometry());
  std::uint64_t left = key.y % (std::uint64_t{1} << filter.geometry().cell_bits);
  for (const std::uint64_t cell : key.cells) left ^= cell_of(filter, cell);
  return left;
}

TEST(Fuse, TheCellsOfAKeyAreThePublishedOnes) {
  for (const char* layout : layouts) {
    const auto digests = random_digests(1, 3000);
    const fuse filter = build(layout, digests);
    for (const std::uint64_t digest : digests) ASSERT_EQ(left_of(filter, digest), 0U) << layout;
    for (const std::uint64_t digest : random_digests(2, 3000)) {
      ASSERT_EQ(filter.may_contain(digest), left_of(filter, digest) == 0) << layout;
      std::vector<std::uint64_t> touched;
      filter.for_each_touched(digest, [&](std::uint64_t first, std::uint64_t size) {
        ASSERT_EQ(size, filter.geometry().cell_bits / 8);
        touched.push_back(first / size);
      });
      ASSERT_EQ(touched, plain_key_of(digest, filter.geometry()).cells);
    }
  }
}

TEST(Fuse, ASetHasTheBytesThatFilesOfItHave) {
  // Seeds, sizes and the order in which cells are filled are part of what a file is: the same set is the same bytes for ever.
  struct frozen {
    const char* layout;
    std::uint64_t checksum;
  };
  for (const auto& [layout, checksum] : {frozen{"wise3:8", 14053537862619371358ULL},
                                         {"wise3:16", 1517560795691459625ULL},
                                         {"wise3:32", 11520809582022818530ULL},
                                         {"wise4:8", 16209046118282273912ULL},
                                         {"wise4:16", 4136246224469326974ULL},
                                         {"wise4:32", 2931860704929870689ULL}}) {
    const fuse filter = build(layout, random_digests(1, 2000));
    EXPECT_EQ(xxh3{}(filter.payload().data(), filter.payload().size()), checksum) << layout;
  }
}

TEST(Fuse, BatchesOfAnySizeAnswerAsOneByOne) {
  for (const char* layout : layouts) {
    const auto in = random_digests(3, 500);
    const fuse filter = build(layout, in);
    std::vector<std::uint64_t> asked = random_digests(4, 200);
    for (std::size_t i = 0; i < asked.size(); i += 3) asked[i] = in[i];
    for (std::size_t count = 0; count <= asked.size(); ++count) {
      std::vector<std::uint64_t> mask(mask_words(count), ~std::uint64_t{0});
      filter.may_contain_batch(std::span(asked).first(count), mask);
      for (std::size_t i = 0; i < mask.size() * 64; ++i) {
        const bool there = (mask[i / 64] >> (i % 64) & 1U) != 0;
        ASSERT_EQ(there, i < count && filter.may_contain(asked[i])) << layout << " " << i << " of " << count;
      }
    }
    const bool same = filter.with_lookup([&](const auto& asks) {
      return std::all_of(asked.begin(), asked.end(),
                         [&](auto digest) { return asks(digest) == filter.may_contain(digest); });
    });
    EXPECT_TRUE(same) << layout;
  }
}

// ---- construction ----

TEST(Fuse, EveryNumberOfKeysFrom0To2000IsBuilt) {
  for (const char* layout : layouts) {
    std::size_t larger = 0;
    for (std::size_t count = 0; count <= 2000; ++count) {
      const auto digests = random_digests(count, count);
      const fuse filter = build(layout, digests);
      ASSERT_EQ(filter.keys().keys, count);
      ASSERT_EQ(present_of(filter, digests), count) << layout;
      larger += is_as_planned(filter, layout) ? 0 : 1;
    }
    EXPECT_LE(larger, 4U) << layout << ": sets that took more cells than planned";
  }
}

TEST(Fuse, From11400To11600KeysAreBuiltWithEveryOfAThousandSeeds) {
  // Where segments of another implementation's formula are too full.
  for (const char* layout : {"wise3:16", "wise4:8"}) {
    std::size_t again = 0;
    for (std::size_t seed = 0; seed < 1000; ++seed) {
      const auto digests = random_digests(seed, 11'400 + seed % 201);
      const fuse filter = build(layout, digests);
      ASSERT_EQ(present_of(filter, digests), digests.size());
      ASSERT_TRUE(is_as_planned(filter, layout));
      again += filter.geometry().seed != 0 ? 1 : 0;
    }
    EXPECT_LE(again, 100U) << layout << ": sets that took more than one try";
  }
}

TEST(Fuse, AfterFourSeedsThereAreMoreCells) {
  // Found by trying sets of five keys one after the other: the first four seeds have no solution for this one.
  const auto digests = random_digests(746'203, 5);
  const fuse filter = build("wise3:8", digests);
  EXPECT_EQ(filter.geometry().seed, detail::fuse_seed(4));
  EXPECT_FALSE(is_as_planned(filter, "wise3:8"));
  EXPECT_EQ(present_of(filter, digests), 5U);
  // But not beyond a size that was provided.
  const auto plan = fuse::plan({.keys = 5, .fpr = 0.5});
  ASSERT_TRUE(plan);
  const fuse small = build({.memory_bytes = plan->memory_bytes, .layout = "wise3:8"}, digests);
  EXPECT_EQ(small.memory_bytes(), plan->memory_bytes);
  EXPECT_EQ(present_of(small, digests), 5U);
}

TEST(Fuse, MostSetsOfAnySizeAreBuiltAtTheFirstTry) {
  // A twentieth may fail. 40 of 400 and more have a probability below 1e-4 then.
  for (const char* layout : {"wise3:8", "wise4:8"}) {
    for (const std::size_t count : {10U, 30U, 100U, 300U, 1000U, 3000U, 10'000U}) {
      std::size_t again = 0;
      for (std::size_t seed = 0; seed < 400; ++seed) {
        again += build(layout, random_digests(seed, count + seed % 17)).geometry().seed != 0 ? 1 : 0;
      }
      EXPECT_LE(again, 40U) << layout << " " << count;
    }
  }
}

TEST(Fuse, KeysMayComeAnyNumberOfTimesAndInAnyOrder) {
  for (const char* layout : {"wise3:8", "wise4:16"}) {
    const auto once = random_digests(5, 3000);
    const fuse filter = build(layout, once);
    auto often = once;
    for (std::size_t i = 0; i < once.size(); ++i) often.insert(often.end(), i % 5 == 0 ? i % 300 : i % 3, once[i]);
    std::shuffle(often.begin(), often.end(), std::mt19937_64(1));
    const fuse of_often = build(layout, often);
    EXPECT_EQ(of_often.keys().keys, 3000U);
    EXPECT_TRUE(of_often == filter);
    EXPECT_EQ(present_of(of_often, once), 3000U);
  }
}

TEST(Fuse, OneKeyAMillionTimesIsOneKey) {
  for (const std::uint64_t digest : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}, mix64(7)}) {
    const fuse filter = build("wise3:8", std::vector<std::uint64_t>(1'000'000, digest), 2);
    EXPECT_EQ(filter.keys().keys, 1U);
    EXPECT_TRUE(filter.may_contain(digest));
    EXPECT_LE(filter.memory_bytes(), 16U);
  }
}

TEST(Fuse, DigestsAreOnlyPutIntoAnotherOrder) {
  auto digests = random_digests(6, 100'000);
  digests.insert(digests.end(), digests.begin(), digests.begin() + 5000);
  auto before = digests;
  std::sort(before.begin(), before.end());
  ASSERT_TRUE(fuse::build({.fpr = 0.01}, digests, 2));
  std::sort(digests.begin(), digests.end());
  EXPECT_EQ(digests, before);
  // And so they are when it fails.
  auto refused = fuse::build({.fpr = 1e-12}, digests, 2);
  ASSERT_FALSE(refused);
  std::sort(digests.begin(), digests.end());
  EXPECT_EQ(digests, before);
}

TEST(Fuse, DigestsThatAreNotMixedAreBuiltAsWell) {
  for (const char* layout : {"wise3:8", "wise4:32"}) {
    for (const std::uint64_t step : {std::uint64_t{1}, std::uint64_t{1} << 32U, std::uint64_t{1} << 44U}) {
      std::vector<std::uint64_t> digests(20'000);
      for (std::size_t i = 0; i < digests.size(); ++i) digests[i] = i * step;
      const fuse filter = build(layout, digests);
      EXPECT_EQ(filter.keys().keys, digests.size());
      EXPECT_EQ(present_of(filter, digests), digests.size()) << layout << " " << step;
    }
  }
}

TEST(Fuse, DigestsMadeToCollideTakeAnotherSeed) {
  // All of them have the same first cell, and then all the same shard, with the first seed.
  for (const unsigned shift : {0U, 20U}) {
    std::vector<std::uint64_t> digests(5000);
    for (std::size_t i = 0; i < digests.size(); ++i) {
      digests[i] = kernels::fuse_digest_of(static_cast<std::uint64_t>(i) << shift, 0);
    }
    for (const std::size_t twice : {0U, 17U, 4999U}) digests.push_back(digests[twice]);
    const auto before = digests;
    auto filter = fuse::build({.fpr = 0.01}, digests, 1);
    ASSERT_TRUE(filter);
    EXPECT_NE(filter->geometry().seed, 0U);
    EXPECT_EQ(present_of(*filter, before), before.size());
    std::sort(digests.begin(), digests.end());
    auto sorted = before;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(digests, sorted) << "with a second seed, too";
  }
}

// Memory that counts what is in use, and refuses one request.
struct watched_memory {
  std::size_t now = 0;
  std::size_t most = 0;
  int requests = 0;
  int fail_at = -1;
  memory_hooks hooks{.allocate = [](void* context, std::size_t size, std::size_t alignment) -> void* {
                       auto* self = static_cast<watched_memory*>(context);
                       if (self->requests++ == self->fail_at) return nullptr;
                       self->now += size;
                       self->most = std::max(self->most, self->now);
                       return default_memory().allocate(nullptr, size, alignment);
                     },
                     .release =
                         [](void* context, void* memory, std::size_t size, std::size_t alignment) {
                           static_cast<watched_memory*>(context)->now -= size;
                           default_memory().release(nullptr, memory, size, alignment);
                         },
                     .context = this};
};

TEST(Fuse, MoreKeysThanAShardHoldsAreSharedOut) {
  constexpr std::size_t count = 16'900'000;
  auto digests = random_digests(8, count);
  watched_memory two_threads;
  auto filter = fuse::build({.fpr = 0.01, .memory = &two_threads.hooks}, digests, 2);
  ASSERT_TRUE(filter);
  EXPECT_EQ(filter->geometry().shards(), 2U);
  EXPECT_EQ(present_of(*filter, digests), count);
  EXPECT_TRUE(is_as_planned(*filter, "wise3:8"));
  EXPECT_LT(static_cast<double>(filter->memory_bytes()), 1.14 * count);
  EXPECT_LT(static_cast<double>(two_threads.most - filter->memory_bytes()), 15.0 * count);
  for (const std::uint64_t digest : random_digests(9, 1000)) {
    ASSERT_EQ(filter->may_contain(digest), left_of(*filter, digest) == 0);
  }
  const std::uint64_t positives = positives_of(*filter, 8, 2'000'000);
  EXPECT_LT(binomial::lower_bound(positives, 2'000'000, 1e-6), 1.0 / 256);
  EXPECT_GT(binomial::upper_bound(positives, 2'000'000, 1e-6), 1.0 / 256);
}

TEST(Fuse, RefusedMemoryIsAnError) {
  auto digests = random_digests(10, 1000);
  for (int fail_at = 0; fail_at < 2; ++fail_at) {
    watched_memory memory;
    memory.fail_at = fail_at;
    const auto refused = fuse::build({.fpr = 0.01, .memory = &memory.hooks}, digests, 2);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::out_of_memory);
    EXPECT_EQ(memory.now, 0U);
  }
}

TEST(Fuse, AFilterOfItHashesKeysOfAnySort) {
  std::vector<std::string> names;
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    names.push_back("name " + std::to_string(i % 4000));
    numbers.push_back(i * 3);
  }
  const auto of_names = filter<fuse>::build(std::span<const std::string>(names), {.fpr = 0.01}, default_hash{7}, 2);
  const auto of_numbers = filter<fuse>::build(std::span<const std::uint64_t>(numbers), {.fpr = 0.001});
  ASSERT_TRUE(of_names && of_numbers);
  EXPECT_EQ(of_names->kind().keys().keys, 4000U);
  EXPECT_EQ(of_numbers->kind().target_fpr(), 0x1p-16);
  for (const auto& name : names) ASSERT_TRUE(of_names->may_contain(name));
  std::vector<std::uint64_t> asked(6400);
  for (std::uint64_t i = 0; i < asked.size(); ++i) asked[i] = i * 2;
  std::vector<std::uint64_t> mask(mask_words(asked.size()));
  of_numbers->may_contain_batch(std::span<const std::uint64_t>(asked), mask);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const bool there = (mask[i / 64] >> (i % 64) & 1U) != 0;
    ASSERT_EQ(there, of_numbers->may_contain(asked[i])) << i;
    ASSERT_TRUE(there || asked[i] % 3 != 0) << i;
  }
}

// ---- long ones ----

TEST(NightlyFuse, AHundredMillionKeysAreBuiltAndFound) {
  constexpr std::size_t count = 100'000'000;
  for (const char* layout : {"wise3:8", "wise4:8"}) {
    auto digests = random_digests(1, count);
    auto filter = fuse::build({.fpr = 0.01, .layout = layout}, digests, 0);
    ASSERT_TRUE(filter);
    EXPECT_EQ(filter->keys().keys, count);
    EXPECT_EQ(filter->geometry().shards(), 8U);
    EXPECT_TRUE(is_as_planned(*filter, layout));
    EXPECT_EQ(present_of(*filter, digests), count);
    const std::uint64_t positives = positives_of(*filter, 1, 50'000'000);
    EXPECT_GT(binomial::upper_bound(positives, 50'000'000, 1e-6), 1.0 / 256);
    EXPECT_LT(binomial::lower_bound(positives, 50'000'000, 1e-6), 1.0 / 256);
  }
}

TEST(NightlyFuse, MemoryForOneThreadIsEnough) {
  constexpr std::size_t count = 16'900'000;
  auto digests = random_digests(8, count);
  const auto filter = fuse::build({.fpr = 0.01}, digests, 2);
  ASSERT_TRUE(filter);
  // Memory for two threads is refused, that for one is not: the same bytes, and half the memory.
  watched_memory one_thread;
  one_thread.fail_at = 1;
  std::reverse(digests.begin(), digests.end());
  const auto slower = fuse::build({.fpr = 0.01, .memory = &one_thread.hooks}, digests, 2);
  ASSERT_TRUE(slower);
  EXPECT_TRUE(*slower == *filter);
  EXPECT_EQ(one_thread.requests, 3);
  EXPECT_LT(static_cast<double>(one_thread.most - slower->memory_bytes()), 15.0 * count / 2);
}

TEST(NightlyFuse, EveryNumberFrom11400To11600IsBuiltWithEveryOfAThousandSeeds) {
  for (std::size_t count = 11'400; count <= 11'600; ++count) {
    for (std::size_t seed = 0; seed < 1000; ++seed) {
      const auto digests = random_digests(seed * 1000 + count, count);
      ASSERT_EQ(present_of(build("wise3:16", digests), digests), count) << seed;
    }
  }
}

TEST(NightlyFuse, ShardsOfEverySizeAreBuiltAtTheFirstTry) {
  // A filter of many shards begins again when one of them fails: of 20 one may.
  for (const char* layout : {"wise3:8", "wise4:8"}) {
    for (const std::size_t count : {300'000U, 1'000'000U, 4'100'000U, 16'700'000U}) {
      std::size_t again = 0;
      for (std::size_t seed = 0; seed < 20; ++seed) {
        again += build(layout, random_digests(seed, count), 0).geometry().seed != 0 ? 1 : 0;
      }
      EXPECT_LE(again, 1U) << layout << " " << count;
    }
  }
}

}  // namespace
}  // namespace bloomery::fuse_testing
