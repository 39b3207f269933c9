// kernels/cuckoo/avx2.hpp: look-ups in slots of fingerprints with AVX2, four keys at a time. Same answers as
// kernels/cuckoo.hpp.
//
// For buckets within 8 bytes and fewer than 2^32 of them: then all products are of 32 bits. A group of 64 keys is made
// into places first, whose memory is prefetched where the filter is larger than the caches near the processor; the
// group before it is then gathered and compared.
#pragma once

#include <bloomery/core/vector_avx2.hpp>
#include <bloomery/kernels/cuckoo.hpp>

#ifdef BLOOMERY_X86

namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::avx2 {

#define BLOOMERY_TARGET BLOOMERY_FOR_AVX2
#define BLOOMERY_INLINE BLOOMERY_FOR_AVX2 BLOOMERY_ALWAYS_INLINE inline

// Where the keys of a group are, in bits from the start, and their fingerprints.
struct cuckoo_group {
  static constexpr std::size_t size = 64;
  alignas(32) std::array<std::uint64_t, size> first;
  alignas(32) std::array<std::uint64_t, size> other;
  alignas(32) std::array<std::uint64_t, size> fingerprint;
};

struct cuckoo_places {
  __m256i buckets;
  __m256i fingerprints;
  __m256i stride;
  __m256i multiplier;
  __m256i multiplier_swapped;

  // The upper half of x times the number of buckets.
  BLOOMERY_INLINE __m256i range(__m256i x) const {
    const __m256i low = _mm256_srli_epi64(_mm256_mul_epu32(x, buckets), 32);
    const __m256i high = _mm256_mul_epu32(_mm256_srli_epi64(x, 32), buckets);
    return _mm256_srli_epi64(_mm256_add_epi64(high, low), 32);
  }
  BLOOMERY_INLINE void find(const std::uint64_t* digests, cuckoo_group& group, std::size_t i) const {
    const __m256i digest = load(digests + i);
    const __m256i first = range(digest);
    const __m256i bits = _mm256_and_si256(digest, fingerprints);
    const __m256i fingerprint = _mm256_sub_epi64(bits, _mm256_cmpeq_epi64(bits, _mm256_setzero_si256()));
    const __m256i square = _mm256_mul_epu32(fingerprint, fingerprint);
    const __m256i sum = _mm256_or_si256(range(multiply64(square, multiplier, multiplier_swapped)), all64(1));
    const __m256i below = _mm256_cmpgt_epi64(first, sum);
    const __m256i other = _mm256_add_epi64(_mm256_sub_epi64(sum, first), _mm256_and_si256(below, buckets));
    store(group.first.data() + i, _mm256_mul_epu32(first, stride));
    store(group.other.data() + i, _mm256_mul_epu32(other, stride));
    store(group.fingerprint.data() + i, fingerprint);
  }
};

struct cuckoo_lanes {
  const long long* bytes;
  __m256i low;
  __m256i low_upper;  // its upper halves, below
  __m256i high;
  __m256i tags;

  BLOOMERY_INLINE __m256i slots(const std::uint64_t* at) const {
    const __m256i bit = load(at);
    const __m256i words = _mm256_i64gather_epi64(bytes, _mm256_srli_epi64(bit, 3), 1);
    return _mm256_srlv_epi64(words, _mm256_and_si256(bit, all64(7)));
  }
  // Which of four keys may be there.
  template <bool Window>
  BLOOMERY_INLINE std::uint64_t ask(const cuckoo_group& group, std::size_t i) const {
    __m256i fingerprint = load(group.fingerprint.data() + i);
    if (Window) fingerprint = _mm256_slli_epi64(fingerprint, 1);
    const __m256i upper = _mm256_slli_epi64(_mm256_mul_epu32(fingerprint, low_upper), 32);
    const __m256i wanted = _mm256_or_si256(_mm256_add_epi64(_mm256_mul_epu32(fingerprint, low), upper), tags);
    const __m256i first = _mm256_xor_si256(slots(group.first.data() + i), wanted);
    const __m256i other = _mm256_xor_si256(slots(group.other.data() + i), wanted);
    const __m256i found = _mm256_or_si256(_mm256_andnot_si256(first, _mm256_sub_epi64(first, low)),
                                          _mm256_andnot_si256(other, _mm256_sub_epi64(other, low)));
    const __m256i none = _mm256_cmpeq_epi64(_mm256_and_si256(found, high), _mm256_setzero_si256());
    return static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(none))) ^ 15U;
  }
};

template <bool Window, bool Whole>
BLOOMERY_TARGET void cuckoo_contains_batch(
    const cuckoo_table<std::uint64_t, Window ? cuckoo_form::window : cuckoo_form::slots, Whole>& table,
    std::uint64_t far_bytes, std::size_t count, const digest_feed& next, std::uint64_t* mask) noexcept {
  constexpr std::size_t size = cuckoo_group::size;
  constexpr std::uint64_t multiplier = cuckoo_multiplier;
  const std::uint64_t stride_bits = Whole ? table.stride * 8 : table.stride;
  const cuckoo_places places{.buckets = all64(table.buckets),
                             .fingerprints = all64(table.fingerprints),
                             .stride = all64(stride_bits),
                             .multiplier = all64(multiplier),
                             .multiplier_swapped = all64(multiplier << 32U | multiplier >> 32U)};
  const cuckoo_lanes lanes{.bytes = reinterpret_cast<const long long*>(table.bytes),
                           .low = all64(table.low),
                           .low_upper = all64(table.low >> 32U),
                           .high = all64(table.high),
                           .tags = all64(table.tags)};
  const bool is_far = table.buckets * stride_bits / 8 > far_bytes;
  std::array<cuckoo_group, 2> groups;
  std::array<std::uint64_t, size> room;
  for (std::size_t first = 0; first < count + size; first += size) {
    if (first < count) {
      cuckoo_group& group = groups[first / size % 2];
      const std::size_t here = count - first < size ? count - first : size;
      const std::uint64_t* digests = next(first, here, room.data());
      if (here != size) {
        // The last group is filled up with what it has.
        for (std::size_t i = 0; i < size; ++i) room[i] = digests[i < here ? i : 0];
        digests = room.data();
      }
      for (std::size_t i = 0; i < size; i += 4) places.find(digests, group, i);
      if (is_far) {
        for (std::size_t i = 0; i < size; ++i) {
          __builtin_prefetch(table.bytes + group.first[i] / 8);
          __builtin_prefetch(table.bytes + group.other[i] / 8);
        }
      }
    }
    if (first == 0) continue;
    const cuckoo_group& before = groups[(first / size - 1) % 2];
    std::uint64_t answers = 0;
    for (std::size_t i = 0; i < size; i += 4) answers |= lanes.ask<Window>(before, i) << i;
    const std::size_t left = count - (first - size);
    mask[first / size - 1] = left < size ? answers & ((std::uint64_t{1} << left) - 1) : answers;
  }
}

#undef BLOOMERY_INLINE
#undef BLOOMERY_TARGET

}  // namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::avx2

#endif
