// bloomery hashes: what hash functions there are, with what they cost here and now.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bloomery/hash/hasher.hpp>
#include <bloomery/hash/list.hpp>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/terminal/output.hpp"
#include "cli/terminal/terminal.hpp"
#include "cli/terminal/text.hpp"
#include "cli/verbs/verb.hpp"

namespace bloomery::cli {
namespace {

constexpr std::array<std::size_t, 3> key_sizes = {8, 16, 65};
using costs = std::array<std::optional<double>, key_sizes.size()>;  // ns per key; none where the hash takes no such key

struct effort {
  unsigned repeats;
  std::chrono::microseconds each;
};
constexpr effort usual_effort{.repeats = 5, .each = std::chrono::microseconds(1500)};
constexpr effort quick{.repeats = 2, .each = std::chrono::microseconds(100)};

// Keys of one size that fit the first-level cache, so that the hash is timed and not memory.
struct key_set {
  static constexpr std::size_t keys = 128;
  std::vector<char> bytes;
  std::vector<std::string_view> views;

  explicit key_set(std::size_t size) : bytes(size * keys) {
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(mix64(i + 1));
    for (std::size_t i = 0; i < keys; ++i) views.emplace_back(bytes.data() + i * size, size);
  }
};

// The best of several short repeats: other processes can only make it slower.
template <class F>
double best_ns_per_key(const effort& budget, F hash_all) {
  using clock = std::chrono::steady_clock;
  double best = 0;
  for (unsigned i = 0; i < budget.repeats; ++i) {
    const auto start = clock::now();
    auto now = start;
    std::size_t rounds = 0;
    while (now - start < budget.each) {
      for (int inner = 0; inner < 4; ++inner) hash_all();
      rounds += 4;
      now = clock::now();
    }
    const double ns = std::chrono::duration<double, std::nano>(now - start).count();
    const double mean = ns / static_cast<double>(rounds * key_set::keys);
    if (i == 0 || mean < best) best = mean;
  }
  return best;
}

// Stands between the timed work and an optimiser that would drop it.
void keep(const void* result) { asm volatile("" : : "r"(result) : "memory"); }

costs cost_of(const hasher& hash, std::span<const key_set> sets, const effort& budget) {
  costs out{};
  std::array<std::uint64_t, key_set::keys> digests{};
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (!hash.accepts(key_sizes[i])) continue;
    out[i] = best_ns_per_key(budget, [&] {
      hash.digests(sets[i].views, digests);
      keep(digests.data());
    });
  }
  return out;
}

struct hash_row {
  const hash_info* info;
  costs ns;
};

std::vector<hash_row> measure_hashes(std::span<const key_set> sets, const effort& budget) {
  std::vector<hash_row> rows;
  for_each_type(hash_list{}, [&](auto tag) {
    using hash = typename decltype(tag)::type;
    const std::vector<std::byte> key(hash::info.key_bytes, std::byte{0x5a});
    const auto made = hasher::make(hash::info.name, 0, key);
    if (made) rows.push_back({&hash::info, cost_of(*made, sets, budget)});
  });
  return rows;
}

// Message digests for comparison, with what they cost in the archived run bench/runs/2026-11-18-epyc-hashes: timing
// them here would make the tool depend on a cryptographic library.
struct message_digest {
  std::string_view name;
  unsigned bits;
  std::array<double, key_sizes.size()> ns;
};
constexpr std::string_view digest_run = "2026-11-18-epyc-hashes";
constexpr std::array<double, key_sizes.size()> default_ns_then = {2.29, 2.06, 6.34};
constexpr std::array message_digests = {
    message_digest{"md5", 128, {130.87, 130.49, 214.77}},
    message_digest{"sha1", 160, {91.99, 89.59, 121.91}},
    message_digest{"sha256", 256, {93.59, 92.85, 127.95}},
};

constexpr std::size_t ratio_size = 1;  // the size at which "N times" is printed: 16 bytes

// How many times more than the default hash, at 16 bytes, in the same run.
double times_the_default(const message_digest& digest) { return digest.ns[ratio_size] / default_ns_then[ratio_size]; }

constexpr std::string_view why_not =
    "A filter needs digests that are well mixed, not resistance to collisions: xxh3 has the "
    "same false-positive rate. Where keys come from an adversary, a message digest without a secret does not help "
    "either, since he can compute it too: use a keyed hash (siphash13, siphash24, highwayhash64) with --key-file.";

nlohmann::ordered_json json_of(const costs& ns) {
  auto out = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < key_sizes.size(); ++i) {
    const auto rounded = [](double value) { return std::round(value * 100.0) / 100.0; };
    out[std::to_string(key_sizes[i])] = ns[i] ? nlohmann::ordered_json(rounded(*ns[i])) : nullptr;
  }
  return out;
}

