// wrappers/parallel.hpp: batches over all cores.
//
//     bloomery::parallel::add_batch(*seen, std::span<const std::string>(keys));             // all processors
//     bloomery::parallel::may_contain_batch(*seen, std::span<const std::string>(keys), mask, 4);  // four threads
//
// Same bits, answers and counts as the filter's own batch calls, whatever the number of threads. Nothing else may touch
// the filter meanwhile, except other look-ups while looking up.
//
// Look-ups share the keys out. Inserts do too where the kind is `partitioned`, in rounds: each thread hashes a share of
// the keys and sorts the digests by the part of the filter that they belong to; when all have, each fills one part, in
// the order of the keys. No two threads write to one line, so nothing is locked, and while one still fills, others sort
// the next round. Several times as fast as an atomic or of every word (docs/performance.md). Other kinds are filled by
// one thread. The sorting takes 256 KiB times the square of the threads, from 4 threads on 1 MiB a thread; without that
// memory one thread fills.
#pragma once

#include <bloomery/core/size.hpp>
#include <bloomery/core/threads.hpp>
#include <bloomery/filter.hpp>
#include <bloomery/kernels/split_digests.hpp>

namespace bloomery::inline BLOOMERY_ABI::parallel {

namespace detail {

// Keys of a thread and a round; a multiple of 64. The lists must hold them all, whatever part they fall into.
constexpr std::size_t share_of(unsigned threads) noexcept { return threads <= 4 ? 16384 : 65536 / threads / 64 * 64; }

inline unsigned threads_for(unsigned wish, std::size_t keys) noexcept {
  const unsigned most = wish == 0 ? machine_threads() : wish < most_threads ? wish : most_threads;
  const std::size_t useful = (keys + 16383) / 16384;  // fewer keys are not worth a thread
  return useful < most ? (useful == 0 ? 1U : static_cast<unsigned>(useful)) : most;
}

// The digests of two rounds, the one that is filled in and the one that is sorted: a list from each thread for each
// part, in the order of the keys.
class sorted_digests {
 public:
  static result<sorted_digests> make(unsigned threads) noexcept {
    sorted_digests sorted;
    sorted.threads_ = threads;
    const std::uint64_t bytes = 2 * std::uint64_t{threads} * threads * sorted.list_words() * sizeof(std::uint64_t);
    auto memory = aligned_buffer::make(bytes, "sorted digests");
    if (!memory) return fail(memory.error());
    sorted.memory_ = std::move(*memory);
    return sorted;
  }
  [[nodiscard]] std::size_t share() const noexcept { return share_of(threads_); }
  // The first word is the count, in a line of its own; the digests follow.
  static constexpr std::size_t head = 8;
  [[nodiscard]] std::uint64_t* list(unsigned round, unsigned thread, unsigned part) noexcept {
    const std::size_t number = (std::size_t{round % 2} * threads_ + thread) * threads_ + part;
    return reinterpret_cast<std::uint64_t*>(memory_.data()) + number * list_words();
  }
  [[nodiscard]] std::span<const std::uint64_t> of(unsigned round, unsigned thread, unsigned part) noexcept {
    const std::uint64_t* count = list(round, thread, part);
    return {count + head, to_size(*count)};
  }

 private:
  // Lists begin in lines of their own.
  [[nodiscard]] std::size_t list_words() const noexcept { return head + share() + 8; }

