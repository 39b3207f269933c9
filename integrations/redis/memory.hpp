// memory.hpp: where filters have their memory from, and how much of it.
//
// Every block is the server's (Alloc and Free), so that used_memory, maxmemory and MEMORY USAGE see it. A request can be
// refused, where the server's Calloc ends the process: a large block comes from TryAlloc, and what the system refuses is
// refused. Its pages are made zero without writing them, and given back to the system when it is released: writing all of a
// sub-filter would make the insert that grows wait.
//
// While a `memory_scope` lives, requests are a command's, and two limits hold: bf-memory-limit for the object, and what
// maxmemory leaves. They hold for neither a replicated command nor one that is loaded: these were accepted before.
#pragma once

#include <atomic>
#include <bloomery/core/buffer.hpp>
#include <cstdint>

#include "integrations/redis/api.hpp"

namespace bloomery::redis_module {

enum class refusal : std::uint8_t {
  none,
  object_limit,  // bf-memory-limit
  no_memory,     // maxmemory, or the system
};

// What all filters have from the server together. Filters are freed by other threads, too.
struct memory_counters {
  std::atomic<std::uint64_t> bytes{0};     // as the allocator rounds them
  std::atomic<std::uint64_t> refused{0};   // requests for lack of memory
  std::atomic<std::uint64_t> at_limit{0};  // requests beyond the limit of an object
};
extern memory_counters memory_use;

const memory_hooks& server_memory() noexcept;
// Once, when the module is loaded.
void prepare_memory() noexcept;

// A block that the server allocated itself (LoadStringBuffer) is ours from now on.
void count_adopted(void* memory) noexcept;

class memory_scope {
 public:
  // `object_bytes`: what the object has already.
  memory_scope(server_context* context, std::uint64_t object_bytes) noexcept;
  ~memory_scope();
  memory_scope(const memory_scope&) = delete;
  memory_scope& operator=(const memory_scope&) = delete;

  // Why the last request was refused.
  [[nodiscard]] refusal why() const noexcept { return why_; }

  // Whether the block may be requested from the server.
  bool admit(std::uint64_t size_bytes) noexcept;
  void refused_by_system(std::uint64_t size_bytes) noexcept;
  void granted(std::uint64_t size_bytes) noexcept {
    object_bytes_ += size_bytes;
    granted_bytes_ += size_bytes;
  }
  // While it lives. Memory that was not written yet is not the system's loss yet.
  [[nodiscard]] std::uint64_t granted_bytes() const noexcept { return granted_bytes_; }

 private:
  bool refuse(refusal why, std::uint64_t size_bytes) noexcept;

  server_context* context_;
  memory_scope* outer_;
  std::uint64_t object_bytes_;
  std::uint64_t granted_bytes_ = 0;
  // A command that tries again does not search again: so many bytes were refused already.
  std::uint64_t refused_from_ = UINT64_MAX;
  refusal why_ = refusal::none;
};

// Whether a command comes from a master or from a file: then it is taken as it is.
bool is_replayed(server_context* context) noexcept;

}  // namespace bloomery::redis_module
