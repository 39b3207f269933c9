// kinds/window/fpr.hpp: the exact false-positive rates of the window filter's layouts.
//
// Lanes have 32 bits. With c keys in a lane, an absent key finds its bit there with probability 1 - q^c, q = 31/32.
// Each of the g keys of a generation falls into a line with probability 1/L, so that for any j the mean of q^(j c) over
// the c keys that one generation leaves in one line is w_j = (1 - (1 - q^j) / L)^g: no Poisson approximation, right for
// one line as for 2^40. FPRs are those at the end of a generation, when the filter is fullest.
//
// stamped   Logical lane i holds the keys of generations max(0, i - k + 1) to i, so the lanes of a line are not
//           independent, and an absent key is taken for present if it finds its bit in k lanes in a row. Multiplied
//           out, the chance of that is a sum of terms +-prod q^(S_i) over sets of lanes, and the mean of a term is the
//           product over the generations of w_j, j being how many lanes of the set the generation covers. A generation
//           covers k lanes in a row: so the sum is taken lane by lane, over the state (length of the run so far; which
//           of the last k - 1 lanes are in the set).
// rotating  A slot is a blocked Bloom filter of 15 lanes in which a key uses k lanes, from any of the 15 on. The slots
//           hold different keys, and the FPR is 1 - (1 - that of a slot)^slots.
//
// A digest has 32 bits for its place in a line: two keys of a line may have nearly the same. That adds a little.
#pragma once

#include <array>
#include <bit>
#include <bloomery/core/buffer.hpp>
#include <bloomery/kernels/window.hpp>
#include <cmath>
#include <cstdint>

namespace bloomery::inline BLOOMERY_ABI {

class window_fpr {
 public:
  static constexpr unsigned max_stamped_hashes = 10;
  static constexpr unsigned max_rotating_hashes = 12;

  // Of slots = 1, stamped, or more, rotating. `keys` is a generation's.
  static double rate(unsigned slots, unsigned hashes, double keys, double lines) noexcept {
    std::array<double, kernels::window_lanes + 1> means{};
    for (unsigned j = 0; j < means.size(); ++j) means[j] = mean_of(kept_share(j), keys, lines);
    const double alike = keys / lines * same_probe;
    if (slots == 1) {
      return bounded(stamped(hashes, means) + alike * (kernels::window_lanes - hashes + 1));
    }
    const double missed = 1.0 - bounded(rotating(hashes, keys, lines) + alike);
    return bounded(1.0 - std::pow(missed, slots));
  }

  // The chance that a line whose logical lanes are so full answers yes: the first run of k hits ends at some lane, so
  // that the lane before the run, if there is one, is no hit, and there is no run before that.
  static double run_chance(const std::array<double, kernels::window_lanes>& fill, unsigned hashes) noexcept {
    std::array<double, kernels::window_lanes + 1> without{};  // [i]: no run among the first i lanes
    for (unsigned end = 0; end <= kernels::window_lanes; ++end) {
      without[end] = end == 0 ? 1.0 : without[end - 1];
      if (end < hashes) continue;
      double run = 1.0;
      for (unsigned lane = end - hashes; lane < end; ++lane) run *= fill[lane];
      if (end > hashes) run *= (1.0 - fill[end - hashes - 1]) * without[end - hashes - 1];
      without[end] -= run;
    }
    return 1.0 - without[kernels::window_lanes];
  }
  // The same for a slot of the layout rotating.
  static double slot_chance(const std::array<double, kernels::window_lanes>& fill, unsigned hashes) noexcept {
    double sum = 0;
    for (unsigned first = 0; first < kernels::window_lanes; ++first) {
      double chance = 1;
      for (unsigned i = 0; i < hashes; ++i) chance *= fill[(first + i) % kernels::window_lanes];
      sum += chance;
    }
    return sum / kernels::window_lanes;
  }

 private:
  // The chance that the places of two keys in a line cannot be distinguished: 2^-32, and some for places that are
  // close.
  static constexpr double same_probe = 1.0 / (1U << 30U);
  // Alternating terms of size 1 leave noise near 1e-13: nothing below is claimed.
  static constexpr double floor = 1e-11;

  static double bounded(double rate) noexcept { return !(rate > floor) ? floor : rate < 1.0 ? rate : 1.0; }
  static double kept_share(unsigned lanes) noexcept { return std::pow(31.0 / 32.0, lanes); }
  static double mean_of(double share, double keys, double lines) noexcept {
    const double missing = (1.0 - share) / lines;
    return missing >= 1.0 ? 0.0 : std::exp(keys * std::log1p(-missing));
  }

  static double stamped(unsigned hashes, const std::array<double, kernels::window_lanes + 1>& means) noexcept {
    constexpr std::size_t most_sets = std::size_t{1} << (max_stamped_hashes - 1);
    const std::size_t sets = std::size_t{1} << (hashes - 1);
    // A caller's stack may be small. Refused memory leaves what is true of every filter.
    struct table {
      std::array<double, most_sets> tail;
      std::array<double, max_stamped_hashes * most_sets> now;
      std::array<double, max_stamped_hashes * most_sets> next;
    };
    auto memory = aligned_buffer::make(sizeof(table), "the false-positive rate");
    if (!memory) return 1.0;
    auto& [tail, now, next] = *reinterpret_cast<table*>(memory->data());
    // tail[set]: what the generations that began after the oldest of the last k lanes contribute, the set being final.
    for (std::size_t set = 0; set < sets; ++set) {
      tail[set] = 1;
      for (unsigned length = 1; length < hashes; ++length) {
        tail[set] *= means[static_cast<unsigned>(std::popcount(set & ((std::size_t{1} << length) - 1)))];
      }
    }
    now[0] = 1;
    double total = 0;
    for (unsigned lane = 0; lane < kernels::window_lanes; ++lane) {
      next.fill(0);
      for (unsigned run = 0; run < hashes; ++run) {
        for (std::size_t set = 0; set < sets; ++set) {
          const double value = now[run * sets + set];
          if (value == 0.0) continue;
          for (std::size_t in_set = 0; in_set < 2; ++in_set) {
            const std::size_t wide = set << 1U | in_set;
            const std::size_t kept = wide & (sets - 1);
            const double term = lane + 1 < hashes ? value : value * means[static_cast<unsigned>(std::popcount(wide))];
            // A hit is 1 - q^S: in the set with a minus, or not in it. A miss is q^S.
            const double hit = in_set != 0 ? -term : term;
            if (run + 1 == hashes) {
              total += hit * tail[kept];
            } else {
              next[(run + 1) * sets + kept] += hit;
            }
            if (in_set != 0) next[kept] += term;
          }
        }
      }
      now = next;
    }
    return total;
  }

  static double rotating(unsigned hashes, double keys, double lines) noexcept {
    const std::uint32_t asked = (1U << hashes) - 1;
    std::array<double, kernels::window_lanes + 1> share{};
    for (unsigned j = 0; j < share.size(); ++j) share[j] = kept_share(j);
    double total = 0;
    for (std::uint32_t set = 0; set <= asked; ++set) {
      double mean = 0;
      for (unsigned first = 0; first < kernels::window_lanes; ++first) {
        mean += share[static_cast<unsigned>(std::popcount(set & kernels::window_physical(asked, first)))];
      }
      const double term = mean_of(mean / kernels::window_lanes, keys, lines);
      total += std::popcount(set) % 2 == 0 ? term : -term;
    }
    return total;
  }
};

}  // namespace bloomery::inline BLOOMERY_ABI
