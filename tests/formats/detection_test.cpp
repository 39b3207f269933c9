// Which format a file is detected as by its content.
#include "src/formats/formats.hpp"

#include "support/format_files.hpp"

namespace bloomery {
namespace {

using namespace test;
using formats::confidence;
using formats::detection;
using formats::detection_input;
using formats::format;

detection_input input_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.first(std::min(bytes.size(), formats::detection_bytes)), text.size(),
          bytes.last(std::min(bytes.size(), formats::last_detection_bytes))};
}

std::string found_in(std::span<const format* const> list, std::string_view text) {
  const auto found = formats::detect_among(list, input_of(text));
  return std::string(found ? (*found)->name : describe(found.error()).view());
}

template <confidence Sure, char First>
detection look_for(const detection_input& seen) noexcept {
  return {!seen.first.empty() && seen.first.front() == std::byte{First} ? Sure : confidence::no, no_limit};
}

format made_up(std::string_view name, detection (*look)(const detection_input&) noexcept) {
  format form;
  form.name = name;
  form.detect = look;
  return form;
}

TEST(Detection, TheSurestWinsAndEquallySureOnesAreNamed) {
  const format signed_a = made_up("signed", look_for<confidence::signature, 'a'>);
  const format fits_a = made_up("one", look_for<confidence::fits, 'a'>);
  const format fits_b = made_up("two", look_for<confidence::fits, 'b'>);
  const format fits_b_too = made_up("three", look_for<confidence::fits, 'b'>);
  const format weak_c = made_up("four", look_for<confidence::weak, '\x01'>);
  const format weak_c_too = made_up("five", look_for<confidence::weak, '\x01'>);
  const std::array<const format*, 6> list = {&signed_a, &fits_a, &fits_b, &fits_b_too, &weak_c, &weak_c_too};
  EXPECT_EQ(found_in(list, "abc"), "signed");
  EXPECT_EQ(found_in(list, "bcd"), "may be a filter in any of these formats: two, three; name its format");
  EXPECT_EQ(found_in(list, "\x01\x02"),
            "is not a filter in any known format: it starts with \"\\x01\\x02\"; could be four, five; name its format");
  EXPECT_EQ(found_in(list, "zzz"), "is not a filter in any known format: it starts with \"zzz\" (text)");
  EXPECT_EQ(found_in(std::span(list).subspan(1, 3), "abc"), "one");
}

TEST(Detection, WhatIsWellKnownIsNotTakenForAWeakFormat) {
  const format weak = made_up("weak", look_for<confidence::weak, '\x1f'>);
  const std::array<const format*, 1> list = {&weak};
  EXPECT_EQ(found_in(list, "\x1f\x8b\x08"),
            "is not a filter in any known format: it starts with \"\\x1f\\x8b\\x08\" (gzip: unpack it first)");
}

std::string told(std::string_view text) { return found_in(formats::list(), text); }

TEST(Detection, FilesOfEachFormatAreTold) {
  EXPECT_EQ(told(golden("dcso/n100_p0.01.bloom")), "dcso");
  EXPECT_EQ(told(golden("dcso/n100_p0.01_data.bloom")), "dcso");
  EXPECT_EQ(told(golden("dcso/n100_p0.01.bloom.gz")), "dcso");
  EXPECT_EQ(told(golden("dcso/empty_n100_p0.01.bloom")), "dcso");
  for (const char* name : {"n100_p0.01", "n101_p0.1", "n1_p0.5"}) {
    EXPECT_EQ(told(golden(std::string("bits-and-blooms/") + name + ".bin")), "bits-and-blooms") << name;
    EXPECT_EQ(told(golden(std::string("bits-and-blooms/") + name + ".json")), "bits-and-blooms") << name;
  }
  EXPECT_EQ(told(golden("native/bloom.bloom")), "native");
}

TEST(Detection, AFileThatOnlyFitsMustHaveExactlyItsSize) {
  const std::string file = golden("bits-and-blooms/n101_p0.1.bin");
  EXPECT_EQ(told(file), "bits-and-blooms");
  EXPECT_NE(told(file + "x"), "bits-and-blooms");
  EXPECT_NE(told(file.substr(0, file.size() - 1)), "bits-and-blooms");
}

