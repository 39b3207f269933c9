// bench/kind_case.hpp: one kind at one size and rate, timed chunk by chunk: what `bloomery bench` and the programs here
// measure with.
//
// A chunk is 32,768 keys: long enough that reading the clock costs nothing, short enough that most chunks are not
// disturbed by other processes. Digests are made before the clock runs, the filter's memory is there and touched, and
// the caller uses answers without branching on them. Every call that is timed returns the seconds of one chunk;
// `low_percentile` over many of them is the figure to show.
//
//     auto each = kind_case<blocked, std::uint64_t>::make({.keys = 1'000'000, .fpr = 0.01}, hash);
//     while (!each->is_full()) seconds += each->add_chunk();
//     seconds = each->ask_chunk(ask_with::batch, ask_for::absent);
//     each->hits()                                   // of all asked so far
#pragma once

#include <algorithm>
#include <bit>
#include <bloomery/core/binomial.hpp>
#include <bloomery/kinds.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bench/keys.hpp"

namespace bloomery::bench {

inline constexpr std::size_t chunk_keys = 32'768;

// Stands between timed work and an optimiser that would drop it.
inline void keep(const void* result) noexcept { asm volatile("" : : "r"(result) : "memory"); }

template <class F>
double seconds_of(F&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Other processes only ever make a repeat slower; the very lowest may be luck.
inline double low_percentile(std::vector<double> times) {
  if (times.empty()) return 0;
  const auto at = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 10);
  std::nth_element(times.begin(), at, times.end());
  return *at;
}

// How often absent keys were claimed to be present.
struct rate_count {
  std::uint64_t hits = 0;
  std::uint64_t asked = 0;

  static constexpr double tolerance = 1.05;
  static constexpr double doubt = 0.001;  // one-sided confidence of 99.9 %

  [[nodiscard]] double rate() const {
    return asked == 0 ? 0.0 : static_cast<double>(hits) / static_cast<double>(asked);
  }
  [[nodiscard]] double low() const { return binomial::lower_bound(hits, asked, doubt); }
  [[nodiscard]] double high() const { return asked == 0 ? 1.0 : binomial::upper_bound(hits, asked, doubt); }
  // Whether the true rate is above 1.05 times the promised one, beyond doubt.
  [[nodiscard]] bool breaks(double promised) const { return low() > tolerance * promised; }
};

enum class ask_with : std::uint8_t {
  batch,      // one call for the chunk
  single,     // one call for each key; they may overlap in time
  dependent,  // one call for each key, which depends on the answer before
};
enum class ask_for : std::uint8_t { absent, present };

struct case_size {
  std::uint64_t keys = 0;
  double fpr = 0;
};

template <filter_kind K, class Digest>
class kind_case {
 public:
  // With random keys, or integers where the kind takes them; `source` gives others and outlives this.
  static result<kind_case> make(const case_size& size, const hasher& hash, const key_source* source = nullptr) {
    auto filter = K::make({.keys = size.keys, .fpr = size.fpr});
    if (!filter) return fail(filter.error());
    if (auto fits = check_digest_width<Digest>(filter->shape().digest_bits); !fits) return fail(fits.error());
    return kind_case(std::move(*filter), size.keys, hash, source);
  }

  // Empties the filter; other keys come.
  void start_fill() {
    filter_.clear();  // touches every page, so that the clock does not see them come
    ++fill_;
    added_ = 0;
  }
  [[nodiscard]] bool is_full() const { return added_ == keys_; }
  // Seconds for the next chunk of keys, the last of which may be shorter.
  double add_chunk() {
    const auto part = std::span(digests_).first(std::min<std::uint64_t>(chunk_keys, keys_ - added_));
    feed_.present(fill_, added_, part);
    added_ += part.size();
    return seconds_of([&] {
      const std::uint64_t changed = filter_.insert_batch(std::span<const Digest>(part));
      keep(&changed);
    });
  }

  // Seconds for a chunk of keys that were not asked for before in this fill (present ones are taken at random).
  double ask_chunk(ask_with how, ask_for which, std::size_t count = chunk_keys) {
    const auto part = std::span(digests_).first(count);
    if (which == ask_for::absent) {
      feed_.absent(fill_, asked_, part);
    } else {
      feed_.present_at_random(fill_, keys_, asked_, part);
    }
    asked_ += count;
    std::uint64_t hits = 0;
    const double seconds = seconds_of([&] {
      hits = how == ask_with::batch    ? ask_batch(part)
             : how == ask_with::single ? ask_single(part)
                                       : ask_dependent(part);
      keep(&hits);
    });
    hits_ += hits;
    return seconds;
  }

