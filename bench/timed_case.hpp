// bench/timed_case.hpp: a candidate and its keys, timed chunk by chunk: what `bloomery bench` and all programs here
// measure with.
//
// Keys (or digests) are made before the clock runs, memory is there and touched, and the caller uses answers without
// branching on them. Every call that is timed returns the seconds of one chunk.
//
//     timed_case each(std::make_unique<candidate_of<my_set>>(...), feed_of(type, keys), keys);
//     each.start_fill();
//     while (!each.is_full()) seconds += each.add_chunk();
//     seconds = each.ask_chunk(call_with::batch, ask_for::absent);
//     each.hits()                                    // of all looked up so far
//
// `measure` makes all figures of one case. Several cases are compared in rounds: fill each, then let each look up
// a few chunks in every way, round after round (`query_times`), so that what disturbs the machine disturbs all of them.
#pragma once

#include <algorithm>
#include <array>
#include <bloomery/core/binomial.hpp>
#include <bloomery/core/buffer.hpp>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/candidate.hpp"
#include "bench/clock.hpp"
#include "bench/key_feed.hpp"

namespace bloomery::bench {

enum class ask_for : std::uint8_t { absent, present };

struct case_size {
  std::uint64_t keys = 0;
  double fpr = 0;
  std::string_view layout{};  // the usual one without it
};

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
  // Whether the true FPR is above 1.05 times the promised one, beyond doubt.
  [[nodiscard]] bool breaks(double promised) const { return low() > tolerance * promised; }
};

class timed_case {
 public:
  timed_case(std::unique_ptr<candidate> subject, std::unique_ptr<key_feed> feed, std::uint64_t keys)
      : subject_(std::move(subject)), feed_(std::move(feed)), keys_(keys) {}

  // Empties the candidate; other keys come.
  void start_fill() {
    subject_->clear();
    ++fill_;
    added_ = 0;
    asked_ = 0;
  }
  [[nodiscard]] bool is_full() const { return added_ == keys_; }
  // Seconds for the next chunk of keys, the last of which may be shorter. A static candidate takes no time
  // for any but the last.
  double add_chunk(call_with how = call_with::batch) {
    const key_block block = feed_->present(fill_, added_, std::min<std::uint64_t>(chunk_keys, keys_ - added_));
    added_ += block.size();
    if (!subject_->builds_static()) return seconds_of([&] { subject_->add(block, how); });
    subject_->add(block, how);
    if (!is_full()) return 0.0;
    subject_->prepare();
    return seconds_of([&] { subject_->build(); });
  }

  // Seconds for a chunk of keys that were not looked up before in this fill (present ones are taken at random).
  double ask_chunk(call_with how, ask_for which, std::size_t count = chunk_keys) {
    const key_block block = next_block(*feed_, which, count);
    std::uint64_t hits = 0;
    const double seconds = seconds_of([&] {
      hits = subject_->query(block, how);
      keep(&hits);
    });
    hits_ += hits;
    return seconds;
  }
  // The number of the next key to look up; another thread looks up so many of them.
  std::uint64_t skip_keys(std::uint64_t count) {
    asked_ += count;
    return asked_ - count;
  }
  // The next keys to look up, from a feed of the same keys.
  key_block next_block(key_feed& feed, ask_for which, std::size_t count) {
    const std::uint64_t first = skip_keys(count);
    return which == ask_for::absent ? feed.absent(fill_, first, count)
                                    : feed.present_at_random(fill_, keys_, first, count);
  }

  // Forgets the hits, not which keys come next.
  void reset_hits() { hits_ = 0; }
  [[nodiscard]] std::uint64_t hits() const { return hits_; }
  [[nodiscard]] const candidate& subject() const { return *subject_; }
  [[nodiscard]] candidate& subject() { return *subject_; }
  [[nodiscard]] std::uint64_t keys() const { return keys_; }
  [[nodiscard]] std::uint64_t fill() const { return fill_; }
  [[nodiscard]] double bits_per_key() const {
    return static_cast<double>(subject_->memory_bytes()) * 8.0 / static_cast<double>(keys_);
  }

  // False positives among `probes` keys, in as many fills; leaves the candidate full.
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
      const auto chunk = static_cast<std::size_t>(std::min<std::uint64_t>(left, chunk_keys));
      ask_chunk(call_with::batch, ask_for::absent, chunk);
      left -= chunk;
    }
    count.hits += hits_;
    count.asked += probes;
  }

 private:
  std::unique_ptr<candidate> subject_;
  std::unique_ptr<key_feed> feed_;
  std::uint64_t keys_;
  std::uint64_t fill_ = 0;
  std::uint64_t added_ = 0;
  std::uint64_t asked_ = 0;
  std::uint64_t hits_ = 0;
};

// ---- all figures of a case -------------------------------------------------------------------------------------------

struct effort {
  std::uint64_t add_keys;  // fill again until so many were added
  std::size_t ask_chunks;  // of each way to look up
  std::uint64_t probes;    // absent keys, for the FPR
};

struct case_figures {
  std::uint64_t memory_bytes = 0;
  double bits_per_key = 0;
  // ns per key
  double add = 0;
  double add_single = 0;
  double absent_batch = 0;
  double absent_single = 0;
  double absent_dependent = 0;
  double present_batch = 0;
  double present_single = 0;
  double present_dependent = 0;
  rate_count absent{};
};

