// bloomery verify: whether a filter keeps its two promises.
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/filters/fullness.hpp"
#include "cli/flags/numbers.hpp"
#include "cli/terminal/json_values.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/terminal.hpp"
#include "cli/verbs/verb.hpp"
#include "cli/verbs/verify_checks.hpp"

namespace bloomery::cli {
namespace {

nlohmann::ordered_json as_json(const findings& found, const opened_filter& opened) {
  auto out = nlohmann::ordered_json::object();
  out["filter"] = opened.name;
  out["format"] = opened.format->name;
  out["kind"] = opened.filter.info().name;
  out["holds"] = found.holds();
  out["keys"] = found.keys;
  out["different_keys"] = found.different;
  out["false_negatives"] = found.missing;
  out["first_missing"] = nlohmann::ordered_json::array();
  for (const missing_key& key : found.first_missing)
    out["first_missing"].push_back({{"line", key.line}, {"text", key.text}});
  if (found.stats.loss) {
    out["loss_measured"] = found.loss_rate();
    out["loss_low"] = found.lost_low;
    out["loss_high"] = found.lost_high;
    out["target_loss"] = found.may_lose() ? found.stats.loss->target_rate : 0.0;
    out["loss_now"] = found.stats.loss->rate;
    out["loss_holds"] = found.keys_hold();
  }
  out["probes"] = found.probes;
  out["probes_generated"] = found.generated;
  out["probes_that_are_keys"] = found.not_absent;
  out["false_positives"] = found.hits;
  out["fpr_measured"] = found.rate();
  out["fpr_low"] = found.low;
  out["fpr_high"] = found.high;
  out["confidence"] = findings::confidence;
  out["tolerance"] = findings::tolerance;
  out["target_fpr"] = target_fpr_of(found.stats);
  out["fpr_now"] = found.stats.fpr_now;
  out["fpr_holds"] = found.fpr_holds();
  out["keys_in_filter"] = found.full.keys;
  out["capacity_keys"] = capacity_of(opened.filter, found.stats);
  out["overfull"] = found.full.overfull;
  out["advice"] = advice_on(found, opened);
  return out;
}

std::string verdict(bool good, const painter& paint) {
  return good ? paint(style::good, "ok    ") : paint(style::bad, "BROKEN");
}

std::string keys_text(const findings& found, const painter& paint) {
  const bool within = found.missing != 0 && found.keys_hold();
  std::string out = fmt::format("{}  false negatives  {} of {}",
                                within ? paint(style::caution, "LOST  ") : verdict(found.keys_hold(), paint),
                                with_commas(found.missing), number_of(found.keys, "key"));
  if (found.may_lose()) {
    out.append(fmt::format(": {}\n", percent(found.loss_rate())));
    out.append(
        fmt::format("          between {} and {} with 99 % confidence; promised {}, expected now {}: after a "
                    "removal this kind may lose keys\n",
                    percent(found.lost_low), percent(found.lost_high), percent(found.stats.loss->target_rate),
                    percent(found.stats.loss->rate)));
  } else {
    out.append("\n");
  }
  for (const missing_key& key : found.first_missing)
    out.append(fmt::format("          line {}: {}\n", key.line, key.text));
  if (found.missing > found.first_missing.size()) {
    out.append(fmt::format("          and {} more\n", with_commas(found.missing - found.first_missing.size())));
  }
  return out;
}

std::string as_text(const findings& found, const opened_filter& opened, const painter& paint) {
  std::string out = keys_text(found, paint);
  out.append(fmt::format("{}  false positives  {} of {}: {}\n", verdict(found.fpr_holds(), paint),
                         with_commas(found.hits), number_of(found.probes, "absent key"), percent(found.rate())));
  out.append(fmt::format("          between {} and {} with 99 % confidence; {}, expected now {}\n", percent(found.low),
                         percent(found.high), target_fpr_text(found.stats), percent(found.stats.fpr_now)));
  if (found.not_absent != 0) {
    out.append(
        fmt::format("          {} of the absent keys are keys and were left out\n", with_commas(found.not_absent)));
  }
  if (found.full.overfull) {
    out.append(fmt::format("{}  more keys than it was made for\n", paint(style::caution, "FULL  ")));
  }
  for (const std::string& text : advice_on(found, opened)) out.append(fmt::format("{}\n", paint(style::caution, text)));
  return out;
}

outcome<int> run_verify(const options& opts) {
  if (opts.operands().size() != 1) return fail_usage("give one filter: bloomery verify FILE --keys KEYFILE");
  if (!opts.has(flag::keys)) return fail_usage("give the keys that it was built from: --keys KEYFILE");
  if (opts.has(flag::absent) && opts.has(flag::probes)) {
    return fail_usage("--absent and --probes contradict each other: give one");
  }
  const int from_input = (opts.operands().front() == "-" ? 1 : 0) + (opts.text(flag::keys) == "-" ? 1 : 0) +
                         (opts.text(flag::absent) == "-" ? 1 : 0);
  if (from_input > 1) return fail_usage("standard input (-) can be read only once");
  const auto opened = open_filter(opts, opts.operands().front());
  if (!opened) return failed(opened.error());
  const auto found = examine(opts, *opened);
  if (!found) return failed(found.error());
  output out;
  if (opts.has(flag::json)) {
    out.write_json(as_json(*found, *opened));
  } else if (!opts.has(flag::quiet)) {
    out.write(as_text(*found, *opened, painter(opts, STDOUT_FILENO)));
  }
  if (auto done = out.flush(); !done) return failed(done.error());
  return found->holds() ? 0 : 1;
}

constexpr std::array verify_examples = {
    example{"bloomery verify seen.bloom --keys urls.txt", "is every line in it, and is its FPR as promised?"},
    example{"bloomery verify seen.bloom --keys urls.txt --probes 100M", "a sharper measurement"},
    example{"bloomery verify seen.bloom --keys urls.txt --absent other.txt",
            "measured with real keys that are not in it"},
    example{"bloomery verify revoked.bloom --keys revoked.txt --absent valid.txt",
            "of kind cascade: is it right about every line of both?"},
};

}  // namespace

const verb verify_verb = {
    .name = "verify",
    .alias = "",
    .bit = on_verify,
    .summary = "check that a filter keeps its promises",
    .usage = "FILE --keys KEYFILE [OPTIONS]",
    .description =
        "Looks up every key of KEYFILE in the filter FILE: none may be missing. Then looks up generated keys "
        "that are not in KEYFILE and counts the false positives. With 99 % confidence (Clopper-Pearson) the "
        "false-positive rate (FPR) must not exceed 1.05 times the promised one.\n\n"
        "A KEYFILE without keys, or --absent without absent keys, is an error: there is nothing to check.\n\n"
        "Kind cascade promises an FPR of 0 for the keys that it excludes: with --absent, none of these may "
        "match.\n\n"
        "A filter of kind dual may lose keys once some were removed: missing keys are reported and break no "
        "promise as long as they are at most 1.05 times its promised loss, with the same confidence. Removed "
        "keys must not be in KEYFILE.\n\n"
        "If a promise is broken, verify prints what to change. It also reports a filter that holds more keys "
        "than its capacity, which alone breaks no promise.\n\n"
        "Write keys as they were written when the filter was built. verify takes 8 to 16 bytes of memory per "
        "key of KEYFILE in addition to the filter.",
    .examples = verify_examples,
    .exit_codes = "0: both promises hold; 1: one is broken, and the output explains what to change; 2: error",
    .run = run_verify,
};

}  // namespace bloomery::cli
