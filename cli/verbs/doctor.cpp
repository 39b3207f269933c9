// bloomery doctor: what is wrong with a filter, and the command that repairs it.
#include "cli/verbs/doctor.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "cli/flags/format_choice.hpp"
#include "cli/flags/numbers.hpp"
#include "cli/terminal/json_values.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/terminal.hpp"
#include "cli/verbs/verb.hpp"

namespace bloomery::cli {
namespace {

constexpr int exit_unwell = 1;

bool is_unwell(const std::vector<symptom>& symptoms) {
  return std::any_of(symptoms.begin(), symptoms.end(),
                     [](const symptom& each) { return each.how_bad == severity::broken; });
}

nlohmann::ordered_json as_json(const examination& of, const std::vector<symptom>& symptoms,
                               const std::vector<std::string>& left_out) {
  auto out = nlohmann::ordered_json::object();
  out["filter"] = of.file;
  if (of.opened != nullptr) {
    out["format"] = of.opened->format->name;
    out["kind"] = of.opened->filter.info().name;
    out["keys_in_filter"] = of.full.keys;
    out["capacity_keys"] = capacity_of(of.opened->filter, of.stats);
    out["target_fpr"] = target_fpr_of(of.stats);
    out["fpr_now"] = of.stats.fpr_now;
    out["memory_bytes"] = of.stats.memory_bytes;
  }
  if (of.measured) {
    out["probes"] = of.measured->probes;
    out["fpr_measured"] = of.measured->rate();
    out["fpr_low"] = of.measured->low;
    out["fpr_high"] = of.measured->high;
  }
  out["healthy"] = !is_unwell(symptoms);
  out["findings"] = nlohmann::ordered_json::array();
  for (const symptom& each : symptoms) {
    out["findings"].push_back(
        {{"name", each.name},
         {"severity", each.how_bad == severity::broken ? "broken" : "advice"},
         {"confidence", each.confidence},
         {"text", each.text},
         {"command", each.command.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(each.command)}});
  }
  out["not_checked"] = left_out;
  return out;
}

std::string head_of(const examination& of) {
  const filter_stats& stats = of.stats;
  std::string out = fmt::format("{}, {}", of.opened->filter.info().name, number_of(of.full.keys, "key"));
  if (!of.opened->format->is_native()) out = fmt::format("format {}, {}", of.opened->format->name, out);
  if (stats.target_known && !of.opened->filter.grows()) {
    out.append(fmt::format(" of {}", with_commas(stats.capacity_keys)));
  }
  out.append(fmt::format(", {}", human_size(stats.memory_bytes)));
  if (of.opened->filter.info().exact) return out.append(", exact");
  if (of.measured && of.measured->probes != 0) {
    out.append(fmt::format(", FPR {} measured on {}", percent(of.measured->rate()),
                           number_of(of.measured->probes, "absent key")));
  } else {
    out.append(fmt::format(", FPR {} by its fill", percent(stats.fpr_now)));
  }
  return out.append(", ").append(target_fpr_text(stats));
}

std::string as_text(const examination& of, const std::vector<symptom>& symptoms,
                    const std::vector<std::string>& left_out, const painter& paint) {
  std::string out = paint(style::bold, of.file);
  out.append(of.opened == nullptr ? "\n" : fmt::format(": {}\n", head_of(of)));
  for (const symptom& each : symptoms) {
    const bool broken = each.how_bad == severity::broken;
    out.append(fmt::format("{}  {} ({})\n", paint(broken ? style::bad : style::caution, broken ? "BROKEN" : "ADVICE"),
                           each.name, each.confidence));
    out.append(fmt::format("        {}\n", each.text));
    if (each.command.empty()) continue;
    out.append(fmt::format("        {} {}\n", each.command.starts_with("bloomery ") ? "$" : "->", each.command));
  }
  if (symptoms.empty()) out.append(fmt::format("{}  nothing is wrong with it\n", paint(style::good, "ok    ")));
  for (const std::string& each : left_out) out.append(fmt::format("not checked: {}\n", each));
  return out;
}

// What the library says about a file that cannot be opened as a filter; nothing where that is no damage.
std::optional<error> damage_in(const options& opts, const std::string& path) {
  const auto taken = format_options_of(opts);
  const auto file = input_file::open(path);
  if (!taken || !file || !file->is_regular()) return std::nullopt;
  const auto opened = formats::open(*file, {.from = opts.text(flag::from), .format = *taken, .in_memory = true});
  if (opened) return std::nullopt;
  switch (opened.error().code) {
    case errc::empty_file:
    case errc::truncated:
    case errc::trailing_bytes:
    case errc::header_damaged:
    case errc::chunk_damaged:
    case errc::bad_field:
    case errc::bad_text:
    case errc::codec_failed:
      return opened.error();
    default:
      return std::nullopt;
  }
}

outcome<int> print_report(const options& opts, const examination& of, const std::vector<symptom>& symptoms) {
  const auto left_out = of.opened == nullptr ? std::vector<std::string>{} : not_checked(opts, of);
  output out;
  if (opts.has(flag::json)) {
    out.write_json(as_json(of, symptoms, left_out));
  } else if (!opts.has(flag::quiet)) {
    out.write(as_text(of, symptoms, left_out, painter(opts, STDOUT_FILENO)));
  }
  if (auto done = out.flush(); !done) return failed(done.error());
  return is_unwell(symptoms) ? exit_unwell : 0;
}

outcome<void> measure(const options& opts, examination& of) {
  const hash_info* info = find_hash(of.opened->filter.hash().id);
  const bool locked = info != nullptr && info->key_bytes != 0 && !opts.has(flag::key_file);
  const bool needs_none = locked || of.opened->filter.info().exact;  // what is exact has no FPR
  if (needs_none && !opts.has(flag::keys) && !opts.has(flag::absent)) return {};
  key_sample sample;
  auto found = examine(opts, *of.opened, [&](const key_chunk& chunk) { sample.add(chunk); });
  if (!found) return failed(found.error());
  if (opts.has(flag::keys)) {
    sample.finish(found->different);
    of.keys = std::move(sample);
  }
  of.measured = std::move(*found);
  return {};
}

outcome<int> run_doctor(const options& opts) {
  if (opts.operands().size() != 1) return fail_usage("give one filter: bloomery doctor FILE");
  if (opts.has(flag::absent) && opts.has(flag::probes)) {
    return fail_usage("--absent and --probes contradict each other: give one");
  }
  const std::string& path = opts.operands().front();
  int from_input = path == "-" ? 1 : 0;
  for (const flag id : {flag::keys, flag::absent, flag::live}) from_input += opts.text(id) == "-" ? 1 : 0;
  if (from_input > 1) return fail_usage("standard input (-) can be read only once");
  examination of{.file = path == "-" ? "standard input" : path};
  const auto opened = open_filter(opts, path);
  if (!opened) {
    const auto why = damage_in(opts, path);
    if (!why) return failed(opened.error());
    return print_report(opts, of, {damage_of(opts, path, *why)});
  }
  const auto stats = opened->filter.stats();
  if (!stats) {
    if (stats.error().code != errc::chunk_damaged) return fail_file(opened->name, stats.error());
    return print_report(opts, of, {damage_of(opts, path, stats.error())});
  }
  of.opened = &*opened;
  of.stats = *stats;
  of.full = fullness_of(opened->filter.kind(), *stats);
  if (opts.has(flag::live)) {
    auto live = read_live(std::string(opts.text(flag::live)), path);
    if (!live) return failed(live.error());
    of.live = std::move(*live);
  }
  if (auto done = measure(opts, of); !done) return failed(done.error());
  return print_report(opts, of, diagnose(opts, of));
}

constexpr std::array doctor_examples = {
    example{"bloomery doctor seen.bloom", "what its file shows, and its FPR for generated keys"},
    example{"bloomery doctor seen.bloom --keys urls.txt --absent other.txt",
            "with its keys, and real ones that are absent"},
    example{"bloomery doctor users.bloom --live metrics.txt", "with the figures of the program that uses it"},
    example{"bloomery doctor --json seen.bloom | jq -r '.findings[].command'", "the commands that repair it"},
};

}  // namespace

const verb doctor_verb = {
    .name = "doctor",
    .alias = "",
    .bit = on_doctor,
    .summary = "find out what is wrong with a filter, and how to repair it",
    .usage = "FILE [--keys KEYFILE] [--absent FILE] [--live METRICS] [OPTIONS]",
    .description =
        "Examines the filter FILE, in any format that 'bloomery formats' lists, and prints what is wrong with it: each "
        "finding with its numbers, how sure it is, and the command that repairs it.\n\n"
        "From the file: damage, more keys than its capacity, a false-positive rate (FPR) above the promised one (by "
        "its "
        "fill, and measured with generated keys), a number of hash functions that its size does not suit, more than 4 "
        "sub-filters, and too few keys to be worth a filter (100,000).\n\n"
        "With --keys, the keys that it was built from: missing ones, ones that are in it and not in KEYFILE, repeats, "
        "a hash that confuses or bunches these keys, keys of which only few are possible, and integers so dense that "
        "a bitmap is smaller. With --absent, keys that are not in it: the FPR for these.\n\n"
        "With --live, the page of metrics of the guard that uses it (docs/guards.md), by the name of FILE where there "
        "are several: the FPR in use, removals that its kind cannot follow, look-ups of which it can save none, failed "
        "rebuilds.\n\n"
        "A finding is BROKEN, when answers are wrong or more of them than promised, or ADVICE. Write keys as they were "
        "written when the filter was built. doctor takes 16 to 24 bytes of memory per key of KEYFILE.",
    .examples = doctor_examples,
    .exit_codes = "0: nothing is broken; 1: something is, and the output says what to do; 2: error",
    .run = run_doctor,
};

}  // namespace bloomery::cli
