// compat/redis/host.hpp: what RedisBloom's engines (bloom_chain.hpp, cuckoo_chain.hpp) and the server around them
// exchange: memory, answers of inserts, and pieces of a dump.
//
// Memory        every byte of an engine is a block from memory_hooks (core/buffer.hpp), the object itself too: a block is
//               requested with an alignment of 8 and released with the size that it was requested with. `block` owns
//               one; it can adopt memory that the host allocated itself by the same allocator, so that a loaded
//               sub-filter is not copied. `owned` is the one pointer to an engine; a host that keeps a plain pointer
//               takes it with release(), and gives it back with owned(pointer).
// Moving        `block_mover` is a host's defragmenter: it moves a block, or leaves it.
#pragma once

#include <bloomery/core/buffer.hpp>
#include <bloomery/sizing/sizing.hpp>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace bloomery::inline BLOOMERY_ABI::redis {

inline constexpr std::size_t block_alignment_bytes = 8;

class block {
 public:
  block() noexcept = default;
  // Zeroed. Zero bytes are an empty block.
  static result<block> make(std::uint64_t size_bytes, const memory_hooks* hooks) noexcept {
    block made = adopt(nullptr, 0, hooks);
    if (size_bytes == 0) return made;
    void* memory = size_bytes > aligned_buffer::max_bytes
                       ? nullptr
                       : made.hooks_->allocate(made.hooks_->context, to_size(size_bytes), block_alignment_bytes);
    if (memory == nullptr) return fail(errc::out_of_memory, "the filter", {size_bytes});
    made.data_ = static_cast<std::byte*>(memory);
    made.size_ = to_size(size_bytes);
    return made;
  }
  // Memory that these hooks can release, with this size.
  static block adopt(void* memory, std::size_t size_bytes, const memory_hooks* hooks) noexcept {
    block made;
    made.hooks_ = hooks != nullptr ? hooks : &default_memory();
    made.data_ = static_cast<std::byte*>(memory);
    made.size_ = size_bytes;
    return made;
  }
  block(block&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)), hooks_(other.hooks_) {}
  block& operator=(block&& other) noexcept {
    if (this != &other) {
      reset();
      data_ = std::exchange(other.data_, nullptr);
      size_ = std::exchange(other.size_, 0);
      hooks_ = other.hooks_;
    }
    return *this;
  }
  block(const block&) = delete;
  block& operator=(const block&) = delete;
  ~block() { reset(); }

  [[nodiscard]] std::byte* data() noexcept { return data_; }
  [[nodiscard]] const std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return size_; }
  [[nodiscard]] std::span<std::byte> bytes() noexcept { return {data_, size_}; }
  [[nodiscard]] const memory_hooks* hooks() const noexcept { return hooks_; }
  // The caller's from now on.
  [[nodiscard]] std::byte* release() noexcept {
    size_ = 0;
    return std::exchange(data_, nullptr);
  }

 private:
  void reset() noexcept {
    if (data_ != nullptr) hooks_->release(hooks_->context, data_, size_, block_alignment_bytes);
    data_ = nullptr;
    size_ = 0;
  }

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  const memory_hooks* hooks_ = &default_memory();
};

// An engine and all of its blocks.
template <class T>
class owned {
 public:
  owned() noexcept = default;
  explicit owned(T* object) noexcept : object_(object) {}
  owned(owned&& other) noexcept : object_(other.release()) {}
  owned& operator=(owned&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  owned(const owned&) = delete;
  owned& operator=(const owned&) = delete;
  ~owned() { reset(nullptr); }

  [[nodiscard]] T* get() const noexcept { return object_; }
  T* operator->() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  [[nodiscard]] T* release() noexcept { return std::exchange(object_, nullptr); }

 private:
  void reset(T* next) noexcept {
    if (object_ != nullptr) T::destroy(object_);
    object_ = next;
  }
  T* object_ = nullptr;
};

struct block_mover {
  // The same bytes in another place, the old block released; nullptr: the block stays where it is.
  void* (*move)(void* context, void* memory, std::size_t size_bytes) = nullptr;
  void* context = nullptr;

