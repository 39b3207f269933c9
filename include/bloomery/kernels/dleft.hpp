// kernels/dleft.hpp: cells of remainders and counters in four tables of buckets.
//
// A digest has one value, and the value has one place in each of the tables:
//
//     value     = (digest x buckets x 2^r) / 2^64            remainder = its lowest r bits, start = the bits above
//     bucket 0  = start
//     bucket t  = (start + shift t) mod buckets,  where m = mix64(remainder + golden),  shift t = (m * multiplier t mod
//                 2^64 x buckets) / 2^64,  multiplier 1 = 1
//
// For one remainder that is a shift, so that bucket and remainder in any table determine what the value is: two values
// never meet in a cell, whichever of their buckets they are in, and taking one out cannot hit another. (The paper
// permutes the whole value for each table, which does the same for numbers of buckets that are powers of two.)
//
// A bucket has 8 cells and is r + 2 bytes long; bit i of each byte is cell i's. Byte 0 and 1 hold the low and high bit
// of the counters, byte 2 + j bit j of the remainders. So one comparison of words compares all cells of a bucket, at
// any r. A cell whose counter is 0 is empty, and then its other bits are 0.
//
// The first line of the payload is the stash: the values, plus 1, that found their four buckets full, an entry for each
// occurrence, from the front. The payload ends with zeros, such that words can be read from every bucket.
//
// An insert adds 1 to the counter of a cell that holds the value, if there is one below 3. Else it takes the lowest
// empty cell of the bucket with the fewest cells in use, the leftmost of several; else an entry of the stash. Nothing
// is ever moved but from the stash into a bucket that an erase made space in. Everything but the stash is safe for any
// bytes; its entries must be values.
#pragma once

#include <array>
#include <bit>
#include <bloomery/core/bytes.hpp>
#include <bloomery/core/result.hpp>
#include <bloomery/core/size.hpp>
#include <bloomery/core/wide.hpp>
#include <bloomery/hash/digest_feed.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bloomery::inline BLOOMERY_ABI::kernels {

inline constexpr unsigned dleft_tables = 4;
inline constexpr unsigned dleft_cells = 8;         // of a bucket
inline constexpr unsigned dleft_counter_most = 3;  // of a cell
inline constexpr unsigned dleft_most_copies = 15;  // of a value: five cells
inline constexpr unsigned dleft_stash_entries = 8;
inline constexpr unsigned dleft_stash_bytes = 8 * dleft_stash_entries;
inline constexpr unsigned dleft_least_bits = 6;  // of a remainder
inline constexpr unsigned dleft_most_bits = 38;
inline constexpr unsigned dleft_most_words = (dleft_most_bits + 2) / 8;

// Bit i of the byte in all bits of byte i.
constexpr std::uint64_t dleft_spread(std::uint64_t byte) noexcept {
  const std::uint64_t apart = ((byte & 0xffU) * 0x0101010101010101ULL) & 0x8040201008040201ULL;
  return (((apart + 0x7f7f7f7f7f7f7f7fULL) & 0x8080808080808080ULL) >> 7U) * 0xffU;
}

struct dleft_geometry {
  std::uint64_t buckets = 0;  // of each table
  unsigned remainder_bits = 0;

  [[nodiscard]] constexpr std::uint64_t stride() const noexcept { return remainder_bits + 2; }
  [[nodiscard]] constexpr std::uint64_t cells() const noexcept { return buckets * dleft_tables * dleft_cells; }
  [[nodiscard]] constexpr std::uint64_t values() const noexcept { return buckets << remainder_bits; }
  [[nodiscard]] constexpr std::uint64_t bucket_bytes() const noexcept { return buckets * dleft_tables * stride(); }
  [[nodiscard]] constexpr std::uint64_t end() const noexcept { return dleft_stash_bytes + bucket_bytes(); }
  [[nodiscard]] constexpr std::uint64_t payload_bytes() const noexcept {
    return (end() + 7) / 8 * 8 + 8 * dleft_most_words;
  }
  // How far the bucket of table t is shifted.
  [[nodiscard]] std::array<std::uint64_t, dleft_tables> shifts(std::uint64_t remainder) const noexcept {
    const std::uint64_t mixed = mix64(remainder + 0x9e3779b97f4a7c15ULL);
    return {0, fast_range(mixed, buckets), fast_range(mixed * 0xbf58476d1ce4e5b9ULL, buckets),
            fast_range(mixed * 0x94d049bb133111ebULL, buckets)};
  }
};

