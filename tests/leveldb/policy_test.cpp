// The policies by themselves; beside them LevelDB's own.
#include <bloomery/leveldb/c.h>

#include <algorithm>
#include <bloomery/compat/leveldb/filter.hpp>
#include <bloomery/leveldb/policy.hpp>
#include <random>

#include "database.hpp"

namespace bloomery::test {
namespace {

using ::leveldb::Slice;

std::vector<std::string> random_keys(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 random(seed);
  std::vector<std::string> keys(count);
  for (auto& key : keys) key = std::to_string(random());
  std::sort(keys.begin(), keys.end());
  return keys;
}
std::string filter_of(const ::leveldb::FilterPolicy& policy, const std::vector<std::string>& keys,
                      std::string before = {}) {
  const std::vector<Slice> slices(keys.begin(), keys.end());
  policy.CreateFilter(slices.data(), static_cast<int>(slices.size()), &before);
  return before;
}
double share_matching(const ::leveldb::FilterPolicy& policy, const std::string& filter,
                      const std::vector<std::string>& keys) {
  const auto matches =
      std::count_if(keys.begin(), keys.end(), [&](const auto& k) { return policy.KeyMayMatch(k, filter); });
  return static_cast<double>(matches) / static_cast<double>(keys.size());
}

TEST(LeveldbPolicy, TheBuiltInOneMakesTheBytesOfLevelDBAndAnswersAsItDoes) {
  const auto absent = random_keys(1, 200);
  for (const unsigned bits : {1U, 2U, 5U, 10U, 16U, 43U, 100U}) {
    const policy_of_leveldb theirs(::leveldb::NewBloomFilterPolicy(static_cast<int>(bits)));
    const auto ours = leveldb::new_builtin_policy({.bits_per_key = bits});
    EXPECT_STREQ(ours->Name(), theirs->Name());
    for (const std::size_t n : {1U, 2U, 35U, 155U, 1000U}) {
      auto keys = random_keys(n, n);
      keys.insert(keys.end(), 3, keys.back());  // versions
      const std::string filter = filter_of(*theirs, keys, "before");
      EXPECT_EQ(filter_of(*ours, keys, "before"), filter) << bits << " bits, " << n << " keys";
      for (const auto& key : absent) EXPECT_EQ(ours->KeyMayMatch(key, filter), theirs->KeyMayMatch(key, filter));
    }
  }
}

TEST(LeveldbPolicy, OursReadsFiltersOfLevelDBWhichTakesOursForOnesThatMatch) {
  const auto ours = leveldb::new_filter_policy();
  const auto keys = random_keys(2, 35);
  const auto absent = random_keys(3, 2000);
  const policy_of_leveldb theirs(::leveldb::NewBloomFilterPolicy(10));
  EXPECT_STREQ(ours->Name(), theirs->Name());
  const std::string filter = filter_of(*ours, keys);
  const std::string theirs_filter = filter_of(*theirs, keys);
  EXPECT_LE(filter.size(), theirs_filter.size());
  EXPECT_EQ(share_matching(*ours, filter, keys), 1);
  EXPECT_LT(share_matching(*ours, filter, absent), 0.005);
  EXPECT_EQ(share_matching(*theirs, filter, absent), 1);
  for (const auto& key : absent)
    ASSERT_EQ(ours->KeyMayMatch(key, theirs_filter), theirs->KeyMayMatch(key, theirs_filter));
  const auto builtin = leveldb::new_builtin_policy();
  EXPECT_EQ(share_matching(*builtin, filter, absent), 1);
}

TEST(LeveldbPolicy, FiltersOfAnyBitsPerKeyAreAppendedAndMatchTheirKeys) {
  for (const unsigned bits : {0U, 1U, 2U, 3U, 7U, 10U, 16U, 17U, 1000U}) {
    const auto policy = leveldb::new_filter_policy({.bits_per_key = bits});
    for (const std::size_t n : {0U, 1U, 4U, 35U, 300U}) {
      const auto keys = random_keys(bits * 1000 + n, n);
      const std::string made = filter_of(*policy, keys, "before");
      ASSERT_EQ(made.substr(0, 6), "before");
      for (const auto& key : keys)
        ASSERT_TRUE(policy->KeyMayMatch(key, made.substr(6))) << bits << " bits, " << n << " keys";
    }
  }
}

TEST(LeveldbPolicy, PartsOfKeysAreWhatTheirNamesSay) {
  using leveldb::key_part;
  const std::string cell("row\0column\0001", 12);
  EXPECT_EQ(key_part().extract(cell), cell);
  EXPECT_EQ(key_part::row().extract(cell), "row");
  EXPECT_EQ(key_part::row_column().extract(cell), std::string_view("row\0column", 10));
  EXPECT_EQ(key_part::before('/', 2).extract("a/b/c/d"), "a/b");
  EXPECT_EQ(key_part::before('/', 0).extract("a/b/c/d"), "a");
  EXPECT_EQ(key_part::before('/', 4).extract("a/b/c/d"), "a/b/c/d");
  EXPECT_EQ(key_part::row('/').extract("a"), "a");
  EXPECT_EQ(key_part::row('/').extract("/a"), "");
  EXPECT_EQ(key_part::prefix(4).extract("prefix"), "pref");
  EXPECT_EQ(key_part::prefix(4).extract("pre"), "pre");
  const auto last3 =
      key_part::custom("last3", [](std::string_view key) { return key.substr(key.size() > 3 ? key.size() - 3 : 0); });
  EXPECT_EQ(last3.extract("suffix"), "fix");
  // Different parts have different filters, so that they need different names.
  const std::vector<key_part> all{key_part(),
                                  key_part::row(),
                                  key_part::row_column(),
                                  key_part::row('/'),
                                  key_part::prefix(4),
                                  key_part::prefix(40),
                                  last3};
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(all[i].policy_name(), all[j].policy_name());
  }
  EXPECT_EQ(key_part().policy_name(), leveldb::builtin_policy_name);
}

TEST(LeveldbPolicy, AFilterOfRowsIsSmallMatchesTheirKeysAndRefutesOtherRows) {
  std::vector<std::string> cells;
  for (int row = 0; row < 8; ++row) {
    for (int column = 0; column < 20; ++column)
      cells.push_back("row" + std::to_string(row) + "/c" + std::to_string(column + 10));
  }
  std::sort(cells.begin(), cells.end());
  std::vector<std::string> other_rows;
  for (int i = 0; i < 2000; ++i) other_rows.push_back("other" + std::to_string(i) + "/c10");
  for (const bool builtin : {false, true}) {
    for (const unsigned bits : {2U, 10U}) {
      const leveldb::policy_options options{.bits_per_key = bits, .part = leveldb::key_part::row('/')};
      const auto rows = builtin ? leveldb::new_builtin_policy(options) : leveldb::new_filter_policy(options);
      const auto whole = leveldb::new_filter_policy({.bits_per_key = bits});
      const std::string filter = filter_of(*rows, cells);
      EXPECT_LE(filter.size() * 2, filter_of(*whole, cells).size());
      EXPECT_EQ(share_matching(*rows, filter, cells), 1);
      EXPECT_EQ(share_matching(*rows, filter, {"row3/not there", "row7"}), 1);
      EXPECT_LT(share_matching(*rows, filter, other_rows), bits == 2 ? 0.5 : 0.05);
    }
  }
}

TEST(LeveldbPolicy, TheOneOfTheCApiMakesTheSameFiltersInADatabase) {
  const folder box;
  const auto ours = leveldb::new_filter_policy();
  std::vector<std::string> tables;
  for (const bool from_c : {true, false}) {
    const std::string path = box / (from_c ? "c" : "cpp");
    leveldb_filterpolicy_t* policy = bloomery_leveldb_filterpolicy_create(10);
    if (from_c) {
      leveldb_options_t* options = leveldb_options_create();
      leveldb_options_set_create_if_missing(options, 1);
      leveldb_options_set_compression(options, leveldb_no_compression);
      leveldb_options_set_filter_policy(options, policy);
      char* error = nullptr;
      leveldb_t* db = leveldb_open(options, path.c_str(), &error);
      ASSERT_EQ(error, nullptr) << error;
      leveldb_writeoptions_t* write = leveldb_writeoptions_create();
      leveldb_readoptions_t* read = leveldb_readoptions_create();
      for (std::uint64_t i = 0; i < 1000; ++i) {
        const std::string key = decimal_key(2 * i), value = value_for(key);
        leveldb_put(db, write, key.data(), key.size(), value.data(), value.size(), &error);
      }
      leveldb_compact_range(db, nullptr, 0, nullptr, 0);
      for (std::uint64_t i = 0; i < 2000; ++i) {
        const std::string key = decimal_key(i);
        std::size_t size = 0;
        char* value = leveldb_get(db, read, key.data(), key.size(), &size, &error);
        EXPECT_EQ(value != nullptr, i % 2 == 0) << key;
        leveldb_free(value);
      }
      EXPECT_EQ(error, nullptr) << error;
      leveldb_close(db);
      leveldb_writeoptions_destroy(write);
      leveldb_readoptions_destroy(read);
      leveldb_options_destroy(options);
    } else {
      database db(path);
      db.options.write_buffer_size = 4 << 20;
      db.options.max_file_size = 2 << 20;
      db.open(ours.get());
      for (std::uint64_t i = 0; i < 1000; ++i) db.put(decimal_key(2 * i), value_for(decimal_key(2 * i)));
      db.compact();
    }
    leveldb_filterpolicy_destroy(policy);
    const auto files = database(path).tables();
    ASSERT_EQ(files.size(), 1U);
    const auto [offset, size] = filter_block(files.begin()->second, ours->Name());
    ASSERT_GT(size, 1000U);
    tables.push_back(files.begin()->second.substr(offset, size));
  }
  EXPECT_TRUE(tables[0] == tables[1]);
}

}  // namespace
}  // namespace bloomery::test
