// hash/key.hpp: keys of any type, and the exact bytes that are hashed for them.
//
//     std::uint64_t a = digest_of(hash, "text");                          // the bytes, without a NUL
//     std::uint64_t b = digest_of(hash, 42);                              // 8 little-endian bytes
//     std::uint64_t c = digest_of(hash, std::tuple(user_id, "index.html"));
//     std::uint64_t d = digest_of(hash, prehashed{some_digest});          // not hashed at all
//
// | key                                               | bytes that are hashed                                 |
// |---------------------------------------------------|-------------------------------------------------------|
// | std::string(_view), const char*, char array       | its bytes; a char array up to its first NUL           |
// | contiguous range of char, unsigned char, std::byte| its bytes, all of them                                |
// | integer, enum, bool                               | 8 bytes, little-endian, sign-extended to 64 bits      |
// | tuple, pair, std::array of other things           | its fields, encoded as below                          |
// | type with a `bloomery_funnel`                     | its parts, encoded as below                           |
// | prehashed, prehashed128                           | none: the value is the digest                         |
//
// So int{5}, std::uint8_t{5} and 5L are one key, and -1 is another than 0xffffffffU; a char counts as unsigned.
// Floating-point numbers are refused: -0.0 equals 0.0, NaN equals nothing, and 0.1f is not 0.1, so equal keys would
// have unequal bytes. Round to an integer, or std::bit_cast to one if bit equality is what you mean.
//
// The encoding of fields. Each field is its length as LEB128 (shortest encoding), then its bytes as in the table; a
// nested tuple is one field, whose bytes are its own encoding; a prehashed value is a field of its 8 or 16
// little-endian bytes. Hence ("ab", "c") = 02 61 62 01 63 and ("a", "bc") = 01 61 02 62 63.
// Two rules bound the memory to 1024 bytes a level, without allocation. D(x) is the digest of the bytes x by the hash
// in use: 16 bytes (low word, high word) if the hash has 128 bits, else 8; little-endian.
//   long field   a field of more than 512 bytes is encoded as 81 00, its length as LEB128, D(field)
//   fold         when the next encoded field does not fit after what is there, all that is there is replaced by
//                80 00 D(what is there), and the field goes after that
// 80 00 and 81 00 are no shortest LEB128, so they begin no ordinary field: two different lists of fields give the same
// bytes only where D itself collides.
//
// Your own types: write, in the namespace of the type,
//
//     template <class Sink>
//     void bloomery_funnel(Sink& sink, const point& p) {
//       sink.put(p.x);
//       sink.put(p.y);
//     }
#pragma once

#include <array>
#include <bloomery/core/bytes.hpp>
#include <bloomery/hash/digest.hpp>
#include <concepts>
#include <cstring>
#include <iterator>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace bloomery::inline BLOOMERY_ABI {

// A digest that the caller has already: from another filter, a content address, a stored column of hashes. It must be
// well mixed in all bits.
struct prehashed {
  std::uint64_t digest = 0;
};
struct prehashed128 {
  digest128 digest;
};

namespace detail {

struct sink_archetype {
  template <class Part>
  void put(const Part& part) noexcept;
};

template <class T>
concept text_key = std::is_convertible_v<const T&, std::string_view>;
template <class T>
concept byte_range_key = !text_key<T> && (std::is_convertible_v<const T&, std::span<const std::byte>> ||
                                          std::is_convertible_v<const T&, std::span<const unsigned char>> ||
                                          std::is_convertible_v<const T&, std::span<const char>>);
template <class T>
concept funnel_key = requires(sink_archetype& sink, const T& value) {
  bloomery_funnel(sink, value);
};
template <class T>
concept tuple_key = !byte_range_key<T> && !text_key<T> && requires {
  std::tuple_size<T>::value;
};
template <class T>
concept integer_key = std::is_integral_v<T> || std::is_enum_v<T>;

inline std::span<const std::byte> as_key_bytes(const void* data, std::size_t size) noexcept {
  return {static_cast<const std::byte*>(data), size};
}
template <text_key T>
std::span<const std::byte> key_bytes(const T& key) noexcept {
  const std::string_view view = key;
  return as_key_bytes(view.data(), view.size());
}
template <byte_range_key T>
std::span<const std::byte> key_bytes(const T& key) noexcept {
  if constexpr (std::is_convertible_v<const T&, std::span<const std::byte>>) {
    return key;
  } else if constexpr (std::is_convertible_v<const T&, std::span<const unsigned char>>) {
    return std::as_bytes(std::span<const unsigned char>(key));
  } else {
    return std::as_bytes(std::span<const char>(key));
  }
}

template <integer_key T>
constexpr std::uint64_t integer_of(T key) noexcept {
  if constexpr (std::is_enum_v<T>) {
    return integer_of(static_cast<std::underlying_type_t<T>>(key));
  } else if constexpr (std::is_same_v<T, char>) {
    return static_cast<unsigned char>(key);  // whether char is signed depends on the machine
  } else {
    static_assert(sizeof(T) <= 8, "integer keys have at most 64 bits: put wider ones as a tuple of words");
    return static_cast<std::uint64_t>(key);
  }
}
template <integer_key T>
std::array<std::byte, 8> integer_bytes(T key) noexcept {
  std::array<std::byte, 8> bytes;
  store_le(bytes.data(), integer_of(key));
  return bytes;
}

template <class T>
inline constexpr bool dependent_false = false;

template <class T>
constexpr void refuse_key() noexcept {
  static_assert(!std::is_floating_point_v<T>,
                "floating-point keys are refused: -0.0 and 0.0, NaN and rounding make equal keys differ in their "
                "bytes; round to an integer, or std::bit_cast to one if bit equality is what you mean");
  static_assert(std::is_floating_point_v<T> || dependent_false<T>,
                "no rule for keys of this type: give bytes, an integer, a tuple, or write a bloomery_funnel for it");
}

}  // namespace detail