// A value and the first bytes of its buckets.
struct dleft_key {
  std::uint64_t value;
  std::array<std::uint64_t, dleft_tables> at;
};

inline dleft_key dleft_key_of(const dleft_geometry& geometry, std::uint64_t value) noexcept {
  const std::uint64_t start = value >> geometry.remainder_bits;
  const auto shifts = geometry.shifts(value & ((std::uint64_t{1} << geometry.remainder_bits) - 1));
  dleft_key key{value, {}};
  for (unsigned table = 0; table < dleft_tables; ++table) {
    std::uint64_t bucket = start + shifts[table];
    bucket -= bucket >= geometry.buckets ? geometry.buckets : 0;
    key.at[table] = dleft_stash_bytes + (table * geometry.buckets + bucket) * geometry.stride();
  }
  return key;
}

// The bits set in a byte; the general count is a call where the processor is not known to have an instruction for it.
constexpr unsigned dleft_bits(unsigned byte) noexcept {
  return static_cast<unsigned>(((byte * 0x0002000400080010ULL & 0x1111111111111111ULL) * 0x1111111111111111ULL) >> 60U);
}

// What a bucket holds of a remainder: a bit for each cell.
struct dleft_found {
  unsigned match = 0;  // holds it
  unsigned low = 0;    // the low bits of the counters
  unsigned high = 0;

  [[nodiscard]] unsigned used() const noexcept { return low | high; }
  // Matching cells whose counter is below its maximum.
  [[nodiscard]] unsigned open() const noexcept { return match & ~(low & high); }
  [[nodiscard]] unsigned occurrences() const noexcept {
    return match == 0 ? 0 : dleft_bits(match & low) + 2 * dleft_bits(match & high);
  }
};

// The bytes with what loops need of the geometry. `Words` of 8 bytes hold a bucket.
template <unsigned Words>
struct dleft_table {
  using words = std::array<std::uint64_t, Words>;
  const std::byte* bytes;
  dleft_geometry geometry;
  std::uint64_t stashed;
  words care{};  // the bits of remainders

  dleft_table(const std::byte* from, const dleft_geometry& g, std::uint64_t stashed_now) noexcept
      : bytes(from), geometry(g), stashed(stashed_now) {
    care = pattern((std::uint64_t{1} << g.remainder_bits) - 1);
  }