  // Forgets what was asked, not which keys come next.
  void reset_hits() { hits_ = 0; }
  [[nodiscard]] std::uint64_t hits() const { return hits_; }
  [[nodiscard]] const K& filter() const { return filter_; }
  [[nodiscard]] std::uint64_t keys() const { return keys_; }
  [[nodiscard]] double bits_per_key() const {
    return static_cast<double>(filter_.memory_bytes()) * 8.0 / static_cast<double>(keys_);
  }

  // False positives among `probes` keys, in as many fills; leaves the filter full.
  rate_count count_hits(std::uint64_t fills, std::uint64_t probes) {
    rate_count count;
    for (std::uint64_t fill = 0; fill < fills; ++fill) {
      start_fill();
      while (!is_full()) add_chunk();
      count_hits_of_fill((probes + fills - 1) / fills, count);
    }
    return count;
  }
  void count_hits_of_fill(std::uint64_t probes, rate_count& count) {
    reset_hits();
    for (std::uint64_t left = probes; left != 0;) {
      const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(left, chunk_keys));
      ask_chunk(ask_with::batch, ask_for::absent, part);
      left -= part;
    }
    count.hits += hits_;
    count.asked += probes;
  }

 private:
  kind_case(K filter, std::uint64_t keys, const hasher& hash, const key_source* source)
      : filter_(std::move(filter)),
        keys_(keys),
        own_source_(source != nullptr ? nullptr : usual_source(keys)),
        feed_(source != nullptr ? *source : *own_source_, hash),
        digests_(chunk_keys),
        mask_(mask_words(chunk_keys)) {}

  static std::unique_ptr<key_source> usual_source(std::uint64_t keys) {
    if constexpr (K::info.integer_keys) return std::make_unique<integer_keys>(keys);
    return std::make_unique<random_keys>(keys);
  }

  std::uint64_t ask_batch(std::span<const Digest> digests) {
    filter_.may_contain_batch(digests, mask_);
    std::uint64_t hits = 0;
    for (std::size_t i = 0; i < digests.size() / 64; ++i) hits += static_cast<std::uint64_t>(std::popcount(mask_[i]));
    if (const std::size_t rest = digests.size() % 64; rest != 0) {
      const std::uint64_t last = mask_[digests.size() / 64] & (~std::uint64_t{0} >> (64 - rest));
      hits += static_cast<std::uint64_t>(std::popcount(last));
    }
    return hits;
  }
  std::uint64_t ask_single(std::span<const Digest> digests) {
    std::uint64_t hits = 0;
    for (const Digest& digest : digests) hits += filter_.may_contain(digest) ? 1U : 0U;
    return hits;
  }
  // Which of two neighbours is asked for hangs on the answer before.
  std::uint64_t ask_dependent(std::span<const Digest> digests) {
    std::uint64_t hits = 0;
    std::size_t last = 0;
    for (std::size_t i = 0; i + 1 < digests.size(); ++i) {
      last = filter_.may_contain(digests[i + last]) ? 1U : 0U;
      hits += last;
    }
    return hits;
  }

  K filter_;
  std::uint64_t keys_;
  std::unique_ptr<key_source> own_source_;
  digest_feed feed_;
  std::vector<Digest> digests_;
  std::vector<std::uint64_t> mask_;
  std::uint64_t fill_ = 0;
  std::uint64_t added_ = 0;
  std::uint64_t asked_ = 0;
  std::uint64_t hits_ = 0;
};

// ---- all figures of a case -------------------------------------------------------------------------------------------

struct effort {
  std::uint64_t add_keys;  // fill again until so many were added
  std::size_t ask_chunks;  // of each way to ask
  std::uint64_t probes;    // absent keys, for the rate
};

struct kind_figures {
  std::uint64_t memory_bytes = 0;
  double bits_per_key = 0;
  // ns per key
  double add = 0;
  double absent_batch = 0;
  double absent_single = 0;
  double absent_dependent = 0;
  double present_batch = 0;
  double present_single = 0;
  rate_count absent{};
};

