// kernels/bloom.hpp: the batch loops of the classic Bloom filter.
//
// A look-up goes in waves over a group of keys. A wave prefetches the lines of the next probes of every key that is
// left, then tests them and keeps the keys whose bits are set (by arithmetic, not by a branch that would be guessed
// wrong every other time). The first waves take two probes, and what is left after them is likely present and takes the
// rest. So absent keys cost little more than the two lines that they need on average and present ones all k, and nobody
// knows beforehand which they are. A filter in the caches does without prefetching, because the processor overlaps the
// loads by itself, and without lists of what is stored and read again between waves, which would cost more than the
// loads. An insert needs all its lines: they are prefetched some keys ahead, and keys are inserted in their order, so
// that what counts as new is the same as one by one.
//
// There is no vector code: the positions need 64 x 64 -> 128-bit products, which the integer units make in one
// instruction and vectors in a dozen.
#pragma once

#include <array>
#include <bloomery/core/bytes.hpp>
#include <bloomery/core/wide.hpp>
#include <bloomery/hash/concept.hpp>
#include <cstdint>

namespace bloomery::inline BLOOMERY_ABI::kernels {

// Where the probes of a key go: see kinds/bloom.hpp.
struct bloom_step {
  static constexpr std::uint64_t multiplier = 0xd1342543de82ef95ULL;
  static std::uint64_t start(std::uint64_t digest) noexcept { return digest; }
  static std::uint64_t start(const digest128& digest) noexcept { return digest.low; }
  static constexpr std::uint64_t add(std::uint64_t /*digest*/) noexcept { return 0; }
  static std::uint64_t add(const digest128& digest) noexcept { return digest.high; }
};

// A filter up to this size is near enough for the processor to overlap its loads by itself.
inline constexpr std::uint64_t near_bytes = std::uint64_t{4} << 20U;

// How many lines are on their way at a time, about as many as a core can wait for.
inline constexpr std::size_t bloom_lines_ahead = 96;

struct bloom_view {
  const std::uint64_t* words = nullptr;
  std::uint64_t bits = 0;
  unsigned hashes = 0;

  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return bits / 8; }
  [[nodiscard]] std::uint64_t bit(std::uint64_t position) const noexcept {
    return little_endian(words[position / 64]) >> (position % 64) & 1U;
  }
  void prefetch(std::uint64_t position) const noexcept { __builtin_prefetch(words + position / 64); }
};

// A group of keys on its way through the probes.
template <class Digest>
struct bloom_keys {
  static constexpr std::size_t group = 256;
  const Digest* digests = nullptr;
  std::array<std::uint64_t, group> x;     // where the next probe of each key comes from
  std::array<std::uint16_t, group> left;  // the keys that no probe has refuted
  std::size_t count = 0;                  // of those

  [[nodiscard]] std::uint64_t add_of(std::size_t key) const noexcept {
    if constexpr (sizeof(Digest) == sizeof(std::uint64_t)) return 0;
    return bloom_step::add(digests[key]);
  }
  // Prefetches the lines of the next probes of the n-th key that is left.
  template <class View>
  void prefetch(const View view, std::size_t n, unsigned probes) const noexcept {
    const std::uint64_t add = add_of(left[n]);
    std::uint64_t next = x[left[n]];
    for (unsigned i = 0; i < probes; ++i) {
      view.prefetch(fast_range(next, view.bits));
      next = next * bloom_step::multiplier + add;
    }
  }

  // Tests the next probes of the keys that are left; those whose bits are all set move to the front and stay. Lines
  // are prefetched `ahead` keys ahead.
  template <class View>
  void test(const View view, unsigned probes, std::size_t ahead) noexcept {
    for (std::size_t n = 0; n < ahead && n < count; ++n) prefetch(view, n, probes);
    std::size_t kept = 0;
    for (std::size_t n = 0; n < count; ++n) {
      if (n + ahead < count) prefetch(view, n + ahead, probes);
      const std::uint16_t key = left[n];
      const std::uint64_t add = add_of(key);
      std::uint64_t next = x[key];
      std::uint64_t all = 1;
      for (unsigned i = 0; i < probes; ++i) {
        all &= view.bit(fast_range(next, view.bits));
        next = next * bloom_step::multiplier + add;
      }
      x[key] = next;
      left[kept] = key;
      kept += all;
    }
    count = kept;
  }
};

template <class Digest, class View, class Next>
void bloom_ask_far(const View view, std::size_t count, const Next& next, std::uint64_t* mask) noexcept {
  constexpr std::size_t group = bloom_keys<Digest>::group;
  constexpr unsigned careful = 4;  // so many probes are made two at a time
  std::array<Digest, group> room;
  bloom_keys<Digest> keys;
  for (std::size_t first = 0; first < count; first += group) {
    const std::size_t size = count - first < group ? count - first : group;
    for (std::size_t part = 0; part < size; part += 64) {
      const std::size_t more = size - part < 64 ? size - part : 64;
      const Digest* digests = next(first + part, more, room.data() + part);
      for (std::size_t i = 0; i < more; ++i) {
        keys.x[part + i] = bloom_step::start(digests[i]);
        keys.left[part + i] = static_cast<std::uint16_t>(part + i);
        if constexpr (sizeof(Digest) == 16) room[part + i] = digests[i];
      }
    }
    keys.digests = room.data();
    keys.count = size;
    for (unsigned done = 0; done < view.hashes && keys.count != 0;) {
      const unsigned wish = done < careful ? 2 : view.hashes;
      const unsigned probes = wish < view.hashes - done ? wish : view.hashes - done;
      keys.test(view, probes, bloom_lines_ahead / probes);
      done += probes;
    }
    for (std::size_t word = 0; word < (size + 63) / 64; ++word) mask[first / 64 + word] = 0;
    for (std::size_t n = 0; n < keys.count; ++n) {
      mask[first / 64 + keys.left[n] / 64] |= std::uint64_t{1} << (keys.left[n] % 64);
    }
  }
}

