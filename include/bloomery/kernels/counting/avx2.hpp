// kernels/counting/avx2.hpp: batches over lines of counters with AVX2. Same counters and answers as
// kernels/counting.hpp.
//
// A line is two registers of four words. The products of a key are made as for split64 (kernels/blocked/avx2.hpp); a
// shift by a different count in each word brings the probed counter to its lower end.
#pragma once

#include <bloomery/kernels/blocked/avx2.hpp>
#include <bloomery/kernels/counting.hpp>

#ifdef BLOOMERY_X86

namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::avx2 {

#define BLOOMERY_INLINE BLOOMERY_FOR_AVX2 BLOOMERY_ALWAYS_INLINE inline

// Four times the number of the counter, in each word.
BLOOMERY_INLINE split64_masks counter_shifts(const std::uint64_t* y, const std::uint32_t* salts) {
  const __m256i products = _mm256_mullo_epi32(all_lanes(y, 1), load(salts));
  const __m256i within = _mm256_set1_epi64x(0x3c);
  return {_mm256_and_si256(_mm256_srli_epi64(products, 26), within),
          _mm256_and_si256(_mm256_srli_epi64(products, 58), within)};
}

BLOOMERY_INLINE __m256i probed(__m256i words, __m256i shifts) {
  return _mm256_and_si256(_mm256_srlv_epi64(words, shifts), _mm256_set1_epi64x(counter_most));
}

// All ones where a probed counter is 0, in one half of the words that the row names.
BLOOMERY_INLINE __m256i zeros_of(const std::uint64_t* words, __m256i shifts, const std::uint64_t* row) {
  return _mm256_and_si256(_mm256_cmpeq_epi64(probed(load(words), shifts), _mm256_setzero_si256()), load(row));
}
BLOOMERY_INLINE __m256i zeros_of_line(const std::uint64_t* line, const split64_masks& shifts,
                                      const std::uint64_t* row) {
  return _mm256_or_si256(zeros_of(line, shifts.low, row), zeros_of(line + 4, shifts.high, row + 4));
}

// Adds one to the probed counters that are not stuck; all ones where one was 0.
BLOOMERY_INLINE __m256i add_to(std::uint64_t* words, __m256i shifts, const std::uint64_t* row) {
  const __m256i before = load(words);
  const __m256i counters = probed(before, shifts);
  const __m256i used = load(row);
  const __m256i stuck = _mm256_cmpeq_epi64(counters, _mm256_set1_epi64x(counter_most));
  const __m256i one = _mm256_andnot_si256(stuck, _mm256_and_si256(used, _mm256_set1_epi64x(1)));
  store(words, _mm256_add_epi64(before, _mm256_sllv_epi64(one, shifts)));
  return _mm256_and_si256(_mm256_cmpeq_epi64(counters, _mm256_setzero_si256()), used);
}
BLOOMERY_INLINE __m256i add_to_line(std::uint64_t* line, const split64_masks& shifts, const std::uint64_t* row) {
  return _mm256_or_si256(add_to(line, shifts.low, row), add_to(line + 4, shifts.high, row + 4));
}

// Which words the first eight probes of a key use, and which the others.
struct line_rows {
  const lane_rows* first;
  const lane_rows* second;
  bool twice;
};
inline line_rows line_rows_for(unsigned hashes) noexcept {
  return {&active_lanes[hashes < 8 ? hashes : 8], &active_lanes[hashes < 8 ? 0 : hashes - 8], hashes > 8};
}

BLOOMERY_INLINE bool line_contains(const std::uint64_t* line, const std::uint64_t* y, const line_rows& rows) {
  __m256i missing = zeros_of_line(line, counter_shifts(y, first_salts.data()), row_of(rows.first, *y));
  if (rows.twice) {
    const split64_masks shifts = counter_shifts(y, second_salts.data());
    missing = _mm256_or_si256(missing, zeros_of_line(line, shifts, row_of(rows.second, *y)));
  }
  return one_present(missing);
}
BLOOMERY_INLINE bool line_insert(std::uint64_t* line, const std::uint64_t* y, const line_rows& rows) {
  __m256i missing = add_to_line(line, counter_shifts(y, first_salts.data()), row_of(rows.first, *y));
  if (rows.twice) {
    const split64_masks shifts = counter_shifts(y, second_salts.data());
    missing = _mm256_or_si256(missing, add_to_line(line, shifts, row_of(rows.second, *y)));
  }
  return !one_present(missing);
}

// A group of keys whose lines are on their way.
struct lines_ahead {
  std::array<std::uint64_t, blocked_group> line;  // its first word
  std::array<std::uint64_t, blocked_group> y;
  std::size_t size = 0;

  void prepare(const counting_view& view, std::size_t first, std::size_t count, const digest_feed& next) noexcept {
    std::array<std::uint64_t, blocked_group> room;
    size = first >= count ? 0 : count - first < blocked_group ? count - first : blocked_group;
    if (size == 0) return;
    const std::uint64_t* digests = next(first, size, room.data());
    for (std::size_t i = 0; i < size; ++i) {
      line[i] = split64::block(digests[i], view.size) * split64::words;
      y[i] = split64::in_block(digests[i]);
      __builtin_prefetch(view.words + line[i]);
    }
  }
};

BLOOMERY_FOR_AVX2 inline void counting_contains_lines(const counting_view& view, std::size_t count,
                                                      const digest_feed& next, std::uint64_t* mask) noexcept {
  const line_rows rows = line_rows_for(view.hashes);
  std::array<lines_ahead, 2> groups;
  groups[0].prepare(view, 0, count, next);
  for (std::size_t first = 0; first < count; first += blocked_group) {
    const lines_ahead& now = groups[first / blocked_group % 2];
    groups[(first / blocked_group + 1) % 2].prepare(view, first + blocked_group, count, next);
    std::uint64_t answers = 0;
    for (std::size_t i = 0; i < now.size; ++i) {
      answers |= std::uint64_t{line_contains(view.words + now.line[i], &now.y[i], rows)} << i;
    }
    mask[first / blocked_group] = answers;
  }
}

BLOOMERY_FOR_AVX2 inline std::uint64_t counting_insert_lines(std::uint64_t* words, const counting_view& view,
                                                             std::size_t count, const digest_feed& next) noexcept {
  const line_rows rows = line_rows_for(view.hashes);
  std::array<lines_ahead, 2> groups;
  std::uint64_t inserted = 0;
  groups[0].prepare(view, 0, count, next);
  for (std::size_t first = 0; first < count; first += blocked_group) {
    const lines_ahead& now = groups[first / blocked_group % 2];
    groups[(first / blocked_group + 1) % 2].prepare(view, first + blocked_group, count, next);
    for (std::size_t i = 0; i < now.size; ++i) inserted += line_insert(words + now.line[i], &now.y[i], rows) ? 1U : 0U;
  }
  return inserted;
}

#undef BLOOMERY_INLINE

}  // namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::avx2

#endif
