// kinds/ribbon/layout.hpp: how large a ribbon filter is, and what FPR its columns give.
//
// The size follows from the number of keys up to the keys that are bumped, which is known when a filter has been built.
// The plan takes as many as hardly any filter has (most_bumped), so that a filter is no larger than its plan and some
// tenths of a percent smaller.
#pragma once

#include <array>
#include <bloomery/core/wide.hpp>
#include <bloomery/kernels/ribbon.hpp>
#include <bloomery/sizing/sizing.hpp>
#include <cmath>
#include <cstdint>

namespace bloomery::inline BLOOMERY_ABI {

// Fingerprints of `columns` bits, and of one more for a share of the keys: any FPR from 1/2 to 2^-32.
struct ribbon_rate {
  static constexpr unsigned most_columns = kernels::ribbon_most_columns;
  unsigned columns = 1;
  std::uint32_t share = 0;  // of 2^32

  [[nodiscard]] double fpr() const noexcept {
    return std::ldexp(1.0 - std::ldexp(static_cast<double>(share), -33), -static_cast<int>(columns));
  }
  // The fewest bits with an FPR that is not above this one; columns 0 when that would take more than there can be.
  static ribbon_rate of(double fpr) noexcept {
    if (fpr >= 0.5) return {};
    int exponent = 0;
    const double mantissa = std::frexp(fpr, &exponent);  // from 1/2 on, and below 1
    if (mantissa == 0.5) return of_columns(1 - exponent, 0);
    // (1 - f) 2^-columns + f 2^-(columns + 1) is the FPR.
    const double wide = std::ceil(std::ldexp(2.0 * (1.0 - mantissa), 32));
    if (wide >= 4294967296.0) return of_columns(1 - exponent, 0);
    return of_columns(-exponent, static_cast<std::uint32_t>(wide));
  }

 private:
  static ribbon_rate of_columns(int count, std::uint32_t wide) noexcept {
    if (count + (wide != 0 ? 1 : 0) > static_cast<int>(most_columns)) return {.columns = 0, .share = 0};
    return {.columns = static_cast<unsigned>(count), .share = wide};
  }
};

// The blocks of all layers, and where they are: layer after layer, each on a cache line of its own; then the thresholds
// of each layer, in whole words; at least 8 words in all, so that a look-up can read beyond the last block.
struct ribbon_geometry {
  static constexpr unsigned most_layers = kernels::ribbon_most_layers;
  static constexpr std::uint64_t most_blocks = max_filter_bits / 64;
  ribbon_rate rate{};
  std::uint64_t seed = 0;  // of the last layer, which is built with another one until all keys fit
  std::array<std::uint64_t, most_layers> blocks{};

