// Files of DCSO's bloom: see tests/golden/dcso/README.md for who wrote the golden ones.
#include <algorithm>
#include <bit>

#include "src/formats/gzip.hpp"
#include "support/format_files.hpp"

namespace bloomery {
namespace {

using namespace test;

struct dcso_case {
  std::string name;
  std::uint64_t keys;
  double fpr;
};
const std::vector<dcso_case> dcso_cases = {
    {"n100_p0.001", 100, 0.001}, {"n100_p0.01", 100, 0.01}, {"n100_p0.5", 100, 0.5}, {"n7_p0.05", 7, 0.05}};

std::string dcso_file(const std::string& name) { return golden("dcso/" + name); }

TEST(Dcso, AnswersAsTheProductDoes) {
  const auto probes = lines_of(dcso_file("probes.txt"));
  for (const dcso_case& each : dcso_cases) {
    const auto opened = open_text(dcso_file(each.name + ".bloom"));
    ASSERT_TRUE(opened) << each.name;
    EXPECT_EQ(opened->form->name, "dcso");
    const auto answers = query(opened->filter, probes);
    std::vector<std::string> matched;
    for (std::size_t i = 0; i < probes.size(); ++i) {
      if (answers[i]) matched.push_back(probes[i]);
    }
    EXPECT_EQ(matched, lines_of(dcso_file(each.name + ".matched.txt"))) << each.name;
  }
}

TEST(Dcso, MakesTheBytesOfTheProduct) {
  const auto keys = lines_of(dcso_file("keys.txt"));
  for (const dcso_case& each : dcso_cases) {
    auto made = formats::make("dcso", {.keys = each.keys, .fpr = each.fpr});
    ASSERT_TRUE(made) << each.name;
    insert(*made, keys);
    EXPECT_TRUE(text_of(*made, *formats::find("dcso")) == dcso_file(each.name + ".bloom")) << each.name;
  }
}

TEST(Dcso, KeepsAttachedDataWhenItIsWrittenAgain) {
  const std::string file = dcso_file("n100_p0.01_data.bloom");
  const auto opened = open_text(file, {.in_memory = true});
  ASSERT_TRUE(opened);
  EXPECT_TRUE(text_of(opened->filter, *opened->form) == file);
  const auto copy = opened->filter.clone();
  ASSERT_TRUE(copy);
  EXPECT_TRUE(text_of(*copy, *opened->form) == file);
}

TEST(Dcso, ReadsAndWritesGzip) {
  const auto packed = open_text(dcso_file("n100_p0.01.bloom.gz"));
  ASSERT_TRUE(packed) << describe(packed.error()).view();
  EXPECT_EQ(packed->codec, codec_gzip);
  EXPECT_TRUE(text_of(packed->filter, *packed->form) == dcso_file("n100_p0.01.bloom"));
  const auto again = open_text(text_of(packed->filter, *packed->form, {.codec = codec_gzip}));
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->filter == packed->filter);
}

std::string gzipped(const std::string& text) {
  memory_sink packed;
  formats::gzip_writer to(byte_sink(packed), 9);
  EXPECT_TRUE(to(std::as_bytes(std::span(text))) && to.finish());
  return {reinterpret_cast<const char*>(packed.bytes().data()), packed.bytes().size()};
}

// A header with these numbers, which need not follow from each other.
std::string dcso_header(std::uint64_t flags, std::uint64_t bits) {
  std::string header(48, '\0');
  auto* const to = reinterpret_cast<std::byte*>(header.data());
  store_le(to, flags);
  store_le(to + 8, std::uint64_t{100});
  store_le(to + 16, std::bit_cast<std::uint64_t>(0.01));
  store_le(to + 24, std::uint64_t{7});
  store_le(to + 32, bits);
  return header;
}

// Opens it, and returns how much memory was requested at most, beyond the file itself.
struct gunzip_try {
  std::string said{};  // the error, if any
  std::uint64_t most_bytes = 0;
};
gunzip_try try_packed(const std::string& file, std::uint64_t max_bytes = no_limit) {
  gunzip_try out;
  memory_hooks counted{
      .allocate = [](void* most, std::size_t size, std::size_t alignment) -> void* {
        auto& largest = *static_cast<std::uint64_t*>(most);
        largest = std::max<std::uint64_t>(largest, size);
        return default_memory().allocate(nullptr, size, alignment);
      },
      .release = [](void* /*most*/, void* memory, std::size_t size,
                    std::size_t alignment) { default_memory().release(nullptr, memory, size, alignment); },
      .context = &out.most_bytes};
  const auto opened = formats::open_bytes(
      bytes_of(file), {.from = "dcso", .load = {.memory = &counted, .max_bytes = max_bytes}, .in_memory = true});
  if (!opened) out.said = describe(opened.error()).view();
  return out;
}

TEST(DcsoGzip, WhatIsPackedIsUnpackedOnlyAsFarAsItsHeaderCanBeTrue) {
  constexpr std::uint64_t mib = 1U << 20U;
  // More bits than so few bytes can stand for: nothing is unpacked but the front.
  for (const std::uint64_t bits : {std::uint64_t{1} << 40U, std::uint64_t{1} << 59U}) {
    const auto huge = try_packed(gzipped(dcso_header(1, bits) + std::string(5000, '\0')));
    EXPECT_NE(huge.said.find("gzip data is damaged"), std::string::npos) << huge.said;
    EXPECT_EQ(huge.most_bytes, 0U);
  }
  // Few bits, and a thousand times the file behind them.
  const std::string bomb = gzipped(dcso_header(1, 958) + std::string(120 + 65 * mib, '\0'));
  ASSERT_LT(bomb.size(), 100'000U);
  const auto refused = try_packed(bomb);
  EXPECT_NE(refused.said.find("more than 64 MiB behind the filter"), std::string::npos) << refused.said;
  EXPECT_EQ(refused.most_bytes, 0U);
  // What claims to be shorter than it is, is unpacked no further than it claims.
  std::string liar = gzipped(dcso_header(1, 958) + std::string(120 + 20 * mib, '\0'));
  store_le(reinterpret_cast<std::byte*>(liar.data() + liar.size() - 4), std::uint32_t{10'000});
  const auto caught = try_packed(liar);
  EXPECT_NE(caught.said.find("gzip data is damaged"), std::string::npos) << caught.said;
  EXPECT_LE(caught.most_bytes, 10'064U);
  // A header of something else shows at once.
  const auto other = try_packed(gzipped(std::string(10 * mib, 'x')));
  EXPECT_NE(other.said.find("the version, is not 1"), std::string::npos) << other.said;
  EXPECT_LE(other.most_bytes, 0U);
}

TEST(DcsoGzip, DataBehindTheBitsIsKeptAndLimited) {
  const std::string plain = dcso_file("n100_p0.01.bloom");
  const std::string whole = plain + std::string(1U << 20U, 'd');
  const auto opened = open_text(gzipped(whole));
  ASSERT_TRUE(opened) << describe(opened.error()).view();
  EXPECT_TRUE(text_of(opened->filter, *opened->form) == whole);
  EXPECT_EQ(try_packed(gzipped(whole), whole.size()).said, "");
  EXPECT_NE(try_packed(gzipped(whole), whole.size() - 1).said, "");
  EXPECT_NE(try_packed(gzipped(plain), plain.size() - 1).said, "");
  EXPECT_NE(try_packed(gzipped(whole) + "x").said, "") << "something behind the stream";
  EXPECT_NE(try_packed(gzipped(plain) + "x").said, "");
  EXPECT_NE(try_packed(gzipped(whole) + gzipped(plain)).said, "") << "two streams";
}

// The rest of the flags tell nothing of the version. Such files are rare: they are read when they are named.
TEST(Dcso, FlagsBesideTheVersionAreKept) {
  const std::string file = dcso_header(0x101, 64'000) + std::string(8000, '\x55');
  const auto by_content = open_text(file);
  ASSERT_FALSE(by_content);
  EXPECT_NE(describe(by_content.error()).view().find("could be dcso"), std::string_view::npos);
  for (const std::string& each : {file, gzipped(file)}) {
    const auto opened = open_text(each, {.from = "dcso"});
    ASSERT_TRUE(opened) << describe(opened.error()).view();
    EXPECT_TRUE(text_of(opened->filter, *opened->form) == file);
  }
}

TEST(Dcso, DamageIsAnErrorOrHarmless) {
  expect_harmless_damage(dcso_file("n7_p0.05.bloom"), "dcso");
  expect_harmless_damage(dcso_file("n100_p0.01_data.bloom"), "dcso");
  expect_harmless_damage(dcso_file("n100_p0.01.bloom.gz"), "dcso");
}

}  // namespace
}  // namespace bloomery
