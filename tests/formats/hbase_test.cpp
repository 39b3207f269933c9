// Chunks of HBase's Bloom filters: see tests/golden/hbase/README.md for who wrote the golden ones.
#include <gtest/gtest.h>

#include <array>
#include <bloomery/compat/hbase/chunk.hpp>
#include <bloomery/compat/hbase/key.hpp>
#include <bloomery/hash/hasher.hpp>
#include <bloomery/hash/hbase.hpp>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "support/golden.hpp"

namespace bloomery {
namespace {

using namespace test;
using hbase::chunk_shape;

std::vector<std::vector<std::string>> table(const std::string& name) { return rows_of(golden("hbase/" + name)); }

constexpr std::array<std::string_view, 3> hash_names = {"hbase-jenkins", "hbase-murmur", "hbase-murmur3"};

digest128 digest_by(unsigned type, std::string_view key) {
  return hasher::make(hash_names.at(type))->digest128_of(key.data(), key.size());
}

TEST(HBaseHashes, AreThoseOfTheProduct) {
  unsigned rows = 0;
  for (const auto& row : table("hashes.tsv")) {
    ASSERT_EQ(row.size(), 5U);
    const std::string key = from_hex(row[0]);
    const auto seed = static_cast<std::uint32_t>(std::stoll(row[1]));
    const auto expected = [&](std::size_t i) { return static_cast<std::uint32_t>(std::stoul(row[i], nullptr, 16)); };
    EXPECT_EQ(lookup3_hashlittle(key.data(), key.size(), seed), expected(2)) << row[0];
    EXPECT_EQ(hbase_murmur2_32(key.data(), key.size(), seed), expected(3)) << row[0];
    EXPECT_EQ(murmur3_x86_32{seed}(key.data(), key.size()), expected(4)) << row[0];
    ++rows;
  }
  EXPECT_GE(rows, 100U);
}

TEST(HBaseHashes, TakeTheFirstResultAsTheSecondSeed) {
  const std::string key = "row-\xff\xfe";
  for (unsigned type = 0; type < 3; ++type) {
    const digest128 both = digest_by(type, key);
    EXPECT_LE(both.low, 0xffffffffU);
    EXPECT_LE(both.high, 0xffffffffU);
    EXPECT_NE(both.low, both.high);
  }
  const auto first = hbase_murmur2_32(key.data(), key.size(), 0);
  EXPECT_EQ(digest_by(1, key), (digest128{first, hbase_murmur2_32(key.data(), key.size(), first)}));
}

TEST(HBaseChunk, IsSizedAsTheProductSizesIt) {
  for (const auto& row : table("createBySize.tsv")) {
    ASSERT_EQ(row.size(), 6U);
    const auto fold = static_cast<unsigned>(std::stoul(row[2]));
    const auto shape = hbase::shape_by_size(std::stoull(row[0]), std::stod(row[1]), fold);
    ASSERT_TRUE(shape) << row[0];
    EXPECT_EQ(shape->size_bytes, std::stoull(row[3])) << row[0];
    EXPECT_EQ(shape->hashes, std::stoul(row[4])) << row[0];
    EXPECT_EQ(shape->max_keys, std::stoull(row[5])) << row[0];
  }
  EXPECT_EQ(static_cast<double>(hbase::rowcol_error_rate(0.01F)), 0.0050125583074986935);
}

TEST(HBaseChunk, HasTheBitsAndTheAnswersOfTheProduct) {
  unsigned chunks = 0;
  for (const auto& row : table("cases.tsv")) {
    ASSERT_EQ(row.size(), 12U);
    const std::string& name = row[0];
    const auto type = static_cast<unsigned>(std::stoul(row[3]));
    const auto error_rate = static_cast<double>(std::stof(row[2]));
    const auto made = hbase::shape_by_keys(std::stoull(row[1]), error_rate, static_cast<unsigned>(std::stoul(row[4])));
    ASSERT_TRUE(made) << name;
    EXPECT_EQ(made->size_bytes, std::stoull(row[6])) << name;
    EXPECT_EQ(made->hashes, std::stoul(row[8])) << name;
    std::vector<std::byte> bits(static_cast<std::size_t>(made->size_bytes));
    std::uint64_t keys = 0;
    for (const auto& key : table(name + ".keys.tsv")) {
      hbase::set(bits, made->hashes, digest_by(type, from_hex(key[0])));
      ++keys;
    }
    EXPECT_EQ(keys, std::stoull(row[5])) << name;
    const chunk_shape shape = hbase::fold(bits, *made, keys);
    EXPECT_EQ(shape.size_bytes, std::stoull(row[7])) << name;
    EXPECT_EQ(shape.max_keys, std::stoull(row[9])) << name;
    bits.resize(static_cast<std::size_t>(shape.size_bytes));
    const std::string expected = golden("hbase/" + name + ".bin");
    ASSERT_EQ(bits.size(), expected.size()) << name;
    EXPECT_EQ(std::memcmp(bits.data(), expected.data(), expected.size()), 0) << name;
    std::uint64_t present = 0;
    for (const auto& probe : table(name + ".probes.tsv")) {
      const bool found = hbase::may_contain(bits, shape.hashes, digest_by(type, from_hex(probe[0])));
      EXPECT_EQ(found, probe[1] == "1") << name << " " << probe[0];
      present += found ? 1U : 0U;
    }
    EXPECT_EQ(present, std::stoull(row[11])) << name;
    ++chunks;
  }
  EXPECT_EQ(chunks, 15U);
}

TEST(HBaseChunk, FoldedHoldsEveryKey) {
  auto shape = hbase::shape_by_size(4096, 0.01, 7);
  ASSERT_TRUE(shape);
  std::vector<std::byte> bits(static_cast<std::size_t>(shape->size_bytes));
  const auto digest = [](int i) {
    const std::string key = "row-" + std::to_string(i);
    return hbase_murmur{}.hash128(key.data(), key.size());
  };
  for (int i = 0; i < 100; ++i) hbase::set(bits, shape->hashes, digest(i));
  const chunk_shape folded = hbase::fold(bits, *shape, 100);
  EXPECT_EQ(folded.size_bytes, 128U);  // 4096 halved five times: room for 106 keys
  EXPECT_EQ(folded.max_keys, 106U);
  const auto smaller = std::span<const std::byte>(bits).first(static_cast<std::size_t>(folded.size_bytes));
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(hbase::may_contain(smaller, folded.hashes, digest(i)));
  EXPECT_EQ(hbase::fold(bits, *shape, 0).size_bytes, shape->size_bytes);  // an empty chunk stays as it is
}

TEST(HBaseChunk, OfBothKeySetsIsTheUnion) {
  const auto shape = hbase::shape_by_keys(200, 0.01, 0);
  std::vector<std::byte> one(static_cast<std::size_t>(shape->size_bytes));
  auto two = one;
  const auto both = [&] {
    auto all = one;
    EXPECT_TRUE(hbase::unite(all, two));
    return all;
  };
  for (const char* key : {"a", "b"}) hbase::set(one, shape->hashes, hbase_jenkins{}.hash128(key, 1));
  hbase::set(two, shape->hashes, hbase_jenkins{}.hash128("c", 1));
  for (const char* key : {"a", "b", "c"}) {
    EXPECT_TRUE(hbase::may_contain(both(), shape->hashes, hbase_jenkins{}.hash128(key, 1)));
  }
  std::vector<std::byte> other(16);
  EXPECT_EQ(hbase::unite(other, one).error().code, errc::mismatch);
}

TEST(HBaseChunk, ImpossibleShapesAreRefused) {
  for (const double rate : {0.0, 1.0, -1.0, 2.0}) {
    EXPECT_FALSE(hbase::shape_by_size(1000, rate, 0));
    EXPECT_FALSE(hbase::shape_by_keys(1000, rate, 0));
  }
  EXPECT_FALSE(hbase::shape_by_size(0, 0.01, 0));
  EXPECT_FALSE(hbase::shape_by_size(std::uint64_t{1} << 28U, 0.01, 0));
  EXPECT_FALSE(hbase::shape_by_size(~std::uint64_t{0}, 0.01, 0));
  EXPECT_FALSE(hbase::shape_by_size(1000, 0.01, 64));
  EXPECT_FALSE(hbase::shape_by_size(1, 1e-30, 0));
  EXPECT_FALSE(hbase::shape_by_keys(0, 0.01, 0));
  EXPECT_FALSE(hbase::shape_by_keys(std::uint64_t{1} << 31U, 0.01, 0));
  EXPECT_FALSE(hbase::shape_by_keys(0x7fffffff, 1e-9, 0));
}

TEST(HBaseKey, OfRowAndColumnHasTheLayoutOfAKeyValue) {
  const hbase::cell_name cell{"row0", "q0"};
  std::string out(hbase::rowcol_key_bytes(cell), '?');
  EXPECT_EQ(hbase::write_rowcol_key(cell, out), from_hex("0004726f77300071307fffffffffffffffff"));
  EXPECT_EQ(hbase::read_rowcol_key(out), cell);
  const std::string long_row(300, 'r');
  const hbase::cell_name no_column{long_row, ""};
  out.resize(hbase::rowcol_key_bytes(no_column));
  EXPECT_EQ(hbase::read_rowcol_key(hbase::write_rowcol_key(no_column, out)), no_column);
}

TEST(HBaseKey, OtherBytesAreNone) {
  const std::string key = from_hex("0004726f77300071307fffffffffffffffff");
  for (std::size_t size = 0; size < key.size(); ++size) {
    const auto cut = hbase::read_rowcol_key(std::string_view(key).substr(0, size));
    EXPECT_FALSE(cut) << size;
  }
  for (const std::size_t at : {0U, 1U, 6U, 9U, 17U}) {
    std::string other = key;
    other[at] = '\x55';
    EXPECT_FALSE(hbase::read_rowcol_key(other)) << at;
  }
}

// The bytes begin with the length, so they are in another order.
TEST(HBaseKey, IsOrderedByRowAndThenByQualifier) {
  EXPECT_LT((hbase::cell_name{"aaa", "z"}), (hbase::cell_name{"b", "a"}));
  EXPECT_LT((hbase::cell_name{"a", ""}), (hbase::cell_name{"a", "a"}));
  EXPECT_LT((hbase::cell_name{"a", "z"}), (hbase::cell_name{"a\xff", ""}));
  EXPECT_EQ(hbase::prefix_of("row", 8), "row");
  EXPECT_EQ(hbase::prefix_of("row-0001", 4), "row-");
}

}  // namespace
}  // namespace bloomery
