// kernels/growing.hpp: the lines of the growing filter: codes in slots, how they match, how a line splits.
//
// A digest is read from the top: `depth` bits choose a page (through a directory), 6 bits one of its 64 lines, the bits
// that follow are compared. The lowest bit is not used.
//
// Code      a prefix of P bits of a digest (P = 0 to 63) is written in 64 bits as the prefix, then a 1, then zeros. The
//           whole digest is digest | 1. A code covers the digests that begin with its prefix, 2^-P of all.
// Slot      the same thing with the page's and the line's bits dropped, cut to `width` bits: at most width - 1 bits of
//           the prefix, then the 1. 0 is an empty slot; the 1 alone is a void, which covers its whole line.
// Line      64 bytes: 32 slots of 16 bits, 21 of 24 (the last byte stays 0) or 16 of 32, little-endian. Used slots come
//           first.
// Page      64 lines. Its address is a multiple of 64, so that a pointer to it can carry the depth in its low bits.
// Directory two levels of such pointers. The root has 2^10 entries, or 1 while the filter is small, each a table of 2^b
//           entries (b in the low bits of its address), each a page (its depth there).
//
// This code defines the answers; kernels/growing/avx2.hpp gives the same ones.
#pragma once

#include <array>
#include <bit>
#include <bloomery/core/bytes.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace bloomery::inline BLOOMERY_ABI::kernels {

inline constexpr std::size_t growing_line_bytes = 64;
inline constexpr unsigned growing_line_bits = 6;
inline constexpr std::size_t growing_page_lines = std::size_t{1} << growing_line_bits;
inline constexpr std::size_t growing_page_bytes = growing_page_lines * growing_line_bytes;

// A pointer to something on a cache line, with a number below 64 in its low bits.
template <class T>
struct alignas(8) tagged_pointer {  // so that tables of them are on cache lines also where addresses have 32 bits
  T* address;

  [[nodiscard]] unsigned tag() const noexcept { return static_cast<unsigned>(number()) & 63U; }
  [[nodiscard]] T* pointer() const noexcept { return reinterpret_cast<T*>(number() & ~std::uintptr_t{63}); }
  // The first `tag` bits of x, of which there is at least one. Shifts take their counts modulo 64, so the tag need not
  // be cut out of the address.
  [[nodiscard]] std::uint64_t first_bits(std::uint64_t x) const noexcept { return x >> ((0 - number()) & 63U); }

 private:
  [[nodiscard]] std::uintptr_t number() const noexcept { return reinterpret_cast<std::uintptr_t>(address); }
};

using growing_page = tagged_pointer<std::byte>;
using growing_table = tagged_pointer<std::byte>;

inline constexpr unsigned growing_root_bits = 10;

struct growing_view {
  const growing_table* root = nullptr;
  bool two_levels = false;

  // The entry of the directory that leads to a digest's page.
  template <bool TwoLevels>
  [[nodiscard]] const growing_page* entry_of(std::uint64_t digest) const noexcept {
    const growing_table table = TwoLevels ? root[digest >> (64U - growing_root_bits)] : root[0];
    const auto* pages = reinterpret_cast<const growing_page*>(table.pointer());
    if constexpr (TwoLevels) return pages + table.first_bits(digest << growing_root_bits);
    return pages + ((digest >> 1U) >> (63U - table.tag()));
  }
  [[nodiscard]] growing_page page_of(std::uint64_t digest) const noexcept {
    return two_levels ? *entry_of<true>(digest) : *entry_of<false>(digest);
  }
};

constexpr unsigned growing_line_of(std::uint64_t digest, unsigned depth) noexcept {
  return static_cast<unsigned>((digest << depth) >> (64U - growing_line_bits));
}

// How much a code covers, in units of 2^-63: its last 1.
constexpr std::uint64_t growing_covers(std::uint64_t code) noexcept { return code & (0 - code); }
constexpr unsigned growing_length(std::uint64_t code) noexcept {
  return 63U - static_cast<unsigned>(std::countr_zero(code));
}
constexpr bool growing_code_matches(std::uint64_t code, std::uint64_t digest) noexcept {
  return ((code ^ digest) & (code ^ (0 - code))) == 0;
}
// The code of the first `length` bits of a digest.
constexpr std::uint64_t growing_code(std::uint64_t digest, unsigned length) noexcept {
  const std::uint64_t last = std::uint64_t{1} << (63U - length);
  return (digest & ~(last | (last - 1))) | last;
}
// The two codes, one bit longer, that together cover what a code covers.
constexpr std::uint64_t growing_lower_half(std::uint64_t code) noexcept {
  const std::uint64_t last = growing_covers(code);
  return (code ^ last) | last >> 1U;
}
constexpr std::uint64_t growing_upper_half(std::uint64_t code) noexcept { return code | growing_covers(code) >> 1U; }

// Slots of Width bits that hold up to Fingerprint bits of a prefix: tests cut them short to reach voids soon.
template <unsigned Width, unsigned Fingerprint = Width - 1>
struct BLOOMERY_API growing_slots {
  static_assert((Width == 16 || Width == 24 || Width == 32) && Fingerprint >= 1 && Fingerprint < Width);
  using lane = std::conditional_t<Width == 16, std::uint16_t, std::uint32_t>;

