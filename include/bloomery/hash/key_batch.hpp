// hash/key_batch.hpp: many keys of one type, as a view: what the batch calls of a run-time filter take.
//
//     std::vector<std::string_view> urls = ...;
//     filter.may_contain(urls, mask);                                   // byte keys
//     std::vector<std::uint64_t> ids = ...;
//     filter.may_contain(ids, mask);                                    // integers, hashed as 8 little-endian bytes
//     filter.may_contain(as_prehashed(digests), mask);                  // digests that the caller has already
//     filter.may_contain(byte_columns{bytes, offsets}, mask);           // key i is bytes[offsets[i], offsets[i + 1])
//
// A batch refers to the keys and must not outlive them. It costs nothing to copy.
#pragma once

#include <bloomery/core/result.hpp>
#include <bloomery/core/size.hpp>
#include <bloomery/hash/key.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace bloomery::inline BLOOMERY_ABI {

// Keys as columnar formats hold them: all bytes in one piece, and the end of each key. There is one offset more than
// keys; they ascend, and none is beyond the bytes (checked before any key is read).
struct byte_columns {
  byte_columns(std::span<const std::byte> all, std::span<const std::uint64_t> ends) noexcept
      : bytes(all), wide(ends.data()), count(ends.size()) {}
  byte_columns(std::span<const std::byte> all, std::span<const std::uint32_t> ends) noexcept
      : bytes(all), narrow(ends.data()), count(ends.size()) {}
  [[nodiscard]] std::size_t keys() const noexcept { return count == 0 ? 0 : count - 1; }
  [[nodiscard]] std::uint64_t offset(std::size_t i) const noexcept { return wide != nullptr ? wide[i] : narrow[i]; }
  [[nodiscard]] std::string_view key(std::size_t i) const noexcept {
    return {reinterpret_cast<const char*>(bytes.data()) + offset(i), to_size(offset(i + 1) - offset(i))};
  }

  std::span<const std::byte> bytes;
  const std::uint64_t* wide = nullptr;
  const std::uint32_t* narrow = nullptr;
  std::size_t count;
};

// Digests of one width: 64, 128 or 256 bits. Filters take one width, which is their own affair.
class digest_span {
 public:
  digest_span(std::span<const std::uint64_t> digests) noexcept : digest_span(digests.data(), digests.size(), 64) {}
  digest_span(std::span<const digest128> digests) noexcept : digest_span(digests.data(), digests.size(), 128) {}
  digest_span(std::span<const digest256> digests) noexcept : digest_span(digests.data(), digests.size(), 256) {}
  digest_span(const void* digests, std::size_t size, unsigned bits) noexcept
      : data_(digests), size_(size), bits_(bits) {}

  [[nodiscard]] unsigned bits() const noexcept { return bits_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] digest_span subspan(std::size_t first, std::size_t count) const noexcept {
    return {static_cast<const std::byte*>(data_) + first * (bits_ / 8), count, bits_};
  }
  // Of the width that Digest has.
  template <class Digest>
  [[nodiscard]] std::span<const Digest> as() const noexcept {
    return {static_cast<const Digest*>(data_), size_};
  }

 private:
  const void* data_;
  std::size_t size_;
  unsigned bits_;
};

namespace detail {
template <class T>
inline constexpr bool is_batch_key = std::is_same_v<T, std::string_view> || std::is_same_v<T, std::uint64_t> ||
                                     std::is_same_v<T, prehashed> || std::is_same_v<T, prehashed128>;
template <class Range>
concept batch_range = key_range<Range> && is_batch_key<key_of_range<Range>>;
}  // namespace detail

class key_batch {
 public:
  enum class type : std::uint8_t { bytes, integers, columns, digests };

  key_batch(std::span<const std::string_view> keys) noexcept
      : type_(type::bytes), data_(keys.data()), size_(keys.size()) {}
  key_batch(std::span<const std::uint64_t> keys) noexcept
      : type_(type::integers), data_(keys.data()), size_(keys.size()) {}
  key_batch(std::span<const prehashed> keys) noexcept
      : type_(type::digests), data_(keys.data()), size_(keys.size()), digest_bits_(64) {}
  key_batch(std::span<const prehashed128> keys) noexcept
      : type_(type::digests), data_(keys.data()), size_(keys.size()), digest_bits_(128) {}
  key_batch(const byte_columns& keys) noexcept
      : type_(type::columns),
        data_(keys.wide != nullptr ? static_cast<const void*>(keys.wide) : keys.narrow),
        size_(keys.keys()),
        bytes_(keys.bytes),
        wide_(keys.wide != nullptr) {}
  key_batch(const digest_span& keys) noexcept
      : type_(type::digests), data_(keys.as<std::byte>().data()), size_(keys.size()), digest_bits_(keys.bits()) {}
  // Vectors, arrays and other contiguous ranges of these.
  template <class Range>
  requires(detail::batch_range<Range>) key_batch(const Range& keys)
  noexcept : key_batch(span_of_keys(keys)) {}

  [[nodiscard]] type keys() const noexcept { return type_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::span<const std::string_view> views() const noexcept {
    return {static_cast<const std::string_view*>(data_), size_};
  }
  [[nodiscard]] std::span<const std::uint64_t> integers() const noexcept {
    return {static_cast<const std::uint64_t*>(data_), size_};
  }
  [[nodiscard]] byte_columns columns() const noexcept {
    if (wide_) return {bytes_, std::span(static_cast<const std::uint64_t*>(data_), size_ + 1)};
    return {bytes_, std::span(static_cast<const std::uint32_t*>(data_), size_ + 1)};
  }
  [[nodiscard]] digest_span digests() const noexcept { return {data_, size_, digest_bits_}; }

  // Columns: that the offsets ascend within the bytes.
  [[nodiscard]] result<void> check() const noexcept {
    if (type_ != type::columns || size_ == 0) return {};
    const byte_columns all = columns();
    for (std::size_t i = 0; i < size_; ++i) {
      if (all.offset(i) > all.offset(i + 1)) return fail(errc::unsupported, "the offsets of keys must ascend");
    }
    if (all.offset(size_) > bytes_.size())
      return fail(errc::bad_span, "the memory of the keys", {bytes_.size(), all.offset(size_)});
    return {};
  }

 private:
  type type_;
  const void* data_;
  std::size_t size_;
  std::span<const std::byte> bytes_{};
  bool wide_ = false;
  unsigned digest_bits_ = 64;
};

// What is one key, not a batch of them.
template <class Key>
concept single_key = !std::is_convertible_v<const Key&, key_batch>;

// 64-bit and 128-bit digests that exist already, as keys.
inline key_batch as_prehashed(std::span<const std::uint64_t> digests) noexcept { return digest_span(digests); }
inline key_batch as_prehashed(std::span<const digest128> digests) noexcept { return digest_span(digests); }

}  // namespace bloomery::inline BLOOMERY_ABI
