// Every form in which keys can be written. A filter of a few keys in hundreds of bits has no false positives here: they
// are about one in 10^15, and the same in every run.
#include <zlib.h>
#include <zstd.h>
#include <nlohmann/json.hpp>

#include <bloomery/bloomery.hpp>

#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;
using std::string_literals::operator""s;

class KeyInput : public tool_box {
 protected:
  // Which of these keys, given as hexadecimal so that any bytes can be asked for, are in the filter.
  [[nodiscard]] std::string present(const std::string& filter, const std::vector<std::string>& keys) const {
    std::string hex;
    for (const std::string& key : keys) {
      for (const char c : key) {
        constexpr const char* digits = "0123456789abcdef";
        const auto byte = static_cast<unsigned char>(c);
        hex.append({digits[byte >> 4U], digits[byte & 15U]});
      }
      hex.append("\n");
    }
    const ran result = run({"query", "--hex", "--mark", filter}, hex);
    EXPECT_NE(result.code, 2) << result.err;
    std::string marks;
    for (std::size_t at = 0; at < result.out.size(); at = result.out.find('\n', at) + 1) marks += result.out[at];
    return marks;
  }
  [[nodiscard]] std::uint64_t keys_in(const std::string& filter) const {
    return json_of({"info", "--json", filter})["keys"];
  }
};

