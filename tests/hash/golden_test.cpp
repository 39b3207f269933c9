// Every column of tests/golden/hashes/library_hashes.tsv, and LevelDB's own numbers.
#include <gtest/gtest.h>

#include <bloomery/hash/list.hpp>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace bloomery;

std::string bytes_of_hex(const std::string& hex) {
  std::string bytes;
  if (hex == "-") return bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::strtoul(hex.substr(i, 2).c_str(), nullptr, 16)));
  }
  return bytes;
}

TEST(GoldenHashes, EveryColumnAgrees) {
  std::ifstream file(BLOOMERY_GOLDEN_DIR "/hashes/library_hashes.tsv");
  ASSERT_TRUE(file) << "missing golden file";
  std::size_t rows = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream fields(line);
    std::string hex;
    fields >> hex;
    const std::string key = bytes_of_hex(hex);
    std::vector<std::uint64_t> expected;
    for (std::string field; fields >> field;) expected.push_back(std::strtoull(field.c_str(), nullptr, 16));
    const auto murmur = murmur3_x64_128{}.hash128(key.data(), key.size());
    const std::vector<std::uint64_t> actual = {
        xxh64{}(key.data(), key.size()),
        xxh3{}(key.data(), key.size()),
        murmur.low,
        murmur.high,
        murmur3_x86_32{}(key.data(), key.size()),
        murmur64a{.seed = 0xc6a4a7935bd1e995ULL}(key.data(), key.size()),
        murmur64a{}(key.data(), key.size()),
    };
    EXPECT_EQ(actual, expected) << "key " << hex;
    ++rows;
  }
  EXPECT_EQ(rows, 58U);
}

TEST(GoldenHashes, LeveldbsOwnNumbers) {
  std::ifstream file(BLOOMERY_GOLDEN_DIR "/hashes/leveldb_hash.tsv");
  ASSERT_TRUE(file) << "missing golden file";
  std::size_t rows = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream fields(line);
    std::string hex;
    std::string seed;
    std::string expected;
    fields >> hex >> seed >> expected;
    const std::string key = bytes_of_hex(hex);
    const leveldb_hash hash{.seed = static_cast<std::uint32_t>(std::strtoul(seed.c_str(), nullptr, 16))};
    EXPECT_EQ(hash(key.data(), key.size()), std::strtoull(expected.c_str(), nullptr, 16)) << hex;
    ++rows;
  }
  EXPECT_EQ(rows, 6U);
}

}  // namespace
