// Every kind of the list at 1 %: ns per key to insert and to look up absent and present keys: in batches, one by one, and one
// by one where each look-up waits for the answer before; for digests that are made beforehand and for integers, keys of 16
// bytes and URLs. Counters: bits/key and measured FPR in per cent. The code is that of `bloomery bench`
// (timed_case.hpp). Names are KIND/KEYS/WHAT/NUMBER: narrow down with --benchmark_filter.
#include <benchmark/benchmark.h>

#include <functional>
#include <optional>
#include <string>

#include "bench/kind_case.hpp"

namespace {

using namespace bloomery;
using make_case = std::function<result<bench::timed_case>(std::uint64_t keys)>;

// Benchmarks of one case run one after the other, so that the last case is enough to fill each once only.
bench::timed_case& full_case(const std::string& name, const make_case& make, std::uint64_t keys) {
  static std::string last_name;
  static std::optional<bench::timed_case> last;
  if (const std::string wanted = name + "/" + std::to_string(keys); wanted != last_name) {
    last.reset();
    last.emplace(std::move(*make(keys)));
    last->start_fill();
    while (!last->is_full()) last->add_chunk();
    last_name = wanted;
  }
  return *last;
}

void add(benchmark::State& state, const std::string& name, const make_case& make, bench::call_with how) {
  auto& each = full_case(name, make, static_cast<std::uint64_t>(state.range(0)));
  for ([[maybe_unused]] auto _ : state) {
    double seconds = 0;
    each.start_fill();
    while (!each.is_full()) seconds += each.add_chunk(how);
    state.SetIterationTime(seconds);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
  state.counters["bits/key"] = each.bits_per_key();
}

void query(benchmark::State& state, const std::string& name, const make_case& make, bench::call_with how,
           bench::ask_for which) {
  auto& each = full_case(name, make, static_cast<std::uint64_t>(state.range(0)));
  each.reset_hits();
  std::uint64_t queried = 0;
  for ([[maybe_unused]] auto _ : state) {
    state.SetIterationTime(each.ask_chunk(how, which));
    queried += bench::chunk_keys;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(queried));
  const double share = static_cast<double>(each.hits()) / static_cast<double>(queried);
  state.counters[which == bench::ask_for::present ? "found%" : "FPR%"] = 100.0 * share;
}

void add_benchmarks(const std::string& name, const make_case& make, std::int64_t most_keys) {
  using enum bench::call_with;
  for (std::int64_t keys = 1000; keys <= most_keys; keys *= 10) {
    const auto named = [&](std::string_view what, auto function, auto... arguments) {
      benchmark::RegisterBenchmark((name + "/" + std::string(what)).c_str(), function, name, make, arguments...)
          ->Arg(keys)
          ->UseManualTime();
    };
    named("add", add, batch);
    named("add_single", add, single);
    for (const bench::ask_way& way : bench::ask_ways) {
      for (const bench::figure_name& figure : bench::figure_names) {
        if (figure.ns == way.ns) named(figure.name, query, way.how, way.which);
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  enable_bitmap();
  for_each_type(kind_list{}, [](auto tag) {
    using kind = typename decltype(tag)::type;
    const std::string name(kind::info.name);
    const hasher hash = kind::info.integer_keys ? hasher::of(identity{}) : hasher();
    const auto make = [hash](std::uint64_t keys) {
      return bench::make_kind_case<kind>({.keys = keys, .fpr = 0.01}, hash);
    };
    // A hundred million random inserts into a bitmap take minutes and show nothing new.
    add_benchmarks(name + "/digest", make, kind::info.integer_keys ? 10'000'000 : 100'000'000);
    if constexpr (!kind::info.integer_keys) {
      for (const bench::key_type& type : bench::key_types) {
        add_benchmarks(
            name + "/" + std::string(type.name),
            [&type](std::uint64_t keys) { return bench::make_filter_case<kind>({.keys = keys, .fpr = 0.01}, type); },
            100'000'000);
      }
    }
  });
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
