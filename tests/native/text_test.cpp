// The text form: how it looks, what copying may do to it, and what may not have happened to it.
#include <bloomery/kinds/bloom.hpp>
#include <bloomery/native/text.hpp>

#include "support/typed.hpp"

namespace bloomery::test {
namespace {

std::string text_of(const bytes& file) { return {reinterpret_cast<const char*>(file.data()), file.size()}; }

std::string sample_text() { return text_of(saved(sample<bloom>(20), {.text = true})); }

std::string error_of(const std::string& text) { return load_error<bloom>(as_bytes(text)); }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// Base64 of bytes by the writer, without the frame and line ends.
std::string base64(std::string_view plain) {
  std::string out;
  auto collect = [&out](std::span<const std::byte> piece) -> result<void> {
    out.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    return {};
  };
  text_writer writer{byte_sink(collect)};
  EXPECT_TRUE(writer.write(std::as_bytes(std::span(plain))));
  EXPECT_TRUE(writer.finish());
  out = out.substr(text_begin.size());
  return replaced(out.substr(0, out.find(text_end)), "\n", "");
}

TEST(Text, IsBase64AsTheStandardHasIt) {
  // RFC 4648, section 10.
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foob"), "Zm9vYg==");
  EXPECT_EQ(base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

TEST(Text, HasLinesOf76BetweenItsTwoMarks) {
  const std::string text = sample_text();
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    ASSERT_NE(end, std::string::npos);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  ASSERT_GT(lines.size(), 4U);
  EXPECT_EQ(lines.front(), "-----BEGIN BLOOMERY FILTER-----");
  EXPECT_EQ(lines.back(), "-----END BLOOMERY FILTER-----");
  for (std::size_t i = 1; i + 2 < lines.size(); ++i) EXPECT_EQ(lines[i].size(), 76U);
  EXPECT_LE(lines[lines.size() - 2].size(), 76U);
  EXPECT_TRUE(lines[1].starts_with("iUJMTVkNChoB"));  // the magic and the version
}

TEST(Text, SurvivesWhatCopyingDoesToIt) {
  const std::string text = sample_text();
  EXPECT_EQ(error_of(replaced(text, "\n", "\r\n")), "no error");
  EXPECT_EQ(error_of(replaced(text, "\n", "\n\n")), "no error");
  EXPECT_EQ(error_of(replaced(text, "\n", "\n    ")), "no error");
  EXPECT_EQ(error_of(replaced(text, "\n", " \t\n")), "no error");
  EXPECT_EQ(error_of("\n\r\n  \t" + text + "\n\n  "), "no error");
  EXPECT_EQ(error_of(text.substr(0, text.size() - 1)), "no error");
}

TEST(Text, RefusesWhatIsNotPartOfIt) {
  const std::string text = sample_text();
  EXPECT_EQ(error_of("> " + text), "is not a Bloomery filter: it starts with \"> -----BEGIN\" (text)");
  EXPECT_TRUE(error_of(replaced(text, "\n", "\n> ")).starts_with("its text form is damaged: byte "));
  EXPECT_EQ(error_of(std::string(text).insert(32, "> ")), "its text form is damaged: byte 32 is 0x3e");
  EXPECT_TRUE(error_of(text + "thanks").starts_with("its text form is damaged: byte ")) << error_of(text + "thanks");
  EXPECT_TRUE(error_of(text + text).starts_with("its text form is damaged: byte "));
  EXPECT_EQ(error_of(text.substr(0, text.size() / 2)),
            "its text form is damaged: it has no END line, so its end is missing");
  EXPECT_EQ(error_of(std::string(text_begin) + "\n" + std::string(text_end)),
            "is empty: a filter file has at least 256 bytes");
  std::string longer = text;
  longer.insert(100, "A");
  EXPECT_EQ(error_of(longer), "its text form is damaged: characters are missing or were added");
  std::string padded = text;
  padded.insert(100, "=");
  EXPECT_TRUE(error_of(padded).starts_with("its text form is damaged: byte 101 is 0x"));
}

TEST(Text, RefusesBitsBehindTheEnd) {
  const auto decode = [](const std::string& body) -> std::string {
    const bytes text = as_bytes(std::string(text_begin) + "\n" + body + "\n" + std::string(text_end));
    const auto block = find_text(text);
    if (!block) return std::string(describe(block.error()).view());
    bytes out(block->decoded_bytes);
    const auto done = decode_text(*block, out);
    return done ? text_of(out) : std::string(describe(done.error()).view());
  };
  EXPECT_EQ(decode("Zg=="), "f");
  EXPECT_EQ(decode("Zh=="), "its text form is damaged: its last character is not usable");
  EXPECT_EQ(decode("Zm8="), "fo");
  EXPECT_EQ(decode("Zm9="), "its text form is damaged: its last character is not usable");
  EXPECT_EQ(decode("Zg="), "its text form is damaged: characters are missing or were added");
  EXPECT_EQ(decode("Z==="), "its text form is damaged: characters are missing or were added");
  EXPECT_EQ(decode("Zm_v"), "its text form is damaged: byte 34 is 0x5f");
}

TEST(Text, HeaderIsReadWithoutTheRest) {
  const bloom filter = sample<bloom>(100'000);
  const auto header = read_header_bytes(saved(filter, {.text = true}));
  ASSERT_TRUE(header) << describe(header.error()).c_str();
  EXPECT_TRUE(header->text);
  EXPECT_EQ(header->payload_bytes, filter.memory_bytes());
}

}  // namespace
}  // namespace bloomery::test
