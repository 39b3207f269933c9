// cli/verbs/plan_answers.hpp: `bloomery plan`: the question, its answer for every kind, and the charts.
//
// The question is the command line, with missing values filled in. One of its numbers
// decides the size (`request`); the others are limits that a kind keeps or does not:
//
//     -n -p                the FPR decides             -n --mem    the memory decides
//     -n --bits-per-key    the bits per key decide     -p --mem    the FPR decides how many keys fit
//     --exclude-keys       also kinds that exclude keys: the two lists decide, and with -p the FPR for other keys
//     more than two        with bits per key or the FPR deciding, --mem is a ceiling; with bits per key, so is -p
#pragma once

#include <bloomery/kinds/table.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal/chart.hpp"
#include "cli/terminal/problem.hpp"

namespace bloomery::cli {

struct plan_question {
  size_request request{};
  size_request two_lists{};  // for kinds that exclude keys; without --exclude-keys they are left out
  std::optional<double> fpr_ceiling{};
  std::optional<std::uint64_t> memory_ceiling{};
  std::string layout{};
  std::string kind{};                  // empty: all
  std::string codec{};                 // that the file will be compressed with; empty: with none
  std::vector<std::string> assumed{};  // what was filled in, in sentences
};

outcome<plan_question> read_question(const options& opts);

// One kind's answer.
struct plan_row {
  const kind_info* info = nullptr;
  kind_capabilities can{};
  result<size_plan> (*solve)(const size_request&, std::string_view layout) noexcept = nullptr;
  result<size_plan> plan{};
  std::string why_not{};  // empty: it fits

  [[nodiscard]] bool fits() const { return why_not.empty(); }
  // Whether it has the FPR that decides. Layouts of another product have its sizes, and their own FPR.
  [[nodiscard]] bool keeps(const plan_question& question) const;
};

// In the order of kinds.hpp.
std::vector<plan_row> answer(const plan_question& question);

// The kind that build takes when none is named, if it is among the rows and fits; else the smallest that is not exact;
// nullptr when there is none.
const plan_row* usual_row(const std::vector<plan_row>& rows);

// Sentences: what to consider beside the numbers.
std::vector<std::string> advice_on(const plan_question& question, const std::vector<plan_row>& rows);

// FPR against keys, FPR against bits per key, and k against FPR, for all rows that fit and are not exact.
std::vector<line_chart> plan_charts(const plan_question& question, const std::vector<plan_row>& rows);

}  // namespace bloomery::cli
