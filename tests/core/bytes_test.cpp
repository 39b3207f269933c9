#include <gtest/gtest.h>

#include <array>
#include <bloomery/core/bytes.hpp>
#include <bloomery/core/wide.hpp>

namespace {

using namespace bloomery;

TEST(Bytes, IntegersAreStoredLittleEndian) {
  std::array<std::byte, 8> bytes{};
  store_le(bytes.data(), std::uint64_t{0x0102030405060708});
  EXPECT_EQ(bytes[0], std::byte{8});
  EXPECT_EQ(bytes[7], std::byte{1});
  EXPECT_EQ(load_le<std::uint64_t>(bytes.data()), 0x0102030405060708U);
  EXPECT_EQ(load_le<std::uint32_t>(bytes.data()), 0x05060708U);
  EXPECT_EQ(load_le<std::uint16_t>(bytes.data()), 0x0708U);
}

TEST(Bytes, IntegersOfOthersMayHaveTheHighestByteFirst) {
  std::array<std::byte, 8> bytes{};
  store_be(bytes.data(), std::uint64_t{0x0102030405060708});
  EXPECT_EQ(bytes[0], std::byte{1});
  EXPECT_EQ(bytes[7], std::byte{8});
  EXPECT_EQ(load_be<std::uint64_t>(bytes.data()), 0x0102030405060708U);
  EXPECT_EQ(load_be<std::uint32_t>(bytes.data()), 0x01020304U);
}

TEST(Bytes, SwapReversesEveryWidth) {
  EXPECT_EQ(byte_swap(std::uint16_t{0x0102}), 0x0201);
  EXPECT_EQ(byte_swap(std::uint32_t{0x01020304}), 0x04030201U);
  EXPECT_EQ(byte_swap(std::uint64_t{0x0102030405060708}), 0x0807060504030201U);
}

TEST(Bytes, AReaderPastTheEndGivesZeroAndSaysSo) {
  const std::array<std::byte, 3> bytes{std::byte{1}, std::byte{2}, std::byte{3}};
  byte_reader reader(bytes);
  EXPECT_EQ(reader.read<std::uint16_t>(), 0x0201);
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.read<std::uint32_t>(), 0U);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.remaining(), 0U);
  EXPECT_TRUE(reader.take(~std::size_t{0}).empty());
}

TEST(Bytes, AWriterPastTheEndDropsAndSaysSo) {
  std::array<std::byte, 5> bytes{};
  byte_writer writer(bytes);
  writer.write(std::uint32_t{0xaabbccdd});
  EXPECT_TRUE(writer.ok());
  writer.write(std::uint16_t{0xffff});
  EXPECT_FALSE(writer.ok());
  EXPECT_EQ(bytes[4], std::byte{0});
  EXPECT_EQ(writer.position(), 4U);
}

TEST(Bytes, DoublesRoundTrip) {
  std::array<std::byte, 8> bytes{};
  byte_writer(bytes).write_double(-0.015625);
  EXPECT_EQ(byte_reader(bytes).read_double(), -0.015625);
}

TEST(Wide, FastRangeCoversTheRangeEvenlyAndStaysInside) {
  EXPECT_EQ(fast_range(0, 1000), 0U);
  EXPECT_EQ(fast_range(~std::uint64_t{0}, 1000), 999U);
  EXPECT_EQ(fast_range(~std::uint64_t{0}, ~std::uint64_t{0}), ~std::uint64_t{0} - 1);
  EXPECT_EQ(fast_range(std::uint64_t{1} << 63U, 1000), 500U);
}

TEST(Wide, CheckedArithmeticSeesOverflow) {
  std::uint64_t out = 0;
  EXPECT_TRUE(checked_multiply(std::uint64_t{1} << 32U, (std::uint64_t{1} << 32U) - 1, out));
  EXPECT_FALSE(checked_multiply(std::uint64_t{1} << 32U, std::uint64_t{1} << 32U, out));
  EXPECT_TRUE(checked_add(1, 2, out));
  EXPECT_FALSE(checked_add(~std::uint64_t{0}, 1, out));
}

}  // namespace
