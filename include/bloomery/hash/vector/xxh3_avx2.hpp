// hash/vector/xxh3_avx2.hpp: XXH3 of four keys at once with AVX2. Same digests as hash/xxh3.hpp.
//
// Integers: four to a register. Keys of 9 to 16, 17 to 32 and 33 to 128 bytes: XXH3 multiplies pieces of 16 bytes, 64 x
// 64 -> 128 bits, and adds what the products fold to; four such products are made at once from 32-bit ones. A key of 33
// to 128 bytes has four to eight pieces; all eight are computed and those it does not have are masked, so that lengths
// in that range, which URLs and paths mostly have, cost no branch. Loads stay inside the key.
#pragma once

#include <bloomery/core/bytes.hpp>
#include <bloomery/core/vector_avx2.hpp>
#include <bloomery/hash/byte_key.hpp>
#include <bloomery/hash/mum2.hpp>
#include <bloomery/hash/xxh3.hpp>
#include <span>

#ifdef BLOOMERY_X86

namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::avx2 {

#define BLOOMERY_INLINE BLOOMERY_FOR_AVX2 BLOOMERY_ALWAYS_INLINE inline

// Where the lanes of four vectors are summed up, one vector to a lane.
BLOOMERY_INLINE __m256i sums(__m256i a, __m256i b, __m256i c, __m256i d) {
  const __m256i ab = _mm256_add_epi64(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
  const __m256i cd = _mm256_add_epi64(_mm256_unpacklo_epi64(c, d), _mm256_unpackhi_epi64(c, d));
  return _mm256_add_epi64(_mm256_permute2x128_si256(ab, cd, 0x20), _mm256_permute2x128_si256(ab, cd, 0x31));
}

BLOOMERY_INLINE __m256i finish(__m256i x) {
  const __m256i factor = all64(xxh3_short::multiplier);
  x = _mm256_xor_si256(x, _mm256_srli_epi64(x, 37));
  x = multiply64(x, factor, _mm256_shuffle_epi32(factor, 0xb1));
  return _mm256_xor_si256(x, _mm256_srli_epi64(x, 32));
}

BLOOMERY_INLINE __m256i sizes_of(const byte_key* key) {
  return _mm256_set_epi64x(static_cast<long long>(key[3].size()), static_cast<long long>(key[2].size()),
                           static_cast<long long>(key[1].size()), static_cast<long long>(key[0].size()));
}

BLOOMERY_INLINE __m128i load16(const std::byte* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
BLOOMERY_INLINE __m256i two_of_16(const std::byte* first, const std::byte* second) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(load16(first)), load16(second), 1);
}
BLOOMERY_INLINE __m256i four_of_8(const std::byte* a, const std::byte* b, const std::byte* c, const std::byte* d) {
  return _mm256_set_epi64x(
      static_cast<long long>(load_le<std::uint64_t>(d)), static_cast<long long>(load_le<std::uint64_t>(c)),
      static_cast<long long>(load_le<std::uint64_t>(b)), static_cast<long long>(load_le<std::uint64_t>(a)));
}

BLOOMERY_INLINE __m256i xxh3_of_16(const xxh3_short& parts, __m256i first, __m256i last, __m256i sizes) {
  first = _mm256_xor_si256(first, all64(parts.flip16_first));
  last = _mm256_xor_si256(last, all64(parts.flip16_last));
  const __m256i reverse = _mm256_set_epi8(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
                                          14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i sum = _mm256_add_epi64(_mm256_add_epi64(sizes, _mm256_shuffle_epi8(first, reverse)), last);
  return finish(_mm256_add_epi64(sum, fold(first, last)));
}
// Each of the four keys has 9 to 16 bytes.
BLOOMERY_INLINE __m256i xxh3_to_16(const xxh3_short& parts, const byte_key* key) {
  const __m256i first = four_of_8(key[0].data(), key[1].data(), key[2].data(), key[3].data());
  const __m256i last = four_of_8(key[0].data() + key[0].size() - 8, key[1].data() + key[1].size() - 8,
                                 key[2].data() + key[2].size() - 8, key[3].data() + key[3].size() - 8);
  return xxh3_of_16(parts, first, last, sizes_of(key));
}
// Each has 16: two loads of 16 bytes make a vector, and unpacking two of them puts the halves in the order of the keys.
BLOOMERY_INLINE __m256i xxh3_all_16(const xxh3_short& parts, const byte_key* key) {
  const __m256i even = two_of_16(key[0].data(), key[2].data());
  const __m256i odd = two_of_16(key[1].data(), key[3].data());
  return xxh3_of_16(parts, _mm256_unpacklo_epi64(even, odd), _mm256_unpackhi_epi64(even, odd), all64(16));
}

BLOOMERY_INLINE __m256i size_terms(const byte_key* key) {
  const __m256i factor = all64(xxh3_short::size_multiplier);
  return multiply64(sizes_of(key), factor, _mm256_shuffle_epi32(factor, 0xb1));
}

// The products of two keys of 17 to 32 bytes: lanes 0 and 2 belong to the first key.
BLOOMERY_INLINE __m256i pieces_to_32(__m256i secret, byte_key one, byte_key two) {
  const __m256i a = _mm256_xor_si256(two_of_16(one.data(), one.data() + one.size() - 16), secret);
  const __m256i b = _mm256_xor_si256(two_of_16(two.data(), two.data() + two.size() - 16), secret);
  return fold(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
}
BLOOMERY_INLINE __m256i xxh3_to_32(const xxh3_short& parts, const byte_key* key) {
  const auto* words = reinterpret_cast<const std::byte*>(parts.secret.data());
  const __m256i secret = two_of_16(words, words + 48);
  const __m256i ab = pieces_to_32(secret, key[0], key[1]);
  const __m256i cd = pieces_to_32(secret, key[2], key[3]);
  const __m256i sum =
      _mm256_add_epi64(_mm256_permute2x128_si256(ab, cd, 0x20), _mm256_permute2x128_si256(ab, cd, 0x31));
  return finish(_mm256_add_epi64(sum, size_terms(key)));
}

// Which of the four inner pieces count, in the order of unpacked loads: none up to 64 bytes, the outer two of them up
// to 96, all above.
alignas(32) inline constexpr std::array<std::array<std::uint64_t, 4>, 3> inner_pieces = {
    {{0, 0, 0, 0},
     {~std::uint64_t{0}, 0, 0, ~std::uint64_t{0}},
     {~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}}}};

BLOOMERY_INLINE __m256i pieces_to_128(const xxh3_short& parts, byte_key key) {
  const std::byte* first = key.data();
  const std::size_t size = key.size();
  const std::byte* end = first + size;
  const __m256i a = _mm256_xor_si256(load(first), load(&parts.secret[0]));
  const __m256i b = _mm256_xor_si256(load(end - 32), load(&parts.secret[4]));
  const __m256i outer = fold(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
  // A key without inner pieces has its first bytes read again instead. Arithmetic, because a compiler makes branches of
  // conditions, and these would be guessed wrong half of the time.
  const std::size_t has_inner = (std::size_t{64} - size) >> 63U;
  const std::size_t has_all = (std::size_t{96} - size) >> 63U;
  const __m256i c = _mm256_xor_si256(load(first + 32 * has_inner), load(&parts.secret[8]));
  const __m256i d = _mm256_xor_si256(load(first + ((size - 64) & (0 - has_inner))), load(&parts.secret[12]));
  const __m256i inner = fold(_mm256_unpacklo_epi64(c, d), _mm256_unpackhi_epi64(c, d));
  return _mm256_add_epi64(outer, _mm256_and_si256(inner, load(inner_pieces[has_inner + has_all].data())));
}
BLOOMERY_INLINE __m256i xxh3_to_128(const xxh3_short& parts, const byte_key* key) {
  const __m256i sum = sums(pieces_to_128(parts, key[0]), pieces_to_128(parts, key[1]), pieces_to_128(parts, key[2]),
                           pieces_to_128(parts, key[3]));
  return finish(_mm256_add_epi64(sum, size_terms(key)));
}

BLOOMERY_INLINE __m256i xxh3_four_integers(__m256i keys, __m256i flip) {
  const __m256i factor = all64(xxh3_short::multiplier8);
  const __m256i swapped = _mm256_shuffle_epi32(factor, 0xb1);
  __m256i x = _mm256_xor_si256(_mm256_shuffle_epi32(keys, 0xb1), flip);
  const __m256i by_49 = _mm256_xor_si256(_mm256_slli_epi64(x, 49), _mm256_srli_epi64(x, 15));
  const __m256i by_24 = _mm256_xor_si256(_mm256_slli_epi64(x, 24), _mm256_srli_epi64(x, 40));
  x = _mm256_xor_si256(x, _mm256_xor_si256(by_49, by_24));
  x = multiply64(x, factor, swapped);
  x = _mm256_xor_si256(x, _mm256_add_epi64(_mm256_srli_epi64(x, 35), all64(8)));
  x = multiply64(x, factor, swapped);
  return _mm256_xor_si256(x, _mm256_srli_epi64(x, 28));
}

// The keys that the vectors do not serve, one by one. Among them are all keys of 8 bytes, for which mum2 is another
// function.
template <class H>
__attribute__((noinline)) void hash_four_plainly(const H& hash, const byte_key* key, std::uint64_t* digests) noexcept {
  for (unsigned i = 0; i < 4; ++i) digests[i] = hash(key[i].data(), key[i].size());
}

// By xxh3 or mum2, with the parts that XXH3 has under its seed.
template <class H>
BLOOMERY_INLINE __m256i hash_four_keys(const H& hash, const xxh3_short& parts, const byte_key* key) {
  const std::size_t differ =
      (key[0].size() ^ 16U) | (key[1].size() ^ 16U) | (key[2].size() ^ 16U) | (key[3].size() ^ 16U);
  if (differ == 0) return xxh3_all_16(parts, key);
  std::size_t shortest = key[0].size();
  std::size_t longest = key[0].size();
  for (unsigned i = 1; i < 4; ++i) {
    shortest = key[i].size() < shortest ? key[i].size() : shortest;
    longest = key[i].size() > longest ? key[i].size() : longest;
  }
  if (shortest > 32 && longest <= 128) return xxh3_to_128(parts, key);
  if (shortest > 8 && longest <= 16) return xxh3_to_16(parts, key);
  if (shortest > 16 && longest <= 32) return xxh3_to_32(parts, key);
  alignas(32) std::array<std::uint64_t, 4> digests;
  hash_four_plainly(hash, key, digests.data());
  return load(digests.data());
}

#undef BLOOMERY_INLINE

}  // namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::avx2

#endif
