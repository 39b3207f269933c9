// core/threads.hpp: one piece of work on several threads, without exceptions.
//
//     bloomery::run_on_threads(4, [&](unsigned part) { ... });   // part = 0 to 3, in any order and at the same time
//
// The caller's thread does a part itself. A thread that the system refuses is not an error: its part is done by the
// caller, later. Nothing is kept between calls; starting a thread costs some 20 us, so give each part a millisecond.
#pragma once

#include <array>
#include <type_traits>

#if defined(__linux__) || defined(__APPLE__) || defined(__unix__)
#include <pthread.h>
#include <unistd.h>
#define BLOOMERY_HAS_THREADS 1
#endif

namespace bloomery {

inline constexpr unsigned most_threads = 256;

// As many as the machine has processors.
inline unsigned machine_threads() noexcept {
#ifdef BLOOMERY_HAS_THREADS
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  if (online > 1) return online < long{most_threads} ? static_cast<unsigned>(online) : most_threads;
#endif
  return 1;
}

template <class Work>
void run_on_threads(unsigned parts, Work&& work) noexcept {
#ifdef BLOOMERY_HAS_THREADS
  struct job {
    std::remove_reference_t<Work>* work = nullptr;
    unsigned part = 0;
    pthread_t thread{};
    bool started = false;
    static void* run(void* self) noexcept {
      auto* mine = static_cast<job*>(self);
      (*mine->work)(mine->part);
      return nullptr;
    }
  };
  std::array<job, most_threads> jobs;
  if (parts > most_threads) parts = most_threads;
  for (unsigned part = 1; part < parts; ++part) {
    jobs[part].work = &work;
    jobs[part].part = part;
    jobs[part].started = ::pthread_create(&jobs[part].thread, nullptr, job::run, &jobs[part]) == 0;
  }
  if (parts != 0) work(0U);
  for (unsigned part = 1; part < parts; ++part) {
    if (!jobs[part].started) work(part);
  }
  for (unsigned part = 1; part < parts; ++part) {
    if (jobs[part].started) ::pthread_join(jobs[part].thread, nullptr);
  }
#else
  for (unsigned part = 0; part < parts; ++part) work(part);
#endif
}

}  // namespace bloomery
