// core/aligned_list.hpp: a row of objects that grows, in memory from aligned_buffer: refused memory is an error, and
// the objects are then as they were.
//
//     aligned_list<sub_filter> sub_filters;
//     if (auto space = sub_filters.reserve(sub_filters.size() + 1, "the filter", hooks); !space) return space;
//     sub_filters.push(std::move(next));
#pragma once

#include <algorithm>
#include <bloomery/core/buffer.hpp>
#include <memory>
#include <type_traits>

namespace bloomery::inline BLOOMERY_ABI {

template <class T>
class aligned_list {
  static_assert(std::is_nothrow_move_constructible_v<T> && alignof(T) <= cache_line_bytes);

 public:
  aligned_list() noexcept = default;
  aligned_list(aligned_list&& other) noexcept
      : buffer_(std::move(other.buffer_)), size_(std::exchange(other.size_, 0)) {}
  aligned_list& operator=(aligned_list&& other) noexcept {
    if (this != &other) {
      shrink(0);
      buffer_ = std::move(other.buffer_);
      size_ = std::exchange(other.size_, 0);
    }
    return *this;
  }
  aligned_list(const aligned_list&) = delete;
  aligned_list& operator=(const aligned_list&) = delete;
  ~aligned_list() { shrink(0); }

  // Space for this many objects in all, and for as many again as there were, so that n of them cost O(n).
  result<void> reserve(std::uint64_t count, std::string_view what, const memory_hooks* hooks) noexcept {
    const std::uint64_t room = buffer_.size_bytes() / sizeof(T);
    if (count <= room) return {};
    if (count > max_memory_bytes / sizeof(T)) return fail(errc::out_of_memory, what, {max_memory_bytes});
    auto larger = aligned_buffer::make(std::max(count, 2 * room) * sizeof(T), what, hooks);
    if (!larger) return fail(larger.error());
    auto* to = reinterpret_cast<T*>(larger->data());
    for (std::size_t i = 0; i < size_; ++i) {
      std::construct_at(to + i, std::move(data()[i]));
      std::destroy_at(data() + i);
    }
    buffer_ = std::move(*larger);
    return {};
  }
  // There must be space.
  void push(T&& value) noexcept { std::construct_at(data() + size_++, std::move(value)); }
  void push(const T& value) noexcept { std::construct_at(data() + size_++, value); }
  // Keeps the first `count` objects.
  void shrink(std::size_t count) noexcept {
    if (size_ <= count) return;
    std::destroy(data() + count, data() + size_);
    size_ = count;
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] T* data() noexcept { return reinterpret_cast<T*>(buffer_.data()); }
  [[nodiscard]] const T* data() const noexcept { return reinterpret_cast<const T*>(buffer_.data()); }
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return data()[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return data()[i]; }
  [[nodiscard]] T& back() noexcept { return data()[size_ - 1]; }
  [[nodiscard]] const T& back() const noexcept { return data()[size_ - 1]; }
  [[nodiscard]] T* begin() noexcept { return data(); }
  [[nodiscard]] T* end() noexcept { return data() + size_; }
  [[nodiscard]] const T* begin() const noexcept { return data(); }
  [[nodiscard]] const T* end() const noexcept { return data() + size_; }

 private:
  aligned_buffer buffer_;
  std::size_t size_ = 0;
};

}  // namespace bloomery::inline BLOOMERY_ABI
