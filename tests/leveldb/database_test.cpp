// Policies inside a real LevelDB: nothing is ever answered wrongly, whoever made the filters, whatever happens to them.
#include <bloomery/compat/leveldb/builtin.hpp>
#include <bloomery/leveldb/counted.hpp>
#include <bloomery/native/sink.hpp>
#include <cstring>
#include <random>

#include "database.hpp"

namespace bloomery::test {
namespace {

const std::string name_of_policy(leveldb::builtin_policy_name);

std::string even_key(std::uint64_t i) { return decimal_key(2 * i); }
void put_even(database& db, std::uint64_t from, std::uint64_t to) {
  // In an order that mixes them, so that tables overlap.
  const std::uint64_t count = to - from;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string key = even_key(from + i * 7919 % count);
    db.put(key, value_for(key));
  }
}
// Keys of the numbers below 2 * count: the even ones are there.
void expect_even(const database& db, std::uint64_t count, const ::leveldb::ReadOptions& how = {}) {
  for (std::uint64_t i = 0; i < 2 * count; ++i) {
    const std::string key = decimal_key(i);
    ASSERT_EQ(db.value_of(key, how), i % 2 == 0 ? value_for(key) : "-") << key;
  }
}

struct filters_by_maker {
  std::size_t builtin = 0;
  std::size_t ours = 0;
};
filters_by_maker filters_of(const database& db) {
  filters_by_maker count;
  for (const auto& [path, table] : db.tables()) {
    for (const unsigned code : filter_codes(table, name_of_policy))
      ++(code <= leveldb::most_hashes ? count.builtin : count.ours);
  }
  return count;
}

struct two_policies {
  policy_of_leveldb theirs{::leveldb::NewBloomFilterPolicy(10)};
  leveldb::policy_pointer ours = leveldb::new_filter_policy();
};

TEST(LeveldbDatabase, AnExistingOneIsSwitchedToOursAndBackWithoutARewriteAndWithoutAWrongAnswer) {
  const folder box;
  const two_policies policies;
  held_env env;
  database db(box / "db");
  db.options.env = &env;
  db.open(policies.theirs.get());
  put_even(db, 0, 9000);
  db.compact();
  db.close();
  const auto before = db.tables();
  EXPECT_GT(before.size(), 1U);
  EXPECT_EQ(filters_of(db).ours, 0U);

  env.hold();  // gets start compactions
  db.open(policies.ours.get());
  expect_even(db, 9000);
  for (const auto& [path, table] : before) EXPECT_TRUE(text_of_file(path) == table) << path;
  env.release();
  put_even(db, 9000, 10000);
  db.compact();
  expect_even(db, 10000);
  db.close();
  EXPECT_GT(filters_of(db).ours, 20U);

  env.hold();
  const auto with_ours = db.tables();
  db.open(policies.theirs.get());
  expect_even(db, 10000);
  for (const auto& [path, table] : with_ours) EXPECT_TRUE(text_of_file(path) == table) << path;
  env.release();
}

TEST(LeveldbDatabase, BothPoliciesTakeTurnsAndMixTheirFiltersInOne) {
  const folder box;
  const two_policies policies;
  database db(box / "db");
  for (std::uint64_t round = 0; round < 6; ++round) {
    // What the round before left in the log is recovered, and written with the filters of this policy.
    db.open(round % 2 == 0 ? policies.theirs.get() : policies.ours.get());
    expect_even(db, round * 700);
    put_even(db, round * 700, (round + 1) * 700);
    expect_even(db, (round + 1) * 700);
  }
  db.close();
  EXPECT_GT(filters_of(db).builtin, 0U);
  EXPECT_GT(filters_of(db).ours, 0U);
}

TEST(LeveldbDatabase, ALogIsRecoveredIntoATableWithOurFilters) {
  const folder box;
  const two_policies policies;
  database db(box / "db");
  db.open(policies.theirs.get());
  put_even(db, 0, 300);  // fits the memtable
  db.close();
  EXPECT_EQ(db.tables().size(), 0U);
  db.open(policies.ours.get());
  expect_even(db, 300);
  db.close();
  EXPECT_GT(filters_of(db).ours, 5U);
  EXPECT_EQ(filters_of(db).builtin, 0U);
}

TEST(LeveldbDatabase, SnapshotsAndDeletionsAreAnsweredAsWithoutAFilter) {
  const folder box;
  const auto policy = leveldb::new_filter_policy();
  database db(box / "db");
  db.open(policy.get());
  put_even(db, 0, 1500);
  const ::leveldb::Snapshot* snapshot = db->GetSnapshot();
  for (std::uint64_t i = 0; i < 1500; ++i) {
    if (i % 3 == 0) {
      ASSERT_TRUE(db->Delete({}, even_key(i)).ok());
    } else {
      db.put(even_key(i), "new");
    }
  }
  for (int round = 0; round < 2; ++round) {
    ::leveldb::ReadOptions then;
    then.snapshot = snapshot;
    expect_even(db, 1500, then);
    for (std::uint64_t i = 0; i < 1500; ++i) ASSERT_EQ(db.value_of(even_key(i)), i % 3 == 0 ? "-" : "new");
    db.compact();
  }
  db->ReleaseSnapshot(snapshot);
}

// Opens the database with damaged filters, and asks for all keys.
enum class damage { random_bytes, ones, zeros, short_offsets };
void damage_filters(const database& db, damage how, std::mt19937_64& random) {
  for (auto [path, table] : db.tables()) {
    const auto [offset, size] = filter_block(table, name_of_policy);
    ASSERT_GT(size, 5U);
    std::size_t filters = 0;
    std::memcpy(&filters, &table[offset + size - 5], 4);
    switch (how) {
      case damage::random_bytes:
        for (int i = 0; i < 200; ++i) table[offset + random() % size] = static_cast<char>(random());
        break;
      case damage::ones:
        std::memset(&table[offset], 255, filters);
        break;
      case damage::zeros:
        std::memset(&table[offset], 0, filters);
        break;
      case damage::short_offsets:
        // Every filter begins ten bytes later, so that its size is another; the last one has less than there must be.
        for (std::size_t at = filters; at + 5 < size; at += 4)
          table[offset + at] = static_cast<char>(table[offset + at] + 10);
        break;
    }
    write_text(path, table);
  }
}
void make_for_damage(database& db, const ::leveldb::FilterPolicy* policy) {
  db.open(policy);
  put_even(db, 0, 1500);
  db.compact();
  db.close();
}

TEST(LeveldbDatabase, ParanoidChecksFindEveryKeyWhateverTheDamageToItsFilters) {
  std::mt19937_64 random(5);
  const auto policy = leveldb::new_filter_policy();
  for (const auto how : {damage::random_bytes, damage::ones, damage::short_offsets}) {
    const folder box;
    database db(box / "db");
    db.options.paranoid_checks = true;
    make_for_damage(db, policy.get());
    damage_filters(db, how, random);
    db.open(policy.get());
    expect_even(db, 1500);
  }
}

TEST(LeveldbDatabase, FiltersThatCannotBeUnderstoodMatchEveryKeyAndOtherDamageIsNoCrash) {
  std::mt19937_64 random(6);
  const auto policy = leveldb::new_filter_policy();
  for (const auto how : {damage::ones, damage::zeros, damage::random_bytes, damage::short_offsets}) {
    const folder box;
    database db(box / "db");
    make_for_damage(db, policy.get());
    damage_filters(db, how, random);
    db.open(policy.get());
    if (how == damage::ones || how == damage::zeros) {
      expect_even(db, 1500);
      continue;
    }
    // LevelDB checks these bytes with paranoid_checks alone. Without, a key may be missed, as with its own policy; what is
    // found is right.
    for (std::uint64_t i = 0; i < 3000; ++i) {
      const std::string key = decimal_key(i), value = db.value_of(key);
      ASSERT_TRUE(value == "-" || (i % 2 == 0 && value == value_for(key))) << key << ": " << value;
    }
  }
}

TEST(LeveldbDatabase, FiltersOfAnotherPartAreIgnoredAndNothingIsMissed) {
  const folder box;
  const auto whole = leveldb::new_filter_policy();
  const auto rows = leveldb::new_filter_policy({.bits_per_key = 10, .part = leveldb::key_part::row('/')});
  const auto key_of = [](int row, int column) { return "row" + std::to_string(row) + "/" + std::to_string(column); };
  database db(box / "db");
  for (const auto* policy : {whole.get(), rows.get(), whole.get()}) {
    db.open(policy);
    for (int row = 0; row < 100; ++row) {
      for (int column = 0; column < 10; ++column) db.put(key_of(row, column), value_for(key_of(row, column)));
    }
    db.compact();
    for (const auto* other : {whole.get(), rows.get()}) {
      db.open(other);
      for (int row = 0; row < 120; ++row) {
        for (int column = 0; column < 12; ++column) {
          ASSERT_EQ(db.value_of(key_of(row, column)), row < 100 && column < 10 ? value_for(key_of(row, column)) : "-");
        }
      }
    }
  }
}

struct counted_run {
  leveldb::get_counts absent;
  leveldb::get_counts present;
};
counted_run count_gets(const ::leveldb::FilterPolicy& policy, std::string (*key_of)(std::uint64_t)) {
  const folder box;
  held_env env;
  database db(box / "db");
  db.options.env = &env;
  db.options.block_size = 4096;
  const auto counting = leveldb::new_counting_policy(&policy);
  db.open(counting.get());
  for (std::uint64_t i = 0; i < 4000; ++i) db.put(key_of(4 * i), value_for(key_of(4 * i)));
  db.compact();
  env.hold();
  leveldb::counted_db absent(db.get()), present(db.get());
  std::string value;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    EXPECT_TRUE(absent.get({}, key_of(4 * i + 1), &value).IsNotFound());
    EXPECT_TRUE(present.get({}, key_of(4 * i), &value).ok());
  }
  env.release();
  return {absent.counts(), present.counts()};
}

