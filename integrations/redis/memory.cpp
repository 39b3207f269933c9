#include "integrations/redis/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "integrations/redis/config.hpp"

namespace bloomery::redis_module {

memory_counters memory_use;

namespace {

// Below this a request that fails would have failed for the server itself at any time.
constexpr std::uint64_t large_block_bytes = std::uint64_t{1} << 20U;
// From here on a block is cleared by its pages.
constexpr std::size_t page_block_bytes = std::size_t{256} << 10U;

memory_scope* current = nullptr;  // the server runs commands in one thread

bool system_has(std::size_t size_bytes) noexcept {
  void* const place = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) return false;
  munmap(place, size_bytes);
  return true;
}

// The whole pages of a block go back to the system, and are zero when they are touched next. Where they cannot (they are locked
// in memory) the answer is false.
struct whole_pages {
  char* first;
  std::size_t size_bytes;

  whole_pages(void* memory, std::size_t block_bytes) noexcept {
    static const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    auto* const from = static_cast<char*>(memory);
    const std::size_t head = std::min(block_bytes, (page_bytes - reinterpret_cast<std::uintptr_t>(from)) % page_bytes);
    first = from + head;
    size_bytes = (block_bytes - head) / page_bytes * page_bytes;
  }
  [[nodiscard]] bool give_back() const noexcept { return madvise(first, size_bytes, MADV_DONTNEED) == 0; }
};

// Zeroed without writing it: that would take a millisecond for 2 MiB. nullptr: the system has not so much.
void* allocate_pages(std::size_t size_bytes, std::uint64_t granted_bytes) noexcept {
  if (granted_bytes >= large_block_bytes && !system_has(size_bytes + granted_bytes)) return nullptr;
  void* const memory = server.try_alloc(size_bytes);
  if (memory == nullptr) return nullptr;
  const whole_pages pages(memory, size_bytes);
  if (!pages.give_back()) return std::memset(memory, 0, size_bytes);
  char* const begin = static_cast<char*>(memory);
  char* const behind = pages.first + pages.size_bytes;
  std::memset(begin, 0, static_cast<std::size_t>(pages.first - begin));
  std::memset(behind, 0, static_cast<std::size_t>(begin + size_bytes - behind));
  return memory;
}

// Without eviction the block must fit into what is left of maxmemory. With eviction others make room for it, if it is
// not larger than all of maxmemory.
bool fits_maxmemory(std::uint64_t size_bytes) noexcept {
  const double used = server.used_memory_ratio();
  if (used == 0) return true;  // no maxmemory
  server_memory_info* const info = server.get_server_info(nullptr, "memory");
  int failed = 0;
  const auto most = static_cast<double>(server.server_info_number(info, "maxmemory", &failed));
  const char* const policy = server.server_info_text(info, "maxmemory_policy");
  const bool evicts = policy != nullptr && std::string_view(policy) != "noeviction";
  server.free_server_info(nullptr, info);
  if (failed != 0 || most == 0) return true;
  return static_cast<double>(size_bytes) <= (evicts ? most : most * (1 - used));
}

void* allocate(void*, std::size_t size_bytes, std::size_t) noexcept {
  if (current != nullptr && !current->admit(size_bytes)) return nullptr;
  void* memory = nullptr;
  if (size_bytes >= page_block_bytes) {
    memory = allocate_pages(size_bytes, current == nullptr ? 0 : current->granted_bytes());
  } else if (server.try_calloc != nullptr) {
    memory = server.try_calloc(1, size_bytes);
  } else {
    memory = server.calloc(1, size_bytes);
  }
  if (memory == nullptr) {
    if (current != nullptr) current->refused_by_system(size_bytes);
    return nullptr;
  }
  if (current != nullptr) current->granted(size_bytes);
  count_adopted(memory);
  return memory;
}

// What the allocator keeps for the next block is not written then: that one need not be cleared in an insert that grows.
void release(void*, void* memory, std::size_t size_bytes, std::size_t) noexcept {
  if (size_bytes >= page_block_bytes) static_cast<void>(whole_pages(memory, size_bytes).give_back());
  memory_use.bytes.fetch_sub(server.malloc_size(memory), std::memory_order_relaxed);
  server.free(memory);
}

}  // namespace

// jemalloc makes an arena for blocks of 8 MiB and more when the first is requested, which takes 70 us: better now than in an insert.
void prepare_memory() noexcept {
  constexpr std::size_t oversized_bytes = std::size_t{8} << 20U;
  void* const memory = server.try_alloc(oversized_bytes);
  if (memory != nullptr) server.free(memory);
}

const memory_hooks& server_memory() noexcept {
  static constexpr memory_hooks hooks{.allocate = allocate, .release = release};
  return hooks;
}

void count_adopted(void* memory) noexcept {
  memory_use.bytes.fetch_add(server.malloc_size(memory), std::memory_order_relaxed);
}

bool is_replayed(server_context* context) noexcept {
  return (server.get_context_flags(context) & (context_replicated | context_loading | context_async_loading)) != 0;
}

memory_scope::memory_scope(server_context* context, std::uint64_t object_bytes) noexcept
    : context_(context), outer_(current), object_bytes_(object_bytes) {
  current = this;
}
memory_scope::~memory_scope() { current = outer_; }

bool memory_scope::refuse(refusal why, std::uint64_t size_bytes) noexcept {
  why_ = why;
  refused_from_ = size_bytes;
  auto& counter = why == refusal::object_limit ? memory_use.at_limit : memory_use.refused;
  counter.fetch_add(1, std::memory_order_relaxed);
  return false;
}

bool memory_scope::admit(std::uint64_t size_bytes) noexcept {
  if (size_bytes >= refused_from_) return false;
  const std::uint64_t limit = configured.memory_limit_bytes;
  const bool beyond_limit = limit != 0 && (object_bytes_ > limit || size_bytes > limit - object_bytes_);
  const bool beyond_maxmemory = !beyond_limit && size_bytes >= large_block_bytes && !fits_maxmemory(size_bytes);
  if (!beyond_limit && !beyond_maxmemory) return true;
  if (is_replayed(context_)) return true;
  return refuse(beyond_limit ? refusal::object_limit : refusal::no_memory, size_bytes);
}

void memory_scope::refused_by_system(std::uint64_t size_bytes) noexcept { refuse(refusal::no_memory, size_bytes); }

}  // namespace bloomery::redis_module
