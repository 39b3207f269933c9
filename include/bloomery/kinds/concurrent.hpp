// kinds/concurrent.hpp: many threads, one filter, no locks.
//
// The contract
//   1. Make one `concurrent_writer` per thread. While any exists, touch the filter through writers only: no insert,
//      merge, clear, save or batch call on the filter itself, in any thread.
//   2. A key whose insert has returned in some thread is found by every look-up that starts later in that thread, and
//      by every look-up in another thread that synchronises with it (a join, a mutex, a release/acquire pair). Without
//      such an order a look-up that runs at the same time may still answer "surely absent" for it, and will soon
//      answer "maybe". No insert is ever lost.
//   3. Two threads that insert the same new key at the same time: at least one of them gets `inserted`, and both
//      may (each set some of the key's bits). Neither gets it only if the key was a false positive of the other keys
//      already in the filter or on their way into it. So `inserted` means "new, or being inserted right now by another
//      thread too": count with it, but do not use it to elect an owner.
//   4. keys() counts the results that the writers got, added when a writer ends or flush()es; after concurrent inserts
//      of equal keys it may be a little high.
//
//     std::thread worker([&filter] {
//       bloomery::concurrent_writer writer(filter);
//       writer.insert(digest);
//     });
//
// How: every word is set by an atomic or (relaxed) and read by an atomic load, which on x86 is a plain load.
#pragma once

#include <bloomery/kinds/batch.hpp>
#include <bloomery/kinds/concept.hpp>
#include <cstdint>
#include <span>

namespace bloomery::inline BLOOMERY_ABI {

template <concurrent_kind K>
class concurrent_writer {
 public:
  explicit concurrent_writer(K& filter) noexcept : filter_(&filter) {}
  concurrent_writer(const concurrent_writer&) = delete;
  concurrent_writer& operator=(const concurrent_writer&) = delete;
  ~concurrent_writer() { flush(); }

  // A digest is a std::uint64_t, or a digest128 for filters that take those.
  template <class Digest>
  insert_result insert(Digest digest) noexcept {
    const insert_result outcome = filter_->insert_atomic(digest);
    inserted_ += outcome == insert_result::inserted ? 1 : 0;
    return outcome;
  }
  // How many of the digests changed something. Their lines are prefetched, so this is faster than one by one.
  std::uint64_t add_batch(std::span<const std::uint64_t> digests) noexcept {
    const std::uint64_t before = inserted_;
    for_each_ahead<memory_access::write>(*filter_, digests,
                                         [this](std::size_t /*i*/, std::uint64_t digest) { insert(digest); });
    return inserted_ - before;
  }
  template <class Digest>
  [[nodiscard]] bool may_contain(Digest digest) const noexcept {
    return filter_->may_contain_atomic(digest);
  }

  // Adds what this writer inserted to the filter's keys().
  void flush() noexcept {
    filter_->add_to_count(inserted_);
    inserted_ = 0;
  }

 private:
  K* filter_;
  std::uint64_t inserted_ = 0;
};

}  // namespace bloomery::inline BLOOMERY_ABI
