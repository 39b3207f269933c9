// Which block layout should `blocked` use? Insert and look up batches of 64-bit digests at about 1 % false positives:
//   split32   8 lanes of 32 bits, k = 8      (shipped)
//   split64   8 lanes of 64 bits, k = 8 and the best k      (shipped, the default)
//   line512   k bits anywhere in a line of 512      (candidate, scalar)
//   word64    k bits in one 64-bit word      (candidate, scalar)
// Counters: bits/key, measured FPR in per cent. Run with --benchmark_min_time=1 --benchmark_repetitions=5 and take the
// best of each; the figures and the decision are in docs/benchmarks.md.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <bit>
#include <bloomery/core/buffer.hpp>
#include <bloomery/kernels/blocked/dispatch.hpp>
#include <cstring>
#include <vector>

namespace {

using namespace bloomery;
using kernels::blocked_view;

// Candidates that are not shipped, with the same interface as the layouts of kernels/blocked.hpp.
struct line512 {
  static constexpr unsigned words = 8;
  static std::uint64_t block(std::uint64_t digest, std::uint64_t blocks) { return fast_range(digest, blocks); }
  static std::array<std::uint64_t, words> bits(std::uint64_t digest, unsigned hashes) {
    std::array<std::uint64_t, words> masks{};
    std::uint64_t x = digest * kernels::in_block_multiplier;
    for (unsigned i = 0; i < hashes; ++i) {
      masks[x >> 61U] |= std::uint64_t{1} << ((x >> 55U) & 63U);
      x *= kernels::in_block_multiplier;
    }
    return masks;
  }
};
struct word64 {
  static constexpr unsigned words = 1;
  static std::uint64_t block(std::uint64_t digest, std::uint64_t blocks) { return fast_range(digest, blocks); }
  static std::array<std::uint64_t, words> bits(std::uint64_t digest, unsigned hashes) {
    std::uint64_t mask = 0;
    const std::uint64_t x = digest * kernels::in_block_multiplier;
    for (unsigned i = 0; i < hashes; ++i) mask |= std::uint64_t{1} << ((x >> (58U - 6U * i)) & 63U);
    return {mask};
  }
};

template <class Layout>
inline constexpr bool is_shipped = std::is_same_v<Layout, kernels::split32> || std::is_same_v<Layout, kernels::split64>;

std::vector<std::uint64_t> digests(std::uint64_t count, std::uint64_t stream) {
  std::vector<std::uint64_t> out(count);
  for (std::uint64_t i = 0; i < count; ++i) out[i] = mix64((i + 1) * 0x9e3779b97f4a7c15ULL + mix64(stream));
  return out;
}

template <class Layout>
struct bench_filter {
  bench_filter(std::uint64_t keys, double bits_per_key, unsigned k)
      : blocks(static_cast<std::uint64_t>(static_cast<double>(keys) * bits_per_key / (64.0 * Layout::words)) + 1),
        hashes(k),
        memory(std::move(*aligned_buffer::make(blocks * Layout::words * 8, "bench"))) {}
  [[nodiscard]] std::uint64_t* words() { return reinterpret_cast<std::uint64_t*>(memory.data()); }
  [[nodiscard]] blocked_view view() { return {words(), blocks, hashes}; }
  void insert(std::span<const std::uint64_t> keys) {
    if constexpr (is_shipped<Layout>) {
      const auto& kernels = active_kernels<kernels::blocked_batch_kernels<Layout>>();
      kernels.add_batch(words(), view(), keys.size(), digest_feed(keys.data()));
    } else {
      in_groups(keys, [&](std::size_t i) { kernels::blocked_insert<Layout>(words(), view(), keys[i]); });
    }
  }
  void query(std::span<const std::uint64_t> keys, std::span<std::uint64_t> mask) {
    if constexpr (is_shipped<Layout>) {
      const auto& kernels = active_kernels<kernels::blocked_batch_kernels<Layout>>();
      kernels.contains_batch(view(), keys.size(), digest_feed(keys.data()), mask.data());
    } else {
      for (std::size_t word = 0; word < (keys.size() + 63) / 64; ++word) mask[word] = 0;
      in_groups(keys, [&](std::size_t i) {
        mask[i / 64] |= std::uint64_t{kernels::blocked_contains<Layout>(view(), keys[i])} << (i % 64);
      });
    }
  }
  // Prefetches the blocks of 64 keys, then works on them.
  template <class Each>
  void in_groups(std::span<const std::uint64_t> keys, Each&& each) {
    for (std::size_t first = 0; first < keys.size(); first += 64) {
      const std::size_t end = std::min<std::size_t>(keys.size(), first + 64);
      for (std::size_t i = first; i < end; ++i) {
        __builtin_prefetch(words() + Layout::block(keys[i], blocks) * Layout::words);
      }
      for (std::size_t i = first; i < end; ++i) each(i);
    }
  }