// Collects the parts of one key and returns its digest. `clear` makes it ready for the next key.
template <class H>
class tuple_sink {
 public:
  static constexpr std::size_t buffer_bytes = 1024;
  static constexpr std::size_t long_field_bytes = 512;

  explicit tuple_sink(const H& hash) noexcept : hash_(hash) {}

  template <class Part>
  void put(const Part& part) noexcept {
    if constexpr (std::is_same_v<Part, prehashed>) {
      put_field(detail::integer_bytes(part.digest));
    } else if constexpr (std::is_same_v<Part, prehashed128>) {
      put_field(digest_as_bytes(part.digest));
    } else if constexpr (detail::funnel_key<Part>) {
      tuple_sink nested(hash_);
      bloomery_funnel(nested, part);
      put_nested(nested);
    } else if constexpr (detail::text_key<Part> || detail::byte_range_key<Part>) {
      put_field(detail::key_bytes(part));
    } else if constexpr (detail::integer_key<Part>) {
      put_field(detail::integer_bytes(part));
    } else if constexpr (detail::tuple_key<Part>) {
      tuple_sink nested(hash_);
      nested.put_all(part);
      put_nested(nested);
    } else {
      detail::refuse_key<Part>();
    }
  }

  // The fields of a tuple one after the other, without the length of the whole.
  template <detail::tuple_key Tuple>
  void put_all(const Tuple& tuple) noexcept {
    std::apply([&](const auto&... parts) { (put(parts), ...); }, tuple);
  }

  // The encoding so far; what digest() hashes.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {buffer_.data(), used_}; }
  [[nodiscard]] std::uint64_t digest() const noexcept { return digest_bytes(hash_, buffer_.data(), used_); }
  [[nodiscard]] digest128 digest128_of() const noexcept { return digest128_bytes(hash_, buffer_.data(), used_); }
  // Whether no digest stands for a part of them: then keys of equal bytes are equal.
  [[nodiscard]] bool is_whole() const noexcept { return whole_; }
  void clear() noexcept {
    used_ = 0;
    whole_ = true;
  }

 private:
  static constexpr std::size_t leb128_max_bytes = 10;

  static std::array<std::byte, 16> digest_as_bytes(const digest128& digest) noexcept {
    std::array<std::byte, 16> bytes;
    store_le(bytes.data(), digest.low);
    store_le(bytes.data() + 8, digest.high);
    return bytes;
  }

  static std::size_t encode_leb128(std::byte* to, std::uint64_t value) noexcept {
    std::size_t size = 0;
    for (; value >= 0x80U; value >>= 7U) to[size++] = static_cast<std::byte>((value & 0x7fU) | 0x80U);
    to[size++] = static_cast<std::byte>(value);
    return size;
  }

  // Writes D(field) and returns its size.
  std::size_t encode_digest(std::byte* to, std::span<const std::byte> field) const noexcept {
    if constexpr (hash128_function<H> || !hash_function<H>) {
      if (info_of(hash_).bits == 128) {
        const auto bytes = digest_as_bytes(digest128_bytes(hash_, field.data(), field.size()));
        std::memcpy(to, bytes.data(), bytes.size());
        return bytes.size();
      }
    }
    store_le(to, digest_bytes(hash_, field.data(), field.size()));
    return sizeof(std::uint64_t);
  }

  void append(const std::byte* from, std::size_t size) noexcept {
    if (size != 0) std::memcpy(buffer_.data() + used_, from, size);
    used_ += size;
  }

  void make_room(std::size_t size) noexcept {
    if (size <= buffer_bytes - used_) return;
    std::array<std::byte, 18> folded{std::byte{0x80}, std::byte{0x00}};
    const std::size_t folded_size = 2 + encode_digest(folded.data() + 2, bytes());
    used_ = 0;
    whole_ = false;
    append(folded.data(), folded_size);
  }

