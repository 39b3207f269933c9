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
// no two threads write to one line, so there is nothing to lock and nothing to wait for. This is faster than an atomic or
// of every word from the second thread on (docs/performance.md). Other kinds are filled by one thread.
// The sorting takes 8 bytes a key and thread for 65,536 keys a thread at a time; without that memory one thread fills.
#pragma once

#include <bloomery/core/threads.hpp>
#include <bloomery/filter.hpp>

namespace bloomery::parallel {

namespace detail {

inline constexpr std::size_t share = 65536;  // keys of a thread and a round; a multiple of 64

inline unsigned threads_for(unsigned wish, std::size_t keys) noexcept {
  const unsigned most = wish == 0 ? machine_threads() : wish < most_threads ? wish : most_threads;
  const std::size_t useful = (keys + share / 4 - 1) / (share / 4);
  return useful < most ? (useful == 0 ? 1U : static_cast<unsigned>(useful)) : most;
}

// The digests of a round: from each thread, for each part, in the order of the keys.
class sorted_digests {
 public:
  static result<sorted_digests> make(unsigned threads) noexcept {
    auto memory =
        aligned_buffer::make(std::size_t{threads} * threads * share * sizeof(std::uint64_t), "sorted digests");
    if (!memory) return fail(memory.error());
    sorted_digests sorted;
    sorted.memory_ = std::move(*memory);
    sorted.threads_ = threads;
    return sorted;
  }
  [[nodiscard]] std::uint64_t* list(unsigned thread, unsigned part) noexcept {
    return reinterpret_cast<std::uint64_t*>(memory_.data()) + (std::size_t{thread} * threads_ + part) * share;
  }

 private:
  aligned_buffer memory_;
  unsigned threads_ = 0;
};

template <partitioned_kind K, class H, class Key, class Partition>
void sort_share(const filter<K, H>& into, std::span<const Key> keys, const Partition& parts,
                std::uint64_t* const* lists, std::size_t* counts) noexcept {
  const kernels::digest_source<H, Key> source{into.hash(), keys};
  std::array<std::uint64_t, 64> room;
  for (std::size_t first = 0; first < keys.size(); first += room.size()) {
    const std::size_t size = keys.size() - first < room.size() ? keys.size() - first : room.size();
    const std::uint64_t* digests = source(first, size, room.data());
    for (std::size_t i = 0; i < size; ++i) {
      const unsigned part = parts.of(digests[i]);
      lists[part][counts[part]++] = digests[i];
    }
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
    std::array<std::array<std::size_t, most_threads>, most_threads> counts;
    std::array<std::uint64_t, most_threads> inserted{};
    for (std::size_t first = 0; first < keys.size(); first += detail::share * parts) {
      const std::size_t left = keys.size() - first;
      run_on_threads(parts, [&](unsigned thread) {
        std::array<std::uint64_t*, most_threads> lists;
        for (unsigned part = 0; part < parts; ++part) lists[part] = sorted->list(thread, part);
        for (unsigned part = 0; part < parts; ++part) counts[thread][part] = 0;
        const std::size_t from = detail::share * thread < left ? detail::share * thread : left;
        const std::size_t size = left - from < detail::share ? left - from : detail::share;
        detail::sort_share(into, keys.subspan(first + from, size), partition, lists.data(), counts[thread].data());
      });
      run_on_threads(parts, [&](unsigned part) {
        for (unsigned thread = 0; thread < parts; ++thread) {
          inserted[part] += into.kind().insert_part({sorted->list(thread, part), counts[thread][part]});
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