// The times of a case_figures, and what they are called in JSON and as benchmarks.
struct figure_name {
  std::string_view name;
  double case_figures::*ns;
};
inline constexpr std::array figure_names = {
    figure_name{"add", &case_figures::add},
    figure_name{"add_single", &case_figures::add_single},
    figure_name{"absent_batch", &case_figures::absent_batch},
    figure_name{"absent_single", &case_figures::absent_single},
    figure_name{"absent_dependent", &case_figures::absent_dependent},
    figure_name{"present_batch", &case_figures::present_batch},
    figure_name{"present_single", &case_figures::present_single},
    figure_name{"present_dependent", &case_figures::present_dependent},
};

struct ask_way {
  call_with how;
  ask_for which;
  double case_figures::*ns;
};
inline constexpr std::array ask_ways = {
    ask_way{call_with::batch, ask_for::absent, &case_figures::absent_batch},
    ask_way{call_with::single, ask_for::absent, &case_figures::absent_single},
    ask_way{call_with::dependent, ask_for::absent, &case_figures::absent_dependent},
    ask_way{call_with::batch, ask_for::present, &case_figures::present_batch},
    ask_way{call_with::single, ask_for::present, &case_figures::present_single},
    ask_way{call_with::dependent, ask_for::present, &case_figures::present_dependent},
};

// How many filters of so many keys are filled. The FPR of one small filter depends on its few keys; the promise is about
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

// What adding took, by chunk of the fill and then by fill.
class add_times {
 public:
  explicit add_times(const timed_case& each)
      : is_static_(each.subject().builds_static()), chunks_((each.keys() + chunk_keys - 1) / chunk_keys) {}

  // `tick` is called after each chunk with the number of its keys.
  template <class Tick>
  void fill(timed_case& each, call_with how, Tick&& tick) {
    each.start_fill();
    std::uint64_t left = each.keys();
    double seconds = 0;
    for (std::vector<double>& times : chunks_) {
      const std::uint64_t keys = std::min<std::uint64_t>(chunk_keys, left);
      seconds = each.add_chunk(how);
      times.push_back(seconds / static_cast<double>(keys));
      left -= keys;
      tick(keys);
    }
    built_.push_back(seconds / static_cast<double>(each.keys()));
  }
  [[nodiscard]] double ns_per_key() const {
    if (built_.empty()) return 0;
    return (is_static_ ? low_percentile(built_) : add_seconds_per_key(chunks_)) * 1e9;
  }

 private:
  bool is_static_;
  std::vector<std::vector<double>> chunks_;
  std::vector<double> built_;
};

// What look-ups took, in every way: the low percentile of a round's chunks, and the least of all rounds, as for the floor. What
// disturbs the machine for some seconds is then in no figure.
class query_times {
 public:
  // So many chunks in each way, after some that are not counted and bring the candidate back into the caches. `tick` is
  // called after each chunk with the number of its keys.
  template <class Tick>
  void take_round(timed_case& each, std::size_t chunks, Tick&& tick, std::size_t warm_chunks = 0) {
    for (std::size_t i = 0; i < warm_chunks; ++i) each.ask_chunk(call_with::batch, ask_for::absent);
    for (std::size_t way = 0; way < ask_ways.size(); ++way) {
      std::vector<double> times;
      for (std::size_t i = 0; i < chunks; ++i) {
        times.push_back(each.ask_chunk(ask_ways[way].how, ask_ways[way].which));
        tick(chunk_keys);
      }
      const double seconds = low_percentile(std::move(times));
      seconds_[way] = rounds_ == 0 ? seconds : std::min(seconds_[way], seconds);
    }
    ++rounds_;
  }
  void write(case_figures& to) const {
    for (std::size_t way = 0; way < ask_ways.size(); ++way) to.*ask_ways[way].ns = bench::ns_per_key(seconds_[way]);
  }

 private:
  std::array<double, ask_ways.size()> seconds_{};
  std::size_t rounds_ = 0;
};

// Other candidates ran since: chunks that bring back into the caches what fits there, each line with some confidence.
inline std::size_t warm_chunks_for(std::uint64_t memory_bytes) {
  constexpr std::uint64_t beyond_caches = std::uint64_t{64} << 20U;
  constexpr std::uint64_t most = 16;
  if (memory_bytes > beyond_caches) return 2;
  return static_cast<std::size_t>(std::min(most, 1 + 2 * memory_bytes / cache_line_bytes / chunk_keys));
}

template <class Tick>
case_figures measure(timed_case& each, const effort& with, Tick&& tick) {
  case_figures out;
  constexpr std::uint64_t most_fills = 100;
  const std::uint64_t fills = fills_for(each.keys(), with.add_keys, most_fills);
  add_times singly(each);
  add_times batches(each);
  for (std::uint64_t fill = 0; fill < fills; ++fill) {
    singly.fill(each, call_with::single, tick);
    batches.fill(each, call_with::batch, tick);
    each.count_hits_of_fill(with.probes / fills, out.absent);
    tick(with.probes / fills);
  }
  out.add = batches.ns_per_key();
  out.add_single = singly.ns_per_key();
  out.memory_bytes = each.subject().memory_bytes();
  out.bits_per_key = each.bits_per_key();
  query_times queried;
  queried.take_round(each, with.ask_chunks, tick);
  queried.write(out);
  return out;
}

}  // namespace bloomery::bench
