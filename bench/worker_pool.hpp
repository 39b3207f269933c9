// bench/worker_pool.hpp: threads that wait for work and do it at the same time, timed from the start to the end of the last.
//
//     worker_pool pool(2);
//     double seconds = pool.run([&](unsigned thread) { ... });
//
// They sleep between rounds, so that they take nothing from what is measured then; a round begins when all are awake.
// The caller is thread 0. Each stays on a processor of its own while it works: a system that wakes two on one processor
// takes longer to notice than a round lasts.
#pragma once

#include <sched.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "bench/clock.hpp"

namespace bloomery::bench {

class worker_pool {
 public:
  explicit worker_pool(unsigned threads) : threads_(threads) {
    for (unsigned i = 1; i < threads; ++i) others_.emplace_back([this, i] { serve(i); });
  }
  worker_pool(const worker_pool&) = delete;
  worker_pool& operator=(const worker_pool&) = delete;
  ~worker_pool() {
    stop_ = true;
    ++round_;
    round_.notify_all();
    for (std::thread& each : others_) each.join();
  }

  [[nodiscard]] unsigned threads() const { return threads_; }

  double run(std::function<void(unsigned thread)> work) {
    work_ = std::move(work);
    awake_ = 0;
    done_ = 0;
    ++round_;
    round_.notify_all();
    const own_processor here(0);
    wait_until([&] { return awake_ == threads_ - 1; });
    return seconds_of([&] {
      started_ = round_.load();
      work_(0);
      wait_until([&] { return done_ == threads_ - 1; });
    });
  }

 private:
  // The calling thread on the processor of this number among those that it may use, until the end of the scope.
  class own_processor {
   public:
    explicit own_processor(unsigned number) {
      if (::sched_getaffinity(0, sizeof before_, &before_) != 0) return;
      const int allowed = CPU_COUNT(&before_);
      if (allowed < 2) return;
      int left = static_cast<int>(number) % allowed;
      for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
        if (!CPU_ISSET(processor, &before_) || left-- != 0) continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(processor, &one);
        bound_ = ::sched_setaffinity(0, sizeof one, &one) == 0;
        return;
      }
    }
    own_processor(const own_processor&) = delete;
    own_processor& operator=(const own_processor&) = delete;
    ~own_processor() {
      if (bound_) ::sched_setaffinity(0, sizeof before_, &before_);
    }

   private:
    cpu_set_t before_{};
    bool bound_ = false;
  };

  // Lets others run once in a while, for machines with fewer processors than threads.
  template <class Condition>
  static void wait_until(Condition&& holds) noexcept {
    for (unsigned spin = 1; !holds(); ++spin) {
      if (spin % 4096 == 0) std::this_thread::yield();
#if defined(__x86_64__) || defined(__i386__)
      __builtin_ia32_pause();
#endif
    }
  }
  void serve(unsigned thread) {
    const own_processor here(thread);
    for (unsigned seen = 0;;) {
      round_.wait(seen);
      ++seen;
      if (stop_) return;
      ++awake_;
      wait_until([&] { return started_ == seen; });
      work_(thread);
      ++done_;
    }
  }

  unsigned threads_;
  std::function<void(unsigned)> work_;
  std::atomic<unsigned> round_ = 0;
  std::atomic<unsigned> awake_ = 0;
  std::atomic<unsigned> started_ = 0;
  std::atomic<unsigned> done_ = 0;
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> others_;
};

using crew = worker_pool;  // the name in cli/

}  // namespace bloomery::bench
