// kinds/explain.hpp: what a look-up of one key reads in a filter, and how that decides. Data for hosts to draw or list.
//
//     const bloomery::explanation why = filter.explain(digest);
//     for (const auto& group : why.groups()) {
//       for (const auto& probe : why.probes(group)) draw(probe.position, probe.matches);
//     }
//     why.may_contain();                       // what filter.may_contain(digest) answers
//
// Probe      one unit of the filter that a look-up reads: a bit, a counter, a slot. `matches`: it speaks for the key.
// Group      probes that decide together, by a rule: all of them match, any does, so many in a row do, or the values
//            read, all xored, are the expected one. A block, a bucket, a sub-filter, a layer.
// Verdict    groups of one stage are alternatives: a stage says yes when one of them does. The answer is yes when every
//            stage says yes; `reversed()` turns it over. A negated group says yes when it does not match (removals).
//
// A look-up may stop as soon as the answer is known. An explanation goes on, so that it shows all that could have been
// read. It allocates nothing: beyond its capacity it is cut (`is_cut`), keeps what decides, and its verdict is right.
//
// Kinds build one with begin, add and end, by the functions that their look-ups have positions from.
#pragma once

#include <array>
#include <bloomery/core/buffer.hpp>
#include <bloomery/core/size.hpp>
#include <bloomery/hash/concept.hpp>
#include <bloomery/kinds/concept.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI {

enum class probe_unit : std::uint8_t {
  bit,
  counter,    // matches above 0
  slot,       // of a fingerprint, or of a prefix of the digest
  cell,       // of a table whose cells are xored, or with a remainder
  column,     // the parity of some bits of two words, which is one bit of a fingerprint
  threshold,  // matches when the key's place is not below it
  stamp,      // a generation
  entry,      // of a list of whole digests or codes
  integer,    // a key itself
};
BLOOMERY_API std::string_view name_of(probe_unit unit) noexcept;

enum class probe_rule : std::uint8_t {
  all,      // every probe matches
  any,      // one does
  run,      // `needed` in a row do
  xor_sum,  // the values read, xored, are `expected` of the group
};
BLOOMERY_API std::string_view name_of(probe_rule rule) noexcept;

struct lookup_probe {
  static constexpr std::uint64_t no_offset = ~std::uint64_t{0};

  std::uint64_t position = 0;             // number of the unit in its filter, sub-filter or layer
  std::uint64_t byte_offset = no_offset;  // of its first byte in the stored bytes (any_filter::bytes, a file's payload)
  std::uint64_t read = 0;                 // its value
  std::uint64_t expected = 0;             // the value that would match, if there is just one
  std::uint32_t number = 0;               // in its group, from 0
  probe_unit unit = probe_unit::bit;
  bool has_expected = false;
  bool matches = false;
};

// The index of a part or place of which there is one.
inline constexpr std::uint64_t not_numbered = ~std::uint64_t{0};

// Where in a larger filter a part of it is, for kinds that are made of others.
struct explained_part {
  std::string_view name{};  // "sub-filter", "layer"; empty: the whole filter
  std::uint64_t index = not_numbered;
  std::uint64_t first_byte = 0;  // of the part, in the stored bytes of the whole
  std::uint8_t stage = 0;
  bool negated = false;
};

struct lookup_group {
  explained_part part{};
  std::string_view place{};  // "block", "bucket", "line", in the part; empty: anywhere
  std::uint64_t place_index = not_numbered;
  probe_rule rule = probe_rule::all;
  std::uint32_t needed = 0;    // rule run
  std::uint64_t expected = 0;  // rule xor_sum
  std::string_view note{};     // why a group without probes matches or does not

  // From here on by the explanation.
  bool matches = false;      // by its rule; `negated` is not taken into account
  std::uint64_t read = 0;    // rule xor_sum: the sum
  std::uint32_t probes = 0;  // in all
  std::uint16_t first = 0;   // of those that are kept
  std::uint16_t kept = 0;
  std::uint64_t first_cell = 0;  // position of the first cell of its picture
  std::uint16_t cell_at = 0;     // in all cells of the explanation
  std::uint16_t cells = 0;       // 0: there is no picture

  [[nodiscard]] bool says_yes() const noexcept { return matches != part.negated; }
};

class BLOOMERY_API explanation {
 public:
  static constexpr std::size_t max_probes = 256;
  static constexpr std::size_t max_groups = 64;
  static constexpr std::size_t max_cells = 4096;

  explicit explanation(std::uint64_t digest) noexcept : explanation(std::array<std::uint64_t, 4>{digest}, 64) {}
  explicit explanation(const digest128& digest) noexcept
      : explanation(std::array<std::uint64_t, 4>{digest.low, digest.high}, 128) {}
  explicit explanation(const digest256& digest) noexcept : explanation(digest.word, 256) {}

