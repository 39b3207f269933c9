#include "src/bitmap/containers.hpp"

#include <algorithm>
#include <utility>

namespace bloomery::inline BLOOMERY_ABI {
namespace bitmap_engine_parts {

namespace {

// The same keys in another encoding.
container from_bits(std::uint16_t high, const bit_words& words, encoding as) {
  container out{.high = high, .as = as, .keys = count_bits(words)};
  if (as == encoding::bits) {
    out.words.assign(words.begin(), words.end());
  } else if (as == encoding::array) {
    out.words.reserve(out.keys);
    each_bit(words, [&](std::uint32_t value) { out.words.push_back(static_cast<std::uint16_t>(value)); });
  } else {
    out.words.reserve(std::size_t{2} * count_bit_runs(words));
    each_bit_run(words, [&](std::uint32_t first, std::uint32_t length) {
      out.words.push_back(static_cast<std::uint16_t>(first));
      out.words.push_back(static_cast<std::uint16_t>(length - 1));
    });
  }
  return out;
}
container in_encoding(const container& from, encoding as) {
  bit_words words;
  expand(from, words);
  return from_bits(from.high, words, as);
}

// Apart, so that only one of the two is in a frame of the stack.
template <class Combine>
__attribute__((noinline)) void combine(bit_words& words, const container& other, Combine&& one) {
  bit_words more;
  expand(other, more);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::uint16_t>(one(words[i], more[i]));
}

}  // namespace

void expand(const container& from, bit_words& to) noexcept {
  if (from.as == encoding::bits) {
    std::copy(from.words.begin(), from.words.end(), to.begin());
    return;
  }
  to.fill(0);
  if (from.as == encoding::array) {
    for (const std::uint16_t value : from.words) set_bit(to, value);
    return;
  }
  for (std::size_t i = 0; i < from.words.size(); i += 2) {
    const std::uint32_t first = from.words[i];
    for (std::uint32_t value = first; value <= first + from.words[i + 1]; ++value) set_bit(to, value);
  }
}

std::uint32_t count_runs(const container& of) noexcept {
  if (of.as == encoding::runs) return static_cast<std::uint32_t>(of.words.size() / 2);
  if (of.as == encoding::bits) return count_bit_runs(of.words);
  std::uint32_t count = 0;
  std::uint32_t next = 0x10000;
  for (const std::uint32_t value : of.words) {
    count += value != next ? 1 : 0;
    next = value + 1;
  }
  return count;
}

// Whether it was new.
bool add_value(container& to, std::uint16_t value) {
  if (to.as == encoding::runs) {
    if (has_value(to, value)) return false;
    to = in_encoding(to, encoding_without_runs(to.keys));
  }
  if (to.as == encoding::array) {
    const bool is_last = to.words.empty() || to.words.back() < value;
    const auto at = is_last ? to.words.end() : std::lower_bound(to.words.begin(), to.words.end(), value);
    if (at != to.words.end() && *at == value) return false;
    if (to.keys < largest_array) {
      to.words.insert(at, value);
      ++to.keys;
      return true;
    }
    to = in_encoding(to, encoding::bits);
  }
  if (has_bit(to.words, value)) return false;
  set_bit(to.words, value);
  ++to.keys;
  return true;
}

// Whether it was there.
bool remove_value(container& from, std::uint16_t value) {
  if (!has_value(from, value)) return false;
  if (from.as == encoding::runs) from = in_encoding(from, encoding_without_runs(from.keys));
  if (from.as == encoding::array) {
    from.words.erase(std::lower_bound(from.words.begin(), from.words.end(), value));
    --from.keys;
    return true;
  }
  from.words[value / 16] = static_cast<std::uint16_t>(from.words[value / 16] & ~(1U << (value % 16)));
  --from.keys;
  // Bits of few keys are large, not wrong.
  if (from.keys == largest_array) {
    guarded(false, [&] {
      from = in_encoding(from, encoding::array);
      return true;
    });
  }
  return true;
}

void unite_containers(container& to, const container& other) {
  if (to.as == encoding::array && other.as == encoding::array && to.keys + other.keys <= largest_array) {
    std::vector<std::uint16_t> both(to.words.size() + other.words.size());
    both.erase(std::set_union(to.words.begin(), to.words.end(), other.words.begin(), other.words.end(), both.begin()),
               both.end());
    to.words = std::move(both);
    to.keys = static_cast<std::uint32_t>(to.words.size());
    return;
  }
  bit_words words;
  expand(to, words);
  combine(words, other, [](unsigned a, unsigned b) { return a | b; });
  const std::uint32_t keys = count_bits(words);
  const bool with_runs = to.as == encoding::runs || other.as == encoding::runs;
  to = from_bits(to.high, words,
                 with_runs ? smallest_encoding(keys, count_bit_runs(words)) : encoding_without_runs(keys));
}

void intersect_containers(container& to, const container& other) {
  if (to.as == encoding::array) {
    to.words.erase(
        std::remove_if(to.words.begin(), to.words.end(), [&](std::uint16_t value) { return !has_value(other, value); }),
        to.words.end());
    to.keys = static_cast<std::uint32_t>(to.words.size());
    return;
  }
  bit_words words;
  expand(to, words);
  combine(words, other, [](unsigned a, unsigned b) { return a & b; });
  const std::uint32_t keys = count_bits(words);
  to =
      from_bits(to.high, words,
                to.as == encoding::runs ? smallest_encoding(keys, count_bit_runs(words)) : encoding_without_runs(keys));
}

bool same_keys(const container& a, const container& b) noexcept {
  if (a.high != b.high || a.keys != b.keys) return false;
  if (a.as == b.as) return a.words == b.words;
  bit_words words;
  expand(a, words);
  combine(words, b, [](unsigned one, unsigned other) { return one ^ other; });
  return std::all_of(words.begin(), words.end(), [](std::uint16_t word) { return word == 0; });
}

std::uint16_t smallest_value(const container& of) noexcept {
  if (of.as != encoding::bits) return of.words.front();
  std::uint32_t i = 0;
  while (of.words[i] == 0) ++i;
  return static_cast<std::uint16_t>(i * 16 + static_cast<std::uint32_t>(std::countr_zero(of.words[i])));
}
std::uint16_t largest_value(const container& of) noexcept {
  if (of.as == encoding::array) return of.words.back();
  if (of.as == encoding::runs) return static_cast<std::uint16_t>(of.words[of.words.size() - 2] + of.words.back());
  std::uint32_t i = 4095;
  while (of.words[i] == 0) --i;
  return static_cast<std::uint16_t>(i * 16 + 15 - static_cast<std::uint32_t>(std::countl_zero(of.words[i])));
}

}  // namespace bitmap_engine_parts
}  // namespace bloomery::inline BLOOMERY_ABI
