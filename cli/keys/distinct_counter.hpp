// cli/keys/distinct_counter.hpp: how many different digests there are among many.
//
//     distinct_counter counter;
//     counter.add(digests);
//     counter.different();           // exact, or an estimate
//     counter.at_most();             // what to size a filter for
//
// Exact up to half a million different digests, which it keeps in a table. Above that it estimates, in 256 KiB, with
// HyperLogLog: of 2^18 registers each remembers the longest run of zero bits seen among the digests that fall to it
// (Flajolet and others 2007, with the estimator of Ertl 2017, which is unbiased at every size). The standard error is
// 1.04 / sqrt(2^18) = 0.2 %; at_most() adds 1 %, five standard errors: less than one input in a million has more. The
// result depends on which digests were added, not on their order or repetition.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace bloomery::cli {

class distinct_counter {
 public:
  static constexpr double margin = 0.01;

  distinct_counter();
  void add(std::span<const std::uint64_t> digests);
  [[nodiscard]] bool is_exact() const { return registers_.empty(); }
  [[nodiscard]] std::uint64_t different() const;
  // An upper bound with overwhelming probability, and never more than were added.
  [[nodiscard]] std::uint64_t at_most() const;
  [[nodiscard]] std::uint64_t added() const { return added_; }

 private:
  static constexpr unsigned index_bits = 18;
  static constexpr unsigned most_zeros = 64 - index_bits;
  static constexpr std::uint64_t most_in_table = std::uint64_t{1} << 19U;

  // Digests are mixed first: a hash chosen by the user may be weak in its upper bits.
  void keep(std::uint64_t mixed);
  void grow();
  void note(std::uint64_t mixed);
  [[nodiscard]] double estimate() const;

  std::vector<std::uint64_t> table_;  // open addressing; 0 is an empty slot
  std::uint64_t in_table_ = 0;
  bool has_zero_ = false;
  std::vector<std::uint8_t> registers_;
  std::uint64_t added_ = 0;
};

}  // namespace bloomery::cli
