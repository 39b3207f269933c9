// Filters that grow from 1000 keys, against each other and against a filter that knew the number of keys beforehand.
//
//     bench_growing_peers [--only NAME]... [KEYS...]   default 10,000,000; 100,000,000 takes 1.5 GB and some minutes
//
// growing          kind growing, from a first capacity of 1000
// scalable         kind scalable, layout split64, from 1000, growth 2
// RedisBloom-like  kind scalable, layout redis, from 1000, growth 2: RedisBloom's sub-filters, probes and hash, one call per key
//                  (it has no batches)
// blocked          kind blocked, made for all keys
//
// All at 1 %, 64-bit integers, hashing included. They are measured in rounds: in each round every candidate looks up some chunks in
// every way. The memory-latency floors of `growing` and `blocked` (bench/floor.hpp), whose sizes differ, are measured between.
#include <bloomery/hash/murmur64a.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "bench/floor.hpp"
#include "bench/kind_case.hpp"

namespace {

using namespace bloomery;
using namespace bloomery::bench;

constexpr std::uint64_t first_keys = 1000;
constexpr double fpr = 0.01;

struct redis_subject {
  using key = std::uint64_t;
  scalable filter;

  static digest128 digest(std::uint64_t each) {
    std::array<std::byte, 8> bytes{};
    store_le(bytes.data(), each);
    return murmur64a_pair(bytes.data(), bytes.size());
  }
  void clear() { filter.clear(); }
  void insert(std::uint64_t each) { filter.insert(digest(each)); }
  [[nodiscard]] bool may_contain(std::uint64_t each) const { return filter.may_contain(digest(each)); }
  [[nodiscard]] std::uint64_t memory_bytes() const { return filter.memory_bytes(); }
};

struct candidate_run {
  std::string name;
  timed_case each;
  double add_ns = 0;
  query_times queried{};
  case_figures figures{};
};

// Candidates that `only` leaves out are not made.
template <class Make>
void add_candidate(std::vector<candidate_run>& runs, const char* name, const std::vector<std::string>& only, Make make,
                   std::uint64_t keys) {
  if (!only.empty() && std::find(only.begin(), only.end(), name) == only.end()) return;
  auto made = make();
  if (!made) {
    std::fprintf(stderr, "%s: %s\n", name, describe(made.error()).c_str());
    std::exit(2);
  }
  runs.push_back({name, timed_case(std::move(*made), feed_of(key_types[0], keys), keys)});
}

result<std::unique_ptr<candidate>> make_redis_like() {
  auto made = scalable::make({.keys = first_keys, .fpr = fpr, .layout = "redis"});
  if (!made) return fail(made.error());
  return std::unique_ptr<candidate>(new candidate_of<redis_subject>(redis_subject{std::move(*made)}));
}

struct candidate_floor {
  std::string name;
  line_reader lines;
  double ns = 0;
};

std::vector<candidate_floor> floors_of(const std::vector<candidate_run>& runs) {
  std::vector<candidate_floor> floors;
  for (const candidate_run& run : runs) {
    if (run.name != "growing" && run.name != "blocked") continue;
    auto lines = line_reader::make(run.each.subject().memory_bytes(), page_size::huge);
    if (lines) floors.push_back({run.name, std::move(*lines)});
  }
  return floors;
}

void compare(std::uint64_t keys, const std::vector<std::string>& only) {
  const filter_params small{.keys = first_keys, .fpr = fpr};
  std::vector<candidate_run> runs;
  const auto growing_one = [&] { return make_filter_candidate<growing>(small, key_types[0]); };
  const auto scalable_one = [&] { return make_filter_candidate<scalable>(small, key_types[0]); };
  const auto blocked_one = [&] { return make_filter_candidate<blocked>({.keys = keys, .fpr = fpr}, key_types[0]); };
  add_candidate(runs, "growing", only, growing_one, keys);
  add_candidate(runs, "scalable", only, scalable_one, keys);
  add_candidate(runs, "RedisBloom-like", only, make_redis_like, keys);
  add_candidate(runs, "blocked", only, blocked_one, keys);
  for (candidate_run& run : runs) {
    run.each.start_fill();
    double seconds = 0;
    while (!run.each.is_full()) seconds += run.each.add_chunk();
    run.add_ns = ns_per_key(seconds, keys);
    run.each.count_hits_of_fill(1'000'000, run.figures.absent);
  }
  std::vector<candidate_floor> floors = floors_of(runs);
  constexpr int rounds = 6;
  for (int round = 0; round < rounds; ++round) {
    for (candidate_floor& floor : floors) {
      floor.lines.warm();
      const double ns = floor.lines.independent_ns(8);
      floor.ns = round == 0 ? ns : std::min(floor.ns, ns);
    }
    for (candidate_run& run : runs) {
      const std::size_t warm_chunks = warm_chunks_for(run.each.subject().memory_bytes());
      run.queried.take_round(
          run.each, 8, [](std::uint64_t) {}, warm_chunks);
    }
  }
  std::printf("%llu keys at 1 %%, ns per key\n%-16s %8s %8s %8s %8s %8s %8s %8s %8s %9s\n",
              static_cast<unsigned long long>(keys), "", "add", "absent", "absent", "absent", "present", "present",
              "bits", "FPR", "batch to");
  std::printf("%-16s %8s %8s %8s %8s %8s %8s %8s %8s %9s\n", "", "", "batch", "single", "depend.", "batch", "single",
              "per key", "%", "growing");
  for (candidate_run& run : runs) run.queried.write(run.figures);
  for (const candidate_run& run : runs) {
    const case_figures& of = run.figures;
    std::printf("%-16s %8.1f %8.2f %8.2f %8.2f %8.2f %8.2f %8.2f %8.3f %8.2f\n", run.name.c_str(), run.add_ns,
                of.absent_batch, of.absent_single, of.absent_dependent, of.present_batch, of.present_single,
                run.each.bits_per_key(), of.absent.rate() * 100, of.absent_batch / runs[0].figures.absent_batch);
  }
  for (const candidate_floor& floor : floors) {
    std::printf("floor of %-15s %8.2f\n", floor.name.c_str(), floor.ns);
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> only;
  std::vector<std::uint64_t> sizes;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--only" && i + 1 < argc) {
      only.emplace_back(argv[++i]);
    } else {
      sizes.push_back(std::strtoull(argv[i], nullptr, 10));
    }
  }
  if (sizes.empty()) sizes.push_back(10'000'000);
  for (const std::uint64_t keys : sizes) compare(keys, only);
  return 0;
}
