#include "cli/filters/fullness.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "cli/filters/kind_table.hpp"
#include "cli/flags/numbers.hpp"

namespace bloomery::cli {

fullness fullness_of(const kind_entry& of, const filter_stats& stats) {
  const kind_info& kind = *of.info;
  constexpr double countable_fill = 0.9;
  const auto capacity = static_cast<double>(stats.capacity_keys);
  const double estimated = std::min(stats.estimated_keys, static_cast<double>(max_keys));
  fullness out;
  out.keys = std::max(stats.keys.keys, static_cast<std::uint64_t>(estimated + 0.5));
  out.taken = out.keys;
  // An intersection is fuller than its keys make it. Within the capacity, hardly an insert is missed by what is
  // counted.
  if (!stats.keys.exact && stats.cells.cells != 0 && estimated <= capacity) out.keys = stats.keys.keys;
  if (of.capabilities.expires) {  // what is too much is forgotten, and what was counted may be
    out.keys = static_cast<std::uint64_t>(estimated + 0.5);
    return out;
  }
  if (!stats.target_known) return out;
  out.countable = kind.exact || kind.grows || stats.fill < countable_fill;
  // What was counted is never too much. An estimate is off by a few times the square root of what it estimates, at
  // most, as long as the filter is not far above its capacity.
  // A kind that grows has no capacity to exceed: merges can raise its FPR above the target at any number of keys.
  if (stats.loss) out.taken = stats.loss->added_keys;
  const std::uint64_t counted = stats.loss ? stats.loss->added_keys : stats.keys.keys;
  const double guessed = stats.loss ? static_cast<double>(stats.loss->added_keys) : estimated;
  // In a filter that is nearly full hardly an insert changes anything: what was counted stops below the capacity.
  const bool crammed = !out.countable && guessed > 1.25 * capacity + 5 * std::sqrt(capacity);
  const bool over_capacity = kind.grows         ? true
                             : stats.keys.exact ? counted > stats.capacity_keys || crammed
                                                : guessed > capacity + 0.005 * capacity + 2 * std::sqrt(capacity);
  // Where the layout delivers a higher FPR than promised, that alone is no sign of too many keys; the estimate from the
  // fill of a small filter is off by a tenth.
  out.overfull = over_capacity && stats.fpr_now > std::max(stats.target_fpr, 1.25 * stats.delivered_fpr);
  return out;
}

std::string target_fpr_text(const filter_stats& stats) {
  if (!stats.target_known) return "promised: unknown, not stored in the file";
  return fmt::format("promised {}", percent(stats.target_fpr));
}

std::string overfull_advice(const kind_info& kind, const filter_stats& stats, const fullness& full) {
  const std::string capacity = with_commas(stats.capacity_keys);
  if (kind.grows)
    return fmt::format("its FPR is above the promised one: build it again from its keys with -n {}", full.keys);
  if (!full.countable) {
    return fmt::format("it holds far more keys than the {} that it was made for, too many to count: build it again",
                       capacity);
  }
  std::string text =
      fmt::format("it {} {} and was made for {}: build it again with -n {}", stats.loss ? "has taken" : "holds about",
                  number_of(full.taken, "key"), capacity, full.taken);
  const auto plan = plan_kind(kind, {.keys = full.taken, .fpr = stats.target_fpr});
  if (plan) {
    text.append(
        fmt::format(", which takes {} ({:.2f} bits per key)", human_size(plan->memory_bytes), plan->bits_per_key));
  }
  return text.append(", and with --headroom 20% if more keys are to come");
}

std::string delivered_advice(const filter_stats& stats) {
  constexpr double worth_saying = 1.05;
  if (!stats.target_known || stats.delivered_fpr <= worth_saying * stats.target_fpr) return {};
  return fmt::format(
      "its layout delivers {} when it is full, promised was {}: all bits of a key come from two hashes, which too many "
      "keys share in a filter this small; build it for more keys (-n), or in another layout",
      percent(stats.delivered_fpr), percent(stats.target_fpr));
}

std::string loss_advice(const filter_stats& stats) {
  if (!stats.loss || stats.loss->removals <= stats.loss->capacity_removals ||
      stats.loss->rate <= stats.loss->target_rate) {
    return {};
  }
  return fmt::format(
      "it has {} and was made for {}: it loses {} of its keys, promised was {}; build it again from its "
      "keys",
      number_of(stats.loss->removals, "removal"), with_commas(stats.loss->capacity_removals), percent(stats.loss->rate),
      percent(stats.loss->target_rate));
}

}  // namespace bloomery::cli
