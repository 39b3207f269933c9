// cli/keys/seen_keys.hpp: which keys were seen, at 8 to 16 bytes each.
//
// It keeps fingerprints of 64 bits, by a hash that is independent of any filter's: what a filter confuses, this
// does not. Two of ten million different keys share one with a probability of 0.0003 %.
//
//     seen.add(prints);                            // of many keys: seen_keys::print(key)
//     seen.sort(jobs_of(opts));                   // once, before contains()
//     seen.size(), seen.contains(seen_keys::print(key))
#pragma once

#include <algorithm>
#include <bloomery/hash/xxh3.hpp>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace bloomery::cli {

class seen_keys {
 public:
  static std::uint64_t print(std::string_view key) {
    constexpr xxh3 hash{.seed = 0x76657269667920ULL};
    return hash(key.data(), key.size());
  }

  seen_keys() : buckets_(bucket_count) {}
  void add(std::span<const std::uint64_t> prints) {
    for (const std::uint64_t each : prints) buckets_[bucket_of(each)].push_back(each);
  }
  // On so many threads; equal ones become one.
  void sort(unsigned threads);

  // Different keys, after sort().
  [[nodiscard]] std::uint64_t size() const { return size_; }
  // From any number of threads, after sort().
  [[nodiscard]] bool contains(std::uint64_t print) const {
    const std::vector<std::uint64_t>& bucket = buckets_[bucket_of(print)];
    return std::binary_search(bucket.begin(), bucket.end(), print);
  }

 private:
  // By the first bits, so that each can be sorted apart and in cache.
  static constexpr unsigned bucket_bits = 10;
  static constexpr std::size_t bucket_count = std::size_t{1} << bucket_bits;
  static std::size_t bucket_of(std::uint64_t print) { return print >> (64U - bucket_bits); }

  std::vector<std::vector<std::uint64_t>> buckets_;
  std::uint64_t size_ = 0;
};

}  // namespace bloomery::cli
