// Filters of LevelDB, single and in tables: see tests/golden/leveldb/README.md for who wrote the golden ones. The library
// itself is the other oracle: it reads what we write, and the reverse.
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <random>

#include "formats/leveldb_support.hpp"
#include "src/formats/leveldb.hpp"

namespace bloomery {
namespace {

using namespace test;

std::vector<std::string> hex_column(const std::string& file) {
  std::vector<std::string> out;
  for (const auto& row : rows_of(leveldb_file(file))) out.push_back(from_hex(row[0]));
  return out;
}

TEST(Leveldb, AnswersAsTheProductDoes) {
  std::size_t cases = 0;
  for (const auto& row : rows_of(leveldb_file("cases.tsv"))) {
    const auto opened = open_leveldb(leveldb_file(row[0] + ".bin"));
    ASSERT_TRUE(opened) << row[0];
    std::vector<bool> expected;
    for (const auto& probe : rows_of(leveldb_file(row[0] + ".probes.tsv"))) expected.push_back(probe[1] == "1");
    EXPECT_EQ(query(opened->filter, hex_column(row[0] + ".probes.tsv")), expected) << row[0];
    ++cases;
  }
  EXPECT_EQ(cases, 23U);
}

TEST(Leveldb, MakesTheBytesOfTheProduct) {
  for (const auto& row : rows_of(leveldb_file("cases.tsv"))) {
    auto made = formats::make("leveldb", {.keys = std::stoull(row[2]), .bits_per_key = std::stod(row[1])});
    ASSERT_TRUE(made) << row[0] << describe(made.error()).view();
    insert(*made, hex_column("keys_n" + row[2] + ".tsv"));
    EXPECT_TRUE(text_of(*made, *formats::find("leveldb")) == leveldb_file(row[0] + ".bin")) << row[0];
  }
}

TEST(Leveldb, DegenerateFiltersAnswerAsTheProductDoes) {
  for (const auto& row : rows_of(leveldb_file("degenerate.tsv"))) {
    const auto opened = open_leveldb(from_hex(row[0]));
    ASSERT_TRUE(opened) << row[0];
    EXPECT_EQ(query(opened->filter, {from_hex(row[1])}), (std::vector<bool>{row[2] == "1"})) << row[0] << " " << row[1];
    if (row[0].size() >= 4) {
      EXPECT_EQ(text_of(opened->filter, *opened->form), from_hex(row[0]));
    }
    EXPECT_TRUE(opened->filter.stats());
  }
}

TEST(Leveldb, TheLibraryReadsWhatWeWriteAndTheReverse) {
  std::mt19937_64 random(7);
  std::size_t absent = 0;
  for (const int bits_per_key : {1, 2, 3, 5, 10, 17, 29, 43, 44, 100}) {
    const std::unique_ptr<const ::leveldb::FilterPolicy> policy(::leveldb::NewBloomFilterPolicy(bits_per_key));
    for (const std::size_t count : {0U, 1U, 2U, 6U, 7U, 64U, 1000U}) {
      const auto keys = random_keys(random, count);
      const std::vector<::leveldb::Slice> slices(keys.begin(), keys.end());
      std::string theirs;
      policy->CreateFilter(slices.data(), static_cast<int>(count), &theirs);
      auto made = formats::make("leveldb", {.keys = count, .bits_per_key = static_cast<double>(bits_per_key)});
      ASSERT_TRUE(made);
      insert(*made, keys);
      const std::string ours = text_of(*made, *formats::find("leveldb"));
      EXPECT_TRUE(ours == theirs) << bits_per_key << " bits, " << count << " keys";
      const auto opened = open_leveldb(theirs);
      ASSERT_TRUE(opened);
      auto probes = random_keys(random, 300);
      probes.insert(probes.end(), keys.begin(), keys.end());
      const auto answers = query(opened->filter, probes);
      for (std::size_t i = 0; i < probes.size(); ++i) {
        EXPECT_EQ(answers[i], policy->KeyMayMatch(probes[i], ours));
        absent += answers[i] ? 0 : 1;
      }
    }
  }
  EXPECT_GT(absent, 10'000U);
}

TEST(Leveldb, SizesByRateAndMemory) {
  const formats::format& form = *formats::find("leveldb");
  const auto usual = form.plan({.keys = 1000}, {});
  ASSERT_TRUE(usual);
  EXPECT_EQ(usual->bits, 10'000U);
  EXPECT_EQ(usual->hashes, 6U);
  for (const double fpr : {0.5, 0.1, 0.01, 0.001, 1e-6}) {
    const auto plan = form.plan({.keys = 100'000, .fpr = fpr}, {});
    ASSERT_TRUE(plan) << fpr;
    EXPECT_LE(plan->fpr, fpr);
    EXPECT_EQ(plan->bits % 100'000, 0U) << "whole bits per key";
    const auto less = form.plan({.keys = 100'000, .bits_per_key = plan->bits_per_key - 1}, {});
    if (less) {
      EXPECT_GT(less->fpr, fpr);
    }
  }
  for (const std::uint64_t bytes : {125U, 126U, 1001U}) {
    const auto plan = form.plan({.keys = 100, .memory_bytes = bytes}, {});
    ASSERT_TRUE(plan) << bytes;
    EXPECT_LE(plan->memory_bytes, bytes);
    EXPECT_GT(plan->memory_bytes + 100 / 8 + 1, bytes);
  }
  EXPECT_FALSE(form.plan({.keys = 100, .memory_bytes = 12}, {}));
  EXPECT_FALSE(form.plan({.keys = 100, .bits_per_key = 9.5}, {}));
  EXPECT_FALSE(form.plan({.keys = 100, .hashes = 31, .bits_per_key = 10}, {}));
  EXPECT_FALSE(form.plan({.keys = std::uint64_t{1} << 31U, .bits_per_key = 1}, {}));
}

// The formula is far too low for filters of a few keys, and right for others.
TEST(Leveldb, TheRateOfSmallFiltersIsTheMeasuredOne) {
  std::mt19937_64 random(5);
  const auto probes = random_keys(random, 60'000);
  for (const char* name :
       {"bpk44_n1", "bpk50_n1", "bpk44_n2", "bpk10_n1", "bpk10_n7", "bpk1_n7", "bpk10_n100", "bpk10_n1000"}) {
    const auto opened = open_leveldb(leveldb_file(std::string(name) + ".bin"));
    ASSERT_TRUE(opened);
    const auto answers = query(opened->filter, probes);
    const double measured = static_cast<double>(std::count(answers.begin(), answers.end(), true)) / 60'000;
    EXPECT_NEAR(opened->filter.stats()->fpr_now, measured, 0.0015 + 0.15 * measured) << name;
  }
  const auto one = open_leveldb(leveldb_file("bpk44_n1.bin"));
  ASSERT_TRUE(one);
  EXPECT_GT(one->filter.stats()->fpr_now, 0.01);
}

TEST(Leveldb, HasNoSignature) {
  const auto opened = open_text(leveldb_file("bpk10_n100.bin"));
  ASSERT_FALSE(opened);
  EXPECT_NE(describe(opened.error()).view().find("could be"), std::string_view::npos);
  EXPECT_NE(describe(opened.error()).view().find("leveldb"), std::string_view::npos);
}

TEST(Leveldb, UnionsAreTheBitsOfBoth) {
  const auto make = [](std::uint64_t keys, double bits) {
    return formats::make("leveldb", {.keys = keys, .bits_per_key = bits});
  };
  auto a = make(100, 10);
  auto b = make(100, 10);
  auto both = make(100, 10);
  ASSERT_TRUE(a && b && both);
  insert(*a, {"a", "b"});
  insert(*b, {"b", "c"});
  insert(*both, {"a", "b", "c"});
  ASSERT_TRUE(a->merge(*b));
  EXPECT_TRUE(*a == *both);
  EXPECT_FALSE(a->merge(*make(101, 10)));
  auto other_k = formats::make("leveldb", {.keys = 100, .hashes = 7, .bits_per_key = 10});
  ASSERT_TRUE(other_k);
  EXPECT_FALSE(a->merge(*other_k));
}

TEST(Leveldb, DamageIsAnErrorOrHarmless) {
  for (const std::string name : {"bpk10_n7", "bpk44_n2", "bpk10_n100"}) {
    expect_harmless_damage(leveldb_file(name + ".bin"), "leveldb");
  }
}

// ---- tables ----

TEST(LeveldbTable, IsToldByItsEnd) {
  const auto opened = open_text(leveldb_file("table_bpk10.ldb"));
  ASSERT_TRUE(opened) << describe(opened.error()).view();
  EXPECT_EQ(opened->form->name, "leveldb-table");
  EXPECT_EQ(number_of(*opened, "filters"), "25");
  EXPECT_EQ(number_of(*opened, "empty_filters"), "13");
  EXPECT_EQ(number_of(*opened, "hash_functions"), "6");
  EXPECT_EQ(number_of(*opened, "window_bytes"), "2048");
  const auto stats = opened->filter.stats();
  ASSERT_TRUE(stats);
  EXPECT_FALSE(stats->keys.exact);
  EXPECT_NEAR(stats->estimated_keys, 300, 30);
  const auto mapped = formats::open((std::string(BLOOMERY_GOLDEN_DIR) + "/leveldb/table_bpk10.ldb").c_str());
  ASSERT_TRUE(mapped);
  EXPECT_EQ(mapped->form->name, "leveldb-table");
  EXPECT_TRUE(mapped->filter.is_mapped());
  EXPECT_TRUE(mapped->filter == opened->filter);
  const auto single = open_leveldb(leveldb_file("table_bpk10.ldb"));
  ASSERT_FALSE(single);
  EXPECT_NE(describe(single.error()).view().find("leveldb-table"), std::string_view::npos);
}

std::unique_ptr<const ::leveldb::FilterPolicy> builtin() {
  return std::unique_ptr<const ::leveldb::FilterPolicy>(::leveldb::NewBloomFilterPolicy(10));
}

TEST(LeveldbTable, HasAllOfItsKeys) {
  const auto opened = open_text(leveldb_file("table_bpk10.ldb"));
  ASSERT_TRUE(opened);
  std::vector<std::string> keys;
  std::vector<std::string> others;
  for (int i = 0; i < 20'000; ++i) {
    std::string digits = std::to_string(i);
    digits.insert(0, 5 - std::min<std::size_t>(5, digits.size()), '0');
    (i <= 897 && i % 3 == 0 ? keys : others).push_back("user" + digits);
  }
  ASSERT_EQ(keys.size(), 300U);
  const auto present = query(opened->filter, keys);
  EXPECT_EQ(std::count(present.begin(), present.end(), false), 0);
  const auto absent = query(opened->filter, others);
  EXPECT_EQ(absent, ask_policy(*builtin(), leveldb_file("table_bpk10.ldb"), others));
  const auto wrong = static_cast<double>(std::count(absent.begin(), absent.end(), true));
  EXPECT_NEAR(wrong / static_cast<double>(others.size()), opened->filter.stats()->fpr_now, 0.02);
  EXPECT_LT(wrong, static_cast<double>(others.size()) / 4);
}

TEST(LeveldbTable, RealDatabasesKeepAllOfTheirKeys) {
  std::mt19937_64 random(11);
  const std::unique_ptr<const ::leveldb::FilterPolicy> policy(::leveldb::NewBloomFilterPolicy(14));
  for (const bool packed : {false, true}) {
    for (const std::size_t block_bytes : {512U, 4096U, 20'000U}) {
      const auto keys = random_keys(random, 3000);
      const std::string table = real_table(*policy, keys, block_bytes, packed);
      const auto opened = open_text(table);
      ASSERT_TRUE(opened) << describe(opened.error()).view();
      EXPECT_EQ(number_of(*opened, "hash_functions"), "9");
      const auto present = query(opened->filter, keys);
      EXPECT_EQ(std::count(present.begin(), present.end(), false), 0);
      auto others = random_keys(random, 10'000);
      for (std::string& key : others) key.insert(0, "absent");
      const auto answers = query(opened->filter, others);
      EXPECT_EQ(answers, ask_policy(*policy, table, others));
      const auto wrong = static_cast<double>(std::count(answers.begin(), answers.end(), true));
      const auto stats = opened->filter.stats();
      ASSERT_TRUE(stats);
      EXPECT_NEAR(wrong / 10'000, stats->fpr_now, 0.03);
      EXPECT_NEAR(stats->estimated_keys, 3000, 150);
    }
  }
}

bool any_key(const hand_made& table) {
  const auto opened = open_text(table.file());
  EXPECT_TRUE(opened) << describe(opened.error()).view();
  return opened && query(opened->filter, {"key"})[0];
}
std::string refusal(const hand_made& table) {
  const auto opened = open_text(table.file());
  EXPECT_FALSE(opened);
  return opened ? "" : std::string(describe(opened.error()).view());
}

TEST(LeveldbTable, WhatCannotBeUnderstoodRefutesNoKey) {
  const std::string none(9, '\0');  // matches nothing, but for its k of 0
  const std::string no_bits = std::string(8, '\0') + "\x06";
  const std::string lg = "\x0b";
  EXPECT_FALSE(any_key({.filters = le32(0) + lg})) << "no data, no filters";
  EXPECT_FALSE(any_key({.filters = no_bits + le32(0) + le32(9) + lg}));
  EXPECT_TRUE(any_key({.filters = none + le32(0) + le32(9) + lg})) << "k is 0";
  EXPECT_FALSE(any_key({.filters = le32(0) + le32(0) + le32(0) + lg})) << "two empty filters";
  EXPECT_TRUE(any_key({.filters = "abc"})) << "too short";
  EXPECT_TRUE(any_key({.filters = no_bits + le32(0) + le32(14) + lg})) << "offsets behind the end";
  EXPECT_TRUE(any_key({.filters = no_bits + le32(10) + le32(9) + lg})) << "a filter that ends before it begins";
  EXPECT_TRUE(any_key({.filters = no_bits + le32(0) + le32(1000) + le32(9) + lg})) << "and one that ends too late";
  EXPECT_TRUE(any_key({.data = std::string(5000, 'd'), .filters = no_bits + le32(0) + le32(9) + lg}))
      << "data in a window that has no filter";
  EXPECT_FALSE(any_key({.data = std::string(2500, 'd'), .filters = no_bits + le32(0) + le32(9) + lg}));
  EXPECT_FALSE(any_key({.filters = no_bits + le32(0) + le32(9) + "\xff"}));
  // Offsets that begin where they end, or behind that, are none.
  for (const std::uint32_t array_offset : {14U, 15U, 17U, 18U, 0xffffffffU}) {
    const auto opened = open_text(hand_made{.filters = no_bits + le32(0) + le32(array_offset) + lg}.file());
    ASSERT_TRUE(opened);
    EXPECT_EQ(number_of(*opened, "filters"), "0") << array_offset;
  }
}

// Places whose sum is beyond 64 bits are outside of the file, too.
TEST(LeveldbTable, BlocksOutsideOfTheFileAreRefused) {
  const std::string block = with_trailer(std::string(100, 'x'));
  const auto refused = [](const std::string& file) {
    const auto opened = open_text(file);
    return !opened && describe(opened.error()).view().find("outside of the file") != std::string_view::npos;
  };
  const auto footer = [](std::uint64_t offset, std::uint64_t size) {
    std::string out = varint(offset) + varint(size) + varint(0) + varint(0);
    out.resize(40, '\0');
    return out + std::string("\x57\xfb\x80\x8b\x24\x75\x47\xdb", 8);
  };
  for (const auto& [offset, size] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, 101},
                                                                                         {101, 0},
                                                                                         {106, 0},
                                                                                         {0, ~0ULL},
                                                                                         {~0ULL, 0},
                                                                                         {~0ULL - 9, 20},
                                                                                         {20, ~0ULL - 9},
                                                                                         {1ULL << 63U, 1ULL << 63U}}) {
    EXPECT_TRUE(refused(block + footer(offset, size))) << offset << " " << size;
    if (offset < 1000) continue;
    // The same of the filter block.
    const std::string meta =
        entry(0, "filter.leveldb.BuiltinBloomFilter2", varint(offset) + varint(size)) + le32(0) + le32(1);
    EXPECT_TRUE(refused(block + with_trailer(meta) + footer(block.size(), meta.size()))) << offset << " " << size;
  }
}

// Windows without a filter cost two bytes a thousand: a small file has millions, and each look-up goes through all.
TEST(LeveldbTable, MillionsOfEmptyFiltersAreCountedInBoundedTime) {
  std::uint64_t before = formats::leveldb::samples_of(0);
  EXPECT_EQ(before, formats::leveldb::samples_of(1000)) << "an ordinary table";
  for (std::uint64_t filters = 1; filters < std::uint64_t{1} << 40U; filters = filters * 3 + 1) {
    const std::uint64_t samples = formats::leveldb::samples_of(filters);
    EXPECT_LE(samples, before);
    EXPECT_LE(samples * filters, std::uint64_t{1} << 27U);
    before = samples;
  }
  const auto opened = open_text(hand_made{.filters = std::string(4'000'000, '\0') + le32(0) + "\x0b"}.file());
  ASSERT_TRUE(opened) << describe(opened.error()).view();
  EXPECT_EQ(number_of(*opened, "filters"), "1000000");
  EXPECT_EQ(number_of(*opened, "empty_filters"), "1000000");
  EXPECT_EQ(opened->filter.stats()->fpr_now, 0.0);
}

TEST(LeveldbTable, ItsFiltersAreFoundByName) {
  const std::string filters = std::string(8, '\0') + "\x06" + le32(0) + le32(9) + "\x0b";
  EXPECT_FALSE(any_key({.filters = filters, .before = entry(0, "filter.leveldb.B", "x"), .shared = 16}));
  EXPECT_FALSE(any_key({.filters = filters, .before = entry(0, std::string(100, 'a'), "x")}));
  EXPECT_NE(refusal({.filters = filters, .key = "filter.rocksdb.BuiltinBloomFilter"}).find("another policy"),
            std::string::npos);
  EXPECT_NE(refusal({.filters = filters, .key = "filter.leveldb.BuiltinBloomFilter"}).find("another policy"),
            std::string::npos);
  EXPECT_NE(refusal({.filters = filters, .key = "stats"}).find("has no filters"), std::string::npos);
  EXPECT_NE(refusal({.filters = filters, .before = entry(200, "a", "x")}).find("entry"), std::string::npos);
  EXPECT_NE(refusal({.filters = filters, .type = 1}).find("snappy"), std::string::npos);
  EXPECT_NE(refusal({.filters = filters, .type = 2}).find("zstd"), std::string::npos);
}

// Flips in what is read are noticed; the data of the table is not read.
TEST(LeveldbTable, DamageIsAnErrorOrHarmless) {
  const std::string file = leveldb_file("table_bpk10.ldb");
  const std::size_t read_bytes = 2000;  // the filter block and all behind it are less
  for (std::size_t size = 0; size < file.size(); size += size + read_bytes < file.size() ? 997 : 1) {
    EXPECT_FALSE(open_text(std::string_view(file).substr(0, size), {.from = "leveldb-table"})) << size;
  }
  const auto whole = open_text(file);
  ASSERT_TRUE(whole);
  std::string damaged = file;
  std::size_t refused = 0;
  for (std::size_t at = file.size() - read_bytes; at < file.size(); ++at) {
    for (const char flip : {'\x01', '\x80', '\xff'}) {
      damaged[at] = static_cast<char>(file[at] ^ flip);
      const auto opened = open_text(damaged, {.from = "leveldb-table"});
      refused += opened ? 0 : 1;
      if (opened) {
        EXPECT_TRUE(opened->filter == whole->filter) << at;
      }
    }
    damaged[at] = file[at];
  }
  EXPECT_GT(refused, 1000U);
}

TEST(LeveldbTable, IsReadAndNotChanged) {
  auto opened = open_text(leveldb_file("table_bpk10.ldb"), {.in_memory = true});
  ASSERT_TRUE(opened);
  const std::vector<std::uint64_t> digests = {1};
  EXPECT_FALSE(opened->filter.add(as_prehashed(digests)));
  EXPECT_FALSE(opened->filter.clear());
  EXPECT_FALSE(opened->filter.merge(opened->filter));
  const auto copy = opened->filter.clone();
  ASSERT_TRUE(copy);
  EXPECT_TRUE(*copy == opened->filter);
  EXPECT_EQ(query(*copy, {"user00003"}), std::vector<bool>{true});
}

}  // namespace
}  // namespace bloomery
