// compat/leveldb/filter.hpp: a filter for 1 to some hundred keys in the very bytes of LevelDB's built-in filter, with
// nine times fewer false positives: looking up, explaining, describing. encoder.hpp makes one. No header of LevelDB is
// needed.
//
//     bloomery::leveldb::may_match(filter, key);      // any filter of policy leveldb.BuiltinBloomFilter2: both layouts
//     bloomery::leveldb::may_match(filter, digest);   // ours alone, by digest_of(key)
//
// What it is    n equations over GF(2), solved: as many slots as keys, of r bits each; the xor of the slots of a key is
//               its fingerprint. The FPR is 2^-r, r the bits per key. More keys than a system takes are a table of
//               such filters. docs/formats/leveldb-windows.md has the bytes.
// Both ways     the last byte of a filter is 31 to 255. LevelDB treats such a filter as one that matches every key, so a
//               database may go back to the built-in policy at any time; and filters of the built-in policy (last byte
//               up to 30) are looked up as LevelDB does.
// Damage        bytes that cannot be such a filter match every key. No byte outside of the span is ever read, and
//               nothing is allocated.
// Threads       any number of readers.
#pragma once

#include <bloomery/compat/leveldb/builtin.hpp>
#include <bloomery/hash/xxh3.hpp>
#include <bloomery/kinds/explain.hpp>

namespace bloomery::inline BLOOMERY_ABI::leveldb {

// The digest of our layout.
inline std::uint64_t digest_of(std::string_view key) noexcept { return xxh3{}(key.data(), key.size()); }

// Of a filter of either layout. `builtin` is used for filters of the built-in policy, `windows` for ours.
struct key_digests {
  std::uint64_t windows = 0;
  std::uint32_t builtin = 0;
};
inline key_digests digests_of(std::string_view key) noexcept { return {digest_of(key), builtin_digest_of(key)}; }

// Of our layout; a filter of the built-in policy matches every digest here.
BLOOMERY_API bool may_match(std::span<const std::byte> filter, std::uint64_t digest) noexcept;

// Fewer than two bytes match no key, there and here.
inline bool is_builtin(std::span<const std::byte> filter) noexcept {
  return filter.size() < 2 || std::to_integer<unsigned>(filter.back()) <= most_hashes;
}
// Of either layout, as policy leveldb.BuiltinBloomFilter2 answers. The second hashes only as the filter needs.
inline bool may_match(std::span<const std::byte> filter, const key_digests& digests) noexcept {
  return is_builtin(filter) ? builtin_may_match(filter, digests.builtin) : may_match(filter, digests.windows);
}
inline bool may_match(std::span<const std::byte> filter, std::string_view key) noexcept {
  return is_builtin(filter) ? builtin_may_match(filter, builtin_digest_of(key)) : may_match(filter, digest_of(key));
}

enum class filter_layout : std::uint8_t {
  empty,    // fewer than two bytes: matches no key
  builtin,  // Bloom filter of LevelDB
  windows,  // one system of equations
  table,    // several of them
  opaque,   // matches every key: reserved, or damaged
};
BLOOMERY_API std::string_view name_of(filter_layout layout) noexcept;

struct filter_description {
  filter_layout layout = filter_layout::empty;
  unsigned hashes = 0;       // builtin: k
  unsigned slot_bits = 0;    // windows: r; table: that of the narrowest filter
  std::uint64_t slots = 0;   // windows: m; table: of all filters
  unsigned seed = 0;         // windows
  std::uint64_t groups = 0;  // table
  double fpr = 0;            // what the layout delivers: 2^-r; table: the mean; builtin: of its fill; opaque: 1
};
// Reads the whole filter.
BLOOMERY_API filter_description describe(std::span<const std::byte> filter) noexcept;

// Adds what a look-up reads and decides. `part` is the filter among others.
BLOOMERY_API void explain(explanation& out, std::span<const std::byte> filter, const key_digests& digests,
                          const explained_part& part = {}) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI::leveldb

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/compat/leveldb/filter.cpp>
#endif
