// Key input that is compressed, and input that is surely no keys.
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include "cli/keys/byte_source.hpp"
#include "cli/keys/input_signature.hpp"
#include "cli/tool_box.hpp"

namespace {

namespace cli = bloomery::cli;
using namespace bloomery_test;
using std::string_literals::operator""s;

class CompressedInput : public tool_box {};
class RefusedInput : public tool_box {};

std::string xz_compressed(const std::string& text) {
  std::string out(lzma_stream_buffer_bound(text.size()), '\0');
  std::size_t size = 0;
  EXPECT_EQ(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const std::uint8_t*>(text.data()),
                                    text.size(), reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size()),
            LZMA_OK);
  out.resize(size);
  return out;
}

std::string zstd_compressed(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

std::string gzip_compressed(const std::string& text) {
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

TEST_F(CompressedInput, GzipAndZstdGiveTheSameFilter) {
  const std::string keys = numbers(1, 200000);
  write("plain", keys);
  write("gz", gzip_compressed(keys));
  write("zst", zstd_compressed(keys));
  const std::size_t half = keys.find('\n', keys.size() / 2) - 3;
  write("members.gz", gzip_compressed(keys.substr(0, half)) + gzip_compressed(keys.substr(half)));
  write("frames.zst", zstd_compressed(keys.substr(0, half)) + zstd_compressed(keys.substr(half)));
  ASSERT_EQ(run({"build", "-q", "-o", "f", "plain"}).code, 0);
  for (const char* packed : {"gz", "zst", "members.gz", "frames.zst"}) {
    ASSERT_EQ(run({"build", "-q", "--force", "-o", "g", packed}).code, 0) << packed;
    EXPECT_EQ(read("f"), read("g")) << packed;
    EXPECT_EQ(sh(std::string("cat ") + packed + " | $TOOL query -c f").out, "200000\n") << packed;
  }
}

TEST_F(CompressedInput, DamagedGzipOrZstdIsAnErrorAndNoFileIsWritten) {
  const std::string keys = numbers(1, 100000);
  const std::string gz = gzip_compressed(keys);
  const std::string zst = zstd_compressed(keys);
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

TEST_F(CompressedInput, XzGivesTheSameFilterAndTheSameLines) {
  const std::string keys = numbers(1, 200000);
  const std::size_t half = keys.find('\n', keys.size() / 2) - 3;
  write("plain", keys);
  write("xz", xz_compressed(keys));
  write("streams.xz", xz_compressed(keys.substr(0, half)) + std::string(8, '\0') + xz_compressed("") +
                          xz_compressed(keys.substr(half)) + std::string(4, '\0'));
  ASSERT_EQ(run({"build", "-q", "-o", "f", "plain"}).code, 0);
  for (const std::string packed : {"xz", "streams.xz"}) {
    ASSERT_EQ(run({"build", "-q", "--force", "-o", "g", packed}).code, 0) << packed;
    EXPECT_TRUE(read("f") == read("g")) << packed;
    EXPECT_EQ(sh("cat " + packed + " | $TOOL query -c f").out, "200000\n") << packed;
    EXPECT_EQ(sh("$TOOL query -c f < " + packed).out, "200000\n") << packed;
    EXPECT_TRUE(run({"dedup", packed}).out == keys) << packed;
    EXPECT_EQ(run({"verify", "-q", "f", "--keys", packed, "--probes", "10"}).code, 0) << packed;
  }
  write("empty.xz", xz_compressed(""));
  const ran none = run({"query", "-c", "f", "empty.xz"});
  EXPECT_EQ(none.out, "0\n");
  EXPECT_EQ(none.code, 1) << none.err;
}

TEST_F(CompressedInput, LinesOfXzAreAnsweredWhileTheInputStillRuns) {
  build("f", "ann\nbob\n");
  write("first", xz_compressed("bob\n"));
  write("second", xz_compressed("ann\n"));
  const ran result =
      sh("mkfifo in out; timeout 20 $TOOL query f < in > out & exec 3> in 4< out; cat first >&3; read first <&4; cat "
         "second >&3; "
         "read second <&4; exec 3>&-; wait; echo $first $second");
  EXPECT_EQ(result.out, "bob ann\n");
}

TEST_F(CompressedInput, EveryFormatCanComeByteByByte) {
  using source = cli::byte_source;
  const std::string text = numbers(1, 500);
  for (const std::string& packed : {gzip_compressed(text), zstd_compressed(text), xz_compressed(text)}) {
    std::array<int, 2> pipe_ends{};
    ASSERT_EQ(pipe(pipe_ends.data()), 0);
    const auto send = [&](std::string_view bytes) {
      ASSERT_EQ(::write(pipe_ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    };
    constexpr std::size_t told = 6;  // the longest of their signatures
    send(packed.substr(0, told));
    auto opened = source::open("/dev/fd/" + std::to_string(pipe_ends[0]));
    ASSERT_TRUE(opened) << opened.error().text;
    std::string got;
    std::array<char, 100> buffer{};
    // True at the end of the input.
    const auto take_all = [&](source::patience how) {
      while (true) {
        const auto count = opened->read(buffer, how);
        EXPECT_TRUE(count) << count.error().text;
        if (!count || *count == 0) return !count || !opened->is_starved();
        got.append(buffer.data(), *count);
      }
    };
    for (const char byte : packed.substr(told)) {
      EXPECT_FALSE(take_all(source::patience::now));
      send({&byte, 1});
    }
    static_cast<void>(take_all(source::patience::now));
    EXPECT_EQ(got, text) << "all of it is there before the input is known to have ended";
    close(pipe_ends[1]);
    EXPECT_TRUE(take_all(source::patience::wait));
    EXPECT_EQ(got, text);
    close(pipe_ends[0]);
  }
}

TEST_F(CompressedInput, DamagedXzIsAnErrorAndNoFileIsWritten) {
  const std::string xz = xz_compressed(numbers(1, 100000));
  std::string wrong = xz;
  wrong[xz.size() / 2] = static_cast<char>(wrong[xz.size() / 2] ^ 0x55);
  write("wrong.xz", wrong);
  write("cut.xz", xz.substr(0, xz.size() / 2));
  write("tail.xz", xz.substr(0, xz.size() - 1));
  write("second.xz", xz + xz.substr(0, 40));
  write("more.xz", xz + "text, and more of it");
  write("padding.xz", xz + std::string(3, '\0'));
  for (const std::string name : {"wrong.xz", "more.xz", "padding.xz"}) {
    expect_error({"build", "-o", "f", name},
                 "bloomery: " + name + ": its xz data is damaged, or has other bytes after it: copy it again");
  }
  for (const std::string name : {"cut.xz", "tail.xz", "second.xz"}) {
    expect_error({"build", "-o", "f", name}, "bloomery: " + name + ": its xz data is cut short: copy it again");
  }
  EXPECT_FALSE(exists("f"));
}

TEST_F(CompressedInput, AFewBytesOfXzDoNotTakeGigabytes) {
  std::string xz = xz_compressed("a\n");
  // The header of the first block: its size, flags and sizes; the filter, 1 byte of properties, which is the size of the
  // dictionary (40: 4 GiB); padding and a checksum.
  constexpr std::size_t block = 12;
  const std::size_t header_bytes = (static_cast<unsigned char>(xz[block]) + 1U) * 4;
  const std::size_t filter = xz.find("\x21\x01", block);
  ASSERT_LT(filter, block + header_bytes);
  xz[filter + 2] = 40;
  const std::uint32_t sum = lzma_crc32(reinterpret_cast<const std::uint8_t*>(&xz[block]), header_bytes - 4, 0);
  for (std::size_t i = 0; i < 4; ++i) xz[block + header_bytes - 4 + i] = static_cast<char>(sum >> (8 * i));
  write("large.xz", xz);
  expect_error({"dedup", "large.xz"},
               "bloomery: large.xz: unpacking its xz data takes 4097 MiB of memory, and 256 is the limit: use 'xz -dc "
               "FILE | bloomery ...'");
}

// The beginnings of files as their programs write them, and what the error calls them.
struct sample {
  std::string bytes;
  std::size_t told;  // so many of them are enough
  std::string what;
};
std::vector<sample> refused_samples() {
  return {
      {"BZh91AY&SY<\x85\x41\x12\0\0\x01\x41\0\0\x10\x30"s, 10, "is compressed with bzip2: unpack it"},
      {"BZh1\x17\x72\x45\x38\x50\x90\0\0\0\0"s, 10, "is compressed with bzip2: unpack it"},
      {"\x04\x22\x4d\x18\x64\x40\xa7\x04\0\0\x80\x61\n"s, 4, "is compressed with lz4: unpack it"},
      {"\x02\x21\x4c\x18\x05\0\0\0\x40\x61\n\x62\n"s, 4, "is compressed with lz4: unpack it"},
      {"\x5d\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff\0\x30\x82"s, 14,
       "is compressed with lzma, the format before xz"},
      {"\x5d\0\0\x80\0\x04\0\0\0\0\0\0\0\0\x30\x82"s, 14, "is compressed with lzma, the format before xz"},
      {"LZIP\x01\x0c\0"s, 5, "is compressed with lzip: unpack it"},
      {"\x1f\x9d\x90\x61\x14"s, 3, "is compressed with compress: unpack it"},
      {"PK\x03\x04\x0a\0\0\0"s, 4, "is a zip archive: unpack it"},
      {"7z\xbc\xaf\x27\x1c\0\x04"s, 6, "is a 7z archive: unpack it"},
      {"\x07\x81\x30\x16\xe5\xa2\x89\xbe\xf8\x04"s, 8, "is a filter of RedisBloom, not a list of keys: give the keys"},
  };
}

TEST_F(RefusedInput, EachIsNamedWithWhatToDo) {
  build("f", "a\n");
  for (const sample& each : refused_samples()) {
    write("in", each.bytes);
    for (const std::string& words :
         {"build -o new in"s, "build -o new < in"s, "cat in | $TOOL query f"s, "dedup in"s}) {
      const ran result = sh((words.substr(0, 3) == "cat" ? "" : "$TOOL ") + words);
      EXPECT_EQ(result.code, 2) << words;
      EXPECT_EQ(result.out, "");
      EXPECT_EQ(lines_in(result.err), 1U) << result.err;
      EXPECT_TRUE(contains(result.err, ": " + each.what)) << result.err;
      EXPECT_TRUE(contains(result.err, ", or --no-decompress to read its bytes unchanged\n")) << result.err;
    }
  }
  EXPECT_FALSE(exists("new"));
}

TEST_F(RefusedInput, FewerBytesThanASignatureAreKeys) {
  using cli::input_type;
  for (const sample& each : refused_samples()) {
    for (std::size_t size = 1; size < each.told; ++size) {
      EXPECT_EQ(cli::detect_input(each.bytes.substr(0, size)).type, input_type::plain) << each.what << size;
      EXPECT_TRUE(cli::may_complete_signature(each.bytes.substr(0, size))) << each.what << size;
    }
    EXPECT_EQ(cli::detect_input(each.bytes.substr(0, each.told)).type, input_type::refused) << each.what;
  }
}

TEST_F(RefusedInput, TextThatBeginsAlikeIsText) {
  for (const std::string& text :
       {"BZh9\n"s, "BZh91AY&SX\n"s, "BZh01AY&SY\n"s, "BZhang\n"s, "]\n"s, "PK\n"s, "LZIP\n"s, "7zip\n"s,
        "\xfd"
        "7zXZ\n"s,
        "-----BEGIN BLOOMERY\n"s, "-----BEGIN CERTIFICATE-----\n"s, "BLMYDUP\n"s,
        "\x89"
        "BLMY\n"s,
        "(\xb5\n"s, "\x1f\x8b\n"s}) {
    write("in", text);
    EXPECT_EQ(run({"dedup", "in"}).out, text);
    EXPECT_EQ(sh("cat in | $TOOL dedup").out, text);
  }
}

TEST_F(RefusedInput, OurOwnFilesAreNamedByEveryVerbThatReadsKeys) {
  write("keys", numbers(1, 100));
  build("f", read("keys"));
  build("c", read("keys"), {"--kind", "counting"});
  build("t", read("keys"), {"--format", "text"});
  build("s", read("keys"), {"--shards", "2"});
  write("indented", "\n  " + read("t"));
  ASSERT_EQ(run({"dedup", "--state", "state"}, "a\n").code, 0);
  const std::string rest =
      "not a list of keys: give the keys that it was built from, or --no-decompress to read its "
      "bytes unchanged";
  const std::vector<std::vector<std::string>> verbs = {
      {"build", "-o", "new"},
      {"build", "-o", "new", "-n", "10"},
      {"build", "-o", "new", "--kind", "fuse"},
      {"add", "c"},
      {"remove", "c"},
      {"count", "c"},
      {"query", "c"},
      {"dedup"},
      {"dedup", "--approx"},
      {"verify", "c", "--keys"},
      {"verify", "c", "--keys", "keys", "--absent"},
      {"dedup", "--state", "new"},
      {"build", "-o", "new", "--kind", "cascade", "keys", "--exclude"}};
  for (std::vector<std::string> words : verbs) {
    words.emplace_back("f");
    expect_error(words, "bloomery: f: is a filter of Bloomery, " + rest);
    words.back() = "-";
    expect_error(words, "bloomery: standard input: is a filter of Bloomery, " + rest, read("f"));
  }
  expect_error({"query", "c", "keys", "f"}, "bloomery: f: is a filter of Bloomery, " + rest);
  for (const std::string file : {"t", "indented"}) {
    expect_error({"query", "c", file}, "bloomery: " + file + ": is a filter of Bloomery as text, " + rest);
  }
  expect_error({"query", "c", "s.00-of-02"}, "bloomery: s.00-of-02: is a filter of Bloomery, " + rest);
  expect_error({"query", "c", "state"},
               "bloomery: state: is a state of 'bloomery dedup', not a list of keys: give the lines themselves, or "
               "--no-decompress to read its bytes unchanged");
  EXPECT_FALSE(exists("new"));
}

TEST_F(RefusedInput, NoDecompressReadsAllBytesAsTheyAre) {
  build("c", "a\n", {"--kind", "counting"});
  std::vector<std::string> inputs = {gzip_compressed("a\nb\n"), zstd_compressed("a\nb\n"), xz_compressed("a\nb\n"),
                                     read("c")};
  for (const sample& each : refused_samples()) inputs.push_back(each.bytes);
  for (const std::string& bytes : inputs) {
    const std::string lines = bytes.back() == '\n' ? bytes : bytes + "\n";
    write("in", bytes);
    EXPECT_EQ(run({"build", "-q", "--force", "-o", "f", "--no-decompress", "in"}).code, 0);
    EXPECT_EQ(run({"query", "--no-decompress", "f", "in"}).out, lines);
    EXPECT_EQ(sh("cat in | $TOOL query --no-decompress f").out, lines);
    EXPECT_EQ(run({"verify", "-q", "f", "--no-decompress", "--keys", "in", "--probes", "1"}).code, 0);
  }
  const ran deduped = run({"dedup", "--no-decompress"}, gzip_compressed("a\n"));
  EXPECT_EQ(deduped.out.substr(0, 3), "\x1f\x8b\x08");
  for (const char* verb : {"add", "count", "remove"}) {
    EXPECT_EQ(run({verb, "--no-decompress", "c"}, "BZh91AY&SY\n").code, 0) << verb;
  }
}

}  // namespace