  static constexpr unsigned width = Width;
  static constexpr unsigned fingerprint = Fingerprint;
  static constexpr unsigned count = 512 / Width;
  static constexpr lane void_slot = static_cast<lane>(1U << (Width - 1));

  static lane get(const std::byte* line, unsigned i) noexcept {
    if constexpr (Width == 24) {
      return load_le<std::uint32_t>(line + std::size_t{3} * i) & 0xffffffU;
    } else {
      return load_le<lane>(line + sizeof(lane) * i);
    }
  }
  static void put(std::byte* line, unsigned i, lane slot) noexcept {
    if constexpr (Width == 24) {
      store_le(line + std::size_t{3} * i, static_cast<std::uint16_t>(slot));
      store_le(line + std::size_t{3} * i + 2, static_cast<std::uint8_t>(slot >> 16U));
    } else {
      store_le(line + sizeof(lane) * i, slot);
    }
  }

  // What a digest is compared with in a page of this depth.
  static lane wanted(std::uint64_t digest, unsigned depth) noexcept {
    constexpr std::uint64_t all = (std::uint64_t{1} << Width) - 1;
    return static_cast<lane>(((digest << depth) >> (64U - growing_line_bits - Width)) & all);
  }
  // A code of at least depth + 6 bits as a slot, cut where it is too long.
  static lane cut(std::uint64_t code, unsigned depth) noexcept {
    constexpr unsigned kept = Fingerprint + 1;
    const std::uint64_t rest = code << (depth + growing_line_bits);
    const std::uint64_t end = (rest << kept) != 0 ? 1U : 0U;
    return static_cast<lane>((rest >> (64U - kept) | end) << (Width - kept));
  }
  // The code of a slot; `start` is the first digest of its line.
  static std::uint64_t code(lane slot, std::uint64_t start, unsigned depth) noexcept {
    return start | (std::uint64_t{slot} << (64U - Width)) >> (depth + growing_line_bits);
  }
  static bool matches(lane slot, lane digest) noexcept {
    const auto above_end = static_cast<lane>(slot ^ static_cast<lane>(0U - slot));
    return slot != 0 && static_cast<lane>((slot ^ digest) & above_end) == 0;
  }
};

// Whether a slot of the line matches. No branches, so that compilers make vectors of it.
template <class Slots>
bool growing_match(const std::byte* line, typename Slots::lane digest) noexcept {
  using lane = typename Slots::lane;
  unsigned found = 0;
  for (unsigned i = 0; i < Slots::count; ++i) {
    const lane slot = Slots::get(line, i);
    const auto above_end = static_cast<lane>(slot ^ static_cast<lane>(0U - slot));
    const auto differs = static_cast<lane>((slot ^ digest) & above_end);
    found |= static_cast<unsigned>(slot != 0) & static_cast<unsigned>(differs == 0);
  }
  return found != 0;
}

template <class Slots>
unsigned growing_used(const std::byte* line) noexcept {
  unsigned used = 0;
  for (unsigned i = 0; i < Slots::count; ++i) used += Slots::get(line, i) != 0 ? 1U : 0U;
  return used;
}

template <class Slots>
bool growing_is_full(const std::byte* line) noexcept {
  return Slots::get(line, Slots::count - 1) != 0;
}

struct growing_split_counts {
  unsigned used = 0;
  unsigned voids = 0;
};

// A line of one page becomes two of a page that is one bit deeper: the first bit of each slot states which, and is
// dropped. A void goes to both. `even` may be the line itself.
template <class Slots>
growing_split_counts growing_split(const std::byte* line, std::byte* even, std::byte* odd) noexcept {
  using lane = typename Slots::lane;
  std::array<std::array<lane, Slots::count + 1>, 2> half{};
  unsigned evens = 0;
  unsigned odds = 0;
  unsigned voids = 0;
  const unsigned used = growing_used<Slots>(line);
  constexpr auto mask = static_cast<lane>(~std::uint32_t{0} >> (32U - Slots::width));
  for (unsigned i = 0; i < used; ++i) {
    const lane slot = Slots::get(line, i);
    const unsigned is_void = slot == Slots::void_slot ? 1U : 0U;
    const auto first_bit = static_cast<unsigned>(slot >> (Slots::width - 1));
    const auto rest = static_cast<lane>(is_void != 0 ? slot : static_cast<lane>(static_cast<lane>(slot << 1U) & mask));
    half[0][evens] = rest;
    half[1][odds] = rest;
    evens += (first_bit ^ 1U) | is_void;
    odds += first_bit;
    voids += rest == Slots::void_slot ? 1U + is_void : 0U;
  }
  half[0][evens] = 0;
  half[1][odds] = 0;
  for (unsigned i = 0; i < Slots::count; ++i) {
    Slots::put(even, i, half[0][i]);
    Slots::put(odd, i, half[1][i]);
  }
  return {evens + odds, voids};
}

// What a look-up reads when its line is full and holds no match: further codes of the line may be elsewhere. Where is
// written after the page. A batch prefetches that, then what it leads to (prefetch), and reads last.
struct growing_overflow {
  bool (*holds)(growing_page page, std::uint64_t digest) noexcept = nullptr;
  void (*prefetch)(growing_page page, std::uint64_t digest) noexcept = nullptr;
};

}  // namespace bloomery::inline BLOOMERY_ABI::kernels
