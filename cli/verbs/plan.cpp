// bloomery plan: how large, how many bits per key, how often wrong: before anything is built.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "cli/flags/numbers.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/sizes.hpp"
#include "cli/terminal/terminal.hpp"
#include "cli/terminal/text.hpp"
#include "cli/verbs/lsm.hpp"
#include "cli/verbs/plan_answers.hpp"
#include "cli/verbs/verb.hpp"

namespace bloomery::cli {
namespace {

struct planned {
  plan_question question;
  std::vector<plan_row> rows;
  std::vector<std::string> advice;
  std::uint64_t available_bytes = 0;

  [[nodiscard]] bool exceeds_memory(const plan_row& row) const { return row.plan->memory_bytes > available_bytes; }
  [[nodiscard]] bool any_fits() const {
    return std::any_of(rows.begin(), rows.end(), [](const plan_row& row) { return row.fits(); });
  }
  [[nodiscard]] bool any_keeps() const {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const plan_row& row) { return row.fits() && row.keeps(question); });
  }
};

// The question, as a heading.
std::string heading(const plan_question& question) {
  const size_request& request = question.request;
  std::string text;
  const auto add = [&](const std::string& text_part) { text.append(text.empty() ? "" : ", ").append(text_part); };
  if (request.keys) add(number_of(*request.keys, "key"));
  if (question.two_lists.excluded_keys)
    add(fmt::format("{} to exclude", with_commas(*question.two_lists.excluded_keys)));
  if (request.fpr) add(fmt::format("false-positive rate {}", fpr_text(*request.fpr)));
  if (request.bits_per_key) add(fmt::format("{:g} bits per key", *request.bits_per_key));
  if (request.memory_bytes) add(exact_size(*request.memory_bytes));
  if (request.hashes) add(fmt::format("k = {}", *request.hashes));
  if (question.fpr_ceiling) add(fmt::format("at most {}", percent(*question.fpr_ceiling)));
  if (question.memory_ceiling && !request.memory_bytes) {
    add(fmt::format("at most {}", exact_size(*question.memory_ceiling)));
  }
  return text;
}

std::string abilities(const plan_row& row) {
  std::string out;
  const auto add = [&](bool can, std::string_view word) {
    if (can) out.append(out.empty() ? "" : " ").append(word);
  };
  add(row.can.merges, "merges");
  add(row.can.erases, "deletes");
  add(row.info->grows, "grows");
  add(row.can.expires, "expires");
  add(row.can.is_static, "static");
  add(row.can.excludes, "excludes");
  add(row.can.may_lose, "may lose keys");
  return out;
}

// An abbreviation for the column: the first word, with k as its number.
std::string lines_column(const plan_row& row) {
  if (row.plan->lines != 0) return std::to_string(row.plan->lines);
  const std::string_view first = row.info->lines.substr(0, row.info->lines.find(' '));
  return first == "k" ? std::to_string(row.plan->hashes) : std::string(first);
}

void write_row(output& out, const planned& all, const plan_row& row, const painter& paint) {
  const size_plan& plan = *row.plan;
  out.write(fmt::format("{:<8}", row.info->name));
  if (!all.question.request.keys) out.write(fmt::format(" {:>15}", with_commas(plan.keys)));
  out.write(fmt::format(" {:>10} {:>15} {:>9.2f} {:>9.2f} {:>3} {:>9} {:>5}  {}", human_size(plan.memory_bytes),
                        with_commas(plan.memory_bytes), plan.bits_per_key, plan.bits_per_key / 8.0,
                        plan.hashes == 0 ? "-" : std::to_string(plan.hashes),
                        row.info->exact ? "exact" : percent(plan.fpr), lines_column(row), abilities(row)));
  if (!row.keeps(all.question)) {
    out.write(paint(style::caution, fmt::format("  (above the {} of -p)", percent(*all.question.request.fpr))));
  }
  if (all.exceeds_memory(row)) {
    out.write(
        paint(style::caution, fmt::format("  (more than the {} that are free)", human_size(all.available_bytes))));
  }
  out.write('\n');
}

