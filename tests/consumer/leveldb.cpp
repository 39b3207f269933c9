// A database whose filters are ours, and the policy for LevelDB's C API.
#include <bloomery/leveldb/c.h>
#include <leveldb/db.h>

#include <bloomery/leveldb/counted.hpp>
#include <memory>

int main() {
  const auto policy = bloomery::leveldb::new_filter_policy({.bits_per_key = 10});
  const auto counting = bloomery::leveldb::new_counting_policy(policy.get());
  leveldb::Options options;
  options.create_if_missing = true;
  options.filter_policy = counting.get();
  leveldb::DB* opened = nullptr;
  if (!leveldb::DB::Open(options, "consumer.db", &opened).ok()) return 2;
  const std::unique_ptr<leveldb::DB> db(opened);
  if (!db->Put({}, "alice", "1").ok() || !db->Put({}, "carol", "2").ok()) return 2;
  db->CompactRange(nullptr, nullptr);
  bloomery::leveldb::counted_db counted(db.get());
  std::string value;
  if (!counted.get({}, "alice", &value).ok() || value != "1") return 1;
  if (!counted.get({}, "bob", &value).IsNotFound()) return 1;
  if (counted.counts().filters != 2) return 1;
  leveldb_filterpolicy_t* of_c = bloomery_leveldb_filterpolicy_create(10);
  if (of_c == nullptr) return 1;
  leveldb_filterpolicy_destroy(of_c);
  return 0;
}