  aligned_buffer memory_;
  unsigned threads_ = 0;
};

// The last digest of the first of two parts.
template <class Partition>
std::uint64_t last_of_first(const Partition& partition) noexcept {
  std::uint64_t last = 0;
  for (std::uint64_t step = std::uint64_t{1} << 63U; step != 0; step >>= 1U) {
    if (partition.of(last + step) == 0) last += step;
  }
  return last;
}

// Prefetches lines that will be written: the next thread has read them, and taking a line back costs more than all of
// the sorting. An instruction that older processors pass over.
inline void claim_lines(std::uint64_t* first, unsigned lines) noexcept {
  for (unsigned i = 0; i < lines; ++i) {
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(first[i * std::size_t{8}]));
#else
    __builtin_prefetch(first + i * std::size_t{8}, 1);
#endif
  }
}

template <partitioned_kind K, class H, class Key, class Partition>
void sort_share(const filter<K, H>& into, std::span<const Key> keys, const Partition& partition, unsigned round,
                const team_member& self, sorted_digests& sorted) noexcept {
  std::array<std::uint64_t*, most_threads> ends;
  for (unsigned part = 0; part < self.size(); ++part) {
    ends[part] = sorted.list(round, self.index(), part) + sorted_digests::head;
  }
  const key_digests<H, Key> source{into.hash(), keys};
  const std::uint64_t limit = last_of_first(partition);
  const digest_feed feed(source);
  const auto& split = active_kernels<kernels::split_kernels>();
  std::array<std::uint64_t, 64> room;
  for (std::size_t first = 0; first < keys.size(); first += room.size()) {
    const std::size_t size = keys.size() - first < room.size() ? keys.size() - first : room.size();
    if (self.size() == 2) {
      // Half of the 64 digests go to either list; a little more, 64 ahead.
      for (unsigned part = 0; part < 2; ++part) claim_lines(ends[part] + room.size(), 6);
      kernels::digest_lists both{ends[0], ends[1]};
      split.split(feed, first, size, limit, both);
      ends[0] = both.low;
      ends[1] = both.high;
    } else {
      const std::uint64_t* digests = source(first, size, room.data());
      for (std::size_t i = 0; i < size; ++i) *ends[partition.of(digests[i])]++ = digests[i];
    }
  }
  for (unsigned part = 0; part < self.size(); ++part) {
    std::uint64_t* list = sorted.list(round, self.index(), part);
    *list = static_cast<std::uint64_t>(ends[part] - list) - sorted_digests::head;
  }
}

// One thread's share of the work; how many of the keys changed something.
template <partitioned_kind K, class H, class Key>
std::uint64_t sort_and_fill(filter<K, H>& into, std::span<const Key> keys, team_member& self,
                            sorted_digests& sorted) noexcept {
  const auto partition = into.kind().partition_into(self.size());
  const std::size_t share = sorted.share();
  std::uint64_t inserted = 0;
  unsigned round = 0;
  for (std::size_t first = 0; first < keys.size(); first += share * self.size(), ++round) {
    const std::size_t left = keys.size() - first;
    const std::size_t from = share * self.index() < left ? share * self.index() : left;
    const std::size_t size = left - from < share ? left - from : share;
    sort_share(into, keys.subspan(first + from, size), partition, round, self, sorted);
    self.wait();
    for (unsigned thread = 0; thread < self.size(); ++thread) {
      inserted += into.kind().insert_part(sorted.of(round, thread, self.index()));
    }
  }
  return inserted;
}

}  // namespace detail

// Bit i of the mask answers key i; the mask holds mask_words(keys.size()) words. 0 threads: as many as processors.
template <class K, class H, class Key>
void may_contain_batch(const filter<K, H>& of, std::span<const Key> keys, std::span<std::uint64_t> mask,
                       unsigned threads = 0) noexcept {
  const unsigned parts = detail::threads_for(threads, keys.size());
  const std::size_t words = mask_words(keys.size());
  run_on_threads(parts, [&](unsigned part) {
    // Whole words of the mask, so that no two threads write to one.
    const std::size_t first = words * part / parts;
    const std::size_t last = words * (part + 1) / parts;
    const std::size_t end = last * 64 < keys.size() ? last * 64 : keys.size();
    if (first < last) of.may_contain_batch(keys.subspan(first * 64, end - first * 64), mask.subspan(first));
  });
}

// How many of the keys changed something.
template <class K, class H, class Key>
std::uint64_t add_batch(filter<K, H>& into, std::span<const Key> keys, unsigned threads = 0) noexcept {
  const unsigned parts = detail::threads_for(threads, keys.size());
  if constexpr (partitioned_kind<K>) {
    auto sorted = parts == 1 ? result<detail::sorted_digests>() : detail::sorted_digests::make(parts);
    if (parts == 1 || !sorted) return into.add_batch(keys);
    std::atomic<std::uint64_t> total = 0;
    run_pool(parts, [&](team_member& self) { total += detail::sort_and_fill(into, keys, self, *sorted); });
    into.kind().add_to_count(total);
    return total;
  } else {
    return into.add_batch(keys);
  }
}

}  // namespace bloomery::inline BLOOMERY_ABI::parallel
