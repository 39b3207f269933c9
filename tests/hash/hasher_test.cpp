// The run-time choice: names, ids, seeds, secret keys, batches.
#include <gtest/gtest.h>
#include <bloomery/hash/list.hpp>

#include <algorithm>
#include <bloomery/hash/hasher.hpp>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace bloomery;

template <std::size_t N>
std::array<std::byte, N> secret(unsigned char first) {
  std::array<std::byte, N> key{};
  for (std::size_t i = 0; i < N; ++i) key[i] = static_cast<std::byte>(first + i);
  return key;
}
const auto key_16 = secret<16>(0);
const auto key_32 = secret<32>(0);

// The key that a hash of the list needs, if any.
std::span<const std::byte> key_for(const hash_info& info) {
  if (info.key_bytes == 16) return key_16;
  if (info.key_bytes == 32) return key_32;
  return {};
}

std::vector<std::string> some_keys() {
  std::vector<std::string> keys;
  for (std::size_t size = 0; size < 100; ++size) keys.emplace_back(size, static_cast<char>('a' + size % 26));
  return keys;
}

TEST(HashList, NamesAndIdsNeverChange) {
  std::vector<std::pair<std::uint32_t, std::string>> actual;
  for_each_type(hash_list{}, [&](auto tag) {
    using hash = typename decltype(tag)::type;
    actual.emplace_back(hash::info.id, hash::info.name);
  });
  const std::vector<std::pair<std::uint32_t, std::string>> expected = {{23, "mum2"},          {1, "xxh3"},
                                                                       {2, "xxh64"},          {3, "murmur3-x64-128"},
                                                                       {4, "murmur3-x86-32"}, {5, "murmur64a"},
                                                                       {6, "fnv1"},           {7, "fnv1a"},
                                                                       {8, "lookup3"},        {9, "farmhash64"},
                                                                       {10, "siphash13"},     {11, "siphash24"},
                                                                       {12, "highwayhash64"}, {13, "identity"},
                                                                       {14, "mum"},           {15, "aes2"},
                                                                       {16, "leveldb"},       {20, "murmur64a-pair"},
                                                                       {21, "murmur2-pair"},  {22, "murmur3-spark"},
                                                                       {24, "hbase-jenkins"}, {25, "hbase-murmur"},
                                                                       {26, "hbase-murmur3"}};
  EXPECT_EQ(actual, expected);
}

TEST(HashList, IsFoundByNameAndById) {
  for_each_type(hash_list{}, [](auto tag) {
    using hash = typename decltype(tag)::type;
    EXPECT_EQ(find_hash(hash::info.name), &hash::info);
    EXPECT_EQ(find_hash(hash::info.id), &hash::info);
    EXPECT_FALSE(hash::info.summary.empty());
  });
  EXPECT_EQ(find_hash("sha256"), nullptr);
  EXPECT_EQ(find_hash("XXH3"), nullptr);
  EXPECT_EQ(find_hash(""), nullptr);
  EXPECT_EQ(find_hash(0U), nullptr);
  EXPECT_EQ(find_hash(17U), nullptr);
}

TEST(Hasher, DefaultIsMum2WithSeedZero) {
  EXPECT_EQ(hasher().spec(), (hash_spec{.id = 23, .seed = 0, .key_id = 0}));
  EXPECT_EQ(hasher().digest("abc", 3), mum2{}("abc", 3));
}

TEST(Hasher, GivesTheDigestsOfEveryHashOfTheList) {
  for_each_type(hash_list{}, [](auto tag) {
    using hash = typename decltype(tag)::type;
    hash concrete{};
    if constexpr (hash::info.key_bytes != 0) concrete = *hash::from_key(key_for(hash::info));
    if constexpr (hash::info.seed_bits != 0) concrete.seed = 12345;
    const std::uint64_t seed = hash::info.seed_bits != 0 ? 12345 : 0;
    const auto made = hasher::make(hash::info.name, seed, key_for(hash::info));
    ASSERT_TRUE(made) << hash::info.name << ": " << describe(made.error()).c_str();
    EXPECT_EQ(*made, hasher::of(concrete));
    for (const auto& key : some_keys()) {
      const std::uint64_t raw = concrete(key.data(), key.size());
      EXPECT_EQ(made->digest(key.data(), key.size()), hash::info.weak ? mix64(raw) : raw) << hash::info.name;
      if constexpr (hash128_function<hash>) {
        EXPECT_EQ(made->digest128_of(key.data(), key.size()), concrete.hash128(key.data(), key.size()));
      }
    }
  });
}

