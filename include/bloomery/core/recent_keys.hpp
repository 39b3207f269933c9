// core/recent_keys.hpp: the keys that were added last, exactly, in bounded memory. The oldest are dropped for new ones.
//
//     recent_keys keys(std::uint64_t{8} << 20U, hooks);      // takes its memory with the first key
//     if (auto added = keys.add({digest, bytes}); !added) return added;
//     bool there = keys.contains({digest, bytes});
//     keys.erase(digest);                                    // every key that has this digest
//
// A key is its bytes; its digest is how it is found, and may be equal to that of another key. A key that has no bytes
// but its digest (hash/key.hpp: prehashed) is another than one that has.
//
// Memory        a quarter is a table of 8-byte slots, of which at most three quarters are in use; the rest is a ring of
//               records: digest, length, bytes, to the next multiple of 8. With 8 MiB that is 196,608 keys of up to 20
//               bytes, 100,000 of up to 44, and so on. Erased keys keep their place in the ring until they are the
//               oldest.
// Table         a slot is 32 bits of the mixed digest, which determine where its search begins, and 32 bits of the
//               record's place. The next free slot takes what finds its own taken; erasing moves those after it up.
// Threads       any number of readers, or one writer.
#pragma once

#include <algorithm>
#include <bloomery/core/buffer.hpp>
#include <bloomery/core/bytes.hpp>
#include <bloomery/core/wide.hpp>

namespace bloomery::inline BLOOMERY_ABI {

class BLOOMERY_API recent_keys {
 public:
  struct key {
    std::uint64_t digest = 0;
    std::span<const std::byte> bytes{};
    bool is_digest = false;  // it has no bytes
  };
  static constexpr std::size_t max_key_bytes = 4096;
  static constexpr std::uint64_t min_limit_bytes = std::uint64_t{16} << 10U;  // the longest key fits, and some more
  static constexpr std::uint64_t max_limit_bytes = std::uint64_t{32} << 30U;  // places are 32 bits, in units of 8 bytes

  // From min_limit_bytes; memory above max_limit_bytes is not used.
  explicit recent_keys(std::uint64_t limit_bytes, const memory_hooks* memory = nullptr) noexcept
      : limit_bytes_(std::min(limit_bytes, max_limit_bytes)), memory_(memory) {}
  recent_keys(recent_keys&& other) noexcept
      : limit_bytes_(other.limit_bytes_),
        memory_(other.memory_),
        buffer_(std::move(other.buffer_)),
        at_(std::exchange(other.at_, {})) {}
  recent_keys& operator=(recent_keys&& other) noexcept {
    limit_bytes_ = other.limit_bytes_;
    memory_ = other.memory_;
    buffer_ = std::move(other.buffer_);
    at_ = std::exchange(other.at_, {});
    return *this;
  }
  recent_keys(const recent_keys&) = delete;
  recent_keys& operator=(const recent_keys&) = delete;
  ~recent_keys() = default;

  // True when it was not there. An error, with nothing changed: a key of more than max_key_bytes, or memory that is
  // refused.
  result<bool> add(const key& added) noexcept;
  [[nodiscard]] bool contains(const key& asked) const noexcept {
    return size() != 0 && find(asked.digest, [&](std::uint64_t place) { return is(place, asked); }) != none;
  }
  // Every key with this digest; how many there were.
  std::uint64_t erase(std::uint64_t digest) noexcept {
    std::uint64_t erased = 0;
    while (size() != 0) {
      const std::uint64_t slot = find(digest, [](std::uint64_t) { return true; });
      if (slot == none) break;
      take_out(slot);
      ++erased;
    }
    return erased;
  }
  void clear() noexcept {
    if (buffer_.size_bytes() != 0) std::memset(buffer_.data(), 0, to_size(slots() * slot_bytes));
    at_ = {.dropped = at_.dropped};
  }

