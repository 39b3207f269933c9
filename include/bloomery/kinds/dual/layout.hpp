// kinds/dual/layout.hpp: how kind dual shares out its memory, and the list of keys that came back.
//
// The memory is made of units. A unit is one block of the removal filter (64 bytes), as many blocks of the add filter
// as a layout states, and one slot of the list (8 bytes); there are 16 slots more, so that small filters have some.
// Both filters have the same number of hash functions, and at what they are made for the same number of keys in a
// block: they have one FPR. The blocks of the add filter are a multiple of those of the removal filter, so each has one
// block of removals.
#pragma once

#include <algorithm>
#include <array>
#include <bloomery/kinds/bit_store.hpp>
#include <bloomery/kinds/blocked/layout.hpp>
#include <bloomery/kinds/concept.hpp>
#include <cmath>

namespace bloomery::inline BLOOMERY_ABI {

// What is made for as many removals as keys, for half as many, and so on.
struct dual_layout {
  std::string_view name;
  unsigned share;  // keys for each removal
};
inline constexpr std::array<dual_layout, 4> dual_layouts{{{"even", 1}, {"half", 2}, {"quarter", 4}, {"tenth", 10}}};

BLOOMERY_API result<dual_layout> find_dual_layout(std::string_view name) noexcept;

// The sizing model; see sizing/sizing.hpp.
struct BLOOMERY_API dual_model {
  static constexpr std::string_view name = "dual";
  static constexpr std::uint64_t block_bits = 512;
  static constexpr std::uint64_t slot_bits = 64;
  static constexpr std::uint64_t more_slots = 16;
  static constexpr unsigned cell_bits = 2;  // a key has about half of the bits: where the search for k begins
  unsigned share = 1;

  // Of a filter with these numbers: removal blocks, hash functions, share, keys added, removals, keys that came back.
  static result<dual_model> of(const stored_shape& shape) noexcept;
  [[nodiscard]] static unsigned min_hashes() noexcept { return blocked_model{}.min_hashes(); }
  [[nodiscard]] static unsigned max_hashes() noexcept { return blocked_model{}.max_hashes(); }
  [[nodiscard]] std::uint64_t unit_bits() const noexcept { return (share + 1) * block_bits + slot_bits; }
  // Sizes are in bits, of all of it.
  [[nodiscard]] std::uint64_t bits(std::uint64_t number) const noexcept {
    return number * unit_bits() + more_slots * slot_bits;
  }
  [[nodiscard]] std::uint64_t units(std::uint64_t size) const noexcept {
    return size < more_slots * slot_bits ? 0 : (size - more_slots * slot_bits) / unit_bits();
  }
  [[nodiscard]] std::uint64_t max_units() const noexcept { return units(max_filter_bits); }
  [[nodiscard]] std::uint64_t removals(std::uint64_t keys) const noexcept { return keys / share + (keys % share != 0); }

  [[nodiscard]] std::uint64_t round_bits(std::uint64_t asked) const noexcept {
    const std::uint64_t whole = std::max<std::uint64_t>(units(asked), 1);
    return bits(bits(whole) < asked ? whole + 1 : whole);
  }
  [[nodiscard]] static std::uint64_t memory_bytes(std::uint64_t size) noexcept { return size / 8; }
  [[nodiscard]] result<std::uint64_t> bits_within(std::uint64_t memory) const noexcept {
    if (memory < bits(1) / 8) return fail(errc::bad_memory, {}, {memory, bits(1) / 8});
    return bits(units(memory * 8));
  }
  // That of the removal filter, with all of its removals; the add filter's is a little lower. A key that the removal
  // filter has already is lost and no removal, so each one that counts sets a bit: they fill it as 1 / (1 - mean) times
  // as many keys would, where the mean is that of the FPR while it fills (by Simpson's rule). Below 0.1 % it hardly
  // matters.
  [[nodiscard]] double fpr(std::uint64_t keys, std::uint64_t size, unsigned hashes) const noexcept {
    const std::uint64_t count = removals(keys);
    const auto rate = [&](std::uint64_t of) { return blocked_model{}.fpr(of, units(size) * block_bits, hashes); };
    double at_end = rate(count);
    std::uint64_t as_many = count;
    for (int round = 0; round < 8 && at_end >= 0.001 && at_end < 0.9; ++round) {
      const double mean = (4 * rate(as_many / 2) + at_end) / 6;
      const auto better = static_cast<std::uint64_t>(std::ceil(static_cast<double>(count) / (1 - mean)));
      if (better <= as_many + as_many / 1000) break;
      as_many = better;
      at_end = rate(as_many);
    }
    return at_end;
  }
};

// Digests that are there although the removal filter has them: keys that were removed and came back, and new ones that
// it took for removed. Exact, but that digests 0 and 1 are one: 0 is an empty slot. A digest is in one of 64 slots
// after a place that depends on it; the list is full for it when these are.
class return_list {
 public:
  static constexpr std::uint64_t window = 64;