void write_table(output& out, const planned& all, const painter& paint) {
  for (const std::string& line : all.question.assumed) out.write(line + "\n");
  out.write(heading(all.question) + "\n\n");
  if (all.any_fits()) {
    std::string head = fmt::format("{:<8}", "kind");
    if (!all.question.request.keys) head.append(fmt::format(" {:>15}", "keys"));
    head.append(fmt::format(" {:>10} {:>15} {:>9} {:>9} {:>3} {:>9} {:>5}  {}", "memory", "bytes", "bits/key",
                            "bytes/key", "k", "FPR", "lines", "can"));
    out.write(paint(style::bold, head) + "\n");
  }
  std::string footnotes;
  for (const plan_row& row : all.rows) {
    if (!row.fits()) continue;
    write_row(out, all, row, paint);
    if (row.plan->lines == 0 && row.info->lines.find(' ') != std::string_view::npos) {
      footnotes.append(fmt::format("; {}: {}", row.info->name, row.info->lines));
    }
    if (row.info->exact) {
      footnotes.append(fmt::format("; {}: at most this much, when one in {:g} integers of the range or more is a key",
                                   row.info->name, row.plan->bits_per_key));
    }
    if (row.can.excludes) {
      footnotes.append(fmt::format("; {}: exact about both lists, the FPR is that of keys in neither", row.info->name));
    }
  }
  for (const plan_row& row : all.rows) {
    if (!row.fits()) out.write(fmt::format("{:<8} {} {}\n", row.info->name, paint(style::dim, "no:"), row.why_not));
  }
  if (all.any_fits()) {
    out.write(wrapped("  ", "lines: cache lines per look-up" + footnotes, terminal_columns(STDOUT_FILENO)));
  }
  if (!all.advice.empty()) out.write("\n");
  for (const std::string& line : all.advice) out.write(wrapped("- ", line, terminal_columns(STDOUT_FILENO)));
}

nlohmann::ordered_json json_of(const planned& all, const plan_row& row) {
  nlohmann::ordered_json out{{"kind", row.info->name}, {"fits", row.fits()}};
  if (!row.fits()) out["why_not"] = row.why_not;
  if (!row.plan) return out;
  const size_plan& plan = *row.plan;
  out["keys"] = plan.keys;
  out["memory_bytes"] = plan.memory_bytes;
  out["bits"] = plan.bits;
  out["bits_per_key"] = plan.bits_per_key;
  out["bytes_per_key"] = plan.bits_per_key / 8.0;
  if (!all.question.codec.empty() && row.can.packs) out["packed_bits_per_key"] = sizing::packed_bits_per_key(plan);
  out["hash_functions"] = plan.hashes;
  out["expected_fpr"] = plan.fpr;
  out["keeps_fpr"] = row.keeps(all.question);
  out["digest_bits"] = plan.digest_bits;
  out["cache_lines_per_query"] = plan.lines != 0 ? std::to_string(plan.lines) : std::string(row.info->lines);
  out["exact"] = row.info->exact;
  out["merges"] = row.can.merges;
  out["erases"] = row.can.erases;
  out["grows"] = row.info->grows;
  out["expires"] = row.can.expires;
  out["excludes"] = row.can.excludes;
  out["may_lose"] = row.can.may_lose;
  out["exceeds_available_memory"] = all.exceeds_memory(row);
  return out;
}

nlohmann::ordered_json json_of(const line_chart& chart) {
  auto curves = nlohmann::ordered_json::object();
  for (const chart_curve& curve : chart.curves) {
    auto points = nlohmann::ordered_json::array();
    for (const chart_point& point : curve.points) points.push_back({point.x, point.y});
    curves[curve.name] = std::move(points);
  }
  return {{"title", chart.title}, {"curves", std::move(curves)}};
}

template <class T>
nlohmann::ordered_json or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json as_json(const planned& all, const std::vector<line_chart>& charts) {
  const size_request& request = all.question.request;
  auto out = nlohmann::ordered_json::object();
  out["request"] = {{"keys", or_null(request.keys)},
                    {"target_fpr", or_null(request.fpr ? request.fpr : all.question.fpr_ceiling)},
                    {"bits_per_key", or_null(request.bits_per_key)},
                    {"memory_bytes", or_null(all.question.memory_ceiling)},
                    {"hash_functions", or_null(request.hashes)},
                    {"excluded_keys", or_null(all.question.two_lists.excluded_keys)}};
  out["assumed"] = all.question.assumed;
  out["kinds"] = nlohmann::ordered_json::array();
  for (const plan_row& row : all.rows) out["kinds"].push_back(json_of(all, row));
  out["available_memory_bytes"] = all.available_bytes;
  out["advice"] = all.advice;
  if (!charts.empty()) out["plots"] = nlohmann::ordered_json::array();
  for (const line_chart& chart : charts) out["plots"].push_back(json_of(chart));
  return out;
}

