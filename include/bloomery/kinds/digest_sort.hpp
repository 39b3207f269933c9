// kinds/digest_sort.hpp: digests sorted in place, with repeated ones moved to the end. For kinds that are built once,
// from all their keys.
//
//     const std::size_t distinct = bloomery::detail::sort_distinct(digests, threads);
//
// The first `distinct` of them then ascend and are all different; after them are the repeats. The span is
// permuted, nothing is lost, and no memory is taken beyond some 30 KiB of stack: a radix sort from the highest bits
// down that moves each digest straight to its bucket, and sorts buckets of a thousand by way of the stack. Some 20
// to 30 ns a key where digests are well mixed, and right for any.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <bloomery/core/size.hpp>
#include <bloomery/core/threads.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace bloomery::inline BLOOMERY_ABI::detail {

inline constexpr unsigned radix_most_bits = 8;
inline constexpr std::size_t radix_few = 24;  // up to here, moving past each other is faster than counting
inline constexpr unsigned radix_small_bits = 10;
inline constexpr std::size_t radix_small = std::size_t{1}
                                           << radix_small_bits;  // so many are sorted by way of the stack

// Puts the digests into the order of their `width` bits from bit `shift` on; calls f(first, count) for each bucket.
template <class F>
void radix_split(std::uint64_t* digests, std::size_t count, unsigned shift, unsigned width, F&& f) noexcept {
  constexpr std::size_t most = std::size_t{1} << radix_most_bits;
  const std::size_t buckets = std::size_t{1} << width;
  const auto bucket_of = [shift, last = buckets - 1](std::uint64_t digest) { return to_size(digest >> shift & last); };
  std::array<std::size_t, most> head;
  std::array<std::size_t, most> end;
  std::fill_n(end.begin(), buckets, std::size_t{0});
  for (std::size_t i = 0; i < count; ++i) ++end[bucket_of(digests[i])];
  std::size_t sum = 0;
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    head[bucket] = sum;
    sum += end[bucket];
    end[bucket] = sum;
  }
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    while (head[bucket] != end[bucket]) {
      // What is here goes where it belongs, what was there goes on, until one belongs here.
      std::uint64_t digest = digests[head[bucket]];
      for (std::size_t to = bucket_of(digest); to != bucket; to = bucket_of(digest)) {
        std::swap(digest, digests[head[to]++]);
      }
      digests[head[bucket]++] = digest;
    }
  }
  std::size_t first = 0;
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    f(first, end[bucket] - first);
    first = end[bucket];
  }
}

BLOOMERY_API std::size_t sort_distinct(std::span<std::uint64_t> digests, unsigned threads) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI::detail

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds/digest_sort.cpp>
#endif
