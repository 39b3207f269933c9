// The table of compressions: names, ids, and programs that do not have them.
#include <bloomery/kinds/bloom.hpp>
#include <bloomery/native/codec.hpp>

#include "support/typed.hpp"

namespace bloomery::test {
namespace {

TEST(Codec, NamesAndIdsBelongTogether) {
  enable_codecs();
  EXPECT_EQ(codec_id("none").value_or(99), codec_none);
  EXPECT_EQ(codec_id("zstd").value_or(99), codec_zstd);
  EXPECT_EQ(codec_id("gzip").value_or(99), codec_gzip);
  EXPECT_EQ(codec_id("rans").value_or(99), codec_rans);
  EXPECT_EQ(codec_name(codec_zstd), "zstd");
  EXPECT_EQ(codec_name(77), "?");
  for (const std::uint32_t id : {codec_zstd, codec_gzip, codec_rans}) {
    const auto found = find_codec(id);
    ASSERT_TRUE(found);
    EXPECT_EQ((*found)->id, id);
    EXPECT_EQ((*found)->name, codec_name(id));
    EXPECT_EQ(*find_codec(codec_name(id)), *found);
  }
  EXPECT_EQ(describe(find_codec("lz4").error()).view(), "there is no compression 'lz4': use rans, zstd, gzip or none");
  EXPECT_EQ(describe(find_codec(9).error()).view(), "there is no compression '9': use rans, zstd, gzip or none");
}

TEST(Codec, ProgramWithoutItSaysWhatToLink) {
  const bloom filter = sample<bloom>(1000);
  const bytes file = saved(filter, {.codec = codec_zstd});
  const codec* kept = detail::codec_slot(codec_zstd).exchange(nullptr);
  const std::string loading = load_error<bloom>(file);
  memory_sink sink;
  const auto saving = save_to(filter, {}, byte_sink(sink), {.codec = codec_zstd});
  detail::codec_slot(codec_zstd).store(kept);
  EXPECT_EQ(loading, "zstd is not linked into this program: link bloomery::all and call bloomery::enable_all() once");
  ASSERT_FALSE(saving);
  EXPECT_EQ(saving.error().code, errc::not_linked);
  EXPECT_TRUE(sink.bytes().empty());
}

TEST(Codec, GzipIsRealGzipAndZstdRealZstd) {
  const bloom filter = sample<bloom>(1000);
  const auto first = [&](std::uint32_t codec) {
    const bytes file = saved(filter, {.codec = codec});
    return load_le<std::uint32_t>(&file[small_header_bytes]);
  };
  EXPECT_EQ(first(codec_gzip) & 0xffffffU, 0x088b1fU);
  EXPECT_EQ(first(codec_zstd), 0xfd2fb528U);
}

TEST(Codec, LevelsAreHonouredAndWrongOnesRefused) {
  auto sparse = bloom::make({.keys = 100'000, .fpr = 0.01});
  ASSERT_TRUE(sparse);
  for (std::uint64_t i = 0; i < 3000; ++i) sparse->insert(sample_digest(i));
  for (const std::uint32_t codec : {codec_zstd, codec_gzip}) {
    const bytes quick = saved(*sparse, {.codec = codec, .level = 1});
    const bytes thorough = saved(*sparse, {.codec = codec, .level = 9});
    EXPECT_NE(quick.size(), thorough.size());
    EXPECT_LT(thorough.size(), sparse->memory_bytes());
    EXPECT_TRUE(load_bytes<bloom>(thorough));
  }
  memory_sink sink;
  EXPECT_EQ(save_to(*sparse, {}, byte_sink(sink), {.codec = codec_gzip, .level = 77}).error().code, errc::codec_failed);
  EXPECT_EQ(save_to(*sparse, {}, byte_sink(sink), {.codec = 9}).error().code, errc::unknown_codec);
}

TEST(Codec, RoomIsEnoughForBytesThatDoNotCompress) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{8}, std::size_t{1000}, std::size_t{3} << 20U}) {
    bytes random(size);
    for (std::size_t i = 0; i < size; ++i) random[i] = static_cast<std::byte>(mix64(i) & 0xffU);
    for (const std::uint32_t id : {codec_zstd, codec_gzip, codec_rans}) {
      const codec* found = *find_codec(id);
      bytes packed(found->bound(size));
      const auto used = found->compress(random, packed, 0);
      ASSERT_TRUE(used) << found->name << " " << size;
      bytes again(size);
      ASSERT_TRUE(found->decompress(std::span(packed).first(*used), again));
      EXPECT_TRUE(again == random);
    }
  }
}

}  // namespace
}  // namespace bloomery::test
