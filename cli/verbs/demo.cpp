// bloomery demo: the guided tour: one filter of ten million keys, built, queried, compared with a set, saved and
// overfilled.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bloomery/kinds/blocked.hpp>
#include <chrono>
#include <nlohmann/json.hpp>

#include "cli/flags/numbers.hpp"
#include "cli/terminal/chart.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/sizes.hpp"
#include "cli/terminal/terminal.hpp"
#include "cli/terminal/text.hpp"
#include "cli/verbs/demo_steps.hpp"
#include "cli/verbs/verb.hpp"

namespace bloomery::cli {
namespace {

constexpr std::uint64_t usual_keys = 10'000'000;
// With fewer keys the FPR of a single filter varies too much to show that it meets its target.
constexpr std::uint64_t least_keys = 100'000;

std::string count_tick(double value) { return human_count(value); }
std::string fpr_tick(double value) { return fmt::format("{:g} %", value * 100.0); }

// Prints each step as soon as it is done; nothing with --json.
class narrator {
 public:
  narrator(const options& opts, output& out)
      : quiet_(opts.has(flag::json)), out_(&out), paint_(opts, STDOUT_FILENO), look_(look_of(opts, STDOUT_FILENO)) {}

  void welcome(std::uint64_t keys) {
    line(paint_(style::bold, "A guided tour of Bloomery"));
    print_paragraph(fmt::format(
        "{} generated URLs, such as these, in a filter with a target false-positive rate of 1 %:", with_commas(keys)));
    for (std::uint64_t number = 0; number < 3; ++number) line("     " + url_of(number));
    show();
  }

  void built(const demo_figures& f) {
    title("1. Build");
    print_paragraph(fmt::format(
        "{} URLs, {} of text, went into a filter of kind blocked: {}, {:.2f} bits per key, k = {}.",
        with_commas(f.keys), human_size(f.url_bytes), exact_size(f.filter_bytes), f.plan.bits_per_key, f.plan.hashes));
    print_paragraph(fmt::format("{:.2f} s: {:.1f} ns per key to hash and insert it, {:.1f} ns to generate it.",
                                f.build_seconds, f.add_seconds * 1e9 / static_cast<double>(f.keys),
                                (f.build_seconds - f.add_seconds) * 1e9 / static_cast<double>(f.keys)));
    show();
  }

  void queried(const demo_figures& f) {
    title("2. Query");
    const std::uint64_t missed = f.present.queried - f.present.yes;
    line(fmt::format("   {:>9} URLs that are in it: {} missed         {:5.1f} ns per key",
                     with_commas(f.present.queried),
                     paint_(missed == 0 ? style::good : style::bad, fmt::format("{:>9}", with_commas(missed))),
                     f.present.ns_per_key()));
    line(fmt::format("   {:>9} URLs that are not:   {:>9} wrongly found  {:5.1f} ns per key",
                     with_commas(f.absent.queried), with_commas(f.absent.yes), f.absent.ns_per_key()));
    line(fmt::format("   Promised {}, measured {} (99 % confidence: between {} and {}): {}", percent(f.target_fpr),
                     percent(f.absent.rate()), percent(f.fpr_low), percent(f.fpr_high),
                     f.fpr_kept() ? paint_(style::good, "kept") : paint_(style::bad, "BROKEN")));
    show();
  }

  void weighed(const demo_figures& f) {
    title("3. Memory");
    const std::array bars = {
        chart_bar{"   this filter", static_cast<double>(f.filter_bytes), human_size(f.filter_bytes)},
        chart_bar{"   unordered_set<string>", static_cast<double>(f.set_scaled_bytes), human_size(f.set_scaled_bytes)}};
    write(draw_bars(bars, look_));
    const bool scaled = f.set_keys != f.keys;
    print_paragraph(
        fmt::format("The set was really built, with {} of the same URLs: it took {} (resident memory, before and "
                    "after){}. It is exact; the filter is {:.0f} times smaller.",
                    with_commas(f.set_keys), human_size(f.set_bytes),
                    scaled ? fmt::format(", scaled here to {}", with_commas(f.keys)) : "",
                    static_cast<double>(f.set_scaled_bytes) / static_cast<double>(f.filter_bytes)));
    show();
  }

