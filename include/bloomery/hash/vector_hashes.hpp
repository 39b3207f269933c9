// hash/vector_hashes.hpp: the digests of many keys at once, with the best instruction set there is.
//
// With AVX2, integers (xxh3, mum, aes2, mum2) and byte keys (xxh3, mum2) are hashed four at a time; elsewhere one by one. The
// digests are those of the hash's own operator() and integer(). Callers use hash/key_digests.hpp (hash known at compile
// time) or hash/hasher.hpp (at run time).
#pragma once

#include <bloomery/core/dispatch.hpp>
#include <bloomery/hash/aes2.hpp>
#include <bloomery/hash/byte_key.hpp>
#include <bloomery/hash/mum.hpp>
#include <bloomery/hash/mum2.hpp>
#include <bloomery/hash/xxh3.hpp>

namespace bloomery::inline BLOOMERY_ABI {

struct vector_hashes {
  void (*xxh3_integers)(const xxh3&, const std::uint64_t* keys, std::size_t count, std::uint64_t* digests) noexcept;
  void (*mum_integers)(const mum&, const std::uint64_t* keys, std::size_t count, std::uint64_t* digests) noexcept;
  void (*aes2_integers)(const aes2&, const std::uint64_t* keys, std::size_t count, std::uint64_t* digests) noexcept;
  void (*mum2_integers)(const mum2&, const std::uint64_t* keys, std::size_t count, std::uint64_t* digests) noexcept;
  void (*xxh3_bytes)(const xxh3&, const byte_key* keys, std::size_t count, std::uint64_t* digests) noexcept;
  void (*mum2_bytes)(const mum2&, const byte_key* keys, std::size_t count, std::uint64_t* digests) noexcept;

  BLOOMERY_API static const vector_hashes& for_isa(isa level) noexcept;
};

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/hash/key_digests.hpp>
#endif