  [[nodiscard]] dleft_key key(std::uint64_t digest) const noexcept {
    return dleft_key_of(geometry, fast_range(digest, geometry.values()));
  }
  // A remainder in all cells of a bucket.
  [[nodiscard]] static words pattern(std::uint64_t remainder) noexcept {
    words out;
    for (unsigned i = 0; i < Words; ++i) out[i] = dleft_spread(remainder << 2U >> (8 * i));
    return out;
  }
  [[nodiscard]] words wanted(const dleft_key& key) const noexcept {
    return pattern(key.value & ((std::uint64_t{1} << geometry.remainder_bits) - 1));
  }
  [[nodiscard]] dleft_found look(std::uint64_t at, const words& remainder) const noexcept {
    const auto first = load_le<std::uint64_t>(bytes + at);
    std::uint64_t other = (first ^ remainder[0]) & care[0];
    for (unsigned i = 1; i < Words; ++i) {
      other |= (load_le<std::uint64_t>(bytes + at + 8 * i) ^ remainder[i]) & care[i];
    }
    other |= other >> 32U;
    other |= other >> 16U;
    other |= other >> 8U;
    const auto low = static_cast<unsigned>(first & 0xffU);
    const auto high = static_cast<unsigned>(first >> 8U & 0xffU);
    return {(low | high) & ~static_cast<unsigned>(other & 0xffU), low, high};
  }
  // What one cell of a bucket holds.
  [[nodiscard]] std::uint64_t remainder_in(std::uint64_t at, unsigned cell) const noexcept {
    std::uint64_t remainder = 0;
    for (unsigned j = 0; j < geometry.remainder_bits; ++j) {
      remainder |= (std::to_integer<std::uint64_t>(bytes[at + 2 + j]) >> cell & 1U) << j;
    }
    return remainder;
  }
  [[nodiscard]] unsigned stashed_copies(std::uint64_t value) const noexcept {
    unsigned copies = 0;
    for (std::uint64_t i = 0; i < stashed; ++i) copies += entry(i) == value + 1 ? 1U : 0U;
    return copies;
  }
  [[nodiscard]] std::uint64_t entry(std::uint64_t i) const noexcept { return load_le<std::uint64_t>(bytes + 8 * i); }

  [[nodiscard]] bool contains(const dleft_key& key) const noexcept {
    const words remainder = wanted(key);
    unsigned match = 0;
    for (const std::uint64_t at : key.at) match |= look(at, remainder).match;
    if (stashed != 0) match |= stashed_copies(key.value);
    return match != 0;
  }
  [[nodiscard]] unsigned count(const dleft_key& key) const noexcept {
    const words remainder = wanted(key);
    unsigned copies = stashed_copies(key.value);
    for (const std::uint64_t at : key.at) copies += look(at, remainder).occurrences();
    return copies;
  }
  void prefetch(const dleft_key& key) const noexcept {
    for (const std::uint64_t at : key.at) __builtin_prefetch(bytes + at);
  }
};

// The same, to be written. `count` is the number of entries of the stash, which it keeps.
template <unsigned Words>
struct dleft_editor : dleft_table<Words> {
  using typename dleft_table<Words>::words;
  std::byte* to;
  std::uint64_t* stash_count;
  words whole{};  // the bits of a bucket

  dleft_editor(std::byte* into, const dleft_geometry& g, std::uint64_t& stashed_now) noexcept
      : dleft_table<Words>(into, g, stashed_now), to(into), stash_count(&stashed_now) {
    whole = this->care;
    whole[0] |= 0xffffU;
  }

  void prefetch(const dleft_key& key) const noexcept {
    for (const std::uint64_t at : key.at) __builtin_prefetch(to + at, 1);
  }
  // Writes one cell: the remainder with a counter of 1, or nothing.
  void write(std::uint64_t at, unsigned cell, const words* remainder) const noexcept {
    const std::uint64_t column = (std::uint64_t{1} << cell) * 0x0101010101010101ULL;
    for (unsigned i = 0; i < Words; ++i) {
      if (whole[i] == 0) break;
      std::uint64_t word = load_le<std::uint64_t>(to + at + 8 * i) & ~(column & whole[i]);
      if (remainder != nullptr) word |= (*remainder)[i] & column;
      if (remainder != nullptr && i == 0) word |= std::uint64_t{1} << cell;
      store_le(to + at + 8 * i, word);
    }
  }
  void set_counter(std::uint64_t at, unsigned cell, unsigned counter) const noexcept {
    const unsigned bit = 1U << cell;
    for (unsigned i = 0; i < 2; ++i) {
      const auto old = std::to_integer<unsigned>(to[at + i]);
      to[at + i] = static_cast<std::byte>((counter >> i & 1U) != 0 ? old | bit : old & ~bit);
    }
  }
  // Into a cell of its own or another's; false, and nothing changes, when the buckets are full.
  bool place(const dleft_key& key, const words& remainder,
             const std::array<dleft_found, dleft_tables>& found) const noexcept {
    unsigned best = 0;
    unsigned least = dleft_cells + 1;
    for (unsigned table = 0; table < dleft_tables; ++table) {
      if (found[table].open() != 0) {
        const auto cell = static_cast<unsigned>(std::countr_zero(found[table].open()));
        set_counter(key.at[table], cell, counter_of(found[table], cell) + 1);
        return true;
      }
      const unsigned used = dleft_bits(found[table].used());
      best = used < least ? table : best;
      least = used < least ? used : least;
    }
    if (least == dleft_cells) return false;
    write(key.at[best], static_cast<unsigned>(std::countr_one(found[best].used())), &remainder);
    return true;
  }
  [[nodiscard]] std::array<dleft_found, dleft_tables> look_at_all(const dleft_key& key,
                                                                  const words& remainder) const noexcept {
    std::array<dleft_found, dleft_tables> found;
    for (unsigned table = 0; table < dleft_tables; ++table) found[table] = this->look(key.at[table], remainder);
    return found;
  }
  [[nodiscard]] static unsigned counter_of(const dleft_found& found, unsigned cell) noexcept {
    return (found.low >> cell & 1U) + 2 * (found.high >> cell & 1U);
  }

