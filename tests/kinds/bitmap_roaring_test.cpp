// CRoaring as the oracle of our engine: the same sets, the same bytes, whoever reads them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bloomery/kinds/bitmap.hpp>
#include <cstring>
#include <map>
#include <random>
#include <roaring/roaring.hh>
#include <vector>

namespace {

using namespace bloomery;

// The oracle's set in the portable 64-bit format, each part in its smallest encoding.
std::vector<std::byte> oracle_bytes(const std::map<std::uint32_t, Roaring>& set) {
  std::vector<std::byte> out(8);
  const std::uint64_t parts = set.size();
  std::memcpy(out.data(), &parts, sizeof parts);
  for (const auto& [high, part] : set) {
    Roaring copy = part;
    copy.removeRunCompression();
    copy.runOptimize();
    const std::size_t at = out.size();
    out.resize(at + 4 + copy.getSizeInBytes(true));
    std::memcpy(out.data() + at, &high, sizeof high);
    copy.write(reinterpret_cast<char*>(out.data() + at + 4), true);
  }
  return out;
}

// Dense, sparse and consecutive keys, at both sides of every change of encoding.
std::vector<std::uint64_t> random_keys(std::mt19937_64& generator) {
  std::vector<std::uint64_t> keys;
  for (const std::uint64_t high : {0ULL, 1ULL, 5ULL, 65535ULL, 1ULL << 16U, 1ULL << 40U}) {
    if (generator() % 3 == 0) continue;
    const std::vector<std::uint64_t> steps = {1, 2, 15, 16, 17, 300};
    const std::uint64_t step = steps[generator() % steps.size()];
    const std::uint64_t most = 65536 / step;
    const std::uint64_t count =
        generator() % 2 == 0 ? 1 + generator() % most : std::min<std::uint64_t>(most, 4095 + generator() % 3);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (generator() % 64 != 0) keys.push_back((high << 16U) + i * step);
    }
  }
  std::shuffle(keys.begin(), keys.end(), generator);
  return keys;
}

class BitmapRoaring : public testing::Test {
 protected:
  void SetUp() override { enable_bitmap(); }

  static std::vector<std::byte> bytes_of(const bitmap& set) {
    std::vector<std::byte> bytes(set.serialized_bytes());
    EXPECT_TRUE(set.serialize(bytes));
    return bytes;
  }
};

TEST_F(BitmapRoaring, InsertsErasesUnionsAndIntersectionsGiveTheBytesOfCRoaring) {
  std::mt19937_64 generator(7);
  for (int round = 0; round < 40; ++round) {
    std::array<std::map<std::uint32_t, Roaring>, 2> oracles;
    std::vector<bitmap> sets;
    for (auto& oracle : oracles) {
      auto set = bitmap::make({});
      ASSERT_TRUE(set);
      const std::vector<std::uint64_t> keys = random_keys(generator);
      for (const std::uint64_t key : keys) {
        set->insert(key);
        oracle[static_cast<std::uint32_t>(key >> 32U)].add(static_cast<std::uint32_t>(key));
      }
      for (std::size_t i = 0; i < keys.size(); i += 1 + generator() % 5) {
        EXPECT_TRUE(set->erase(keys[i]) || !set->may_contain(keys[i]));
        oracle[static_cast<std::uint32_t>(keys[i] >> 32U)].remove(static_cast<std::uint32_t>(keys[i]));
      }
      std::erase_if(oracle, [](const auto& part) { return part.second.isEmpty(); });
      ASSERT_EQ(bytes_of(*set), oracle_bytes(oracle)) << round;
      // What CRoaring wrote is read as it is.
      const auto written = oracle_bytes(oracle);
      auto read = bitmap::deserialize(set->shape(), written);
      ASSERT_TRUE(read) << round;
      ASSERT_TRUE(*read == *set) << round;
      sets.push_back(round % 2 == 0 ? std::move(*set) : std::move(*read));
    }
    auto common = sets[0].clone();
    ASSERT_TRUE(common && common->intersect(sets[1]));
    std::map<std::uint32_t, Roaring> both;
    for (const auto& [high, part] : oracles[0]) {
      const auto match = oracles[1].find(high);
      if (match != oracles[1].end() && !(part & match->second).isEmpty()) both[high] = part & match->second;
    }
    EXPECT_EQ(bytes_of(*common), oracle_bytes(both)) << round;
    ASSERT_TRUE(sets[0].merge(sets[1]));
    for (const auto& [high, part] : oracles[1]) oracles[0][high] |= part;
    EXPECT_EQ(bytes_of(sets[0]), oracle_bytes(oracles[0])) << round;
  }
}

}  // namespace
