// Ways to be exact about keys that are all known, some of which are included: how large, how fast, how often wrong.
//
//     bench_cascade [KEYS]              default 10,000,000: those of both lists; 10 %, 1 % and 0.1 % of them are included
//
// cascade          kind cascade
// Bloom cascade    filters of kind bloom in a row (Larisch et al., "CRLite", 2017): one of the included keys, one of the
//                  excluded ones that it lets through, one of the included ones that this lets through, and so on; the first at
//                  the best FPR, the others at 1/2. A look-up queries filter by filter until one answers no
// digests          the included 64-bit digests, sorted, searched by halving
// roaring          kind bitmap, if the keys were the integers from 0 on
// bit each         one bit for each key of both lists, if the keys were the integers from 0 on
// least possible   log2 of the number of ways to choose the included keys
//
// Digests are made before the clock runs. Times are of one thread, in batches where there are any. `wrong` counts wrong answers about
// the keys of both lists.
#include <bit>
#include <bloomery/bloomery.hpp>
#include <bloomery/kinds/bitmap.hpp>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/clock.hpp"

namespace {

using namespace bloomery;
using namespace bloomery::bench;
using digest_list = std::vector<std::uint64_t>;

struct lists {
  digest_list included;
  digest_list excluded;
};

// What a way is measured by.
struct figures {
  double bits = 0;
  double build_seconds = 0;
  double included_ns = 0;
  double excluded_ns = 0;
  std::uint64_t wrong = 0;
};

template <class T>
T checked(result<T> made) {
  if (made) return std::move(*made);
  std::fprintf(stderr, "bench_cascade: %s\n", describe(made.error()).c_str());
  std::exit(2);
}

// Looks up all keys of a list, chunk by chunk; returns how many get a yes. `query(digests, mask)`.
template <class Query>
std::uint64_t query_all(const digest_list& list, double& ns, Query&& query) {
  std::vector<double> times;
  std::vector<std::uint64_t> mask(mask_words(chunk_keys));
  std::uint64_t yes = 0;
  for (std::size_t first = 0; first < list.size(); first += chunk_keys) {
    const std::size_t count = std::min(chunk_keys, list.size() - first);
    const auto some = std::span<const std::uint64_t>(list).subspan(first, count);
    const double seconds = seconds_of([&] { query(some, std::span(mask)); });
    if (count == chunk_keys || list.size() < chunk_keys) times.push_back(ns_per_key(seconds, count));
    for (std::size_t word = 0; word < mask_words(count); ++word) {
      yes += static_cast<std::uint64_t>(std::popcount(mask[word]));
    }
  }
  ns = low_percentile(std::move(times));
  return yes;
}

template <class Query>
void query_both(const lists& of, figures& out, Query&& query) {
  out.wrong = of.included.size() - query_all(of.included, out.included_ns, query);
  out.wrong += query_all(of.excluded, out.excluded_ns, query);
}

figures measure_cascade(const lists& of) {
  figures out;
  lists copy = of;
  std::optional<cascade> filter;
  out.build_seconds = seconds_of([&] { filter.emplace(checked(cascade::build({}, copy.included, copy.excluded, 1))); });
  out.bits = static_cast<double>(filter->memory_bytes()) * 8;
  query_both(of, out, [&](auto digests, auto mask) { filter->may_contain_batch(digests, mask); });
  return out;
}

// Filters of a row hash in ways of their own.
std::uint64_t hash_of_level(std::uint64_t digest, std::size_t level) {
  return mix64(digest + level * 0x9e3779b97f4a7c15U);
}

class bloom_cascade {
 public:
  explicit bloom_cascade(const lists& of) {
    digest_list in = of.included;   // what the next filter holds
    digest_list out = of.excluded;  // what it shall not match
    double fpr = std::min(0.5, static_cast<double>(in.size()) * 1.4427 / 2.0 / static_cast<double>(out.size()));
    while (!in.empty()) {
      bloom& filter = levels_.emplace_back(checked(bloom::make({.keys = in.size(), .fpr = fpr})));
      for (const std::uint64_t digest : in) filter.insert(hash_of_level(digest, levels_.size()));
      std::erase_if(out,
                    [&](std::uint64_t digest) { return !filter.may_contain(hash_of_level(digest, levels_.size())); });
      std::swap(in, out);
      fpr = 0.5;
    }
  }
  [[nodiscard]] bool contains(std::uint64_t digest) const {
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      if (!levels_[level].may_contain(hash_of_level(digest, level + 1))) return level % 2 == 1;
    }
    return levels_.size() % 2 == 1;
  }
  [[nodiscard]] std::size_t levels() const { return levels_.size(); }
  [[nodiscard]] std::uint64_t memory_bytes() const {
    std::uint64_t all = 0;
    for (const bloom& filter : levels_) all += filter.memory_bytes();
    return all;
  }

