// core/background.hpp: one piece of work on a thread of its own, which the caller does not wait for.
//
//     bloomery::background_thread thread;
//     thread.start(work, &context);     // calls work(&context)
//     thread.wait();                    // until it has ended; the destructor waits, too
//
// Where there are no threads, or the system refuses one, start() does the work itself before it returns.
#pragma once

#include <bloomery/core/config.hpp>
#include <bloomery/core/threads.hpp>

namespace bloomery::inline BLOOMERY_ABI {

class BLOOMERY_API background_thread {
 public:
  using work = void (*)(void* context) noexcept;

  background_thread() noexcept = default;
  background_thread(const background_thread&) = delete;
  background_thread& operator=(const background_thread&) = delete;
  ~background_thread() { wait(); }

  // Waits for what was started before.
  void start(work call, void* context) noexcept;
  void wait() noexcept;

 private:
#ifdef BLOOMERY_HAS_THREADS
  static void* run(void* self) noexcept;
  pthread_t thread_{};
#endif
  work call_ = nullptr;
  void* context_ = nullptr;
  bool running_ = false;
};

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/core/background.cpp>
#endif
