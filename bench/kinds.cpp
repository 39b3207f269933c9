// Every kind of the list: ns per key to add, to ask for absent and for present keys, in batches and one by one, at 1 %.
// Counters: bits/key and measured FPR in per cent. The chunks are those that `bloomery bench` times (kind_case.hpp).
#include <benchmark/benchmark.h>

#include <string>

#include "bench/kind_case.hpp"

namespace {

using namespace bloomery;

template <class K>
bench::kind_case<K, std::uint64_t> case_of(benchmark::State& state) {
  const hasher hash = K::info.integer_keys ? hasher::of(identity{}) : hasher();
  auto made =
      bench::kind_case<K, std::uint64_t>::make({.keys = static_cast<std::uint64_t>(state.range(0)), .fpr = 0.01}, hash);
  made->start_fill();
  return std::move(*made);
}

template <class K>
void add(benchmark::State& state) {
  auto each = case_of<K>(state);
  for ([[maybe_unused]] auto _ : state) {
    double seconds = 0;
    each.start_fill();
    while (!each.is_full()) seconds += each.add_chunk();
    state.SetIterationTime(seconds);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
  state.counters["bits/key"] = each.bits_per_key();
}

template <class K>
void ask(benchmark::State& state, bench::ask_with how, bench::ask_for which) {
  auto each = case_of<K>(state);
  while (!each.is_full()) each.add_chunk();
  std::uint64_t asked = 0;
  for ([[maybe_unused]] auto _ : state) {
    state.SetIterationTime(each.ask_chunk(how, which));
    asked += bench::chunk_keys;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(asked));
  const double share = static_cast<double>(each.hits()) / static_cast<double>(asked);
  state.counters[which == bench::ask_for::present ? "found%" : "FPR%"] = 100.0 * share;
}

}  // namespace

int main(int argc, char** argv) {
  using enum bench::ask_with;
  using enum bench::ask_for;
  enable_bitmap();
  for_each_type(kind_list{}, [](auto tag) {
    using kind = typename decltype(tag)::type;
    const std::string name(kind::info.name);
    for (const std::int64_t keys : {1'000'000, 10'000'000, 100'000'000}) {
      // A hundred million random inserts into a bitmap take minutes and say nothing new.
      if (kind::info.integer_keys && keys > 10'000'000) continue;
      const auto named = [&](const char* what, auto function, auto... arguments) {
        benchmark::RegisterBenchmark((name + what).c_str(), function, arguments...)->Arg(keys)->UseManualTime();
      };
      named("/add", add<kind>);
      named("/absent", ask<kind>, batch, absent);
      named("/present", ask<kind>, batch, present);
      named("/absent_single", ask<kind>, single, absent);
      named("/absent_dependent", ask<kind>, dependent, absent);
    }
  });
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
