// kinds/cuckoo/explain.hpp: what a look-up reads in a table of fingerprints: every slot of two buckets.
#pragma once

#include <bloomery/kernels/cuckoo/redis.hpp>
#include <bloomery/kinds/explain.hpp>

namespace bloomery::inline BLOOMERY_ABI {

template <class Table>
std::uint64_t slot_in(const Table& table, std::uint64_t bucket, unsigned lane) noexcept {
  return table.lane(table.lanes(bucket), lane);
}
template <class Word, bool Whole>
std::uint64_t slot_in(const kernels::cuckoo_table<Word, kernels::cuckoo_form::redis, Whole>& table,
                      std::uint64_t bucket, unsigned lane) noexcept {
  return std::to_integer<std::uint64_t>(table.bucket_at(bucket)[lane]);
}

// `table` is a kernels::cuckoo_table of this geometry. A key whose two buckets are one reads it once.
template <class Table>
void explain_buckets(explanation& out, const Table& table, const kernels::cuckoo_geometry& geometry,
                     const kernels::cuckoo_key& key, const explained_part& part) noexcept {
  const auto explain_bucket = [&](std::uint64_t bucket) {
    out.begin({.part = part, .place = "bucket", .place_index = bucket, .rule = probe_rule::any});
    const std::uint64_t first = geometry.form == kernels::cuckoo_form::window ? bucket : bucket * geometry.slots;
    for (unsigned lane = 0; lane < geometry.slots; ++lane) {
      // The slots of a sorted bucket are stored together.
      const unsigned shift = geometry.form == kernels::cuckoo_form::sorted ? 0 : lane * geometry.slot_bits;
      const std::uint64_t slot = slot_in(table, bucket, lane);
      const std::uint64_t wanted = table.slot_of(key.fingerprint, lane);
      out.add({.position = first + lane,
               .byte_offset = part.first_byte + (bucket * geometry.stride() + shift) / 8,
               .read = slot,
               .expected = wanted,
               .unit = probe_unit::slot,
               .has_expected = true,
               .matches = slot == wanted});
    }
    out.end();
  };
  explain_bucket(key.first);
  if (key.other != key.first) explain_bucket(key.other);
}

}  // namespace bloomery::inline BLOOMERY_ABI