  [[nodiscard]] unsigned layers() const noexcept {
    unsigned count = 0;
    while (count < most_layers && blocks[count] != 0) ++count;
    return count;
  }
  // With as many wide blocks as there are, for keys of the first layer; in small ones that is more than the share.
  [[nodiscard]] double fpr() const noexcept {
    if (blocks[0] == 0) return 0.0;
    const auto starting = static_cast<double>(blocks[0] - 1);
    const double wide = rate.share == 0 ? 0.0 : starting - static_cast<double>(first_wide(0));
    return std::ldexp(1.0 - wide / starting / 2.0, -static_cast<int>(rate.columns));
  }
  // Cache lines of the two blocks that a look-up reads; the thresholds are few, and stay in the caches.
  [[nodiscard]] unsigned lines() const noexcept {
    if (rate.share == 0 && rate.columns % 8 == 0) return rate.columns / 4;
    return (16 * widest() + 55) / 64 + 1;
  }
  [[nodiscard]] unsigned widest() const noexcept { return rate.columns + (rate.share != 0 ? 1U : 0U); }
  // No key starts in the last block.
  [[nodiscard]] std::uint64_t starts(unsigned layer) const noexcept {
    return (blocks[layer] - 1) * kernels::ribbon_width;
  }
  [[nodiscard]] std::uint64_t first_wide(unsigned layer) const noexcept {
    if (rate.share == 0) return blocks[layer];
    const uint128 product = multiply_wide(blocks[layer] - 1, rate.share);
    return blocks[layer] - 1 - static_cast<std::uint64_t>((product + 0xffffffffU) >> 32U);
  }
  [[nodiscard]] std::uint64_t words(unsigned layer) const noexcept {
    return blocks[layer] * rate.columns + (blocks[layer] - first_wide(layer));
  }
  [[nodiscard]] std::uint64_t threshold_words(unsigned layer) const noexcept {
    constexpr std::uint64_t starts_of_word = std::uint64_t{32} * kernels::ribbon_bucket_starts;
    return (starts(layer) + starts_of_word - 1) / starts_of_word;
  }
  [[nodiscard]] std::uint64_t slots() const noexcept {
    std::uint64_t all = 0;
    for (const std::uint64_t some : blocks) all += some * kernels::ribbon_width;
    return all;
  }
  // Those of them that have one bit more.
  [[nodiscard]] std::uint64_t wide_slots() const noexcept {
    std::uint64_t all = 0;
    for (unsigned i = 0; i < layers(); ++i) all += (blocks[i] - first_wide(i)) * kernels::ribbon_width;
    return all;
  }
  // The first words of a layer: of its blocks, and of its thresholds.
  [[nodiscard]] std::uint64_t word_of(unsigned layer) const noexcept {
    std::uint64_t word = 0;
    for (unsigned i = 0; i < layer; ++i) word += (words(i) + 7) / 8 * 8;
    return word;
  }
  [[nodiscard]] std::uint64_t threshold_word_of(unsigned layer) const noexcept {
    std::uint64_t word = word_of(layers());
    for (unsigned i = 0; i < layer; ++i) word += threshold_words(i);
    return word;
  }
  [[nodiscard]] std::uint64_t payload_words() const noexcept {
    if (blocks[0] == 0) return 0;
    const std::uint64_t blocks_end = word_of(layers());
    const std::uint64_t end = threshold_word_of(layers());
    return end - blocks_end < kernels::ribbon_overflow_words ? blocks_end + kernels::ribbon_overflow_words : end;
  }
  [[nodiscard]] std::uint64_t payload_bytes() const noexcept { return payload_words() * 8; }

  // Beyond so many keys, a layer bumps.
  static constexpr std::uint64_t most_in_last = 4096;
  static bool is_last(unsigned layer, std::uint64_t keys, unsigned most = most_layers) noexcept {
    return layer + 1 == most || keys <= most_in_last;
  }
  // 2.5 % fewer slots than keys: what is left over is bumped.
  static std::uint64_t blocks_that_bump(std::uint64_t keys) noexcept {
    const std::uint64_t starts = keys - keys / 40;
    return (starts + kernels::ribbon_width - 1) / kernels::ribbon_width + 1;
  }
  // 3 % more slots than keys, and 6 % more again after every eighth seed. Of 4096 keys, nine sets in ten fit at the
  // first try.
  static std::uint64_t blocks_of_last(std::uint64_t keys, std::uint64_t seed) noexcept {
    const std::uint64_t starts = keys + keys / 32 + seed / 8 * (keys / 16 + 1);
    return (starts + kernels::ribbon_width - 1) / kernels::ribbon_width + 1;
  }
  // More than a layer of so many keys bumps, but for one in a million.
  static std::uint64_t most_bumped(std::uint64_t keys) noexcept {
    return keys / 33 + static_cast<std::uint64_t>(2.0 * std::sqrt(static_cast<double>(keys)));
  }
  // What so many keys take at most.
  static ribbon_geometry for_keys(std::uint64_t keys, const ribbon_rate& at, unsigned most = most_layers) noexcept {
    ribbon_geometry geometry;
    geometry.rate = at;
    for (unsigned layer = 0; layer < most && keys != 0; ++layer) {
      const bool last = is_last(layer, keys, most);
      geometry.blocks[layer] = last ? blocks_of_last(keys, 0) : blocks_that_bump(keys);
      keys = last ? 0 : most_bumped(keys);
    }
    return geometry;
  }
};

// Several systems in one filter hash in ways of their own, each with a salt; 0 is that of kind ribbon.
struct ribbon_system_limits {
  std::uint64_t salt = 0;
  unsigned layers = ribbon_geometry::most_layers;
};

namespace sizing {

// What a request requires of a ribbon filter but for the number of keys. `limit_bytes` is 0 when no size is provided.
struct ribbon_request {
  static constexpr std::string_view name = "ribbon";
  std::optional<double> fpr{};
  std::uint64_t limit_bytes = 0;