  void filled(const demo_figures& f) {
    title("4. The fill");
    print_paragraph(fmt::format("{} of the bits are set. Blocks of 64 bytes, by the share of their bits that is set:",
                                percent(f.fill)));
    const double step = 100.0 / static_cast<double>(f.blocks_by_fill.size() - 1);
    const std::uint64_t most = *std::max_element(f.blocks_by_fill.begin(), f.blocks_by_fill.end());
    std::vector<chart_bar> bars;
    for (std::size_t i = 0; i < f.blocks_by_fill.size(); ++i) {
      const std::uint64_t count = f.blocks_by_fill[i];
      if (count * 200 < most) continue;  // too short to be drawn
      bars.push_back(
          {fmt::format("{:9.1f} %", static_cast<double>(i) * step), static_cast<double>(count), with_commas(count)});
    }
    write(draw_bars(bars, look_));
    const std::size_t shown = std::min(f.block_fill.size(), look_.columns - 4);
    print_paragraph(fmt::format("The first {} blocks, from 30 % (blank) to 60 % (full):", shown));
    line("   " + draw_heat(std::span(f.block_fill).first(shown), 0.3, 0.6, look_));
    show();
  }

  void proved(const demo_figures& f, const std::string& path) {
    title("5. The file");
    print_paragraph(fmt::format(
        "Saved as {}: {}. Opened {} in {:.2f} ms and looked up {} present URLs again: {} missed. The file is removed.",
        path, exact_size(f.file_bytes), f.file_mapped ? "memory-mapped" : "into memory", f.open_seconds * 1e3,
        with_commas(f.from_file.queried), with_commas(f.from_file.queried - f.from_file.yes)));
    show();
  }

  void overfilled(const demo_figures& f) {
    title("6. Too many keys");
    line_chart chart{.title = "   False-positive rate up to its capacity and above",
                     .x = {.label = "keys in the filter",
                           .low = 0,
                           .high = static_cast<double>(f.curve.back().keys) * 4.0 / 3.0,
                           .text = count_tick},
                     .y = {.low = 1e-5, .high = 1, .log = true, .text = fpr_tick},
                     .rows = 11};
    chart_curve expected{.name = "expected"};
    for (int i = 1; i <= 48; ++i) {
      const auto keys = static_cast<std::uint64_t>(static_cast<double>(f.keys) * i / 24.0);
      const auto at = blocked::plan({.keys = keys, .bits = f.plan.bits, .hashes = f.plan.hashes}, f.plan.layout);
      if (at) expected.points.push_back({static_cast<double>(keys), at->fpr});
    }
    chart_curve measured{.name = "measured", .joined = false};
    for (const fpr_point& point : f.curve) {
      measured.points.push_back({static_cast<double>(point.keys), point.absent.rate()});
    }
    chart.curves = {expected, measured};
    write(draw(chart, look_));
    line(fmt::format("   {:>12}  {:>9}  {:>9}", "keys", "expected", "measured"));
    for (const fpr_point& point : f.curve) {
      line(fmt::format("   {:>12}  {:>9}  {:>9}{}", with_commas(point.keys), percent(point.expected),
                       percent(point.absent.rate()), point.keys == f.keys ? "  the capacity" : ""));
    }
    print_paragraph(
        "Above its capacity a filter still misses no key; it only has more false positives. So plan for 20-30 % more "
        "keys "
        "than you expect.");
    show();
  }

  void farewell(const demo_figures& f, double seconds) {
    line("");
    line(f.kept() ? paint_(style::good, fmt::format("Both promises kept, in {:.1f} s.", seconds))
                  : paint_(style::bad, "A promise was BROKEN: please report this as a bug."));
    title("Try next, in the project's folder");
    line("   ./bloomery plan -n 10M -p 0.1%");
    line("   ./bloomery build --force -o users.bloom -d : -f 1 /etc/passwd");
    line("   printf 'root\\nnobody-knows\\n' | ./bloomery query users.bloom");
    show();
  }

 private:
  void write(std::string_view text) {
    if (!quiet_) out_->write(text);
  }
  void line(std::string_view text) { write(std::string(text).append("\n")); }
  void print_paragraph(std::string_view text) { write(wrapped("   ", text, look_.columns)); }
  void title(std::string_view text) { line("\n" + paint_(style::bold, text)); }
  // A failure is remembered by the output and reported at the end.
  void show() {
    if (!quiet_) [[maybe_unused]]
      const auto shown = out_->flush();
  }

