// parallel.hpp: batches over all cores.
//
//     bloomery::parallel::insert_batch(*seen, std::span<const std::string>(keys));             // all processors
//     bloomery::parallel::may_contain_batch(*seen, std::span<const std::string>(keys), mask, 4);  // four threads
//
// Same bits, answers and counts as the filter's own batch calls, whatever the number of threads. Nothing else may touch
// the filter meanwhile, except other look-ups while looking up.
//
// Look-ups share the keys out. Inserts do too where the kind is `partitioned`: each thread hashes a share of the keys and
// sorts the digests by the part of the filter that they belong to, then each fills one part, in the order of the keys;
// no two threads write to one line, so there is nothing to lock and nothing to wait for. Three times as
// fast as an atomic or of every word (docs/performance.md). Other kinds are filled by one thread.
// The sorting takes 0.5 MiB times the square of the threads, from eight threads on 4 MiB a thread; without that memory
// one thread fills.
#pragma once

#include <bloomery/core/threads.hpp>
#include <bloomery/filter.hpp>

namespace bloomery::parallel {

namespace detail {

// Keys of a thread and a round; a multiple of 64. The lists must hold them all, whatever part they fall into.
constexpr std::size_t share_of(unsigned threads) noexcept { return threads <= 8 ? 65536 : 524288 / threads / 64 * 64; }

inline unsigned threads_for(unsigned wish, std::size_t keys) noexcept {
  const unsigned most = wish == 0 ? machine_threads() : wish < most_threads ? wish : most_threads;
  const std::size_t useful = (keys + 16383) / 16384;  // fewer keys are not worth a thread
  return useful < most ? (useful == 0 ? 1U : static_cast<unsigned>(useful)) : most;
}

// The digests of a round: a list from each thread for each part, in the order of the keys.
class sorted_digests {
 public:
  static result<sorted_digests> make(unsigned threads) noexcept {
    sorted_digests sorted;
    sorted.threads_ = threads;
    const std::size_t bytes = std::size_t{threads} * threads * sorted.list_words() * sizeof(std::uint64_t);
    auto memory = aligned_buffer::make(bytes, "sorted digests");
    if (!memory) return fail(memory.error());
    sorted.memory_ = std::move(*memory);
    return sorted;
  }
  void clear(unsigned thread) noexcept {
    for (unsigned part = 0; part < threads_; ++part) *list(thread, part) = 0;
  }
  void add(unsigned thread, unsigned part, std::uint64_t digest) noexcept {
    std::uint64_t* count = list(thread, part);
    count[head + (*count)++] = digest;
  }
  [[nodiscard]] std::span<const std::uint64_t> of(unsigned thread, unsigned part) noexcept {
    const std::uint64_t* count = list(thread, part);
    return {count + head, *count};
  }

 private:
  static constexpr std::size_t head = 8;  // the first word is the count, in a line of its own

  [[nodiscard]] std::size_t list_words() const noexcept { return head + share_of(threads_); }
  [[nodiscard]] std::uint64_t* list(unsigned thread, unsigned part) noexcept {
    return reinterpret_cast<std::uint64_t*>(memory_.data()) + (std::size_t{thread} * threads_ + part) * list_words();
  }

  aligned_buffer memory_;
  unsigned threads_ = 0;
};

template <partitioned_kind K, class H, class Key, class Partition>
void sort_share(const filter<K, H>& into, std::span<const Key> keys, const Partition& parts, unsigned thread,
                sorted_digests& sorted) noexcept {
  sorted.clear(thread);
  const kernels::digest_source<H, Key> source{into.hash(), keys};
  std::array<std::uint64_t, 64> room;
  for (std::size_t first = 0; first < keys.size(); first += room.size()) {
    const std::size_t size = keys.size() - first < room.size() ? keys.size() - first : room.size();
    const std::uint64_t* digests = source(first, size, room.data());
    for (std::size_t i = 0; i < size; ++i) sorted.add(thread, parts.of(digests[i]), digests[i]);
  }
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
std::uint64_t insert_batch(filter<K, H>& into, std::span<const Key> keys, unsigned threads = 0) noexcept {
  const unsigned parts = detail::threads_for(threads, keys.size());
  if constexpr (partitioned_kind<K>) {
    auto sorted = parts == 1 ? result<detail::sorted_digests>() : detail::sorted_digests::make(parts);
    if (parts == 1 || !sorted) return into.insert_batch(keys);
    const auto partition = into.kind().partition_into(parts);
    const std::size_t share = detail::share_of(parts);
    std::array<std::uint64_t, most_threads> inserted{};
    for (std::size_t first = 0; first < keys.size(); first += share * parts) {
      const std::size_t left = keys.size() - first;
      run_on_threads(parts, [&](unsigned thread) {
        const std::size_t from = share * thread < left ? share * thread : left;
        const std::size_t size = left - from < share ? left - from : share;
        detail::sort_share(into, keys.subspan(first + from, size), partition, thread, *sorted);
      });
      run_on_threads(parts, [&](unsigned part) {
        for (unsigned thread = 0; thread < parts; ++thread) {
          inserted[part] += into.kind().insert_part(sorted->of(thread, part));
        }
      });
    }
    std::uint64_t total = 0;
    for (unsigned part = 0; part < parts; ++part) total += inserted[part];
    into.kind().add_to_count(total);
    return total;
  } else {
    return into.insert_batch(keys);
  }
}

}  // namespace bloomery::parallel
