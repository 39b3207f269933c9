// Filters of windows (compat/leveldb) as files: single ones and in tables that LevelDB itself wrote. tests/golden/leveldb/windows
// has frozen ones.
#include <bloomery/compat/leveldb/encoder.hpp>
#include <bloomery/compat/leveldb/windows.hpp>
#include <cmath>

#include "formats/leveldb_support.hpp"

namespace bloomery {
namespace {

using namespace test;

std::string windows_file(const std::string& name) { return leveldb_file("windows/" + name); }

std::vector<std::string> numbered_keys(const std::string& prefix, std::size_t count) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < count; ++i) keys.push_back(prefix + std::to_string(i));
  return keys;
}

class windows_policy final : public ::leveldb::FilterPolicy {
 public:
  explicit windows_policy(unsigned bits_per_key) : bits_per_key_(bits_per_key) {}
  [[nodiscard]] const char* Name() const override { return leveldb::builtin_policy_name.data(); }
  void CreateFilter(const ::leveldb::Slice* keys, int n, std::string* dst) const override {
    leveldb::filter_encoder encoder;
    const auto made =
        encoder.encode_keys(std::span<const ::leveldb::Slice>(keys, static_cast<std::size_t>(n)), bits_per_key_);
    ASSERT_TRUE(made);
    dst->append(reinterpret_cast<const char*>(made->data()), made->size());
  }
  [[nodiscard]] bool KeyMayMatch(const ::leveldb::Slice& key, const ::leveldb::Slice& filter) const override {
    return leveldb::may_match(std::as_bytes(std::span(filter.data(), filter.size())),
                              std::string_view(key.data(), key.size()));
  }

 private:
  unsigned bits_per_key_;
};

std::size_t count_of(const std::vector<bool>& answers, bool which) {
  return static_cast<std::size_t>(std::count(answers.begin(), answers.end(), which));
}

TEST(LeveldbWindows, SingleFiltersHaveTheirKeysAndStateTheirFpr) {
  std::size_t tables = 0;
  for (const auto& row : rows_of(windows_file("cases.tsv"))) {
    SCOPED_TRACE(row[0]);
    const std::string bytes = windows_file(row[0] + ".bin");
    const auto opened = open_leveldb(bytes);
    ASSERT_TRUE(opened) << describe(opened.error()).view();
    const any_filter& filter = opened->filter;
    EXPECT_EQ(count_of(query(filter, numbered_keys("key", std::stoull(row[2]))), false), 0U);
    const auto stats = filter.stats();
    ASSERT_TRUE(stats);
    const auto answers = query(filter, numbered_keys("absent", 8000));
    const double expected = stats->fpr_now * 8000;
    EXPECT_NEAR(static_cast<double>(count_of(answers, true)), expected, 5 * std::sqrt(expected) + 3);
    EXPECT_GE(stats->estimated_keys, std::stod(row[2]));
    EXPECT_EQ(stats->memory_bytes, bytes.size());
    tables += number_of(*opened, "layout") == "table" ? 1U : 0U;
    EXPECT_TRUE(text_of(filter, *opened->form) == bytes);
    const auto copy = filter.clone();
    ASSERT_TRUE(copy);
    EXPECT_TRUE(*copy == filter);
    auto changed = filter.clone();
    EXPECT_EQ(changed->add(std::vector<std::string_view>{"key"}).error().code, errc::unsupported);
    EXPECT_FALSE(changed->clear());
    EXPECT_FALSE(changed->merge(filter));
  }
  EXPECT_EQ(tables, 3U);
  const auto opened = open_leveldb(windows_file("bpk10_n35.bin"));
  EXPECT_EQ(number_of(*opened, "layout"), "windows");
  EXPECT_EQ(number_of(*opened, "slot_bits"), "10");
  EXPECT_EQ(number_of(*opened, "slots"), "35");
  EXPECT_EQ(opened->filter.stats()->fpr_now, 1.0 / 1024);
}

TEST(LeveldbWindows, MustBeNamedAndAreSuggested) {
  const auto opened = open_text(windows_file("bpk10_n35.bin"));
  ASSERT_FALSE(opened);
  EXPECT_NE(describe(opened.error()).view().find("could be leveldb"), std::string_view::npos);
}

// Their bytes are of any kind, so that damage is not seen; it must do no harm, and what cannot be one refutes no key.
TEST(LeveldbWindows, AnyBytesAreSafeToQuery) {
  const auto keys = numbered_keys("k", 40);
  for (const char* name : {"bpk10_n7", "bpk16_n35", "bpk3_n100", "bpk10_n240", "bpk10_n500"}) {
    const std::string whole = windows_file(std::string(name) + ".bin");
    std::vector<std::string> damaged;
    for (std::size_t size = 0; size < whole.size(); ++size) damaged.push_back(whole.substr(0, size));
    for (std::size_t at = 0; at < whole.size(); ++at) {
      for (const unsigned flip : {0x01U, 0x80U, 0xffU}) {
        damaged.push_back(whole);
        damaged.back()[at] = static_cast<char>(static_cast<unsigned char>(whole[at]) ^ flip);
      }
    }
    for (const std::string& bytes : damaged) {
      const auto opened = open_leveldb(bytes);
      ASSERT_TRUE(opened);
      const auto answers = query(opened->filter, keys);
      for (std::size_t i = 0; i < keys.size(); i += 13) {
        ASSERT_EQ(opened->filter.explain(keys[i])->may_contain(), answers[i]);
      }
      ASSERT_TRUE(opened->filter.stats());
      static_cast<void>(opened->filter.facts());
    }
  }
  // Tables of more groups than there are bytes, and starts that lie anywhere.
  for (const unsigned groups : {0U, 1U, 40U, 240U, 254U}) {
    const std::string bytes = std::string(70, 'x') + static_cast<char>(groups) + '\xff';
    const auto opened = open_leveldb(bytes);
    ASSERT_TRUE(opened);
    EXPECT_EQ(count_of(query(opened->filter, keys), false), 0U) << groups;
  }
}

