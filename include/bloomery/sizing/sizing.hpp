// sizing/sizing.hpp: from any of n, p, m, k, bits per key and memory, derive the rest.
//
// A kind describes itself by a model: its FPR for n keys in m bits with k hash functions, the smallest and largest k,
// and how it rounds m. `solve` finds what is missing. All sizes are 64-bit; all formulas hold beyond 2^32 bits.
//
//     auto plan = bloomery::bloom::plan({.keys = 1'000'000, .fpr = 0.01});   // -> bits, hashes, memory
//     auto best = bloomery::bloom::plan({.keys = 1'000'000, .memory_bytes = 1 << 20});   // -> fpr, hashes
//     auto most = bloomery::bloom::plan({.fpr = 0.01, .memory_bytes = 1 << 20});   // -> keys
//
// Give `keys` with one of {fpr, bits, bits_per_key, memory_bytes}, or `fpr` with `bits` or `memory_bytes`; `hashes` may
// be added to each. Anything else is an error that states what is missing or what contradicts.
#pragma once

#include <bloomery/core/result.hpp>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI {

// The FPR of a filter for which none was chosen.
inline constexpr double default_fpr = 0.01;

struct size_request {
  std::optional<std::uint64_t> keys{};
  std::optional<double> fpr{};
  std::optional<std::uint64_t> bits{};
  std::optional<unsigned> hashes{};
  std::optional<double> bits_per_key{};
  std::optional<std::uint64_t> memory_bytes{};
  std::optional<std::uint64_t> excluded_keys{};  // kinds that exclude keys; ignored by others
};

struct size_plan {
  std::uint64_t keys = 0;   // capacity: the number of keys at which `fpr` is reached
  double fpr = 0;           // expected with `keys` keys; above the target only in other products' layouts
  std::uint64_t bits = 0;   // of the bit array, without the file's header
  unsigned hashes = 0;      // bits that a key sets; 0 where the idea does not apply
  double bits_per_key = 0;  // bits / keys
  std::uint64_t memory_bytes = 0;
  unsigned digest_bits = 64;        // 64, or 128 where n and p need more than 64 hash bits
  unsigned lines = 0;               // cache lines that a look-up touches, where the layout decides; 0: see the kind
  std::string_view layout{};        // that the kind chose, or was given; empty where it tells none
  std::uint64_t grows_to_keys = 0;  // kinds that grow: the number of keys up to which the target FPR is kept
};

inline constexpr std::uint64_t max_keys = std::uint64_t{1} << 56U;
inline constexpr double max_bits_per_key = 4096.0;
inline constexpr std::uint64_t max_filter_bits = std::uint64_t{1} << 60U;

namespace sizing {

// log2(n) + log2(1/p) + 7 bits of slack: digest collisions then add less than 1 % of p.
BLOOMERY_API unsigned hash_bits_needed(std::uint64_t keys, double fpr) noexcept;

// More than max_filter_bits; saturates where even the bytes cannot be counted.
BLOOMERY_API failure too_large(std::string_view kind, double bits) noexcept;

BLOOMERY_API result<void> check(const size_request& request) noexcept;

// The best k for n keys in m bits: FPR has one minimum over k, so walk downhill from the classic optimum.
template <class Model>
unsigned best_hashes(const Model& model, std::uint64_t keys, std::uint64_t bits) noexcept {
  double guess = static_cast<double>(bits) / static_cast<double>(keys) * std::log(2.0);
  if constexpr (requires { Model::cell_bits; }) guess /= static_cast<double>(Model::cell_bits);  // counters, not bits
  auto clamp = [&](double k) {
    if (!(k > model.min_hashes())) return model.min_hashes();
    if (k > model.max_hashes()) return model.max_hashes();
    return static_cast<unsigned>(k);
  };
  unsigned best = clamp(guess);
  double best_fpr = model.fpr(keys, bits, best);
  for (const int step : {1, -1}) {
    while (true) {
      const int next = static_cast<int>(best) + step;
      if (next < static_cast<int>(model.min_hashes()) || next > static_cast<int>(model.max_hashes())) break;
      const double rate = model.fpr(keys, bits, static_cast<unsigned>(next));
      if (!(rate < best_fpr)) break;
      best = static_cast<unsigned>(next);
      best_fpr = rate;
    }
  }
  return best;
}

template <class Model>
double fpr_at(const Model& model, const size_request& request, std::uint64_t keys, std::uint64_t bits) noexcept {
  return model.fpr(keys, bits, request.hashes ? *request.hashes : best_hashes(model, keys, bits));
}

// The smallest rounded m up to `high` (whose FPR is at most p) with FPR <= p, for a fixed k.
template <class Model>
std::uint64_t bisect_bits(const Model& model, const size_request& request, std::uint64_t high) noexcept {
  std::uint64_t low = high / 2;  // below the information bound, or the model's smallest size
  // Beyond 2^40 bits a relative step of 2^-40 is far below anything that can be measured.
  while (low + 1 < high && high - low > (high >> 40U)) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (model.fpr(*request.keys, model.round_bits(middle), *request.hashes) <= *request.fpr) {
      high = middle;
    } else {
      low = middle;
    }
  }
  return model.round_bits(high);
}

