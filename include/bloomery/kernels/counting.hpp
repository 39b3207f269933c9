// kernels/counting.hpp: arrays of 4-bit counters: sixteen to a word, the probes of a key, and the batch loops over
// them.
//
// Counter i is bits 4 (i mod 16) to 4 (i mod 16) + 3 of little-endian word i / 16. It counts to 15 and stays there: 15
// means "15 or more", and what is taken away from it later cannot be known any more (`add_one`, `take_one`).
//
// spread_probes  x_0 = digest, x_(i+1) = x_i * A mod 2^64, probe i is counter floor(x_i * m / 2^64): those of the
//                classic filter (kernels/bloom.hpp), so that the counters that are not 0 are the bits of a `bloom` of m
//                bits.
// line_probes    a line of 8 words, 128 counters. Line, x and r come from the digest as in split64
//                (kernels/blocked.hpp):
//                line = floor(d * lines / 2^64), y = d * in_block_multiplier mod 2^64, x = y >> 32, r = (y >> 29) & 7.
//                Probe i goes to word (r + i) mod 8 and there to counter (x * salt[j] mod 2^32) >> 28, with j the word
//                for i < 8, and the word + 8 beyond.
// A key that probes a counter twice counts twice there. So counters are sums over the keys, and filters add up.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <bloomery/core/bytes.hpp>
#include <bloomery/core/wide.hpp>
#include <bloomery/hash/digest_feed.hpp>
#include <bloomery/kernels/blocked.hpp>
#include <bloomery/kernels/bloom.hpp>
#include <cstdint>

namespace bloomery::inline BLOOMERY_ABI::kernels {

inline constexpr unsigned counter_bits = 4;
inline constexpr std::uint64_t counter_most = 15;  // and stuck there
inline constexpr std::uint64_t counters_a_word = 64 / counter_bits;
inline constexpr std::uint64_t counters_a_line = 8 * counters_a_word;

constexpr unsigned counter_shift(std::uint64_t counter) noexcept {
  return static_cast<unsigned>(counter % counters_a_word) * counter_bits;
}
inline std::uint64_t counter_at(const std::uint64_t* words, std::uint64_t counter) noexcept {
  return little_endian(words[counter / counters_a_word]) >> counter_shift(counter) & counter_most;
}
// Both return what the counter was.
inline std::uint64_t add_one(std::uint64_t* words, std::uint64_t counter) noexcept {
  const std::uint64_t word = little_endian(words[counter / counters_a_word]);
  const unsigned shift = counter_shift(counter);
  const std::uint64_t was = word >> shift & counter_most;
  words[counter / counters_a_word] = little_endian(word + (std::uint64_t{was != counter_most} << shift));
  return was;
}
// The counter must not be 0.
inline std::uint64_t take_one(std::uint64_t* words, std::uint64_t counter) noexcept {
  const std::uint64_t word = little_endian(words[counter / counters_a_word]);
  const unsigned shift = counter_shift(counter);
  const std::uint64_t was = word >> shift & counter_most;
  words[counter / counters_a_word] = little_endian(word - (std::uint64_t{was != counter_most} << shift));
  return was;
}
inline std::uint64_t add_one_atomic(std::uint64_t* words, std::uint64_t counter) noexcept {
  const std::atomic_ref<std::uint64_t> word(words[counter / counters_a_word]);
  const unsigned shift = counter_shift(counter);
  std::uint64_t before = word.load(std::memory_order_relaxed);
  while (true) {
    const std::uint64_t value = little_endian(before);
    const std::uint64_t was = value >> shift & counter_most;
    if (was == counter_most) return was;
    const std::uint64_t after = little_endian(value + (std::uint64_t{1} << shift));
    if (word.compare_exchange_weak(before, after, std::memory_order_relaxed)) return was;
  }
}

// All counters of a word together, in any byte order.
inline constexpr std::uint64_t every_counter = 0x1111111111111111ULL;
inline unsigned counters_used(std::uint64_t word) noexcept {
  return static_cast<unsigned>(std::popcount((word | word >> 1U | word >> 2U | word >> 3U) & every_counter));
}
inline unsigned counters_stuck(std::uint64_t word) noexcept {
  return static_cast<unsigned>(std::popcount(word & word >> 1U & word >> 2U & word >> 3U & every_counter));
}

// f of two words of eight counters of a byte each, for words of sixteen counters: the even ones, then the odd ones.
template <class F>
std::uint64_t by_halves(std::uint64_t a, std::uint64_t b, F&& f) noexcept {
  constexpr std::uint64_t low = 0x0f0f0f0f0f0f0f0fULL;
  return f(a & low, b & low) | f(a >> 4U & low, b >> 4U & low) << 4U;
}
inline std::uint64_t add_counters(std::uint64_t a, std::uint64_t b) noexcept {
  return by_halves(a, b, [](std::uint64_t x, std::uint64_t y) noexcept {
    constexpr std::uint64_t top = 0x8080808080808080ULL;
    constexpr std::uint64_t reach = 0x7171717171717171ULL;  // carries 15 and more into the top bit
    const std::uint64_t sum = x + y;
    const std::uint64_t stuck = ((sum + reach) & top) >> 7U;
    return (sum | stuck * counter_most) & 0x0f0f0f0f0f0f0f0fULL;
  });
}
inline std::uint64_t least_counters(std::uint64_t a, std::uint64_t b) noexcept {
  return by_halves(a, b, [](std::uint64_t x, std::uint64_t y) noexcept {
    constexpr std::uint64_t top = 0x8080808080808080ULL;
    const std::uint64_t at_least = (((x | top) - y) & top) >> 7U;  // where x >= y
    const std::uint64_t take_y = at_least * counter_most;
    return (y & take_y) | (x & ~take_y);
  });
}

struct counting_view {
  const std::uint64_t* words = nullptr;
  std::uint64_t size = 0;  // counters when they are spread, else lines
  unsigned hashes = 0;
};

class spread_probes {
 public:
  spread_probes(std::uint64_t digest, std::uint64_t counters) noexcept : x_(digest), counters_(counters) {}
  std::uint64_t next() noexcept {
    const std::uint64_t counter = fast_range(x_, counters_);
    x_ *= bloom_step::multiplier;
    return counter;
  }

