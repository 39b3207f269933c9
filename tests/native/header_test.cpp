// The header: where its fields are, what it refuses, and what it reports of files that are not filters.
#include <cmath>
#include <limits>

#include <bloomery/core/bytes.hpp>
#include <bloomery/native/header.hpp>

#include "support/typed.hpp"

namespace bloomery::test {
namespace {

file_header some_header() {
  file_header header;
  header.kind_id = 0x01020304;
  header.hash = {.id = 0x11121314, .seed = 0x2122232425262728, .key_id = 0x3132333435363738};
  header.shape = {.capacity_keys = 0x4142434445464748,
                  .fpr = 0.25,
                  .keys = 0x5152535455565758,
                  .keys_exact = true,
                  .digest_bits = 128,
                  .field = {1, 2, 3, 4, 5, 6, 7, 0x6162636465666768}};
  header.payload_bytes = 40;
  header.stored_bytes = 40;
  return header;
}

bytes encoded(const file_header& header) {
  bytes out(large_header_bytes);
  const auto size = encode_header(header, out);
  EXPECT_TRUE(size);
  out.resize(size ? *size : 0);
  return out;
}

// A file whose header is `header`, filled up to the size that it implies.
bytes whole_file(const file_header& header) {
  bytes file = encoded(header);
  file.resize(header.file_bytes());
  return file;
}

std::string decode_error(const bytes& file) {
  const auto header = decode_header(file, file.size());
  return header ? std::string("no error") : std::string(describe(header.error()).view());
}

TEST(Header, IsReadBackAsItWasWritten) {
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{41}, std::uint64_t{65535}, std::uint64_t{65536}}) {
    file_header written = some_header();
    written.payload_bytes = size;
    written.stored_bytes = size;
    written.shape.keys_exact = size == 41;
    const bytes file = whole_file(written);
    const auto read = decode_header(file, file.size());
    ASSERT_TRUE(read) << describe(read.error()).c_str();
    EXPECT_EQ(read->kind_id, written.kind_id);
    EXPECT_EQ(read->hash, written.hash);
    EXPECT_EQ(read->shape.capacity_keys, written.shape.capacity_keys);
    EXPECT_EQ(read->shape.fpr, written.shape.fpr);
    EXPECT_EQ(read->shape.keys, written.shape.keys);
    EXPECT_EQ(read->shape.keys_exact, written.shape.keys_exact);
    EXPECT_EQ(read->shape.digest_bits, written.shape.digest_bits);
    EXPECT_EQ(read->shape.field, written.shape.field);
    EXPECT_EQ(read->payload_bytes, size);
    EXPECT_EQ(read->stored_bytes, size);
    EXPECT_EQ(read->codec, codec_none);
  }
}

TEST(Header, FieldsLieWhereTheDocumentSays) {
  const bytes file = encoded(some_header());
  ASSERT_EQ(file.size(), 256U);
  const bytes magic = as_bytes(
      "\x89"
      "BLMY\r\n\x1a");
  EXPECT_TRUE(std::equal(magic.begin(), magic.end(), file.begin()));
  EXPECT_EQ(load_le<std::uint16_t>(&file[8]), 1);
  EXPECT_EQ(load_le<std::uint16_t>(&file[10]), 1);
  EXPECT_EQ(load_le<std::uint32_t>(&file[12]), 0x01020304U);
  EXPECT_EQ(load_le<std::uint32_t>(&file[16]), 0x11121314U);
  EXPECT_EQ(load_le<std::uint32_t>(&file[20]), 128U);
  EXPECT_EQ(load_le<std::uint64_t>(&file[24]), 0x2122232425262728U);
  EXPECT_EQ(load_le<std::uint64_t>(&file[32]), 0x3132333435363738U);
  EXPECT_EQ(load_le<std::uint64_t>(&file[40]), 0x4142434445464748U);
  EXPECT_EQ(load_le<std::uint64_t>(&file[48]), 0x5152535455565758U);
  EXPECT_EQ(load_le<std::uint64_t>(&file[56]), 0x3fd0000000000000U);  // 0.25
  EXPECT_EQ(load_le<std::uint64_t>(&file[64]), 40U);
  EXPECT_EQ(load_le<std::uint64_t>(&file[72]), 40U);
  EXPECT_EQ(load_le<std::uint32_t>(&file[80]), 0U);
  EXPECT_EQ(load_le<std::uint32_t>(&file[84]), 12U);
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(load_le<std::uint64_t>(&file[88 + 8 * i]), i + 1);
  EXPECT_EQ(load_le<std::uint64_t>(&file[144]), 0x6162636465666768U);
  EXPECT_TRUE(all_zero(std::span(file).subspan(152, 248 - 152)));
  EXPECT_EQ(load_le<std::uint64_t>(&file[248]), XXH3_64bits(file.data(), 248));
}

TEST(Header, PayloadsFrom64KibibytesOnStartOnAPage) {
  file_header header = some_header();
  header.stored_bytes = 65535;
  EXPECT_EQ(header.payload_offset(), 256U);
  EXPECT_EQ(header.checksums_offset(), 256U + 65536U);
  EXPECT_EQ(header.file_bytes(), 256U + 65536U + 16U * 8U);
  header.stored_bytes = 65536;
  EXPECT_EQ(header.payload_offset(), 4096U);
  EXPECT_EQ(header.file_bytes(), 4096U + 65536U + 16U * 8U);
  header.stored_bytes = 65537;
  EXPECT_EQ(header.file_bytes(), 4096U + 65544U + 17U * 8U);
}

