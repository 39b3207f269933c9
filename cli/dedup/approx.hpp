// cli/dedup/approx.hpp: which keys were seen before, by filters: a few bits a key, and a small share of mistakes.
//
//     auto seen = seen_filter::make({.hash = hash, .fpr = p, .first_capacity = n});   // for any number of keys
//     auto seen = seen_filter::over(std::move(filter), name, hash, ceiling);          // that of a state
//     seen->add(keys, digests, fresh);                          // fresh[i]: key i was not there; now it is
//
// A mistake is always the same: a new key that seems to have been seen. Of all new keys at most a share of p is lost
// so, however many there are. A filter keeps its FPR while it holds no more keys than its capacity; for more, another
// one is added, of twice the capacity or more, and each gets a share of p: 6 / (pi i)^2 for the i-th. The shares add up
// to 1, so the FPRs of all filters together stay below p. A filter of a state that cannot grow ends the run, with an
// error, at the first new key that it has no room for.
#pragma once

#include <bloomery/any_filter.hpp>
#include <bloomery/hash/hasher.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal/problem.hpp"

namespace bloomery::cli {

struct seen_settings {
  hasher hash;
  double fpr = 0.01;
  std::uint64_t first_capacity = std::uint64_t{1} << 20U;
  bool grows = true;                             // false: more keys than that would mean that the input has changed
  std::optional<std::uint64_t> ceiling_bytes{};  // of all filters together
};

class seen_filter {
 public:
  static outcome<seen_filter> make(const seen_settings& settings);
  // Takes new keys as long as it keeps its promised FPR; a problem if it exceeds that already, or has none.
  static outcome<seen_filter> over(any_filter filter, std::string name, const hasher& hash,
                                   std::optional<std::uint64_t> ceiling_bytes);

  // digests[i] is the 64-bit digest of keys[i].
  outcome<void> add(std::span<const std::string_view> keys, std::span<const std::uint64_t> digests,
                    std::vector<bool>& fresh);

  [[nodiscard]] double target_fpr() const { return settings_.fpr; }
  // From how full the filters are.
  [[nodiscard]] outcome<double> fpr_now() const;
  // The filter of a state.
  [[nodiscard]] any_filter& filter() { return filters_.front(); }

 private:
  // What is being added.
  struct batch {
    std::span<const std::uint64_t> digests;
    std::span<const digest128> digests128;  // if a filter takes them
    [[nodiscard]] key_batch part(unsigned digest_bits, std::size_t first, std::size_t count) const {
      if (digest_bits == 128) return as_prehashed(digests128.subspan(first, count));
      return as_prehashed(digests.subspan(first, count));
    }
  };
  explicit seen_filter(const seen_settings& settings) : settings_(settings) {}
  [[nodiscard]] bool is_full() const { return room_ && *room_ == 0; }
  outcome<void> make_room();
  outcome<void> check_ceiling();
  outcome<void> look_up(const any_filter& filter, const batch& what, std::size_t first, std::size_t count);
  // Adds what is new from `first` on, to the end or until a filter was added; where it stopped.
  outcome<std::size_t> add_some(const batch& what, std::size_t first, std::vector<bool>& fresh);

  seen_settings settings_;
  std::vector<any_filter> filters_;    // the last one takes new keys
  std::string state_name_;             // "": these are no state
  std::uint64_t capacity_ = 0;         // of the last filter
  std::optional<std::uint64_t> room_;  // in the last filter; none: unlimited
  std::uint64_t memory_bytes_ = 0;
  std::uint64_t keys_ = 0;             // of a state
  std::uint64_t next_check_ = 0;       // of its memory: with so many keys
  std::vector<digest128> digests128_;  // of the keys being added, if a filter takes them
  std::vector<std::uint64_t> mask_;
};

}  // namespace bloomery::cli
