#include "cli/verbs/lsm.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "cli/filters/kind_table.hpp"
#include "cli/flags/numbers.hpp"

namespace bloomery::cli {
namespace {

constexpr std::uint64_t most_levels = 64;
constexpr double usual_ratio = 10;
// Small levels get many bits per key, and this kind is the smallest at a low FPR.
constexpr std::string_view kind_of_levels = "bloom";

// Where a curve has its points. The FPR halves with 1.44 bits per key, so between two of them a line is within a
// fifth of a percent of it; after the close ones there is little left to gain.
constexpr double close_step = 0.25;
constexpr double close_bits = 32;
constexpr double far_step = 1;
constexpr double most_bits = 64;

struct point {
  double bytes = 0;
  double fpr = 1;
};

// A piece of a hull: so many more bytes, and what each of them takes off the FPR.
struct piece {
  std::size_t level = 0;
  double bytes = 0;
  double gain = 0;
};

// The points that no line between two others passes below.
std::vector<point> lower_hull(const std::vector<point>& curve) {
  std::vector<point> hull;
  for (const point& next : curve) {
    while (hull.size() >= 2) {
      const point& a = hull[hull.size() - 2];
      const point& b = hull.back();
      if ((b.bytes - a.bytes) * (next.fpr - a.fpr) - (b.fpr - a.fpr) * (next.bytes - a.bytes) > 0) break;
      hull.pop_back();
    }
    hull.push_back(next);
  }
  return hull;
}

std::vector<point> curve_of(const lsm_question& question, std::uint64_t keys) {
  std::vector<point> curve = {{0, 1}};
  for (double bits = close_step; bits <= most_bits; bits += bits < close_bits ? close_step : far_step) {
    const auto plan = question.solve({.keys = keys, .bits_per_key = bits}, question.layout);
    if (!plan) continue;
    const point next{static_cast<double>(plan->memory_bytes), plan->fpr};
    if (next.fpr < curve.back().fpr && next.bytes > curve.back().bytes) curve.push_back(next);
  }
  return curve;
}

lsm_level level_with(const lsm_question& question, std::uint64_t keys, double bytes) {
  lsm_level level{.keys = keys};
  if (bytes < 1) return level;
  const auto plan = question.solve({.keys = keys, .memory_bytes = static_cast<std::uint64_t>(bytes)}, question.layout);
  if (!plan || static_cast<double>(plan->memory_bytes) > bytes || !(plan->fpr < 1)) return level;
  level.memory_bytes = plan->memory_bytes;
  level.bits_per_key = plan->bits_per_key;
  level.hashes = plan->hashes;
  level.fpr = plan->fpr;
  return level;
}

std::vector<std::uint64_t> keys_of_levels(const lsm_question& question) {
  double total = 0;
  for (unsigned i = 0; i < question.levels; ++i) total += std::pow(question.size_ratio, i);
  std::vector<std::uint64_t> out;
  std::uint64_t left = question.keys;
  for (unsigned i = 0; i + 1 < question.levels; ++i) {
    const double share = std::pow(question.size_ratio, i) / total;
    out.push_back(std::min(left, static_cast<std::uint64_t>(std::llround(share * static_cast<double>(question.keys)))));
    left -= out.back();
  }
  out.push_back(left);
  return out;
}

std::vector<double> best_bytes(const lsm_question& question, const std::vector<std::uint64_t>& keys) {
  std::vector<piece> pieces;
  for (std::size_t level = 0; level < keys.size(); ++level) {
    const auto hull = lower_hull(curve_of(question, keys[level]));
    for (std::size_t i = 1; i < hull.size(); ++i) {
      const double bytes = hull[i].bytes - hull[i - 1].bytes;
      pieces.push_back({level, bytes, (hull[i - 1].fpr - hull[i].fpr) / bytes});
    }
  }
  // A level's own pieces gain less and less, so they are bought in their order.
  std::stable_sort(pieces.begin(), pieces.end(), [](const piece& a, const piece& b) { return a.gain > b.gain; });
  std::vector<double> bytes(keys.size());
  auto left = static_cast<double>(question.memory_bytes);
  for (const piece& each : pieces) {
    const double taken = std::min(left, each.bytes);
    bytes[each.level] += taken;
    left -= taken;
  }
  return bytes;
}

outcome<void> check_flags(const options& opts) {
  if (opts.has(flag::capacity)) return fail_usage("with --lsm give the keys of all levels as --keys N, not as -n");
  constexpr std::array<std::pair<flag, std::string_view>, 3> others = {
      {{flag::fpr, "-p"}, {flag::bits_per_key, "--bits-per-key"}, {flag::hashes, "--hashes"}}};
  for (const auto& [id, name] : others) {
    if (opts.has(id)) {
      return fail_usage(fmt::format("--lsm and {} contradict each other: the memory decides, level by level", name));
    }
  }
  for (const flag id : {flag::levels, flag::lsm_keys, flag::memory}) {
    if (!opts.has(id)) return fail_usage("--lsm needs all of --levels L, --keys N and --mem SIZE");
  }
  return {};
}

}  // namespace

outcome<lsm_question> read_lsm_question(const options& opts) {
  if (auto checked = check_flags(opts); !checked) return failed(checked.error());
  lsm_question question{.keys = *opts.count(flag::lsm_keys),
                        .size_ratio = opts.real(flag::size_ratio).value_or(usual_ratio),
                        .memory_bytes = *opts.count(flag::memory),
                        .layout = std::string(opts.text(flag::layout))};
  const std::uint64_t levels = *opts.count(flag::levels);
  if (levels > most_levels) {
    return fail_usage(fmt::format("--levels: {} are too many: give 1 to {}", with_commas(levels), most_levels));
  }
  question.levels = static_cast<unsigned>(levels);
  if (!(question.size_ratio >= 1)) {
    return fail_usage(fmt::format("--size-ratio: {:g} is not usable: give 1 or more, such as 10", question.size_ratio));
  }
  const kind_entry& kind = *find_kind(opts.text(flag::kind, kind_of_levels));
  question.kind = kind.info;
  question.solve = kind.plan;
  if (question.kind->exact) {
    return fail_usage(
        fmt::format("--lsm is for kinds with false positives, and kind {} has none", question.kind->name));
  }
  if (kind.capabilities.excludes) {
    return fail_usage(
        fmt::format("--lsm shares memory out, and kind {} is as large as its two lists need", question.kind->name));
  }
  if (question.keys > max_keys) {
    return fail_usage(
        fmt::format("--keys: {} are too many: give at most {}", with_commas(question.keys), with_commas(max_keys)));
  }
  const auto keys = keys_of_levels(question);
  if (*std::min_element(keys.begin(), keys.end()) == 0) {
    return fail_usage(
        fmt::format("{} do not fill {} levels, each {:g} times as large as the one before: give fewer levels",
                    number_of(question.keys, "key"), question.levels, question.size_ratio));
  }
  // What is wrong with the layout is the same for every level.
  const auto usable = question.solve({.keys = question.keys, .fpr = 0.01}, question.layout);
  if (!usable) return fail_parameter(usable.error());
  return question;
}

lsm_answer allot(const lsm_question& question) {
  lsm_answer answer;
  const auto keys = keys_of_levels(question);
  const auto bytes = best_bytes(question, keys);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    answer.levels.push_back(level_with(question, keys[i], bytes[i]));
    answer.memory_bytes += answer.levels.back().memory_bytes;
    answer.false_reads += answer.levels.back().fpr;
    const double share = static_cast<double>(keys[i]) / static_cast<double>(question.keys);
    answer.uniform.push_back(level_with(question, keys[i], static_cast<double>(question.memory_bytes) * share));
    answer.uniform_false_reads += answer.uniform.back().fpr;
  }
  return answer;
}

}  // namespace bloomery::cli