  void put_nested(const tuple_sink& nested) noexcept {
    put_field(nested.bytes());
    whole_ = whole_ && nested.whole_;
  }

  void put_field(std::span<const std::byte> field) noexcept {
    std::array<std::byte, 2 + leb128_max_bytes + 16> head;
    if (field.size() > long_field_bytes) {
      head[0] = std::byte{0x81};
      head[1] = std::byte{0x00};
      std::size_t size = 2 + encode_leb128(head.data() + 2, field.size());
      size += encode_digest(head.data() + size, field);
      make_room(size);
      append(head.data(), size);
      whole_ = false;
      return;
    }
    const std::size_t size = encode_leb128(head.data(), field.size());
    make_room(size + field.size());
    append(head.data(), size);
    append(field.data(), field.size());
  }

  H hash_;  // a copy: hashes are small, and a reference to a temporary one would be a trap
  std::size_t used_ = 0;
  bool whole_ = true;
  std::array<std::byte, buffer_bytes> buffer_;
};

// The same for a hash chosen at run time: same bytes, same digests. Include hasher.hpp to use it.
class hasher;
using field_sink = tuple_sink<hasher>;

namespace detail {

// One walk over the rules for both widths: `of_bytes(data, size)` hashes plain bytes, `of_sink(sink)` a finished sink.
template <class H, class Key, class OfBytes, class OfSink>
auto digest_key(const H& hash, const Key& key, OfBytes of_bytes, OfSink of_sink) noexcept {
  if constexpr (funnel_key<Key> || tuple_key<Key>) {
    static_assert(
        !requires { H::only_size_bytes; }, "identity takes integer keys only");
    tuple_sink<H> sink(hash);
    if constexpr (funnel_key<Key>) {
      bloomery_funnel(sink, key);
    } else {
      sink.put_all(key);
    }
    return of_sink(sink);
  } else if constexpr (text_key<Key> || byte_range_key<Key>) {
    const auto bytes = key_bytes(key);
    return of_bytes(bytes.data(), bytes.size());
  } else if constexpr (integer_key<Key>) {
    const auto bytes = integer_bytes(key);
    return of_bytes(bytes.data(), bytes.size());
  } else {
    refuse_key<Key>();
    return of_bytes(nullptr, std::size_t{0});
  }
}

}  // namespace detail

// Calls f(bytes, whole) with the bytes that are hashed for a key that is not prehashed. Not `whole`: a digest stands
// for a part of them, so that another key may have the same.
template <digester H, class Key, class F>
auto with_key_bytes(const H& hash, const Key& key, F&& f) noexcept {
  return detail::digest_key(
      hash, key, [&](const void* bytes, std::size_t size) { return f(detail::as_key_bytes(bytes, size), true); },
      [&](const auto& sink) { return f(sink.bytes(), sink.is_whole()); });
}

// The 64-bit digest of a key of any type. `hash` is a hash (xxh3{}) or a hasher.
template <digester H, class Key>
std::uint64_t digest_of(const H& hash, const Key& key) noexcept {
  if constexpr (std::is_same_v<Key, prehashed>) {
    return key.digest;
  } else if constexpr (std::is_same_v<Key, prehashed128>) {
    return key.digest.low;
  } else if constexpr (detail::integer_key<Key> && !detail::funnel_key<Key> && integer_digester<H>) {
    return hash.integer(detail::integer_of(key));
  } else {
    return detail::digest_key(
        hash, key, [&](const void* bytes, std::size_t size) { return digest_bytes(hash, bytes, size); },
        [](const auto& sink) { return sink.digest(); });
  }
}

// The 128-bit digest of a key of any type, by a hash that has one.
template <digester H, class Key>
digest128 digest128_of(const H& hash, const Key& key) noexcept {
  static_assert(!std::is_same_v<Key, prehashed>, "a 64-bit digest does not make 128 bits: give prehashed128");
  if constexpr (std::is_same_v<Key, prehashed128>) {
    return key.digest;
  } else {
    return detail::digest_key(
        hash, key, [&](const void* bytes, std::size_t size) { return digest128_bytes(hash, bytes, size); },
        [](const auto& sink) { return sink.digest128_of(); });
  }
}

// Keys of one type, one after the other in memory: a vector, an array, a span. Without the header
// <ranges>, which would make every program slower to compile.
template <class Keys>
concept key_range = requires(const Keys& keys) {
  *std::data(keys);
  { std::size(keys) } -> std::convertible_to<std::size_t>;
};
template <key_range Keys>
using key_of_range = std::remove_cvref_t<decltype(*std::data(std::declval<const Keys&>()))>;
template <key_range Keys>
std::span<const key_of_range<Keys>> span_of_keys(const Keys& keys) noexcept {
  return {std::data(keys), std::size(keys)};
}

}  // namespace bloomery::inline BLOOMERY_ABI
