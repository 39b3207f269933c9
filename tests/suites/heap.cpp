#include "suites/heap.hpp"

#include <malloc.h>

#include <cstdlib>
#include <new>

namespace bloomery::test {
namespace {

thread_local heap_watch* watching = nullptr;

void* request(std::size_t size) noexcept {
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr || watching == nullptr) return memory;
  if (watching->take(malloc_usable_size(memory))) return memory;
  std::free(memory);
  return nullptr;
}
void give_back(void* memory) noexcept {
  if (memory != nullptr && watching != nullptr) watching->give(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

void heap_watch::arm(heap_watch* by) noexcept { watching = by; }
void heap_watch::disarm() noexcept { watching = nullptr; }
bool heap_watch::is_armed() noexcept { return watching != nullptr; }

}  // namespace bloomery::test

void* operator new(std::size_t size) {
  void* memory = bloomery::test::request(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept { return bloomery::test::request(size); }
void operator delete(void* memory) noexcept { bloomery::test::give_back(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { bloomery::test::give_back(memory); }