// The smallest m with FPR <= p: grow from a lower bound, then bisect.
template <class Model>
result<std::uint64_t> bits_for(const Model& model, const size_request& request) noexcept {
  const std::uint64_t keys = *request.keys;
  const double fpr = *request.fpr;
  const double lower = static_cast<double>(keys) * -std::log2(fpr);  // information bound: no filter is smaller
  if (lower > static_cast<double>(max_filter_bits)) return too_large(Model::name, lower);
  std::uint64_t high = model.round_bits(static_cast<std::uint64_t>(lower) + 1);
  while (fpr_at(model, request, keys, high) > fpr) {
    if (high > max_filter_bits) return too_large(Model::name, static_cast<double>(high));
    if (static_cast<double>(high) / static_cast<double>(keys) > max_bits_per_key && high > model.round_bits(1) * 64) {
      return fail(errc::cannot_reach_fpr, Model::name, {static_cast<std::uint64_t>(max_bits_per_key)});
    }
    high = model.round_bits(high + high / 4 + 1);
  }
  // Bisecting with one k at a time, and choosing k again at the size found, ends after two or three rounds.
  size_request fixed = request;
  while (true) {
    if (!request.hashes) fixed.hashes = best_hashes(model, keys, high);
    const std::uint64_t found = bisect_bits(model, fixed, high);
    if (request.hashes || found == high || best_hashes(model, keys, found) == *fixed.hashes) return found;
    high = found;
  }
}

// The largest n with FPR <= p in m bits.
template <class Model>
result<std::uint64_t> keys_for(const Model& model, const size_request& request, std::uint64_t bits) noexcept {
  std::uint64_t low = 0;
  std::uint64_t high = 1;
  while (high < max_keys && fpr_at(model, request, high, bits) <= *request.fpr) {
    low = high;
    high *= 2;
  }
  while (low + 1 < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (fpr_at(model, request, middle, bits) <= *request.fpr) {
      low = middle;
    } else {
      high = middle;
    }
    if (high - low <= (high >> 40U)) break;
  }
  if (low == 0) return fail(errc::cannot_reach_fpr, Model::name, {bits});
  return low;
}

template <class Model>
result<std::uint64_t> bits_probed(const Model& model, const size_request& request) noexcept {
  double bits = 0;
  if (request.bits) bits = static_cast<double>(*request.bits);
  if (request.memory_bytes) bits = static_cast<double>(*request.memory_bytes) * 8.0;
  if (request.bits_per_key) {
    // The quotient of two whole numbers may be a little more than it was, and is no further bit.
    bits = std::ceil(*request.bits_per_key * static_cast<double>(*request.keys) * (1 - 1e-14));
  }
  if (bits > static_cast<double>(max_filter_bits)) return too_large(Model::name, bits);
  if (request.memory_bytes) return model.bits_within(*request.memory_bytes);
  return model.round_bits(static_cast<std::uint64_t>(bits));
}

