// core/shared_lock.hpp: one writer or many readers, in four bytes and without exceptions.
//
//     bloomery::shared_lock lock;
//     { const bloomery::write_guard alone(lock); ... }
//     { const bloomery::read_guard with_others(lock); ... }
//
// A writer that waits keeps new readers out, so that readers cannot starve it. Who waits sleeps. Not recursive: a
// thread that holds it and locks it again waits forever.
#pragma once

#include <atomic>
#include <bloomery/core/config.hpp>
#include <cstdint>

namespace bloomery::inline BLOOMERY_ABI {

class shared_lock {
 public:
  void lock() noexcept {
    std::uint32_t seen = state_.load(std::memory_order_relaxed);
    while (true) {
      if ((seen & ~waiting) == 0) {
        if (state_.compare_exchange_weak(seen, writing, std::memory_order_acquire, std::memory_order_relaxed)) return;
      } else if ((seen & waiting) == 0) {
        state_.compare_exchange_weak(seen, seen | waiting, std::memory_order_relaxed, std::memory_order_relaxed);
      } else {
        state_.wait(seen, std::memory_order_relaxed);
        seen = state_.load(std::memory_order_relaxed);
      }
    }
  }
  void unlock() noexcept {
    // Waiting threads announce themselves again.
    state_.store(0, std::memory_order_release);
    state_.notify_all();
  }
  void lock_shared() noexcept {
    std::uint32_t seen = state_.load(std::memory_order_relaxed);
    while (true) {
      if ((seen & (writing | waiting)) == 0) {
        if (state_.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire, std::memory_order_relaxed)) return;
      } else {
        state_.wait(seen, std::memory_order_relaxed);
        seen = state_.load(std::memory_order_relaxed);
      }
    }
  }
  void unlock_shared() noexcept {
    if (state_.fetch_sub(1, std::memory_order_release) == (waiting | 1U)) state_.notify_all();
  }

 private:
  static constexpr std::uint32_t writing = std::uint32_t{1} << 31U;
  static constexpr std::uint32_t waiting = std::uint32_t{1} << 30U;
  std::atomic<std::uint32_t> state_{0};  // the low bits count readers
};

class write_guard {
 public:
  explicit write_guard(shared_lock& lock) noexcept : lock_(&lock) { lock_->lock(); }
  ~write_guard() { lock_->unlock(); }
  write_guard(const write_guard&) = delete;
  write_guard& operator=(const write_guard&) = delete;

 private:
  shared_lock* lock_;
};

class read_guard {
 public:
  explicit read_guard(shared_lock& lock) noexcept : lock_(&lock) { lock_->lock_shared(); }
  ~read_guard() { lock_->unlock_shared(); }
  read_guard(const read_guard&) = delete;
  read_guard& operator=(const read_guard&) = delete;

 private:
  shared_lock* lock_;
};

}  // namespace bloomery::inline BLOOMERY_ABI
