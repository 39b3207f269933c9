// Filters of Apache Spark: see tests/golden/spark/README.md for who wrote the golden ones.
#include <algorithm>
#include <bloomery/hash/murmur3.hpp>
#include <bloomery/hash/murmur3_spark.hpp>

#include "support/format_files.hpp"

namespace bloomery {
namespace {

using namespace test;

std::string spark_file(const std::string& name) { return golden("spark/" + name); }
const formats::format& spark() { return *formats::find("spark"); }

// A value of the golden tables as the bytes that are hashed.
std::string spark_bytes(const std::string& kind, const std::string& value) {
  if (kind != "long") return from_hex(value);
  std::string bytes(8, '\0');
  store_le(bytes.data(), static_cast<std::uint64_t>(std::stoll(value)));
  return bytes;
}

struct spark_probes {
  std::vector<std::string> keys;
  std::vector<std::string> inserted;
  std::vector<bool> answers;
};
spark_probes probes_of(const std::string& name) {
  spark_probes out;
  for (const auto& row : rows_of(spark_file(name + ".probes.tsv"))) {
    out.keys.push_back(spark_bytes(row[0], row[1]));
    if (row[2] == "1") out.inserted.push_back(out.keys.back());
    out.answers.push_back(row[3] == "1");
  }
  return out;
}

TEST(Spark, AnswersAsTheProductDoes) {
  const auto cases = rows_of(spark_file("cases.tsv"));
  ASSERT_EQ(cases.size(), 10U);
  for (const auto& each : cases) {
    SCOPED_TRACE(each[0]);
    const auto opened = open_text(spark_file(each[0] + ".bin"));
    ASSERT_TRUE(opened) << describe(opened.error()).view();
    EXPECT_EQ(opened->form->name, "spark");
    EXPECT_EQ(opened->filter.hash().seed, static_cast<std::uint32_t>(std::stol(each[4])));
    const spark_probes probes = probes_of(each[0]);
    EXPECT_EQ(query(opened->filter, probes.keys), probes.answers);
    EXPECT_TRUE(text_of(opened->filter, spark()) == spark_file(each[0] + ".bin"));
  }
}

TEST(Spark, MakesTheBytesOfTheProduct) {
  for (const auto& each : rows_of(spark_file("cases.tsv"))) {
    SCOPED_TRACE(each[0]);
    auto made = formats::make("spark", {.keys = std::stoull(each[2]), .bits = std::stoull(each[3])},
                              {.spark_version = each[1], .seed = each[4]});
    ASSERT_TRUE(made) << describe(made.error()).view();
    insert(*made, probes_of(each[0]).inserted);
    EXPECT_TRUE(text_of(*made, spark()) == spark_file(each[0] + ".bin"));
  }
}

TEST(Spark, SizesAsTheProductDoes) {
  const auto rows = rows_of(spark_file("sizing.tsv"));
  ASSERT_GT(rows.size(), 10U);
  for (const auto& row : rows) {
    const filter_params params{.keys = std::stoull(row[0]), .fpr = std::stod(row[1])};
    const auto plan = spark().plan(params, {});
    ASSERT_TRUE(plan) << row[0] << " " << row[1] << " " << describe(plan.error()).view();
    EXPECT_EQ(plan->hashes, std::stoul(row[3])) << row[0] << " " << row[1];
    EXPECT_EQ(plan->bits, 64 * std::stoull(row[4])) << row[0] << " " << row[1];
  }
}

TEST(Spark, HasItsOwnMurmur3) {
  const auto rows = rows_of(spark_file("murmur3_x86_32_spark.tsv"));
  ASSERT_GT(rows.size(), 20U);
  for (const auto& row : rows) {
    const std::string bytes = spark_bytes(row[0], row[1]);
    const auto seed = static_cast<std::uint32_t>(std::stol(row[2]));
    const auto expected = static_cast<std::uint32_t>(std::stol(row[3]));
    EXPECT_EQ(murmur3_spark::once(bytes.data(), bytes.size(), seed), expected) << row[0] << " " << row[1];
    // Keys of whole words have the published value.
    if (bytes.size() % 4 == 0) {
      EXPECT_EQ((murmur3_x86_32{.seed = seed}(bytes.data(), bytes.size())), expected);
    }
  }
}

TEST(Spark, AnswersAndIsFilledWhereItLiesAndInMemory) {
  auto opened = open_text(spark_file("str_n100_fpp001_v2_seedm7.bin"), {.in_memory = true});
  ASSERT_TRUE(opened);
  const std::vector<std::string> more = {"one", "two", "a third one"};
  insert(opened->filter, more);
  for (const bool present : query(opened->filter, more)) EXPECT_TRUE(present);
  const auto again = open_text(text_of(opened->filter, spark()));
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->filter == opened->filter);
}

TEST(Spark, MergesFiltersOfOneVersionAndSeed) {
  auto a = formats::make("spark", {.keys = 100, .fpr = 0.01});
  auto b = formats::make("spark", {.keys = 100, .fpr = 0.01});
  const auto seeded = formats::make("spark", {.keys = 100, .fpr = 0.01}, {.seed = "7"});
  const auto older = formats::make("spark", {.keys = 100, .fpr = 0.01}, {.spark_version = "1"});
  ASSERT_TRUE(a && b && seeded && older);
  insert(*a, {"a", "b"});
  insert(*b, {"c"});
  ASSERT_TRUE(a->merge(*b));
  for (const bool present : query(*a, {"a", "b", "c"})) EXPECT_TRUE(present);
  EXPECT_FALSE(a->merge(*seeded));
  EXPECT_FALSE(a->merge(*older));
}

TEST(Spark, RefusesWhatItIsNot) {
  const std::string good = spark_file("long_n100_fpp03_v2_seed0.bin");
  const auto refusal = [](const std::string& file) {
    const auto opened = open_text(file, {.from = "spark"});
    return opened ? "" : std::string(describe(opened.error()).view());
  };
  const auto with = [&](std::size_t at, std::string_view bytes) {
    std::string file = good;
    file.replace(at, bytes.size(), bytes);
    return refusal(file);
  };
  ASSERT_EQ(refusal(good), "");
  EXPECT_NE(with(0, {"\0\0\0\3", 4}), "");
  EXPECT_NE(with(0, {"\1\0\0\0", 4}).find("Velox"), std::string::npos);
  EXPECT_NE(with(4, {"\0\0\0\0", 4}), "") << "no hash function";
  EXPECT_NE(with(4, {"\x3b\x9a\xca\0", 4}), "") << "a billion of them";
  EXPECT_NE(with(4, {"\xff\xff\xff\xff", 4}), "");
  EXPECT_NE(with(12, {"\0\0\0\0", 4}), "") << "no words";
  EXPECT_NE(with(12, {"\x7f\xff\xff\xff", 4}), "") << "more than there are";
  EXPECT_NE(with(12, {"\x80\0\0\0", 4}), "");
  EXPECT_NE(refusal(good + "x"), "");
  EXPECT_NE(refusal(good.substr(0, good.size() - 1)), "");
  const auto made = [](const filter_params& params, const formats::format_options& options) {
    return formats::make("spark", params, options).has_value();
  };
  EXPECT_FALSE(made({.keys = 10}, {.spark_version = "3"}));
  EXPECT_FALSE(made({.keys = 10}, {.spark_version = "1", .seed = "7"}));
  EXPECT_FALSE(made({.keys = 10}, {.seed = "4294967296"}));
  EXPECT_FALSE(made({.keys = 10}, {.seed = "seven"}));
  EXPECT_TRUE(made({.keys = 10}, {.seed = "0xfffffff9"}));
  EXPECT_FALSE(made({.keys = 1, .fpr = 0.9}, {}));
  EXPECT_FALSE(made({.keys = std::uint64_t{1} << 40U}, {})) << "more words than Java has";
  const auto second = formats::make("spark", {.keys = 10});
  memory_sink sink;
  EXPECT_FALSE(formats::save_to(*second, spark(), byte_sink(sink), {}, {.spark_version = "1"}));
}

TEST(Spark, DamageIsAnErrorOrHarmless) {
  expect_harmless_damage(spark_file("str_n100_fpp001_v1_seed0.bin"), "spark");
  expect_harmless_damage(spark_file("long_n100_fpp03_v2_seedm7.bin"), "spark");
}

}  // namespace
}  // namespace bloomery
