// bloomery bench: what kinds and hashes cost on this machine, and how often they are wrong.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/flags/numbers.hpp"
#include "cli/terminal/chart.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/terminal.hpp"
#include "cli/terminal/text.hpp"
#include "cli/verbs/bench_cases.hpp"
#include "cli/verbs/verb.hpp"

namespace bloomery::cli {
namespace {

constexpr std::size_t text_columns = 100;
using json = nlohmann::ordered_json;

// ---- JSON -----------------------------------------------------------------------------------------------------------

double rounded(double ns) { return std::round(ns * 100.0) / 100.0; }

json as_json(const bench::rate_count& count, double target_fpr) {
  return {{"fpr_measured", count.rate()}, {"false_positives", count.hits}, {"probes", count.asked},
          {"fpr_low", count.low()},       {"fpr_high", count.high()},      {"broken", count.breaks(target_fpr)}};
}

json times_as_json(const bench::case_figures& figures) {
  json out;
  for (const bench::figure_name& each : bench::figure_names) out[each.name] = rounded(figures.*each.ns);
  return out;
}

json as_json(const kind_row& row) {
  const bench::case_figures& figures = row.figures;
  json out = {{"kind", row.kind->name},
              {"keys", row.size.keys},
              {"target_fpr", row.kind->exact ? 0.0 : row.size.fpr},
              {"hash", row.hash->name},
              {"memory_bytes", figures.memory_bytes},
              {"bits_per_key", figures.bits_per_key}};
  if (!row.size.layout.empty()) out["layout"] = row.size.layout;
  out["ns_per_key"] = times_as_json(figures);
  out.update(as_json(figures.absent, row.kind->exact ? 0.0 : row.size.fpr));
  return out;
}

json as_json(const key_row& row) {
  return {{"kind", row.kind->name},
          {"keys", row.size.keys},
          {"key_type", row.type->name},
          {"hash", default_hash::info.name},
          {"layout", row.layout.empty() ? json(nullptr) : json(row.layout)},
          {"target_fpr", row.size.fpr},
          {"fpr_measured", row.figures.absent.rate()},
          {"memory_bytes", row.figures.memory_bytes},
          {"bits_per_key", row.figures.bits_per_key},
          {"ns_per_key", times_as_json(row.figures)}};
}

json as_json(const bench::floor_figures& floor, unsigned threads) {
  return {{"size_bytes", floor.size_bytes},
          {"ns_per_line",
           {{"independent", rounded(floor.independent)},
            {"independent_small_pages", rounded(floor.independent_small)},
            {"dependent", rounded(floor.dependent)},
            {"dependent_small_pages", rounded(floor.dependent_small)},
            {"all_threads", rounded(floor.threads_independent)},
            {"all_threads_small_pages", rounded(floor.threads_independent_small)}}},
          {"threads", threads}};
}

json as_json(const hash_row& row, double target_fpr) {
  json out = {{"hash", row.hash->name}, {"ns_per_16_byte_key", row.ns > 0 ? json(rounded(row.ns)) : json(nullptr)}};
  out["build_refuses"] = row.refused.empty() ? json(nullptr) : json(row.refused);
  out["measurements"] = json::array();
  for (const hash_cell& cell : row.cells) {
    json measured = {{"keys", cell.keys->name}, {"kind", cell.kind->name}};
    measured.update(as_json(cell.absent, target_fpr));
    out["measurements"].push_back(std::move(measured));
  }
  return out;
}

json as_json(const bench_report& report, const bench_request& request) {
  json out = {{"machine", report.machine}, {"quick", request.quick}, {"chunk_keys", bench::chunk_keys}};
  out["confidence"] = 1.0 - bench::rate_count::doubt;
  out["tolerance"] = bench::rate_count::tolerance;
  out["rates"] = json::array();
  for (const key_row& row : report.rates) out["rates"].push_back(as_json(row));
  out["kinds"] = json::array();
  for (const kind_row& row : report.kinds) out["kinds"].push_back(as_json(row));
  out["keyed"] = json::array();
  for (const key_row& row : report.keys) out["keyed"].push_back(as_json(row));
  out["floor"] = json::array();
  for (const bench::floor_figures& floor : report.floors) out["floor"].push_back(as_json(floor, report.threads));
  out["hash_keys"] = request.hash_size.keys;
  out["hash_target_fpr"] = request.hash_size.fpr;
  out["hashes"] = json::array();
  for (const hash_row& row : report.hashes) out["hashes"].push_back(as_json(row, request.hash_size.fpr));
  return out;
}

// ---- tables ---------------------------------------------------------------------------------------------------------

// Right-aligned, with a mark if the FPR is above the target; the colour must not count as width.
std::string fpr_cell(const bench::rate_count& count, double target_fpr, const painter& paint, std::size_t width) {
  const bool broken = count.breaks(target_fpr);
  const std::string text = count.hits == 0 ? "none" : percent(count.rate());
  const std::string cell = fmt::format("{:>{}}{}", text, width - 1, broken ? "!" : " ");
  return broken ? paint(style::bad, cell) : cell;
}

std::string as_line(std::string text) { return text.erase(text.find_last_not_of(' ') + 1).append("\n"); }

std::string ns(double value) { return fmt::format("{:.1f}", value); }

void write_heading(output& out, const painter& paint, const std::string& text) {
  std::string line = as_line(text);
  line.pop_back();
  out.write(paint(style::bold, line) + "\n");
}

void write_kinds(output& out, const painter& paint, const bench_report& report) {
  constexpr std::string_view layout = "{:<9} {:>13} {:>9} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>8} {:>9}";
  write_heading(out, paint, fmt::format("{:<9} {:>30} {:^23} {:^15}", "ns per key", "", "absent keys", "present keys"));
  write_heading(out, paint,
                fmt::format(fmt::runtime(layout), "kind", "keys", "FPR", "add", "batch", "single", "latency", "batch",
                            "single", "bits/key", "measured"));
  const kind_info* last = nullptr;
  for (const kind_row& row : report.kinds) {
    const bench::case_figures& figures = row.figures;
    if (last != nullptr && last != row.kind) out.write("\n");
    last = row.kind;
    const double target_fpr = row.kind->exact ? 0.0 : row.size.fpr;
    out.write(as_line(fmt::format(
        fmt::runtime(layout), row.kind->name, with_commas(row.size.keys),
        row.kind->exact ? "exact" : percent(target_fpr), ns(figures.add), ns(figures.absent_batch),
        ns(figures.absent_single), ns(figures.absent_dependent), ns(figures.present_batch), ns(figures.present_single),
        fmt::format("{:.2f}", figures.bits_per_key), fpr_cell(figures.absent, target_fpr, paint, 10))));
  }
}

// What a program that chooses nothing gets, first of all.
void write_rates(output& out, const painter& paint, const bench_report& report) {
  constexpr std::string_view layout = "{:>9} {:<8} {:>8} {:>9} {:>7} {:>7} {:>7} {:>7} {:>7} {:>9}";
  const key_row& first = report.rates.front();
  write_heading(out, paint,
                fmt::format("ns per key of {} with hash {}, {} of 64 bits", first.kind->name, default_hash::info.name,
                            number_of(first.size.keys, "integer")));
  write_heading(out, paint, fmt::format("{:>9} {:<8} {:>8} {:>9} {:^15} {:^15}", "", "", "", "", "add", "look up"));
  write_heading(out, paint,
                fmt::format(fmt::runtime(layout), "FPR", "layout", "bits/key", "memory", "batch", "single", "batch",
                            "single", "latency", "measured"));
  for (const key_row& row : report.rates) {
    const bench::case_figures& figures = row.figures;
    out.write(as_line(fmt::format(
        fmt::runtime(layout), percent(row.size.fpr), row.layout.empty() ? std::string_view("-") : row.layout,
        fmt::format("{:.2f}", figures.bits_per_key), human_size(figures.memory_bytes), ns(figures.add),
        ns(figures.add_single), ns(figures.absent_batch), ns(figures.absent_single), ns(figures.absent_dependent),
        fpr_cell(figures.absent, row.size.fpr, paint, 10))));
  }
  out.write("\n");
}

void write_keys(output& out, const painter& paint, const bench_report& report) {
  constexpr std::string_view layout = "{:<17} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7}";
  const key_row& first = report.keys.front();
  out.write("\n");
  write_heading(out, paint,
                fmt::format("ns per key of {} with its hash, {} at {}", first.kind->name,
                            number_of(first.size.keys, "key"), percent(first.size.fpr)));
  write_heading(out, paint, fmt::format("{:<17} {:>7} {:^23} {:^15}", "", "", "absent keys", "present keys"));
  write_heading(out, paint,
                fmt::format(fmt::runtime(layout), "keys", "add", "batch", "single", "latency", "batch", "single"));
  for (const key_row& row : report.keys) {
    const bench::case_figures& figures = row.figures;
    out.write(as_line(fmt::format(fmt::runtime(layout), row.type->title, ns(figures.add), ns(figures.absent_batch),
                                  ns(figures.absent_single), ns(figures.absent_dependent), ns(figures.present_batch),
                                  ns(figures.present_single))));
  }
}

void write_floors(output& out, const painter& paint, const bench_report& report) {
  constexpr std::string_view layout = "{:>10} {:>7} {:>7} {:>11} {:>7} {:>7} {:>11}";
  out.write("\n");
  write_heading(out, paint,
                "The floor: ns to read one random line of 64 bytes, which is what `blocked` needs for a key");
  write_heading(out, paint, fmt::format("{:>10} {:^27} {:^27}", "", "huge pages", "small pages"));
  const std::string together = number_of(report.threads, "thread");
  write_heading(out, paint,
                fmt::format(fmt::runtime(layout), "size", "batch", "latency", together, "batch", "latency", together));
  for (const bench::floor_figures& floor : report.floors) {
    out.write(as_line(fmt::format(fmt::runtime(layout), human_size(floor.size_bytes), ns(floor.independent),
                                  ns(floor.dependent), ns(floor.threads_independent), ns(floor.independent_small),
                                  ns(floor.dependent_small), ns(floor.threads_independent_small))));
  }
}

void write_hashes(output& out, const painter& paint, const bench_report& report, const bench_request& request) {
  constexpr std::size_t cell_width = 9;
  constexpr std::size_t title_width = 12;
  const std::size_t group_width = std::max(title_width, cell_width * report.hash_kinds.size());
  out.write("\n");
  write_heading(out, paint,
                fmt::format("False-positive rate of {} at {}, on keys that are hard on a weak hash",
                            number_of(request.hash_size.keys, "key"), percent(request.hash_size.fpr)));
  std::string titles = fmt::format("{:<16} {:>6}", "", "16 B");
  std::string names = fmt::format("{:<16} {:>6}", "hash", "ns");
  for (const bench::hard_key_set& keys : bench::hard_key_sets) {
    titles.append(fmt::format(" {:^{}}", keys.title, group_width));
    std::string group;
    for (const kind_info* kind : report.hash_kinds) group.append(fmt::format("{:>{}} ", kind->name, cell_width - 1));
    names.append(fmt::format(" {:>{}}", group, group_width));
  }
  write_heading(out, paint, titles);
  write_heading(out, paint, names);
  for (const hash_row& row : report.hashes) {
    std::string line = fmt::format("{:<16} {:>6}", row.hash->name, row.ns > 0 ? fmt::format("{:.1f}", row.ns) : "-");
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      if (i % report.hash_kinds.size() == 0) {
        line.append(1 + group_width - cell_width * report.hash_kinds.size(), ' ');
      }
      line.append(fpr_cell(row.cells[i].absent, request.hash_size.fpr, paint, cell_width));
    }
    if (row.cells.empty()) line.append("  takes 8-byte integers only, for kinds that hold integers themselves");
    out.write(as_line(line));
  }
}

void write_remarks(output& out, const bench_report& report, const bench_request& request) {
  bool broken = std::any_of(report.kinds.begin(), report.kinds.end(), [](const kind_row& row) { return row.breaks(); });
  for (const hash_row& row : report.hashes) {
    broken = broken || std::any_of(row.cells.begin(), row.cells.end(),
                                   [&](const hash_cell& cell) { return cell.absent.breaks(request.hash_size.fpr); });
  }
  out.write("\n");
  if (broken) {
    out.write("!  target missed: with 99.9 % confidence the FPR is above 1.05 times the target\n");
  }
  std::string refused;
  for (const hash_row& row : report.hashes) {
    if (!row.refused.empty()) refused.append(refused.empty() ? "" : ", ").append(row.hash->name);
  }
  if (!refused.empty()) {
    out.write(wrapped("Too few bits for so many keys at this FPR, so that build refuses: ", refused, text_columns));
  }
  out.write("Times: one thread, the best tenth of chunks of 32,768 keys; those of kinds are without hashing.\n");
}

// ---- charts ---------------------------------------------------------------------------------------------------------

struct plotted {
  std::string_view title;
  double bench::case_figures::*ns;
};
constexpr std::array plots = {
    plotted{"absent keys, in batches", &bench::case_figures::absent_batch},
    plotted{"absent keys, one by one", &bench::case_figures::absent_single},
    plotted{"adding", &bench::case_figures::add},
};

std::string count_text(double value) { return human_count(value); }

// One curve for each kind, at the first FPR of each size.
std::vector<chart_curve> curves_of(const bench_report& report, double bench::case_figures::*ns) {
  std::vector<chart_curve> curves;
  const kind_row* last = nullptr;
  for (const kind_row& row : report.kinds) {
    if (last == nullptr || last->kind != row.kind) curves.push_back({.name = std::string(row.kind->name)});
    const bool same_size = last != nullptr && last->kind == row.kind && last->size.keys == row.size.keys;
    if (!same_size) curves.back().points.push_back({static_cast<double>(row.size.keys), row.figures.*ns});
    last = &row;
  }
  return curves;
}

std::string draw_curves(const plotted& what, std::span<const chart_curve> curves, const chart_look& look) {
  line_chart chart{.title = fmt::format("ns per key against size: {}", what.title),
                   .x = {.label = "keys", .low = 1e300, .high = 0, .log = true, .text = count_text},
                   .y = {.label = "ns per key", .low = 1e300, .high = 0, .log = true}};
  chart.curves.assign(curves.begin(), curves.end());
  for (const chart_curve& curve : curves) {
    for (const chart_point& point : curve.points) {
      chart.x.low = std::min(chart.x.low, point.x);
      chart.x.high = std::max(chart.x.high, point.x);
      chart.y.low = std::min(chart.y.low, point.y);
      chart.y.high = std::max(chart.y.high, point.y);
    }
  }
  // Powers of ten, so that the axis has labels.
  chart.y.low = std::pow(10.0, std::floor(std::log10(std::max(chart.y.low, 0.01))));
  chart.y.high = std::pow(10.0, std::ceil(std::log10(std::max(chart.y.high, 0.011))));
  return std::string("\n").append(draw(chart, look));
}

void write_plots(output& out, const bench_report& report, const chart_look& look) {
  constexpr std::size_t most_curves = 4;  // as many marks as can be distinguished
  for (const plotted& what : plots) {
    const std::vector<chart_curve> curves = curves_of(report, what.ns);
    if (curves.empty()) return;
    if (curves.front().points.size() > 1) {
      for (std::size_t first = 0; first < curves.size(); first += most_curves) {
        const auto some = std::span(curves).subspan(first, std::min(most_curves, curves.size() - first));
        out.write(draw_curves(what, some, look));
      }
      continue;
    }
    std::vector<chart_bar> bars;
    for (const chart_curve& curve : curves) {
      bars.push_back({curve.name, curve.points.front().y, fmt::format("{:.1f}", curve.points.front().y)});
    }
    out.write(fmt::format("\nns per key: {}\n", what.title) + draw_bars(bars, look));
  }
}

outcome<int> run_bench(const options& opts) {
  if (!opts.operands().empty()) return fail_usage(fmt::format("takes no '{}'", opts.operands().front()));
  if (opts.has(flag::json) && opts.has(flag::plot)) {
    return fail_usage("--plot and --json contradict each other: give one");
  }
  const auto request = bench_request::from(opts);
  if (!request) return failed(request.error());
  const auto report = run_bench(opts, *request);
  if (!report) return failed(report.error());
  output out;
  if (opts.has(flag::json)) {
    out.write_json(as_json(*report, *request));
  } else {
    const painter paint(opts, STDOUT_FILENO);
    const std::string_view layout = request->keyed_size.layout;
    out.write(fmt::format("{}{}{}\n\n", report->machine, layout.empty() ? "" : "; layout ", layout));
    if (!report->rates.empty()) write_rates(out, paint, *report);
    write_kinds(out, paint, *report);
    if (!report->keys.empty()) write_keys(out, paint, *report);
    if (!report->floors.empty()) write_floors(out, paint, *report);
    if (!report->hashes.empty()) write_hashes(out, paint, *report, *request);
    write_remarks(out, *report, *request);
    if (opts.has(flag::plot)) write_plots(out, *report, look_of(opts, STDOUT_FILENO));
  }
  if (auto done = out.flush(); !done) return failed(done.error());
  return 0;
}

constexpr std::array bench_examples = {
    example{"bloomery bench", "all kinds and hashes, in about ten seconds"},
    example{"bloomery bench --quick --plot", "rougher, in about one, with ns per key against size"},
    example{"bloomery bench --kind blocked -n 100M -p 0.1%", "one kind at one size"},
    example{"bloomery bench --kind cuckoo --layout slots4:12", "another layout than the usual one"},
    example{"bloomery bench --json | jq '.hashes[].measurements[] | select(.broken)'", "hashes above the target FPR"},
};

}  // namespace

