// cli/keys/parallel_for.hpp: independent pieces of work on several threads.
//
//     parallel_for(count, jobs_of(opts), [&](std::size_t piece, bool here) {
//       ...                                        // pieces are begun in order and end in any
//       if (here) line.update(...);                // in the caller's own thread
//     });
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace bloomery::cli {

// The caller's thread is one of `threads`. What a piece throws is thrown here once all threads have stopped.
template <class Work>
void parallel_for(std::size_t pieces, unsigned threads, const Work& work) {
  std::atomic<std::size_t> next = 0;
  std::mutex lock;
  std::exception_ptr thrown;
  const auto run = [&](bool here) {
    try {
      for (std::size_t piece = next++; piece < pieces; piece = next++) work(piece, here);
    } catch (...) {
      const std::lock_guard held(lock);
      thrown = std::current_exception();
      next = pieces;
    }
  };
  const std::size_t wanted = std::min<std::size_t>(threads, pieces);
  std::vector<std::thread> others;
  others.reserve(wanted);
  try {
    for (std::size_t i = 1; i < wanted; ++i) others.emplace_back(run, false);
  } catch (...) {
    // No more threads, or no memory for one: the existing ones do the work, and must be joined.
  }
  run(true);
  for (std::thread& other : others) other.join();
  if (thrown != nullptr) std::rethrow_exception(thrown);
}

}  // namespace bloomery::cli
