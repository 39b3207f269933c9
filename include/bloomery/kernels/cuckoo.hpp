// kernels/cuckoo.hpp: slots of fingerprints in buckets, and the moves between them.
//
// A key has a fingerprint, never 0, and two buckets, each of which follows from the other one and the fingerprint
// alone:
//
//     first = (digest x buckets) / 2^64        fingerprint = the digest's lowest bits, 1 for 0
//     other = (s - bucket) mod buckets, where s = (fingerprint^2 * multiplier mod 2^64 x buckets) / 2^64, made odd
//
// so that a stored fingerprint can be moved without its key. Any even number of buckets will do; one of the two buckets
// is even and one odd, so they are never the same. A slot that is 0 is empty.
// The slots of a bucket are lanes of one word, which is loaded from any byte and compared with the fingerprint in all
// lanes at once. The forms:
//
//     slots    buckets of 2 or 4 slots, one after the other
//     window   a bucket is two slots that begin at any slot, and shares them with its neighbours. A slot's lowest bit
//              states which of a bucket's two slots it is, so that it is known whose it is; it counts as part of the
//              comparison, and does not raise the FPR. Two such buckets hold as much as two of 3.5 slots, and a look-up
//              compares with four.
//     sorted   buckets of 4 slots whose lowest 4 bits are sorted and stored together as one of 3876 numbers, in 12 bits
//              for 16: one bit less a slot, and some decoding.
//     redis    RedisBloom's: see kernels/cuckoo/redis.hpp
//
// An insert that finds both buckets full searches for the shortest chain of moves, breadth first, before anything
// moves: it is made whole or not at all. Everything is safe for any bytes: a damaged slot is at worst a wrong answer.
#pragma once

#include <array>
#include <bit>
#include <bloomery/core/bytes.hpp>
#include <bloomery/core/result.hpp>
#include <bloomery/core/wide.hpp>
#include <bloomery/hash/digest_feed.hpp>
#include <bloomery/kernels/cuckoo/search.hpp>
#include <bloomery/kernels/cuckoo/sorted.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bloomery::inline BLOOMERY_ABI::kernels {

// The odd number nearest to 2^64 over the golden ratio.
inline constexpr std::uint64_t cuckoo_multiplier = 0x9e3779b97f4a7c15ULL;

enum class cuckoo_form : std::uint8_t { slots = 0, window = 1, sorted = 2, redis = 3 };

struct cuckoo_geometry {
  std::uint64_t buckets = 0;  // even; redis: a power of two
  unsigned slot_bits = 0;     // 4 to 32; redis: 8
  unsigned slots = 0;         // of a bucket: 2 or 4; redis: 1 to 255
  cuckoo_form form = cuckoo_form::slots;

  // Bits from one bucket to the next, and bits of a bucket as stored.
  [[nodiscard]] constexpr std::uint64_t stride() const noexcept {
    if (form == cuckoo_form::window) return slot_bits;
    return std::uint64_t{slots} * (form == cuckoo_form::sorted ? slot_bits - 1 : slot_bits);
  }
  [[nodiscard]] constexpr unsigned stored_bits() const noexcept {
    return slots * (form == cuckoo_form::sorted ? slot_bits - 1 : slot_bits);
  }
  [[nodiscard]] constexpr std::uint64_t total_slots() const noexcept {
    return form == cuckoo_form::window ? buckets + 1 : buckets * slots;
  }
  // Of all the slots, as they are stored.
  [[nodiscard]] constexpr std::uint64_t bits() const noexcept {
    return buckets * stride() + (form == cuckoo_form::window ? slot_bits : 0);
  }
  // The largest fingerprint.
  [[nodiscard]] constexpr std::uint64_t fingerprints() const noexcept {
    return (std::uint64_t{1} << (form == cuckoo_form::window ? slot_bits - 1 : slot_bits)) - 1;
  }
  // Whether every bucket is within 8 bytes, from the byte in which it begins, and its lanes in a word.
  [[nodiscard]] constexpr bool is_narrow() const noexcept {
    const auto step = static_cast<unsigned>(stride() % 8);
    const unsigned most_shift = step == 0 ? 0 : step % 2 != 0 ? 7 : step == 4 ? 4 : 6;
    return stored_bits() + most_shift <= 64 && slots * slot_bits <= 64;
  }
  [[nodiscard]] constexpr bool is_whole() const noexcept { return stride() % 8 == 0; }
  // So many that a word can be loaded from the first byte of the last bucket.
  [[nodiscard]] constexpr std::uint64_t payload_bytes() const noexcept {
    if (form == cuckoo_form::redis) return (buckets * slots + 7) / 8 * 8;
    return ((buckets - 1) * stride() / 8 + (is_narrow() ? 8 : 16) + 7) / 8 * 8;
  }
};

