// bloomery.hpp: everything: all kinds, all hashes, the native file, any_filter, and the engines of other products.
//
// Header-only: needs xxhash.h and tl/expected.hpp, links nothing. Kind `bitmap` and compressed files need the compiled
// modules: link bloomery::all and call enable_all() once.
//
//     #include <bloomery/bloomery.hpp>
//
//     auto seen = bloomery::filter<bloomery::blocked>::make({.keys = 1'000'000, .fpr = 0.01});
//     if (!seen) return 2;
//     seen->insert("alice");
//     bool maybe = seen->may_contain("alice");
#pragma once

#include <bloomery/any_filter.hpp>
#include <bloomery/compat/leveldb/encoder.hpp>
#include <bloomery/compat/redis/bloom_chain.hpp>
#include <bloomery/compat/redis/cuckoo_chain.hpp>
#include <bloomery/filter.hpp>
#include <bloomery/guards/cache_guard.hpp>
#include <bloomery/guards/lookup_guard.hpp>
#include <bloomery/guards/metrics.hpp>
#include <bloomery/guards/seen_set.hpp>
#include <bloomery/guards/summary_exchange.hpp>
#include <bloomery/hash/hasher.hpp>
#include <bloomery/hash/key.hpp>
#include <bloomery/kinds.hpp>
#include <bloomery/native/codec.hpp>
#include <bloomery/posix/mapped_filter.hpp>
#include <bloomery/sizing/levels.hpp>
#include <bloomery/version.hpp>
#include <bloomery/wrappers/adaptive.hpp>
#include <bloomery/wrappers/any_adaptive.hpp>
#include <bloomery/wrappers/any_shards.hpp>
#include <bloomery/wrappers/parallel.hpp>
#include <bloomery/wrappers/sharded.hpp>

namespace bloomery::inline BLOOMERY_ABI {

// Registers the compiled modules: kind bitmap, codecs zstd and gzip. Needs bloomery::all; may be called more than once.
inline void enable_all() noexcept {
  enable_bitmap();
  enable_codecs();
}

}  // namespace bloomery::inline BLOOMERY_ABI
