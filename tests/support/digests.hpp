// Digests and random numbers that are the same in every run.
#pragma once

#include <bloomery/core/wide.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bloomery::test {

using key_list = std::vector<std::uint64_t>;

// Well-mixed, reproducible, all different: splitmix64 over a counter, one stream a seed.
class digest_source {
 public:
  explicit digest_source(std::uint64_t seed) : offset_(mix64(seed + 1)) {}
  std::uint64_t operator()() { return at(next_++); }
  [[nodiscard]] std::uint64_t at(std::uint64_t i) const { return mix64(offset_ + i * 0x9e3779b97f4a7c15ULL); }
  key_list take(std::size_t count) {
    key_list out(count);
    for (auto& digest : out) digest = (*this)();
    return out;
  }

 private:
  std::uint64_t offset_;
  std::uint64_t next_ = 0;
};

// Digest of sample key i; a sample of n keys holds those below n.
inline std::uint64_t sample_digest(std::uint64_t i) { return mix64(i + 1); }

class random_numbers {
 public:
  explicit random_numbers(std::uint64_t seed) : state_(mix64(seed)) {}
  std::uint64_t operator()() { return mix64(state_ += 0x9e3779b97f4a7c15ULL); }
  std::uint64_t below(std::uint64_t end) { return (*this)() % end; }
  bool once_in(std::uint64_t n) { return below(n) == 0; }
  template <class T>
  const T& one_of(const std::vector<T>& from) {
    return from[below(from.size())];
  }

 private:
  std::uint64_t state_;
};

}  // namespace bloomery::test