// The slots in which the key may be: those of two buckets, which may be one (redis) or share a slot (window).
inline unsigned cuckoo_places(const cuckoo_geometry& geometry, const cuckoo_key& key) noexcept {
  if (geometry.form == cuckoo_form::redis && key.first == key.other) return geometry.slots;
  const bool neighbours = key.first + 1 == key.other || key.other + 1 == key.first;
  return 2 * geometry.slots - (geometry.form == cuckoo_form::window && neighbours ? 1 : 0);
}

inline std::uint64_t cuckoo_other(std::uint64_t bucket, std::uint64_t fingerprint, std::uint64_t buckets) noexcept {
  // Of the fingerprint itself a product would be even steps, and most chains of moves would lead to the same few
  // buckets.
  const std::uint64_t sum = fast_range(fingerprint * fingerprint * cuckoo_multiplier, buckets) | 1U;
  const std::uint64_t difference = sum - bucket;
  return sum < bucket ? difference + buckets : difference;
}
inline cuckoo_key cuckoo_key_of(std::uint64_t digest, std::uint64_t buckets, std::uint64_t fingerprints) noexcept {
  const std::uint64_t first = fast_range(digest, buckets);
  std::uint64_t fingerprint = digest & fingerprints;
  fingerprint += fingerprint == 0 ? 1 : 0;
  return {first, cuckoo_other(first, fingerprint, buckets), fingerprint};
}

// The geometry with what loops need of it. `Word` is 64 bits wide where the geometry is narrow, else 128; `Whole`
// states that every bucket begins with a byte, which saves some instructions.
template <class Word, cuckoo_form Form, bool Whole = false>
struct cuckoo_table {
  const std::byte* bytes;
  std::uint64_t buckets;
  std::uint64_t stride;  // bytes where Whole, else bits
  std::uint64_t fingerprints;
  Word low;   // the lowest bit of every lane
  Word high;  // the highest
  Word tags;  // what lanes hold beside the fingerprint: their number, in a window
  unsigned slot_bits;
  unsigned slots;

  cuckoo_table(const std::byte* from, const cuckoo_geometry& g) noexcept
      : bytes(from),
        buckets(g.buckets),
        stride(Whole ? g.stride() / 8 : g.stride()),
        fingerprints(g.fingerprints()),
        low(0),
        high(0),
        tags(0),
        slot_bits(g.slot_bits),
        slots(g.slots) {
    low = Word{1} | Word{1} << slot_bits;
    if (slots == 4) low |= low << (2 * slot_bits);
    high = low << (slot_bits - 1);
    if constexpr (Form == cuckoo_form::window) tags = Word{1} << slot_bits;
  }

  [[nodiscard]] std::uint64_t other(std::uint64_t bucket, std::uint64_t fingerprint) const noexcept {
    return cuckoo_other(bucket, fingerprint, buckets);
  }
  [[nodiscard]] cuckoo_key key(std::uint64_t digest) const noexcept {
    return cuckoo_key_of(digest, buckets, fingerprints);
  }
  [[nodiscard]] std::uint64_t first_byte(std::uint64_t bucket) const noexcept {
    return Whole ? bucket * stride : bucket * stride / 8;
  }
  [[nodiscard]] unsigned first_bit(std::uint64_t bucket) const noexcept {
    return Whole ? 0 : static_cast<unsigned>(bucket * stride % 8);
  }
  void prefetch(std::uint64_t bucket) const noexcept { __builtin_prefetch(bytes + first_byte(bucket)); }
  void send_for_write(std::uint64_t bucket) const noexcept { __builtin_prefetch(bytes + first_byte(bucket), 1); }