template <class Model>
result<size_plan> solve(const Model& model, const size_request& request) noexcept {
  if (auto checked = check(request); !checked) return fail(checked.error());
  if (request.hashes && (*request.hashes < model.min_hashes() || *request.hashes > model.max_hashes())) {
    return fail(errc::bad_hashes, {}, {*request.hashes, model.min_hashes(), model.max_hashes()});
  }
  const bool size_provided = request.bits || request.memory_bytes || request.bits_per_key;
  const auto bits = size_provided ? bits_probed(model, request) : bits_for(model, request);
  if (!bits) return fail(bits.error());
  size_plan plan;
  plan.bits = *bits;
  if (request.keys) {
    plan.keys = *request.keys;
  } else {
    const auto keys = keys_for(model, request, plan.bits);
    if (!keys) return fail(keys.error());
    plan.keys = *keys;
  }
  plan.hashes = request.hashes ? *request.hashes : best_hashes(model, plan.keys, plan.bits);
  plan.fpr = model.fpr(plan.keys, plan.bits, plan.hashes);
  plan.bits_per_key = static_cast<double>(plan.bits) / static_cast<double>(plan.keys);
  plan.memory_bytes = model.memory_bytes(plan.bits);
  plan.digest_bits = plan.fpr > 0 && hash_bits_needed(plan.keys, plan.fpr) <= 64 ? 64U : 128U;
  return plan;
}

// FPR of a classic Bloom filter: the mean of (set bits / m)^k over the distribution of set bits, to second order. The
// first-order formula (1 - e^(-kn/m))^k is low for small m (by 7 % at 10 keys).
BLOOMERY_API double classic_fpr(std::uint64_t keys, std::uint64_t bits, unsigned hashes) noexcept;

// Keys that are all known: some are to be matched, the others are not.
struct universe {
  std::uint64_t included = 0;
  std::uint64_t excluded = 0;
};

// log2 of the number of ways to choose the included keys (to Stirling's second term): nothing that is exact about all
// of them can do with fewer bits on average.
BLOOMERY_API double least_exact_bits(const universe& keys) noexcept;

// What a cascade of Bloom filters takes for the same (Larisch et al., "CRLite", 2017): a filter of the included keys,
// one of the excluded keys that it lets through, one of the included keys that this one lets through, and so on; the
// first with the best FPR, the others with 1/2. Built the other way round where that is smaller.
BLOOMERY_API double bloom_cascade_bits(const universe& keys) noexcept;

// Bits of information in a bit that is set with this probability.
BLOOMERY_API double entropy(double share) noexcept;

// What a classic filter in a plan takes in its file, if its bits are packed as tightly as can be; for each key.
BLOOMERY_API double packed_bits_per_key(const size_plan& plan) noexcept;

// The number of hash functions for a classic Bloom filter whose file will be packed (native/codec.hpp): the smallest
// with which it takes at most `most_memory` times the bits of the usual one.
//
//     auto seen = filter<bloom>::make({.keys = 1'000'000, .fpr = 0.01, .hashes = sizing::packed_hashes(0.01)});
//     seen->save("seen.bloom", {.codec = codec_rans});       // 8.96 bits a key in the file, instead of 9.63
//
// The usual filter is half full: its bits hold nothing that could be packed. With fewer hash functions the same FPR
// takes a larger and emptier array, which holds less information (M. Mitzenmacher, "Compressed Bloom filters", IEEE/ACM
// Transactions on Networking 10(5), 2002). At twice the memory a tenth of the bits is set; beyond that the file
// gets smaller slowly, and zstd and gzip, which spend at least one bit on a byte, gain no more.
BLOOMERY_API unsigned packed_hashes(double fpr, double most_memory = 2.0) noexcept;

}  // namespace sizing
}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/sizing/sizing.cpp>
#endif
