// compat/leveldb/builtin.hpp: the filters of LevelDB's built-in policy, NewBloomFilterPolicy: which bits a key has.
//
// The bits, and one byte with k behind them. docs/formats/leveldb.md has the bytes.
#pragma once

#include <bit>
#include <bloomery/core/bytes.hpp>
#include <bloomery/core/size.hpp>
#include <bloomery/core/wide.hpp>
#include <bloomery/hash/leveldb.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI::leveldb {

// The name under which a table stores its filters. LevelDB ignores filters of another name.
inline constexpr std::string_view builtin_policy_name = "leveldb.BuiltinBloomFilter2";
inline constexpr std::uint32_t builtin_seed = 0xbc9f1d34U;
inline constexpr unsigned most_hashes = 30;  // more is reserved: such a filter matches every key
inline constexpr std::uint64_t least_bytes = 8;

inline std::uint32_t builtin_digest_of(std::string_view key) noexcept {
  return static_cast<std::uint32_t>(leveldb_hash{builtin_seed}(key.data(), key.size()));
}

// Of the argument of NewBloomFilterPolicy.
constexpr unsigned builtin_hashes_of(std::uint64_t bits_per_key) noexcept {
  const double hashes = static_cast<double>(bits_per_key) * 0.69;
  return hashes < 1.0 ? 1U : hashes > most_hashes ? most_hashes : static_cast<unsigned>(hashes);
}
// The bytes of a filter but for the last, which is k.
constexpr std::uint64_t builtin_bytes_of(std::uint64_t keys, std::uint64_t bits_per_key) noexcept {
  const std::uint64_t bytes = (keys * bits_per_key + 7) / 8;
  return bytes < least_bytes ? least_bytes : bytes;
}

// The bits of a key: h, h + d, h + 2d and so on in 32 bits, where d is h turned by 17.
class builtin_walk {
 public:
  explicit builtin_walk(std::uint32_t hash) noexcept : at_(hash), step_(std::rotr(hash, 17)) {}
  std::uint32_t next() noexcept {
    const std::uint32_t now = at_;
    at_ += step_;
    return now;
  }

 private:
  std::uint32_t at_;
  std::uint32_t step_;
};

inline bool builtin_bit(std::span<const std::byte> filter, std::uint64_t bit) noexcept {
  return (filter[to_size(bit / 8)] & std::byte{1} << (bit % 8)) != std::byte{0};
}

// As KeyMayMatch of the built-in policy, of any bytes.
inline bool builtin_may_match(std::span<const std::byte> filter, std::uint32_t hash) noexcept {
  if (filter.size() < 2) return false;
  const std::uint64_t bits = (filter.size() - 1) * std::uint64_t{8};
  const auto k = std::to_integer<unsigned>(filter.back());
  if (k > most_hashes) return true;
  builtin_walk walk(hash);
  for (unsigned i = 0; i < k; ++i) {
    if (!builtin_bit(filter, walk.next() % bits)) return false;
  }
  return true;
}

}  // namespace bloomery::inline BLOOMERY_ABI::leveldb
