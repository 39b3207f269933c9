// kinds/double_hashing.hpp: the false-positive rate of a Bloom filter whose probes are
// (a + i b mod 2^w) mod m, i = 0 .. k - 1.
//
// For RedisBloom's sub-filters (w = 64), and for filters of Guava (w = 63, or 32 bits with a sign) and Spark. The
// classic formula, fill^k, takes the k bits of a key to be independent. They are an arithmetic progression, and for
// FPRs below about 1 / m that is what decides:
//
//   short progressions   b of a small order d modulo m gives d bits instead of k, and is answered yes with the
//                        probability fill^d. Where m divides 2^w there are phi(d) such b for every d that divides m.
//                        Where it does not, every wrap around 2^w shifts the progression by s = 2^w mod m. It still
//                        closes after i steps if i b = j s mod m and the wraps come at a pace near j / i: with
//                        e = |b / 2^w - j / i| it has about i + i (k - i) e bits. The mean over e is a geometric
//                        series.
//   equal progressions   a key with the same step, or the opposite one, that starts d steps away shares k - d bits:
//                        2 + 4 (fill + fill^2 + ...) pairs of m^2 for each key. Wraps keep all but about one in k / 2
//                        of them apart.
//
// Added up, both are near 1 / m where m is a power of two, and near 0.4 / m elsewhere: 100 keys at 0.01 % in layout
// redis have twice the FPR requested. Simulated for 10 to 10,000 keys and FPRs from 1 % to 0.001 %, the formula is
// within 15 % where m is a power of two and within 25 % elsewhere. Fitted are the term with the third power of k / m,
// and the share of turned_over_32, which may be off by half (tests/kinds/double_hashing_test.cpp).
//
// A. Kirsch, M. Mitzenmacher, "Less hashing, same performance: building a better Bloom filter", 2006, show that the
// difference vanishes as m grows for a fixed FPR.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <bloomery/core/config.hpp>
#include <bloomery/core/size.hpp>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace bloomery::inline BLOOMERY_ABI {

enum class progression : std::uint8_t {
  wraps_64,
  wraps_63,
  turned_over_32,  // in 32 bits with a sign; negative numbers are turned over
  never_wraps,     // b is far smaller than what the sum is kept in
};

class double_hashing {
 public:
  // `keys` in m = `bits` bits, of which each sets k = `hashes`.
  double_hashing(double keys, std::uint64_t bits, std::uint64_t hashes,
                 progression steps = progression::wraps_64) noexcept
      : n_(keys),
        m_(static_cast<double>(bits)),
        k_(static_cast<double>(hashes)),
        bits_(bits),
        hashes_(hashes),
        steps_(steps) {}

  // With a share of bits set that is known.
  [[nodiscard]] double fpr(double fill) const noexcept {
    if (!(fill > 0) || bits_ == 0 || hashes_ == 0) return hashes_ == 0 ? 1.0 : 0.0;
    if (fill >= 1) return 1;
    const bool whole = steps_ == progression::never_wraps || std::has_single_bit(bits_);
    const double share = steps_ == progression::turned_over_32 ? 0.45 : 1.0;
    return std::min(1.0, std::pow(fill, k_) + share * (whole ? without_wraps(fill) : with_wraps(fill)));
  }
  // With the share that so many keys set.
  [[nodiscard]] double fpr() const noexcept {
    return bits_ < 2 ? fpr(n_ > 0 ? 1.0 : 0.0) : fpr(-std::expm1(n_ * k_ * std::log1p(-1.0 / m_)));
  }

 private:
  // m divides 2^w, or nothing wraps.
  [[nodiscard]] double without_wraps(double fill) const noexcept {
    const double all = std::pow(fill, k_);
    const auto most = static_cast<std::uint64_t>(std::min({4 * k_, m_, 4.0 * longest}));
    double sum = 0;
    for (std::uint64_t order = 1; order <= most; ++order) {
      if (bits_ % order != 0) continue;
      const auto d = static_cast<double>(order);
      const auto steps = static_cast<double>(prime_to(order));  // that have this order
      if (d < k_) sum += steps / m_ * (std::pow(fill, d) - all);
      // A key in the same coset covers it, or most of it.
      const double missing = d <= k_ ? 0.0 : k_ * (1 - k_ / d);
      sum += n_ * steps * steps * d / (m_ * m_ * m_) * std::pow(fill, missing) * (1 - std::pow(fill, std::min(d, k_)));
    }
    // The last term: steps twice or half as long.
    const double pairs = 2 + ends(fill) + 4 * (k_ / 2 + 2) * std::pow(fill, k_ / 2);
    return sum + n_ / (m_ * m_) * pairs;
  }

  [[nodiscard]] double with_wraps(double fill) const noexcept {
    // 2^w mod m; its order is the odd part of m, which is how many shifts there are.
    const std::uint64_t shift = steps_ == progression::wraps_64   ? (0 - bits_) % bits_
                                : steps_ == progression::wraps_63 ? (std::uint64_t{1} << 63U) % bits_
                                                                  : (std::uint64_t{1} << 32U) % bits_;
    const double shifts = static_cast<double>(bits_ >> std::countr_zero(bits_));
    std::array<std::array<double, longest + 1>, longest + 1> steps{};
    double sum = 0;
    for (std::uint64_t i = 1; i <= longest && i < hashes_; ++i) {
      const double each = mean_over_pace(static_cast<double>(i), shifts, fill) / m_;
      const std::uint64_t common = std::gcd(i, bits_);
      for (std::uint64_t j = 0; j <= i; ++j) {
        // How many b close after i steps and j wraps, and not before.
        double count = shift % common * j % common == 0 ? static_cast<double>(common) : 0.0;
        for (std::uint64_t part = 2; part <= std::gcd(i, j); ++part) {
          if (std::gcd(i, j) % part == 0) count -= steps[to_size(i / part)][to_size(j / part)];
        }
        steps[to_size(i)][to_size(j)] = count;
        sum += count * each * (j == 0 || j == i ? 1.0 : 2.0);  // a pace above j / i, and one below
      }
    }
    const double pairs = (2 + ends(fill)) * 2 / k_;
    return sum + n_ / (m_ * m_) * pairs + 0.35 * n_ * std::pow(k_ / m_, 3);
  }
  // The mean of fill^bits over e from 0 to 1 / i, beyond that of whole progressions. There are i * shifts bits at most.
  [[nodiscard]] double mean_over_pace(double i, double shifts, double fill) const noexcept {
    const double more = std::min(k_ - i, i * (shifts - 1));
    const double rising = std::pow(fill, i) * (1 - std::pow(fill, more)) / (1 - fill) * (1 + fill) / 2;
    const double level = (k_ - i - more) * std::pow(fill, i + more);
    return (rising + level) / (i * (k_ - i)) - std::pow(fill, k_) / i;
  }
  [[nodiscard]] double ends(double fill) const noexcept { return 4 * fill / (1 - fill) * (1 - std::pow(fill, k_ - 1)); }

  static std::uint64_t prime_to(std::uint64_t number) noexcept {
    std::uint64_t count = 0;
    for (std::uint64_t i = 1; i <= number; ++i) count += std::gcd(i, number) == 1 ? 1U : 0U;
    return count;
  }

  static constexpr std::uint64_t longest = 24;  // beyond, progressions are as good as whole

  double n_;
  double m_;
  double k_;
  std::uint64_t bits_;
  std::uint64_t hashes_;
  progression steps_;
};

}  // namespace bloomery::inline BLOOMERY_ABI