TEST(LeveldbDatabase, CountedGetsShowThatOursRefutesWhatTheBuiltInFilterDoesNot) {
  const two_policies policies;
  for (const bool big_endian : {false, true}) {
    const auto key_of = big_endian ? &big_endian_key : &decimal_key;
    const auto ours = count_gets(*policies.ours, key_of);
    const auto theirs = count_gets(*policies.theirs, key_of);
    for (const auto* run : {&ours, &theirs}) {
      EXPECT_EQ(run->absent.gets, 4000U);
      EXPECT_EQ(run->absent.found, 0U);
      EXPECT_EQ(run->absent.filters, run->absent.useful + run->absent.false_matches);
      EXPECT_GT(run->absent.filters, 3900U);  // behind the last key of a table no filter is asked
      EXPECT_EQ(run->present.found, 4000U);
      EXPECT_EQ(run->present.filters - run->present.useful - run->present.false_matches, 4000U);
    }
    EXPECT_GT(ours.absent.share_saved(), 0.99);
    EXPECT_LT(theirs.absent.share_saved(), big_endian ? 0.9 : 0.98);
  }
}

TEST(LeveldbDatabase, CountedGetsAreASourceOfMetrics) {
  const folder box;
  const auto policy = leveldb::new_filter_policy();
  const auto counting = leveldb::new_counting_policy(policy.get());
  database db(box / "db");
  db.open(counting.get());
  put_even(db, 0, 100);
  leveldb::counted_db counted(db.get());
  std::string value;
  EXPECT_TRUE(counted.get({}, even_key(1), &value).ok());  // in the memtable: no filter
  EXPECT_EQ(counted.counts().filters, 0U);
  db.compact();
  EXPECT_TRUE(counted.get({}, even_key(1), &value).ok());
  EXPECT_TRUE(counted.get({}, decimal_key(3), &value).IsNotFound());
  metrics page;
  ASSERT_TRUE(page.add("users", counted));
  memory_sink text;
  ASSERT_TRUE(page.render(byte_sink(text)));
  const std::string shown(reinterpret_cast<const char*>(text.bytes().data()), text.bytes().size());
  EXPECT_NE(shown.find("bloomery_leveldb_gets_total{name=\"users\",answer=\"found\"} 2\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("bloomery_leveldb_gets_total{name=\"users\",answer=\"absent\"} 1\n"), std::string::npos)
      << shown;
  EXPECT_NE(shown.find("bloomery_leveldb_filters_total{name=\"users\",answer=\"right\"} 1\n"), std::string::npos)
      << shown;
}

}  // namespace
}  // namespace bloomery::test