  bool stash(std::uint64_t value) noexcept {
    if (this->stashed == dleft_stash_entries) return false;
    store_le(to + 8 * this->stashed, value + 1);
    *stash_count = ++this->stashed;
    return true;
  }
  void unstash(std::uint64_t i) noexcept {
    *stash_count = --this->stashed;
    store_le(to + 8 * i, this->entry(this->stashed));
    store_le(to + 8 * this->stashed, std::uint64_t{0});
  }
  // Values of the stash whose buckets have space now.
  void bring_home() noexcept {
    for (std::uint64_t i = 0; i < this->stashed;) {
      const dleft_key key = dleft_key_of(this->geometry, this->entry(i) - 1);
      const words remainder = this->wanted(key);
      if (place(key, remainder, look_at_all(key, remainder))) {
        unstash(i);
      } else {
        ++i;
      }
    }
  }
};

// What an insert does with a key that may be there already.
enum class dleft_copies : std::uint8_t { keep = 0, drop = 1 };

template <unsigned Words>
insert_result dleft_insert(dleft_editor<Words>& table, const dleft_key& key, dleft_copies copies) noexcept {
  const auto remainder = table.wanted(key);
  const auto found = table.look_at_all(key, remainder);
  unsigned there = table.stashed_copies(key.value);
  for (const dleft_found& bucket : found) there += bucket.occurrences();
  const insert_result done = there == 0 ? insert_result::inserted : insert_result::present;
  if (there != 0 && copies == dleft_copies::drop) return done;
  if (there >= dleft_most_copies) return insert_result::full;
  return table.place(key, remainder, found) || table.stash(key.value) ? done : insert_result::full;
}

// How many occurrences there were before one was taken away.
template <unsigned Words>
unsigned dleft_erase(dleft_editor<Words>& table, const dleft_key& key) noexcept {
  const auto remainder = table.wanted(key);
  const auto found = table.look_at_all(key, remainder);
  unsigned there = table.stashed_copies(key.value);
  for (const dleft_found& bucket : found) there += bucket.occurrences();
  if (there == 0) return 0;
  for (std::uint64_t i = 0; i < table.stashed; ++i) {
    if (table.entry(i) != key.value + 1) continue;
    table.unstash(i);
    return there;
  }
  // From a counter that is not full, if there is one: the others stay full.
  unsigned from = dleft_tables;
  for (unsigned t = 0; t < dleft_tables; ++t) {
    if (found[t].open() != 0 || (found[t].match != 0 && from == dleft_tables)) from = t;
  }
  const unsigned cells = found[from].open() != 0 ? found[from].open() : found[from].match;
  const auto cell = static_cast<unsigned>(std::countr_zero(cells));
  const unsigned counter = table.counter_of(found[from], cell);
  if (counter > 1) {
    table.set_counter(key.at[from], cell, counter - 1);
    return there;
  }
  table.write(key.at[from], cell, nullptr);
  if (table.stashed != 0) table.bring_home();
  return there;
}