// If no kind has an answer, the question is wrong: one line explains why.
outcome<void> check_answerable(const std::vector<plan_row>& rows) {
  std::string reasons;
  bool same = true;
  for (const plan_row& row : rows) {
    if (row.plan) return {};
    same = same && row.why_not == rows.front().why_not;
    reasons.append(fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", row.info->name, row.why_not));
  }
  return fail_usage(same ? rows.front().why_not : reasons);
}

// ---- --lsm ----

std::string reads_text(const level_shares& answer) {
  std::string text = fmt::format("{:.4g} levels are read per look-up of an absent key", answer.false_reads);
  if (answer.false_reads < answer.uniform_false_reads) {
    text.append(fmt::format(", against {:.4g} with the same bits per key for all ({:.3g} times as many)",
                            answer.uniform_false_reads, answer.uniform_false_reads / answer.false_reads));
  }
  return text.append(".");
}

void write_levels(output& out, const lsm_question& question, const level_shares& answer, const options& opts) {
  const level_request& request = question.request;
  const painter paint(opts, STDOUT_FILENO);
  out.write(fmt::format("{} in {}, each {:g} times as large as the one before; kind {} within {}\n\n",
                        number_of(request.keys, "key"), number_of(request.levels, "level"), request.size_ratio,
                        question.kind->name, exact_size(request.memory_bytes)));
  out.write(paint(style::bold, fmt::format("{:>5} {:>22} {:>10} {:>18} {:>9} {:>3} {:>10} {:>11}", "level", "keys",
                                           "memory", "bytes", "bits/key", "k", "FPR", "all alike")) +
            "\n");
  for (std::size_t i = 0; i < answer.count; ++i) {
    const level_share& level = answer.levels[i];
    const bool none = level.memory_bytes == 0;
    out.write(fmt::format("{:>5} {:>22} {:>10} {:>18} {:>9.2f} {:>3} {:>10} {:>11}\n", i + 1, with_commas(level.keys),
                          human_size(level.memory_bytes), with_commas(level.memory_bytes), level.bits_per_key,
                          none ? "-" : std::to_string(level.hashes), none ? "no filter" : percent(level.fpr),
                          percent(answer.uniform[i].fpr)));
  }
  out.write(fmt::format("{:>5} {:>22} {:>10} {:>18}\n\n", "all", with_commas(request.keys),
                        human_size(answer.memory_bytes), with_commas(answer.memory_bytes)));
  out.write(wrapped("", reads_text(answer), terminal_columns(STDOUT_FILENO)));
  if (!opts.has(flag::plot)) return;
  std::vector<chart_bar> bars;
  for (std::size_t i = 0; i < answer.count; ++i) {
    const double bits = answer.levels[i].bits_per_key;
    bars.push_back({fmt::format("level {}", i + 1), bits, fmt::format("{:.1f}", bits)});
  }
  out.write("\nBits per key\n" + draw_bars(bars, look_of(opts, STDOUT_FILENO)));
}

nlohmann::ordered_json as_json(std::span<const level_share> levels) {
  auto out = nlohmann::ordered_json::array();
  for (const level_share& level : levels) {
    out.push_back({{"level", out.size() + 1},
                   {"keys", level.keys},
                   {"memory_bytes", level.memory_bytes},
                   {"bits_per_key", level.bits_per_key},
                   {"hash_functions", level.hashes},
                   {"expected_fpr", level.fpr}});
  }
  return out;
}

nlohmann::ordered_json as_json(const lsm_question& question, const level_shares& answer) {
  const level_request& request = question.request;
  auto out = nlohmann::ordered_json::object();
  out["request"] = {{"keys", request.keys},
                    {"levels", request.levels},
                    {"size_ratio", request.size_ratio},
                    {"memory_bytes", request.memory_bytes},
                    {"kind", question.kind->name}};
  out["levels"] = as_json(answer.shared());
  out["memory_bytes"] = answer.memory_bytes;
  out["false_reads_per_absent_key"] = answer.false_reads;
  out["uniform"] = {{"levels", as_json(answer.alike())}, {"false_reads_per_absent_key", answer.uniform_false_reads}};
  return out;
}

outcome<int> run_lsm(const options& opts) {
  const auto question = read_lsm_question(opts);
  if (!question) return failed(question.error());
  const auto answer = share_levels(question->request);
  if (!answer) return fail_parameter(answer.error());
  output out;
  if (opts.has(flag::json)) {
    out.write_json(as_json(*question, *answer));
  } else {
    write_levels(out, *question, *answer, opts);
  }
  if (auto done = out.flush(); !done) return failed(done.error());
  return 0;
}

outcome<int> run_plan(const options& opts) {
  if (!opts.operands().empty()) {
    return fail_usage(
        fmt::format("takes no '{}': give numbers with -n, -p, --mem or --bits-per-key", opts.operands().front()));
  }
  if (opts.has(flag::lsm)) return run_lsm(opts);
  for (const auto& [id, name] : {std::pair{flag::levels, "--levels"}, std::pair{flag::lsm_keys, "--keys"},
                                 std::pair{flag::size_ratio, "--size-ratio"}}) {
    if (opts.has(id)) return fail_usage(fmt::format("{} goes with --lsm: give that too, or leave it out", name));
  }
  auto question = read_question(opts);
  if (!question) return failed(question.error());
  planned all{.question = std::move(*question), .rows = {}, .advice = {}, .available_bytes = available_memory_bytes()};
  all.rows = answer(all.question);
  if (auto answerable = check_answerable(all.rows); !answerable) return failed(answerable.error());
  all.advice = advice_on(all.question, all.rows);
  std::vector<line_chart> charts;
  if (opts.has(flag::plot)) charts = plan_charts(all.question, all.rows);
  output out;
  if (opts.has(flag::json)) {
    out.write_json(as_json(all, charts));
  } else {
    write_table(out, all, painter(opts, STDOUT_FILENO));
    const chart_look look = look_of(opts, STDOUT_FILENO);
    for (const line_chart& chart : charts) out.write("\n" + draw(chart, look));
  }
  if (auto done = out.flush(); !done) return failed(done.error());
  return all.any_keeps() ? 0 : 1;
}

constexpr std::array plan_examples = {
    example{"bloomery plan -n 10M -p 0.1%", "what ten million keys at 0.1 % take, for every kind"},
    example{"bloomery plan -n 10M --mem 16MiB", "how often a filter of 16 MiB answers wrongly"},
    example{"bloomery plan -p 1% --mem 1Gi", "how many keys fit 1 GiB"},
    example{"bloomery plan -n 10M -p 1% --compress rans", "what it takes in a file that is sent"},
    example{"bloomery plan -n 10M --plot", "with charts: FPR against keys and bits, and k against FPR"},
    example{"bloomery plan -n 100k --exclude-keys 9.9M --kind cascade",
            "what a filter takes that is exact about ten million known keys"},
    example{"bloomery plan --lsm --levels 5 --keys 1e9 --mem 1Gi", "bits for each level of a log-structured store"},
};

}  // namespace

