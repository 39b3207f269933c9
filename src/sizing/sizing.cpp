#include <bloomery/sizing/sizing.hpp>

namespace bloomery::inline BLOOMERY_ABI {
namespace sizing {

BLOOMERY_BODY unsigned hash_bits_needed(std::uint64_t keys, double fpr) noexcept {
  const double bits = std::log2(static_cast<double>(keys < 2 ? 2 : keys)) - std::log2(fpr) + 7.0;
  return static_cast<unsigned>(std::ceil(bits));
}

BLOOMERY_BODY failure too_large(std::string_view kind, double bits) noexcept {
  constexpr double most = 18446744073709549568.0;  // the largest double below 2^64
  const double bytes = bits / 8.0;
  return fail(errc::size_overflow, kind, {static_cast<std::uint64_t>(bytes < most ? bytes : most)});
}

BLOOMERY_BODY result<void> check(const size_request& request) noexcept {
  if (request.fpr && !(*request.fpr > 0.0 && *request.fpr < 1.0)) return fail_number(errc::bad_fpr, *request.fpr);
  if (request.keys && (*request.keys == 0 || *request.keys > max_keys)) {
    return fail_number(errc::bad_keys, static_cast<double>(*request.keys), {max_keys});
  }
  if (request.bits_per_key && !(*request.bits_per_key > 0.0 && *request.bits_per_key <= max_bits_per_key)) {
    return fail_number(errc::bad_bits_per_key, *request.bits_per_key);
  }
  const int sizes = (request.bits ? 1 : 0) + (request.memory_bytes ? 1 : 0) + (request.bits_per_key ? 1 : 0);
  if (sizes > 1) return fail(errc::too_many_parameters, "give one of bits, bits per key and memory");
  if (request.keys && request.fpr && sizes > 0) {
    return fail(errc::too_many_parameters, "with a number of keys, give a false-positive rate or a size, not both");
  }
  if (!request.keys && request.bits_per_key) {
    return fail(errc::missing_parameter, "bits per key need a number of keys");
  }
  if (!request.keys && !(request.fpr && sizes > 0)) {
    return fail(errc::missing_parameter, "give a number of keys, or a false-positive rate with a size");
  }
  if (request.keys && !request.fpr && sizes == 0) {
    return fail(errc::missing_parameter, "give a false-positive rate, bits, bits per key or memory beside the keys");
  }
  return {};
}

BLOOMERY_BODY double classic_fpr(std::uint64_t keys, std::uint64_t bits, unsigned hashes) noexcept {
  const double m = static_cast<double>(bits);
  const double k = static_cast<double>(hashes);
  const double draws = k * static_cast<double>(keys);
  const double fill = m < 2 ? 1.0 : -std::expm1(draws * std::log1p(-1.0 / m));
  if (!(fill > 0)) return 0;
  const double load = draws / m;
  const double empty = 1.0 - fill;
  const double variance = empty * (1.0 - (1.0 + load) * empty) / m;  // of the fill, from occupancy theory
  const double correction = 1.0 + k * (k - 1.0) / 2.0 * (variance > 0 ? variance : 0.0) / (fill * fill);
  const double rate = std::pow(fill, k) * correction;
  return rate < 1.0 ? rate : 1.0;
}

BLOOMERY_BODY double least_exact_bits(const universe& keys) noexcept {
  if (keys.included == 0 || keys.excluded == 0) return 0;
  constexpr double two_pi = 6.283185307179586;
  const auto in = static_cast<double>(keys.included);
  const auto out = static_cast<double>(keys.excluded);
  const double all = in + out;
  const double bits =
      in * std::log2(all / in) + out * std::log2(all / out) - std::log2(two_pi * in * (out / all)) / 2.0;
  return bits > 0 ? bits : 0;
}

BLOOMERY_BODY double bloom_cascade_bits(const universe& keys) noexcept {
  constexpr double bits_a_key = 1.4426950408889634;  // of a Bloom filter, for each halving of the FPR
  const auto one_way = [](double in, double out) {
    const double best = in * bits_a_key / (2.0 * out);
    const double rate = best < 0.5 ? best : 0.5;
    return bits_a_key * (in * -std::log2(rate) + 2.0 * out * rate + in);
  };
  if (keys.included == 0 || keys.excluded == 0) return 0;
  const double forth = one_way(static_cast<double>(keys.included), static_cast<double>(keys.excluded));
  const double back = one_way(static_cast<double>(keys.excluded), static_cast<double>(keys.included));
  return forth < back ? forth : back;
}

BLOOMERY_BODY double entropy(double share) noexcept {
  if (!(share > 0 && share < 1)) return 0;
  return -share * std::log2(share) - (1.0 - share) * std::log2(1.0 - share);
}

// Bits of a classic Bloom filter for each key, at this FPR and with this many hash functions.
BLOOMERY_BODY double classic_bits_per_key(double fpr, unsigned hashes) noexcept {
  return -static_cast<double>(hashes) / std::log1p(-std::pow(fpr, 1.0 / hashes));
}

BLOOMERY_BODY double packed_bits_per_key(const size_plan& plan) noexcept {
  if (plan.hashes == 0 || plan.keys == 0) return plan.bits_per_key;
  return plan.bits_per_key * entropy(-std::expm1(-static_cast<double>(plan.hashes) / plan.bits_per_key));
}

BLOOMERY_BODY unsigned packed_hashes(double fpr, double most_memory) noexcept {
  if (!(fpr > 0 && fpr < 1)) return 1;
  const double usual = -std::log2(fpr) / std::log(2.0);
  const double best = -std::log2(fpr);
  unsigned hashes = 1;
  while (hashes < best && classic_bits_per_key(fpr, hashes) > most_memory * usual) ++hashes;
  return hashes;
}

}  // namespace sizing
}  // namespace bloomery::inline BLOOMERY_ABI
