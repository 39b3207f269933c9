// bench/crew.hpp: threads that wait for work and do it at the same time, timed from the start to the end of the last.
//
//     crew threads(2);
//     double seconds = threads.run([&](unsigned thread) { ... });
//
// They spin while they wait: a thread that sleeps takes longer to wake than a chunk takes. The caller is thread 0.
#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "bench/clock.hpp"

namespace bloomery::bench {

class crew {
 public:
  explicit crew(unsigned threads) : threads_(threads) {
    for (unsigned i = 1; i < threads; ++i) others_.emplace_back([this, i] { serve(i); });
  }
  crew(const crew&) = delete;
  crew& operator=(const crew&) = delete;
  ~crew() {
    stop_ = true;
    ++round_;
    for (std::thread& each : others_) each.join();
  }

  [[nodiscard]] unsigned threads() const { return threads_; }

  double run(std::function<void(unsigned thread)> work) {
    work_ = std::move(work);
    done_ = 0;
    return seconds_of([&] {
      ++round_;
      work_(0);
      for (unsigned turn = 0; done_ != threads_ - 1; ++turn) pause(turn);
    });
  }

 private:
  // Lets others run once in a while, for machines with fewer processors than threads.
  static void pause(unsigned turn) noexcept {
    if (turn % 4096 == 4095) std::this_thread::yield();
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
  }
  void serve(unsigned thread) {
    unsigned seen = 0;
    while (true) {
      for (unsigned turn = 0; round_ == seen; ++turn) pause(turn);
      ++seen;
      if (stop_) return;
      work_(thread);
      ++done_;
    }
  }

  unsigned threads_;
  std::function<void(unsigned)> work_;
  std::atomic<unsigned> round_ = 0;
  std::atomic<unsigned> done_ = 0;
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> others_;
};

}  // namespace bloomery::bench
