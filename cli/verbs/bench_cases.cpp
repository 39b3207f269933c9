#include "cli/verbs/bench_cases.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <bloomery/core/cpu.hpp>
#include <bloomery/hash/list.hpp>
#include <bloomery/kinds.hpp>
#include <bloomery/version.hpp>
#include <fstream>
#include <memory>
#include <set>
#include <thread>

#include "bench/kind_case.hpp"
#include "cli/filters/kind_table.hpp"
#include "cli/keys/keys.hpp"
#include "cli/keys/parallel_for.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/terminal/sizes.hpp"

namespace bloomery::cli {
namespace {

constexpr bench::effort usual_effort{.add_keys = 3'000'000, .ask_chunks = 40, .probes = 1'000'000};
constexpr bench::effort quick_effort{.add_keys = 200'000, .ask_chunks = 5, .probes = 100'000};
// All hashes at this size take seconds; more only for the one that is named.
constexpr std::uint64_t most_hash_keys = 1'000'000;

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("model name", 0) != 0) continue;
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

std::string machine_text() {
  return fmt::format("{}, {} threads, {}; bloomery {}", processor_name(), std::thread::hardware_concurrency(),
                     isa_name(active_isa()), version);
}

// Keyed hashes get some key: it changes no figure.
result<hasher> hasher_for(const hash_info& info) {
  const std::vector<std::byte> key(info.key_bytes, std::byte{0x5a});
  return hasher::make(info.name, 0, key);
}

bool go_together(const kind_info& kind, const hash_info& hash) {
  return kind.integer_keys == (hash.id == identity::info.id);
}

const hash_info& hash_for(const kind_info& kind, const bench_request& request) {
  if (request.hash != nullptr) return *request.hash;
  return kind.integer_keys ? identity::info : default_hash::info;
}

// A case of digests for the kind with this info.
outcome<bench::timed_case> make_case(const kind_info& kind, const bench::case_size& size, const hasher& hash,
                                     std::shared_ptr<const bench::key_source> source = nullptr) {
  outcome<bench::timed_case> out = fail_usage("no such kind");
  any_type(kind_list{}, [&](auto tag) {
    using each = typename decltype(tag)::type;
    if (each::info.id != kind.id) return false;
    auto made = bench::make_kind_case<each>(size, hash, source);
    out = made ? outcome<bench::timed_case>(std::move(*made)) : fail_error(made.error());
    return true;
  });
  return out;
}

// A case of keys for the kind with this info, hashed with the default hash.
outcome<bench::timed_case> make_keyed_case(const kind_info& kind, const bench::case_size& size,
                                           const bench::key_type& type) {
  outcome<bench::timed_case> out = fail_usage("no such kind");
  any_type(kind_list{}, [&](auto tag) {
    using each = typename decltype(tag)::type;
    if constexpr (!each::info.integer_keys) {
      if (each::info.id != kind.id) return false;
      auto made = bench::make_filter_case<each>(size, type);
      out = made ? outcome<bench::timed_case>(std::move(*made)) : fail_error(made.error());
      return true;
    }
    return false;
  });
  return out;
}

// ---- kinds ----------------------------------------------------------------------------------------------------------

struct kind_plan {
  const kind_info* kind;
  bench::case_size size;
};

std::vector<kind_plan> plan_kinds(const bench_request& request) {
  std::vector<kind_plan> out;
  for_each_type(kind_list{}, [&](auto tag) {
    const kind_info& kind = decltype(tag)::type::info;
    if (request.kind != nullptr && request.kind->id != kind.id) return;
    if (request.hash != nullptr && !go_together(kind, *request.hash)) return;
    for (const bench::case_size& size : request.sizes) {
      // An exact kind ignores the FPR.
      const bool again = kind.exact && !out.empty() && out.back().kind == &kind && out.back().size.keys == size.keys;
      if (!again) out.push_back({&kind, size});
    }
  });
  return out;
}

outcome<void> check_plans(const std::vector<kind_plan>& plans) {
  for (const kind_plan& each : plans) {
    const auto plan = plan_kind(*each.kind, {.keys = each.size.keys, .fpr = each.size.fpr}, each.size.layout);
    if (!plan) return fail_parameter(plan.error());
    if (auto fits = check_memory(plan->memory_bytes); !fits) return fits;
  }
  return {};
}

std::uint64_t work_of(const kind_plan& plan, const bench_request& request) {
  return 2 * std::max(plan.size.keys, request.effort.add_keys) + request.effort.probes +
         bench::ask_ways.size() * request.effort.ask_chunks * bench::chunk_keys;
}

outcome<void> measure_kinds(const options& opts, const bench_request& request, bench_report& report) {
  const std::vector<kind_plan> plans = plan_kinds(request);
  if (auto fits = check_plans(plans); !fits) return fits;
  std::uint64_t total = 0;
  for (const kind_plan& plan : plans) total += work_of(plan, request);
  progress line(opts, "timing kinds", total);
  std::uint64_t before = 0;
  std::uint64_t keys = 0;
  for (const kind_plan& plan : plans) {
    kind_row row{.kind = plan.kind, .hash = &hash_for(*plan.kind, request), .size = plan.size};
    const auto hash = hasher_for(*row.hash);
    if (!hash) return fail_error(hash.error());
    const std::uint64_t share = work_of(plan, request);
    std::uint64_t done = 0;
    auto each = make_case(*plan.kind, plan.size, *hash);
    if (!each) return failed(each.error());
    row.figures = bench::measure(*each, request.effort, [&](std::uint64_t more) {
      done += more;
      keys += more;
      line.update(before + std::min(done, share), keys);
    });
    before += share;
    report.kinds.push_back(row);
  }
  return {};
}

// ---- keys with their hash, and the floor ----------------------------------------------------------------------------

outcome<void> measure_keys(const bench_request& request, bench_report& report) {
  if (request.hash != nullptr && request.hash->id != default_hash::info.id) return {};
  const kind_info& kind = request.kind == nullptr ? blocked::info : *request.kind;
  if (kind.integer_keys) return {};
  for (const bench::key_type& type : bench::key_types) {
    auto each = make_keyed_case(kind, request.keyed_size, type);
    if (!each) return failed(each.error());
    const auto figures = bench::measure(*each, request.effort, [](std::uint64_t /*keys*/) {});
    report.keys.push_back({.kind = &kind, .type = &type, .size = request.keyed_size, .figures = figures});
  }
  return {};
}

// The same with integers, over FPRs.
outcome<void> measure_rates(const bench_request& request, bench_report& report) {
  constexpr std::array rates = {0.001, 0.01, 0.05, 0.1};
  if (request.hash != nullptr && request.hash->id != default_hash::info.id) return {};
  const kind_info& kind = request.kind == nullptr ? blocked::info : *request.kind;
  if (kind.integer_keys) return {};
  for (const double fpr : rates) {
    bench::case_size size = request.keyed_size;
    size.fpr = fpr;
    const auto plan = plan_kind(kind, {.keys = size.keys, .fpr = fpr}, size.layout);
    if (!plan) continue;  // a layout that does not reach it
    const bench::key_type& type = bench::key_types.front();
    auto each = make_keyed_case(kind, size, type);
    if (!each) return failed(each.error());
    const auto figures = bench::measure(*each, request.effort, [](std::uint64_t /*keys*/) {});
    report.rates.push_back({.kind = &kind, .type = &type, .size = size, .layout = plan->layout, .figures = figures});
  }
  return {};
}

// One for each size of the table, to the next power of two.
outcome<void> measure_floors(const bench_request& request, bench_report& report) {
  std::set<std::uint64_t> sizes;
  for (const kind_row& row : report.kinds) sizes.insert(std::bit_ceil(row.figures.memory_bytes));
  bench::crew threads(report.threads);
  for (const std::uint64_t size : sizes) {
    if (2 * size > available_memory_bytes()) continue;  // huge pages and small ones have a buffer each
    const auto floor = bench::measure_floor(size, request.effort.ask_chunks, threads);
    if (!floor) return fail_error(floor.error());
    report.floors.push_back(*floor);
  }
  return {};
}

// ---- hashes ---------------------------------------------------------------------------------------------------------

// One that takes all positions from one word of the digest and one that steps through it, unless a kind was named.
std::vector<const kind_info*> kinds_for_hashes(const bench_request& request) {
  if (request.kind == nullptr) return {&blocked::info, &bloom::info};
  return {request.kind};
}

result<size_plan> plan_hash_filter(const kind_info& kind, const bench_request& request) {
  return plan_kind(kind, {.keys = request.hash_size.keys, .fpr = request.hash_size.fpr}, request.hash_size.layout);
}

std::string refusal(const hash_info& hash, const bench_request& request, const std::vector<const kind_info*>& kinds) {
  for (const kind_info* kind : kinds) {
    const auto plan = plan_hash_filter(*kind, request);
    if (!plan) continue;
    const auto fits = check_hash_bits(hash, plan->keys, plan->fpr, plan->digest_bits);
    if (!fits) return text_of(fits.error());
  }
  return {};
}

std::vector<hash_row> plan_hashes(const bench_request& request, const std::vector<const kind_info*>& kinds) {
  std::vector<hash_row> rows;
  for_each_type(hash_list{}, [&](auto tag) {
    const hash_info& hash = decltype(tag)::type::info;
    if (request.hash != nullptr && request.hash->id != hash.id) return;
    hash_row row{.hash = &hash};
    for (const bench::hard_key_set& keys : bench::hard_key_sets) {
      for (const kind_info* kind : kinds) {
        if (go_together(*kind, hash)) row.cells.push_back({.keys = &keys, .kind = kind});
      }
    }
    if (!row.cells.empty()) row.refused = refusal(hash, request, kinds);
    rows.push_back(std::move(row));
  });
  return rows;
}

outcome<void> measure_cell(const bench_request& request, const hasher& hash, hash_cell& cell) {
  constexpr std::uint64_t many_keys = 100'000;  // one filter of so many is as good as the mean of many smaller ones
  constexpr std::uint64_t most_fills = 1000;
  const std::uint64_t fills = bench::fills_for(request.hash_size.keys, many_keys, most_fills);
  auto source = std::make_shared<bench::sequence_keys>(*cell.keys, request.hash_size.keys, request.hash_probes);
  auto each = make_case(*cell.kind, request.hash_size, hash, std::move(source));
  if (!each) return failed(each.error());
  cell.absent = each->count_hits(fills, request.hash_probes);
  return {};
}

// Each thread has its own filter: no more of them than there is memory for.
unsigned threads_with_memory(const bench_request& request, const std::vector<hash_row>& rows) {
  std::uint64_t bytes = 1;
  for (const hash_row& row : rows) {
    for (const hash_cell& cell : row.cells) {
      const auto plan = plan_hash_filter(*cell.kind, request);
      if (plan) bytes = std::max(bytes, plan->memory_bytes);
    }
  }
  const std::uint64_t fit = std::max<std::uint64_t>(1, available_memory_bytes() / 2 / bytes);
  return static_cast<unsigned>(std::min<std::uint64_t>(request.threads, fit));
}

// The cells are shared out among threads; what they count does not depend on how.
outcome<void> measure_cells(const options& opts, const bench_request& request, std::vector<hash_row>& rows) {
  struct task {
    const hash_info* hash;
    hash_cell* cell;
    outcome<void> done{};
  };
  std::vector<task> tasks;
  for (hash_row& row : rows) {
    for (hash_cell& cell : row.cells) tasks.push_back({.hash = row.hash, .cell = &cell});
  }
  const std::uint64_t each = request.hash_size.keys + request.hash_probes;
  progress line(opts, "FPR of hashes", tasks.size() * each);
  std::atomic<std::uint64_t> done = 0;
  parallel_for(tasks.size(), threads_with_memory(request, rows), [&](std::size_t i, bool here) {
    const auto hash = hasher_for(*tasks[i].hash);
    tasks[i].done = hash ? measure_cell(request, *hash, *tasks[i].cell) : fail_error(hash.error());
    const std::uint64_t keys = ++done * each;
    if (here) line.update(keys, keys);
  });
  for (const task& each_task : tasks) {
    if (!each_task.done) return each_task.done;
  }
  return {};
}

outcome<void> measure_hashes(const options& opts, const bench_request& request, bench_report& report) {
  const bool integers = (request.kind != nullptr && request.kind->integer_keys) ||
                        (request.hash != nullptr && request.hash->id == identity::info.id);
  if (integers) return {};  // nothing is hashed
  report.hash_kinds = kinds_for_hashes(request);
  report.hashes = plan_hashes(request, report.hash_kinds);
  for (hash_row& row : report.hashes) {
    const auto hash = hasher_for(*row.hash);
    if (!hash) return fail_error(hash.error());
    row.ns = bench::hash_ns_per_key(*hash, request.effort.ask_chunks);
  }
  return measure_cells(opts, request, report.hashes);
}

}  // namespace

