// Memory hooks that count what is requested, and refuse a request on demand.
#pragma once

#include <algorithm>
#include <bloomery/core/buffer.hpp>
#include <cstddef>
#include <cstdint>

namespace bloomery::test {

struct counting_memory {
  std::uint64_t refuse_at = ~std::uint64_t{0};    // the request that is refused, from 0
  std::uint64_t refuse_from = ~std::uint64_t{0};  // the first of those that are all refused
  std::uint64_t requests = 0;
  std::uint64_t requested_bytes = 0;
  std::uint64_t largest = 0;
  std::uint64_t live = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t most_bytes = 0;  // at any time
  memory_hooks hooks{.allocate = allocate, .release = release, .context = this};

  counting_memory() = default;
  explicit counting_memory(std::uint64_t refused) : refuse_at(refused) {}
  counting_memory(const counting_memory&) = delete;
  counting_memory& operator=(const counting_memory&) = delete;

  static void* allocate(void* context, std::size_t size, std::size_t alignment) {
    auto& self = *static_cast<counting_memory*>(context);
    self.largest = std::max<std::uint64_t>(self.largest, size);
    self.requested_bytes += size;
    const std::uint64_t request = self.requests++;
    if (request == self.refuse_at || request >= self.refuse_from) return nullptr;
    void* memory = default_memory().allocate(nullptr, size, alignment);
    self.live += memory != nullptr ? 1 : 0;
    self.live_bytes += memory != nullptr ? size : 0;
    self.most_bytes = std::max(self.most_bytes, self.live_bytes);
    return memory;
  }
  static void release(void* context, void* memory, std::size_t size, std::size_t alignment) {
    auto& self = *static_cast<counting_memory*>(context);
    --self.live;
    self.live_bytes -= size;
    default_memory().release(nullptr, memory, size, alignment);
  }
};

}  // namespace bloomery::test
