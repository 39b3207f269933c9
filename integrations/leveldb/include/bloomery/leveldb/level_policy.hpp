// bloomery/leveldb/level_policy.hpp: more bits per key where there are few keys. The small levels of a store cost little memory,
// and a get looks at all of them.
//
//     const auto bits = bloomery::leveldb::plan_level_bits({.keys = 100'000'000, .bits_per_key = 10, .levels = 5});
//     leveldb::Logger* log = nullptr;
//     options.env->NewLogger(folder + "/LOG", &log);
//     auto by_level = bloomery::leveldb::new_level_policy({.bits = *bits}, log);
//     options.filter_policy = by_level.policy.get();
//     options.info_log = by_level.log.get();       // both must outlive the database
//
// What it is    the filters of new_filter_policy, with the bits per key of the level that a table is made for. The plan is that
//               of sizing/levels.hpp, which `plan --lsm` of the tool prints: FPRs in proportion to the keys of the levels.
// How it knows  LevelDB names no level to a policy. But the thread that makes filters logs before what it is about to do
//               ("Compacting 4@0 + 3@1 files"), so that a logger in between knows. A line that is not understood, of another
//               version of LevelDB, costs no answer: the level is then unknown, and has the bits of `otherwise`.
// What it does not reach   a table that is moved down a level as it is keeps its bits, and tables of before keep theirs until they
//               are compacted. RepairDB logs no level.
// Threads       any number, and any number of databases with a policy and a log of their own.
#pragma once

#include <leveldb/env.h>

#include <array>
#include <bloomery/core/result.hpp>
#include <bloomery/leveldb/policy.hpp>

namespace bloomery::inline BLOOMERY_ABI::leveldb {

inline constexpr std::size_t level_count = 7;  // of LevelDB

struct level_bits {
  std::array<unsigned, level_count> of_level{};  // 0: filters that match every key; 3 to 16
  unsigned otherwise = 10;                       // where the level is not known
};

struct level_plan_request {
  std::uint64_t keys = 0;
  double bits_per_key = 10;  // on average: the memory that levels share
  unsigned levels = 4;       // with level 0, up to level_count
  double size_ratio = 10;    // LevelDB's
};
// Errors are those of share_levels. Levels below the last have the last one's bits, which are `otherwise`, too.
BLOOMERY_API result<level_bits> plan_level_bits(const level_plan_request& request) noexcept;

struct level_policy_options {
  level_bits bits{};
  key_part part{};
};
struct level_policy {
  policy_pointer policy;
  std::unique_ptr<::leveldb::Logger> log;
};
// Every line is passed on to `inner`, which becomes the log's own; without one, lines are dropped.
BLOOMERY_API level_policy new_level_policy(const level_policy_options& options, ::leveldb::Logger* inner);

}  // namespace bloomery::inline BLOOMERY_ABI::leveldb
