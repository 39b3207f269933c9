// core/buffer.hpp: zeroed memory, aligned to cache lines, that reports refusal instead of throwing.
//
// Large buffers request huge pages from the kernel (madvise), which a random probe feels from a few MiB on. Every byte
// that the core holds comes from here, so one hook (`memory_hooks`) sees, limits or fails every allocation:
//
//     bloomery::memory_hooks hooks{.allocate = my_allocate, .release = my_release, .context = &my_arena};
//     auto filter = bloomery::bloom::make({.keys = 1000, .fpr = 0.01, .memory = &hooks});
//
// The hooks must outlive what was allocated through them. `allocate` returns zeroed memory or nullptr.
#pragma once

#include <bloomery/core/result.hpp>
#include <bloomery/core/size.hpp>
#include <cstddef>
#include <cstdint>
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

BLOOMERY_API const memory_hooks& default_memory() noexcept;

class aligned_buffer {
 public:
  aligned_buffer() noexcept = default;

  // `what` names the owner in the error text. Zero bytes is an empty buffer and allocates nothing. The size has 64 bits on
  // every target: what does not fit into memory is refused, never cut.
  static result<aligned_buffer> make(std::uint64_t size_bytes, std::string_view what,
                                     const memory_hooks* hooks = nullptr) noexcept {
    aligned_buffer buffer;
    if (hooks != nullptr) buffer.hooks_ = hooks;
    if (size_bytes == 0) return buffer;
    void* memory = size_bytes > max_bytes
                       ? nullptr
                       : buffer.hooks_->allocate(buffer.hooks_->context, to_size(size_bytes), cache_line_bytes);
    if (memory == nullptr) return fail(errc::out_of_memory, what, {size_bytes});
    buffer.data_ = static_cast<std::byte*>(memory);
    buffer.size_ = to_size(size_bytes);
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

  static constexpr std::uint64_t max_bytes = max_memory_bytes;

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

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/core/buffer.cpp>
#endif
