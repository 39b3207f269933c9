// guards/lookup/stats.hpp: what a lookup_guard has counted.
#pragma once

#include <bloomery/core/binomial.hpp>
#include <bloomery/core/config.hpp>
#include <cstdint>

namespace bloomery::inline BLOOMERY_ABI {

// Since the guard was made. Each look-up is one of saved, confirmed, false_positives, unfiltered and failed.
struct lookup_stats {
  std::uint64_t saved = 0;            // the answer was "absent" without the source
  std::uint64_t remembered = 0;       // those of them that a reported false positive answered, not the filter
  std::uint64_t confirmed = 0;        // the source had the key
  std::uint64_t false_positives = 0;  // the filter said "maybe", and the source did not have the key
  std::uint64_t unfiltered = 0;       // the source was queried because the filter could not answer
  std::uint64_t failed = 0;           // the source returned an error
  std::uint64_t inserts = 0;
  std::uint64_t removals = 0;  // of keys that the source had
  std::uint64_t erased = 0;    // those of them that left the filter, too
  std::uint64_t reports = 0;   // false positives that were remembered
  std::uint64_t rebuilds = 0;
  std::uint64_t failed_rebuilds = 0;

  [[nodiscard]] std::uint64_t queried() const noexcept {
    return saved + confirmed + false_positives + unfiltered + failed;
  }
  // The share of look-ups that did not reach the source; 0 before the first.
  [[nodiscard]] double efficiency() const noexcept { return share(saved, queried()); }
  // Look-ups of keys that the source does not have, as far as the filter answered them.
  [[nodiscard]] std::uint64_t absent() const noexcept { return saved + false_positives; }
  // The share of them that reached the source all the same; 0 before the first.
  [[nodiscard]] double measured_fpr() const noexcept { return share(false_positives, absent()); }
  // The true rate is between these with a confidence of 99 %, if look-ups of absent keys do not repeat.
  [[nodiscard]] double fpr_at_least() const noexcept { return binomial::lower_bound(false_positives, absent(), 0.005); }
  [[nodiscard]] double fpr_at_most() const noexcept { return binomial::upper_bound(false_positives, absent(), 0.005); }

 private:
  static double share(std::uint64_t part, std::uint64_t all) noexcept {
    return all == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(all);
  }
};

}  // namespace bloomery::inline BLOOMERY_ABI