std::string gzipped(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, static_cast<uLong>(text.size())) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd_packed(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

TEST_F(KeyInput, LinesAreKeysWithoutTheirNewline) {
  build("f", "a\nb c\n\n\xff\xfe\nx\0y\nlast"s);
  EXPECT_EQ(keys_in("f"), 6U);
  EXPECT_EQ(present("f", {"a", "b c", "", "\xff\xfe", "x\0y"s, "last", "a\n", "x"}), "11111100");
}

TEST_F(KeyInput, TheLastNewlineMayBeMissing) {
  build("f", "a\nb\n");
  build("g", "a\nb");
  EXPECT_EQ(read("f"), read("g"));
  EXPECT_EQ(run({"query", "f"}, "a\nb").out, "a\nb\n");
}

TEST_F(KeyInput, CarriageReturnsAreKeptUnlessCrlf) {
  build("f", "a\r\nb\n");
  EXPECT_EQ(present("f", {"a\r", "a", "b"}), "101");
  build("g", "a\r\nb\nc\rd\r\n", {"--crlf"});
  EXPECT_EQ(present("g", {"a\r", "a", "b", "c\rd"}), "0111");
  EXPECT_EQ(run({"query", "--crlf", "g"}, "a\r\nz\r\nb\r\n").out, "a\r\nb\r\n") << "lines are printed as they came";
}

TEST_F(KeyInput, NulTerminatedKeysMayHoldNewlines) {
  for (const char* option : {"-0", "-z", "--null"}) {
    build("f", "a\nb\0c\0\0"s, {option, "--force"});
    EXPECT_EQ(present("f", {"a\nb", "c", "", "a"}), "1110");
    EXPECT_EQ(run({"query", option, "f"}, "c\0a\0a\nb\0"s).out, "c\0a\nb\0"s);
  }
}

TEST_F(KeyInput, AFieldIsItsPlainBytes) {
  build("f", "1\tann\tx\n2\tbob\ty\n3\t\n", {"-f", "2"});
  EXPECT_EQ(present("f", {"ann", "bob", "", "1"}), "1110") << "a field may be empty";
  build("g", "1:ann:x\n", {"-d", ":", "-f", "3"});
  EXPECT_EQ(present("g", {"x", "ann"}), "10");
  EXPECT_EQ(run({"query", "-f", "2", "f"}, "9\tann\n9\teve\n").out, "9\tann\n") << "the whole line is printed";
}

TEST_F(KeyInput, AMissingFieldIsAnErrorWithItsLine) {
  expect_error({"build", "-o", "f", "-f", "4"}, "bloomery: standard input: line 3 has 2 fields, there is no field 4",
               "1\t2\t3\t4\n1\t2\t3\t4\t5\n1\t2\n");
  expect_error({"build", "-o", "f", "-f", "1,2"}, "bloomery: standard input: line 2 has 1 field, there is no field 2",
               "1\t2\n\n");
  expect_error({"build", "-o", "f", "--csv", "--header", "-f", "mail"},
               "bloomery: standard input: line 4 has 1 field, there is no field 2 (mail)", "id,mail\n1,\"x\ny\"\n2\n");
  expect_error({"build", "-o", "f", "-0", "-d", ":", "-f", "2"},
               "bloomery: standard input: record 2 has 1 field, there is no field 2", "a:b\0c\0"s);
  EXPECT_FALSE(exists("f"));
}

TEST_F(KeyInput, SeveralFieldsAreATupleOfTheLibrary) {
  using namespace bloomery;
  hasher hash;
  auto filter = any_filter::make("bloom", {.keys = 10, .fpr = 1e-6}, hash.spec());
  ASSERT_TRUE(filter->add(std::tuple("ab", "c")));
  ASSERT_TRUE(filter->add(std::tuple(std::string(700, 'l'), "m")));
  ASSERT_TRUE(filter->save(path("f").c_str()));
  const std::string long_line = std::string(700, 'l') + "\tm\n";
  EXPECT_EQ(run({"query", "-f", "1,2", "f"}, "ab\tc\na\tbc\n" + long_line).out, "ab\tc\n" + long_line);
  EXPECT_EQ(run({"query", "-f", "2,1", "f"}, "c\tab\nab\tc\n").out, "c\tab\n") << "in the order that is given";
}

TEST_F(KeyInput, IntegerFieldsAreATupleOfIntegers) {
  using namespace bloomery;
  hasher hash;
  auto filter = any_filter::make("bloom", {.keys = 10, .fpr = 1e-6}, hash.spec());
  ASSERT_TRUE(filter->add(std::tuple(5, 6)));
  ASSERT_TRUE(filter->save(path("f").c_str()));
  EXPECT_EQ(run({"query", "--u64", "-f", "1,2", "f"}, "5\t6\n6\t5\n").out, "5\t6\n");
}

TEST_F(KeyInput, CsvUnderstandsQuotesSeparatorsAndNewlinesInFields) {
  const std::string csv = "1,\"a,b\"\r\n2,\"say \"\"hi\"\"\"\r\n3,\"two\r\nlines\"\r\n4,plain \"quote\"\r\n5,\"\"\r\n";
  build("f", csv, {"--csv", "-f", "2"});
  EXPECT_EQ(keys_in("f"), 5U);
  EXPECT_EQ(present("f", {"a,b", "say \"hi\"", "two\r\nlines", "plain \"quote\"", "", "a"}), "111110");
  EXPECT_EQ(run({"query", "--csv", "-f", "2", "-v", "f"}, "9,\"x\ny\"\n9,\"a,b\"\n").out, "9,\"x\ny\"\n");
}

TEST_F(KeyInput, CsvTakesNamesWithHeaderAndAnotherSeparator) {
  write("a.csv", "\xef\xbb\xbfid;mail\n1;x@y\n");
  write("b.csv", "mail;id\nz@w;2\n");
  ASSERT_EQ(run({"build", "-q", "-o", "f", "--csv", "-d", ";", "--header", "-f", "mail", "a.csv", "b.csv"}).code, 0);
  EXPECT_EQ(present("f", {"x@y", "z@w", "mail", "1", "2"}), "11000");
  ASSERT_EQ(run({"build", "-q", "-o", "g", "--csv", "-d", ";", "--header", "-f", "id", "a.csv"}).code, 0);
  EXPECT_EQ(present("g", {"1"}), "1") << "a byte order mark is not part of the first name";
  expect_error({"build", "-q", "-o", "h", "--csv", "-d", ";", "--header", "-f", "male", "a.csv"},
               "bloomery: a.csv: line 1: there is no field 'male'; the header has: id, mail");
}

TEST_F(KeyInput, WithoutHeaderTheFirstRecordIsAKey) {
  build("f", "name\nann\n", {"--csv"});
  EXPECT_EQ(present("f", {"name", "ann"}), "11");
  build("g", "name\nann\n", {"--header"});
  EXPECT_EQ(present("g", {"name", "ann"}), "01");
}

TEST_F(KeyInput, CsvWithoutFieldsIsTheWholeRecord) {
  build("f", "\"a\",b\n", {"--csv"});
  EXPECT_EQ(run({"query", "-f", "1,2", "f"}, "a\tb\nb\ta\n").out, "a\tb\n");
}

TEST_F(KeyInput, BrokenCsvIsAnErrorWithItsLine) {
  expect_error({"build", "-o", "f", "--csv"},
               "bloomery: standard input: line 3: a quoted field is followed by text: double the quotes inside it",
               "\"x\ny\"\n\"a\"b\n");
  expect_error({"build", "-o", "f", "--csv"}, "bloomery: standard input: line 2: a quoted field has no closing quote",
               "a\n\"b\nc\n");
  EXPECT_FALSE(exists("f"));
}

TEST_F(KeyInput, HexKeysAreTheBytesThemselves) {
  build("f", "6162\nFFff\n\n", {"--hex"});
  EXPECT_EQ(run({"query", "--mark", "f"}, "ab\n\xff\xff\n\n6162\n").out, "1\tab\n1\t\xff\xff\n1\t\n0\t6162\n");
  expect_error({"build", "-o", "g", "--hex"},
               "bloomery: standard input: line 2: '616' has an odd number of hexadecimal digits: two make a byte",
               "61\n616\n");
  expect_error({"build", "-o", "g", "--hex"},
               "bloomery: standard input: line 1: 'zz' is not hexadecimal: give digits 0-9 a-f", "zz\n");
}

TEST_F(KeyInput, IntegersAreEightLittleEndianBytes) {
  build("f", "1\n18446744073709551615\n0\n", {"--u64"});
  EXPECT_EQ(present("f", {"\x01\0\0\0\0\0\0\0"s, "\xff\xff\xff\xff\xff\xff\xff\xff", "\0\0\0\0\0\0\0\0"s, "1"}),
            "1110");
  EXPECT_EQ(run({"query", "--u64", "f"}, "01\n2\n").out, "01\n") << "leading zeros do not matter";
  for (const char* bad : {"-1", "18446744073709551616", "1.5", "", " 1", "0x1"}) {
    expect_error(
        {"build", "-o", "g", "--u64"},
        std::string("bloomery: standard input: line 2: '") + bad + "' is not an integer from 0 to 18446744073709551615",
        std::string("7\n") + bad + "\n");
  }
}

TEST_F(KeyInput, PackedInputGivesTheSameFilter) {
  const std::string keys = numbers(1, 200000);
  write("plain", keys);
  write("gz", gzipped(keys));
  write("zst", zstd_packed(keys));
  const std::size_t half = keys.find('\n', keys.size() / 2) - 3;
  write("members.gz", gzipped(keys.substr(0, half)) + gzipped(keys.substr(half)));
  write("frames.zst", zstd_packed(keys.substr(0, half)) + zstd_packed(keys.substr(half)));
  ASSERT_EQ(run({"build", "-q", "-o", "f", "plain"}).code, 0);
  for (const char* packed : {"gz", "zst", "members.gz", "frames.zst"}) {
    ASSERT_EQ(run({"build", "-q", "--force", "-o", "g", packed}).code, 0) << packed;
    EXPECT_EQ(read("f"), read("g")) << packed;
    EXPECT_EQ(sh(std::string("cat ") + packed + " | $TOOL query -c f").out, "200000\n") << packed;
  }
}

TEST_F(KeyInput, DamagedPackedInputIsAnErrorAndNoFileIsWritten) {
  const std::string keys = numbers(1, 100000);
  const std::string gz = gzipped(keys);
  const std::string zst = zstd_packed(keys);
  write("cut.gz", gz.substr(0, gz.size() / 2));
  write("tail.gz", gz.substr(0, gz.size() - 1));
  write("cut.zst", zst.substr(0, zst.size() / 2));
  write("tail.zst", zst.substr(0, zst.size() - 1));
  write("more.gz", gz + "text");
  std::string wrong = gz;
  wrong[gz.size() / 2] = static_cast<char>(wrong[gz.size() / 2] ^ 0x55);
  wrong[gz.size() / 2 + 1] = static_cast<char>(wrong[gz.size() / 2 + 1] ^ 0x55);
  write("wrong.gz", wrong);
  write("wrong.zst", zst.substr(0, 6) + std::string(100, '\xff'));
  for (const char* name : {"wrong.gz", "wrong.zst"}) {
    const ran result = run({"build", "-o", "f", name});
    EXPECT_EQ(result.code, 2) << name;
    EXPECT_EQ(lines_in(result.err), 1U) << result.err;
    EXPECT_EQ(result.err.rfind(std::string("bloomery: ") + name + ": its ", 0), 0U) << result.err;
    EXPECT_TRUE(contains(result.err, " data is damaged: ")) << result.err;
  }
  expect_error({"build", "-o", "f", "cut.gz"}, "bloomery: cut.gz: its gzip data is cut short: copy it again");
  expect_error({"build", "-o", "f", "tail.gz"}, "bloomery: tail.gz: its gzip data is cut short: copy it again");
  expect_error({"build", "-o", "f", "cut.zst"}, "bloomery: cut.zst: its zstd data is cut short: copy it again");
  expect_error({"build", "-o", "f", "tail.zst"}, "bloomery: tail.zst: its zstd data is cut short: copy it again");
  expect_error({"build", "-o", "f", "more.gz"},
               "bloomery: more.gz: has other bytes after its gzip data: is it two files in one?");
  EXPECT_FALSE(exists("f"));
}

TEST_F(KeyInput, LinesOfAnyLengthAreKeys) {
  const std::string giant(std::size_t{16} << 20U, 'x');
  build("f", "a\n" + giant + "\nb\n" + giant + "y");
  EXPECT_EQ(keys_in("f"), 4U);
  EXPECT_EQ(run({"query", "f"}, giant + "\n" + giant + "z\n").out, giant + "\n");
}

TEST_F(KeyInput, OnlyNewlinesAreEmptyKeys) {
  build("f", std::string(1'000'000, '\n'), {"-n", "10"});
  EXPECT_EQ(keys_in("f"), 1U);
  EXPECT_EQ(run({"query", "-c", "f"}, std::string(700'000, '\n')).out, "700000\n");
  EXPECT_EQ(run({"query", "f"}, "\n\nx\n").out, "\n\n");
}

TEST_F(KeyInput, EmptyFilesHoldNoKeys) {
  build("f", "a\nb\n");
  write("none", "");
  write("one", "a");
  EXPECT_EQ(run({"query", "f", "none", "one", "none", "-", "none"}, "b").out, "a\nb\n");
  EXPECT_EQ(run({"query", "f", "none", "none"}).code, 1);
  EXPECT_EQ(run({"query", "--csv", "--header", "-f", "x", "f", "none"}).code, 1) << "no header, no records";
}

TEST_F(KeyInput, ARecordMayHaveAMillionFields) {
  std::string line;
  for (int i = 1; i <= 1'000'000; ++i) line.append(std::to_string(i)).append(i < 1'000'000 ? "," : "\n");
  build("f", line, {"-d", ",", "-f", "1000000"});
  EXPECT_EQ(present("f", {"1000000", "999999"}), "10");
  build("g", line, {"--csv", "-f", "999999,2"});
  EXPECT_EQ(run({"query", "-f", "1,2", "g"}, "999999\t2\n2\t999999\n").out, "999999\t2\n");
  expect_error({"build", "-o", "h", "-d", ",", "-f", "1000001"},
               "bloomery: standard input: line 1 has 1000000 fields, there is no field 1000001", line);
}

TEST_F(KeyInput, NamedPipesAreReadAsTheyAreWritten) {
  build("f", "a\nb\nc\n");
  const ran result =
      sh("mkfifo one two; { sleep 0.1; echo a; sleep 0.1; echo x; echo b; } > one & echo c > two & "
         "timeout 20 $TOOL query f one two");
  EXPECT_EQ(result.out, "a\nb\nc\n");
  EXPECT_EQ(result.code, 0) << result.err;
}

TEST_F(KeyInput, AQuotedFirstFieldMayFollowAByteOrderMark) {
  build("f", "\xef\xbb\xbf\"a\nb\",1\nc,2\n", {"--csv", "-f", "1"});
  EXPECT_EQ(keys_in("f"), 2U);
  EXPECT_EQ(present("f", {"a\nb", "c", "a"}), "110");
}

TEST_F(KeyInput, SeveralFilesAndStandardInputAreReadInOrder) {
  build("f", "a\nb\nc\n");
  write("one", "a\nx");
  write("two", "b\n");
  EXPECT_EQ(run({"query", "f", "two", "-", "one"}, "c\n").out, "b\nc\na\n");
  expect_error({"query", "f", "-", "-"}, "bloomery: query: standard input (-) can be read only once");
}

TEST_F(KeyInput, MissingFilesAndDirectoriesAreNoticedBeforeAnyWork) {
  build("f", "a\n");
  write("good", "a\n");
  expect_error({"query", "f", "good", "nosuch"}, "bloomery: nosuch: cannot open: No such file or directory");
  expect_error({"query", "f", "good", "."}, "bloomery: .: is a directory: give a file");
  expect_error({"build", "-o", "g", "good", "nosuch"}, "bloomery: nosuch: cannot open: No such file or directory");
}

TEST_F(KeyInput, AnErrorInTheMiddleKeepsTheLinesBeforeIt) {
  build("f", "1\n2\n", {"--u64"});
  const ran result = run({"query", "--u64", "f"}, "1\n3\n2\nx\n1\n");
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "1\n2\n");
  EXPECT_TRUE(contains(result.err, "line 4: 'x'"));
}

TEST_F(KeyInput, WrongFieldOptionsAreExplained) {
  expect_error({"build", "-o", "f", "-f", "0"}, "bloomery: build: -f: fields are counted from 1, there is no field 0");
  expect_error({"build", "-o", "f", "-f", "mail"},
               "bloomery: build: -f: 'mail' is not a number: give one from 1 on, or --header to use names");
  expect_error({"build", "-o", "f", "-f", "1,,2"},
               "bloomery: build: -f: an empty field name: give numbers such as 1 or 2,3");
  expect_error({"build", "-o", "f", "-d", ","},
               "bloomery: build: -d separates fields: give -f with the fields that are the key, or --csv");
  expect_error({"build", "-o", "f", "-f", "1", "-d", "ab"},
               "bloomery: build: --delimiter: 'ab' is not one character: give one byte, or \\t or \\0");
  expect_error({"build", "-o", "f", "-f", "1", "-d", "\n"},
               "bloomery: build: -d: fields and lines cannot end with the same character");
}

}  // namespace
