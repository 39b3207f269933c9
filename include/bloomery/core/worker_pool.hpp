// core/worker_pool.hpp: threads that take one task after the other, each with memory of its own. For building a filter.
//
//     auto workers = bloomery::worker_pool::make({.threads = 4, .bytes_each = 3 << 20}, memory);
//     if (!workers) return fail(workers.error());
//     workers->run(tasks, [&](std::uint64_t task, std::span<std::byte> scratch) { ... });   // task = 0 to tasks - 1
//
// Tasks begin in their order, and run at the same time. Memory is taken once, for all runs, and each piece of it begins
// on a cache line. Where there is not enough for that many threads, fewer do the work: an error only when there is not
// enough for one.
#pragma once

#include <algorithm>
#include <bloomery/core/buffer.hpp>
#include <bloomery/core/threads.hpp>
#include <cstdint>
#include <span>
#include <utility>

namespace bloomery::inline BLOOMERY_ABI {

class worker_pool {
 public:
  struct wish {
    std::uint64_t threads = 1;  // 1 to most_threads; others become the nearest
    std::uint64_t bytes_each = 0;
  };

  static result<worker_pool> make(const wish& wanted, const memory_hooks* memory) noexcept {
    worker_pool made;
    made.bytes_each_ = (wanted.bytes_each + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes;
    made.threads_ = static_cast<unsigned>(std::clamp<std::uint64_t>(wanted.threads, 1, most_threads));
    for (;; made.threads_ /= 2) {
      auto buffer = aligned_buffer::make(made.threads_ * made.bytes_each_, "building the filter", memory);
      if (!buffer && made.threads_ == 1) return fail(buffer.error());
      if (!buffer) continue;
      made.buffer_ = std::move(*buffer);
      return made;
    }
  }

  [[nodiscard]] unsigned threads() const noexcept { return threads_; }
  [[nodiscard]] const memory_hooks* memory() const noexcept { return buffer_.hooks(); }

  template <class Work>
  void run(std::uint64_t tasks, Work&& work) noexcept {
    run_tasks(threads_, tasks, [&](std::uint64_t task, unsigned part) {
      work(task, buffer_.bytes().subspan(to_size(part * bytes_each_), to_size(bytes_each_)));
    });
  }

 private:
  worker_pool() noexcept = default;

  aligned_buffer buffer_;
  std::uint64_t bytes_each_ = 0;
  unsigned threads_ = 1;
};

}  // namespace bloomery::inline BLOOMERY_ABI
