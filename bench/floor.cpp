// The memory-latency floor (floor.hpp): ns to read one random cache line of 64 bytes, from 64 KiB to 4 GiB as far as memory goes; steps that
// overlap and steps that wait for each other, huge pages and small ones, one thread and all. What no filter with one
// line per key can beat.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <string>

#include "bench/floor.hpp"

namespace {

using namespace bloomery;

void read_lines(benchmark::State& state, bench::page_size pages, unsigned threads, bool dependent) {
  auto lines = bench::line_reader::make(static_cast<std::uint64_t>(state.range(0)), pages);
  if (!lines) return state.SkipWithError(describe(lines.error()).c_str());
  bench::worker_pool pool(threads);
  for ([[maybe_unused]] auto _ : state) {
    constexpr std::size_t chunks = 40;
    const double ns = dependent ? lines->dependent_ns(chunks) : lines->independent_ns(chunks, pool);
    state.SetIterationTime(ns * 1e-9);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned all = std::max(1U, std::thread::hardware_concurrency());
  const auto free_bytes = static_cast<std::int64_t>(::sysconf(_SC_AVPHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  for (std::int64_t bytes = 64 << 10; bytes <= std::min<std::int64_t>(std::int64_t{4} << 30U, free_bytes / 2);
       bytes *= 4) {
    for (const auto pages : {bench::page_size::huge, bench::page_size::small}) {
      const std::string suffix = pages == bench::page_size::huge ? "/huge" : "/small";
      const auto named = [&](const std::string& name, unsigned threads, bool dependent) {
        benchmark::RegisterBenchmark((name + suffix).c_str(), read_lines, pages, threads, dependent)
            ->Arg(bytes)
            ->Iterations(1)
            ->UseManualTime();
      };
      named("independent", 1, false);
      if (all > 1) named("independent_threads_" + std::to_string(all), all, false);
      named("dependent", 1, true);
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