  // The stored bits from the byte in which the bucket begins.
  [[nodiscard]] Word raw(std::uint64_t bucket) const noexcept {
    const std::byte* from = bytes + first_byte(bucket);
    Word word = load_le<std::uint64_t>(from);
    if constexpr (sizeof(Word) == 16) word |= static_cast<Word>(load_le<std::uint64_t>(from + 8)) << 64U;
    return word;
  }
  // The lanes of a bucket, and above them anything.
  [[nodiscard]] Word lanes(std::uint64_t bucket) const noexcept {
    const Word stored = raw(bucket) >> first_bit(bucket);
    if constexpr (Form == cuckoo_form::sorted) return sorted_unpack(stored, slot_bits);
    return stored;
  }
  [[nodiscard]] Word pattern(std::uint64_t fingerprint) const noexcept {
    if constexpr (Form == cuckoo_form::window) return in_every_lane(fingerprint << 1U) | tags;
    return in_every_lane(fingerprint);
  }
  // In 128 bits by products of 64, for processors that have no wider ones.
  [[nodiscard]] Word in_every_lane(std::uint64_t slot) const noexcept {
    if constexpr (sizeof(Word) == 8) {
      return low * slot;
    } else {
      return multiply_wide(static_cast<std::uint64_t>(low), slot) +
             (static_cast<Word>(static_cast<std::uint64_t>(low >> 64U) * slot) << 64U);
    }
  }
  // Not 0 when a lane is 0; the lowest bit set belongs to the lowest such lane.
  [[nodiscard]] Word any_zero(Word word) const noexcept { return (word - low) & ~word & high; }
  // The highest bit of every lane that is 0.
  [[nodiscard]] Word all_zero(Word word) const noexcept {
    const Word rest = high - low;
    return ~(((word & rest) + rest) | word) & high;
  }
  [[nodiscard]] unsigned lane_of(Word found) const noexcept { return lowest_bit(found) / slot_bits; }
  [[nodiscard]] std::uint32_t lane(Word word, unsigned lane) const noexcept {
    return static_cast<std::uint32_t>((word >> (lane * slot_bits)) & ((Word{1} << slot_bits) - 1));
  }
  // What a slot holds for a fingerprint in this lane of a bucket, and back.
  [[nodiscard]] static std::uint64_t slot_of(std::uint64_t fingerprint, unsigned lane) noexcept {
    return Form == cuckoo_form::window ? fingerprint << 1U | lane : fingerprint;
  }
  [[nodiscard]] static std::uint64_t fingerprint_of(std::uint64_t slot) noexcept {
    return Form == cuckoo_form::window ? slot >> 1U : slot;
  }
  // The bucket that the content of a lane belongs to. Damaged slots at both ends would belong beside the array.
  [[nodiscard]] std::uint64_t owner(std::uint64_t bucket, unsigned lane, std::uint64_t slot) const noexcept {
    if constexpr (Form != cuckoo_form::window) return bucket;
    const std::uint64_t at = bucket + lane;
    const std::uint64_t start = at - ((slot & 1U) != 0 && at != 0 ? 1 : 0);
    return start < buckets ? start : buckets - 1;
  }

