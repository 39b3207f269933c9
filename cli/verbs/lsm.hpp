// cli/verbs/lsm.hpp: the options of `plan --lsm`, read and checked (sizing/levels.hpp has the answer).
//
//     auto question = read_lsm_question(opts);
//     auto shares = share_levels(question->request);   // shares->levels[i].fpr, shares->false_reads
#pragma once

#include <bloomery/kinds/concept.hpp>
#include <bloomery/sizing/levels.hpp>

#include "cli/flags/flags.hpp"
#include "cli/terminal/problem.hpp"

namespace bloomery::cli {

struct lsm_question {
  level_request request{};  // views into the options
  const kind_info* kind = nullptr;
};

// Problems: options that are missing, or that contradict each other.
outcome<lsm_question> read_lsm_question(const options& opts);

}  // namespace bloomery::cli
