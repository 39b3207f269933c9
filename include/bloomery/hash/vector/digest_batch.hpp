// hash/vector/digest_batch.hpp: the digests of many keys, hashed several at once.
//
// A digest_source gives for each key what digest_of(hash, key) gives, and is what the batch loops of the kinds take
// (stream_kind in kinds/concept.hpp). With AVX2, integers (xxh3, mum, aes2) and keys that are bytes (xxh3) are hashed four at
// once, and the loops that can take fours inline that part, so that hashing fills the time in which memory answers. Any
// other hash, instruction set or type of key is hashed one by one.
#pragma once

#include <bloomery/core/cpu.hpp>
#include <bloomery/hash/aes2.hpp>
#include <bloomery/hash/key.hpp>
#include <bloomery/hash/mum.hpp>
#include <bloomery/hash/vector/aes2_avx2.hpp>
#include <bloomery/hash/vector/mum_avx2.hpp>
#include <bloomery/hash/vector/xxh3_avx2.hpp>
#include <bloomery/hash/xxh3.hpp>

namespace bloomery::inline BLOOMERY_ABI::kernels {

template <class Key>
inline constexpr bool is_byte_key = (bloomery::detail::text_key<Key> ||
                                     bloomery::detail::byte_range_key<Key>)&&!bloomery::detail::funnel_key<Key>;

template <class H, class Key>
struct digest_source {
  const H& hash;
  std::span<const Key> keys;

  const std::uint64_t* operator()(std::size_t first, std::size_t count, std::uint64_t* room) const noexcept {
    for (std::size_t i = 0; i < count; ++i) room[i] = digest_of(hash, keys[first + i]);
    return room;
  }
};

// What the vector code wants to know of a hash, computed once for a batch.
template <class H>
struct batch_parts {};
template <>
struct batch_parts<xxh3> {
  using type = xxh3_short;
  static xxh3_short of(const xxh3& hash) noexcept { return xxh3_short(hash.seed); }
};
template <>
struct batch_parts<mum> {
  using type = std::uint64_t;
  static std::uint64_t of(const mum& hash) noexcept { return mum::flip + hash.seed; }
};
#ifdef BLOOMERY_AES
template <>
struct batch_parts<aes2> {
  using type = aes2::round_key;
  static aes2::round_key of(const aes2& hash) noexcept { return hash.first_key(); }
};
#endif
template <class H>
concept has_batch_parts = requires {
  typename batch_parts<H>::type;
};

template <class H, class Key>
inline constexpr bool has_vector_code =
    std::is_same_v<Key, std::uint64_t> ? has_batch_parts<H> : std::is_same_v<H, xxh3>&& is_byte_key<Key>;

#ifdef BLOOMERY_X86
namespace avx2 {
template <class Source>
BLOOMERY_FOR_AVX2 void digests_of(const Source& source, std::size_t first, std::span<std::uint64_t> digests) noexcept;
}
#endif

template <class H, class Key>
requires has_vector_code<H, Key>
struct digest_source<H, Key> {
  const H& hash;
  std::span<const Key> keys;
  typename batch_parts<H>::type parts = batch_parts<H>::of(hash);

  const std::uint64_t* operator()(std::size_t first, std::size_t count, std::uint64_t* room) const noexcept {
#ifdef BLOOMERY_X86
    if (active_isa() == isa::avx2 || active_isa() == isa::avx512) {
      avx2::digests_of(*this, first, {room, count});
      return room;
    }
#endif
    for (std::size_t i = 0; i < count; ++i) room[i] = digest_of(hash, keys[first + i]);
    return room;
  }
};

#ifdef BLOOMERY_X86

namespace avx2 {

template <class Next>
inline constexpr bool can_hash4 = false;
template <class H, class Key>
inline constexpr bool can_hash4<digest_source<H, Key>> = has_vector_code<H, Key>;

// How far ahead the bytes of keys are sent for.
inline constexpr std::size_t keys_ahead = 32;

template <class Next>
BLOOMERY_FOR_AVX2 BLOOMERY_ALWAYS_INLINE inline __m256i fetch_four(const Next& next, const std::uint64_t* digests,
                                                                   std::size_t first, std::size_t i) {
  if constexpr (!can_hash4<Next>) {
    return load(digests + i);
#ifdef BLOOMERY_AES
  } else if constexpr (std::is_same_v<decltype(Next::hash), const aes2&>) {
    return aes2_four_integers(next.keys.data() + first + i, next.parts);
#endif
  } else if constexpr (std::is_same_v<decltype(Next::hash), const mum&>) {
    return mum_four_integers(load(next.keys.data() + first + i), all64(next.parts));
  } else if constexpr (std::is_same_v<decltype(Next::keys), std::span<const std::uint64_t>>) {
    return xxh3_four_integers(load(next.keys.data() + first + i), all64(next.parts.flip8));
  } else {
    std::array<byte_key, 4> four;
    for (unsigned j = 0; j < 4; ++j) {
      const auto bytes = bloomery::detail::key_bytes(next.keys[first + i + j]);
      four[j] = {bytes.data(), bytes.size()};
    }
    // Long keys are sent for; short ones lie so densely that the processor's own prefetch is as good.
    if (four[0].size() > 16 && first + i + keys_ahead + 4 <= next.keys.size()) {
      for (unsigned j = 0; j < 4; ++j) {
        const auto later = bloomery::detail::key_bytes(next.keys[first + i + keys_ahead + j]);
        __builtin_prefetch(later.data() + later.size());
      }
    }
    return xxh3_four_keys(next.hash, next.parts, four.data());
  }
}

template <class Source>
BLOOMERY_FOR_AVX2 void digests_of(const Source& source, std::size_t first, std::span<std::uint64_t> digests) noexcept {
  std::size_t i = 0;
  for (; i + 4 <= digests.size(); i += 4) store(digests.data() + i, fetch_four(source, nullptr, first, i));
  for (; i < digests.size(); ++i) digests[i] = digest_of(source.hash, source.keys[first + i]);
}

}  // namespace avx2

#endif

}  // namespace bloomery::inline BLOOMERY_ABI::kernels
