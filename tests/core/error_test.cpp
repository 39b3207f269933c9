#include <gtest/gtest.h>

#include <bloomery/core/result.hpp>
#include <string>

namespace {

using namespace bloomery;

TEST(Error, EveryCodeHasASentence) {
  for (std::uint16_t code = 0; code < static_cast<std::uint16_t>(errc::count_); ++code) {
    EXPECT_FALSE(error_template(static_cast<errc>(code)).empty()) << code;
  }
  EXPECT_EQ(error_template(errc::count_), "unknown error");
}

TEST(Error, PlaceholdersAreFilledWithNumbersBytesAndText) {
  const error e = make_error(errc::out_of_memory, "the filter", {1288490189});
  EXPECT_EQ(describe(e).view().substr(0, 52), "the filter needs 1288490189 bytes (1.2 GiB) of memor");
}

TEST(Error, EveryPlaceholderOfEverySentenceIsKnown) {
  for (std::uint16_t code = 0; code < static_cast<std::uint16_t>(errc::count_); ++code) {
    const auto text = describe(make_error(static_cast<errc>(code), "x", {1, 2, 3, 4}));
    EXPECT_EQ(text.view().find('{'), std::string_view::npos) << text.view();
    EXPECT_EQ(text.view().find('}'), std::string_view::npos) << text.view();
  }
}

TEST(Error, LongTextsAreCutAndStayTerminated) {
  const std::string text(1000, 'x');
  const error e = make_error(errc::unsupported, text);
  EXPECT_EQ(e.text_view().size(), e.text.size() - 1);
  EXPECT_EQ(describe(e).view().size(), e.text.size() - 1);
}

TEST(Error, TextsWithBracesAreNotExpanded) {
  EXPECT_EQ(describe(make_error(errc::unsupported, "{0} {t} {b1}")).view(), "{0} {t} {b1}");
}

TEST(Error, HumanBytesRoundToThreeDigitsAtMost) {
  EXPECT_EQ(human_bytes(0).view(), "0 B");
  EXPECT_EQ(human_bytes(1023).view(), "1023 B");
  EXPECT_EQ(human_bytes(1536).view(), "1.5 KiB");
  EXPECT_EQ(human_bytes(std::uint64_t{1} << 40U).view(), "1.0 TiB");
  EXPECT_EQ(human_bytes(~std::uint64_t{0}).view(), "16.0 EiB");
}

TEST(Error, AnErrorOwnsNoMemory) { EXPECT_TRUE(std::is_trivially_copyable_v<error>); }

}  // namespace
