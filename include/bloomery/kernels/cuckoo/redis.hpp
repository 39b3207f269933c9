// kernels/cuckoo/redis.hpp: one sub-filter of RedisBloom's cuckoo filter: the same places, moves and bytes.
//
//     fingerprint = digest mod 255 + 1            bucket = digest mod buckets, which are a power of two
//     other bucket = (bucket xor fingerprint * 0x5bd1e995) mod buckets
//
// A bucket is `slots` bytes; 0 is an empty slot. The digest is MurmurHash64A of the key with seed 0. An insert takes
// the first free slot of the bucket, then of the other one; where there is none, it puts its fingerprint in place of
// the first slot's, that one into its own other bucket, in place of the second slot's, and so on, 20 times at most
// unless a filter states otherwise. A chain of moves that finds no space is undone.
#pragma once

#include <bloomery/core/result.hpp>
#include <bloomery/kernels/cuckoo.hpp>
#include <utility>

namespace bloomery::inline BLOOMERY_ABI::kernels {

inline constexpr std::uint64_t redis_multiplier = 0x5bd1e995U;
inline constexpr unsigned redis_most_moves = 20;

template <class Word, bool Whole>
struct cuckoo_table<Word, cuckoo_form::redis, Whole> {
  const std::byte* bytes;
  std::uint64_t buckets;
  unsigned slots;

  cuckoo_table(const std::byte* from, const cuckoo_geometry& g) noexcept
      : bytes(from), buckets(g.buckets), slots(g.slots) {}

  [[nodiscard]] std::uint64_t other(std::uint64_t bucket, std::uint64_t fingerprint) const noexcept {
    return (bucket ^ fingerprint * redis_multiplier) & (buckets - 1);
  }
  [[nodiscard]] cuckoo_key key(std::uint64_t digest) const noexcept {
    const std::uint64_t fingerprint = digest % 255 + 1;
    const std::uint64_t first = digest & (buckets - 1);
    return {first, other(first, fingerprint), fingerprint};
  }
  // What a slot holds for a fingerprint.
  [[nodiscard]] static std::uint64_t slot_of(std::uint64_t fingerprint, unsigned /*lane*/) noexcept {
    return fingerprint;
  }
  [[nodiscard]] const std::byte* bucket_at(std::uint64_t bucket) const noexcept { return bytes + bucket * slots; }
  void prefetch(std::uint64_t bucket) const noexcept { __builtin_prefetch(bucket_at(bucket)); }
  void send_for_write(std::uint64_t bucket) const noexcept { __builtin_prefetch(bucket_at(bucket), 1); }

  // The slots of a bucket that hold a fingerprint, or nothing (0); and the first of them, or `slots`.
  [[nodiscard]] unsigned holding(std::uint64_t bucket, std::uint64_t fingerprint) const noexcept {
    unsigned count = 0;
    for (unsigned i = 0; i < slots; ++i) {
      count += bucket_at(bucket)[i] == static_cast<std::byte>(fingerprint) ? 1U : 0U;
    }
    return count;
  }
  [[nodiscard]] unsigned first_holding(std::uint64_t bucket, std::uint64_t fingerprint) const noexcept {
    unsigned at = 0;
    while (at < slots && bucket_at(bucket)[at] != static_cast<std::byte>(fingerprint)) ++at;
    return at;
  }
  [[nodiscard]] bool contains(const cuckoo_key& key) const noexcept {
    return (holding(key.first, key.fingerprint) | holding(key.other, key.fingerprint)) != 0;
  }
  // A key whose two buckets are one is counted once.
  [[nodiscard]] unsigned count(const cuckoo_key& key) const noexcept {
    return holding(key.first, key.fingerprint) + (key.other == key.first ? 0 : holding(key.other, key.fingerprint));
  }
  [[nodiscard]] std::uint64_t used_slots() const noexcept {
    std::uint64_t used = 0;
    for (std::uint64_t i = 0; i < buckets * slots; ++i) used += bytes[i] != std::byte{0} ? 1U : 0U;
    return used;
  }
};

template <class Word, bool Whole>
struct cuckoo_editor<Word, cuckoo_form::redis, Whole> : cuckoo_table<Word, cuckoo_form::redis, Whole> {
  using table = cuckoo_table<Word, cuckoo_form::redis, Whole>;
  std::byte* to;

  cuckoo_editor(std::byte* bytes_to_write, const cuckoo_geometry& g) noexcept
      : table(bytes_to_write, g), to(bytes_to_write) {}

  [[nodiscard]] std::byte& slot(std::uint64_t bucket, unsigned lane) const noexcept {
    return to[bucket * this->slots + lane];
  }
  bool put(std::uint64_t bucket, std::uint64_t fingerprint) const noexcept {
    const unsigned free = this->first_holding(bucket, 0);
    if (free == this->slots) return false;
    slot(bucket, free) = static_cast<std::byte>(fingerprint);
    return true;
  }
  // Into a free slot of the key's buckets.
  bool put_where_free(const cuckoo_key& key) const noexcept {
    return put(key.first, key.fingerprint) || put(key.other, key.fingerprint);
  }
  // By moving others, so many at most; false, and nothing has changed, when that finds no space.
  bool put_by_moves(const cuckoo_key& key, unsigned most_moves = redis_most_moves) const noexcept {
    std::uint64_t bucket = key.first;
    auto moving = static_cast<std::byte>(key.fingerprint);
    for (unsigned i = 0; i < most_moves; ++i) {
      std::swap(slot(bucket, i % this->slots), moving);
      bucket = this->other(bucket, std::to_integer<std::uint64_t>(moving));
      if (put(bucket, std::to_integer<std::uint64_t>(moving))) return true;
    }
    // Back the same way: the other bucket of the other bucket is the bucket itself.
    for (unsigned i = most_moves; i-- > 0;) {
      bucket = this->other(bucket, std::to_integer<std::uint64_t>(moving));
      std::swap(slot(bucket, i % this->slots), moving);
    }
    return false;
  }
};

template <class Word, bool Whole>
insert_result cuckoo_insert(const cuckoo_editor<Word, cuckoo_form::redis, Whole>& table, const cuckoo_key& key,
                            cuckoo_copies copies) noexcept {
  const insert_result done = table.contains(key) ? insert_result::present : insert_result::inserted;
  if (done == insert_result::present && copies == cuckoo_copies::drop) return done;
  return table.put_where_free(key) || table.put_by_moves(key) ? done : insert_result::full;
}

template <class Word, bool Whole>
unsigned cuckoo_erase(const cuckoo_editor<Word, cuckoo_form::redis, Whole>& table, const cuckoo_key& key) noexcept {
  const unsigned there = table.count(key);
  if (there == 0) return 0;
  const unsigned in_first = table.first_holding(key.first, key.fingerprint);
  if (in_first != table.slots) {
    table.slot(key.first, in_first) = std::byte{0};
  } else {
    table.slot(key.other, table.first_holding(key.other, key.fingerprint)) = std::byte{0};
  }
  return there;
}

}  // namespace bloomery::inline BLOOMERY_ABI::kernels
