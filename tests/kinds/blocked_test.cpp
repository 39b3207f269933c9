#include <gtest/gtest.h>

#include <bloomery/filter.hpp>
#include <bloomery/hash/xxh64.hpp>
#include <bloomery/kinds/blocked.hpp>
#include <cmath>
#include <fstream>
#include <random>
#include <string>

namespace {

using namespace bloomery;

TEST(Blocked, TheExactRateAgreesWithThePoissonSumForOneBitALane) {
  // FPR = sum over i of Pois(i; n / blocks) * (1 - (1 - 1/L)^i)^8: an independent way, near-exact for many blocks.
  for (const unsigned lane_bits : {32U, 64U}) {
    const std::uint64_t keys = 10'000'000;
    const std::uint64_t blocks = keys * 11 / (8ULL * lane_bits);
    const double load = static_cast<double>(keys) / static_cast<double>(blocks);
    double expected = 0;
    double weight = std::exp(-load);
    for (int i = 0; i < 300; ++i) {
      expected += weight * std::pow(1 - std::pow(1 - 1.0 / lane_bits, i), 8);
      weight *= load / (i + 1);
    }
    EXPECT_NEAR(blocked_fpr(lane_bits, 8)(keys, blocks) / expected, 1.0, 1e-4);
  }
}

TEST(Blocked, TheExactRateOfOneBlockIsTheOneBySimulation) {
  std::mt19937_64 generator(7);
  for (const unsigned hashes : {1U, 3U, 8U, 11U, 16U}) {
    const double expected = blocked_fpr(64, hashes)(60, 1);
    std::uint64_t positives = 0;
    constexpr std::uint64_t filters = 300;
    constexpr std::uint64_t queries = 2000;
    for (std::uint64_t i = 0; i < filters; ++i) {
      auto filter = blocked::make({.keys = 60, .bits = 512, .hashes = hashes, .layout = "split64"});
      for (int key = 0; key < 60; ++key) filter->insert(generator());
      for (std::uint64_t q = 0; q < queries; ++q) positives += filter->may_contain(generator()) ? 1U : 0U;
    }
    const double measured = static_cast<double>(positives) / static_cast<double>(filters * queries);
    EXPECT_NEAR(measured / expected, 1.0, 0.05) << "k " << hashes;
  }
}

// The split-block filter of the Parquet specification, written plainly from its text.
class parquet_filter {
 public:
  explicit parquet_filter(std::uint32_t blocks) : words_(std::size_t{blocks} * 8), blocks_(blocks) {}
  void insert(std::uint64_t hash) {
    const std::uint64_t block = ((hash >> 32U) * blocks_) >> 32U;
    for (std::size_t i = 0; i < 8; ++i)
      words_[block * 8 + i] |= 1U << (static_cast<std::uint32_t>(hash) * salts[i] >> 27U);
  }
  [[nodiscard]] std::vector<std::byte> bytes() const {
    std::vector<std::byte> out;
    for (const std::uint32_t word : words_) {
      for (unsigned shift = 0; shift < 32; shift += 8) out.push_back(static_cast<std::byte>(word >> shift));
    }
    return out;
  }