  static result<ribbon_request> of(const size_request& request, std::string_view layout) noexcept {
    if (auto checked = check(request); !checked) return fail(checked.error());
    if (request.hashes.value_or(0) != 0) {
      return fail(errc::kind_has_no_hashes, name);
    }
    if (!layout.empty()) return fail(errc::kind_has_one_layout, name);
    double bits = 0;
    if (request.bits) bits = static_cast<double>(*request.bits);
    if (request.memory_bytes) bits = static_cast<double>(*request.memory_bytes) * 8.0;
    if (request.bits_per_key) bits = std::ceil(*request.bits_per_key * static_cast<double>(*request.keys));
    if (bits > static_cast<double>(max_filter_bits)) return too_large(name, bits);
    const bool size_provided = request.bits || request.memory_bytes || request.bits_per_key;
    // A size below that of any filter is refused later, with what would do.
    const auto bytes = static_cast<std::uint64_t>(bits / 8.0);
    return ribbon_request{request.fpr, size_provided && bytes == 0 ? 1 : bytes};
  }

  // 64-bit digests are enough for so many columns.
  static unsigned most_columns(std::uint64_t keys) noexcept {
    const unsigned keys_bits = hash_bits_needed(keys, 1.0);
    return keys_bits + ribbon_rate::most_columns <= 64 ? ribbon_rate::most_columns : 64 - keys_bits;
  }
  // The FPR for so many keys: what is requested, or the best within the size.
  [[nodiscard]] result<ribbon_rate> rate(std::uint64_t keys) const noexcept {
    if (fpr) {
      const ribbon_rate asked = ribbon_rate::of(*fpr);
      if (asked.columns == 0) return fail(errc::cannot_reach_fpr, name, {ribbon_rate::most_columns});
      const unsigned needed = hash_bits_needed(keys, asked.fpr());
      if (needed > 64) return fail(errc::not_enough_hash_bits, "kind ribbon", {keys, needed, 64});
      return asked;
    }
    const auto bytes_of = [keys](const ribbon_rate& some) {
      return ribbon_geometry::for_keys(keys, some).payload_bytes();
    };
    ribbon_rate best{.columns = most_columns(keys), .share = 0};
    while (best.columns > 1 && bytes_of(best) > limit_bytes) --best.columns;
    const std::uint64_t least = bytes_of(best);
    if (least > limit_bytes) return fail(errc::bad_memory, {}, {limit_bytes, least});
    if (best.columns == most_columns(keys)) return best;
    for (std::uint32_t step = std::uint32_t{1} << 31U; step != 0; step /= 2) {
      best.share += step;
      if (bytes_of(best) > limit_bytes) best.share -= step;
    }
    return best;
  }

  [[nodiscard]] result<size_plan> plan(std::uint64_t keys) const noexcept {
    const auto chosen = rate(keys);
    if (!chosen) return fail(chosen.error());
    const double lower = static_cast<double>(keys) * chosen->columns;
    if (lower > static_cast<double>(max_filter_bits)) return too_large(name, lower);
    const auto geometry = ribbon_geometry::for_keys(keys, *chosen);
    size_plan out;
    out.keys = keys;
    out.fpr = chosen->fpr();
    out.memory_bytes = geometry.payload_bytes();
    out.lines = geometry.lines();
    out.bits = out.memory_bytes * 8;
    if (out.bits > max_filter_bits) return too_large(name, static_cast<double>(out.bits));
    out.bits_per_key = static_cast<double>(out.bits) / static_cast<double>(keys);
    return out;
  }
  // The most keys whose plan at the FPR requested is within the size.
  [[nodiscard]] result<size_plan> plan_for_size() const noexcept {
    const ribbon_request by_rate{.fpr = fpr, .limit_bytes = 0};
    std::uint64_t low = 0;
    std::uint64_t high = max_keys;
    while (low + 1 < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      const auto found = by_rate.plan(middle);
      (found && found->memory_bytes <= limit_bytes ? low : high) = middle;
    }
    if (low != 0) return by_rate.plan(low);
    const auto one = by_rate.plan(1);
    if (!one) return one;
    return fail(errc::bad_memory, {}, {limit_bytes, one->memory_bytes});
  }
};

BLOOMERY_API result<size_plan> plan_ribbon(const size_request& request, std::string_view layout) noexcept;

}  // namespace sizing
}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds/ribbon/layout.cpp>
#endif