TEST(Header, NewerVersionIsRefusedByItsNumber) {
  bytes file = whole_file(some_header());
  store_le<std::uint16_t>(&file[8], 2);
  const auto header = decode_header(file, file.size());  // the checksum of a version to come may lie elsewhere
  ASSERT_FALSE(header);
  EXPECT_EQ(header.error().code, errc::newer_version);
  EXPECT_EQ(describe(header.error()).view(),
            "was written by a newer Bloomery (file version 2, this one reads up to 1): update Bloomery");
  store_le<std::uint16_t>(&file[8], 0);
  EXPECT_EQ(decode_error(file), "its header is not usable: field version has value 0");
}

TEST(Header, DamageIsCalledDamage) {
  bytes file = whole_file(some_header());
  file[50] ^= std::byte{1};
  const auto header = decode_header(file, file.size());
  ASSERT_FALSE(header);
  EXPECT_EQ(header.error().code, errc::header_damaged);
}

TEST(Header, SizesThatDoNotFitTheFileAreRefused) {
  bytes file = whole_file(some_header());
  EXPECT_EQ(file.size(), 304U);
  file.push_back(std::byte{0});
  EXPECT_EQ(decode_error(file), "has 305 bytes and should have 304: something was appended; copy or build it again");
  file.resize(303);
  EXPECT_EQ(decode_error(file), "is cut short: it has 303 bytes and should have 304; copy or build it again");
  file.resize(100);
  EXPECT_EQ(decode_error(file), "is cut short: it has 100 bytes and should have 256; copy or build it again");
  file.clear();
  EXPECT_EQ(decode_error(file), "is empty: a filter file has at least 256 bytes");
}

template <class T>
std::string error_with(std::size_t offset, T value) {
  bytes file = whole_file(some_header());
  store_le<T>(&file[offset], value);
  seal_header(file);
  return decode_error(file);
}

TEST(Header, UnusableFieldsUnderARightChecksumAreRefused) {
  const auto refused = [](std::string_view field, std::string_view value) {
    return "its header is not usable: field " + std::string(field) + " has value " + std::string(value);
  };
  EXPECT_EQ(error_with<std::uint16_t>(10, 3), refused("flags", "3"));
  EXPECT_EQ(error_with<std::uint32_t>(20, 32), refused("digest bits", "32"));
  EXPECT_EQ(error_with<std::uint64_t>(64, 48), refused("payload bytes", "48"));
  EXPECT_EQ(error_with<std::uint32_t>(80, 4), refused("compression", "4"));
  EXPECT_EQ(error_with<std::uint32_t>(84, 13), refused("chunk size", "13"));
  EXPECT_EQ(error_with<std::uint8_t>(168, 1), refused("reserved bytes", "1"));
  EXPECT_EQ(error_with<std::uint8_t>(247, 1), refused("reserved bytes", "1"));
}

TEST(Header, RatesThatAreNoRatesAreRefused) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double rate : {std::nan(""), infinity, -infinity, -0.25, -0.0, 1.5}) {
    const std::string error = error_with<std::uint64_t>(56, std::bit_cast<std::uint64_t>(rate));
    EXPECT_TRUE(error.starts_with("its header is not usable: field false-positive rate")) << rate << ": " << error;
    file_header header = some_header();
    header.shape.fpr = rate;
    bytes out(large_header_bytes);
    EXPECT_FALSE(encode_header(header, out)) << rate;
  }
  EXPECT_EQ(error_with<std::uint64_t>(56, std::bit_cast<std::uint64_t>(0.0)), "no error");
}

TEST(Header, SizesBeyondAllFilesAreRefused) {
  bytes file(large_header_bytes);
  file_header header = some_header();
  header.stored_bytes = header.payload_bytes = 65536;
  ASSERT_TRUE(encode_header(header, file));
  for (const std::uint64_t size : {(std::uint64_t{1} << 62U) + 1, ~std::uint64_t{0}, ~std::uint64_t{0} - 4096}) {
    store_le(&file[64], size);
    store_le(&file[72], size);
    store_le(&file[4088], xxh3{}(file.data(), 4088));
    const auto read = decode_header(file, file.size());
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, errc::bad_field);
  }
  store_le(&file[64], std::uint64_t{1} << 62U);
  store_le(&file[72], std::uint64_t{1} << 62U);
  store_le(&file[4088], xxh3{}(file.data(), 4088));
  EXPECT_EQ(decode_header(file, file.size()).error().code, errc::truncated);
}

TEST(Header, OtherFilesAreShownByTheirFirstBytes) {
  const auto said = [](std::string_view first) {
    bytes file = as_bytes(first);
    file.resize(300, std::byte{'\n'});
    const std::string error = decode_error(file);
    const std::string front = "is not a Bloomery filter: it starts with ";
    EXPECT_TRUE(error.starts_with(front)) << error;
    return error.substr(front.size());
  };
  EXPECT_EQ(said("{\"name\": 1}"), "\"{\\\"name\\\": 1}\\x0a\" (JSON)");
  EXPECT_EQ(said("a\\b\tc"), "\"a\\\\b\\x09c\\x0a\\x0a\\x0a\\x0a\\x0a\\x0a\\x0a\" (text)");
  EXPECT_EQ(said("\x1f\x8b\x08 and so on"), "\"\\x1f\\x8b\\x08 and so o\" (gzip: unpack it first)");
  EXPECT_EQ(said("\x28\xb5\x2f\xfd and so on"), "\"(\\xb5/\\xfd and so \" (zstd: unpack it first)");
  EXPECT_EQ(said("\x7f"
                 "ELF\x02\x01\x01 123456"),
            "\"\\x7fELF\\x02\\x01\\x01 1234\" (a program)");
  EXPECT_EQ(said("\x89"
                 "BLMY\n\x1a  123456"),
            "\"\\x89BLMY\\x0a\\x1a  123\" (a filter that was copied as text: copy it as binary)");
}

}  // namespace
}  // namespace bloomery::test
