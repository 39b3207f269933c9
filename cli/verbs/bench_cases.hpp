// cli/verbs/bench_cases.hpp: what `bloomery bench` measures; verb_bench.cpp shows it.
//
// First one kind, the default one unless another is named, with its hash at several FPRs. Kinds: each at several sizes and FPRs, timed with digests that are made before the clock runs; one of them also with
// keys that it hashes. The memory-latency floor: what a look-up costs at least at such sizes. Hashes: the cost of each,
// and its false-positive rate on keys that are hard on a weak hash. The measuring itself is bench/timed_case.hpp and
// bench/floor.hpp, which the programs in bench/ use too; kinds and hashes come from their lists.
#pragma once

#include <bloomery/hash/hasher.hpp>
#include <bloomery/kinds/concept.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/floor.hpp"
#include "bench/timed_case.hpp"
#include "cli/flags/flags.hpp"
#include "cli/terminal/problem.hpp"

namespace bloomery::cli {

struct bench_request {
  const kind_info* kind = nullptr;  // nullptr: all
  const hash_info* hash = nullptr;  // nullptr: the default one for the kinds; all in the second part
  std::vector<bench::case_size> sizes{};
  bench::case_size keyed_size{};  // of the filters that hash their keys
  bench::case_size hash_size{};   // of the filters in which hashes are measured
  bool quick = false;
  unsigned threads = 1;  // for FPRs and the floor; other timings are of one thread
  bench::effort effort{};
  std::uint64_t hash_probes = 0;

  // Its layouts are views into `opts`.
  static outcome<bench_request> from(const options& opts);
};

struct kind_row {
  const kind_info* kind = nullptr;
  const hash_info* hash = nullptr;
  bench::case_size size{};
  bench::case_figures figures{};

  [[nodiscard]] bool breaks() const { return figures.absent.breaks(kind->exact ? 0.0 : size.fpr); }
};

struct key_row {
  const kind_info* kind = nullptr;
  const bench::key_type* type = nullptr;
  bench::case_size size{};
  std::string_view layout{};  // that the kind chose; empty: it tells none
  bench::case_figures figures{};
};

// Of one hash on one set of keys in one kind.
struct hash_cell {
  const bench::hard_key_set* keys = nullptr;
  const kind_info* kind = nullptr;
  bench::rate_count absent{};
};

struct hash_row {
  const hash_info* hash = nullptr;
  double ns = 0;                   // 0: it takes no keys of 16 bytes
  std::vector<hash_cell> cells{};  // by set of keys, then by kind; empty where no such filter takes the hash
  std::string refused{};           // why build would not make such a filter; empty when it would
};

struct bench_report {
  std::string machine{};
  std::vector<kind_row> kinds{};
  std::vector<key_row> rates{};  // of integers, by FPR; empty as `keys` is
  std::vector<key_row> keys{};   // empty: of a hash or kind that is not timed with keys
  std::vector<bench::floor_figures> floors{};
  unsigned threads = 1;                        // of the floor
  std::vector<const kind_info*> hash_kinds{};  // in which hashes were measured; empty: not at all
  std::vector<hash_row> hashes{};
};

outcome<bench_report> run_bench(const options& opts, const bench_request& request);

}  // namespace bloomery::cli
