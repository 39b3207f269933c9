// Every kind of the list: ns per key to add, to ask for absent and for present keys, in batches and one by one, at 1 %.
// Counters: bits/key and measured FPR in per cent. Kinds for integers get every third integer, in random order.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <bit>
#include <bloomery/kinds.hpp>
#include <string>
#include <vector>

namespace {

using namespace bloomery;

constexpr std::size_t batch = 32'768;

template <class K>
std::vector<std::uint64_t> keys_of(std::uint64_t count, std::uint64_t stream) {
  std::vector<std::uint64_t> out(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t mixed = mix64((i + 1) * 0x9e3779b97f4a7c15ULL + mix64(stream));
    out[i] = K::info.integer_keys ? fast_range(mixed, count) * 3 + stream : mixed;
  }
  return out;
}

template <class K>
K filled(const std::vector<std::uint64_t>& keys) {
  auto filter = K::make({.keys = keys.size(), .fpr = 0.01});
  filter->insert_batch(keys);
  return std::move(*filter);
}

template <class K>
void add(benchmark::State& state) {
  const auto keys = keys_of<K>(static_cast<std::uint64_t>(state.range(0)), 1);
  for ([[maybe_unused]] auto _ : state) {
    state.PauseTiming();
    auto filter = K::make({.keys = keys.size(), .fpr = 0.01});
    filter->clear();  // touches every page, so that the clock does not see them come
    state.ResumeTiming();
    for (std::size_t at = 0; at < keys.size(); at += batch) {
      filter->insert_batch(std::span(keys).subspan(at, std::min(batch, keys.size() - at)));
    }
    state.PauseTiming();
    state.counters["bits/key"] =
        static_cast<double>(filter->memory_bytes()) * 8 / static_cast<double>(filter->keys().keys);
    state.ResumeTiming();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
}

template <class K>
void ask(benchmark::State& state, bool present, bool single) {
  const auto keys = keys_of<K>(static_cast<std::uint64_t>(state.range(0)), 1);
  const auto filter = filled<K>(keys);
  const auto absent = keys_of<K>(std::max<std::uint64_t>(keys.size(), 4 * batch), 2);
  const auto& queries = present ? keys : absent;
  std::vector<std::uint64_t> mask(batch / 64);
  std::uint64_t asked = 0;
  std::uint64_t positives = 0;
  std::size_t at = 0;
  for ([[maybe_unused]] auto _ : state) {
    const auto group = std::span(queries).subspan(at, batch);
    if (single) {
      for (const std::uint64_t key : group) positives += filter.may_contain(key) ? 1U : 0U;
    } else {
      filter.may_contain_batch(group, mask);
      for (const std::uint64_t word : mask) positives += static_cast<std::uint64_t>(std::popcount(word));
    }
    asked += batch;
    at = at + 2 * batch <= queries.size() ? at + batch : 0;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(asked));
  state.counters[present ? "found%" : "FPR%"] = 100.0 * static_cast<double>(positives) / static_cast<double>(asked);
}

}  // namespace

int main(int argc, char** argv) {
  enable_bitmap();
  for_each_type(kind_list{}, [](auto tag) {
    using kind = typename decltype(tag)::type;
    const std::string name(kind::info.name);
    for (const std::int64_t keys : {1'000'000, 10'000'000, 100'000'000}) {
      // A hundred million random inserts into a bitmap take minutes and say nothing new.
      if (kind::info.integer_keys && keys > 10'000'000) continue;
      benchmark::RegisterBenchmark((name + "/add").c_str(), add<kind>)->Arg(keys)->Unit(benchmark::kMillisecond);
      benchmark::RegisterBenchmark((name + "/absent").c_str(), ask<kind>, false, false)->Arg(keys);
      benchmark::RegisterBenchmark((name + "/present").c_str(), ask<kind>, true, false)->Arg(keys);
      benchmark::RegisterBenchmark((name + "/absent_single").c_str(), ask<kind>, false, true)->Arg(keys);
    }
  });
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