 private:
  std::uint64_t x_;
  std::uint64_t counters_;
};

class line_probes {
 public:
  line_probes(std::uint64_t digest, std::uint64_t lines) noexcept
      : first_(split64::block(digest, lines) * counters_a_line) {
    const std::uint64_t y = split64::in_block(digest);
    x_ = static_cast<std::uint32_t>(y >> 32U);
    rotation_ = static_cast<unsigned>(y >> 29U) & 7U;
  }
  std::uint64_t next() noexcept {
    const unsigned word = (rotation_ + probe_) & 7U;
    const std::uint64_t in_word = (x_ * blocked_salts[word + (probe_ & 8U)]) >> 28U;
    ++probe_;
    return first_ + word * counters_a_word + in_word;
  }

 private:
  std::uint64_t first_;
  std::uint32_t x_;
  unsigned rotation_;
  unsigned probe_ = 0;
};

// True when the key was surely absent before.
template <class Probes>
bool counting_insert(std::uint64_t* words, const counting_view& view, std::uint64_t digest) noexcept {
  Probes probe(digest, view.size);
  std::uint64_t was_absent = 0;
  for (unsigned i = 0; i < view.hashes; ++i) was_absent |= std::uint64_t{add_one(words, probe.next()) == 0};
  return was_absent != 0;
}
template <class Probes>
bool counting_insert_atomic(std::uint64_t* words, const counting_view& view, std::uint64_t digest) noexcept {
  Probes probe(digest, view.size);
  bool was_absent = false;
  for (unsigned i = 0; i < view.hashes; ++i) was_absent |= add_one_atomic(words, probe.next()) == 0;
  return was_absent;
}

template <class Probes>
bool counting_contains(const counting_view& view, std::uint64_t digest) noexcept {
  Probes probe(digest, view.size);
  for (unsigned i = 0; i < view.hashes; ++i) {
    if (counter_at(view.words, probe.next()) == 0) return false;
  }
  return true;
}
template <class Probes>
bool counting_contains_atomic(const counting_view& view, std::uint64_t digest) noexcept {
  Probes probe(digest, view.size);
  for (unsigned i = 0; i < view.hashes; ++i) {
    const std::uint64_t counter = probe.next();
    // atomic_ref wants a non-const object even to load from it.
    auto& word = const_cast<std::uint64_t&>(view.words[counter / counters_a_word]);
    const std::uint64_t value = std::atomic_ref<std::uint64_t>(word).load(std::memory_order_relaxed);
    if ((little_endian(value) >> counter_shift(counter) & counter_most) == 0) return false;
  }
  return true;
}

template <class Probes>
std::uint64_t counting_count(const counting_view& view, std::uint64_t digest) noexcept {
  Probes probe(digest, view.size);
  std::uint64_t least = counter_most;
  for (unsigned i = 0; i < view.hashes; ++i) {
    const std::uint64_t counter = counter_at(view.words, probe.next());
    least = counter < least ? counter : least;
  }
  return least;
}

enum class erased : std::uint8_t { nothing, one, last };  // last: the key is surely absent now

template <class Probes>
erased counting_erase(std::uint64_t* words, const counting_view& view, std::uint64_t digest) noexcept {
  if (!counting_contains<Probes>(view, digest)) return erased::nothing;
  Probes probe(digest, view.size);
  bool gone = false;
  for (unsigned i = 0; i < view.hashes; ++i) {
    const std::uint64_t counter = probe.next();
    if (counter_at(words, counter) == 0) {
      // It probes this counter more often than the counter's value: it was never inserted. Put back what was taken.
      Probes back(digest, view.size);
      for (unsigned taken = 0; taken < i; ++taken) add_one(words, back.next());
      return erased::nothing;
    }
    gone |= take_one(words, counter) == 1;
  }
  return gone ? erased::last : erased::one;
}

// For bloom_contains_batch: a counter that is not 0 is a set bit.
struct spread_view {
  const std::uint64_t* words = nullptr;
  std::uint64_t bits = 0;  // counters
  unsigned hashes = 0;

  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return bits / 2; }
  [[nodiscard]] std::uint64_t bit(std::uint64_t counter) const noexcept {
    return std::uint64_t{counter_at(words, counter) != 0};
  }
  void prefetch(std::uint64_t counter) const noexcept { __builtin_prefetch(words + counter / counters_a_word); }
};

