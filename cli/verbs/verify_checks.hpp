// cli/verbs/verify_checks.hpp: what `bloomery verify` finds out; verify.cpp prints it.
//
// Keys and probes are looked up on all threads; the result does not depend on their number.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/filters/fullness.hpp"
#include "cli/filters/open.hpp"

namespace bloomery::cli {

struct missing_key {
  std::uint64_t line = 0;
  std::string text;
};

struct findings {
  static constexpr double confidence = 0.99;
  static constexpr double tolerance = 1.05;

  std::uint64_t keys = 0;
  std::uint64_t different = 0;  // of these
  std::uint64_t missing = 0;
  std::vector<missing_key> first_missing{};
  std::uint64_t probes = 0;
  std::uint64_t hits = 0;
  std::uint64_t not_absent = 0;  // of --absent, left out because they are keys
  bool generated = true;         // the probes, or they came from --absent
  double low = 0;                // the true FPR is between these, with the stated confidence
  double high = 1;
  double lost_low = 0;  // of missing keys, the same
  double lost_high = 1;
  filter_stats stats{};
  fullness full{};
  bool exact = false;  // about these probes

  [[nodiscard]] double rate() const {
    return probes == 0 ? 0.0 : static_cast<double>(hits) / static_cast<double>(probes);
  }
  // Some kinds may, from their first removal on.
  [[nodiscard]] bool may_lose() const { return stats.loss && stats.loss->removals != 0; }
  [[nodiscard]] double loss_rate() const {
    return keys == 0 ? 0.0 : static_cast<double>(missing) / static_cast<double>(keys);
  }
  [[nodiscard]] bool keys_hold() const {
    return missing == 0 || (may_lose() && !(lost_low > tolerance * stats.loss->target_rate));
  }
  // What the FPR is compared with: the promised one, or if unknown, the one expected from the fill.
  [[nodiscard]] double fpr_wanted() const { return stats.target_known ? stats.target_fpr : stats.fpr_now; }
  [[nodiscard]] bool fpr_holds() const { return exact ? hits == 0 : !(low > tolerance * fpr_wanted()); }
  [[nodiscard]] bool holds() const { return keys_hold() && fpr_holds(); }
};

// Without --keys there are no keys to look up. `observe` is called for each chunk of them, with digests, in order.
using key_observer = std::function<void(const key_chunk& chunk)>;
outcome<findings> examine(const options& opts, const opened_filter& opened, const key_observer& observe = {});

// What to change, one sentence each; empty when there is nothing.
std::vector<std::string> advice_on(const findings& found, const opened_filter& opened);

}  // namespace bloomery::cli