const verb plan_verb = {
    .name = "plan",
    .alias = "",
    .bit = on_plan,
    .summary = "compute how large a filter must be, before it is built",
    .usage =
        "[-n N] [-p P] [--mem SIZE] [--bits-per-key B] [OPTIONS]\n"
        "--lsm --levels L --keys N --mem SIZE [--size-ratio T] [OPTIONS]",
    .description =
        "From any of the number of keys, the false-positive rate (FPR), the memory and the bits per key, "
        "computes the rest for every kind: memory, bits per key, k (hash functions), expected FPR, cache lines "
        "per look-up, and what the kind supports.\n\n"
        "Bits per key decide if set, else the FPR, else the memory; further values are limits, and kinds that "
        "exceed one are marked. Without -p, 1 % is assumed; without -n and --mem, 1,000,000 keys.\n\n"
        "With --exclude-keys, kind cascade is planned as well: it is exact about the -n keys that it matches "
        "and the --exclude-keys that it does not, and its FPR is that of keys in neither list; without -p that "
        "FPR is the one that makes it smallest. The advice compares it with other exact structures.\n\n"
        "With --compress, kind bloom is planned as build makes it for a compressed file, and plan prints the "
        "size of that file.\n\n"
        "With --layout redis the sizes are RedisBloom's, and the FPR is the one that they deliver: for a few "
        "hundred keys, or at very low FPRs, it is above -p, and plan reports that.\n\n"
        "With --lsm, plan allots memory to the filters of a log-structured store, so that a look-up of an "
        "absent key reads as few levels as possible: small levels get more bits per key. Level 1 is the "
        "smallest. The kind is bloom unless --kind selects another.",
    .examples = plan_examples,
    .exit_codes = "0: at least one kind fits; 1: none fits, or none at the FPR of -p; 2: error",
    .run = run_plan,
};

}  // namespace bloomery::cli
