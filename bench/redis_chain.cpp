// RedisBloom's Bloom chain as an engine: batches of 100 keys, as BF.MEXISTS and BF.MADD have them, against one key after the
// other, hashing included. Rounds alternate; the medians of nanoseconds per key are printed with their ratio.
//
//     bench_redis_chain [KEYS] [ROUNDS]      default 10,000,000 keys and 5 rounds
#include <algorithm>
#include <bloomery/compat/redis/bloom_chain.hpp>
#include <bloomery/compat/redis/cuckoo_chain.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "bench/clock.hpp"

namespace {

using namespace bloomery;
using namespace bloomery::redis;

constexpr std::size_t batch = 100;
constexpr std::size_t key_bytes = 12;
constexpr std::size_t asked = 1'000'000;  // of one round

// Keys of 12 bytes, one behind the other.
struct key_list {
  std::vector<char> text;
  std::vector<std::string_view> views;

  key_list(std::uint64_t first, std::size_t count) : text(count * key_bytes) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t mixed = mix64(first + i);
      const auto number = static_cast<std::uint32_t>(first + i);
      std::memcpy(text.data() + i * key_bytes, &mixed, sizeof mixed);
      std::memcpy(text.data() + i * key_bytes + sizeof mixed, &number, sizeof number);
      views.emplace_back(text.data() + i * key_bytes, key_bytes);
    }
  }
};

double median(std::vector<double> of) {
  std::sort(of.begin(), of.end());
  return of[of.size() / 2];
}

// f(first, count) of every batch.
template <class F>
double ns_per_key(const key_list& keys, F&& f) {
  const double seconds = bench::seconds_of([&] {
    for (std::size_t first = 0; first < keys.views.size(); first += batch) {
      f(std::span<const std::string_view>(keys.views).subspan(first, std::min(batch, keys.views.size() - first)));
    }
  });
  return 1e9 * seconds / static_cast<double>(keys.views.size());
}

std::uint64_t answers = 0;  // so that no loop is left out

template <class Chain>
double queries_one_by_one(const Chain& chain, const key_list& keys) {
  return ns_per_key(keys, [&](std::span<const std::string_view> some) {
    for (const std::string_view key : some) answers += chain.may_contain(key) ? 1 : 0;
  });
}
template <class Chain>
double queries_in_batches(const Chain& chain, const key_list& keys) {
  return ns_per_key(keys, [&](std::span<const std::string_view> some) {
    std::uint64_t mask[(batch + 63) / 64];
    chain.may_contain_batch(some, mask);
    answers += mask[0];
  });
}

void print_row(const char* what, const std::vector<double>& singles, const std::vector<double>& batches) {
  std::printf("%-28s %8.1f %8.1f %8.2f\n", what, median(singles), median(batches), median(singles) / median(batches));
}

template <class Chain>
void compare_queries(const char* what, const Chain& chain, const key_list& keys, int rounds) {
  std::vector<double> singles;
  std::vector<double> batches;
  for (int i = 0; i < rounds; ++i) {
    singles.push_back(queries_one_by_one(chain, keys));
    batches.push_back(queries_in_batches(chain, keys));
  }
  print_row(what, singles, batches);
}

// New keys: every second block of `asked` goes in one by one.
void compare_inserts(const char* what, bloom_chain& chain, std::uint64_t first, std::uint64_t keys) {
  std::vector<double> singles;
  std::vector<double> batches;
  for (std::uint64_t at = 0; at + asked <= keys; at += asked) {
    const key_list some(first + at, asked);
    if (at / asked % 2 == 0) {
      singles.push_back(ns_per_key(some, [&](std::span<const std::string_view> here) {
        for (const std::string_view key : here) answers += chain.insert(key) == insert_outcome::inserted ? 1 : 0;
      }));
    } else {
      batches.push_back(ns_per_key(some, [&](std::span<const std::string_view> here) {
        std::uint64_t fresh[(batch + 63) / 64];
        answers += chain.insert_batch(here, fresh).inserted;
      }));
    }
  }
  if (!singles.empty() && !batches.empty()) print_row(what, singles, batches);
}

int run_bloom(const char* name, const bloom_settings& settings, std::uint64_t keys, int rounds) {
  auto chain = bloom_chain::make(settings);
  if (!chain) return 2;
  std::printf("%s\n", name);
  compare_inserts("  insert new", **chain, 0, keys);
  compare_queries("  query absent", **chain, key_list(1ULL << 40U, asked), rounds);
  compare_queries("  query present", **chain, key_list(keys / 2, asked), rounds);
  std::printf("  %zu sub-filters, %.1f MiB\n", (*chain)->sub_filters(),
              static_cast<double>((*chain)->allocated_bytes()) / 1048576.0);
  return 0;
}

int run_cuckoo(std::uint64_t keys, int rounds) {
  auto chain = cuckoo_chain::make({.capacity = keys});
  if (!chain) return 2;
  for (std::uint64_t at = 0; at + asked <= keys; at += asked) {
    (*chain)->insert_batch(key_list(at, asked).views, copies::keep, {});
  }
  std::printf("cuckoo\n");
  compare_queries("  query absent", **chain, key_list(1ULL << 40U, asked), rounds);
  compare_queries("  query present", **chain, key_list(keys / 2, asked), rounds);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t keys = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000'000;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  std::printf("%-28s %8s %8s %8s\n", "ns per key", "single", "batch", "ratio");
  int failed = run_bloom("one sub-filter, 1 %", {.error_rate = 0.01, .capacity = keys}, keys, rounds);
  failed |= run_bloom("one sub-filter, 0.1 %", {.error_rate = 0.001, .capacity = keys}, keys, rounds);
  failed |= run_bloom("grown from 1000, 1 %", {.error_rate = 0.01, .capacity = 1000}, keys, rounds);
  failed |= run_cuckoo(keys, rounds);
  return failed != 0 || answers == 0 ? 2 : 0;
}
