// core/buffer.hpp: zeroed memory, aligned to cache lines, that reports refusal instead of throwing.
//
// Large buffers ask the kernel for huge pages (madvise), which a random probe feels from a few MiB on. Every byte that
// the core holds comes from here, so one hook (`memory_hooks`) sees, limits or fails every allocation:
//
//     bloomery::memory_hooks hooks{.allocate = my_allocate, .release = my_release, .context = &my_arena};
//     auto filter = bloomery::bloom::make({.keys = 1000, .fpr = 0.01, .memory = &hooks});
//
// The hooks must outlive what was allocated through them. `allocate` returns zeroed memory or nullptr.
#pragma once

#include <bloomery/core/result.hpp>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <utility>

#if defined(__linux__) || defined(__APPLE__) || defined(__unix__)
#include <sys/mman.h>
#define BLOOMERY_HAS_MMAP 1
#endif

namespace bloomery::inline BLOOMERY_ABI {

inline constexpr std::size_t cache_line_bytes = 64;
inline constexpr std::size_t huge_page_bytes = std::size_t{2} << 20U;

struct memory_hooks {
  void* (*allocate)(void* context, std::size_t size_bytes, std::size_t alignment_bytes) = nullptr;
  void (*release)(void* context, void* memory, std::size_t size_bytes, std::size_t alignment_bytes) = nullptr;
  void* context = nullptr;
};

namespace detail {

inline void* default_allocate(void* /*context*/, std::size_t size_bytes, std::size_t alignment_bytes) noexcept {
#ifdef BLOOMERY_HAS_MMAP
  if (size_bytes >= huge_page_bytes) {
    // Room for one more huge page, so that the start can lie on a huge-page boundary; the rest is given back.
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

inline void default_release(void* /*context*/, void* memory, std::size_t size_bytes,
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

inline const memory_hooks& default_memory() noexcept {
  static constexpr memory_hooks hooks{.allocate = detail::default_allocate, .release = detail::default_release};
  return hooks;
}

class aligned_buffer {
 public:
  aligned_buffer() noexcept = default;

  // `what` names the owner in the error text. Zero bytes is an empty buffer and allocates nothing.
  static result<aligned_buffer> make(std::size_t size_bytes, std::string_view what,
                                     const memory_hooks* hooks = nullptr) noexcept {
    aligned_buffer buffer;
    if (hooks != nullptr) buffer.hooks_ = hooks;
    if (size_bytes == 0) return buffer;
    void* memory = size_bytes > max_bytes
                       ? nullptr
                       : buffer.hooks_->allocate(buffer.hooks_->context, size_bytes, cache_line_bytes);
    if (memory == nullptr) return fail(errc::out_of_memory, what, {size_bytes});
    buffer.data_ = static_cast<std::byte*>(memory);
    buffer.size_ = size_bytes;
    return buffer;
  }

  [[nodiscard]] result<aligned_buffer> clone(std::string_view what) const noexcept {
    auto copy = make(size_, what, hooks_);
    if (copy && size_ != 0) std::memcpy(copy->data_, data_, size_);
    return copy;
  }

  aligned_buffer(aligned_buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)), hooks_(other.hooks_) {}
  aligned_buffer& operator=(aligned_buffer&& other) noexcept {
    if (this != &other) {
      reset();
      data_ = std::exchange(other.data_, nullptr);
      size_ = std::exchange(other.size_, 0);
      hooks_ = other.hooks_;
    }
    return *this;
  }
  aligned_buffer(const aligned_buffer&) = delete;
  aligned_buffer& operator=(const aligned_buffer&) = delete;
  ~aligned_buffer() { reset(); }

  [[nodiscard]] std::byte* data() noexcept { return data_; }
  [[nodiscard]] const std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return size_; }
  [[nodiscard]] std::span<std::byte> bytes() noexcept { return {data_, size_}; }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }
  [[nodiscard]] const memory_hooks* hooks() const noexcept { return hooks_; }

  static constexpr std::size_t max_bytes = std::size_t{1} << 62U;

 private:
  void reset() noexcept {
    if (data_ != nullptr) hooks_->release(hooks_->context, data_, size_, cache_line_bytes);
    data_ = nullptr;
    size_ = 0;
  }

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  const memory_hooks* hooks_ = &default_memory();
};

}  // namespace bloomery::inline BLOOMERY_ABI
