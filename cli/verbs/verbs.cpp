// THE list of verbs.
#include <algorithm>
#include <array>
#include <vector>

#include "cli/verbs/verb.hpp"

namespace bloomery::cli {

namespace {

constexpr std::array list = {
    &build_verb,    //
    &add_verb,      //
    &remove_verb,   //
    &query_verb,    //
    &count_verb,    //
    &explain_verb,  //
    &merge_verb,    //
    &convert_verb,  //
    &dedup_verb,    //
    &info_verb,     //
    &verify_verb,   //
    &doctor_verb,   //
    &plan_verb,     //
    &kinds_verb,    //
    &formats_verb,  //
    &hashes_verb,   //
    &bench_verb,    //
    &demo_verb,     //
    &help_verb,     //
};

// Optimal string alignment: insertions, deletions, replacements and swaps of neighbours.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t differs = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + differs});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::span<const verb* const> verbs() { return list; }

const verb* find_verb(std::string_view name) {
  for (const verb* each : list) {
    if (each->name == name || (!name.empty() && each->alias == name)) return each;
  }
  return nullptr;
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> names) {
  if (word.size() > 64) return {};  // too long for a typing error
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string_view name : names) {
    const std::size_t d = distance(word, name);
    if (d < best_distance) {
      best = name;
      best_distance = d;
    }
  }
  return best;
}

}  // namespace bloomery::cli