  [[nodiscard]] std::uint64_t size() const noexcept { return at_.keys; }
  // How many were dropped to free space.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return at_.dropped; }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return buffer_.size_bytes(); }
  [[nodiscard]] std::uint64_t limit_bytes() const noexcept { return limit_bytes_; }

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  static constexpr std::uint64_t slot_bytes = 8;
  static constexpr std::uint64_t head_bytes = 12;  // digest, length and flags
  static constexpr std::uint32_t erased_flag = std::uint32_t{1} << 31U;
  static constexpr std::uint32_t digest_flag = std::uint32_t{1} << 30U;
  static constexpr std::uint32_t length_mask = digest_flag - 1;

  // The ring holds [oldest, next), or where it has wrapped [oldest, end) and [0, next).
  struct state {
    std::uint64_t keys = 0;
    std::uint64_t records = 0;  // with those that are erased
    std::uint64_t oldest = 0;
    std::uint64_t next = 0;
    std::uint64_t end = 0;
    bool wrapped = false;
    std::uint64_t dropped = 0;
  };

  static std::uint64_t record_bytes(std::uint64_t length) noexcept { return (head_bytes + length + 7) / 8 * 8; }
  [[nodiscard]] std::uint64_t slots() const noexcept { return limit_bytes_ / 4 / slot_bytes; }
  [[nodiscard]] std::uint64_t most_keys() const noexcept { return slots() / 4 * 3; }
  [[nodiscard]] std::uint64_t ring_bytes() const noexcept { return (limit_bytes_ - slots() * slot_bytes) / 8 * 8; }
  [[nodiscard]] const std::byte* record(std::uint64_t place) const noexcept {
    return buffer_.data() + slots() * slot_bytes + place;
  }
  [[nodiscard]] std::byte* record(std::uint64_t place) noexcept {
    return buffer_.data() + slots() * slot_bytes + place;
  }
  [[nodiscard]] std::uint64_t digest_at(std::uint64_t place) const noexcept {
    return load_le<std::uint64_t>(record(place));
  }
  [[nodiscard]] std::uint32_t length_at(std::uint64_t place) const noexcept {
    return load_le<std::uint32_t>(record(place) + 8);
  }
  [[nodiscard]] std::uint64_t slot(std::uint64_t index) const noexcept {
    return load_le<std::uint64_t>(buffer_.data() + index * slot_bytes);
  }
  void set_slot(std::uint64_t index, std::uint64_t value) noexcept {
    store_le(buffer_.data() + index * slot_bytes, value);
  }
  // The slot where the search for this tag (the upper half of a slot) begins.
  [[nodiscard]] std::uint64_t home(std::uint64_t tag) const noexcept { return tag * slots() >> 32U; }
  [[nodiscard]] std::uint64_t after(std::uint64_t index) const noexcept { return index + 1 == slots() ? 0 : index + 1; }
  static std::uint64_t tag_of(std::uint64_t digest) noexcept { return mix64(digest) >> 32U; }
  static std::uint64_t place_in(std::uint64_t slot) noexcept { return ((slot & 0xffffffffU) - 1) * 8; }

  [[nodiscard]] bool is(std::uint64_t place, const key& asked) const noexcept {
    const std::uint32_t length = length_at(place);
    return ((length & digest_flag) != 0) == asked.is_digest && (length & length_mask) == asked.bytes.size() &&
           (asked.bytes.empty() ||
            std::memcmp(record(place) + head_bytes, asked.bytes.data(), asked.bytes.size()) == 0);
  }
  // The slot of a record with this digest that f accepts.
  template <class F>
  [[nodiscard]] std::uint64_t find(std::uint64_t digest, F&& f) const noexcept {
    const std::uint64_t tag = tag_of(digest);
    for (std::uint64_t i = home(tag); slot(i) != 0; i = after(i)) {
      if (slot(i) >> 32U != tag) continue;
      const std::uint64_t place = place_in(slot(i));
      if (digest_at(place) == digest && f(place)) return i;
    }
    return none;
  }
  void take_out(std::uint64_t slot_index) noexcept;
  void drop_oldest() noexcept;
  [[nodiscard]] std::uint64_t room_for(std::uint64_t bytes) noexcept;

  std::uint64_t limit_bytes_;
  const memory_hooks* memory_;
  aligned_buffer buffer_{};
  state at_{};
};

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/core/recent_keys.cpp>
#endif
