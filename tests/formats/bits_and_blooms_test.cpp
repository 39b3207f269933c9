// Files of bits-and-blooms/bloom: see tests/golden/bits-and-blooms/README.md for who wrote the golden ones.
#include <algorithm>
#include <bloomery/hash/murmur3.hpp>

#include "support/format_files.hpp"

namespace bloomery {
namespace {

using namespace test;

struct blooms_case {
  std::string name;
  std::uint64_t keys = 0;
  double fpr = 0;
  std::uint64_t bits = 0;
  unsigned hashes = 0;
  std::size_t used = 0;  // of the list of keys
};

std::string blooms_file(const std::string& name) { return golden("bits-and-blooms/" + name); }

std::vector<blooms_case> blooms_cases() {
  std::vector<blooms_case> cases;
  for (const auto& row : rows_of(blooms_file("cases.tsv"))) {
    cases.push_back({row[0], std::stoull(row[1]), std::stod(row[2]), std::stoull(row[3]),
                     static_cast<unsigned>(std::stoul(row[4])), std::stoul(row[5])});
  }
  EXPECT_EQ(cases.size(), 4U);
  return cases;
}

std::vector<std::string> blooms_keys(std::size_t count) {
  std::vector<std::string> keys;
  for (const auto& row : rows_of(blooms_file("keys.tsv"))) {
    if (keys.size() < count) keys.push_back(from_hex(row[0]));
  }
  EXPECT_EQ(keys.size(), count);
  return keys;
}

any_filter blooms_made(const blooms_case& of) {
  auto made = formats::make("bits-and-blooms", {.keys = of.keys, .fpr = of.fpr});
  EXPECT_TRUE(made) << describe(made.error()).view();
  insert(*made, blooms_keys(of.used));
  return std::move(*made);
}

TEST(BitsAndBlooms, AnswersAsTheProductDoes) {
  for (const blooms_case& each : blooms_cases()) {
    for (const char* ending : {".bin", ".json"}) {
      const auto opened = open_text(blooms_file(each.name + ending));
      ASSERT_TRUE(opened) << each.name << ending << ": " << describe(opened.error()).view();
      EXPECT_EQ(opened->form->name, "bits-and-blooms");
      std::vector<std::string> probes;
      std::vector<bool> expected;
      for (const auto& row : rows_of(blooms_file(each.name + ".probes.tsv"))) {
        probes.push_back(from_hex(row[0]));
        expected.push_back(row[1] == "1");
      }
      EXPECT_EQ(probes.size(), 301U);
      EXPECT_EQ(query(opened->filter, probes), expected) << each.name << ending;
      EXPECT_EQ(opened->filter.facts()[0].value.integer(), each.bits);
      EXPECT_EQ(opened->filter.facts()[1].value.integer(), each.hashes);
    }
  }
}

TEST(BitsAndBlooms, MakesTheBytesOfTheProductInBothForms) {
  const formats::format& form = *formats::find("bits-and-blooms");
  for (const blooms_case& each : blooms_cases()) {
    const any_filter made = blooms_made(each);
    EXPECT_TRUE(text_of(made, form) == blooms_file(each.name + ".bin")) << each.name;
    EXPECT_TRUE(text_of(made, form, {}, {.form = "binary"}) == blooms_file(each.name + ".bin")) << each.name;
    EXPECT_TRUE(text_of(made, form, {}, {.form = "json"}) == blooms_file(each.name + ".json")) << each.name;
  }
}

TEST(BitsAndBlooms, BothFormsAreTheSameFilterAndAreWrittenAsTheyWereRead) {
  const auto binary = open_text(blooms_file("n101_p0.1.bin"));
  const auto json = open_text(blooms_file("n101_p0.1.json"));
  ASSERT_TRUE(binary && json);
  EXPECT_TRUE(binary->filter == json->filter);
  EXPECT_TRUE(text_of(binary->filter, *binary->form) == blooms_file("n101_p0.1.bin"));
  EXPECT_TRUE(text_of(json->filter, *json->form) == blooms_file("n101_p0.1.json"));
  const auto copy = json->filter.clone();
  ASSERT_TRUE(copy);
  EXPECT_TRUE(text_of(*copy, *json->form) == blooms_file("n101_p0.1.json"));
}

TEST(BitsAndBlooms, AnUnknownFormIsAnError) {
  memory_sink sink;
  const any_filter made = blooms_made(blooms_cases()[0]);
  const auto saved = formats::save_to(made, *formats::find("bits-and-blooms"), byte_sink(sink), {}, {.form = "yaml"});
  ASSERT_FALSE(saved);
  EXPECT_EQ(describe(saved.error()).view(), "form is binary or json");
}

std::string with_standard_alphabet(std::string text) {
  std::replace(text.begin(), text.end(), '-', '+');
  std::replace(text.begin(), text.end(), '_', '/');
  return text;
}

TEST(BitsAndBlooms, StandardBase64IsReadAndKept) {
  const std::string url_safe = blooms_file("n100_p0.01.json");
  const std::string standard = with_standard_alphabet(url_safe);
  ASSERT_NE(url_safe, standard);
  const auto opened = open_text(standard);
  ASSERT_TRUE(opened) << describe(opened.error()).view();
  EXPECT_TRUE(opened->filter == open_text(url_safe)->filter);
  EXPECT_EQ(text_of(opened->filter, *opened->form), standard);
  EXPECT_EQ(text_of(opened->filter, *opened->form, {}, {.form = "json"}), standard);
}

// m, k and b of the smallest golden file, put together otherwise.
TEST(BitsAndBlooms, JsonMayHaveBlanksAndAnyOrder) {
  const auto expected = open_text(blooms_file("n1_p0.5.json"));
  ASSERT_TRUE(expected);
  for (const char* text : {R"({"b":"AAAAAAAAAAIAAAAAAAAAAw==","k":2,"m":2})", R"( { "k" : 2 ,
  "m":2,	"b": "AAAAAAAAAAIAAAAAAAAAAw==" }
)"}) {
    const auto opened = open_text(text);
    ASSERT_TRUE(opened) << text << ": " << describe(opened.error()).view();
    EXPECT_TRUE(opened->filter == expected->filter) << text;
  }
}

std::string refusal_of(std::string_view text) {
  const auto opened = open_text(text, {.from = "bits-and-blooms"});
  EXPECT_FALSE(opened) << text;
  return opened ? "" : std::string(describe(opened.error()).view());
}

TEST(BitsAndBlooms, JsonThatIsNoFilterIsRefusedWithItsPlace) {
  const std::string at =
      "is not a filter in format bits-and-blooms: its JSON is not {\"m\":1,\"k\":1,\"b\":\"...\"} from byte ";
  EXPECT_EQ(refusal_of("{}"), at + "1 on");
  EXPECT_EQ(refusal_of(R"({"m":2,"k":2})"), at + "13 on");
  EXPECT_EQ(refusal_of(R"({"m":2,"m":2,"k":2,"b":"AAAAAAAAAAIAAAAAAAAAAw=="})"), at + "8 on");
  EXPECT_EQ(refusal_of(R"({"m":2,"x":2,"k":2,"b":"AAAAAAAAAAIAAAAAAAAAAw=="})"), at + "8 on");
  EXPECT_EQ(refusal_of(R"({"m":-2,"k":2,"b":"AAAAAAAAAAIAAAAAAAAAAw=="})"), at + "5 on");
  EXPECT_EQ(refusal_of(R"({"m":2.0,"k":2,"b":"AAAAAAAAAAIAAAAAAAAAAw=="})"), at + "6 on");
  EXPECT_EQ(refusal_of(R"({"m":18446744073709551616,"k":2,"b":"AA=="})"), at + "24 on");
  EXPECT_EQ(refusal_of(R"({"m":2,"k":2,"b":"AAAAAAAAAAI!"})"), at + "29 on");
  EXPECT_EQ(refusal_of(R"({"m":2,"k":2,"b":"AAAAAAAAAAIAAAAAAAAAAw=="}{)"), at + "44 on");
  EXPECT_EQ(refusal_of(R"({"m":2,"k":2,"b":["AAAAAAAAAAIAAAAAAAAAAw=="]})"), at + "17 on");
  const std::string cut = "is not a filter in format bits-and-blooms: its JSON is cut short: copy it again";
  EXPECT_EQ(refusal_of(R"({"m":2,"k":2,"b":"AAAAAAAAAAI)"), cut);
  EXPECT_EQ(refusal_of(R"({"m":2)"), cut);
}

TEST(BitsAndBlooms, BitSetsThatDoNotFitAreRefused) {
  const std::string in = "is not a filter in format bits-and-blooms: ";
  EXPECT_EQ(refusal_of(R"({"m":2,"k":2,"b":""})"), in + "b is not a bit set in base64");
  EXPECT_EQ(refusal_of(R"({"m":2,"k":2,"b":"AAAAAAAAAAIAAAAAAAAAA"})"), in + "b is not a bit set in base64");
  EXPECT_EQ(refusal_of(R"({"m":2,"k":2,"b":"AAAAAAAAAAI="})"), in + "b has more or fewer bits than it says");
  EXPECT_EQ(refusal_of(R"({"m":2,"k":2,"b":"AAAAAAAAAAIAAAAAAAAAAx=="})"),
            in + "b is not base64 in one alphabet, with padding at its end");
  EXPECT_EQ(refusal_of(R"({"m":2,"k":2,"b":"AAAAAAAAAAIAAAAA-AA+Aw=="})"),
            in + "b is not base64 in one alphabet, with padding at its end");
  EXPECT_EQ(refusal_of(R"({"m":2,"k":2,"b":"AAAAAAAAAAIAAAA=AAAAAw=="})"),
            in + "b is not base64 in one alphabet, with padding at its end");
  EXPECT_EQ(refusal_of(R"({"m":2,"k":0,"b":"AAAAAAAAAAIAAAAAAAAAAw=="})"),
            "its header is not usable: field k has value 0");
  EXPECT_EQ(refusal_of(R"({"m":0,"k":2,"b":"AAAAAAAAAAIAAAAAAAAAAw=="})"),
            "its header is not usable: field m has value 0");
  EXPECT_EQ(refusal_of(R"({"m":3,"k":2,"b":"AAAAAAAAAAIAAAAAAAAAAw=="})"),
            "its header is not usable: field length of the bit set has value 2");
}

// The bytes of a file: m, k, length, then words.
std::string blooms_bytes(std::uint64_t bits, std::uint64_t hashes, std::uint64_t length, std::size_t words) {
  std::string out(24 + 8 * words, '\0');
  store_be(out.data(), bits);
  store_be(out.data() + 8, hashes);
  store_be(out.data() + 16, length);
  return out;
}

TEST(BitsAndBlooms, ABitSetMadeFromWordsIsLongerThanMAndStaysSo) {
  const std::string file = blooms_bytes(100, 3, 128, 2);
  const auto opened = open_text(file, {.in_memory = true});
  ASSERT_TRUE(opened) << describe(opened.error()).view();
  EXPECT_EQ(opened->filter.facts()[0].value.integer(), 100U);
  EXPECT_EQ(text_of(opened->filter, *opened->form), file);
}

TEST(BitsAndBlooms, BinaryFilesOfAnotherSizeAreRefused) {
  const std::string file = blooms_file("n100_p0.01.bin");
  EXPECT_EQ(refusal_of(std::string_view(file).substr(0, 23)),
            "is cut short: it has 23 bytes and should have 24; copy or build it again");
  EXPECT_EQ(refusal_of(std::string_view(file).substr(0, 143)),
            "is cut short: it has 143 bytes and should have 144; copy or build it again");
  EXPECT_EQ(refusal_of(file + "x"),
            "has 145 bytes and should have 144: something was appended; copy or build it again");
  EXPECT_EQ(refusal_of(blooms_bytes(64, 4097, 64, 1)), "its header is not usable: field k has value 4097");
  EXPECT_EQ(refusal_of(blooms_bytes(65, 3, 64, 1)),
            "its header is not usable: field length of the bit set has value 64");
  EXPECT_EQ(refusal_of(blooms_bytes(64, 3, 65, 2)),
            "its header is not usable: field length of the bit set has value 65");
  EXPECT_EQ(refusal_of(blooms_bytes(~std::uint64_t{0}, 3, ~std::uint64_t{0}, 1)),
            "its header is not usable: field m has value 18446744073709551615");
}

TEST(BitsAndBlooms, AUnionHasTheBitsOfBoth) {
  const blooms_case of = blooms_cases()[0];
  auto all = blooms_keys(of.used);
  const std::vector<std::string> some(all.begin(), all.begin() + 50);
  const std::vector<std::string> others(all.begin() + 50, all.end());
  auto one = formats::make("bits-and-blooms", {.keys = of.keys, .fpr = of.fpr});
  auto two = formats::make("bits-and-blooms", {.keys = of.keys, .fpr = of.fpr});
  ASSERT_TRUE(one && two);
  insert(*one, some);
  insert(*two, others);
  ASSERT_TRUE(one->merge(*two));
  EXPECT_TRUE(text_of(*one, *formats::find("bits-and-blooms")) == blooms_file(of.name + ".bin"));
  const auto smaller = formats::make("bits-and-blooms", {.keys = 10, .fpr = of.fpr});
  ASSERT_TRUE(smaller);
  EXPECT_FALSE(one->merge(*smaller));
}

TEST(BitsAndBlooms, DamageIsAnErrorOrHarmless) {
  expect_harmless_damage(blooms_file("n1_p0.5.bin"), "bits-and-blooms");
  expect_harmless_damage(blooms_file("n101_p0.1.bin"), "bits-and-blooms");
  expect_harmless_damage(blooms_file("n1_p0.5.json"), "bits-and-blooms");
  expect_harmless_damage(blooms_file("n101_p0.1.json"), "bits-and-blooms");
}

// Where a key's bits are before the remainder is taken, as the product computes it: its hash alone.
TEST(BitsAndBlooms, FourWordsOfAKeyGiveTheLocationsOfTheProduct) {
  const auto rows = rows_of(blooms_file("locations.tsv"));
  ASSERT_EQ(rows.size(), 50U);
  for (const auto& row : rows) {
    const std::string key = from_hex(row[0]);
    const digest256 h = murmur3_x64_128{}.hash256(key.data(), key.size());
    std::string text = "[";
    for (std::uint64_t i = 0; i < 10; ++i) {
      const std::uint64_t at = h.word[i % 2] + i * h.word[2 + (i + i % 2) % 4 / 2];
      text.append(i == 0 ? "" : " ").append(std::to_string(at));
    }
    EXPECT_EQ(text + "]", row[1]) << row[0];
  }
}

}  // namespace
}  // namespace bloomery
