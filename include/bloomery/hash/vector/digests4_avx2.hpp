// hash/vector/digests4_avx2.hpp: four digests in a register, for loops that hash while memory answers.
//
//     if constexpr (can_hash4<Source>) ...        // Source is one that with_source passes on
//     __m256i four = fetch_four(source, digests, first, i);
#pragma once

#include <bloomery/hash/key_digests.hpp>
#include <bloomery/hash/vector/aes2_avx2.hpp>
#include <bloomery/hash/vector/mum2_avx2.hpp>
#include <bloomery/hash/vector/mum_avx2.hpp>
#include <bloomery/hash/vector/xxh3_avx2.hpp>

#ifdef BLOOMERY_X86

namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::avx2 {

// What hashes byte keys by xxh3 or by mum2, which differ for keys of 8 bytes alone: one loop for both.
struct text_hash {
  xxh3 same;
  bool is_mum2;

  std::uint64_t operator()(const void* bytes, std::size_t size) const noexcept {
    return is_mum2 ? mum2{.seed = same.seed}(bytes, size) : same(bytes, size);
  }
};
template <class Key>
struct text_digests {
  static constexpr inlined_hash inlined = inlined_hash::xxh3_views;
  text_hash hash;
  std::span<const Key> keys;

  const std::uint64_t* operator()(std::size_t first, std::size_t count, std::uint64_t* buffer) const noexcept {
    if (!hash.is_mum2) return key_digests<xxh3, Key>{hash.same, keys}(first, count, buffer);
    const mum2 by{.seed = hash.same.seed};
    return key_digests<mum2, Key>{by, keys}(first, count, buffer);
  }
};

template <class Source>
inline constexpr bool can_hash4 = false;
template <class H>
inline constexpr bool can_hash4<key_digests<H, std::uint64_t>> =
    key_digests<H, std::uint64_t>::inlined != inlined_hash::none;
template <class Key>
inline constexpr bool can_hash4<text_digests<Key>> = true;
#ifndef BLOOMERY_AES
template <>
inline constexpr bool can_hash4<key_digests<aes2, std::uint64_t>> = false;
#endif

// What the vector code needs of a hash, computed once for a batch.
inline xxh3_short hash_constants(const xxh3& hash) noexcept { return xxh3_short(hash.seed); }
inline xxh3_short hash_constants(const text_hash& hash) noexcept { return xxh3_short(hash.same.seed); }
inline std::uint64_t hash_constants(const mum& hash) noexcept { return mum::flip + hash.seed; }
inline std::uint64_t hash_constants(const mum2& hash) noexcept { return hash.seed; }
inline aes2::round_key hash_constants(const aes2& hash) noexcept { return hash.first_key(); }

// A copy of a source, of which the compiler sees that no insert changes it, with these constants where there are any.
template <class Source>
struct vector_source {
  Source source;
  explicit vector_source(const Source& from) noexcept : source(from) {}
};
template <class Source>
requires can_hash4<Source>
struct vector_source<Source> {
  Source source;
  decltype(hash_constants(std::declval<const Source&>().hash)) constants;
  explicit vector_source(const Source& from) noexcept : source(from), constants(hash_constants(from.hash)) {}
};

// The digests of keys first + i to first + i + 3: hashed here, or from those that the source has made.
template <class Source>
BLOOMERY_FOR_AVX2 BLOOMERY_ALWAYS_INLINE inline __m256i fetch_four(const vector_source<Source>& from,
                                                                   const std::uint64_t* digests, std::size_t first,
                                                                   std::size_t i) {
  if constexpr (!can_hash4<Source>) {
    return load(digests + i);
  } else {
    const auto& keys = from.source.keys;
    if constexpr (Source::inlined == inlined_hash::xxh3_integers) {
      return xxh3_four_integers(load(keys.data() + first + i), all64(from.constants.flip8));
    } else if constexpr (Source::inlined == inlined_hash::mum_integers) {
      return mum_four_integers(load(keys.data() + first + i), all64(from.constants));
    } else if constexpr (Source::inlined == inlined_hash::mum2_integers) {
      return mum2_four_integers(load(keys.data() + first + i), all64(from.constants));
    } else if constexpr (Source::inlined == inlined_hash::aes2_integers) {
#ifdef BLOOMERY_AES
      return aes2_four_integers(keys.data() + first + i, from.constants);
#endif
    } else {
      std::array<byte_key, 4> four;
      for (unsigned j = 0; j < 4; ++j) {
        const auto bytes = bloomery::detail::key_bytes(keys[first + i + j]);
        four[j] = {bytes.data(), bytes.size()};
      }
      // Long keys are prefetched; short ones are so dense that the processor's own prefetch is as good.
      if (four[0].size() > 16 && first + i + bloomery::detail::keys_ahead + 4 <= keys.size()) {
        for (unsigned j = 0; j < 4; ++j) {
          const auto later = bloomery::detail::key_bytes(keys[first + i + bloomery::detail::keys_ahead + j]);
          __builtin_prefetch(later.data() + later.size());
        }
      }
      return hash_four_keys(from.source.hash, from.constants, four.data());
    }
  }
}

// Of a feed that is made from byte keys.
template <class Key>
text_digests<Key> text_source(const digest_feed& feed) noexcept {
  if (feed.inlined() == inlined_hash::xxh3_views || feed.inlined() == inlined_hash::xxh3_strings) {
    const auto& from = feed.source<key_digests<xxh3, Key>>();
    return {{from.hash, false}, from.keys};
  }
  const auto& from = feed.source<key_digests<mum2, Key>>();
  return {{xxh3{.seed = from.hash.seed}, true}, from.keys};
}

// Calls f with the source of a feed whose hash the loop can compute itself, else with the feed.
template <class F>
BLOOMERY_FOR_AVX2 auto with_source(const digest_feed& feed, const F& f) noexcept {
  switch (feed.inlined()) {
    case inlined_hash::xxh3_integers:
      return f(feed.source<key_digests<xxh3, std::uint64_t>>());
    case inlined_hash::mum_integers:
      return f(feed.source<key_digests<mum, std::uint64_t>>());
    case inlined_hash::mum2_integers:
      return f(feed.source<key_digests<mum2, std::uint64_t>>());
#ifdef BLOOMERY_AES
    case inlined_hash::aes2_integers:
      return f(feed.source<key_digests<aes2, std::uint64_t>>());
#endif
    case inlined_hash::xxh3_views:
    case inlined_hash::mum2_views:
      return f(text_source<std::string_view>(feed));
    case inlined_hash::xxh3_strings:
    case inlined_hash::mum2_strings:
      return f(text_source<std::string>(feed));
    default:
      return f(feed);
  }
}

}  // namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::avx2

#endif

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/hash/vector_hashes.cpp>
#endif