TEST(Hasher, IsRebuiltFromItsSpec) {
  for_each_type(hash_list{}, [](auto tag) {
    using hash = typename decltype(tag)::type;
    const auto made = hasher::make(hash::info.name, hash::info.seed_bits != 0 ? 99 : 0, key_for(hash::info));
    ASSERT_TRUE(made);
    const auto again = hasher::make(made->spec(), key_for(hash::info));
    ASSERT_TRUE(again) << hash::info.name;
    EXPECT_EQ(*again, *made);
    EXPECT_EQ(again->digest("some key", 8), made->digest("some key", 8)) << hash::info.name;
  });
}

TEST(Hasher, BatchesEqualSingleDigests) {
  const auto keys = some_keys();
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  const std::vector<std::uint64_t> integers = {0, 1, 255, 256, ~0ULL, 0x0123456789abcdefULL};
  for_each_type(hash_list{}, [&](auto tag) {
    using hash = typename decltype(tag)::type;
    const auto made = hasher::make(hash::info.name, 0, key_for(hash::info));
    ASSERT_TRUE(made);
    std::vector<std::uint64_t> digests(views.size());
    std::vector<digest128> wide(views.size());
    made->digests(views, digests);
    made->digests128(views, wide);
    for (std::size_t i = 0; i < views.size(); ++i) {
      EXPECT_EQ(digests[i], made->digest(views[i].data(), views[i].size()));
      EXPECT_EQ(wide[i], made->digest128_of(views[i].data(), views[i].size()));
    }
    std::vector<std::uint64_t> of_integers(integers.size());
    made->digests(integers, of_integers);
    for (std::size_t i = 0; i < integers.size(); ++i) {
      std::array<std::byte, 8> bytes{};
      store_le(bytes.data(), integers[i]);
      EXPECT_EQ(of_integers[i], made->digest(bytes.data(), 8));
    }
  });
}

TEST(Hasher, BatchesStopAtTheShorterSpan) {
  const std::vector<std::string_view> keys = {"a", "b", "c"};
  std::vector<std::uint64_t> out(4, 7);
  hasher().digests(keys, std::span(out).first(2));
  EXPECT_EQ(out[1], xxh3{}("b", 1));
  EXPECT_EQ(out[2], 7U);
  hasher().digests(keys, out);
  EXPECT_EQ(out[2], xxh3{}("c", 1));
  EXPECT_EQ(out[3], 7U);
}

TEST(Hasher, RefusesUnknownNamesAndIds) {
  const auto by_name = hasher::make("sha256");
  ASSERT_FALSE(by_name);
  EXPECT_EQ(by_name.error().code, errc::unknown_hash);
  EXPECT_EQ(describe(by_name.error()).view(), "there is no hash 'sha256': see the list of hashes");
  const auto by_id = hasher::make(hash_spec{.id = 77});
  ASSERT_FALSE(by_id);
  EXPECT_EQ(by_id.error().code, errc::unknown_hash);
  EXPECT_EQ(by_id.error().text_view(), "77");
}

TEST(Hasher, RefusesSeedsOutOfRange) {
  EXPECT_TRUE(hasher::make("xxh3", ~0ULL));
  EXPECT_TRUE(hasher::make("murmur3-x86-32", 0xffffffffULL));
  for (const auto* name : {"murmur3-x64-128", "murmur3-x86-32"}) {
    const auto made = hasher::make(name, 0x100000000ULL);
    ASSERT_FALSE(made) << name;
    EXPECT_EQ(made.error().code, errc::bad_seed);
    EXPECT_EQ(made.error().number[0], 0x100000000ULL);
    EXPECT_EQ(made.error().number[1], 0xffffffffULL);
  }
  for (const auto* name : {"fnv1", "fnv1a", "farmhash64", "identity"}) {
    const auto made = hasher::make(name, 1);
    ASSERT_FALSE(made) << name;
    EXPECT_EQ(made.error().code, errc::bad_seed);
  }
  const auto keyed = hasher::make("siphash13", 1, key_16);
  ASSERT_FALSE(keyed);
  EXPECT_EQ(keyed.error().code, errc::bad_seed);
  EXPECT_FALSE(hasher::make(hash_spec{.id = 4, .seed = 1ULL << 40U}));
}

TEST(Hasher, RefusesMissingWrongSizedAndUselessKeys) {
  const auto expect_bad_size = [](const result<hasher>& made, std::uint64_t given, std::uint64_t needed) {
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, errc::bad_key_size);
    EXPECT_EQ(made.error().number[0], given);
    EXPECT_EQ(made.error().number[1], needed);
  };
  expect_bad_size(hasher::make("siphash24"), 0, 16);
  expect_bad_size(hasher::make("siphash24", 0, key_32), 32, 16);
  expect_bad_size(hasher::make("highwayhash64", 0, key_16), 16, 32);
  expect_bad_size(hasher::make(hash_spec{.id = 10, .key_id = 5}), 0, 16);
  const auto unkeyed = hasher::make("xxh3", 0, key_16);
  ASSERT_FALSE(unkeyed);
  EXPECT_EQ(unkeyed.error().code, errc::not_keyed);
}

