// kinds/batch.hpp: what every kind that can do it with one digest can do with many: insert with an answer for each,
// erase, count.
//
//     batch_outcome done = bloomery::insert_batch(filter, digests, fresh);   // bit i of fresh: digest i was new
//     std::uint64_t erased = bloomery::erase_batch(filter, digests);
//     bloomery::count_batch(filter, digests, counts);
//
// The memory of a digest is prefetched some digests ahead, where the kind reports it (for_each_touched).
#pragma once

#include <bloomery/kinds/concept.hpp>
#include <cstdint>
#include <span>
#include <type_traits>

namespace bloomery::inline BLOOMERY_ABI {

// Why memory is prefetched: other processors keep a line that is only read.
enum class memory_access : std::uint8_t { read = 0, write = 1 };

// Prefetches the memory that an operation on the digest will touch.
template <memory_access For, filter_kind K>
void prefetch(const K& filter, std::uint64_t digest) noexcept {
  if constexpr (contiguous_kind<K>) {
    const std::byte* memory = filter.payload().data();
    filter.for_each_touched(digest, [memory](std::uint64_t first, std::uint64_t /*size*/) {
      __builtin_prefetch(memory + first, static_cast<int>(For));
    });
  }
}

// Calls f(index, digest) for every digest in its order, each some time after its memory was prefetched.
template <memory_access For, filter_kind K, class F>
void for_each_ahead(const K& filter, std::span<const std::uint64_t> digests, F&& f) noexcept {
  constexpr std::size_t ahead = 12;
  for (std::size_t i = 0; i < digests.size() && i < ahead; ++i) prefetch<For>(filter, digests[i]);
  for (std::size_t i = 0; i < digests.size(); ++i) {
    if (i + ahead < digests.size()) prefetch<For>(filter, digests[i + ahead]);
    f(i, digests[i]);
  }
}

// Inserts one after the other, with an answer for each: bit i of `fresh` (bit i % 64 of word i / 64), which is all 0,
// is set when digest i was new. Stops at the first digest that does not fit.
template <dynamic_kind K, class Digest>
batch_outcome insert_batch(K& filter, std::span<const Digest> digests, std::span<std::uint64_t> fresh) noexcept {
  constexpr std::size_t ahead = 12;
  batch_outcome all;
  for (const Digest& digest : digests) {
    if constexpr (std::is_same_v<Digest, std::uint64_t>) {
      if (all.taken + ahead < digests.size()) prefetch<memory_access::write>(filter, digests[all.taken + ahead]);
    }
    const insert_result done = filter.insert(digest);
    if (done == insert_result::full) break;
    if (done == insert_result::inserted) {
      fresh[all.taken / 64] |= std::uint64_t{1} << (all.taken % 64);
      ++all.inserted;
    }
    ++all.taken;
  }
  return all;
}

// How many of the digests were there and are erased; a digest that comes twice is erased twice.
template <erasable K>
std::uint64_t erase_batch(K& filter, std::span<const std::uint64_t> digests) noexcept {
  std::uint64_t erased = 0;
  for_each_ahead<memory_access::write>(
      filter, digests, [&](std::size_t /*i*/, std::uint64_t digest) { erased += filter.erase(digest) ? 1U : 0U; });
  return erased;
}

// How often the filter holds each digest; `counts` is as long as `digests`.
template <countable K>
void count_batch(const K& filter, std::span<const std::uint64_t> digests, std::span<std::uint64_t> counts) noexcept {
  for_each_ahead<memory_access::read>(filter, digests,
                                      [&](std::size_t i, std::uint64_t digest) { counts[i] = filter.count(digest); });
}

}  // namespace bloomery::inline BLOOMERY_ABI