  [[nodiscard]] bool contains(const cuckoo_key& key) const noexcept {
    const Word wanted = pattern(key.fingerprint);
    const Word first = lanes(key.first) ^ wanted;
    const Word second = lanes(key.other) ^ wanted;
    return ((((first - low) & ~first) | ((second - low) & ~second)) & high) != 0;
  }
  // Slots that hold the key.
  [[nodiscard]] unsigned count(const cuckoo_key& key) const noexcept {
    const Word wanted = pattern(key.fingerprint);
    return bits_set(all_zero(lanes(key.first) ^ wanted)) + bits_set(all_zero(lanes(key.other) ^ wanted));
  }
  [[nodiscard]] std::uint64_t used_slots() const noexcept {
    std::uint64_t used = 0;
    // Every other window, which are all the slots but the last.
    constexpr bool shared = Form == cuckoo_form::window;
    for (std::uint64_t bucket = 0; bucket < buckets; bucket += shared ? 2 : 1) {
      used += slots - bits_set(all_zero(lanes(bucket)));
    }
    return used + (shared && lane(lanes(buckets - 1), 1) != 0 ? 1 : 0);
  }

  static unsigned lowest_bit(Word word) noexcept {
    if constexpr (sizeof(Word) == 8) return static_cast<unsigned>(std::countr_zero(word));
    const auto half = static_cast<std::uint64_t>(word);
    if (half != 0) return static_cast<unsigned>(std::countr_zero(half));
    return 64 + static_cast<unsigned>(std::countr_zero(static_cast<std::uint64_t>(word >> (sizeof(Word) * 4))));
  }
  static unsigned bits_set(Word word) noexcept {
    const auto half = static_cast<std::uint64_t>(word >> (sizeof(Word) * 4));
    if constexpr (sizeof(Word) == 8) return static_cast<unsigned>(std::popcount(word));
    return static_cast<unsigned>(std::popcount(static_cast<std::uint64_t>(word)) + std::popcount(half));
  }
};

// The same, to be written. A view that only looks is not one of these.
template <class Word, cuckoo_form Form, bool Whole = false>
struct cuckoo_editor : cuckoo_table<Word, Form, Whole> {
  using table = cuckoo_table<Word, Form, Whole>;
  std::byte* to;

  cuckoo_editor(std::byte* bytes_to_write, const cuckoo_geometry& g) noexcept
      : table(bytes_to_write, g), to(bytes_to_write) {}

  void write_raw(std::uint64_t bucket, Word word) const noexcept {
    std::byte* at = to + this->first_byte(bucket);
    store_le(at, static_cast<std::uint64_t>(word));
    if constexpr (sizeof(Word) == 16) store_le(at + 8, static_cast<std::uint64_t>(word >> 64U));
  }
  // Puts `slot` into a lane. The lanes of a sorted bucket are in another order afterwards.
  void write(std::uint64_t bucket, unsigned lane, std::uint64_t slot) const noexcept {
    const unsigned shift = this->first_bit(bucket);
    Word word = this->raw(bucket);
    if constexpr (Form == cuckoo_form::sorted) {
      const unsigned bits = this->slots * (this->slot_bits - 1);
      const Word mask = (bits == sizeof(Word) * 8 ? Word{0} : Word{1} << bits) - 1;
      const Word lanes = with_lane(sorted_unpack(Word(word >> shift), this->slot_bits), lane, slot);
      word = (word & ~(mask << shift)) | sorted_pack(lanes, this->slot_bits) << shift;
    } else {
      word = with_lane(word >> shift, lane, slot) << shift | (word & ((Word{1} << shift) - 1));
    }
    write_raw(bucket, word);
  }

 private:
  [[nodiscard]] Word with_lane(Word lanes, unsigned lane, std::uint64_t slot) const noexcept {
    const unsigned at = lane * this->slot_bits;
    const Word mask = (Word{1} << this->slot_bits) - 1;
    return (lanes & ~(mask << at)) | static_cast<Word>(slot) << at;
  }
};

// What an insert does with a key that may be there already.
enum class cuckoo_copies : std::uint8_t { keep = 0, drop = 1 };

