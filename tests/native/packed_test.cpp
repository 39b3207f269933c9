// Filters made for packed files: how small the file is, and that the rate is the one promised.
#include <bloomery/core/binomial.hpp>
#include <bloomery/native/codec.hpp>

#include <bloomery/kinds/bloom.hpp>

#include "support/typed.hpp"

namespace bloomery::test {
namespace {

constexpr std::uint64_t million = 1'000'000;

bloom packed_bloom(double fpr, std::optional<unsigned> hashes = {}, std::uint64_t keys = million) {
  auto made = bloom::make({.keys = keys, .fpr = fpr, .hashes = hashes.value_or(sizing::packed_hashes(fpr))});
  if (!made) ADD_FAILURE() << describe(made.error()).c_str();
  for (std::uint64_t i = 0; i < keys; ++i) made->insert(sample_digest(i));
  return std::move(*made);
}

double file_bits_per_key(const bloom& filter, std::uint32_t codec) {
  return static_cast<double>(saved(filter, {.codec = codec}).size()) * 8.0 /
         static_cast<double>(filter.capacity_keys());
}

TEST(Packed, AMillionKeysAtOnePercentTakeLessThanAUsualFilter) {
  enable_everything();
  const bloom filter = packed_bloom(0.01);
  EXPECT_EQ(filter.shape().field[1], 2U) << "hash functions";
  EXPECT_LT(file_bits_per_key(filter, codec_rans), 8.97);
  EXPECT_LT(file_bits_per_key(filter, codec_zstd), 9.30);
  EXPECT_LT(file_bits_per_key(filter, codec_gzip), 9.20);
  const auto usual = bloom::plan({.keys = million, .fpr = 0.01});
  EXPECT_GT(usual->bits_per_key, 9.58);
  EXPECT_LT(static_cast<double>(filter.memory_bytes()), 2.0 * static_cast<double>(usual->memory_bytes));
}

TEST(Packed, TheRateIsTheOnePromisedAndNoKeyIsLost) {
  enable_everything();
  const bloom filter = packed_bloom(0.01);
  const auto again = load_bytes<bloom>(saved(filter, {.codec = codec_rans}));
  ASSERT_TRUE(again) << describe(again.error()).c_str();
  EXPECT_TRUE(again->filter == filter);
  std::uint64_t present = 0;
  for (std::uint64_t i = 0; i < million; ++i) present += again->filter.may_contain(sample_digest(i)) ? 1U : 0U;
  EXPECT_EQ(present, million);
  std::uint64_t hits = 0;
  for (std::uint64_t i = 0; i < million; ++i) hits += again->filter.may_contain(sample_digest(i + million)) ? 1U : 0U;
  // With 99.9 % confidence on either side.
  EXPECT_LE(binomial::lower_bound(hits, million, 0.001), 0.01);
  EXPECT_GE(binomial::upper_bound(hits, million, 0.001), 0.0099);
  EXPECT_LE(filter.fpr_now(), 0.0101);
}

TEST(Packed, FewerHashFunctionsThanChosenPackNoBetterWithByteCodes) {
  enable_everything();
  constexpr std::uint64_t keys = 200'000;
  const bloom chosen = packed_bloom(0.01, {}, keys);
  for (const unsigned hashes : {1U, 3U}) {
    const bloom other = packed_bloom(0.01, hashes, keys);
    EXPECT_GT(file_bits_per_key(other, codec_zstd), file_bits_per_key(chosen, codec_zstd)) << hashes;
    EXPECT_GT(file_bits_per_key(other, codec_gzip), file_bits_per_key(chosen, codec_gzip)) << hashes;
  }
  // rans goes on, for ten times the memory.
  EXPECT_LT(file_bits_per_key(packed_bloom(0.01, 1), codec_rans), 8.12);
}

TEST(Packed, HashFunctionsFollowTheRateWithinTwiceTheMemory) {
  EXPECT_EQ(sizing::packed_hashes(0.1), 1U);
  EXPECT_EQ(sizing::packed_hashes(0.01), 2U);
  EXPECT_EQ(sizing::packed_hashes(0.001), 3U);
  EXPECT_EQ(sizing::packed_hashes(1e-6), 6U);
  EXPECT_EQ(sizing::packed_hashes(0.5), 1U);
  EXPECT_EQ(sizing::packed_hashes(0.01, 11.0), 1U) << "with more memory";
  EXPECT_EQ(sizing::packed_hashes(0.01, 1.3), 3U) << "with less";
  for (double fpr = 0.9; fpr > 1e-15; fpr *= 0.7) {
    const auto usual = bloom::plan({.keys = million, .fpr = fpr});
    const auto plan = bloom::plan({.keys = million, .fpr = fpr, .hashes = sizing::packed_hashes(fpr)});
    ASSERT_TRUE(usual && plan) << fpr;
    EXPECT_LE(plan->bits_per_key, 2.01 * usual->bits_per_key) << fpr;
    EXPECT_LE(plan->fpr, fpr);
    EXPECT_LE(sizing::packed_bits_per_key(*plan), usual->bits_per_key * 1.0001) << fpr;
  }
}

TEST(Packed, ThePlanTellsTheSizeOfTheFile) {
  enable_everything();
  for (const double fpr : {0.1, 0.01, 0.001}) {
    const auto plan = bloom::plan({.keys = million, .fpr = fpr, .hashes = sizing::packed_hashes(fpr)});
    const double file = file_bits_per_key(packed_bloom(fpr), codec_rans);
    EXPECT_NEAR(file / sizing::packed_bits_per_key(*plan), 1.0, 0.012) << fpr;  // the header is 0.03 bits a key
  }
}

// Zstd and gzip at their usual level are never worse than they were.
TEST(Packed, ASearchThatPaysIsKept) {
  enable_everything();
  bytes repeated(100'000);
  for (std::size_t i = 0; i < repeated.size(); ++i) repeated[i] = static_cast<std::byte>(mix64(i % 1000) & 0xffU);
  for (const std::uint32_t id : {codec_zstd, codec_gzip}) {
    const codec* found = *find_codec(id);
    bytes to(found->bound(repeated.size()));
    const auto used = found->compress(repeated, to, 0);
    ASSERT_TRUE(used);
    EXPECT_LT(*used, 3000U) << found->name;
    bytes again(repeated.size());
    ASSERT_TRUE(found->decompress(std::span(to).first(*used), again));
    EXPECT_TRUE(again == repeated);
  }
}

}  // namespace
}  // namespace bloomery::test