 private:
  static constexpr std::uint32_t salts[8] = {0x47b6137bU, 0x44974d91U, 0x8824ad5bU, 0xa2b7289dU,
                                             0x705495c7U, 0x2df1424bU, 0x9efc4947U, 0x5c6bfb31U};
  std::vector<std::uint32_t> words_;
  std::uint64_t blocks_;
};

TEST(Blocked, Split32IsParquetsFilterToTheByte) {
  for (const std::uint32_t blocks : {1U, 5U, 64U}) {
    auto filter = blocked::make({.keys = 100, .bits = std::uint64_t{blocks} * 256, .layout = "split32"});
    ASSERT_TRUE(filter) << describe(filter.error()).c_str();
    parquet_filter reference(blocks);
    for (int i = 0; i < 100; ++i) {
      const std::string key = "key-" + std::to_string(i);
      const std::uint64_t digest = xxh64{}(key.data(), key.size());
      filter->insert(digest);
      reference.insert(digest);
    }
    const auto bytes = filter->payload();
    EXPECT_EQ(std::vector<std::byte>(bytes.begin(), bytes.end()), reference.bytes());
  }
}

// Bytes that real writers of Parquet files left (tests/golden/parquet): the bitset lies behind a 16-byte header at the
// offset that bloom_offsets.tsv gives.
struct parquet_column {
  const char* file;
  std::streamoff offset;
  std::size_t length;
  std::uint64_t keys;
  std::vector<std::byte> (*key)(std::uint64_t);
};
std::vector<std::byte> text_key(std::uint64_t i) {
  const std::string text = "key-" + std::to_string(i);
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}
template <class T, std::uint64_t Factor>
std::vector<std::byte> integer_key(std::uint64_t i) {
  std::vector<std::byte> bytes(sizeof(T));
  store_le(bytes.data(), static_cast<T>(i * Factor));
  return bytes;
}

TEST(Blocked, Split32OverXxh64GivesTheBytesOfRealParquetFiles) {
  const parquet_column columns[] = {
      {"hyparquet_writer_n50.parquet", 1327, 80, 50, text_key},
      {"hyparquet_writer_n50.parquet", 1407, 80, 50, integer_key<std::uint32_t, 3>},
      {"hyparquet_writer_n50.parquet", 1487, 144, 50, integer_key<std::uint64_t, 1000003>},
      {"types_fpp01.parquet", 47817, 272, 200, integer_key<std::uint32_t, 1>},
      {"types_fpp01.parquet", 48089, 272, 200, integer_key<std::uint64_t, 1000003ULL * 7919>},
      {"types_fpp01.parquet", 48905, 272, 200, text_key},
  };
  for (const auto& column : columns) {
    std::ifstream file(std::string(BLOOMERY_GOLDEN_DIR "/parquet/") + column.file, std::ios::binary);
    ASSERT_TRUE(file) << column.file;
    std::vector<char> stored(column.length);
    file.seekg(column.offset);
    file.read(stored.data(), static_cast<std::streamsize>(stored.size()));
    const auto bitset = std::as_bytes(std::span(stored)).subspan(16);
    auto filter = blocked::make({.keys = column.keys, .bits = bitset.size() * 8, .layout = "split32"});
    ASSERT_TRUE(filter);
    for (std::uint64_t i = 0; i < column.keys; ++i) {
      const auto key = column.key(i);
      filter->insert(xxh64{}(key.data(), key.size()));
    }
    const auto ours = filter->payload();
    EXPECT_TRUE(std::equal(ours.begin(), ours.end(), bitset.begin(), bitset.end()))
        << column.file << " at " << column.offset;
  }
}

TEST(Blocked, LayoutsDoNotMerge) {
  auto a = blocked::make({.keys = 100, .bits = 512 * 4, .layout = "split64"});
  auto b = blocked::make({.keys = 100, .bits = 512 * 4, .layout = "split32"});
  EXPECT_EQ(a->merge(*b).error().code, errc::mismatch);
}

// add counts nothing, so that keys() estimates from then on; everything else is as after inserts.
TEST(Blocked, AddSetsTheBitsOfInsertAndLeavesAnEstimateOfTheKeys) {
  for (const std::string_view layout : {"split32", "split64"}) {
    filter<blocked> inserted = std::move(*filter<blocked>::make({.keys = 20'000, .fpr = 0.01, .layout = layout}));
    filter<blocked> added = std::move(*filter<blocked>::make({.keys = 20'000, .fpr = 0.01, .layout = layout}));
    EXPECT_TRUE(added.keys().exact);
    for (std::uint64_t key = 0; key < 10'000; ++key) {
      inserted.insert(key);
      EXPECT_TRUE(added.add(key));
    }
    EXPECT_EQ(added, inserted);
    EXPECT_TRUE(inserted.keys().exact);
    EXPECT_FALSE(added.keys().exact);
    EXPECT_NEAR(static_cast<double>(added.keys().keys), 10'000, 150);
    const filter<blocked> copy = std::move(*added.clone());
    EXPECT_EQ(copy.keys().keys, added.keys().keys);
    EXPECT_FALSE(copy.keys().exact);
    EXPECT_EQ(added.kind().shape().keys, added.keys().keys);
    added.insert(std::uint64_t{1} << 40U);
    EXPECT_FALSE(added.keys().exact);
    added.clear();
    EXPECT_TRUE(added.keys().exact);
    EXPECT_EQ(added.keys().keys, 0U);
    added.insert(5);
    EXPECT_EQ(added.keys().keys, 1U);
    EXPECT_TRUE(added.keys().exact);
  }
}

// The function that a filter takes for a hash without a seed is the one of its hash; so is the other.
TEST(Blocked, DigestsAreThoseOfTheHashWithAndWithoutASeed) {
  for (const std::uint64_t seed : {0ULL, 1ULL, 0x8000000000000000ULL}) {
    const mum2 hash{seed};
    filter<blocked> made = std::move(*filter<blocked>::make({.keys = 1000, .fpr = 0.01}, hash));
    for (const std::uint64_t key : {0ULL, 42ULL, ~0ULL}) EXPECT_EQ(made.digest(key), hash.integer(key));
    for (const std::string& key : {std::string(), std::string("alice"), std::string(8, 'x'), std::string(300, 'y')}) {
      EXPECT_EQ(made.digest(key), digest_of(hash, key));
      made.add(key);
      EXPECT_TRUE(made.kind().may_contain(digest_of(hash, key)));
    }
  }
}

TEST(Blocked, HostileShapesAreRefusedBeforeAnythingIsAllocated) {
  const auto good = blocked::make({.keys = 10, .fpr = 0.01})->shape();
  for (const auto& [index, value] :
       {std::pair<std::size_t, std::uint64_t>{0, 0}, {0, ~std::uint64_t{0}}, {1, 0}, {1, 17}, {2, 2}, {3, 1}, {7, 1}}) {
    auto shape = good;
    shape.field[index] = value;
    EXPECT_FALSE(blocked::payload_bytes(shape)) << index << " " << value;
  }
  auto wide = good;
  wide.digest_bits = 128;
  EXPECT_FALSE(blocked::payload_bytes(wide));
}

}  // namespace
