// hash/vector/digests4_avx2.hpp: four digests in a register, for loops that hash while memory answers.
//
//     if constexpr (can_hash4<Source>) ...        // Source is a key_digests of which digest_feed::inlined() knows
//     __m256i four = fetch_four(source, digests, first, i);
#pragma once

#include <bloomery/hash/key_digests.hpp>
#include <bloomery/hash/vector/aes2_avx2.hpp>
#include <bloomery/hash/vector/mum_avx2.hpp>
#include <bloomery/hash/vector/xxh3_avx2.hpp>

#ifdef BLOOMERY_X86

namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::avx2 {

template <class Source>
inline constexpr bool can_hash4 = false;
template <class H, class Key>
inline constexpr bool can_hash4<key_digests<H, Key>> = key_digests<H, Key>::inlined != inlined_hash::none;
#ifndef BLOOMERY_AES
template <>
inline constexpr bool can_hash4<key_digests<aes2, std::uint64_t>> = false;
#endif

// What the vector code needs of a hash, computed once for a batch.
inline xxh3_short hash_constants(const xxh3& hash) noexcept { return xxh3_short(hash.seed); }
inline std::uint64_t hash_constants(const mum& hash) noexcept { return mum::flip + hash.seed; }
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
      return xxh3_four_keys(from.source.hash, from.constants, four.data());
    }
  }
}

// Calls f with the source of a feed whose hash the loop can compute itself, else with the feed.
template <class F>
BLOOMERY_FOR_AVX2 auto with_source(const digest_feed& feed, const F& f) noexcept {
  switch (feed.inlined()) {
    case inlined_hash::xxh3_integers:
      return f(feed.source<key_digests<xxh3, std::uint64_t>>());
    case inlined_hash::mum_integers:
      return f(feed.source<key_digests<mum, std::uint64_t>>());
#ifdef BLOOMERY_AES
    case inlined_hash::aes2_integers:
      return f(feed.source<key_digests<aes2, std::uint64_t>>());
#endif
    case inlined_hash::xxh3_views:
      return f(feed.source<key_digests<xxh3, std::string_view>>());
    case inlined_hash::xxh3_strings:
      return f(feed.source<key_digests<xxh3, std::string>>());
    default:
      return f(feed);
  }
}

}  // namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::avx2

#endif

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/hash/vector_hashes.cpp>
#endif
