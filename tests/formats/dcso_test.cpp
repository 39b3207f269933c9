// Files of DCSO's bloom: see tests/golden/dcso/README.md for who wrote the golden ones.
#include <algorithm>

#include "formats/support.hpp"

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
    const auto answers = ask(opened->filter, probes);
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

TEST(Dcso, DamageIsAnErrorOrHarmless) {
  expect_harmless_damage(dcso_file("n7_p0.05.bloom"), "dcso");
  expect_harmless_damage(dcso_file("n100_p0.01_data.bloom"), "dcso");
  expect_harmless_damage(dcso_file("n100_p0.01.bloom.gz"), "dcso");
}

}  // namespace
}  // namespace bloomery