  // The block of type T that `memory` points to, wherever it is then.
  template <class T>
  [[nodiscard]] T* moved(T* memory, std::uint64_t size_bytes) const noexcept {
    if (memory == nullptr || size_bytes == 0) return memory;
    void* const now = move(context, memory, to_size(size_bytes));
    return now == nullptr ? memory : static_cast<T*>(now);
  }
};

// What became of one item. The last three: it is not in the filter, which is as it was.
enum class insert_outcome : std::uint8_t {
  inserted,   // new
  present,    // it was there, or collides with what was
  full,       // no space, and the filter does not grow
  limit,      // no space, and growing further is beyond a limit
  no_memory,  // no space, and the memory for growing was refused
};

// A batch stops at the first item that is not taken. Its answers are one bit an item, 1 for a new one; the item in
// place `taken` has the outcome `stop`. The host may go on with the item behind it.
struct batch_inserted {
  std::size_t taken = 0;
  std::uint64_t inserted = 0;                      // those of them that were new
  insert_outcome stop = insert_outcome::inserted;  // of all taken
};

// A piece of SCANDUMP: its bytes, and the iterator that is returned with them. 0: there are no more.
struct dump_chunk {
  std::int64_t iterator = 0;
  std::span<const std::byte> bytes{};
};
inline constexpr std::uint64_t max_chunk_bytes = std::uint64_t{16} << 20U;

// What became of a piece of LOADCHUNK. The filter is as it was but after `loaded`.
enum class chunk_outcome : std::uint8_t {
  loaded,
  bad_iterator,   // less than 1, or than the bytes of the chunk
  no_sub_filter,  // it begins behind the last sub-filter
  too_large,      // it ends behind the sub-filter that it begins in
};

struct engine_limits {
  // An engine that has so many does not grow; 0: what the product itself can do. One that is loaded may have more.
  std::uint32_t max_sub_filters = 0;
  // Of all sub-filters together, when an engine is made from a header or from records. A header of 73 bytes may state
  // any size: a host that takes it from strangers sets a limit.
  std::uint64_t max_load_bytes = max_filter_bits / 8;
};

namespace detail {

// A chunk or an iterator to a place in sub-filters that stand one behind the other. Size(i) is the size of sub-filter i.
struct chunk_place {
  std::size_t sub_filter = 0;
  std::uint64_t offset = 0;  // in it
  bool found = false;
};
template <class Size>
chunk_place find_chunk(std::size_t sub_filters, std::uint64_t offset, Size&& size) noexcept {
  for (std::size_t i = 0; i < sub_filters; ++i) {
    if (offset < size(i)) return {i, offset, true};
    offset -= size(i);
  }
  return {};
}
// Where the bytes of a LOADCHUNK go to.
struct chunk_target {
  chunk_outcome outcome = chunk_outcome::loaded;
  chunk_place place{};
};
template <class Size>
chunk_target find_target(std::int64_t iterator, std::uint64_t length, std::size_t sub_filters, Size&& size) noexcept {
  if (iterator <= 0 || static_cast<std::uint64_t>(iterator) < length) return {chunk_outcome::bad_iterator};
  const std::uint64_t end = static_cast<std::uint64_t>(iterator) - 1;
  if (end < length) return {chunk_outcome::no_sub_filter};
  const chunk_place place = find_chunk(sub_filters, end - length, size);
  if (!place.found) return {chunk_outcome::no_sub_filter};
  if (length > size(place.sub_filter) - place.offset) return {chunk_outcome::too_large};
  return {chunk_outcome::loaded, place};
}

}  // namespace detail

}  // namespace bloomery::inline BLOOMERY_ABI::redis