nlohmann::ordered_json as_json(std::span<const hash_row> rows) {
  auto list = nlohmann::ordered_json::array();
  for (const hash_row& row : rows) {
    list.push_back({{"name", row.info->name},
                    {"id", row.info->id},
                    {"bits", row.info->bits},
                    {"seed_bits", row.info->seed_bits},
                    {"key_bytes", row.info->key_bytes},
                    {"keyed", row.info->key_bytes != 0},
                    {"summary", row.info->summary},
                    {"ns_per_key", json_of(row.ns)}});
  }
  auto not_used = nlohmann::ordered_json::array();
  for (const message_digest& each : message_digests) {
    costs ns{};
    std::copy(each.ns.begin(), each.ns.end(), ns.begin());
    not_used.push_back({{"name", each.name},
                        {"bits", each.bits},
                        {"ns_per_key", json_of(ns)},
                        {"times_the_default", std::round(times_the_default(each) * 10.0) / 10.0},
                        {"run", digest_run}});
  }
  return {{"default", rows.front().info->name}, {"hashes", list}, {"not_used", not_used}, {"why_not", why_not}};
}

std::string ns_columns(const costs& ns) {
  std::string out;
  for (const auto& each : ns) out.append(each ? fmt::format(" {:>6.1f}", *each) : fmt::format(" {:>6}", "-"));
  return out;
}

std::string seed_text(const hash_info& info) {
  return info.seed_bits == 0 ? "none" : fmt::format("{} bits", info.seed_bits);
}

void write_table(output& out, const painter& paint, std::span<const hash_row> rows) {
  constexpr std::string_view layout = "{:<16} {:>4} {:>7} {:>8}";
  out.write(fmt::format("{:<38} {:^20}\n", "", "ns per key of"));
  std::string head = fmt::format(fmt::runtime(layout), "hash", "bits", "seed", "secret");
  for (const std::size_t size : key_sizes) head.append(fmt::format(" {:>6}", fmt::format("{} B", size)));
  out.write(paint(style::bold, head + "  what it is") + "\n");
  for (const hash_row& row : rows) {
    const std::string secret = row.info->key_bytes == 0 ? "no" : fmt::format("{} bytes", row.info->key_bytes);
    out.write(fmt::format(fmt::runtime(layout), row.info->name, row.info->bits, seed_text(*row.info), secret));
    out.write(fmt::format("{}  {}\n", ns_columns(row.ns), row.info->summary));
  }
  out.write(fmt::format("\nNot used by Bloomery, for comparison (OpenSSL 3.0; archived run {}):\n", digest_run));
  for (const message_digest& each : message_digests) {
    out.write(fmt::format(fmt::runtime(layout), each.name, each.bits, "none", "no"));
    for (const double ns : each.ns) out.write(fmt::format(" {:>6.1f}", ns));
    out.write(fmt::format("  {:.0f} times {} at {} bytes\n", times_the_default(each), rows.front().info->name,
                          key_sizes[ratio_size]));
  }
  out.write("\n" + wrapped("Why not: ", why_not, terminal_columns(STDOUT_FILENO)));
}

outcome<int> run_hashes(const options& opts) {
  if (!opts.operands().empty()) return fail_usage(fmt::format("takes no '{}'", opts.operands().front()));
  const effort budget = opts.has(flag::quick) ? quick : usual_effort;
  std::vector<key_set> sets;
  sets.reserve(key_sizes.size());
  for (const std::size_t size : key_sizes) sets.emplace_back(size);
  const std::vector<hash_row> rows = measure_hashes(sets, budget);
  output out;
  if (opts.has(flag::json)) {
    out.write_json(as_json(rows));
  } else {
    write_table(out, painter(opts, STDOUT_FILENO), rows);
  }
  if (auto done = out.flush(); !done) return failed(done.error());
  return 0;
}

constexpr std::array hashes_examples = {
    example{"bloomery hashes", "the hashes and their cost on this machine"},
    example{"bloomery hashes --json --quick | jq -r '.hashes[].name'", "their names"},
};

}  // namespace

const verb hashes_verb = {
    .name = "hashes",
    .alias = "",
    .bit = on_hashes,
    .summary = "list the hash functions, with their cost on this machine",
    .usage = "[--quick] [--json]",
    .description =
        "Lists the hash functions that --hash takes: bits of the digest, seed, size of the secret key, and "
        "nanoseconds per key of 8, 16 and 65 bytes, measured now on this machine (keys in cache, many at a "
        "time). MD5, SHA-1 and SHA-256 follow with figures of an archived run, to show why filters do not use "
        "them.",
    .examples = hashes_examples,
    .exit_codes = "0: done; 2: error",
    .run = run_hashes,
};

}  // namespace bloomery::cli
