// The engine of kinds/bitmap.hpp: Roaring bitmaps, compiled, because it throws and catches inside.
//
// A set is a map from the high 32 bits of the keys to a part. A part is a list of containers, one for each value of the
// next 16 bits, in order and none of them empty. A container holds the low 16 bits of its keys in one of the three
// encodings of the portable format: an array of values, runs, or 65,536 bits.
//
// Every allocation is a std::vector or a std::map, so what is refused throws here, and each change makes all of its
// memory before it touches the set: after a refusal the set is as it was. (CRoaring, as Debian has it, continues
// without the memory.)
//
// What is loaded was validated first: every container's order, counts and bounds.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <bloomery/core/config.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace bloomery::inline BLOOMERY_ABI {
namespace bitmap_engine_parts {

constexpr std::uint32_t largest_array = 4096;
constexpr std::uint32_t bits_bytes = 8192;

enum class encoding : std::uint8_t { array, runs, bits };
using bit_words = std::array<std::uint16_t, 4096>;

struct container {
  std::uint16_t high = 0;
  encoding as = encoding::array;
  std::uint32_t keys = 0;
  std::vector<std::uint16_t> words{};  // array: values; runs: start and length - 1 of each; bits: value i is bit i
};
using part = std::vector<container>;
using integer_set = std::map<std::uint32_t, part>;

// Runs f, which may throw std::bad_alloc; `otherwise` is the answer then.
template <class T, class F>
T guarded(T otherwise, F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    return otherwise;
  }
}

// ---- bits -----------------------------------------------------------------------------------------------------------

template <class Words>
bool has_bit(const Words& words, std::uint32_t value) noexcept {
  return (words[value / 16] >> (value % 16) & 1U) != 0;
}
template <class Words>
void set_bit(Words& words, std::uint32_t value) noexcept {
  words[value / 16] = static_cast<std::uint16_t>(words[value / 16] | 1U << (value % 16));
}
template <class Words>
std::uint32_t count_bits(const Words& words) noexcept {
  std::uint32_t count = 0;
  for (const std::uint16_t word : words) count += static_cast<std::uint32_t>(std::popcount(word));
  return count;
}
// A run begins with a bit whose lower neighbour is not set.
template <class Words>
std::uint32_t count_bit_runs(const Words& words) noexcept {
  std::uint32_t count = 0;
  unsigned before = 0;
  for (const unsigned word : words) {
    count += static_cast<std::uint32_t>(std::popcount(word & ~(word << 1U | before)));
    before = word >> 15U;
  }
  return count;
}
template <class Words, class F>
void each_bit(const Words& words, F&& f) {
  for (std::uint32_t i = 0; i < words.size(); ++i) {
    for (unsigned word = words[i]; word != 0; word &= word - 1) {
      f(i * 16 + static_cast<std::uint32_t>(std::countr_zero(word)));
    }
  }
}
// f(first, length) for each.
template <class Words, class F>
void each_bit_run(const Words& words, F&& f) {
  std::uint32_t first = 0;
  std::uint32_t length = 0;
  each_bit(words, [&](std::uint32_t value) {
    if (length != 0 && value == first + length) {
      ++length;
      return;
    }
    if (length != 0) f(first, length);
    first = value;
    length = 1;
  });
  if (length != 0) f(first, length);
}

// ---- containers -----------------------------------------------------------------------------------------------------

// All its keys as bits.
void expand(const container& from, bit_words& to) noexcept;
std::uint32_t count_runs(const container& of) noexcept;

inline std::uint32_t encoded_bytes(encoding as, std::uint32_t keys, std::uint32_t runs) noexcept {
  return as == encoding::array ? 2 * keys : as == encoding::runs ? 2 + 4 * runs : bits_bytes;
}
inline encoding encoding_without_runs(std::uint32_t keys) noexcept {
  return keys <= largest_array ? encoding::array : encoding::bits;
}
// As the paper's authors choose: runs only where they are smaller, an array counting two bytes more than it takes.
inline encoding smallest_encoding(std::uint32_t keys, std::uint32_t runs) noexcept {
  const encoding plain = encoding_without_runs(keys);
  const std::uint32_t plain_bytes = encoded_bytes(plain, keys, runs) + (plain == encoding::array ? 2 : 0);
  return encoded_bytes(encoding::runs, keys, runs) < plain_bytes ? encoding::runs : plain;
}

inline encoding smallest_encoding(const container& of) noexcept { return smallest_encoding(of.keys, count_runs(of)); }

// The last run that does not begin after the value; the number of runs when there is none.
inline std::size_t find_run(const container& in, std::uint32_t value) noexcept {
  std::size_t first = 0;
  std::size_t end = in.words.size() / 2;
  while (first < end) {
    const std::size_t middle = (first + end) / 2;
    if (in.words[2 * middle] <= value) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  return first == 0 ? in.words.size() / 2 : first - 1;
}

inline bool has_value(const container& in, std::uint16_t value) noexcept {
  if (in.as == encoding::bits) return has_bit(in.words, value);
  if (in.as == encoding::array) return std::binary_search(in.words.begin(), in.words.end(), value);
  const std::size_t run = find_run(in, value);
  return 2 * run < in.words.size() && std::uint32_t{in.words[2 * run]} + in.words[2 * run + 1] >= value;
}

// Whether it was new.
bool add_value(container& to, std::uint16_t value);
// Whether it was there.
bool remove_value(container& from, std::uint16_t value);
void unite_containers(container& to, const container& other);
void intersect_containers(container& to, const container& other);
bool same_keys(const container& a, const container& b) noexcept;
std::uint16_t smallest_value(const container& of) noexcept;
std::uint16_t largest_value(const container& of) noexcept;

}  // namespace bitmap_engine_parts
}  // namespace bloomery::inline BLOOMERY_ABI
