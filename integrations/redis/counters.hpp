// counters.hpp: what the INFO section prints.
#pragma once

#include <atomic>
#include <cstdint>

#include "integrations/redis/api.hpp"

namespace bloomery::redis_module {

// The server's one thread for commands counts up; others, which free what was unlinked, count down. So no increment needs
// a locked instruction.
class live_count {
 public:
  void add(std::uint64_t more) noexcept {
    added_.store(added_.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }
  void remove(std::uint64_t some) noexcept { removed_.fetch_add(some, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t now() const noexcept {
    return added_.load(std::memory_order_relaxed) - removed_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> added_{0};
  std::atomic<std::uint64_t> removed_{0};
};

// Of one data type.
struct filter_counts {
  live_count objects;
  live_count items;
};
struct module_counters {
  filter_counts bloom;
  filter_counts cuckoo;
  std::uint64_t commands = 0;
  std::uint64_t refused_for_work = 0;
};
extern module_counters counted;

int register_info(server_context* context) noexcept;

}  // namespace bloomery::redis_module
