// hash/key_digests.hpp: the digests of many keys of one type, made as a batch needs them.
//
//     const key_digests<xxh3, std::uint64_t> source{hash, keys};
//     kind.may_contain_stream(keys.size(), digest_feed(source), mask);
//
// Each digest is what digest_of(hash, key) returns. Integers (xxh3, mum, aes2, mum2) and byte keys (xxh3, mum2) are hashed several
// at once (hash/vector_hashes.hpp); any other pair of hash and key type one by one.
#pragma once

#include <array>
#include <bloomery/core/buffer.hpp>
#include <bloomery/hash/digest_feed.hpp>
#include <bloomery/hash/key.hpp>
#include <bloomery/hash/vector_hashes.hpp>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace bloomery::inline BLOOMERY_ABI {

template <class Key>
inline constexpr bool is_byte_key = (detail::text_key<Key> || detail::byte_range_key<Key>)&&!detail::funnel_key<Key>;

namespace detail {

template <class H, class Key>
constexpr inlined_hash inlined_hash_of() noexcept {
  if constexpr (std::is_same_v<Key, std::uint64_t>) {
    if constexpr (std::is_same_v<H, xxh3>) return inlined_hash::xxh3_integers;
    if constexpr (std::is_same_v<H, mum>) return inlined_hash::mum_integers;
    if constexpr (std::is_same_v<H, aes2>) return inlined_hash::aes2_integers;
    if constexpr (std::is_same_v<H, mum2>) return inlined_hash::mum2_integers;
  } else if constexpr (std::is_same_v<H, xxh3>) {
    if constexpr (std::is_same_v<Key, std::string_view>) return inlined_hash::xxh3_views;
    if constexpr (std::is_same_v<Key, std::string>) return inlined_hash::xxh3_strings;
  } else if constexpr (std::is_same_v<H, mum2>) {
    if constexpr (std::is_same_v<Key, std::string_view>) return inlined_hash::mum2_views;
    if constexpr (std::is_same_v<Key, std::string>) return inlined_hash::mum2_strings;
  }
  return inlined_hash::none;
}

// How many keys ahead their bytes are prefetched.
inline constexpr std::size_t keys_ahead = 32;

}  // namespace detail

template <class H, class Key>
struct key_digests {
  static constexpr inlined_hash inlined = detail::inlined_hash_of<H, Key>();

  const H& hash;
  std::span<const Key> keys;

  // The digests of keys first to first + count - 1, in `buffer`.
  const std::uint64_t* operator()(std::size_t first, std::size_t count, std::uint64_t* buffer) const noexcept {
    if constexpr (inlined == inlined_hash::xxh3_integers) {
      active_kernels<vector_hashes>().xxh3_integers(hash, keys.data() + first, count, buffer);
    } else if constexpr (inlined == inlined_hash::mum_integers) {
      active_kernels<vector_hashes>().mum_integers(hash, keys.data() + first, count, buffer);
    } else if constexpr (inlined == inlined_hash::aes2_integers) {
      active_kernels<vector_hashes>().aes2_integers(hash, keys.data() + first, count, buffer);
    } else if constexpr (inlined == inlined_hash::mum2_integers) {
      active_kernels<vector_hashes>().mum2_integers(hash, keys.data() + first, count, buffer);
    } else if constexpr ((std::is_same_v<H, xxh3> || std::is_same_v<H, mum2>)&&is_byte_key<Key>) {
      hash_bytes(first, count, buffer);
    } else {
      for (std::size_t i = 0; i < count; ++i) buffer[i] = digest_of(hash, keys[first + i]);
    }
    return buffer;
  }

 private:
  // In groups, whose places fit on the stack.
  void hash_bytes(std::size_t first, std::size_t count, std::uint64_t* buffer) const noexcept {
    constexpr std::size_t group = 64;
    std::array<byte_key, group> bytes;
    for (std::size_t done = 0; done < count; done += group) {
      const std::size_t size = count - done < group ? count - done : group;
      for (std::size_t i = 0; i < size; ++i) bytes[i] = place_of(first + done + i);
      if constexpr (std::is_same_v<H, mum2>) {
        active_kernels<vector_hashes>().mum2_bytes(hash, bytes.data(), size, buffer + done);
      } else {
        active_kernels<vector_hashes>().xxh3_bytes(hash, bytes.data(), size, buffer + done);
      }
    }
  }
  // Prefetches a later key, too, where keys are long: short ones are so dense that the processor's own prefetch is as
  // good.
  byte_key place_of(std::size_t i) const noexcept {
    const auto key = detail::key_bytes(keys[i]);
    if (key.size() > 16 && i + detail::keys_ahead < keys.size()) {
      const auto later = detail::key_bytes(keys[i + detail::keys_ahead]);
      __builtin_prefetch(later.data() + later.size());
    }
    return {key.data(), key.size()};
  }
};

namespace detail {

// The 64-bit digests of all keys, in memory of their own.
class key_digest_buffer {
 public:
  key_digest_buffer() noexcept = default;
  template <class H, class Key>
  static result<key_digest_buffer> make(const H& hash, std::span<const Key> keys, const memory_hooks* hooks) noexcept {
    key_digest_buffer made;
    auto memory = aligned_buffer::make(std::uint64_t{keys.size()} * sizeof(std::uint64_t), "the digests", hooks);
    if (!memory) return fail(memory.error());
    made.memory_ = std::move(*memory);
    for (std::size_t first = 0; first < keys.size(); first += 64) {
      key_digests<H, Key>{hash, keys}(first, keys.size() - first < 64 ? keys.size() - first : 64,
                                      made.digests().data() + first);
    }
    return made;
  }
  [[nodiscard]] std::span<std::uint64_t> digests() noexcept {
    return {reinterpret_cast<std::uint64_t*>(memory_.data()), memory_.size_bytes() / sizeof(std::uint64_t)};
  }

 private:
  aligned_buffer memory_;
};

}  // namespace detail

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/hash/vector/digests4_avx2.hpp>
#endif