const verb bench_verb = {
    .name = "bench",
    .alias = "",
    .bit = on_bench,
    .summary = "measure kinds and hashes on this machine",
    .usage = "[OPTIONS]",
    .description =
        "First the filter of a program that chooses nothing (or that of --kind): integers with the default hash, at "
        "0.1, 1, 5 and 10 %, with its layout and memory.\n\n"
        "Then each kind at several sizes: nanoseconds per key to add keys and to look up absent and present "
        "keys, in batches and one by one (latency: each look-up depends on the result of the previous one), "
        "bits per key, and the false-positive rate (FPR) on random keys. Hashing is not included. -n, -p and "
        "--kind narrow the table down; with --kind, --layout selects one of its layouts; --hash changes the "
        "hash of the keys.\n\n"
        "Then one kind (--kind, else blocked) with keys that it hashes in the same call: integers, 16 bytes, "
        "URLs. And the memory-latency floor: the time to read one random cache line of 64 bytes from memory as "
        "large as the filters, overlapping (batch), each after the previous one (latency), and on all threads, "
        "with huge pages and without.\n\n"
        "Then each hash: nanoseconds per key of 16 bytes, and the FPR on keys that are hard on a weak hash: "
        "decimal integers, 8-byte counters, keys with one long prefix, and short words of two letters. An FPR "
        "is marked with ! if it is above 1.05 times the target with 99.9 % confidence. Without --hash these "
        "filters have at most 1,000,000 keys.\n\n"
        "Times are of one thread whatever -j is, except for the floor; the FPR of hashes is counted on all "
        "threads. Memory is that of the largest filter; for the FPR of hashes each thread has its own filter, "
        "as far as memory allows.",
    .examples = bench_examples,
    .exit_codes = "0: done; 2: error",
    .run = run_bench,
};

}  // namespace bloomery::cli