  [[nodiscard]] bool may_contain() const noexcept { return (decided_ && stage_says_yes_) != reversed_; }
  // The digest, lowest word first.
  [[nodiscard]] std::span<const std::uint64_t> digest() const noexcept {
    return std::span<const std::uint64_t>(digest_).first(digest_bits_ / 64);
  }
  [[nodiscard]] std::span<const lookup_group> groups() const noexcept {
    return {stored() == nullptr ? nullptr : stored()->groups.data(), groups_kept_};
  }
  [[nodiscard]] std::span<const lookup_probe> probes() const noexcept {
    return {stored() == nullptr ? nullptr : stored()->probes.data(), probes_kept_};
  }
  [[nodiscard]] std::span<const lookup_probe> probes(const lookup_group& group) const noexcept {
    return probes().subspan(group.first, group.kept);
  }
  // The values of all cells around the probes, where these are few: of a small filter, of a block.
  [[nodiscard]] std::span<const std::uint8_t> cells(const lookup_group& group) const noexcept {
    return std::span<const std::uint8_t>(stored()->cells).subspan(group.cell_at, group.cells);
  }
  // Some probes or groups were left out (all of them, if there was no memory for them); the numbers of all.
  [[nodiscard]] bool is_cut() const noexcept { return probes_kept_ != probes_seen_ || groups_kept_ != groups_seen_; }
  [[nodiscard]] std::uint64_t probes_read() const noexcept { return probes_seen_; }
  [[nodiscard]] std::uint64_t groups_read() const noexcept { return groups_seen_; }
  // The answer is the opposite of what the stages say.
  [[nodiscard]] bool reversed() const noexcept { return reversed_; }
  // Of a filter in shards: which one holds the key, and of how many; 0 of 0 else.
  [[nodiscard]] unsigned shard() const noexcept { return shard_; }
  [[nodiscard]] unsigned shards() const noexcept { return shards_; }

  // ---- for kinds ----

  // A group; stages ascend from 0 on, without gaps.
  void begin(const lookup_group& group) noexcept;
  void add(const lookup_probe& probe) noexcept;
  void end() noexcept;
  // A group without probes, that matches or does not.
  void add_note(const explained_part& part, std::string_view note, bool matches) noexcept;
  // Within a group: its cells, if so many have space; value(i) is that of the cell at position first + i.
  template <class Value>
  void draw(std::uint64_t first, std::uint64_t count, Value&& value) noexcept {
    if (stored() == nullptr || count > max_cells - cells_used_) return;
    building_.first_cell = first;
    building_.cell_at = cells_used_;
    building_.cells = static_cast<std::uint16_t>(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      stored()->cells[to_size(cells_used_ + i)] = static_cast<std::uint8_t>(value(i));
    }
  }
  void reverse() noexcept { reversed_ = true; }
  void set_shard(unsigned shard, unsigned shards) noexcept {
    shard_ = shard;
    shards_ = shards;
  }

 private:
  // What does not match has half of the space, so that there is some left for what does.
  static constexpr std::size_t max_group_probes = max_probes / 2;
  static constexpr std::size_t max_other_groups = max_groups - 16;

  // Some 20 KiB, which a caller's stack may not have.
  struct parts {
    std::array<lookup_group, max_groups> groups;
    std::array<lookup_probe, max_probes> probes;
    std::array<std::uint8_t, max_cells> cells;
  };

  explanation(const std::array<std::uint64_t, 4>& digest, unsigned bits) noexcept
      : digest_(digest), digest_bits_(bits) {
    if (auto memory = aligned_buffer::make(sizeof(parts), "the explanation")) memory_ = std::move(*memory);
  }
  // nullptr: there is no memory.
  [[nodiscard]] parts* stored() noexcept { return reinterpret_cast<parts*>(memory_.data()); }
  [[nodiscard]] const parts* stored() const noexcept { return reinterpret_cast<const parts*>(memory_.data()); }

  std::array<std::uint64_t, 4> digest_{};
  unsigned digest_bits_;
  unsigned shard_ = 0;
  unsigned shards_ = 0;
  bool reversed_ = false;
  bool decided_ = true;          // the stages before this one say yes
  bool stage_says_yes_ = false;  // this stage
  std::uint8_t stage_ = 0;
  bool has_decisive_ = false;  // the group that is built: a kept probe that decides about it
  std::uint32_t in_row_ = 0;
  std::uint64_t probes_seen_ = 0;
  std::uint64_t groups_seen_ = 0;
  std::uint16_t probes_kept_ = 0;
  std::uint16_t groups_kept_ = 0;
  std::uint16_t cells_used_ = 0;
  lookup_group building_{};
  aligned_buffer memory_;
};

// The bit at this position, of bytes that hold eight of them from their lowest one on; test(position) is its value.
template <class Test>
lookup_probe probe_of_bit(std::uint64_t position, Test&& test, std::uint64_t first_byte = 0) noexcept {
  const bool is_set = test(position);
  return {.position = position,
          .byte_offset = first_byte + position / 8,
          .read = is_set ? 1U : 0U,
          .expected = 1,
          .unit = probe_unit::bit,
          .has_expected = true,
          .matches = is_set};
}

// Kinds whose look-ups can be explained: those of the list all can.
template <class K>
concept explained_kind = filter_kind<K> && requires(const K constant, std::uint64_t digest) {
  { constant.explain(digest) } -> std::same_as<explanation>;
};

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds/explain.cpp>
#endif