// How many filters of so many keys are filled. The rate of one small filter hangs on its few keys; the promise is about
// the mean.
inline std::uint64_t fills_for(std::uint64_t keys, std::uint64_t add_keys, std::uint64_t most) {
  return std::clamp<std::uint64_t>(add_keys / keys, 1, most);
}

// Seconds per key over a whole fill, from what each chunk of it took in each fill. Adding may cost more as the filter
// fills, so every part of the way counts: each stretch of it, of ten measurements or so, at its low percentile.
inline double add_seconds_per_key(const std::vector<std::vector<double>>& chunks) {
  constexpr std::size_t wanted = 10;
  const std::size_t stretch = (wanted + chunks.front().size() - 1) / chunks.front().size();
  double sum = 0;
  for (std::size_t first = 0; first < chunks.size(); first += stretch) {
    const std::size_t count = std::min(stretch, chunks.size() - first);
    std::vector<double> times;
    for (std::size_t i = first; i < first + count; ++i) times.insert(times.end(), chunks[i].begin(), chunks[i].end());
    sum += low_percentile(std::move(times)) * static_cast<double>(count);
  }
  return sum / static_cast<double>(chunks.size());
}

// `tick` is called between chunks with the number of keys done.
template <filter_kind K, class Digest, class Tick>
kind_figures measure(kind_case<K, Digest>& each, const effort& with, Tick&& tick) {
  kind_figures out;
  constexpr std::uint64_t most_fills = 100;
  const std::uint64_t fills = fills_for(each.keys(), with.add_keys, most_fills);
  std::vector<std::vector<double>> add_times((each.keys() + chunk_keys - 1) / chunk_keys);
  for (std::uint64_t fill = 0; fill < fills; ++fill) {
    each.start_fill();
    std::uint64_t left = each.keys();
    for (std::vector<double>& times : add_times) {
      const std::uint64_t keys = std::min<std::uint64_t>(chunk_keys, left);
      times.push_back(each.add_chunk() / static_cast<double>(keys));
      left -= keys;
      tick(keys);
    }
    each.count_hits_of_fill(with.probes / fills, out.absent);
    tick(with.probes / fills);
  }
  out.add = add_seconds_per_key(add_times) * 1e9;
  out.memory_bytes = each.filter().memory_bytes();
  out.bits_per_key = each.bits_per_key();
  const auto ask = [&](ask_with how, ask_for which) {
    std::vector<double> times;
    for (std::size_t i = 0; i < with.ask_chunks; ++i) {
      times.push_back(each.ask_chunk(how, which));
      tick(chunk_keys);
    }
    return low_percentile(std::move(times)) * 1e9 / static_cast<double>(chunk_keys);
  };
  out.absent_batch = ask(ask_with::batch, ask_for::absent);
  out.absent_single = ask(ask_with::single, ask_for::absent);
  out.absent_dependent = ask(ask_with::dependent, ask_for::absent);
  out.present_batch = ask(ask_with::batch, ask_for::present);
  out.present_single = ask(ask_with::single, ask_for::present);
  return out;
}

// ns per key of 16 bytes, hashed many at a time, keys in cache; 0 where the hash takes no such key.
inline double hash_ns_per_key(const hasher& hash, std::size_t chunks) {
  constexpr std::size_t keys = 512;
  constexpr std::size_t key_bytes = 16;
  if (!hash.accepts(key_bytes)) return 0;
  std::vector<char> bytes(keys * key_bytes);
  std::vector<std::string_view> views;
  for (std::size_t i = 0; i < keys; ++i) {
    views.emplace_back(bytes.data() + i * key_bytes, write_random_key(i + 1, bytes.data() + i * key_bytes));
  }
  std::array<std::uint64_t, keys> digests{};
  std::vector<double> times;
  for (std::size_t i = 0; i < chunks; ++i) {
    times.push_back(seconds_of([&] {
      for (std::size_t round = 0; round < chunk_keys / keys; ++round) {
        hash.digests(views, digests);
        keep(digests.data());
      }
    }));
  }
  return low_percentile(std::move(times)) * 1e9 / static_cast<double>(chunk_keys);
}

}  // namespace bloomery::bench
