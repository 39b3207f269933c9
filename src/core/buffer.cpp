#include <bloomery/core/buffer.hpp>

namespace bloomery::inline BLOOMERY_ABI {
namespace detail {

#ifdef BLOOMERY_HAS_MMAP
// From this size on memory comes from the system page by page. Below it, clearing all of it takes less than the calls.
inline constexpr std::size_t mapped_bytes_least = std::size_t{128} << 10U;
#endif

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
#ifdef BLOOMERY_HAS_MMAP
  if (size_bytes >= mapped_bytes_least && alignment_bytes <= 4096) {
    // Zero as it is: whoever writes to a page waits for that page only.
    void* mapped = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mapped == MAP_FAILED ? nullptr : mapped;
  }
#endif
  const std::size_t rounded = (size_bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
  void* memory = std::aligned_alloc(alignment_bytes, rounded);
  if (memory != nullptr) std::memset(memory, 0, rounded);
  return memory;
}

BLOOMERY_BODY void default_release(void* /*context*/, void* memory, [[maybe_unused]] std::size_t size_bytes,
                                   [[maybe_unused]] std::size_t alignment_bytes) noexcept {
#ifdef BLOOMERY_HAS_MMAP
  if (size_bytes >= huge_page_bytes || (size_bytes >= mapped_bytes_least && alignment_bytes <= 4096)) {
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
