// cli/verbs/lsm.hpp: how to share memory among the filters of a log-structured store, level by level.
//
// A look-up of an absent key queries the filter of every level, and reads a level for nothing on a false positive: on
// average as many levels as the false-positive rates (FPRs) add up to. With the same bits per key everywhere the
// largest level takes nearly all of the memory; a byte does more in a small level, where it lowers the FPR of fewer
// keys (Dayan, Athanassoulis, Idreos: Monkey, SIGMOD 2017). The sum is least when no byte would do more elsewhere. For
// an ideal Bloom filter, FPRs are then proportional to the levels' keys, and a level whose FPR would be 1 has no
// filter.
//
// Here the curve of FPR against memory is the kind's own, so that the answer is best for what is really built: of
// every level's curve the lower convex hull is taken, and the pieces of all hulls are bought by what they gain a byte.
//
//     auto question = read_lsm_question(opts);
//     auto answer = allot(*question);              // answer->levels[i].fpr, answer->false_reads
#pragma once

#include <bloomery/kinds/concept.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/flags/flags.hpp"
#include "cli/terminal/problem.hpp"

namespace bloomery::cli {

using plan_function = result<size_plan> (*)(const size_request&, std::string_view layout) noexcept;

struct lsm_question {
  std::uint64_t keys = 0;
  unsigned levels = 0;
  double size_ratio = 10;
  std::uint64_t memory_bytes = 0;
  const kind_info* kind = nullptr;
  plan_function solve = nullptr;
  std::string layout{};
};

struct lsm_level {
  std::uint64_t keys = 0;
  std::uint64_t memory_bytes = 0;  // 0: no filter
  double bits_per_key = 0;
  unsigned hashes = 0;
  double fpr = 1;
};

struct lsm_answer {
  std::vector<lsm_level> levels{};   // the smallest first
  std::uint64_t memory_bytes = 0;    // of all filters
  double false_reads = 0;            // per look-up of an absent key
  std::vector<lsm_level> uniform{};  // the same bits per key for all
  double uniform_false_reads = 0;
};

// Problems: options that are missing, or that contradict each other.
outcome<lsm_question> read_lsm_question(const options& opts);

lsm_answer allot(const lsm_question& question);

}  // namespace bloomery::cli
