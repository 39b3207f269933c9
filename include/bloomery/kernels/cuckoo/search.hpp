// kernels/cuckoo/search.hpp: space for a key of a cuckoo filter whose two buckets are full.
#pragma once

#include <array>
#include <bloomery/core/config.hpp>
#include <cstddef>
#include <cstdint>

namespace bloomery::inline BLOOMERY_ABI::kernels {

struct cuckoo_key {
  std::uint64_t first;
  std::uint64_t other;
  std::uint64_t fingerprint;
};

// The search for space: buckets to look into, each reached by moving one slot's content out of another.
//
// It is made on the stack, of which a caller may not have much. So the first steps are kept as they are, and of each
// later one only where it comes from, in 16 bits: what it is is looked up again when the search gets there.
class cuckoo_search {
 public:
  // Most searches look into a few buckets. A search that fails looks into all of these, which takes some tens of
  // microseconds; four times as many would fill the slots by half a percent more.
  static constexpr std::size_t most_steps = 4096;

  // For a key whose two buckets are full.
  template <class Editor>
  bool run(const Editor& table, const cuckoo_key& key) noexcept {
    steps_[0] = {key.first, 0, none, 0, no_lane};
    steps_[1] = {key.other, 0, none, 0, no_lane};
    std::size_t end = 2;
    std::array<step, 8> next;
    for (std::size_t at = 0; at < end; ++at) {
      const std::size_t count = next_steps(table, at, next);
      for (std::size_t i = 0; i < count; ++i) {
        if (end == most_steps) return false;
        if (const auto free = table.any_zero(table.lanes(next[i].bucket)); free != 0) {
          apply(table, next[i], table.lane_of(free), key.fingerprint);
          return true;
        }
        keep(end, next[i]);
        ++end;
      }
    }
    return false;
  }

 private:
  struct step {
    std::uint64_t bucket;
    std::uint32_t slot;    // what moves here from the bucket before
    std::uint16_t before;  // that step's index, or none
    std::uint8_t lane;     // where it is there
    std::uint8_t skip;     // a lane here that the search has been to: where it is, seen from here; or no lane
  };
  static constexpr std::size_t whole_steps = 256;
  static constexpr std::uint16_t none = 0xffff;
  static constexpr std::uint8_t no_lane = 0xff;
  // A bucket has two slots or four, so that two steps on there are twice as many: no chain is longer.
  static constexpr std::size_t longest_chain = 32;
  static_assert(most_steps <= 4096, "a step before has 12 bits");

  // Index 12 bits, lane 3 bits, and whether it moves to its owner.
  void keep(std::size_t at, const step& made) noexcept {
    if (at < whole_steps) {
      steps_[at] = made;
    } else {
      const unsigned to_owner = made.skip == no_lane ? 0U : 1U;
      origins_[at - whole_steps] =
          static_cast<std::uint16_t>(unsigned{made.before} << 4U | unsigned{made.lane} << 1U | to_owner);
    }
  }
  // No slot has moved since the search saw it.
  template <class Editor>
  [[nodiscard]] step step_at(const Editor& table, std::size_t at) const noexcept {
    if (at < whole_steps) return steps_[at];
    const unsigned origin = origins_[at - whole_steps];
    const std::uint64_t bucket = step_at(table, origin >> 4U).bucket;
    const unsigned lane = origin >> 1U & 7U;
    const std::uint32_t slot = table.lane(table.lanes(bucket), lane);
    const std::uint64_t owner = table.owner(bucket, lane, slot);
    const auto before = static_cast<std::uint16_t>(origin >> 4U);
    return (origin & 1U) != 0 ? to_owner(owner, slot, before, lane) : to_other(table, owner, slot, before, lane);
  }
  template <class Editor>
  static step to_other(const Editor& table, std::uint64_t owner, std::uint32_t slot, std::uint16_t before,
                       unsigned lane) noexcept {
    return {table.other(owner, table.fingerprint_of(slot)), slot, before, static_cast<std::uint8_t>(lane), no_lane};
  }
  static step to_owner(std::uint64_t owner, std::uint32_t slot, std::uint16_t before, unsigned lane) noexcept {
    return {owner, slot, before, static_cast<std::uint8_t>(lane), static_cast<std::uint8_t>(slot & 1U)};
  }

  // Makes all moves of the chain that ends in the free lane of `last`, from there on, and puts the fingerprint where
  // the chain begins. A shortest chain passes no bucket twice, so that the lanes are those that the search saw, also
  // where a write sorts them.
  template <class Editor>
  void apply(const Editor& table, const step& last, unsigned lane, std::uint64_t fingerprint) const noexcept {
    std::array<step, longest_chain> chain;
    std::size_t length = 0;
    chain[length++] = last;
    while (chain[length - 1].before != none) {
      chain[length] = step_at(table, chain[length - 1].before);
      ++length;
    }
    for (std::size_t i = 0; i + 1 < length; ++i) {
      table.write(chain[i].bucket, lane, table.slot_of(table.fingerprint_of(chain[i].slot), lane));
      lane = chain[i].lane;
    }
    table.write(chain[length - 1].bucket, lane, table.slot_of(fingerprint, lane));
  }

  // Where the content of a bucket's lanes can go: how many steps, with their memory prefetched.
  template <class Editor>
  std::size_t next_steps(const Editor& table, std::size_t at, std::array<step, 8>& next) const noexcept {
    const step here = step_at(table, at);
    const auto lanes = table.lanes(here.bucket);
    const auto before = static_cast<std::uint16_t>(at);
    std::size_t count = 0;
    for (unsigned lane = 0; lane < table.slots; ++lane) {
      if (lane == here.skip) continue;
      const std::uint32_t slot = table.lane(lanes, lane);
      const std::uint64_t owner = table.owner(here.bucket, lane, slot);
      next[count++] = to_other(table, owner, slot, before, lane);
      if (owner != here.bucket) next[count++] = to_owner(owner, slot, before, lane);
    }
    for (std::size_t i = 0; i < count; ++i) table.prefetch(next[i].bucket);
    return count;
  }

  std::array<step, whole_steps> steps_;
  std::array<std::uint16_t, most_steps - whole_steps> origins_;
};

// Not inlined: an insert that finds space needs none of that memory.
template <class Editor>
__attribute__((noinline)) bool cuckoo_make_room(const Editor& table, const cuckoo_key& key) noexcept {
  cuckoo_search search;
  return search.run(table, key);
}

}  // namespace bloomery::inline BLOOMERY_ABI::kernels
