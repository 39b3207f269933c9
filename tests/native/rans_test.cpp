// The codec `rans`: bytes in, the information in them out, and never more memory or time than the header states.
#include <bloomery/native/codec.hpp>
#include <bloomery/native/rans.hpp>
#include <bloomery/sizing/sizing.hpp>

#include "support/typed.hpp"

namespace bloomery::test {
namespace {

bytes coded(const bytes& from) {
  bytes to(rans::bound(from.size()));
  const auto used = rans::compress(from, to, 0);
  if (!used) ADD_FAILURE() << describe(used.error()).c_str();
  to.resize(*used);
  return to;
}

result<bytes> decoded(const bytes& from, std::size_t size) {
  bytes to(size);
  if (auto done = rans::decompress(from, to); !done) return fail(done.error());
  return to;
}

// Independent bits, of which this share is set.
bytes random_bits(std::size_t size, double share, std::uint64_t seed = 1) {
  bytes out(size);
  const auto limit = static_cast<std::uint64_t>(share * 4294967296.0);
  for (std::size_t bit = 0; bit < size * 8; ++bit) {
    if ((mix64(seed * 1'000'003 + bit) >> 32U) < limit) out[bit / 8] |= std::byte{1} << (bit % 8);
  }
  return out;
}

// Counters of 4 bits, small ones more often.
bytes random_counters(std::size_t size) {
  bytes out(size);
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint64_t random = mix64(i);
    const auto low = static_cast<unsigned>(std::countr_zero(random | 1U << 6U));
    const auto high = static_cast<unsigned>(std::countr_zero(random >> 32U | 1U << 6U));
    out[i] = static_cast<std::byte>(high << 4U | low);
  }
  return out;
}

TEST(Rans, GivesEveryBytesBack) {
  for (const std::size_t size : {0U, 1U, 2U, 3U, 7U, 8U, 15U, 16U, 33U, 100U, 255U, 1000U, 4097U, 100'000U}) {
    for (const double share : {0.0, 0.001, 0.02, 0.1, 0.3, 0.5, 0.9, 1.0}) {
      const bytes from = random_bits(size, share);
      const auto again = decoded(coded(from), size);
      ASSERT_TRUE(again) << size << " " << share << ": " << describe(again.error()).c_str();
      EXPECT_TRUE(*again == from) << size << " " << share;
    }
    const bytes counters = random_counters(size);
    EXPECT_TRUE(decoded(coded(counters), size).value_or(bytes{}) == counters) << size;
    for (unsigned byte = 0; byte < 256; byte += 17) {
      const bytes same(size, static_cast<std::byte>(byte));
      EXPECT_TRUE(decoded(coded(same), size).value_or(bytes{}) == same) << size << " " << byte;
    }
  }
}

TEST(Rans, OneByteThatDiffersIsKeptWhereverItIs) {
  for (std::size_t at = 0; at < 70; ++at) {
    bytes from(70);
    from[at] = std::byte{0xa5};
    EXPECT_TRUE(decoded(coded(from), from.size()).value_or(bytes{}) == from) << at;
  }
}

TEST(Rans, TakesWhatTheBitsHoldAndHardlyMore) {
  constexpr std::size_t size = 1'000'000;
  for (const double share : {0.01, 0.05, 0.1, 0.2, 0.3, 0.4}) {
    const bytes from = random_bits(size, share);
    std::uint64_t set = 0;
    for (const std::byte byte : from) set += static_cast<std::uint64_t>(std::popcount(std::to_integer<unsigned>(byte)));
    const double limit = size * sizing::entropy(static_cast<double>(set) / (size * 8.0));
    const auto taken = static_cast<double>(coded(from).size());
    EXPECT_LT(taken, limit * 1.002 + 64) << share;
    EXPECT_GT(taken, limit * 0.998) << share;
  }
  // Numbers of small counters: 0 is as likely as all others together. Order 0 entropy: 2 bits a counter, nearly.
  EXPECT_LT(coded(random_counters(size)).size(), size * 0.5);
}

TEST(Rans, NeverTakesMoreThanOneByteMore) {
  for (const std::size_t size : {0U, 1U, 10U, 100U, 1000U, 100'000U}) {
    bytes random(size);
    for (std::size_t i = 0; i < size; ++i) random[i] = static_cast<std::byte>(mix64(i) & 0xffU);
    EXPECT_LE(coded(random).size(), size + 1);
  }
}

TEST(Rans, NothingExpandsByMoreThanItsLimit) {
  for (const std::size_t size : {1000U, 100'000U, 10'000'000U}) {
    for (const unsigned byte : {0U, 1U, 0x42U, 0xffU}) {
      const std::size_t packed = coded(bytes(size, static_cast<std::byte>(byte))).size();
      EXPECT_GT(packed * rans::max_expansion, size) << byte;
      EXPECT_LT(packed, size / 5000 + 128) << "all the same, so hardly anything: " << byte;
    }
  }
}

// Without the file's checksums in front: whatever the input, it fails or fills the output, with other bytes.
TEST(Rans, EveryTruncationAndEveryChangedByteIsAnErrorOrHarmless) {
  for (const bytes& from : {random_bits(600, 0.05), random_counters(300), random_bits(40, 0.5)}) {
    const bytes whole = coded(from);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_FALSE(decoded({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}, from.size())) << size;
    }
    bytes longer = whole;
    longer.push_back(std::byte{0});
    EXPECT_FALSE(decoded(longer, from.size()));
    bytes file = whole;
    for (std::size_t i = 0; i < file.size(); ++i) {
      for (unsigned change = 1; change < 256; ++change) {
        file[i] ^= static_cast<std::byte>(change);
        const auto got = decoded(file, from.size());
        EXPECT_FALSE(got && whole[0] != std::byte{0} && *got == from) << i << " " << change;
        file[i] ^= static_cast<std::byte>(change);
      }
    }
  }
}

TEST(Rans, OtherSizesThanTheHeadersAreErrors) {
  const bytes from = random_bits(500, 0.1);
  const bytes whole = coded(from);
  ASSERT_NE(whole[0], std::byte{0});
  for (std::size_t size = 0; size < 1000; ++size) EXPECT_EQ(decoded(whole, size).has_value(), size == 500) << size;
}

TEST(Rans, FrequenciesThatAreNotUsableAreRefused) {
  const auto why = [](const bytes& file) {
    const auto got = decoded(file, 100);
    return got ? std::string("no error") : std::string(describe(got.error()).view());
  };
  const std::string not_usable = "cannot be unpacked: its frequencies are not usable";
  bytes by_bits(17 + 16);
  by_bits[0] = std::byte{1};
  store_le(&by_bits[17], std::uint64_t{1} << 31U);
  store_le(&by_bits[25], std::uint64_t{1} << 31U);
  EXPECT_EQ(why(by_bits), not_usable) << "byte 0 alone";
  store_le(&by_bits[1], std::uint16_t{7});
  EXPECT_EQ(why(by_bits), not_usable) << "byte 0 has 65480, more than is allowed";
  store_le(&by_bits[1], std::uint16_t{8185});
  EXPECT_EQ(why(by_bits), not_usable) << "nothing is left for byte 0";
  store_le(&by_bits[1], std::uint16_t{65535});
  EXPECT_EQ(why(by_bits), not_usable) << "more than there is";
  bytes by_byte(33 + 4 + 16);
  by_byte[0] = std::byte{2};
  EXPECT_EQ(why(by_byte), not_usable) << "none at all";
  by_byte[1] = std::byte{3};
  store_le(&by_byte[33], std::uint16_t{30000});
  store_le(&by_byte[35], std::uint16_t{30000});
  EXPECT_EQ(why(by_byte), not_usable) << "too few";
  store_le(&by_byte[35], std::uint16_t{35537});
  EXPECT_EQ(why(by_byte), not_usable) << "too many";
  store_le(&by_byte[33], std::uint16_t{63});
  store_le(&by_byte[35], std::uint16_t{65473});
  EXPECT_EQ(why(by_byte), not_usable) << "one above what is allowed";
  store_le(&by_byte[33], std::uint16_t{64});
  store_le(&by_byte[35], std::uint16_t{65472});
  EXPECT_EQ(why(by_byte), "cannot be unpacked: it begins with a number that no coder makes");
  by_byte[0] = std::byte{3};
  EXPECT_EQ(why(by_byte), "cannot be unpacked: its form is none that is known");
}

TEST(Rans, IsThereWithoutAnyLibrary) {
  const codec* kept_zstd = detail::codec_slot(codec_zstd).exchange(nullptr);
  const auto found = find_codec("rans");
  detail::codec_slot(codec_zstd).store(kept_zstd);
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)->id, codec_rans);
}

// The bytes are part of the file format.
TEST(Rans, TheBytesAreFrozen) {
  bytes from(64);
  for (std::size_t i = 0; i < from.size(); i += 5) from[i] = std::byte{1} << (i % 8);
  const bytes by_bits = coded(from);
  EXPECT_EQ(by_bits[0], std::byte{1});
  EXPECT_EQ(by_bits.size(), 41U);
  EXPECT_EQ(xxh3{}(by_bits.data(), by_bits.size()), 0x96f94fb1b66c958cULL);
  const bytes by_byte = coded(random_counters(2000));
  EXPECT_EQ(by_byte[0], std::byte{2});
  EXPECT_EQ(xxh3{}(by_byte.data(), by_byte.size()), 0x22d36cc47fbf72ffULL);
}

}  // namespace
}  // namespace bloomery::test