  return_list() noexcept = default;
  // Over bytes that somebody else owns.
  explicit return_list(std::span<const std::byte> bytes) noexcept : slots_(bit_store::view(bytes)) {}

  [[nodiscard]] bool contains(std::uint64_t digest) const noexcept { return find(digest, entry(digest)) != none; }
  // False: there is no space for it.
  bool insert(std::uint64_t digest) noexcept { return contains(digest) || put(find(digest, 0), entry(digest)); }
  // False: it was not there.
  bool erase(std::uint64_t digest) noexcept { return put(find(digest, entry(digest)), 0); }
  void clear() noexcept { slots_.clear(); }
  // The slot that holds it, or else the first in which it may be; and what a slot holds.
  [[nodiscard]] std::uint64_t slot_of(std::uint64_t digest) const noexcept {
    const std::uint64_t found = find(digest, entry(digest));
    return found == none ? home(digest) : found;
  }
  [[nodiscard]] std::uint64_t at(std::uint64_t slot) const noexcept { return slots_.word(slot); }
  static std::uint64_t entry(std::uint64_t digest) noexcept { return digest == 0 ? 1 : digest; }

  [[nodiscard]] std::uint64_t slots() const noexcept { return slots_.words(); }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return slots_.bytes(); }
  [[nodiscard]] std::uint64_t used() const noexcept {
    std::uint64_t count = 0;
    for_each([&](std::uint64_t) { ++count; });
    return count;
  }
  template <class F>
  void for_each(F&& f) const {
    for (std::uint64_t i = 0; i < slots(); ++i) {
      if (slots_.word(i) != 0) f(slots_.word(i));
    }
  }
  // Calls f(first byte, size) for the slots in which the digest may be: one run, or two where it goes on at the front.
  template <class F>
  void for_each_touched(std::uint64_t digest, F&& f) const {
    const std::uint64_t first = home(digest);
    const std::uint64_t reach = std::min(window, slots());
    const std::uint64_t behind = std::min(reach, slots() - first);
    f(first * 8, behind * 8);
    if (behind < reach) f(std::uint64_t{0}, (reach - behind) * 8);
  }

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};

  // Mixed, because the removal filter takes its block from the same bits: those that it has come in crowds.
  [[nodiscard]] std::uint64_t home(std::uint64_t digest) const noexcept {
    return fast_range(mix64(entry(digest)), slots());
  }
  [[nodiscard]] std::uint64_t find(std::uint64_t digest, std::uint64_t word) const noexcept {
    std::uint64_t at = home(digest);
    for (std::uint64_t left = std::min(window, slots()); left != 0; --left) {
      if (slots_.word(at) == word) return at;
      at = at + 1 == slots() ? 0 : at + 1;
    }
    return none;
  }
  bool put(std::uint64_t at, std::uint64_t word) noexcept {
    if (at == none) return false;
    slots_.data()[at] = little_endian(word);
    return true;
  }

  bit_store slots_;
};

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds/dual/layout.cpp>
#endif