  std::uint64_t blocks;
  unsigned hashes;
  aligned_buffer memory;
};

constexpr std::size_t batch = 32'768;

// Arguments: keys, k, bits per key x 100.
template <class Layout>
void add(benchmark::State& state) {
  const auto keys = static_cast<std::uint64_t>(state.range(0));
  const auto present = digests(keys, 1);
  bench_filter<Layout> filter(keys, static_cast<double>(state.range(2)) / 100, static_cast<unsigned>(state.range(1)));
  std::memset(filter.words(), 0, filter.memory.size_bytes());  // the pages are there before the clock runs
  std::size_t at = 0;
  for ([[maybe_unused]] auto _ : state) {
    const std::size_t size = std::min(batch, present.size() - at);
    filter.insert(std::span(present).subspan(at, size));
    at = at + size < present.size() ? at + size : 0;
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(std::min<std::uint64_t>(batch, keys)));
}

template <class Layout>
void query_absent(benchmark::State& state) {
  const auto keys = static_cast<std::uint64_t>(state.range(0));
  const double bits_per_key = static_cast<double>(state.range(2)) / 100;
  bench_filter<Layout> filter(keys, bits_per_key, static_cast<unsigned>(state.range(1)));
  filter.insert(digests(keys, 1));
  const auto absent = digests(std::max<std::uint64_t>(keys, 4'000'000), 2);
  std::vector<std::uint64_t> mask(batch / 64);
  std::size_t at = 0;
  for ([[maybe_unused]] auto _ : state) {
    filter.query(std::span(absent).subspan(at, batch), mask);
    benchmark::DoNotOptimize(mask.data());
    at = at + 2 * batch <= absent.size() ? at + batch : 0;
  }
  std::uint64_t positives = 0;
  std::uint64_t probes = 0;
  for (at = 0; at + batch <= absent.size(); at += batch) {
    filter.query(std::span(absent).subspan(at, batch), mask);
    for (const std::uint64_t word : mask) positives += static_cast<std::uint64_t>(std::popcount(word));
    probes += batch;
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(batch));
  state.counters["bits/key"] = bits_per_key;
  state.counters["FPR%"] = 100.0 * static_cast<double>(positives) / static_cast<double>(probes);
}

template <class Layout>
void candidates(std::string name, unsigned hashes, int bits_per_key_x100) {
  for (const std::int64_t keys : {1'000'000, 10'000'000, 100'000'000}) {
    benchmark::RegisterBenchmark((name + "/add").c_str(), add<Layout>)->Args({keys, hashes, bits_per_key_x100});
    benchmark::RegisterBenchmark((name + "/query").c_str(), query_absent<Layout>)
        ->Args({keys, hashes, bits_per_key_x100});
  }
}

}  // namespace

int main(int argc, char** argv) {
  candidates<kernels::split32>("split32", 8, 1053);
  candidates<kernels::split64>("split64", 8, 1010);
  candidates<kernels::split64>("split64", 6, 994);
  candidates<line512>("line512", 6, 990);
  candidates<word64>("word64", 5, 1192);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
