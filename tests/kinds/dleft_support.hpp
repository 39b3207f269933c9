// What the tests of kind dleft share.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <bloomery/kinds/dleft.hpp>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

namespace bloomery::dleft_testing {

inline dleft make(const filter_params& params) {
  auto made = dleft::make(params);
  if (!made) {
    ADD_FAILURE() << describe(made.error()).c_str();
    std::abort();
  }
  return std::move(*made);
}

// A filter of `buckets` a table and this width: the number of bits decides it, the FPR is then what it is.
inline dleft of_shape(std::uint64_t buckets, unsigned remainder_bits, dleft_mode mode = dleft_mode::multiset) {
  const stored_shape shape{
      .capacity_keys = buckets * 28, .fpr = 0.5, .field = {buckets, remainder_bits, static_cast<std::uint64_t>(mode)}};
  auto buffer = aligned_buffer::make(*dleft::payload_bytes(shape), "test");
  auto filter = dleft::adopt(shape, std::move(*buffer));
  if (!filter) std::abort();
  return std::move(*filter);
}

inline std::vector<std::uint64_t> random_digests(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 generator(seed);
  std::vector<std::uint64_t> out(count);
  for (auto& digest : out) digest = generator();
  return out;
}

inline std::uint64_t high_word(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>((static_cast<uint128>(a) * b) >> 64U);
}

// The published places of a digest, written plainly: its remainder and a bucket of each table.
struct places {
  std::uint64_t remainder;
  std::array<std::uint64_t, 4> bucket;
};
inline places places_of(std::uint64_t digest, std::uint64_t buckets, unsigned remainder_bits) {
  const std::uint64_t value = high_word(digest, buckets << remainder_bits);
  places out{value % (std::uint64_t{1} << remainder_bits), {}};
  const std::uint64_t start = value >> remainder_bits;
  const std::uint64_t mixed = mix64(out.remainder + 0x9e3779b97f4a7c15ULL);
  out.bucket = {start, (start + high_word(mixed, buckets)) % buckets,
                (start + high_word(mixed * 0xbf58476d1ce4e5b9ULL, buckets)) % buckets,
                (start + high_word(mixed * 0x94d049bb133111ebULL, buckets)) % buckets};
  return out;
}

struct cell {
  unsigned counter = 0;
  std::uint64_t remainder = 0;
};
inline cell cell_at(const dleft& filter, unsigned table, std::uint64_t bucket, unsigned index) {
  const std::uint64_t stride = filter.geometry().remainder_bits + 2;
  const std::byte* at = filter.payload().data() + 64 + (table * filter.geometry().buckets + bucket) * stride;
  const auto bit = [&](std::uint64_t byte) { return std::to_integer<unsigned>(at[byte]) >> index & 1U; };
  cell out{.counter = bit(0) + 2 * bit(1)};
  for (unsigned j = 0; j + 2 < stride; ++j) out.remainder |= std::uint64_t{bit(2 + j)} << j;
  return out;
}
inline unsigned bits_set(const dleft& filter) {
  unsigned count = 0;
  for (const std::byte byte : filter.payload()) {
    count += static_cast<unsigned>(std::popcount(std::to_integer<unsigned>(byte)));
  }
  return count;
}

}  // namespace bloomery::dleft_testing
