// bench/race/race_group.hpp: contenders that hold the same number of keys of the same type, measured by turns.
//
// Each is filled, more often where it is small; then all take turns at asking, in every way; then all threads ask one
// contender at once, and add to it where it can take that. The floor of the filters' size is measured between.
//
//     std::vector<offer> offers = ...;
//     group_result result = run_group(offers, {.keys = 1'000'000, .bits_per_key = 12, .type = &key_types[0]}, care);
//     rate_count rate = run_rate(offers[0], size, care);       // only how often it is wrong
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/floor.hpp"
#include "bench/race/offer.hpp"
#include "bench/timed_case.hpp"

namespace bloomery::bench {

// How much is measured.
struct race_care {
  std::uint64_t add_keys = 3'000'000;  // fill small contenders again until so many were added
  std::size_t rounds = 6;
  std::size_t turn_chunks = 8;  // of each way to ask
  unsigned threads = 1;         // 1: none together
};

// ns per key of one thread, and of all together, measured by turns; 0: not measured.
struct thread_figures {
  double one = 0;
  double all = 0;
};

struct race_row {
  const offer* of = nullptr;
  bool batches = false;
  case_figures figures{};
  thread_figures ask_threads{};   // absent keys in batches
  thread_figures add_threads{};   // one in batches, all into the same filter at once
  thread_figures add_parallel{};  // one call with one thread, and with as many
};

struct group_result {
  race_size size{};
  std::vector<race_row> rows{};
  std::vector<const offer*> left_out{};  // for want of memory
  std::optional<floor_figures> floor{};
};

group_result run_group(const std::vector<offer>& offers, const race_size& size, const race_care& care);

// Until 400 are wrong, or so many were asked that the rate is as good as none. nullopt: no such filter can be made.
struct rate_point {
  double bits_per_key = 0;
  rate_count absent{};
};
std::optional<rate_point> run_rate(const offer& of, const race_size& size);

std::uint64_t free_memory_bytes();

}  // namespace bloomery::bench
