// The longest single inserts while a growing filter grows from 1000 keys, in CPU time of the thread: what the system
// does for an insert, such as clearing fresh pages, counts; waiting for a processor does not.
//
//     bench_growing_pauses [KEYS [ROUNDS]]      default 100,000,000 keys, 3 rounds
//
// Each round is a process of its own that inserts the same keys. On a virtual machine what the host does is part of
// this time, too, so that plain inserts take 100 us and more now and then. Hence an insert's time is the least of all
// rounds: what it costs by itself comes back in every one of them. A call of the clock is in each, some 0.2 us.
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bloomery/kinds/growing.hpp>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>
#include <vector>

namespace {

using namespace bloomery;

constexpr std::uint64_t least_us = 30;  // shorter ones are not recorded

struct slow_insert {
  std::uint64_t key;
  std::uint64_t ns;
};

std::uint64_t thread_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

std::vector<slow_insert> measure(std::uint64_t keys) {
  std::vector<slow_insert> pauses;
  pauses.reserve(1U << 20U);
  auto filter = growing::make({.keys = 1000, .fpr = 0.01});
  if (!filter) std::exit(2);
  for (std::uint64_t i = 0, before = thread_ns(); i < keys; ++i) {
    if (!filter->add(mix64(i))) std::exit(2);
    const std::uint64_t after = thread_ns();
    if (after - before > least_us * 1000) pauses.push_back({i, after - before});
    before = after;
  }
  return pauses;
}

// In a process of its own: each round has the same heap.
std::vector<slow_insert> measure_apart(std::uint64_t keys) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) std::exit(2);
  const pid_t child = fork();
  if (child == 0) {
    const std::vector<slow_insert> pauses = measure(keys);
    const auto* from = reinterpret_cast<const char*>(pauses.data());
    for (std::size_t left = pauses.size() * sizeof(slow_insert); left != 0;) {
      const ssize_t written = write(ends[1], from, left);
      if (written <= 0) std::_Exit(2);
      from += written;
      left -= static_cast<std::size_t>(written);
    }
    std::_Exit(0);
  }
  close(ends[1]);
  std::vector<slow_insert> pauses;
  for (slow_insert each{};;) {
    std::size_t had = 0;
    while (had < sizeof each) {
      const ssize_t got = read(ends[0], reinterpret_cast<char*>(&each) + had, sizeof each - had);
      if (got <= 0) break;
      had += static_cast<std::size_t>(got);
    }
    if (had < sizeof each) break;
    pauses.push_back(each);
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) std::exit(2);
  return pauses;
}

void print_longest(std::vector<slow_insert> pauses, std::uint64_t keys) {
  std::erase_if(pauses, [&](const slow_insert& each) { return each.key >= keys; });
  std::printf("%12llu", static_cast<unsigned long long>(keys));
  for (const std::uint64_t limit_us : {30U, 50U, 100U, 150U, 200U, 300U}) {
    const auto longer =
        std::count_if(pauses.begin(), pauses.end(), [&](const slow_insert& each) { return each.ns > limit_us * 1000; });
    std::printf(" %8lld", static_cast<long long>(longer));
  }
  std::sort(pauses.begin(), pauses.end(), [](const slow_insert& a, const slow_insert& b) { return a.ns > b.ns; });
  std::printf("  ");
  for (std::size_t i = 0; i < pauses.size() && i < 5; ++i) {
    std::printf(" %.1f (%llu)", static_cast<double>(pauses[i].ns) / 1000,
                static_cast<unsigned long long>(pauses[i].key));
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t keys = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000'000;
  const std::uint64_t rounds = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 3;
  std::vector<slow_insert> least = measure_apart(keys);
  for (std::uint64_t round = 1; round < rounds; ++round) {
    std::unordered_map<std::uint64_t, std::uint64_t> again;
    for (const slow_insert& each : measure_apart(keys)) again.emplace(each.key, each.ns);
    std::erase_if(least, [&](const slow_insert& each) { return !again.contains(each.key); });
    for (slow_insert& each : least) each.ns = std::min(each.ns, again[each.key]);
  }
  std::printf("inserts that took longer than so many us in each of %llu rounds, and the longest: us (key)\n",
              static_cast<unsigned long long>(rounds));
  std::printf("%12s %8s %8s %8s %8s %8s %8s\n", "up to keys", "30", "50", "100", "150", "200", "300");
  for (std::uint64_t up_to = 10'000; up_to < keys; up_to *= 10) print_longest(least, up_to);
  print_longest(least, keys);
  return 0;
}