  bool quiet_;
  output* out_;
  painter paint_;
  chart_look look_;
};

nlohmann::ordered_json json_of(const answer_count& c) {
  return {{"queries", c.queried}, {"yes", c.yes}, {"ns_per_key", c.ns_per_key()}};
}

nlohmann::ordered_json as_json(const demo_figures& f, double seconds) {
  auto out = nlohmann::ordered_json::object();
  out["kind"] = blocked::info.name;
  out["keys"] = f.keys;
  out["url_bytes"] = f.url_bytes;
  out["memory_bytes"] = f.filter_bytes;
  out["bits_per_key"] = f.plan.bits_per_key;
  out["hash_functions"] = f.plan.hashes;
  out["add_ns_per_key"] = f.add_seconds * 1e9 / static_cast<double>(f.keys);
  out["build_seconds"] = f.build_seconds;
  out["present"] = json_of(f.present);
  out["absent"] = json_of(f.absent);
  out["false_negatives"] = f.false_negatives();
  out["target_fpr"] = f.target_fpr;
  out["fpr_measured"] = f.absent.rate();
  out["fpr_measured_interval_99"] = {f.fpr_low, f.fpr_high};
  out["set"] = {{"keys", f.set_keys}, {"resident_bytes", f.set_bytes}, {"scaled_bytes", f.set_scaled_bytes}};
  out["fill"] = f.fill;
  out["file"] = {{"bytes", f.file_bytes},
                 {"mapped", f.file_mapped},
                 {"open_seconds", f.open_seconds},
                 {"present", json_of(f.from_file)}};
  out["curve"] = nlohmann::ordered_json::array();
  for (const fpr_point& point : f.curve) {
    out["curve"].push_back({{"keys", point.keys},
                            {"expected_fpr", point.expected},
                            {"fpr_measured", point.absent.rate()},
                            {"queries", point.absent.queried}});
  }
  out["holds"] = f.kept();
  out["seconds"] = seconds;
  return out;
}

outcome<void> narrate(demo_tour& tour, narrator& text) {
  const demo_figures& figures = tour.figures();
  text.welcome(figures.keys);
  if (auto done = tour.build(); !done) return fail_error(done.error());
  text.built(figures);
  if (auto done = tour.query(); !done) return fail_error(done.error());
  text.queried(figures);
  tour.compare_memory();
  text.weighed(figures);
  if (auto done = tour.look_at_fill(); !done) return fail_error(done.error());
  text.filled(figures);
  if (auto done = tour.prove_file(); !done) return fail_file(demo_tour::file_path(), done.error());
  text.proved(figures, demo_tour::file_path());
  if (auto done = tour.overfill(); !done) return fail_error(done.error());
  text.overfilled(figures);
  return {};
}

outcome<int> run_demo(const options& opts) {
  if (!opts.operands().empty()) return fail_usage(fmt::format("takes no '{}'", opts.operands().front()));
  const std::uint64_t keys = opts.count(flag::capacity).value_or(opts.has(flag::quick) ? least_keys : usual_keys);
  if (keys < least_keys) {
    return fail_usage(fmt::format("--capacity: {} is too few to show a false-positive rate of 1 %: give {} or more",
                                  keys, with_commas(least_keys)));
  }
  const auto plan = blocked::plan({.keys = keys, .fpr = 0.01});
  if (!plan) return fail_parameter(plan.error());
  if (auto had = check_memory(plan->memory_bytes); !had) return failed(had.error());
  const auto start = std::chrono::steady_clock::now();
  output out;
  narrator text(opts, out);
  demo_tour tour(opts, keys);
  if (auto narrated = narrate(tour, text); !narrated) return failed(narrated.error());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  text.farewell(tour.figures(), seconds);
  if (opts.has(flag::json)) out.write_json(as_json(tour.figures(), seconds));
  if (auto done = out.flush(); !done) return failed(done.error());
  return tour.figures().kept() ? 0 : 1;
}

constexpr std::array demo_examples = {
    example{"bloomery demo", "ten million URLs, in a few seconds"},
    example{"bloomery demo -n 100M", "the same with a hundred million"},
    example{"bloomery demo --quick --json | jq .fpr_measured", "one of its figures"},
};

}  // namespace

const verb demo_verb = {
    .name = "demo",
    .alias = "",
    .bit = on_demo,
    .summary = "a guided tour: build, query, measure and overfill a filter",
    .usage = "[-n N] [--quick] [--json]",
    .description =
        "Builds a filter of ten million generated URLs, looks up a million that are in it and a million that "
        "are not, compares its memory with a std::unordered_set of the same URLs, shows its fill, saves it to a "
        "temporary file and queries that, and finally adds too many keys. Everything is measured while you "
        "watch.",
    .examples = demo_examples,
    .exit_codes = "0: both promises kept (no key missed, false-positive rate as promised); 1: one was broken; 2: error",
    .run = run_demo,
};

}  // namespace bloomery::cli
