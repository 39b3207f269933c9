// The figures of a running program, as metrics::render writes them.
#include <fmt/core.h>

#include <algorithm>
#include <bloomery/guards/metrics.hpp>
#include <bloomery/guards/metrics_reader.hpp>
#include <bloomery/posix/input.hpp>

#include "cli/verbs/doctor.hpp"

namespace bloomery::cli {
namespace {

constexpr std::uint64_t most_live_bytes = std::uint64_t{64} << 20U;

void note_figure(live_figures& out, const metric_sample& each) {
  namespace family = metric_families;
  if (each.family == family::lookups.name) {
    const std::string_view answer = each.label("answer");
    if (answer == "saved") out.saved = each.value;
    if (answer == "remembered") out.remembered = each.value;
    if (answer == "confirmed") out.confirmed = each.value;
    if (answer == "false_positive") out.false_positives = each.value;
    if (answer == "unfiltered") out.unfiltered = each.value;
    if (answer == "failed") out.failed = each.value;
  } else if (each.family == family::inserts.name) {
    out.inserts = each.value;
  } else if (each.family == family::removals.name) {
    out.removals = each.value;
  } else if (each.family == family::rebuilds.name) {
    if (each.label("outcome") == "failed") out.failed_rebuilds = each.value;
  } else if (each.family == family::filtering.name) {
    out.filtering = each.value > 0;
  }
}

}  // namespace

outcome<live_figures> read_live(const std::string& path, std::string_view filter_name) {
  const auto read = read_file(path == "-" ? "/dev/stdin" : path.c_str(), nullptr, most_live_bytes);
  if (!read) return fail_file(path, read.error());
  const std::string_view text(reinterpret_cast<const char*>(read->bytes().data()), read->size);
  std::vector<live_figures> guards;
  const auto done = read_metrics(text, [&](const metric_sample& each) {
    if (!each.family.starts_with("bloomery_")) return;
    const std::string_view name = each.label("name");
    auto found = std::find_if(guards.begin(), guards.end(), [&](const live_figures& one) { return one.name == name; });
    if (found == guards.end()) found = guards.insert(guards.end(), live_figures{.name = std::string(name)});
    note_figure(*found, each);
  });
  if (!done) return fail_file(path, done.error());
  if (guards.empty()) return fail_file(path, "holds no figures of a guard (bloomery_lookups_total and others)");
  if (guards.size() == 1) return guards.front();
  // Named as the file, with or without its folders and its ending.
  std::string_view stem = filter_name.substr(filter_name.rfind('/') + 1);
  const std::string_view base = stem;
  stem = stem.substr(0, stem.find('.'));
  std::string names;
  for (const live_figures& each : guards) {
    if (each.name == filter_name || each.name == base || each.name == stem) return each;
    names.append(names.empty() ? "" : ", ").append(each.name);
  }
  return fail_file(path, fmt::format("holds figures of several guards, and none has the name {}: {}", stem, names));
}

}  // namespace bloomery::cli