template <class Editor>
insert_result cuckoo_insert(const Editor& table, const cuckoo_key& key, cuckoo_copies copies) noexcept {
  const auto first = table.lanes(key.first);
  const auto other = table.lanes(key.other);
  const auto wanted = table.pattern(key.fingerprint);
  const insert_result done = (table.any_zero(first ^ wanted) | table.any_zero(other ^ wanted)) != 0
                                 ? insert_result::present
                                 : insert_result::inserted;
  if (done == insert_result::present && copies == cuckoo_copies::drop) return done;
  const auto free_first = table.all_zero(first);
  const auto free_other = table.all_zero(other);
  if ((free_first | free_other) != 0) {
    // The emptier bucket: chains of moves become rare.
    const bool to_first = table.bits_set(free_first) >= table.bits_set(free_other);
    const unsigned lane = table.lane_of(to_first ? free_first : free_other);
    table.write(to_first ? key.first : key.other, lane, table.slot_of(key.fingerprint, lane));
    return done;
  }
  return cuckoo_make_room(table, key) ? done : insert_result::full;
}

// How many of the key's slots there were before one was emptied.
template <class Editor>
unsigned cuckoo_erase(const Editor& table, const cuckoo_key& key) noexcept {
  const unsigned there = table.count(key);
  if (there == 0) return 0;
  const auto wanted = table.pattern(key.fingerprint);
  auto found = table.any_zero(table.lanes(key.first) ^ wanted);
  const std::uint64_t bucket = found != 0 ? key.first : key.other;
  if (found == 0) found = table.any_zero(table.lanes(key.other) ^ wanted);
  table.write(bucket, table.lane_of(found), 0);
  return there;
}

enum class cuckoo_access : std::uint8_t { read, write };

// Calls use(first, keys) for the keys of all digests, in groups of 64, each group when the memory of the next one has
// been prefetched. `use` returns false to end.
template <cuckoo_access Access, class Table, class Use>
void cuckoo_groups(const Table& table, std::size_t count, const digest_feed& next, Use&& use) noexcept {
  constexpr std::size_t group = 64;
  std::array<std::uint64_t, group> room;
  std::array<cuckoo_key, 2 * group> keys;
  for (std::size_t first = 0; first < count + group; first += group) {
    if (first < count) {
      const std::size_t size = count - first < group ? count - first : group;
      const std::uint64_t* digests = next(first, size, room.data());
      for (std::size_t i = 0; i < size; ++i) {
        const cuckoo_key key = table.key(digests[i]);
        if constexpr (Access == cuckoo_access::write) {
          table.send_for_write(key.first);
          table.send_for_write(key.other);
        } else {
          table.prefetch(key.first);
          table.prefetch(key.other);
        }
        keys[first % keys.size() + i] = key;
      }
    }
    if (first == 0) continue;
    const std::size_t before = first - group;
    const std::size_t size = count - before < group ? count - before : group;
    if (!use(before, std::span<const cuckoo_key>(keys).subspan(before % keys.size(), size))) return;
  }
}

template <class Table>
void cuckoo_contains_batch(const Table& given, std::size_t count, const digest_feed& next,
                           std::uint64_t* mask) noexcept {
  const Table table = given;
  cuckoo_groups<cuckoo_access::read>(table, count, next, [&](std::size_t first, std::span<const cuckoo_key> keys) {
    std::uint64_t answers = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) answers |= std::uint64_t{table.contains(keys[i])} << i;
    mask[first / 64] = answers;
    return true;
  });
}

// In their order, so that what is moved where is the same as one by one.
template <class Editor>
batch_outcome cuckoo_insert_many(const Editor& given, cuckoo_copies copies, std::size_t count,
                                 const digest_feed& next) noexcept {
  const Editor table = given;
  batch_outcome done;
  cuckoo_groups<cuckoo_access::write>(table, count, next, [&](std::size_t /*first*/, std::span<const cuckoo_key> keys) {
    for (const cuckoo_key& key : keys) {
      const insert_result outcome = cuckoo_insert(table, key, copies);
      if (outcome == insert_result::full) return false;
      done.inserted += outcome == insert_result::inserted ? 1 : 0;
      ++done.taken;
    }
    return true;
  });
  return done;
}

}  // namespace bloomery::inline BLOOMERY_ABI::kernels
