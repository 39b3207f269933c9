// core/shared_count.hpp: a count that many readers of a thing may add to at once, each from a const function.
#pragma once

#include <atomic>
#include <bloomery/core/config.hpp>
#include <cstdint>

namespace bloomery::inline BLOOMERY_ABI {

class shared_count {
 public:
  shared_count() noexcept = default;
  shared_count(shared_count&& other) noexcept : value_(other.value()) {}
  shared_count& operator=(shared_count&& other) noexcept {
    value_.store(other.value(), std::memory_order_relaxed);
    return *this;
  }
  shared_count(const shared_count&) = delete;
  shared_count& operator=(const shared_count&) = delete;
  ~shared_count() = default;

  void add(std::uint64_t more = 1) const noexcept { value_.fetch_add(more, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  mutable std::atomic<std::uint64_t> value_{0};
};

}  // namespace bloomery::inline BLOOMERY_ABI
