// src/formats/leveldb.hpp: what a single filter of LevelDB and those in a table share: how a key's bits are found.
#pragma once

#include <bloomery/compat/leveldb/builtin.hpp>
#include <bloomery/hash/hasher.hpp>

namespace bloomery::inline BLOOMERY_ABI::formats::leveldb {

using bloomery::leveldb::most_hashes;

inline constexpr hash_spec hash{.id = leveldb_hash::info.id, .seed = bloomery::leveldb::builtin_seed};

inline std::uint32_t key_hash_of(std::uint64_t digest) noexcept { return static_cast<std::uint32_t>(unmix64(digest)); }

// Digests of keys that are in no filter but by chance, to measure an FPR with: filters of a few keys match more often
// than their fill suggests, because the steps of a key soon meet the same bits again.
inline std::uint64_t sample(std::uint64_t i) noexcept { return mix64(static_cast<std::uint32_t>(mix64(i))); }

// How many of them are looked up in so many filters. Fewer where there are many filters, through all of which a key
// goes that matches none: the work is bounded, and such tables have FPRs near 1.
constexpr std::uint64_t samples_of(std::uint64_t filters) noexcept {
  constexpr std::uint64_t most = std::uint64_t{1} << 14U;
  constexpr std::uint64_t most_steps = std::uint64_t{1} << 27U;
  return filters <= most_steps / most ? most : most_steps / filters;
}

// A table ends with 48 bytes, of which these are the last eight.
inline constexpr std::size_t footer_bytes = 48;
inline constexpr std::uint64_t table_magic = 0xdb4775248b80fb57ULL;
inline bool ends_a_table(std::span<const std::byte> last) noexcept {
  return last.size() >= footer_bytes && load_le<std::uint64_t>(last.data() + last.size() - 8) == table_magic;
}

}  // namespace bloomery::inline BLOOMERY_ABI::formats::leveldb