TEST(LeveldbWindows, RealTablesAreQueriedAndDescribed) {
  std::mt19937_64 random(12);
  for (const unsigned bits : {4U, 10U, 16U}) {
    const windows_policy policy(bits);
    for (const std::size_t block_bytes : {4096U, 60'000U}) {
      SCOPED_TRACE(std::to_string(bits) + " bits, blocks of " + std::to_string(block_bytes));
      const auto keys = random_keys(random, 3000);
      const std::string table = real_table(policy, keys, block_bytes, block_bytes == 4096);
      const auto opened = open_text(table);
      ASSERT_TRUE(opened) << describe(opened.error()).view();
      EXPECT_EQ(opened->form->name, "leveldb-table");
      EXPECT_EQ(opened->filter.info().name, "windows");
      EXPECT_EQ(count_of(query(opened->filter, keys), false), 0U);
      auto others = random_keys(random, 2000);
      for (std::string& key : others) key.insert(0, "absent");
      const auto answers = query(opened->filter, others);
      const auto stats = opened->filter.stats();
      ASSERT_TRUE(stats);
      const double measured = static_cast<double>(count_of(answers, true)) / 2000;
      EXPECT_NEAR(measured, stats->fpr_now, 5 * std::sqrt(stats->fpr_now / 2000));
      EXPECT_EQ(answers, ask_policy(policy, table, others));
      EXPECT_NEAR(stats->estimated_keys, 3000, 200);
      EXPECT_GE(std::stoull(number_of(*opened, "slot_bits")), bits - 2);
      for (std::size_t i = 0; i < 100; ++i) {
        const auto why = opened->filter.explain(others[i]);
        ASSERT_TRUE(why);
        ASSERT_EQ(why->may_contain(), answers[i]);
      }
    }
  }
}

// At 3 bits, keys of large blocks have filters of the built-in layout.
TEST(LeveldbWindows, TablesOfFewBitsLoseNoKeyEither) {
  std::mt19937_64 random(13);
  const auto keys = random_keys(random, 2000);
  for (const std::size_t block_bytes : {512U, 60'000U}) {
    const auto opened = open_text(real_table(windows_policy(3), keys, block_bytes, false));
    ASSERT_TRUE(opened);
    EXPECT_EQ(count_of(query(opened->filter, keys), false), 0U);
    EXPECT_TRUE(opened->filter.stats());
  }
}

TEST(LeveldbWindows, AFrozenTableOpensAsItDid) {
  const auto opened = open_text(windows_file("table_bpk10.ldb"));
  ASSERT_TRUE(opened);
  std::vector<std::string> keys;
  for (int i = 0; i <= 897; i += 3)
    keys.push_back("user" + std::string(5 - std::to_string(i).size(), '0') + std::to_string(i));
  EXPECT_EQ(count_of(query(opened->filter, keys), false), 0U);
  EXPECT_EQ(number_of(*opened, "filters"), "5");
  EXPECT_EQ(number_of(*opened, "slot_bits"), "10");
  EXPECT_NEAR(opened->filter.stats()->fpr_now, 5.0 / 1024, 0.001);
}

// ---- tables made by hand ----

TEST(LeveldbWindows, BothLayoutsInOneTableLoseNoKey) {
  const std::string windows = windows_file("bpk10_n35.bin");
  const std::string bloom = leveldb_file("bpk10_n7.bin");
  const auto size = static_cast<std::uint32_t>(windows.size());
  const auto end = static_cast<std::uint32_t>(size + bloom.size());
  const std::string file = hand_made{.filters = windows + bloom + le32(0) + le32(size) + le32(end) + "\x0b"}.file();
  const auto opened = open_text(file);
  ASSERT_TRUE(opened);
  EXPECT_EQ(count_of(query(opened->filter, numbered_keys("key", 35)), false), 0U);
  EXPECT_EQ(opened->filter.stats()->fpr_now, 1.0) << "filters of the built-in layout need another hash";
  const auto why = opened->filter.explain("absent");
  ASSERT_TRUE(why);
  EXPECT_TRUE(why->may_contain());
}

TEST(LeveldbWindows, OverlappingFiltersAreDescribedInBoundedTime) {
  // Every second filter is the whole block, and every other one ends before it begins.
  const std::string filter(std::size_t{1} << 20U, '\x55');
  std::string offsets;
  for (unsigned i = 0; i < 200'000; ++i) offsets += le32(i % 2 == 0 ? 0 : static_cast<std::uint32_t>(filter.size()));
  const auto opened = open_text(
      hand_made{.filters = filter + offsets + le32(static_cast<std::uint32_t>(filter.size())) + "\x0b"}.file());
  ASSERT_TRUE(opened) << describe(opened.error()).view();
  EXPECT_EQ(opened->filter.stats()->fpr_now, 1.0);
  EXPECT_EQ(number_of(*opened, "filters"), "200000");
}

}  // namespace
}  // namespace bloomery
