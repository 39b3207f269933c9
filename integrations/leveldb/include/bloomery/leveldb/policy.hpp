// bloomery/leveldb/policy.hpp: filter policies for LevelDB. Link bloomery::leveldb.
//
//     const auto policy = bloomery::leveldb::new_filter_policy({.bits_per_key = 10});
//     leveldb::Options options;
//     options.filter_policy = policy.get();   // must outlive the database
//     leveldb::DB::Open(options, "/var/lib/app/db", &db);
//
// What it is    a policy whose filters have an FPR of 2^-bits in the bytes of LevelDB's own: 0.1 % instead of 0.9 % at 10
//               bits per key, and instead of 37 % where keys are big-endian counters. compat/leveldb/filter.hpp tells why.
// Switching     it has the name of LevelDB's policy and reads its filters, so an existing database is opened with it as it is:
//               new tables have new filters, the others keep theirs. LevelDB's own policy finds every key of the new tables
//               too, but its gets read their blocks unfiltered; so a database may go back at any time, without a rewrite.
// Costs         making a filter takes several times the CPU of LevelDB's: docs/lsm.md has the share of a whole fill.
// Gets only     LevelDB looks up filters in Get, never for an iterator. It holds the filters of open tables in memory, outside
//               of the block cache; with too small a max_open_files it reads them again and again.
// Reserved      0 bits per key make filters that match every key. LevelDB's C API: c.h.
// Threads       any number, as LevelDB asks for. Memory that making needs is kept per thread.
// Compilers     the library is compiled without RTTI, as LevelDB is; programs may have it or not.
#pragma once

#include <leveldb/filter_policy.h>

#include <bloomery/leveldb/key_part.hpp>
#include <memory>

namespace bloomery::inline BLOOMERY_ABI::leveldb {

using policy_pointer = std::unique_ptr<const ::leveldb::FilterPolicy>;

struct policy_options {
  unsigned bits_per_key = 10;  // 3 to 16: with fewer the filters are LevelDB's own, more are 16
  key_part part{};
};

BLOOMERY_API policy_pointer new_filter_policy(const policy_options& options = {});

// The bytes and answers of ::leveldb::NewBloomFilterPolicy, from this library's hash, for any number of bits per key. With a part it
// is the way to Bloom filters of rows. It treats filters of new_filter_policy as LevelDB does: they match every key.
BLOOMERY_API policy_pointer new_builtin_policy(const policy_options& options = {});

}  // namespace bloomery::inline BLOOMERY_ABI::leveldb
