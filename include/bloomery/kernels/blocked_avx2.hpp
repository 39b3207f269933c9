// kernels/blocked_avx2.hpp: the blocked layouts with AVX2. Same bits and answers as kernels/blocked.hpp.
#pragma once

#include <bloomery/kernels/blocked.hpp>
#include <bloomery/kernels/intrinsics.hpp>

#ifdef BLOOMERY_X86

namespace bloomery::kernels::avx2 {

#define BLOOMERY_AVX2 __attribute__((target("avx2"), always_inline)) inline

// The masks of one key: 8 lanes of 32 bits in one register, or 8 lanes of 64 bits in two.
struct split32_masks {
  __m256i all;
};
struct split64_masks {
  __m256i low;
  __m256i high;
};

// All-ones in the lanes that a key with this rotation and count uses: row [count][rotation], 8 lanes of 64 bits.
struct lane_table {
  alignas(64) std::array<std::array<std::array<std::uint64_t, 8>, 8>, 9> row{};
};
constexpr lane_table make_lane_table() noexcept {
  lane_table table;
  for (unsigned count = 0; count <= 8; ++count) {
    for (unsigned rotation = 0; rotation < 8; ++rotation) {
      for (unsigned lane = 0; lane < 8; ++lane) {
        table.row[count][rotation][lane] = ((lane - rotation) & 7U) < count ? ~std::uint64_t{0} : 0U;
      }
    }
  }
  return table;
}
inline constexpr lane_table active_lanes = make_lane_table();

BLOOMERY_AVX2 __m256i load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
BLOOMERY_AVX2 void store(void* to, __m256i value) { _mm256_storeu_si256(static_cast<__m256i*>(to), value); }

BLOOMERY_AVX2 split32_masks masks_of(split32 /*layout*/, std::uint64_t digest, unsigned /*hashes*/) {
  const __m256i x = _mm256_set1_epi32(static_cast<int>(digest));
  const __m256i bit = _mm256_srli_epi32(_mm256_mullo_epi32(x, load(blocked_salts.data())), 27);
  return {_mm256_sllv_epi32(_mm256_set1_epi32(1), bit)};
}

BLOOMERY_AVX2 split64_masks one_bit_a_lane(std::uint64_t y, const std::uint32_t* salts) {
  const __m256i x = _mm256_set1_epi32(static_cast<int>(y >> 32U));
  const __m256i bit = _mm256_srli_epi32(_mm256_mullo_epi32(x, load(salts)), 26);
  const __m256i one = _mm256_set1_epi64x(1);
  return {_mm256_sllv_epi64(one, _mm256_cvtepu32_epi64(_mm256_castsi256_si128(bit))),
          _mm256_sllv_epi64(one, _mm256_cvtepu32_epi64(_mm256_extracti128_si256(bit, 1)))};
}

BLOOMERY_AVX2 split64_masks only(split64_masks masks, const std::array<std::uint64_t, 8>& lanes) {
  return {_mm256_and_si256(masks.low, load(lanes.data())), _mm256_and_si256(masks.high, load(lanes.data() + 4))};
}

BLOOMERY_AVX2 split64_masks masks_of(split64 /*layout*/, std::uint64_t digest, unsigned hashes) {
  const std::uint64_t y = digest * in_block_multiplier;
  const split64_masks first = one_bit_a_lane(y, blocked_salts.data());
  if (hashes == 8) return first;
  const auto rotation = static_cast<unsigned>(y >> 29U) & 7U;
  if (hashes < 8) return only(first, active_lanes.row[hashes][rotation]);
  const split64_masks second =
      only(one_bit_a_lane(y, blocked_salts.data() + 8), active_lanes.row[hashes - 8][rotation]);
  return {_mm256_or_si256(first.low, second.low), _mm256_or_si256(first.high, second.high)};
}

BLOOMERY_AVX2 bool has(const std::uint64_t* block, split32_masks masks) {
  return _mm256_testc_si256(load(block), masks.all) != 0;
}
BLOOMERY_AVX2 bool has(const std::uint64_t* block, split64_masks masks) {
  const __m256i missing =
      _mm256_or_si256(_mm256_andnot_si256(load(block), masks.low), _mm256_andnot_si256(load(block + 4), masks.high));
  return _mm256_testz_si256(missing, missing) != 0;
}

BLOOMERY_AVX2 bool put(std::uint64_t* block, split32_masks masks) {
  const __m256i before = load(block);
  store(block, _mm256_or_si256(before, masks.all));
  return _mm256_testc_si256(before, masks.all) == 0;
}
BLOOMERY_AVX2 bool put(std::uint64_t* block, split64_masks masks) {
  const __m256i low = load(block);
  const __m256i high = load(block + 4);
  store(block, _mm256_or_si256(low, masks.low));
  store(block + 4, _mm256_or_si256(high, masks.high));
  const __m256i missing = _mm256_or_si256(_mm256_andnot_si256(low, masks.low), _mm256_andnot_si256(high, masks.high));
  return _mm256_testz_si256(missing, missing) == 0;
}

// One key.
template <class Layout>
__attribute__((target("avx2"))) bool blocked_contains_one(const blocked_view& view, std::uint64_t digest) noexcept {
  return has(view.words + Layout::block(digest, view.blocks) * Layout::words, masks_of(Layout{}, digest, view.hashes));
}
template <class Layout>
__attribute__((target("avx2"))) bool blocked_insert_one(std::uint64_t* words, const blocked_view& view,
                                                        std::uint64_t digest) noexcept {
  return put(words + Layout::block(digest, view.blocks) * Layout::words, masks_of(Layout{}, digest, view.hashes));
}

// The loops of blocked_pipeline, written out: a lambda would not carry the target attribute.
template <class Layout>
__attribute__((target("avx2"))) void blocked_ask(const blocked_view& view, std::span<const std::uint64_t> digests,
                                                 std::span<std::uint64_t> mask) noexcept {
  const std::size_t count = digests.size();
  const std::uint64_t* words = view.words;
  for (std::size_t i = 0; i < count && i < blocked_ahead; ++i) {
    __builtin_prefetch(words + Layout::block(digests[i], view.blocks) * Layout::words);
  }
  std::uint64_t answers = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (i + blocked_ahead < count) {
      __builtin_prefetch(words + Layout::block(digests[i + blocked_ahead], view.blocks) * Layout::words);
    }
    const std::uint64_t* block = words + Layout::block(digests[i], view.blocks) * Layout::words;
    answers |= std::uint64_t{has(block, masks_of(Layout{}, digests[i], view.hashes))} << (i % 64);
    if (i % 64 == 63 || i + 1 == count) {
      mask[i / 64] = answers;
      answers = 0;
    }
  }
}

template <class Layout>
__attribute__((target("avx2"))) std::uint64_t blocked_insert(std::uint64_t* words, const blocked_view& view,
                                                             std::span<const std::uint64_t> digests) noexcept {
  const std::size_t count = digests.size();
  for (std::size_t i = 0; i < count && i < blocked_ahead; ++i) {
    __builtin_prefetch(words + Layout::block(digests[i], view.blocks) * Layout::words, 1);
  }
  std::uint64_t inserted = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (i + blocked_ahead < count) {
      __builtin_prefetch(words + Layout::block(digests[i + blocked_ahead], view.blocks) * Layout::words, 1);
    }
    std::uint64_t* block = words + Layout::block(digests[i], view.blocks) * Layout::words;
    inserted += put(block, masks_of(Layout{}, digests[i], view.hashes)) ? 1U : 0U;
  }
  return inserted;
}

#undef BLOOMERY_AVX2

}  // namespace bloomery::kernels::avx2

#endif
