// cli/filters/fullness.hpp: whether a filter holds more keys than its capacity, and what to do about it.
//
//     const fullness of = fullness_of(filter.kind(), stats);
//     if (of.overfull) out.append(overfull_advice(filter.info(), stats, of));
#pragma once

#include <bloomery/any_filter.hpp>
#include <cstdint>
#include <string>

namespace bloomery::cli {

// A filter that matches more than half of the absent keys is useless.
inline constexpr double useless_fpr = 0.5;

struct fullness {
  // Keys in it, as well as can be estimated. A filter counts the inserts that changed something; the fuller it is, the
  // fewer do, and the better the estimate from its fill.
  std::uint64_t keys = 0;
  // What counts against its capacity: the keys in it; where removed ones still take room, all that were added.
  std::uint64_t taken = 0;
  // False: it is so full that its bits allow no estimate, and there may be far more.
  bool countable = true;
  // Holds more keys than its capacity, and its FPR is above the target.
  bool overfull = false;
};

fullness fullness_of(const kind_entry& of, const filter_stats& stats);

// "promised 1.00 %", or that it is unknown.
std::string target_fpr_text(const filter_stats& stats);

// "it holds about 3,000 keys and was made for 1,000: build it again with -n 3000, which takes ..."
std::string overfull_advice(const kind_info& kind, const filter_stats& stats, const fullness& full);

// Of a filter whose layout cannot keep its target FPR, however few keys it holds: "its layout delivers 0.021 %,
// promised was 0.010 %: ..."; empty for others.
std::string delivered_advice(const filter_stats& stats);

// Of a filter that may lose keys and has more removals than it was made for: "it has 2,000 removals and was made for
// 1,000: it loses ..."; empty for others.
std::string loss_advice(const filter_stats& stats);

}  // namespace bloomery::cli