// Calls use(first, keys) for the keys of all digests, in groups of 64, each group when the memory of the next one has
// been prefetched. `use` returns false to end.
template <class Table, class Use>
void dleft_groups(const Table& table, std::size_t count, const digest_feed& next, Use&& use) noexcept {
  constexpr std::size_t group = 64;
  std::array<std::uint64_t, group> room;
  std::array<dleft_key, 2 * group> keys;
  for (std::size_t first = 0; first < count + group; first += group) {
    if (first < count) {
      const std::size_t size = count - first < group ? count - first : group;
      const std::uint64_t* digests = next(first, size, room.data());
      for (std::size_t i = 0; i < size; ++i) {
        dleft_key& key = keys[first % keys.size() + i];
        key = table.key(digests[i]);
        table.prefetch(key);
      }
    }
    if (first == 0) continue;
    const std::size_t before = first - group;
    const std::size_t size = count - before < group ? count - before : group;
    if (!use(before, std::span<const dleft_key>(keys).subspan(before % keys.size(), size))) return;
  }
}

template <unsigned Words>
void dleft_contains_batch(const dleft_table<Words>& given, std::size_t count, const digest_feed& next,
                          std::uint64_t* mask) noexcept {
  const dleft_table<Words> table = given;
  dleft_groups(table, count, next, [&](std::size_t first, std::span<const dleft_key> keys) {
    std::uint64_t answers = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) answers |= std::uint64_t{table.contains(keys[i])} << i;
    mask[first / 64] = answers;
    return true;
  });
}

// In their order, so that they are where they would be if inserted one by one.
template <unsigned Words>
batch_outcome dleft_insert_many(dleft_editor<Words>& table, dleft_copies copies, std::size_t count,
                                const digest_feed& next) noexcept {
  batch_outcome done;
  dleft_groups(table, count, next, [&](std::size_t /*first*/, std::span<const dleft_key> keys) {
    for (const dleft_key& key : keys) {
      const insert_result outcome = dleft_insert(table, key, copies);
      if (outcome == insert_result::full) return false;
      done.inserted += outcome == insert_result::inserted ? 1 : 0;
      ++done.taken;
    }
    return true;
  });
  return done;
}

// Calls f(value, counter) for every cell in use, and (value, 1) for the stash; until f returns false, which it then
// does too.
template <unsigned Words, class F>
bool dleft_each(const dleft_table<Words>& table, F&& f) noexcept {
  const dleft_geometry& g = table.geometry;
  for (std::uint64_t bucket = 0; bucket < g.buckets * dleft_tables; ++bucket) {
    const std::byte* at = table.bytes + dleft_stash_bytes + bucket * g.stride();
    for (unsigned cell = 0; cell < dleft_cells; ++cell) {
      const auto bit = [at, cell](unsigned byte) { return std::to_integer<std::uint64_t>(at[byte] >> cell) & 1U; };
      const auto counter = static_cast<unsigned>(bit(0) + 2 * bit(1));
      if (counter == 0) continue;
      std::uint64_t remainder = 0;
      for (unsigned j = 0; j < g.remainder_bits; ++j) remainder |= bit(2 + j) << j;
      const std::uint64_t shift = g.shifts(remainder)[to_size(bucket / g.buckets)];
      const std::uint64_t here = bucket % g.buckets;
      const std::uint64_t start = here >= shift ? here - shift : here + g.buckets - shift;
      if (!f(start << g.remainder_bits | remainder, counter)) return false;
    }
  }
  for (std::uint64_t i = 0; i < table.stashed; ++i) {
    if (!f(table.entry(i) - 1, 1U)) return false;
  }
  return true;
}

}  // namespace bloomery::inline BLOOMERY_ABI::kernels
