// kinds/bit_store.hpp: the words of a filter, owned or borrowed, stored little-endian.
//
// Owned words come from an aligned_buffer. Borrowed words are in somebody else's memory (a mapped file) and are never
// written: a filter over borrowed words is handed out const. A word in memory is little-endian on every machine; masks
// are converted, the words are not.
#pragma once

#include <atomic>
#include <bit>
#include <bloomery/core/buffer.hpp>
#include <bloomery/core/bytes.hpp>
#include <cstdint>
#include <cstring>
#include <span>

namespace bloomery::inline BLOOMERY_ABI {

class bit_store {
 public:
  bit_store() noexcept = default;

  static result<bit_store> make(std::uint64_t words, std::string_view what, const memory_hooks* hooks) noexcept {
    auto buffer = aligned_buffer::make(words * 8, what, hooks);
    if (!buffer) return fail(buffer.error());
    return adopt(std::move(*buffer));
  }
  static bit_store adopt(aligned_buffer buffer) noexcept {
    bit_store store;
    store.words_ = reinterpret_cast<std::uint64_t*>(buffer.data());
    store.count_ = buffer.size_bytes() / 8;
    store.buffer_ = std::move(buffer);
    return store;
  }
  // `bytes` must be 8-byte aligned and outlive the store.
  static bit_store view(std::span<const std::byte> bytes) noexcept {
    bit_store store;
    // Written through only by the owner; a view is handed out const (see above).
    store.words_ = reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(bytes.data()));
    store.count_ = bytes.size() / 8;
    return store;
  }
  // From `hooks`, or from where its own words came: those of a view came from nowhere.
  [[nodiscard]] result<bit_store> clone(std::string_view what, const memory_hooks* hooks = nullptr) const noexcept {
    auto buffer = aligned_buffer::make(count_ * 8, what, hooks != nullptr ? hooks : buffer_.hooks());
    if (!buffer) return fail(buffer.error());
    if (count_ != 0) std::memcpy(buffer->data(), words_, size_bytes());
    return adopt(std::move(*buffer));
  }

  bit_store(bit_store&& other) noexcept
      : words_(std::exchange(other.words_, nullptr)),
        count_(std::exchange(other.count_, 0)),
        buffer_(std::move(other.buffer_)) {}
  bit_store& operator=(bit_store&& other) noexcept {
    words_ = std::exchange(other.words_, nullptr);
    count_ = std::exchange(other.count_, 0);
    buffer_ = std::move(other.buffer_);
    return *this;
  }
  bit_store(const bit_store&) = delete;
  bit_store& operator=(const bit_store&) = delete;
  ~bit_store() = default;

  [[nodiscard]] std::uint64_t* data() noexcept { return words_; }
  [[nodiscard]] const std::uint64_t* data() const noexcept { return words_; }
  [[nodiscard]] std::uint64_t words() const noexcept { return count_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return to_size(count_ * 8); }
  [[nodiscard]] std::uint64_t word(std::uint64_t i) const noexcept { return little_endian(words_[i]); }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
    return {reinterpret_cast<const std::byte*>(words_), size_bytes()};
  }
  [[nodiscard]] const memory_hooks* hooks() const noexcept { return buffer_.hooks(); }

  // Sets the bits of `mask` in word i; true when one of them was clear.
  bool set(std::uint64_t i, std::uint64_t mask) noexcept {
    mask = little_endian(mask);
    const std::uint64_t before = words_[i];
    words_[i] = before | mask;
    return (before & mask) != mask;
  }
  bool set_atomic(std::uint64_t i, std::uint64_t mask) noexcept {
    mask = little_endian(mask);
    std::atomic_ref<std::uint64_t> word(words_[i]);
    // Most bits of a filter near its capacity are set already: a load keeps the line shared.
    if ((word.load(std::memory_order_relaxed) & mask) == mask) return false;
    return (word.fetch_or(mask, std::memory_order_relaxed) & mask) != mask;
  }
  [[nodiscard]] bool test(std::uint64_t i, std::uint64_t mask) const noexcept {
    mask = little_endian(mask);
    return (words_[i] & mask) == mask;
  }
  [[nodiscard]] bool test_atomic(std::uint64_t i, std::uint64_t mask) const noexcept {
    mask = little_endian(mask);
    // atomic_ref wants a non-const object even to load from it.
    const std::atomic_ref<std::uint64_t> word(const_cast<std::uint64_t&>(words_[i]));
    return (word.load(std::memory_order_relaxed) & mask) == mask;
  }

  [[nodiscard]] std::uint64_t count_set() const noexcept {
    std::uint64_t set_bits = 0;
    for (std::uint64_t i = 0; i < count_; ++i) set_bits += static_cast<std::uint64_t>(std::popcount(words_[i]));
    return set_bits;
  }
  void clear() noexcept {
    if (count_ != 0) std::memset(words_, 0, size_bytes());
  }
  void unite(const bit_store& other) noexcept {
    for (std::uint64_t i = 0; i < count_; ++i) words_[i] |= other.words_[i];
  }
  void intersect(const bit_store& other) noexcept {
    for (std::uint64_t i = 0; i < count_; ++i) words_[i] &= other.words_[i];
  }
  friend bool operator==(const bit_store& a, const bit_store& b) noexcept {
    return a.count_ == b.count_ && (a.count_ == 0 || std::memcmp(a.words_, b.words_, a.size_bytes()) == 0);
  }

 private:
  std::uint64_t* words_ = nullptr;
  std::uint64_t count_ = 0;
  aligned_buffer buffer_;
};

}  // namespace bloomery::inline BLOOMERY_ABI
