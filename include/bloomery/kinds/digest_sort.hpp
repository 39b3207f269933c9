// kinds/digest_sort.hpp: digests sorted where they lie, with equal ones put behind. For kinds that are built once, from all
// their keys.
//
//     const std::size_t distinct = bloomery::detail::sort_distinct(digests, threads);
//
// The first `distinct` of them then ascend and are all different; behind them lies what came more than once. The span is
// permuted, nothing is lost, and no memory is taken beyond some KiB of stack: a radix sort from the highest bits down that
// moves each digest straight to its bucket. A few ns a key and level where digests are well mixed, and right for any.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <bloomery/core/threads.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace bloomery::detail {

inline constexpr unsigned radix_most_bits = 8;

inline void insertion_sort(std::uint64_t* digests, std::size_t count) noexcept {
  for (std::size_t i = 1; i < count; ++i) {
    const std::uint64_t digest = digests[i];
    std::size_t at = i;
    for (; at != 0 && digests[at - 1] > digest; --at) digests[at] = digests[at - 1];
    digests[at] = digest;
  }
}

// Puts the digests into the order of their `width` bits from bit `shift` on; calls f(first, count) for each bucket.
template <class F>
void radix_split(std::uint64_t* digests, std::size_t count, unsigned shift, unsigned width, F&& f) noexcept {
  constexpr std::size_t most = std::size_t{1} << radix_most_bits;
  const std::size_t buckets = std::size_t{1} << width;
  const auto bucket_of = [shift, last = buckets - 1](std::uint64_t digest) { return digest >> shift & last; };
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
      // What lies here goes where it belongs, what lay there goes on, until one belongs here.
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

// Sorts digests that differ in their lowest `bits` bits only.
inline void sort_digests(std::uint64_t* digests, std::size_t count, unsigned bits) noexcept {
  constexpr std::size_t few = 24;  // up to here, moving past each other is faster than counting
  if (count <= few) return insertion_sort(digests, count);
  if (bits == 0) return;
  // Buckets of about 8: more of them would cost more than they sort.
  const unsigned width = std::min({radix_most_bits, bits, static_cast<unsigned>(std::bit_width(count)) - 3U});
  radix_split(digests, count, bits - width, width, [&](std::size_t first, std::size_t size) {
    if (size > 1) sort_digests(digests + first, size, bits - width);
  });
}

// Of sorted digests: the different ones to the front, in order; how many they are.
inline std::size_t equal_ones_behind(std::uint64_t* digests, std::size_t count) noexcept {
  std::size_t distinct = count == 0 ? 0 : 1;
  for (std::size_t i = 1; i < count; ++i) {
    if (digests[i] == digests[distinct - 1]) continue;
    if (i != distinct) std::swap(digests[i], digests[distinct]);
    ++distinct;
  }
  return distinct;
}

inline std::size_t sort_distinct(std::span<std::uint64_t> digests, unsigned threads) noexcept {
  constexpr std::size_t worth_threads = 1U << 16U;
  if (digests.size() < worth_threads) {
    sort_digests(digests.data(), digests.size(), 64);
    return equal_ones_behind(digests.data(), digests.size());
  }
  struct bucket {
    std::uint64_t* digests;
    std::size_t count;
  };
  std::array<bucket, std::size_t{1} << radix_most_bits> buckets;
  std::size_t made = 0;
  constexpr unsigned left = 64 - radix_most_bits;
  radix_split(digests.data(), digests.size(), left, radix_most_bits, [&](std::size_t first, std::size_t size) {
    buckets[made++] = {digests.data() + first, size};
  });
  std::atomic<std::size_t> next = 0;
  run_on_threads(threads, [&](unsigned) {
    for (std::size_t i = next.fetch_add(1); i < buckets.size(); i = next.fetch_add(1)) {
      sort_digests(buckets[i].digests, buckets[i].count, left);
      buckets[i].count = equal_ones_behind(buckets[i].digests, buckets[i].count);
    }
  });
  std::size_t distinct = 0;
  for (const bucket& from : buckets) {
    std::uint64_t* to = digests.data() + distinct;
    if (to != from.digests) {
      for (std::size_t i = 0; i < from.count; ++i) std::swap(to[i], from.digests[i]);
    }
    distinct += from.count;
  }
  return distinct;
}

}  // namespace bloomery::detail
