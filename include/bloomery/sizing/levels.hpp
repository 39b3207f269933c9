// sizing/levels.hpp: how to share memory among the filters of a log-structured store, level by level.
//
// A look-up of an absent key queries the filter of every level, and reads a level for nothing on a false positive: on
// average as many levels as the false-positive rates (FPRs) add up to. With the same bits per key everywhere the
// largest level takes nearly all of the memory; a byte does more in a small level, where it lowers the FPR of fewer
// keys (Dayan, Athanassoulis, Idreos: Monkey, SIGMOD 2017). The sum is least when no byte would do more elsewhere. For
// an ideal Bloom filter, FPRs are then proportional to the levels' keys, and a level whose FPR would be 1 has no
// filter.
//
// Here the curve of FPR against memory is the one that `solve` computes, so that the answer is best for what is really
// built: of every level's curve the lower convex hull is taken, and the pieces of all hulls are bought by what they
// gain a byte.
//
//     auto shares = bloomery::share_levels({.keys = 1'000'000'000, .levels = 5, .memory_bytes = 1 << 30,
//                                           .solve = &bloomery::bloom::plan});
//     // shares->levels[i].bits_per_key, shares->false_reads
#pragma once

#include <array>
#include <bloomery/sizing/sizing.hpp>
#include <span>

namespace bloomery::inline BLOOMERY_ABI {

inline constexpr unsigned most_levels = 64;

struct level_request {
  std::uint64_t keys = 0;  // of all levels
  unsigned levels = 0;     // 1 to most_levels
  double size_ratio = 10;  // a level's keys against those of the one before; 1 or more
  std::uint64_t memory_bytes = 0;
  // The plan of a kind: called with the keys of a level, and bits per key or memory.
  result<size_plan> (*solve)(const size_request&, std::string_view layout) noexcept = nullptr;
  std::string_view layout{};
  bool whole_bits = false;  // of bits per key: what is left of the memory buys no fraction of one
};

struct level_share {
  std::uint64_t keys = 0;
  std::uint64_t memory_bytes = 0;  // 0: no filter
  double bits_per_key = 0;
  unsigned hashes = 0;
  double fpr = 1;
};

struct level_shares {
  unsigned count = 0;
  std::array<level_share, most_levels> levels{};   // the first `count`, the smallest first
  std::array<level_share, most_levels> uniform{};  // the same bits per key for all
  std::uint64_t memory_bytes = 0;                  // of all filters
  double false_reads = 0;                          // per look-up of an absent key
  double uniform_false_reads = 0;

  [[nodiscard]] std::span<const level_share> shared() const noexcept { return {levels.data(), count}; }
  [[nodiscard]] std::span<const level_share> alike() const noexcept { return {uniform.data(), count}; }
};

// The keys of each level; a level that the keys do not reach has none. What is wrong with the numbers is an error.
BLOOMERY_API result<void> keys_of_levels(const level_request& request, std::span<std::uint64_t> keys) noexcept;

// Also an error: a level without keys, and memory refused.
BLOOMERY_API result<level_shares> share_levels(const level_request& request) noexcept;

// Filters whose FPR is 2^-b with a whole number b of bits per key, 1 to 16: those of compat/leveldb. A `solve`.
BLOOMERY_API result<size_plan> plan_of_whole_bits(const size_request& request, std::string_view layout) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/sizing/levels.cpp>
#endif