TEST(Hasher, RefusesAnotherKeyThanTheFileWasBuiltWith) {
  for (const auto* name : {"siphash13", "siphash24", "highwayhash64"}) {
    const hash_info& info = *find_hash(std::string_view(name));
    const auto built = hasher::make(name, 0, key_for(info));
    ASSERT_TRUE(built);
    const auto other_16 = secret<16>(1);
    const auto other_32 = secret<32>(1);
    const std::span<const std::byte> other = info.key_bytes == 16 ? std::span<const std::byte>(other_16) : other_32;
    const auto opened = hasher::make(built->spec(), other);
    ASSERT_FALSE(opened) << name;
    EXPECT_EQ(opened.error().code, errc::wrong_key);
    std::array<char, 17> hex{};
    std::snprintf(hex.data(), hex.size(), "%016llx", static_cast<unsigned long long>(built->spec().key_id));
    EXPECT_EQ(opened.error().text_view(), hex.data());
  }
}

TEST(Hasher, RefusesAKeyIdWithAHashThatHasNoKey) {
  const auto made = hasher::make(hash_spec{.id = 1, .seed = 0, .key_id = 1});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, errc::bad_field);
}

// Files store key ids: these numbers stay.
TEST(KeyId, NeverChanges) {
  EXPECT_EQ(key_id_of(key_16), 0xcb58f0cab4f0aa4dULL);
  EXPECT_EQ(key_id_of(key_32), 0x9c59bfaa67c938afULL);
  EXPECT_EQ(key_id_of({}), 0U);
}

TEST(KeyId, DiffersForEveryBitOfTheKey) {
  std::set<std::uint64_t> ids = {key_id_of(key_16), key_id_of(key_32)};
  const auto flip = [&](auto key) {
    for (std::size_t bit = 0; bit < 8 * key.size(); ++bit) {
      auto flipped = key;
      flipped[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
      ids.insert(key_id_of(flipped));
    }
  };
  flip(key_16);
  flip(key_32);
  EXPECT_EQ(ids.size(), 2U + 128U + 256U);
}

TEST(Hasher, OnlyIdentityIsParticularAboutKeySizes) {
  for_each_type(hash_list{}, [](auto tag) {
    using hash = typename decltype(tag)::type;
    const auto made = hasher::make(hash::info.name, 0, key_for(hash::info));
    ASSERT_TRUE(made);
    EXPECT_TRUE(made->accepts(8));
    EXPECT_EQ(made->accepts(7), hash::info.name != "identity");
    EXPECT_EQ(made->accepts(0), hash::info.name != "identity");
  });
}

TEST(Hasher, HasWideDigestsExactlyWhereTheInfoSaysSo) {
  for_each_type(hash_list{}, [](auto tag) {
    using hash = typename decltype(tag)::type;
    EXPECT_EQ(hash::info.bits == 128, hash128_function<hash>) << hash::info.name;
  });
}

// Kinds take positions from any bits of a digest. For every bit of the key and every bit of the digest, flipping the
// first flips the second about half of the time: within 0.12 over 1000 keys, which is more than seven deviations.
TEST(Digests, FlipEachBitHalfOfTheTime) {
  constexpr int trials = 1000;
  for_each_type(hash_list{}, [](auto tag) {
    using hash = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<hash, identity>) {
      std::mt19937_64 random(20240607);
      for (const std::size_t size : {4U, 8U, 16U, 33U}) {
        for (std::size_t bit = 0; bit < 8 * size; ++bit) {
          std::array<int, 64> flips{};
          for (int trial = 0; trial < trials; ++trial) {
            std::array<std::uint64_t, 5> key{};
            for (auto& word : key) word = random();
            const std::uint64_t before = digest_bytes(hash{}, key.data(), size);
            reinterpret_cast<unsigned char*>(key.data())[bit / 8] ^= static_cast<unsigned char>(1U << (bit % 8));
            const std::uint64_t changed = before ^ digest_bytes(hash{}, key.data(), size);
            for (std::size_t i = 0; i < 64; ++i) flips[i] += static_cast<int>((changed >> i) & 1U);
          }
          for (const int count : flips)
            ASSERT_NEAR(count / double{trials}, 0.5, 0.12) << hash::info.name << ' ' << size;
        }
      }
    }
  });
}

}  // namespace
