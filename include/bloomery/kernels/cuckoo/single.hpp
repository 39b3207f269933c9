// kernels/cuckoo/single.hpp: single look-ups in a cuckoo filter, without a choice by instruction set.
#pragma once

#include <bloomery/kernels/cuckoo.hpp>

namespace bloomery::inline BLOOMERY_ABI::kernels {

// A single look-up in slots and windows within 8 bytes: one code for both, from numbers that are worked out once a
// filter.
struct cuckoo_single {
  std::uint64_t buckets = 0;
  std::uint64_t stride = 0;
  std::uint64_t fingerprints = 0;
  std::uint64_t low = 0;  // 0: not for this geometry
  std::uint64_t high = 0;
  std::uint64_t tags = 0;
  unsigned tag_bits = 0;

  static cuckoo_single of(const cuckoo_geometry& geometry) noexcept {
    if (geometry.form == cuckoo_form::sorted || geometry.form == cuckoo_form::redis) return {};
    if (!geometry.is_narrow()) return {};
    const bool window = geometry.form == cuckoo_form::window;
    const cuckoo_table<std::uint64_t, cuckoo_form::slots> table(nullptr, geometry);
    return {.buckets = geometry.buckets,
            .stride = geometry.stride(),
            .fingerprints = geometry.fingerprints(),
            .low = table.low,
            .high = table.high,
            .tags = window ? std::uint64_t{1} << geometry.slot_bits : 0,
            .tag_bits = window ? 1U : 0U};
  }
  [[nodiscard]] std::uint64_t lanes(const std::byte* bytes, std::uint64_t bucket) const noexcept {
    const std::uint64_t bit = bucket * stride;
    return load_le<std::uint64_t>(bytes + bit / 8) >> (bit % 8);
  }
  [[nodiscard]] bool contains(const std::byte* bytes, std::uint64_t digest) const noexcept {
    const cuckoo_key key = cuckoo_key_of(digest, buckets, fingerprints);
    const std::uint64_t wanted = low * (key.fingerprint << tag_bits) | tags;
    const std::uint64_t first = lanes(bytes, key.first) ^ wanted;
    const std::uint64_t second = lanes(bytes, key.other) ^ wanted;
    return ((((first - low) & ~first) | ((second - low) & ~second)) & high) != 0;
  }
};

}  // namespace bloomery::inline BLOOMERY_ABI::kernels
