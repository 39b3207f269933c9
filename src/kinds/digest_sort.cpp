#include <bloomery/kinds/digest_sort.hpp>

namespace bloomery::inline BLOOMERY_ABI::detail {

BLOOMERY_BODY void insertion_sort(std::uint64_t* digests, std::size_t count) noexcept {
  for (std::size_t i = 1; i < count; ++i) {
    const std::uint64_t digest = digests[i];
    std::size_t at = i;
    for (; at != 0 && digests[at - 1] > digest; --at) digests[at] = digests[at - 1];
    digests[at] = digest;
  }
}

// Sorts up to radix_small digests that differ in their lowest `bits` bits only: into buckets of about 3 in a copy, and
// back.
BLOOMERY_BODY void sort_few_digests(std::uint64_t* digests, std::size_t count, unsigned bits) noexcept {
  constexpr unsigned most_width = radix_small_bits - 1;
  const unsigned width = std::min(bits, std::max(static_cast<unsigned>(std::bit_width(count)), 3U) - 2U);
  const unsigned shift = bits - width;
  const auto bucket_of = [shift, last = (std::uint64_t{1} << width) - 1](std::uint64_t digest) {
    return static_cast<std::size_t>(digest >> shift & last);
  };
  std::array<std::uint16_t, (std::size_t{1} << most_width) + 1> ends;
  std::array<std::uint64_t, radix_small> moved;
  const std::size_t buckets = std::size_t{1} << width;
  std::fill_n(ends.begin(), buckets + 1, std::uint16_t{0});
  for (std::size_t i = 0; i < count; ++i) ++ends[bucket_of(digests[i]) + 1];
  for (std::size_t bucket = 1; bucket < buckets; ++bucket) {
    ends[bucket + 1] = static_cast<std::uint16_t>(ends[bucket + 1] + ends[bucket]);
  }
  // What was the beginning of a bucket becomes its end.
  for (std::size_t i = 0; i < count; ++i) moved[ends[bucket_of(digests[i])]++] = digests[i];
  std::size_t first = 0;
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    const std::size_t size = ends[bucket] - first;
    if (size <= radix_few) {
      insertion_sort(moved.data() + first, size);
    } else {
      std::sort(moved.data() + first, moved.data() + first + size);
    }
    first = ends[bucket];
  }
  std::copy_n(moved.begin(), count, digests);
}

// Sorts digests that differ in their lowest `bits` bits only.
BLOOMERY_BODY void sort_digests(std::uint64_t* digests, std::size_t count, unsigned bits) noexcept {
  if (count <= radix_few) return insertion_sort(digests, count);
  if (bits == 0) return;
  if (count <= radix_small) return sort_few_digests(digests, count, bits);
  // No more buckets than it takes for the next step to be the last: each has an end that is written to.
  const unsigned most = static_cast<unsigned>(std::bit_width(count)) - radix_small_bits + 1U;
  const unsigned width = std::min({radix_most_bits, bits, most});
  radix_split(digests, count, bits - width, width, [&](std::size_t first, std::size_t size) {
    if (size > 1) sort_digests(digests + first, size, bits - width);
  });
}

// Of sorted digests: the different ones to the front, in order; how many they are.
BLOOMERY_BODY std::size_t equal_ones_behind(std::uint64_t* digests, std::size_t count) noexcept {
  std::size_t distinct = count == 0 ? 0 : 1;
  for (std::size_t i = 1; i < count; ++i) {
    if (digests[i] == digests[distinct - 1]) continue;
    if (i != distinct) std::swap(digests[i], digests[distinct]);
    ++distinct;
  }
  return distinct;
}

BLOOMERY_BODY std::size_t sort_distinct(std::span<std::uint64_t> digests, unsigned threads) noexcept {
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
  run_tasks(threads, buckets.size(), [&](std::uint64_t task, unsigned /*part*/) {
    bucket& mine = buckets[to_size(task)];
    sort_digests(mine.digests, mine.count, left);
    mine.count = equal_ones_behind(mine.digests, mine.count);
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

}  // namespace bloomery::inline BLOOMERY_ABI::detail
