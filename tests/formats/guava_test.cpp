// Files of Guava: see tests/golden/guava/README.md for who wrote the golden ones. tests/cli/guava_test.cpp has the
// funnels, and a Guava that runs.
#include <algorithm>
#include <cmath>

#include "support/format_files.hpp"

namespace bloomery {
namespace {

using namespace test;

struct guava_case {
  std::string name;
  std::string strategy;
  std::uint64_t keys = 0;
  double fpr = 0;
  std::uint64_t hashes = 0;
  std::uint64_t words = 0;
  std::uint64_t estimate = 0;
  double fpr_now = 0;
};

std::string guava_file(const std::string& name) { return golden("guava/" + name); }

std::vector<guava_case> guava_cases() {
  std::vector<guava_case> out;
  for (const auto& row : rows_of(guava_file("cases.tsv"))) {
    out.push_back({row[0], row[2] == "MURMUR128_MITZ_32" ? "32" : "64", std::stoull(row[3]), std::stod(row[4]),
                   std::stoull(row[6]), std::stoull(row[7]), std::stoull(row[11]), std::stod(row[12])});
  }
  EXPECT_EQ(out.size(), 14U);
  return out;
}

// The second column of a list of keys, as bytes.
std::vector<std::string> funnelled(const std::string& file) {
  std::vector<std::string> out;
  for (const auto& row : rows_of(guava_file(file))) out.push_back(from_hex(row[1]));
  return out;
}

TEST(Guava, AnswersAsTheProductDoes) {
  for (const guava_case& each : guava_cases()) {
    const auto opened = open_text(guava_file(each.name + ".bin"));
    ASSERT_TRUE(opened) << each.name;
    EXPECT_EQ(opened->form->name, "guava");
    std::vector<bool> expected;
    for (const auto& row : rows_of(guava_file(each.name + ".probes.tsv"))) expected.push_back(row[2] == "1");
    EXPECT_EQ(query(opened->filter, funnelled(each.name + ".probes.tsv")), expected) << each.name;
    const auto present = query(opened->filter, funnelled(each.name + ".keys.tsv"));
    EXPECT_EQ(std::count(present.begin(), present.end(), false), 0) << each.name;
  }
}

TEST(Guava, MakesTheBytesOfTheProduct) {
  for (const guava_case& each : guava_cases()) {
    const formats::format_options options{.strategy = each.strategy};
    auto made = formats::make("guava", {.keys = each.keys, .fpr = each.fpr}, options);
    ASSERT_TRUE(made) << each.name;
    // One by one, for what put() returned for each.
    for (const auto& row : rows_of(guava_file(each.name + ".keys.tsv"))) {
      EXPECT_EQ(insert(*made, {from_hex(row[1])}), row[2] == "1" ? 1U : 0U) << each.name << " " << row[0];
    }
    EXPECT_TRUE(text_of(*made, *formats::find("guava")) == guava_file(each.name + ".bin")) << each.name;
  }
}

TEST(Guava, EstimatesAsTheProductDoes) {
  for (const guava_case& each : guava_cases()) {
    const auto opened = open_text(guava_file(each.name + ".bin"));
    ASSERT_TRUE(opened) << each.name;
    const auto stats = opened->filter.stats();
    ASSERT_TRUE(stats);
    EXPECT_EQ(stats->keys.keys, each.estimate) << each.name;
    // The product takes bits to be independent, which those of a small filter are not: it delivers more.
    const double independent = std::pow(stats->fill, static_cast<double>(each.hashes));
    EXPECT_NEAR(independent, each.fpr_now, each.fpr_now * 1e-12) << each.name;
    EXPECT_GE(stats->fpr_now, each.fpr_now * (1 - 1e-12)) << each.name;
    EXPECT_FALSE(stats->target_known);
    EXPECT_EQ(stats->memory_bytes, each.words * 8);
  }
}

TEST(Guava, SizesAsTheProductDoes) {
  std::size_t refused = 0;
  const formats::format& form = *formats::find("guava");
  for (const auto& row : rows_of(guava_file("sizing.tsv"))) {
    const auto plan = form.plan({.keys = std::stoull(row[0]), .fpr = std::stod(row[1])}, {.k_rule = "old"});
    const std::string which = row[0] + " " + row[1];
    if (row[3] == "ERROR") {
      EXPECT_FALSE(plan) << which;
      ++refused;
      continue;
    }
    ASSERT_TRUE(plan) << which << ": " << describe(plan.error()).view();
    EXPECT_EQ(plan->hashes, std::stoul(row[3])) << which;
    EXPECT_EQ(plan->bits, std::stoull(row[4]) * 64) << which;
    const auto usual = form.plan({.keys = std::stoull(row[0]), .fpr = std::stod(row[1])}, {});
    ASSERT_TRUE(usual);
    EXPECT_EQ(usual->hashes, plan->hashes) << "old is the default";
  }
  EXPECT_GT(refused, 0U);
}

// The rule from 33.4 on takes the rate alone; the bits are the same.
TEST(Guava, TheNewRuleForKDiffersForFewKeys) {
  const formats::format& form = *formats::find("guava");
  const auto hashes = [&](std::uint64_t keys, double fpr, std::string_view rule) {
    const auto plan = form.plan({.keys = keys, .fpr = fpr}, {.k_rule = rule});
    EXPECT_TRUE(plan);
    return plan ? plan->hashes : 0;
  };
  EXPECT_EQ(hashes(1, 0.01, "old"), 6U);
  EXPECT_EQ(hashes(1, 0.01, "new"), 7U);
  EXPECT_EQ(hashes(1, 0.25, "old"), 1U);
  EXPECT_EQ(hashes(1, 0.25, "new"), 2U);
  EXPECT_EQ(hashes(1000, 0.9, "new"), 1U);
  for (const double fpr : {0.3, 0.03, 0.001, 1e-9}) {
    EXPECT_EQ(hashes(1'000'000, fpr, "old"), hashes(1'000'000, fpr, "new")) << fpr;
    EXPECT_EQ(hashes(1'000'000, fpr, "new"), std::lround(-std::log2(fpr))) << fpr;
  }
}

TEST(Guava, RefusesWhatTheProductCannotHold) {
  const formats::format& form = *formats::find("guava");
  EXPECT_FALSE(form.plan({.keys = 100, .fpr = 1e-80}, {})) << "k would be 266 and is one byte";
  EXPECT_TRUE(form.plan({.keys = 100, .fpr = 1e-76}, {}));
  EXPECT_FALSE(form.plan({.keys = 15'000'000'000, .fpr = 0.01}, {})) << "more than 2^31 - 1 longs";
  EXPECT_TRUE(form.plan({.keys = 14'000'000'000, .fpr = 0.01}, {}));
  EXPECT_FALSE(form.plan({.keys = 100, .fpr = 0.01, .hashes = 256}, {}));
  EXPECT_FALSE(form.plan({.keys = 100, .fpr = 0.01}, {.strategy = "16"}));
  EXPECT_FALSE(form.plan({.keys = 100, .fpr = 0.01}, {.k_rule = "other"}));
}

TEST(Guava, MemoryIsACeiling) {
  const formats::format& form = *formats::find("guava");
  for (const std::uint64_t bytes : {8U, 15U, 16U, 1001U, 4096U, 100'003U}) {
    const auto plan = form.plan({.keys = 10, .memory_bytes = bytes}, {});
    ASSERT_TRUE(plan) << bytes << describe(plan.error()).view();
    EXPECT_EQ(plan->memory_bytes, bytes / 8 * 8);
    EXPECT_LE(plan->hashes, 255U);
  }
  EXPECT_FALSE(form.plan({.keys = 10, .memory_bytes = 7}, {}));
  const auto by_key = form.plan({.keys = 1000, .bits_per_key = 10}, {});
  ASSERT_TRUE(by_key);
  EXPECT_EQ(by_key->bits, 10'048U) << "whole longs";
  EXPECT_EQ(by_key->hashes, 7U);
}

TEST(Guava, FilesOfAnotherSizeAreNotTakenForIts) {
  const std::string file = guava_file("str_utf8_n100_fpp03_mitz64.bin");
  const auto longer = open_text(file + "x");
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().code, errc::no_format);
  EXPECT_NE(describe(longer.error()).view().find("could be guava"), std::string_view::npos);
  EXPECT_FALSE(open_text(std::string_view(file).substr(0, file.size() - 1)));
  // Guava reads no further than the longs, and neither do we; they are all that is written again.
  const auto read = open_text(file + "x", {.from = "guava"});
  ASSERT_TRUE(read);
  EXPECT_TRUE(text_of(read->filter, *read->form) == file);
  const auto cut = open_text(std::string_view(file).substr(0, file.size() - 1), {.from = "guava"});
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, errc::truncated);
}

TEST(Guava, HostileHeadersAreRefusedBeforeAnythingIsAllocated) {
  const auto refused = [](std::string_view header, errc code) {
    const auto opened = open_text(std::string(header) + std::string(64, '\0'), {.from = "guava"});
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, code) << describe(opened.error()).view();
  };
  using std::string_view_literals::operator""sv;
  refused("\x02\x05\0\0\0\x08"sv, errc::not_in_format);    // a strategy that there is not
  refused("\xff\x05\0\0\0\x08"sv, errc::not_in_format);    // and a negative one
  refused("\x01\x00\0\0\0\x08"sv, errc::not_in_format);    // k = 0
  refused("\x01\x05\0\0\0\0"sv, errc::bad_field);          // no longs
  refused("\x01\x05\xff\xff\xff\xff"sv, errc::bad_field);  // a negative number of them
  refused("\x01\x05\x7f\xff\xff\xff"sv, errc::truncated);  // 16 GiB that are not there
  refused("\x01\x05\0\0\0\x09"sv, errc::truncated);
}

TEST(Guava, TheLargestKIsAsked) {
  std::string file("\x01\xff\0\0\0\x01", 6);
  file.append(8, '\xff');
  const auto full = open_text(file);
  ASSERT_TRUE(full);
  EXPECT_EQ(query(full->filter, {"a", "b"}), (std::vector<bool>{true, true}));
}

TEST(Guava, UnionsAreThoseOfTheProduct) {
  for (const std::string strategy : {"32", "64"}) {
    const formats::format_options options{.strategy = strategy};
    auto a = formats::make("guava", {.keys = 100, .fpr = 0.01}, options);
    auto b = formats::make("guava", {.keys = 100, .fpr = 0.01}, options);
    auto both = formats::make("guava", {.keys = 100, .fpr = 0.01}, options);
    ASSERT_TRUE(a && b && both);
    insert(*a, {"a", "b"});
    insert(*b, {"b", "c"});
    insert(*both, {"a", "b", "c"});
    ASSERT_TRUE(a->merge(*b));
    EXPECT_TRUE(*a == *both);
  }
  const auto narrow = formats::make("guava", {.keys = 100, .fpr = 0.01}, {.strategy = "32"});
  auto wide = formats::make("guava", {.keys = 100, .fpr = 0.01}, {.strategy = "64"});
  auto larger = formats::make("guava", {.keys = 200, .fpr = 0.01});
  ASSERT_TRUE(narrow && wide && larger);
  EXPECT_FALSE(wide->merge(*narrow)) << "other bits for the same keys";
  EXPECT_FALSE(wide->merge(*larger));
}

TEST(Guava, DamageIsAnErrorOrHarmless) {
  expect_harmless_damage(guava_file("str_utf8_n1_fpp5_mitz64.bin"), "guava");
  expect_harmless_damage(guava_file("str_utf8_n1_fpp5_mitz32.bin"), "guava");
  expect_harmless_damage(guava_file("str_utf8_n100_fpp03_mitz64.bin"), "guava");
}

}  // namespace
}  // namespace bloomery
