// How long single inserts into a growing filter take while it grows from 1000 keys: a histogram of those that only store
// a key, of those that split a page, and of those that also waited for memory from the system. With memory reserved ahead
// (growing::reserve) the last group is empty.
//
//     bench_growing_inserts [KEYS]      default 10,000,000
#include <bloomery/kinds/growing.hpp>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/clock.hpp"

namespace {

using namespace bloomery;

void print_line(const char* name, std::vector<float>& times) {
  if (times.empty()) return;
  std::sort(times.begin(), times.end());
  const auto at = [&](double share) {
    return static_cast<double>(times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))]);
  };
  std::printf("%-24s %10zu %9.0f %9.0f %9.0f %9.0f %9.0f %11.0f\n", name, times.size(), at(0.1), at(0.5), at(0.9),
              at(0.99), at(0.999), at(1));
}

int run(std::uint64_t keys, bool ahead) {
  auto filter = growing::make({.keys = 1000, .fpr = 0.01});
  if (!filter) return 2;
  std::vector<float> plain;
  std::vector<float> splitting;
  std::vector<float> taking_memory;
  plain.reserve(keys);
  std::uint64_t next_step = 0;
  for (std::uint64_t i = 0; i < keys; ++i) {
    if (ahead && i == next_step) {
      if (!filter->reserve(i / 8 + 100'000)) return 2;
      next_step += i / 16 + 50'000;
    }
    const std::uint64_t pages = filter->pages();
    const std::uint64_t bytes = filter->memory_bytes();
    const auto ns = static_cast<float>(1e9 * bench::seconds_of([&] { filter->insert(mix64(i)); }));
    const bool split = filter->pages() != pages;
    const bool memory = filter->memory_bytes() > bytes + growing_pages::page_stride;
    (memory ? taking_memory : split ? splitting : plain).push_back(ns);
  }
  std::printf("%llu keys, %s\n%-24s %10s %9s %9s %9s %9s %9s %11s\n", static_cast<unsigned long long>(keys),
              ahead ? "memory reserved ahead" : "memory taken when it is needed", "ns an insert", "inserts", "p10",
              "p50", "p90", "p99", "p99.9", "most");
  print_line("store", plain);
  print_line("store and split", splitting);
  print_line("store, split, new slab", taking_memory);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t keys = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000'000;
  const int first = run(keys, false);
  return first != 0 ? first : run(keys, true);
}
