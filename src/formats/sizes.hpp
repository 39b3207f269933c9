// src/formats/sizes.hpp: from what is requested to the n and p that a product's own formula takes, and bounded reading.
#pragma once

#include <algorithm>
#include <bloomery/formats.hpp>
#include <cmath>

namespace bloomery::inline BLOOMERY_ABI::formats {

struct keys_and_rate {
  std::uint64_t keys = 0;
  double fpr = 0;
};

// `keys` must be provided. The FPR is provided, or follows from bits per key or memory (m = -n ln p / (ln 2)^2), or is
// the format's default. Memory is filled up to whole words, and one bit less: whether a product rounds up or down, it
// stays below. An FPR that follows is never below 2^-64, since 64 bits of a hash distinguish no more keys.
inline result<keys_and_rate> keys_and_rate_of(const filter_params& params, double usual_fpr) noexcept {
  size_request request = params.sizes();
  request.hashes.reset();
  if (!request.fpr && !request.bits && !request.bits_per_key && !request.memory_bytes) request.fpr = usual_fpr;
  if (auto usable = sizing::check(request); !usable) return fail(usable.error());
  if (!request.keys) return fail(errc::missing_parameter, "this format is sized by a number of keys");
  const auto keys = static_cast<double>(*request.keys);
  constexpr double ln2_squared = 0.480453013918201424667;
  double bits_per_key = request.bits_per_key.value_or(0);
  if (request.bits) bits_per_key = static_cast<double>(*request.bits) / keys;
  if (request.memory_bytes) {
    constexpr std::uint64_t word_bytes = 8;
    const std::uint64_t words = *request.memory_bytes / word_bytes;
    if (words == 0) return fail(errc::bad_memory, {}, {*request.memory_bytes, word_bytes});
    bits_per_key = (static_cast<double>(words) * 64.0 - 1.0) / keys;
  }
  const double rate = std::max(std::exp(-bits_per_key * ln2_squared), 0x1p-64);
  return keys_and_rate{*request.keys, request.fpr.value_or(rate)};
}

// Where the numbers of a header do not fit.
inline failure bad_header(std::string_view format, std::string_view what) noexcept {
  error_text text;
  text.append(format);
  text.append(": ");
  text.append(what);
  return fail(errc::not_in_format, text.view());
}

}  // namespace bloomery::inline BLOOMERY_ABI::formats
