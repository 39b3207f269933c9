// kernels/split_digests.hpp: the digests of many keys into two lists, those up to a limit and those above it, each in
// the order of the keys.
//
//     digest_lists ends{low, high};
//     active_kernels<split_kernels>().split(feed, 0, keys.size(), limit, ends);   // ends are now past what was written
//
// Which list comes next cannot be predicted, so there is no branch on it: every digest is written to both lists, and
// the one that it belongs to keeps it. With AVX2 that is done for four together, hashing included. Each list has space
// for all.
#pragma once

#include <bloomery/core/dispatch.hpp>
#include <bloomery/hash/digest_feed.hpp>

namespace bloomery::inline BLOOMERY_ABI::kernels {

// Where the next digest of each list goes.
struct digest_lists {
  std::uint64_t* low;
  std::uint64_t* high;
};

struct split_kernels {
  // `count` is at most 64.
  void (*split)(const digest_feed& feed, std::size_t first, std::size_t count, std::uint64_t limit,
                digest_lists& ends) noexcept;

  BLOOMERY_API static const split_kernels& for_isa(isa level) noexcept;
};

}  // namespace bloomery::inline BLOOMERY_ABI::kernels

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kernels/split_digests.cpp>
#endif
