// What the build for WebAssembly has not is refused by name, and nothing else of a file changes.
#include <bloomery/formats.hpp>
#include <bloomery/hash/identity.hpp>

#include "support.hpp"
#include "support/format_files.hpp"

namespace bloomery::test {
namespace {

TEST(NotBuiltForWasm, KindBitmapIsRefusedByName) {
  const auto made = any_filter::make("bitmap", {.keys = 1000}, hasher::of(identity{}));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, errc::not_linked);
  EXPECT_EQ(made.error().text_view(), "kind bitmap");
  EXPECT_EQ(any_filter::load_bytes(read_bytes(BLOOMERY_GOLDEN_DIR "/native/bitmap.bloom")).error().code,
            errc::not_linked);
}

TEST(NotBuiltForWasm, ZstdAndGzipAreRefusedByName) {
  const any_filter filter = sample(kind_named("bloom"), 1000);
  for (const std::uint32_t codec : {codec_zstd, codec_gzip}) {
    memory_sink sink;
    const auto saved = filter.save_to(byte_sink(sink), {.codec = codec});
    ASSERT_FALSE(saved);
    EXPECT_EQ(saved.error().code, errc::not_linked);
    EXPECT_EQ(saved.error().text_view(), codec_name(codec));
  }
}

TEST(NotBuiltForWasm, FilesOfOtherProductsInGzipAreRefusedByName) {
  const std::string packed = golden("dcso/n100_p0.01.bloom.gz");
  for (const std::string_view from : {std::string_view{}, std::string_view{"dcso"}}) {
    const auto opened = open_text(packed, {.from = from});
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, errc::not_linked) << describe(opened.error()).c_str();
    EXPECT_EQ(opened.error().text_view(), "gzip");
  }
  auto made = formats::make("dcso", {.keys = 100, .fpr = 0.01});
  ASSERT_TRUE(made);
  memory_sink sink;
  const auto saved = formats::save_to(*made, *formats::find("dcso"), byte_sink(sink), {.codec = codec_gzip});
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, errc::not_linked);
}

}  // namespace
}  // namespace bloomery::test
