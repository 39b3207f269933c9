#include <bloomery/core/buffer.hpp>

namespace bloomery::inline BLOOMERY_ABI {
namespace detail {

BLOOMERY_BODY void* default_allocate(void* /*context*/, std::size_t size_bytes, std::size_t alignment_bytes) noexcept {
#ifdef BLOOMERY_HAS_MMAP
  if (size_bytes >= huge_page_bytes) {
    // Space for one more huge page, so that the start can be on a huge-page boundary; the rest is returned.
    const std::size_t mapped_bytes = size_bytes + huge_page_bytes;
    if (mapped_bytes < size_bytes) return nullptr;
    void* mapped = ::mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    auto* first = static_cast<std::byte*>(mapped);
    const std::size_t past = reinterpret_cast<std::uintptr_t>(first) % huge_page_bytes;
    const std::size_t head = past == 0 ? 0 : huge_page_bytes - past;
    const std::size_t used = (size_bytes + 4095U) / 4096U * 4096U;
    if (head != 0) ::munmap(first, head);
    if (head + used < mapped_bytes) ::munmap(first + head + used, mapped_bytes - head - used);
#ifdef MADV_HUGEPAGE
    ::madvise(first + head, used, MADV_HUGEPAGE);
#endif
    return first + head;
  }
#endif
  const std::size_t rounded = (size_bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
  void* memory = std::aligned_alloc(alignment_bytes, rounded);
  if (memory != nullptr) std::memset(memory, 0, rounded);
  return memory;
}

BLOOMERY_BODY void default_release(void* /*context*/, void* memory, [[maybe_unused]] std::size_t size_bytes,
                                   std::size_t /*alignment_bytes*/) noexcept {
#ifdef BLOOMERY_HAS_MMAP
  if (size_bytes >= huge_page_bytes) {
    ::munmap(memory, (size_bytes + 4095U) / 4096U * 4096U);
    return;
  }
#endif
  std::free(memory);
}

}  // namespace detail
}  // namespace bloomery::inline BLOOMERY_ABI

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY const memory_hooks& default_memory() noexcept {
  static constexpr memory_hooks hooks{.allocate = detail::default_allocate, .release = detail::default_release};
  return hooks;
}

}  // namespace bloomery::inline BLOOMERY_ABI