outcome<bench_request> bench_request::from(const options& opts) {
  bench_request out;
  if (opts.has(flag::kind)) out.kind = find_kind(opts.text(flag::kind))->info;
  if (opts.has(flag::hash)) out.hash = find_hash(opts.text(flag::hash));
  if (out.kind != nullptr && out.hash != nullptr && !go_together(*out.kind, *out.hash)) {
    return fail_usage(
        out.kind->integer_keys
            ? fmt::format("kind {} takes integer keys and hash identity, not {}", out.kind->name, out.hash->name)
            : fmt::format("hash identity is for kinds of integer keys, not for {}", out.kind->name));
  }
  const std::string_view layout = opts.text(flag::layout);
  if (!layout.empty() && out.kind == nullptr) return fail_usage("--layout belongs to a kind: give that with --kind");
  out.quick = opts.has(flag::quick);
  out.effort = out.quick ? quick_effort : usual_effort;
  const double fpr = opts.real(flag::fpr).value_or(default_fpr);
  if (const auto keys = opts.count(flag::capacity)) {
    out.sizes = {{*keys, fpr}};
  } else if (out.quick) {
    out.sizes = {{1'000, fpr}, {100'000, fpr}};
  } else {
    out.sizes = {{1'000, fpr}, {100'000, fpr}, {1'000'000, fpr}, {10'000'000, fpr}};
    // Without -p, a far lower FPR too, at one size.
    if (!opts.has(flag::fpr)) out.sizes.insert(out.sizes.end() - 1, {1'000'000, default_fpr / 100});
  }
  for (bench::case_size& each : out.sizes) each.layout = layout;
  constexpr std::uint64_t usual_keyed = 1'000'000;
  out.keyed_size = {opts.count(flag::capacity).value_or(out.quick ? out.sizes.back().keys : usual_keyed), fpr, layout};
  const std::uint64_t hash_keys = opts.count(flag::capacity).value_or(out.quick ? 20'000 : 100'000);
  out.hash_size = {out.hash == nullptr ? std::min(hash_keys, most_hash_keys) : hash_keys, fpr, layout};
  // Enough that so many false positives are to be expected, within reason.
  const double expected = out.quick ? 400 : 2000;
  constexpr double most_probes = 2'000'000;
  out.hash_probes = static_cast<std::uint64_t>(std::min(most_probes, std::max(100 * expected, expected / fpr)));
  out.threads = jobs_of(opts);
  return out;
}

outcome<bench_report> run_bench(const options& opts, const bench_request& request) {
  bench_report report;
  report.machine = machine_text();
  // They wait for each other by spinning: no more of them than there are processors.
  report.threads = std::clamp(std::thread::hardware_concurrency(), 1U, request.threads);
  if (auto done = measure_rates(request, report); !done) return failed(done.error());
  if (auto done = measure_kinds(opts, request, report); !done) return failed(done.error());
  if (auto done = measure_keys(request, report); !done) return failed(done.error());
  if (auto done = measure_floors(request, report); !done) return failed(done.error());
  if (auto done = measure_hashes(opts, request, report); !done) return failed(done.error());
  return report;
}

}  // namespace bloomery::cli
