// cli/dedup_approx.hpp: which keys were seen before, by filters: a few bits a key, and a small share of mistakes.
//
//     seen_filter seen(std::move(filter), hash);              // made for a known number of keys
//     auto seen = seen_filter::growing(p, hash, ceiling);      // or for any number
//     seen.add(keys, digests, fresh);                          // fresh[i]: key i was not there; now it is
//
// A mistake is always the same: a new key that seems to have been seen. One filter makes at most a share of p of them
// while it holds no more keys than it was made for. When their number is not known, filters of doubling size are
// chained, each with half the rate of the one before, so that all together stay below p however many there are.
#pragma once

#include <bloomery/any_filter.hpp>
#include <bloomery/hash/hasher.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cli/problem.hpp"

namespace bloomery::cli {

class seen_filter {
 public:
  seen_filter(any_filter filter, const hasher& hash) : hash_(hash) { links_.push_back(std::move(filter)); }
  // The links together take no more than the ceiling.
  static outcome<seen_filter> growing(double fpr, const hasher& hash, std::optional<std::uint64_t> ceiling_bytes);

  // digests[i] is the 64-bit digest of keys[i].
  outcome<void> add(std::span<const std::string_view> keys, std::span<const std::uint64_t> digests,
                    std::vector<bool>& fresh);

  // The only one, where it does not grow.
  [[nodiscard]] any_filter& filter() { return links_.front(); }
  [[nodiscard]] std::uint64_t memory_bytes() const { return memory_bytes_; }

 private:
  explicit seen_filter(const hasher& hash) : hash_(hash) {}
  outcome<void> grow();
  outcome<void> ask(const any_filter& link, std::span<const std::uint64_t> digests);

  hasher hash_;
  std::vector<any_filter> links_;  // the last one takes new keys
  bool grows_ = false;
  double next_fpr_ = 0;
  std::uint64_t capacity_ = 0;  // of the last link
  std::uint64_t inserted_ = 0;  // into it
  std::uint64_t memory_bytes_ = 0;
  std::optional<std::uint64_t> ceiling_bytes_;
  std::vector<digest128> wide_;  // of the keys being added, where a link asks for them
  std::vector<std::uint64_t> mask_;
};

}  // namespace bloomery::cli