 private:
  std::vector<bloom> levels_;
};

// One key after the other, for ways that have no batches.
template <class One>
auto queried_singly(One one) {
  return [one](std::span<const std::uint64_t> digests, std::span<std::uint64_t> mask) {
    for (std::size_t word = 0; word < mask_words(digests.size()); ++word) mask[word] = 0;
    for (std::size_t i = 0; i < digests.size(); ++i)
      mask[i / 64] |= (one(digests[i]) ? std::uint64_t{1} : 0) << (i % 64);
  };
}

figures measure_bloom_cascade(const lists& of, std::size_t& levels) {
  figures out;
  std::optional<bloom_cascade> filter;
  out.build_seconds = seconds_of([&] { filter.emplace(of); });
  out.bits = static_cast<double>(filter->memory_bytes()) * 8;
  levels = filter->levels();
  query_both(of, out, queried_singly([&](std::uint64_t digest) { return filter->contains(digest); }));
  return out;
}

figures measure_digests(const lists& of) {
  figures out;
  digest_list sorted = of.included;
  out.build_seconds = seconds_of([&] { std::sort(sorted.begin(), sorted.end()); });
  out.bits = static_cast<double>(sorted.size()) * 64;
  query_both(of, out, queried_singly([&](std::uint64_t digest) {
               return std::binary_search(sorted.begin(), sorted.end(), digest);
             }));
  return out;
}

// Every so many-th integer, spread at random.
figures measure_roaring(std::size_t included, std::size_t all) {
  figures out;
  lists of;
  for (std::uint64_t i = 0; i < all; ++i) {
    const bool in = mix64(i) % all < included;
    (in ? of.included : of.excluded).push_back(i);
  }
  std::optional<bitmap> filter;
  out.build_seconds = seconds_of([&] {
    filter.emplace(checked(bitmap::make({})));
    filter->add_batch(of.included);
  });
  out.bits = static_cast<double>(filter->memory_bytes()) * 8;
  query_both(of, out, [&](auto digests, auto mask) { filter->may_contain_batch(digests, mask); });
  return out;
}

void write_row(const char* name, const figures& of, std::size_t included, double least) {
  const double keys = static_cast<double>(included);
  std::printf("%-16s %12.0f %10.3f %8.3f %9.3f %9.1f %9.1f %7llu\n", name, of.bits / 8, of.bits / keys, of.bits / least,
              of.build_seconds, of.included_ns, of.excluded_ns, static_cast<unsigned long long>(of.wrong));
}
void write_size(const char* name, double bits, std::size_t included, double least) {
  std::printf("%-16s %12.0f %10.3f %8.3f\n", name, bits / 8, bits / static_cast<double>(included), bits / least);
}

void compare(std::size_t included, std::size_t all) {
  lists of;
  for (std::uint64_t i = 0; i < all; ++i) (i < included ? of.included : of.excluded).push_back(mix64(i + 1));
  const sizing::universe keys{.included = included, .excluded = all - included};
  const double least = sizing::least_exact_bits(keys);
  std::printf("%zu keys, %zu of them included\n%-16s %12s %10s %8s %9s %9s %9s %7s\n", all, included, "", "bytes",
              "bits a key", "to least", "build s", "ns incl.", "ns excl.", "wrong");
  write_row("cascade", measure_cascade(of), included, least);
  std::size_t levels = 0;
  const figures blooms = measure_bloom_cascade(of, levels);
  write_row("Bloom cascade", blooms, included, least);
  write_row("digests", measure_digests(of), included, least);
  write_row("roaring", measure_roaring(included, all), included, least);
  write_size("bit each", static_cast<double>(all), included, least);
  write_size("least possible", least, included, least);
  std::printf("(a Bloom cascade of %zu filters; by the formula %.3f bits a key)\n\n", levels,
              sizing::bloom_cascade_bits(keys) / static_cast<double>(included));
}

}  // namespace

int main(int argc, char** argv) {
  enable_bitmap();
  const std::size_t all = argc < 2 ? 10'000'000 : std::strtoull(argv[1], nullptr, 10);
  if (all < 1000) {
    std::fprintf(stderr, "bench_cascade: give 1000 keys or more\n");
    return 2;
  }
  for (const std::size_t share : {10U, 100U, 1000U}) compare(all / share, all);
  return 0;
}
