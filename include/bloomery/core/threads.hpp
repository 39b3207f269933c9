// core/threads.hpp: one piece of work on several threads, without exceptions.
//
//     bloomery::run_on_threads(4, [&](unsigned part) { ... });   // part = 0 to 3, in any order and at the same time
//
// The caller's thread does a part itself. A thread that the system refuses is not an error: its part is done by
// another, later. Nothing is kept between calls; starting a thread costs some 20 us, so give each part a millisecond.
//
// Tasks of unknown duration; the next one goes to the next free thread:
//
//     bloomery::run_tasks(4, 1000, [&](std::uint64_t task, unsigned part) { ... });   // task 0 to 999, on part 0 to 3
//
// Where threads have to wait for each other, a worker pool:
//
//     bloomery::run_pool(4, [&](bloomery::team_member& self) {   // self.index() = 0 to self.size() - 1
//       ...
//       self.wait();                                             // until all members are here
//     });
//
// A worker pool has as many members as the system grants, at least the caller. Waiting is spinning, so give each
// stretch between two waits 10 us and more.
#pragma once

#include <array>
#include <atomic>
#include <bloomery/core/config.hpp>
#include <cstdint>
#include <type_traits>

#if defined(__linux__) || defined(__APPLE__) || defined(__unix__)
#include <pthread.h>
#include <unistd.h>
#define BLOOMERY_HAS_THREADS 1
#endif

namespace bloomery::inline BLOOMERY_ABI {

inline constexpr unsigned most_threads = 256;

// As many as the machine has processors.
BLOOMERY_API unsigned machine_threads() noexcept;

// What the members of a worker pool share.
class team_state {
 public:
  // Called by the thread that made the worker pool, when it knows how many there are.
  void start(unsigned size) noexcept { size_.store(size, std::memory_order_release); }
  unsigned wait_for_start() noexcept {
    spin([&] { return size_.load(std::memory_order_acquire) != 0; });
    return size_.load(std::memory_order_relaxed);
  }
  void wait(unsigned size) noexcept {
    const unsigned round = round_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
    } else {
      spin([&] { return round_.load(std::memory_order_acquire) != round; });
    }
  }

 private:
  // Lets others run once in a while: there may be more threads than processors.
  template <class Condition>
  static void spin(Condition&& holds) noexcept {
    for ([[maybe_unused]] unsigned turn = 1; !holds(); ++turn) {
#ifdef BLOOMERY_HAS_THREADS
      if (turn % 64 == 0) ::sched_yield();
#endif
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  }

  std::atomic<unsigned> size_ = 0;
  alignas(64) std::atomic<unsigned> arrived_ = 0;
  alignas(64) std::atomic<unsigned> round_ = 0;
};

class team_member {
 public:
  team_member(team_state& team, unsigned index, unsigned size) noexcept : team_(&team), index_(index), size_(size) {}
  [[nodiscard]] unsigned index() const noexcept { return index_; }
  [[nodiscard]] unsigned size() const noexcept { return size_; }
  void wait() noexcept {
    if (size_ != 1) team_->wait(size_);
  }

 private:
  team_state* team_;
  unsigned index_;
  unsigned size_;
};

template <class Work>
void run_pool([[maybe_unused]] unsigned wish, Work&& work) noexcept {
  team_state team;
  unsigned size = 1;
#ifdef BLOOMERY_HAS_THREADS
  struct job {
    std::remove_reference_t<Work>* work = nullptr;
    team_state* team = nullptr;
    unsigned index = 0;
    pthread_t thread{};
    static void* run(void* self) noexcept {
      auto* mine = static_cast<job*>(self);
      team_member member(*mine->team, mine->index, mine->team->wait_for_start());
      (*mine->work)(member);
      return nullptr;
    }
  };
  std::array<job, most_threads> jobs;
  for (; size < wish && size < most_threads; ++size) {
    job& next = jobs[size];
    next.work = &work;
    next.team = &team;
    next.index = size;
    if (::pthread_create(&next.thread, nullptr, job::run, &next) != 0) break;
  }
#endif
  team.start(size);
  team_member self(team, 0, size);
  work(self);
#ifdef BLOOMERY_HAS_THREADS
  for (unsigned i = 1; i < size; ++i) ::pthread_join(jobs[i].thread, nullptr);
#endif
}

template <class Work>
void run_on_threads(unsigned parts, Work&& work) noexcept {
  run_pool(parts, [&](const team_member& self) {
    for (unsigned part = self.index(); part < parts; part += self.size()) work(part);
  });
}

template <class Work>
void run_tasks(unsigned threads, std::uint64_t tasks, Work&& work) noexcept {
  std::atomic<std::uint64_t> next = 0;
  run_pool(tasks < threads ? static_cast<unsigned>(tasks) : threads, [&](const team_member& self) {
    for (std::uint64_t task = next.fetch_add(1, std::memory_order_relaxed); task < tasks;
         task = next.fetch_add(1, std::memory_order_relaxed)) {
      work(task, self.index());
    }
  });
}

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/core/threads.cpp>
#endif
