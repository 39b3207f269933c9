// bloomery/leveldb/counted.hpp: what filters do for the gets of a database, counted where they are made.
//
//     const auto policy = new_filter_policy();
//     const auto counting = new_counting_policy(policy.get());   // of any policy, LevelDB's own too
//     options.filter_policy = counting.get();
//     leveldb::DB::Open(options, folder, &db);
//     bloomery::leveldb::counted_db counted(db);
//     counted.get({}, "key", &value);
//     counted.counts().false_matches
//
// What counts   a get asks the filter of one block of every table that its key could be in, newest first, until it finds the key.
//               A filter that refutes saves the look at that block: `useful`. One that matches makes LevelDB look: where it
//               found the key it was right, otherwise `false_matches`. (A look is a read unless the block cache has the
//               block.) A key that is found deleted cannot be told from one that is not there: it counts as a false match.
// Metrics       a source for guards/metrics.hpp: page.add("users", counted).
// Threads       any number.
// Cost          some nanoseconds a filter and a few relaxed additions a get.
#pragma once

#include <leveldb/db.h>

#include <atomic>
#include <bloomery/guards/metrics.hpp>
#include <bloomery/leveldb/policy.hpp>

namespace bloomery::inline BLOOMERY_ABI::leveldb {

// Answers as `inner`, which must outlive it, and counts for the counted_db whose get is running in this thread.
BLOOMERY_API policy_pointer new_counting_policy(const ::leveldb::FilterPolicy* inner);

struct get_counts {
  std::uint64_t gets = 0;
  std::uint64_t found = 0;
  std::uint64_t filters = 0;        // looked up
  std::uint64_t useful = 0;         // refuted: a block that was not looked at
  std::uint64_t false_matches = 0;  // a block that was looked at for nothing
  // Of the looks that would have been for nothing without a filter, those that it saved.
  [[nodiscard]] double share_saved() const noexcept {
    const double all = static_cast<double>(useful + false_matches);
    return all == 0 ? 0 : static_cast<double>(useful) / all;
  }
};

class BLOOMERY_API counted_db {
 public:
  // Of a database that was opened with a counting policy, and outlives this.
  explicit counted_db(::leveldb::DB* db) noexcept : db_(db) {}

  ::leveldb::Status get(const ::leveldb::ReadOptions& options, const ::leveldb::Slice& key, std::string* value);
  [[nodiscard]] ::leveldb::DB* db() const noexcept { return db_; }
  [[nodiscard]] get_counts counts() const noexcept;
  void collect(metric_sink& to) const;

 private:
  ::leveldb::DB* db_;
  std::atomic<std::uint64_t> gets_{0};
  std::atomic<std::uint64_t> found_{0};
  std::atomic<std::uint64_t> filters_{0};
  std::atomic<std::uint64_t> useful_{0};
  std::atomic<std::uint64_t> false_matches_{0};
};

}  // namespace bloomery::inline BLOOMERY_ABI::leveldb
