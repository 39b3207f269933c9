// Keys of any type: the bytes that are hashed for them, and that every way to a digest agrees.
#include <gtest/gtest.h>
#include <bloomery/hash/list.hpp>

#include <array>
#include <bloomery/hash/hasher.hpp>
#include <bloomery/hash/key.hpp>
#include <cstring>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace shop {

struct order {
  std::uint32_t customer = 0;
  std::string item;
};
template <class Sink>
void bloomery_funnel(Sink& sink, const order& value) {
  sink.put(value.customer);
  sink.put(value.item);
}

}  // namespace shop

namespace {

using namespace bloomery;
constexpr xxh3 seeded{.seed = 3};

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
std::uint64_t raw(const std::string& bytes) { return seeded(bytes.data(), bytes.size()); }
std::string little_endian_text(std::uint64_t value) {
  std::string bytes(8, '\0');
  store_le(bytes.data(), value);
  return bytes;
}
std::string field(const std::string& bytes) { return static_cast<char>(bytes.size()) + bytes; }
template <class Tuple>
std::string encoding(const Tuple& tuple) {
  tuple_sink<xxh3> sink(seeded);
  sink.put_all(tuple);
  return text_of(sink.bytes());
}

TEST(Key, StringsOfEveryTypeAreTheirBytes) {
  const std::uint64_t expected = seeded("abc", 3);
  const std::array<std::byte, 3> bytes = {std::byte{'a'}, std::byte{'b'}, std::byte{'c'}};
  EXPECT_EQ(digest_of(seeded, "abc"), expected);
  EXPECT_EQ(digest_of(seeded, static_cast<const char*>("abc")), expected);
  EXPECT_EQ(digest_of(seeded, std::string("abc")), expected);
  EXPECT_EQ(digest_of(seeded, std::string_view("abc")), expected);
  EXPECT_EQ(digest_of(seeded, bytes), expected);
  EXPECT_EQ(digest_of(seeded, std::span<const std::byte>(bytes)), expected);
  EXPECT_EQ(digest_of(seeded, std::vector<unsigned char>{'a', 'b', 'c'}), expected);
  EXPECT_EQ(digest_of(seeded, std::vector<char>{'a', 'b', 'c'}), expected);
  EXPECT_EQ(digest_of(seeded, std::string("a\0b", 3)), seeded("a\0b", 3));
  EXPECT_EQ(digest_of(seeded, std::string_view()), seeded("", 0));
}

enum class colour : std::int8_t { red = -2, blue = 7 };
enum plain { first = 1 };

TEST(Key, IntegersOfEveryWidthAreEightBytes) {
  const std::uint64_t five = raw(little_endian_text(5));
  EXPECT_EQ(digest_of(seeded, 5), five);
  EXPECT_EQ(digest_of(seeded, std::int8_t{5}), five);
  EXPECT_EQ(digest_of(seeded, std::uint16_t{5}), five);
  EXPECT_EQ(digest_of(seeded, 5ULL), five);
  EXPECT_EQ(digest_of(seeded, true), raw(little_endian_text(1)));
  EXPECT_EQ(digest_of(seeded, plain::first), raw(little_endian_text(1)));
  EXPECT_EQ(digest_of(seeded, colour::blue), raw(little_endian_text(7)));
}

TEST(Key, NegativeIntegersAreSignExtended) {
  EXPECT_EQ(digest_of(seeded, std::int8_t{-1}), raw(std::string(8, '\xff')));
  EXPECT_EQ(digest_of(seeded, -1), raw(std::string(8, '\xff')));
  EXPECT_EQ(digest_of(seeded, colour::red), raw('\xfe' + std::string(7, '\xff')));
  EXPECT_NE(digest_of(seeded, -1), digest_of(seeded, 0xffffffffU));
}

TEST(Key, CharIsUnsignedOnEveryMachine) { EXPECT_EQ(digest_of(seeded, '\xff'), digest_of(seeded, 255)); }

TEST(Key, WeakHashesAreFinished) {
  EXPECT_EQ(digest_of(fnv1a{}, "abc"), mix64(fnv1a{}("abc", 3)));
  EXPECT_EQ(digest_of(lookup3{}, 1), mix64(lookup3{}(little_endian_text(1).data(), 8)));
}

TEST(Key, WideDigestsHashTheSameBytes) {
  EXPECT_EQ(digest128_of(seeded, "abc"), seeded.hash128("abc", 3));
  EXPECT_EQ(digest128_of(seeded, 5), seeded.hash128(little_endian_text(5).data(), 8));
  const std::string bytes = encoding(std::pair(1, "x"));
  EXPECT_EQ(digest128_of(seeded, std::pair(1, "x")), seeded.hash128(bytes.data(), bytes.size()));
}

TEST(Key, PrehashedIsNotHashed) {
  EXPECT_EQ(digest_of(seeded, prehashed{42}), 42U);
  EXPECT_EQ(digest_of(fnv1{}, prehashed{42}), 42U);
  const prehashed128 wide{.digest = {.low = 1, .high = 2}};
  EXPECT_EQ(digest_of(seeded, wide), 1U);
  EXPECT_EQ(digest128_of(seeded, wide), (digest128{.low = 1, .high = 2}));
}

TEST(Key, IdentityGivesTheIntegerItself) {
  EXPECT_EQ(digest_of(identity{}, 123456789), 123456789U);
  EXPECT_EQ(digest_of(identity{}, -1), ~0ULL);
}

TEST(Key, AHasherAgreesWithTheHashItself) {
  const hasher chosen = hasher::of(seeded);
  EXPECT_EQ(digest_of(chosen, "abc"), digest_of(seeded, "abc"));
  EXPECT_EQ(digest_of(chosen, -7), digest_of(seeded, -7));
  EXPECT_EQ(digest_of(chosen, std::tuple(1, "two", std::pair(3, "four"))),
            digest_of(seeded, std::tuple(1, "two", std::pair(3, "four"))));
  EXPECT_EQ(digest128_of(chosen, shop::order{.customer = 1, .item = "x"}),
            digest128_of(seeded, shop::order{.customer = 1, .item = "x"}));
  EXPECT_EQ(digest_of(hasher::of(fnv1{}), "abc"), digest_of(fnv1{}, "abc"));
}

TEST(Tuple, FieldsCarryTheirLength) {
  EXPECT_EQ(encoding(std::tuple("ab", "c")),
            "\x02"
            "ab"
            "\x01"
            "c");
  EXPECT_EQ(encoding(std::tuple("a", "bc")),
            "\x01"
            "a"
            "\x02"
            "bc");
  EXPECT_EQ(encoding(std::tuple("", "")), std::string(2, '\0'));
  EXPECT_EQ(encoding(std::tuple(std::uint8_t{7})), "\x08" + little_endian_text(7));
  EXPECT_EQ(encoding(std::tuple<>()), "");
  EXPECT_EQ(digest_of(seeded, std::tuple("ab", "c")), raw("\x02"
                                                          "ab"
                                                          "\x01"
                                                          "c"));
}

TEST(Tuple, NeverConfusesWhereFieldsEnd) {
  std::set<std::uint64_t> digests;
  digests.insert(digest_of(seeded, std::tuple("ab", "c")));
  digests.insert(digest_of(seeded, std::tuple("a", "bc")));
  digests.insert(digest_of(seeded, std::tuple("abc", "")));
  digests.insert(digest_of(seeded, std::tuple("", "abc")));
  digests.insert(digest_of(seeded, std::tuple("abc")));
  digests.insert(digest_of(seeded, std::tuple("a", "b", "c")));
  digests.insert(digest_of(seeded, std::tuple(std::tuple("a", "b"), "c")));
  digests.insert(digest_of(seeded, std::tuple("a", std::tuple("b", "c"))));
  EXPECT_EQ(digests.size(), 8U);
}

TEST(Tuple, ANestedTupleIsOneField) {
  EXPECT_EQ(encoding(std::tuple("x", std::tuple("ab", "c"))), field("x") + field(field("ab") + field("c")));
  EXPECT_EQ(encoding(std::make_tuple(std::make_tuple(std::make_tuple("z")))), field(field(field("z"))));
}

TEST(Tuple, PairsAndArraysAreTuples) {
  EXPECT_EQ(encoding(std::pair("a", 1)), encoding(std::tuple("a", 1)));
  EXPECT_EQ(encoding(std::array<int, 2>{1, 2}), encoding(std::tuple(1, 2)));
}

TEST(Tuple, PrehashedFieldsAreTheirLittleEndianBytes) {
  EXPECT_EQ(encoding(std::tuple(prehashed{9})), field(little_endian_text(9)));
  EXPECT_EQ(encoding(std::tuple(prehashed128{.digest = {.low = 9, .high = 8}})),
            field(little_endian_text(9) + little_endian_text(8)));
}

TEST(Tuple, LengthsAboveOneByteAreLeb128) {
  EXPECT_EQ(encoding(std::tuple(std::string(127, 'x'))), "\x7f" + std::string(127, 'x'));
  EXPECT_EQ(encoding(std::tuple(std::string(128, 'x'))), "\x80\x01" + std::string(128, 'x'));
  EXPECT_EQ(encoding(std::tuple(std::string(300, 'x'))), "\xac\x02" + std::string(300, 'x'));
}

TEST(Funnel, IsEncodedAsATuple) {
  const shop::order value{.customer = 7, .item = "lamp"};
  EXPECT_EQ(digest_of(seeded, value), digest_of(seeded, std::tuple(7, "lamp")));
  EXPECT_EQ(encoding(std::tuple("a", value)), encoding(std::tuple("a", std::tuple(7, "lamp"))));
}

std::string wide_digest_text(const std::string& bytes) {
  const auto digest = seeded.hash128(bytes.data(), bytes.size());
  return little_endian_text(digest.low) + little_endian_text(digest.high);
}

TEST(TupleSink, KeepsFieldsOfUpTo512BytesAndDigestsLongerOnes) {
  const std::string fits(512, 'x');
  const std::string too_long(513, 'x');
  EXPECT_EQ(encoding(std::tuple(fits)), "\x80\x04" + fits);
  EXPECT_EQ(encoding(std::tuple(too_long)), std::string("\x81\x00\x81\x04", 4) + wide_digest_text(too_long));
}

TEST(TupleSink, FoldsWhatIsThereWhenTheNextFieldDoesNotFit) {
  tuple_sink<xxh3> sink(seeded);
  const std::string part(255, 'p');  // 2 + 255 bytes encoded: three of them and 253 fill the buffer exactly
  std::string plain;
  for (int i = 0; i < 3; ++i) {
    sink.put(part);
    plain += "\xff\x01" + part;
  }
  const std::string last(251, 'q');
  sink.put(last);
  plain += "\xfb\x01" + last;
  ASSERT_EQ(plain.size(), tuple_sink<xxh3>::buffer_bytes);
  EXPECT_EQ(text_of(sink.bytes()), plain);
  sink.put("z");
  EXPECT_EQ(text_of(sink.bytes()), std::string("\x80\x00", 2) + wide_digest_text(plain) + field("z"));
  EXPECT_EQ(sink.digest(), raw(text_of(sink.bytes())));
}

TEST(TupleSink, FoldsWithEightBytesUnderA64BitHash) {
  tuple_sink<siphash24> sink(siphash24{});
  const std::string part(500, 'p');
  for (int i = 0; i < 3; ++i) sink.put(part);
  const std::string folded = "\xf4\x03" + part + "\xf4\x03" + part;
  const std::string expected =
      std::string("\x80\x00", 2) + little_endian_text(siphash24{}(folded.data(), folded.size())) + "\xf4\x03" + part;
  EXPECT_EQ(text_of(sink.bytes()), expected);
}

TEST(TupleSink, EveryPartCountsHoweverManyThereAre) {
  // 200 parts of 40 bytes fold many times; changing any one of them changes the digest.
  const auto digest_with = [](int changed) {
    tuple_sink<xxh3> sink(seeded);
    for (int i = 0; i < 200; ++i) sink.put(std::string(40, i == changed ? 'X' : 'x'));
    return sink.digest();
  };
  std::set<std::uint64_t> digests;
  for (int changed = -1; changed < 200; ++changed) digests.insert(digest_with(changed));
  EXPECT_EQ(digests.size(), 201U);
}

TEST(TupleSink, AFoldCannotBeForgedByAPlainField) {
  // The bytes of a folded sink, as fields, do not give the folded sink's bytes: no length starts with 80 00.
  tuple_sink<xxh3> folded(seeded);
  for (int i = 0; i < 5; ++i) folded.put(std::string(400, 'x'));
  ASSERT_EQ(text_of(folded.bytes()).substr(0, 2), std::string("\x80\x00", 2));
  for (std::size_t size = 0; size <= 512; ++size) {
    tuple_sink<xxh3> plain(seeded);
    plain.put(std::string(size, 'x'));
    const std::string start = text_of(plain.bytes()).substr(0, 2);
    ASSERT_NE(start, std::string("\x80\x00", 2));
    ASSERT_NE(start, std::string("\x81\x00", 2));
  }
}

TEST(TupleSink, ClearStartsAfresh) {
  tuple_sink<xxh3> sink(seeded);
  sink.put("left over");
  sink.clear();
  sink.put("a");
  EXPECT_EQ(sink.digest(), digest_of(seeded, std::tuple("a")));
}

TEST(TupleSink, SaysWhetherItsBytesAreTheWholeKey) {
  const auto is_whole = [](const auto& key) {
    tuple_sink<xxh3> sink(seeded);
    sink.put_all(key);
    return sink.is_whole();
  };
  const std::string fits(512, 'x');
  const std::string too_long(513, 'x');
  EXPECT_TRUE(is_whole(std::tuple(fits, fits.substr(0, 508))));
  EXPECT_FALSE(is_whole(std::tuple(fits, fits.substr(0, 509))));
  EXPECT_FALSE(is_whole(std::tuple(1, too_long)));
  EXPECT_TRUE(is_whole(std::tuple(1, std::tuple(2, "x"))));
  EXPECT_FALSE(is_whole(std::tuple(1, std::tuple(too_long), 2)));
  EXPECT_FALSE(is_whole(std::tuple(std::tuple(too_long), std::tuple("x"))));
  tuple_sink<xxh3> sink(seeded);
  sink.put(too_long);
  sink.clear();
  EXPECT_TRUE(sink.is_whole());
}

TEST(Key, ItsBytesAreThoseThatAreHashed) {
  const auto check = [](const auto& key, bool expected_whole) {
    with_key_bytes(seeded, key, [&](std::span<const std::byte> bytes, bool whole) {
      EXPECT_EQ(seeded(bytes.data(), bytes.size()), digest_of(seeded, key));
      EXPECT_EQ(whole, expected_whole);
    });
  };
  check("text", true);
  check(std::string(5000, 'x'), true);
  check(-7, true);
  check(std::tuple("user", 42), true);
  check(std::tuple("user", std::string(513, 'x')), false);
}

TEST(FieldSink, GivesTheBytesOfTheTupleWithEveryHash) {
  const std::array<std::byte, 32> secret{};
  const std::string long_field(3000, 'l');
  for_each_type(hash_list{}, [&](auto tag) {
    using chosen = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<chosen, identity>) {
      const auto made = hasher::make(chosen::info.name, 0, std::span(secret).first(chosen::info.key_bytes));
      ASSERT_TRUE(made);
      field_sink sink(*made);
      tuple_sink<chosen> expected{chosen{}};
      for (int i = 0; i < 40; ++i) {
        const std::string part(static_cast<std::size_t>(i * 7), 'f');
        sink.put(part);
        expected.put(part);
      }
      sink.put(long_field);
      expected.put(long_field);
      EXPECT_EQ(text_of(sink.bytes()), text_of(expected.bytes())) << chosen::info.name;
      EXPECT_EQ(sink.digest(), expected.digest()) << chosen::info.name;
    }
  });
}

TEST(Keys, OfATupleNeverCollideInAGrid) {
  std::set<std::uint64_t> digests;
  for (int i = 0; i < 100; ++i) {
    for (int j = 0; j < 100; ++j) digests.insert(digest_of(seeded, std::tuple(std::to_string(i), std::to_string(j))));
  }
  EXPECT_EQ(digests.size(), 10000U);
}

}  // namespace