TEST(Detection, JsonIsToldByItsMembers) {
  EXPECT_EQ(told(R"({"m":2,"k":2,"b":"AAAA)"), "bits-and-blooms") << "what is cut off is for the reader to say";
  EXPECT_EQ(told(R"({"b":"AAAA)"), "bits-and-blooms");
  EXPECT_NE(told(R"({"name":"x"})"), "bits-and-blooms");
  EXPECT_NE(told(R"({"m":"x"})"), "bits-and-blooms");
  EXPECT_NE(told("{"), "bits-and-blooms");
  EXPECT_NE(told("[]"), "bits-and-blooms");
}

TEST(Detection, OtherFilesAreCalledWhatTheyLookLike) {
  const std::string none = "is not a filter in any known format: it starts with ";
  const auto guess = [&](std::string_view text) {
    const std::string said = told(text);
    EXPECT_EQ(said.rfind(none, 0), 0U) << said;
    const std::size_t at = said.rfind(" (");
    return at == std::string::npos ? std::string() : said.substr(at + 1);
  };
  EXPECT_EQ(guess("hello\nworld\n"), "(text)");
  EXPECT_EQ(guess("\x1f\x8b\x08 not a filter"), "(gzip: unpack it first)");
  EXPECT_EQ(guess("\x28\xb5\x2f\xfd...."), "(zstd: unpack it first)");
  EXPECT_EQ(guess(std::string_view("\xfd\x37zXZ\0\0\4", 8)), "(xz: unpack it first)");
  EXPECT_EQ(guess("BZh91AY"), "(bzip2: unpack it first)");
  EXPECT_EQ(guess("PK\x03\x04\x14"), "(zip: unpack it first)");
  EXPECT_EQ(guess("\x7f\x45LF\x02\x01"), "(a program)");
  EXPECT_EQ(guess("\x89PNG\r\n\x1a\n"), "(a PNG image)");
  EXPECT_EQ(guess("\xff\xd8\xff\xe0"), "(a JPEG image)");
  EXPECT_EQ(guess("%PDF-1.7\n"), "(a PDF document)");
  EXPECT_EQ(guess(std::string_view("SQLite format 3\0\x10", 17)), "(an SQLite database)");
  EXPECT_EQ(guess("PAR1\x15\x06"), "(a Parquet file)");
  EXPECT_EQ(guess("REDIS0011\xfa"), "(a Redis database file)");
  EXPECT_EQ(guess(std::string_view("\xac\xed\0\5sr", 6)), "(a serialised Java object)");
  EXPECT_EQ(guess("{\"name\": 1}"), "(JSON)");
  EXPECT_EQ(guess(" [\n  {\"a\": 1}]"), "(JSON)");
  EXPECT_EQ(guess("[2026-01-01] a line of a log\n"), "(text)");
  EXPECT_EQ(guess("{ not so }"), "(text)");
  EXPECT_EQ(guess("\x80\x04\x95\x10"), "(a pickled Python object)");
  EXPECT_EQ(told("DATABLK*\x01\x02"), "hbase");
  EXPECT_EQ(guess("name" + std::string(253, '\0') + "ustar" + std::string(200, '\0')), "(a tar archive)");
  EXPECT_EQ(guess(std::string(3000, '\0')), "(nothing but zeros)");
  EXPECT_EQ(guess(std::string(formats::detection_bytes, '\0') + "\x01\x02"), "") << "not all of it is seen";
  EXPECT_EQ(told(""), "is empty: a filter file has at least 256 bytes");
}

// What RocksDB writes is near to what LevelDB does, and shows at its end.
TEST(Detection, FilesOfRocksDbAreCalledSo) {
  const std::string table = "(a table of RocksDB, which is none of the formats)";
  const std::string filter = "(a filter of RocksDB, which is none of the formats)";
  const auto guess = [](const std::string& text) {
    const std::string said = told(text);
    const std::size_t at = said.rfind(" (");
    return at == std::string::npos ? said : said.substr(at + 1);
  };
  const auto number = [](std::uint32_t value) {
    std::string out(4, '\0');
    store_le(reinterpret_cast<std::byte*>(out.data()), value);
    return out;
  };
  const std::string bits(192, '\x02');
  EXPECT_EQ(guess(bits + "\xf7\xcf\xf4\x85\xb7\x41\xe2\x88"), table);
  EXPECT_EQ(guess(bits + "\xff" + std::string("\0\x06\0\0", 4)), filter);
  EXPECT_EQ(guess(bits + "\x06" + number(3)), filter);
  EXPECT_EQ(guess(bits + "\xfe\x11" + std::string("\x02\0\0", 3)), filter);
  // Nearly so.
  for (const std::string& other :
       {bits + "\xff" + std::string("\0\x1f\0\0", 4), bits + "\xff" + std::string("\0\x06\0\x01", 4),
        bits + "x\xff" + std::string("\0\x06\0\0", 4), bits + "\x06" + number(2), bits + "\x1f" + number(3),
        bits + "\xfe\x11" + std::string("\x01\0\0", 3), bits + "\xfe\x11" + std::string("\x0d\0\0", 3)}) {
    EXPECT_EQ(guess(other).find("RocksDB"), std::string::npos) << guess(other);
  }
}

TEST(Detection, AHeaderOfScandumpWithoutItsChunksIsCalledSo) {
  for (const char* name :
       {"bf_default.chunk0_iter1.bin", "cf_100_bs2.chunk0_iter1.bin", "cf_16_bs4_exp2_grown.chunk0_iter1.bin"}) {
    const auto opened = open_text(golden(std::string("redisbloom/2.8.20/") + name));
    ASSERT_FALSE(opened) << name;
    EXPECT_NE(describe(opened.error()).view().find("header alone: give its chunks behind it"), std::string_view::npos)
        << name << describe(opened.error()).view();
  }
}

TEST(Detection, AStreamIsReadNoFurtherThanItsHeaderSays) {
  const std::string file = golden("bits-and-blooms/n101_p0.1.bin");
  const auto limit = formats::detail::stream_limit(std::as_bytes(std::span(file)), {});
  ASSERT_TRUE(limit);
  EXPECT_EQ(*limit, file.size());
  const auto text = formats::detail::stream_limit(std::as_bytes(std::span(std::string_view("hello"))), {});
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, errc::no_format);
}

// A stream may have no end. What its first bytes refute is refused then and there, also when its format was named.
TEST(Detection, AStreamThatIsNoneOfItsFormatIsNotReadToItsEnd) {
  const auto limit_of = [](std::string_view first, std::string_view from) {
    return formats::detail::stream_limit(std::as_bytes(std::span(first)), from);
  };
  for (const char fill : {'\0', 'x', '\xff'}) {
    const std::string endless(65536, fill);
    for (const format* form : formats::list()) {
      const auto limit = limit_of(endless, form->name);
      const std::string_view name = form->name;
      if (name == "leveldb" || name == "leveldb-table") {
        EXPECT_TRUE(limit && *limit == no_limit) << name << ": its end says what it is";
      } else {
        EXPECT_TRUE(!limit || *limit < no_limit) << name << " of " << static_cast<int>(fill);
      }
    }
  }
  // What may still be one goes on.
  const std::string flags = std::string("\x01\x01", 2) + golden("dcso/n100_p0.01.bloom").substr(2, 100);
  EXPECT_TRUE(limit_of(flags, "dcso"));
  for (const char* name : {"dcso/n100_p0.01.bloom.gz", "dcso/n100_p0.01.bloom"}) {
    EXPECT_TRUE(limit_of(golden(name).substr(0, 100), "dcso")) << name;
  }
  EXPECT_TRUE(limit_of(golden("native/bloom.bloom").substr(0, 100), "native"));
  EXPECT_TRUE(limit_of(golden("redisbloom/2.8.20/bf_default.rdbdump.bin"), "redisbloom"));
  EXPECT_TRUE(limit_of(golden("redisbloom/2.8.20/cf_100_bs2.chunk0_iter1.bin"), "redisbloom"));
}

}  // namespace
}  // namespace bloomery
