#include "cli/verbs/lsm.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "cli/filters/kind_table.hpp"
#include "cli/flags/numbers.hpp"

namespace bloomery::cli {
namespace {

constexpr double usual_ratio = 10;
// Small levels get many bits per key, and this kind is the smallest at a low FPR.
constexpr std::string_view kind_of_levels = "bloom";

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
  const std::uint64_t levels = *opts.count(flag::levels);
  if (levels > most_levels) {
    return fail_usage(fmt::format("--levels: {} are too many: give 1 to {}", with_commas(levels), most_levels));
  }
  const kind_entry& kind = *find_kind(opts.text(flag::kind, kind_of_levels));
  const level_request request{.keys = *opts.count(flag::lsm_keys),
                              .levels = static_cast<unsigned>(levels),
                              .size_ratio = opts.real(flag::size_ratio).value_or(usual_ratio),
                              .memory_bytes = *opts.count(flag::memory),
                              .solve = kind.plan,
                              .layout = opts.text(flag::layout)};
  if (!(request.size_ratio >= 1)) {
    return fail_usage(fmt::format("--size-ratio: {:g} is not usable: give 1 or more, such as 10", request.size_ratio));
  }
  if (kind.info->exact) {
    return fail_usage(fmt::format("--lsm is for kinds with false positives, and kind {} has none", kind.info->name));
  }
  if (kind.capabilities.excludes) {
    return fail_usage(
        fmt::format("--lsm shares memory out, and kind {} is as large as its two lists need", kind.info->name));
  }
  if (request.keys > max_keys) {
    return fail_usage(
        fmt::format("--keys: {} are too many: give at most {}", with_commas(request.keys), with_commas(max_keys)));
  }
  std::array<std::uint64_t, most_levels> keys{};
  if (auto known = keys_of_levels(request, keys); !known) return fail_parameter(known.error());
  if (std::count(keys.begin(), keys.begin() + request.levels, 0U) != 0) {
    return fail_usage(
        fmt::format("{} do not fill {} levels, each {:g} times as large as the one before: give fewer levels",
                    number_of(request.keys, "key"), request.levels, request.size_ratio));
  }
  // What is wrong with the layout is the same for every level.
  const auto usable = request.solve({.keys = request.keys, .fpr = 0.01}, request.layout);
  if (!usable) return fail_parameter(usable.error());
  return lsm_question{request, kind.info};
}

}  // namespace bloomery::cli
