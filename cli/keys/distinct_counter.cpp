#include "cli/keys/distinct_counter.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <bloomery/core/wide.hpp>
#include <cmath>
#include <limits>

namespace bloomery::cli {
namespace {

// What the registers that are still empty, a share x of all, add to the harmonic mean: x + sum of x^(2^k) 2^(k-1).
double empty_part(double x) {
  if (x >= 1) return std::numeric_limits<double>::infinity();
  double sum = x;
  double weight = 1;
  for (double before = -1; sum != before; weight *= 2) {
    before = sum;
    x *= x;
    sum += x * weight;
  }
  return sum;
}

// The same for the registers that are full, where x is the share of those that are not.
double full_part(double x) {
  if (x <= 0 || x >= 1) return 0;
  double sum = 1 - x;
  double weight = 1;
  for (double before = -1; sum != before;) {
    before = sum;
    x = std::sqrt(x);
    weight /= 2;
    sum -= (1 - x) * (1 - x) * weight;
  }
  return sum / 3;
}

}  // namespace

distinct_counter::distinct_counter() : table_(std::size_t{1} << 12U) {}

void distinct_counter::grow() {
  std::vector<std::uint64_t> old(table_.size() * 2);
  old.swap(table_);
  in_table_ = 0;
  for (const std::uint64_t mixed : old) {
    if (mixed != 0) keep(mixed);
  }
}

void distinct_counter::keep(std::uint64_t mixed) {
  if (mixed == 0) {
    has_zero_ = true;
    return;
  }
  const std::size_t mask = table_.size() - 1;
  std::size_t at = static_cast<std::size_t>(mixed) & mask;
  while (table_[at] != 0 && table_[at] != mixed) at = (at + 1) & mask;
  if (table_[at] == mixed) return;
  table_[at] = mixed;
  if (++in_table_ * 2 > table_.size()) grow();
}

void distinct_counter::note(std::uint64_t mixed) {
  const std::size_t index = static_cast<std::size_t>(mixed >> (64 - index_bits));
  // The bit after the last that counts ends the run.
  const std::uint64_t rest = mixed << index_bits | std::uint64_t{1} << (index_bits - 1);
  const auto run = static_cast<std::uint8_t>(std::countl_zero(rest) + 1);
  if (registers_[index] < run) registers_[index] = run;
}

void distinct_counter::add(std::span<const std::uint64_t> digests) {
  added_ += digests.size();
  std::size_t i = 0;
  if (is_exact()) {
    for (; i < digests.size() && in_table_ < most_in_table; ++i) keep(mix64(digests[i]));
    if (in_table_ < most_in_table) return;
    registers_.resize(std::size_t{1} << index_bits);
    for (const std::uint64_t mixed : table_) {
      if (mixed != 0) note(mixed);
    }
    if (has_zero_) note(0);
    table_ = {};
  }
  for (; i < digests.size(); ++i) note(mix64(digests[i]));
}

double distinct_counter::estimate() const {
  std::array<std::uint64_t, most_zeros + 2> count{};
  for (const std::uint8_t run : registers_) ++count[run];
  const double m = static_cast<double>(registers_.size());
  double mean = m * full_part(1 - static_cast<double>(count[most_zeros + 1]) / m);
  for (unsigned run = most_zeros; run > 0; --run) mean = (mean + static_cast<double>(count[run])) / 2;
  mean += m * empty_part(static_cast<double>(count[0]) / m);
  return m * m / (2 * std::log(2.0) * mean);
}

std::uint64_t distinct_counter::different() const {
  if (is_exact()) return in_table_ + (has_zero_ ? 1 : 0);
  return std::min(added_, static_cast<std::uint64_t>(estimate() + 0.5));
}

std::uint64_t distinct_counter::at_most() const {
  if (is_exact()) return different();
  return std::min(added_, static_cast<std::uint64_t>(estimate() * (1 + margin) + 0.5));
}

}  // namespace bloomery::cli
