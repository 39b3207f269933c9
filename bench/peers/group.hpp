// bench/peers/group.hpp: candidates that hold the same number of keys of the same type, measured in rounds.
//
// Each is filled, more often where it is small. Then, round by round, each looks up keys in every way. Then all threads query one
// candidate at once, and add to it where it supports that. The floor of the filters' size is measured between.
//
//     std::vector<registration> registrations = ...;
//     group_result result = run_group(registrations, {.keys = 1'000'000, .bits_per_key = 12, .type = &key_types[0]}, effort);
//     fpr_point point = *measure_fpr(registrations[0], size);            // the FPR alone
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/floor.hpp"
#include "bench/peers/registration.hpp"
#include "bench/timed_case.hpp"

namespace bloomery::bench {

// How much is measured.
struct group_effort {
  std::uint64_t add_keys = 3'000'000;  // fill small candidates again until so many were added
  std::size_t rounds = 6;
  std::size_t round_chunks = 8;  // of each way to look up
  unsigned threads = 1;          // 1: no measurements with several threads
};

// ns per key of one thread, and of all together, measured in rounds; 0: not measured.
struct thread_figures {
  double one = 0;
  double all = 0;
};

struct candidate_row {
  const registration* of = nullptr;
  bool batches = false;
  case_figures figures{};
  thread_figures query_threads{};  // absent keys in batches
  thread_figures add_threads{};    // one in batches, all into the same filter at once
  thread_figures add_parallel{};   // one call with one thread, and with as many
};

struct group_result {
  candidate_size size{};
  std::vector<candidate_row> rows{};
  std::vector<const registration*> left_out{};  // for want of memory
  std::optional<floor_figures> floor{};
};

group_result run_group(const std::vector<registration>& registrations, const candidate_size& size,
                       const group_effort& effort);

// Until 400 answers are wrong, or so many keys were looked up that the FPR is as good as 0. nullopt: no such filter can be made.
struct fpr_point {
  double bits_per_key = 0;
  rate_count absent{};
};
std::optional<fpr_point> measure_fpr(const registration& of, const candidate_size& size);

std::uint64_t free_memory_bytes();

}  // namespace bloomery::bench
