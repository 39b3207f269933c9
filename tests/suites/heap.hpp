// What this program requests by operator new, where it is armed: counted, and refused on demand, as counting_memory does for
// the memory hooks. Some parts use both: `everything` gives their requests one order.
#pragma once

#include <cstdint>

#include "support/memory.hpp"

namespace bloomery::test {

class heap_watch {
 public:
  static constexpr std::uint64_t never = ~std::uint64_t{0};
  std::uint64_t refuse_at = never;  // of all requests since armed, from 0
  std::uint64_t requests = 0;
  std::int64_t live_bytes = 0;  // since armed; what was there before and is released counts negative
  std::int64_t most_bytes = 0;
  memory_hooks hooks{.allocate = allocate, .release = release, .context = this};

  heap_watch() = default;
  heap_watch(const heap_watch&) = delete;
  heap_watch& operator=(const heap_watch&) = delete;

  // Runs f with the requests of this thread counted.
  template <class F>
  auto watch(F&& f) {
    struct armed {
      ~armed() { disarm(); }
    } const guard;
    requests = 0;
    live_bytes = most_bytes = 0;
    arm(this);
    return f();
  }

  bool take(std::uint64_t size) noexcept {
    if (requests++ == refuse_at) return false;
    live_bytes += static_cast<std::int64_t>(size);
    if (live_bytes > most_bytes) most_bytes = live_bytes;
    return true;
  }
  void give(std::uint64_t size) noexcept { live_bytes -= static_cast<std::int64_t>(size); }

 private:
  static void arm(heap_watch* by) noexcept;
  static void disarm() noexcept;
  static bool is_armed() noexcept;
  static void* allocate(void* context, std::size_t size, std::size_t alignment) {
    auto& self = *static_cast<heap_watch*>(context);
    if (is_armed() && !self.take(size)) return nullptr;
    return default_memory().allocate(nullptr, size, alignment);
  }
  static void release(void* context, void* memory, std::size_t size, std::size_t alignment) {
    if (is_armed()) static_cast<heap_watch*>(context)->give(size);
    default_memory().release(nullptr, memory, size, alignment);
  }
};

}  // namespace bloomery::test