// Calls f(index, digest) for every digest, in their order, some keys after the line of each was prefetched.
template <class F>
void for_each_line(const counting_view& view, std::size_t count, const digest_feed& next, F&& f) noexcept {
  constexpr std::size_t group = 64;
  std::array<std::array<std::uint64_t, group>, 2> room;
  const std::uint64_t* before = nullptr;
  for (std::size_t first = 0; first < count + group; first += group) {
    const std::uint64_t* digests = nullptr;
    if (first < count) {
      const std::size_t size = count - first < group ? count - first : group;
      digests = next(first, size, room[first / group % 2].data());
      for (std::size_t i = 0; i < size; ++i) {
        __builtin_prefetch(view.words + split64::block(digests[i], view.size) * split64::words);
      }
    }
    if (first >= group) {
      const std::size_t done = first - group;
      const std::size_t size = count - done < group ? count - done : group;
      for (std::size_t i = 0; i < size; ++i) f(done + i, before[i]);
    }
    before = digests;
  }
}

inline void counting_contains_lines_scalar(const counting_view& view, std::size_t count, const digest_feed& next,
                                           std::uint64_t* mask) noexcept {
  for (std::size_t word = 0; word < (count + 63) / 64; ++word) mask[word] = 0;
  for_each_line(view, count, next, [&](std::size_t i, std::uint64_t digest) {
    // No branch that would be guessed wrong for every other key: all probes are in one line.
    line_probes probe(digest, view.size);
    std::uint64_t all = 1;
    for (unsigned k = 0; k < view.hashes; ++k) all &= std::uint64_t{counter_at(view.words, probe.next()) != 0};
    mask[i / 64] |= all << (i % 64);
  });
}

// How many of the digests were surely absent before.
inline std::uint64_t counting_insert_lines_scalar(std::uint64_t* words, const counting_view& view, std::size_t count,
                                                  const digest_feed& next) noexcept {
  std::uint64_t inserted = 0;
  for_each_line(view, count, next, [&](std::size_t /*i*/, std::uint64_t digest) {
    inserted += counting_insert<line_probes>(words, view, digest) ? 1U : 0U;
  });
  return inserted;
}

inline std::uint64_t counting_insert_spread(std::uint64_t* words, const counting_view& given, std::size_t count,
                                            const digest_feed& next) noexcept {
  constexpr std::size_t group = 64;
  constexpr std::size_t ahead = 16;  // keys between the request for a line and its use
  constexpr std::size_t most_hashes = 64;
  const counting_view view = given;
  std::array<std::uint64_t, group> room;
  std::array<std::array<std::uint64_t, most_hashes>, ahead> counters;
  const std::uint64_t* digests = nullptr;
  std::uint64_t inserted = 0;
  for (std::size_t i = 0; i < count + ahead; ++i) {
    if (i >= ahead) {
      std::uint64_t was_absent = 0;
      for (unsigned k = 0; k < view.hashes; ++k) {
        was_absent |= std::uint64_t{add_one(words, counters[i % ahead][k]) == 0};
      }
      inserted += was_absent;
    }
    if (i < count) {
      if (i % group == 0) digests = next(i, count - i < group ? count - i : group, room.data()) - i;
      spread_probes probe(digests[i], view.size);
      for (unsigned k = 0; k < view.hashes; ++k) {
        counters[i % ahead][k] = probe.next();
        __builtin_prefetch(words + counters[i % ahead][k] / counters_a_word, 1);
      }
    }
  }
  return inserted;
}

}  // namespace bloomery::inline BLOOMERY_ABI::kernels