// Whether the bits of so many probes are all set, beginning at x: 1 or 0.
template <class View>
std::uint64_t bloom_all_set(const View& view, std::uint64_t x, std::uint64_t add, unsigned probes) noexcept {
  std::uint64_t all = 1;
  for (unsigned i = 0; i < probes; ++i) {
    all &= view.bit(fast_range(x, view.bits));
    x = x * bloom_step::multiplier + add;
  }
  return all;
}

inline constexpr unsigned bloom_first_probes = 2;

// The probes after the first ones, of up to 64 keys: a bit for each key that passes them. A number of probes that the
// compiler knows saves a sixth.
template <unsigned Probes, class Digest, class View>
std::uint64_t bloom_ask_rest(const View view, const Digest* digests, const std::uint8_t* left, std::size_t count,
                             unsigned probes) noexcept {
  std::uint64_t answers = 0;
  for (std::size_t n = 0; n < count; ++n) {
    const std::uint64_t add = bloom_step::add(digests[left[n]]);
    std::uint64_t x = bloom_step::start(digests[left[n]]);
    for (unsigned i = 0; i < bloom_first_probes; ++i) x = x * bloom_step::multiplier + add;
    answers |= bloom_all_set(view, x, add, Probes != 0 ? Probes : probes) << left[n];
  }
  return answers;
}
template <class Digest, class View>
auto bloom_rest_function(unsigned probes) noexcept {
  switch (probes) {
    case 4:
      return bloom_ask_rest<4, Digest, View>;
    case 5:
      return bloom_ask_rest<5, Digest, View>;
    case 6:
      return bloom_ask_rest<6, Digest, View>;
    case 7:
      return bloom_ask_rest<7, Digest, View>;
    case 8:
      return bloom_ask_rest<8, Digest, View>;
    default:
      return bloom_ask_rest<0, Digest, View>;
  }
}

template <class Digest, class View, class Next>
void bloom_ask_near(const View view, std::size_t count, const Next& next, std::uint64_t* mask) noexcept {
  constexpr std::size_t group = 64;
  const unsigned first_probes = view.hashes < bloom_first_probes ? view.hashes : bloom_first_probes;
  const unsigned probes = view.hashes - first_probes;
  const auto ask_rest = bloom_rest_function<Digest, View>(probes);
  std::array<Digest, group> room;
  std::array<std::uint8_t, group> left;
  for (std::size_t first = 0; first < count; first += group) {
    const std::size_t size = count - first < group ? count - first : group;
    const Digest* digests = next(first, size, room.data());
    std::size_t kept = 0;
    for (std::size_t i = 0; i < size; ++i) {
      left[kept] = static_cast<std::uint8_t>(i);
      kept += bloom_all_set(view, bloom_step::start(digests[i]), bloom_step::add(digests[i]), first_probes);
    }
    mask[first / group] = ask_rest(view, digests, left.data(), kept, probes);
  }
}

// `next` gives digests as stream_kind states. A view is a bloom_view, or what has its members: other cells than bits.
template <class Digest, class View, class Next>
void bloom_contains_batch(const View& view, std::size_t count, const Next& next, std::uint64_t* mask) noexcept {
  if (view.size_bytes() <= near_bytes) return bloom_ask_near<Digest>(view, count, next, mask);
  bloom_ask_far<Digest>(view, count, next, mask);
}

// How many of the digests set a bit that was clear.
template <class Digest, class Next>
std::uint64_t bloom_insert(std::uint64_t* words, const bloom_view& given, std::size_t count,
                           const Next& next) noexcept {
  constexpr std::size_t group = 64;
  constexpr std::size_t ahead = 16;  // keys between the request for a line and its use
  constexpr std::size_t most_hashes = 64;
  const bloom_view view = given;
  std::array<Digest, group> room;
  std::array<std::array<std::uint64_t, most_hashes>, ahead> positions;
  const Digest* digests = nullptr;
  std::uint64_t inserted = 0;
  for (std::size_t i = 0; i < count + ahead; ++i) {
    if (i >= ahead && i - ahead < count) {
      const auto& position = positions[i % ahead];
      std::uint64_t changed = 0;
      for (unsigned probe = 0; probe < view.hashes; ++probe) {
        const std::uint64_t mask = little_endian(std::uint64_t{1} << (position[probe] % 64));
        std::uint64_t& word = words[position[probe] / 64];
        changed |= ~word & mask;
        word |= mask;
      }
      inserted += changed != 0 ? 1U : 0U;
    }
    if (i < count) {
      if (i % group == 0) digests = next(i, count - i < group ? count - i : group, room.data()) - i;
      auto& position = positions[i % ahead];
      std::uint64_t x = bloom_step::start(digests[i]);
      for (unsigned probe = 0; probe < view.hashes; ++probe) {
        position[probe] = fast_range(x, view.bits);
        __builtin_prefetch(words + position[probe] / 64, 1);
        x = x * bloom_step::multiplier + bloom_step::add(digests[i]);
      }
    }
  }
  return inserted;
}

}  // namespace bloomery::inline BLOOMERY_ABI::kernels
