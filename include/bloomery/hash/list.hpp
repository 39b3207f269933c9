// hash/list.hpp: THE list of hashes. A new hash is one header, one test and one line here.
//
// The default is the first. Names, ids, help texts, `bloomery hashes` and the run-time choice (hasher.hpp) all come from this list.
#pragma once

#include <bloomery/core/type_list.hpp>
#include <bloomery/hash/aes2.hpp>
#include <bloomery/hash/concept.hpp>
#include <bloomery/hash/farmhash64.hpp>
#include <bloomery/hash/fnv.hpp>
#include <bloomery/hash/hbase.hpp>
#include <bloomery/hash/highwayhash.hpp>
#include <bloomery/hash/identity.hpp>
#include <bloomery/hash/leveldb.hpp>
#include <bloomery/hash/lookup3.hpp>
#include <bloomery/hash/mum.hpp>
#include <bloomery/hash/mum2.hpp>
#include <bloomery/hash/murmur2.hpp>
#include <bloomery/hash/murmur3.hpp>
#include <bloomery/hash/murmur3_spark.hpp>
#include <bloomery/hash/murmur64a.hpp>
#include <bloomery/hash/siphash.hpp>
#include <bloomery/hash/xxh3.hpp>
#include <bloomery/hash/xxh64.hpp>

namespace bloomery::inline BLOOMERY_ABI {

using hash_list =
    type_list<mum2, xxh3, xxh64, murmur3_x64_128, murmur3_x86_32, murmur64a, fnv1, fnv1a, lookup3, farmhash64,
              siphash13, siphash24, highwayhash64, identity, mum, aes2, leveldb_hash, paired_murmur64a, paired_murmur2,
              murmur3_spark, hbase_jenkins, hbase_murmur, hbase_murmur3>;

}  // namespace bloomery::inline BLOOMERY_ABI
