// bloomery info: what a filter is and how it stands.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bloomery/guards/metrics.hpp>
#include <bloomery/native/codec.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/filters/fullness.hpp"
#include "cli/filters/open.hpp"
#include "cli/filters/shards.hpp"
#include "cli/flags/numbers.hpp"
#include "cli/terminal/chart.hpp"
#include "cli/terminal/json_values.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/terminal.hpp"
#include "cli/verbs/verb.hpp"

namespace bloomery::cli {
namespace {

struct filter_report {
  const opened_filter& opened;
  filter_stats stats;
  fullness full;
  nlohmann::ordered_json shards{};  // of a filter in shards, for --json

  // A shard of a filter that is in several, described alone.
  [[nodiscard]] bool is_shard() const { return opened.header.shard.count != 0 && opened.filter.shards() == 0; }
  [[nodiscard]] const kind_info& kind() const { return opened.filter.info(); }
  [[nodiscard]] const kind_capabilities& can() const { return opened.filter.capabilities(); }
  // What counts against the capacity.
  [[nodiscard]] double held() const {
    if (stats.loss) return static_cast<double>(stats.loss->added_keys);
    return stats.keys.exact ? static_cast<double>(stats.keys.keys) : stats.estimated_keys;
  }
  [[nodiscard]] std::vector<std::string> advice() const {
    std::vector<std::string> out;
    if (full.overfull) out.push_back(overfull_advice(kind(), stats, full));
    if (std::string text = loss_advice(stats); !text.empty()) out.push_back(std::move(text));
    if (std::string text = delivered_advice(stats); !text.empty()) out.push_back(std::move(text));
    return out;
  }
  [[nodiscard]] std::string hash_name() const {
    const hash_info* info = find_hash(opened.filter.hash().id);
    return info == nullptr ? fmt::format("number {}", opened.filter.hash().id) : std::string(info->name);
  }
};

nlohmann::ordered_json as_json(const fact_value& value) {
  switch (value.holds()) {
    case fact_value::type::none:
      break;
    case fact_value::type::integer:
      return value.integer();
    case fact_value::type::real:
      return value.real();
    case fact_value::type::text:
      return value.text();
  }
  return nullptr;
}

// Each under its name, in its group where it has one.
void add_facts(nlohmann::ordered_json& out, const fact_list& facts) {
  for (const fact& each : facts) {
    nlohmann::ordered_json& to = each.group.empty() ? out : out[std::string(each.group)];
    to[std::string(each.name)] = as_json(each.value);
  }
}

nlohmann::ordered_json parameters_of(const any_filter& filter) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  add_facts(out, filter.facts());
  return out;
}

// One object a shard.
outcome<nlohmann::ordered_json> shards_of(const opened_filter& opened) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (unsigned i = 0; i < opened.filter.shards(); ++i) {
    const any_filter& shard = opened.filter.shard(i);
    const auto stats = shard.stats();
    if (!stats) return fail_file(opened.name, stats.error());
    out.push_back({{"file", shard_file(opened.name, i, opened.filter.shards())},
                   {"parameters", parameters_of(shard)},
                   {"capacity_keys", stats->capacity_keys},
                   {"keys", stats->keys.keys},
                   {"fill", stats->fill},
                   {"fpr_now", stats->fpr_now},
                   {"memory_bytes", stats->memory_bytes}});
  }
  return out;
}

nlohmann::ordered_json as_json(const filter_report& report) {
  auto out = nlohmann::ordered_json::object();
  const file_header& header = report.opened.header;
  out["file"] = report.opened.name;
  out["format"] = report.opened.format->name;
  if (report.opened.format->is_native()) out["file_version"] = header.version;
  out["file_bytes"] = report.opened.file_bytes;
  out["compression"] = codec_name(report.opened.codec);
  out["kind"] = report.kind().name;
  if (report.opened.filter.shards() != 0) {
    out["shards"] = report.opened.filter.shards();
    out["each_shard"] = report.shards;
  } else {
    const nlohmann::ordered_json parameters = parameters_of(report.opened.filter);
    if (!parameters.empty()) out["parameters"] = parameters;
    if (report.is_shard()) out["shard"] = {{"index", header.shard.index}, {"of", header.shard.count}};
  }
  out["hash"] = report.hash_name();
  out["seed"] = report.opened.filter.hash().seed;
  out["key_id"] = report.opened.filter.hash().key_id == 0
                      ? nlohmann::ordered_json(nullptr)
                      : nlohmann::ordered_json(fmt::format("{:016x}", report.opened.filter.hash().key_id));
  out["digest_bits"] = report.opened.filter.digest_bits();
  out["capacity_keys"] = capacity_of(report.opened.filter, report.stats);
  out["keys"] = report.stats.keys.keys;
  out["keys_exact"] = report.stats.keys.exact;
  out["estimated_keys"] = report.stats.estimated_keys;
  out["fill"] = report.stats.fill;
  add_facts(out, report.stats.facts);
  out["target_fpr"] = target_fpr_of(report.stats);
  out["fpr_now"] = report.stats.fpr_now;
  if (report.stats.delivered_fpr > 0) out["fpr_delivered"] = report.stats.delivered_fpr;
  out["overfull"] = report.full.overfull;
  out["advice"] = report.advice();
  out["memory_bytes"] = report.stats.memory_bytes;
  return out;
}

void add_line(std::string& out, std::string_view name, std::string_view value) {
  out.append(fmt::format("  {:<14} {}\n", name, value));
}

std::string fact_text(const fact_value& value, fact_unit unit) {
  const double real = value.real();
  switch (value.holds()) {
    case fact_value::type::text:
      return std::string(value.text());
    case fact_value::type::real:
      if (unit == fact_unit::share) return fpr_text(real);
      if (unit == fact_unit::seconds) return human_duration(static_cast<std::uint64_t>(std::llround(real * 1e9)));
      return unit == fact_unit::bits ? fmt::format("{:.2f}", real) : fmt::format("{:.4g}", real);
    case fact_value::type::integer:
      if (unit == fact_unit::keys) return number_of(value.integer(), "key");
      if (unit == fact_unit::slots) return number_of(value.integer(), "slot");
      if (unit == fact_unit::counters) return number_of(value.integer(), "counter");
      return with_commas(value.integer());  // bits and bytes are in the label
    case fact_value::type::none:
      break;
  }
  return {};
}

// Those of the statistics that stand beside this figure, a line for each that does not continue one.
void add_facts(std::string& out, const filter_report& report, fact_topic topic) {
  std::string_view label;
  std::string line;
  for (const fact& each : report.stats.facts) {
    if (each.topic != topic || each.detail || each.value.holds() == fact_value::type::none) continue;
    if (!each.phrase.continues) {
      if (!line.empty()) add_line(out, label, line);
      label = each.label;
      line.clear();
    }
    if (each.value.is_zero() && !each.phrase.zero.empty()) {
      line.append(each.phrase.zero);
    } else {
      line.append(each.phrase.before).append(fact_text(each.value, each.unit)).append(each.phrase.after);
    }
  }
  if (!line.empty()) add_line(out, label, line);
}

// The values of the shards, each text once: "none or of the included keys".
std::string texts_of(const any_filter& filter, std::string_view name) {
  std::vector<std::string_view> texts;
  std::string out;
  for (unsigned i = 0; i < filter.shards(); ++i) {
    const fact_list facts = filter.shard(i).facts();
    const fact* own = facts.find(name);
    const std::string_view text = own == nullptr ? "" : own->value.text();
    if (std::find(texts.begin(), texts.end(), text) != texts.end()) continue;
    texts.push_back(text);
    out.append(fmt::format("{}{}", out.empty() ? "" : " or ", text));
  }
  return out;
}

// "1,024", or with shards that differ "1,024 to 1,040"
std::string value_text(const any_filter& filter, const fact& of) {
  if (filter.shards() == 0) return fact_text(of.value, fact_unit::none);  // the label has the unit
  if (of.value.holds() != fact_value::type::integer) return texts_of(filter, of.name);
  std::uint64_t least = of.value.integer();
  std::uint64_t most = least;
  for (unsigned i = 1; i < filter.shards(); ++i) {
    const fact_list facts = filter.shard(i).facts();
    const fact* own = facts.find(of.name);
    if (own == nullptr) continue;
    least = std::min(least, own->value.integer());
    most = std::max(most, own->value.integer());
  }
  if (least == most) return fmt::format("{} in each shard", with_commas(least));
  return fmt::format("{} to {} in a shard", with_commas(least), with_commas(most));
}

std::string shards_text(const filter_report& report) {
  const unsigned count = report.opened.filter.shards();
  const std::string first = shard_file(report.opened.name, 0, count);
  if (count == 1) return fmt::format("1 shard: {}", first);
  return fmt::format("{} shards: {} to {}", count, first, shard_file(report.opened.name, count - 1, count));
}

// A shard alone.
std::string shard_text(const filter_report& report) {
  const shard_place& place = report.opened.header.shard;
  const std::string set = set_of(report.opened.name, place);
  return fmt::format("{}: one shard of {}; the following is about this shard alone",
                     shard_label(place.index, place.count).c_str(),
                     set.empty() ? "a filter in several files" : fmt::format("the filter {}", set));
}

std::string file_text(const filter_report& report) {
  const file_header& header = report.opened.header;
  std::string out = exact_size(report.opened.file_bytes);
  if (report.opened.format->is_native()) {
    out.append(fmt::format(", {} version {}", header.text ? "text encoding of" : "native", header.version));
  } else {
    out.append(fmt::format(", format {}: {}", report.opened.format->name, report.opened.format->summary));
  }
  if (report.opened.codec != codec_none) {
    out.append(fmt::format(", {}: {} of the memory", codec_name(report.opened.codec),
                           percent(static_cast<double>(report.opened.file_bytes) /
                                   static_cast<double>(std::max<std::uint64_t>(1, report.stats.memory_bytes)))));
  }
  return out;
}

// An insert of a key that seems to be there is not counted, so what was counted is a little less than what is in it.
std::string keys_text(const filter_report& report) {
  const std::string estimate = with_commas(static_cast<std::uint64_t>(report.stats.estimated_keys + 0.5));
  if (report.kind().exact) return with_commas(report.stats.keys.keys);
  if (report.can().excludes && report.opened.filter.shards() != 0) {
    return fmt::format("{} included, {} excluded", with_commas(report.stats.keys.keys),
                       with_commas(report.stats.capacity_keys - report.stats.keys.keys));
  }
  if (report.can().excludes) return fmt::format("{} included", with_commas(report.stats.keys.keys));
  if (report.can().expires) {
    return fmt::format("{} inserted since it was made (while they were not in it)",
                       with_commas(report.stats.keys.keys));
  }
  if (!report.stats.keys.exact && static_cast<double>(report.full.keys) < 0.9 * report.stats.estimated_keys) {
    return fmt::format("about {}, and as full as one with {}, as an intersection is", with_commas(report.full.keys),
                       estimate);
  }
  if (!report.stats.keys.exact) return fmt::format("about {} (estimated from the fill)", estimate);
  return fmt::format("{} counted (inserts of keys that were not in it{}), {} estimated from the fill",
                     with_commas(report.stats.keys.keys),
                     report.stats.loss && report.stats.loss->removals != 0 ? ", less removals" : "", estimate);
}

std::string fpr_line(const filter_report& report, double fpr) {
  if (report.kind().exact) return "0 (exact)";
  return report.can().excludes ? fmt::format("0 for keys of both lists, {} for others", percent(fpr)) : fpr_text(fpr);
}

std::string as_text(const filter_report& report, const painter& paint) {
  std::string out = fmt::format("{}\n", paint(style::bold, report.opened.name));
  add_line(out, "file", file_text(report));
  add_line(out, "kind", fmt::format("{}: {}", report.kind().name, report.kind().summary));
  if (report.is_shard()) add_line(out, "shard", shard_text(report));
  if (report.opened.filter.shards() != 0) add_line(out, "set", shards_text(report));
  for (const fact& each : report.opened.filter.facts()) {
    add_line(out, each.label, value_text(report.opened.filter, each));
  }
  const hash_spec& hash = report.opened.filter.hash();
  std::string hash_text = report.hash_name();
  if (hash.key_id == 0) hash_text.append(fmt::format(", seed {}", hash.seed));
  if (hash.key_id != 0) hash_text.append(fmt::format(", secret key {:016x}", hash.key_id));
  add_line(out, "hash", fmt::format("{}, {}-bit digests", hash_text, report.opened.filter.digest_bits()));
  add_line(out, "keys", keys_text(report));
  add_facts(out, report, fact_topic::keys);
  if (!report.stats.target_known) {
    add_line(out, "capacity", "unknown: not stored in the file");
  } else if (!report.opened.filter.grows() && !report.can().excludes && !report.can().expires) {
    const double share = report.held() / static_cast<double>(report.stats.capacity_keys);
    add_line(out, "capacity", fmt::format("{}, {} used", number_of(report.stats.capacity_keys, "key"), percent(share)));
  }
  add_line(out, "fill", percent(report.stats.fill));
  add_facts(out, report, fact_topic::fill);
  add_line(out, "FPR promised",
           report.stats.target_known ? fpr_line(report, report.stats.target_fpr) : "unknown: not stored in the file");
  add_line(out, "FPR now", fpr_line(report, report.stats.fpr_now));
  add_facts(out, report, fact_topic::fpr);
  add_line(out, "memory", exact_size(report.stats.memory_bytes));
  add_facts(out, report, fact_topic::size);
  for (const std::string& text : report.advice()) {
    const bool full = report.full.overfull || report.stats.loss;
    out.append(
        fmt::format("  {} {}\n", paint(style::caution, fmt::format("{:<14}", full ? "overfull" : "small")), text));
  }
  return out;
}

// How many cells of a byte are in use: bits that are set, or counters above 0.
unsigned cells_in_use(unsigned byte, unsigned cell_bits) {
  unsigned used = 0;
  for (unsigned mask = (1U << cell_bits) - 1; mask <= 0xffU; mask <<= cell_bits) used += (byte & mask) != 0 ? 1 : 0;
  return used;
}

// The share of cells in use in equal sections of the array, in the order of memory.
std::vector<double> fill_by_section(std::span<const std::byte> bytes, std::size_t sections, unsigned cell_bits) {
  std::array<std::uint8_t, 256> in_use{};
  for (unsigned byte = 0; byte < 256; ++byte) in_use[byte] = static_cast<std::uint8_t>(cells_in_use(byte, cell_bits));
  const double cells_a_byte = 8.0 / static_cast<double>(cell_bits);
  std::vector<double> shares;
  for (std::size_t section = 0; section < sections; ++section) {
    const std::size_t first = bytes.size() / sections * section + std::min(section, bytes.size() % sections);
    const std::size_t last = bytes.size() / sections * (section + 1) + std::min(section + 1, bytes.size() % sections);
    std::uint64_t used = 0;
    for (std::size_t i = first; i < last; ++i) used += in_use[std::to_integer<std::size_t>(bytes[i])];
    shares.push_back(last == first ? 0
                                   : static_cast<double>(used) / (cells_a_byte * static_cast<double>(last - first)));
  }
  return shares;
}

// The arrays of the filter: one, or that of each shard.
outcome<std::vector<std::span<const std::byte>>> arrays_of(const opened_filter& opened) {
  std::vector<std::span<const std::byte>> out;
  const unsigned shards = opened.filter.shards();
  for (unsigned i = 0; i < std::max(shards, 1U); ++i) {
    const auto bytes = shards == 0 ? opened.filter.bytes() : opened.filter.shard(i).bytes();
    if (!bytes) return fail_file(opened.name, bytes.error());
    out.push_back(*bytes);
  }
  return out;
}

outcome<std::string> fill_chart(const options& opts, const opened_filter& opened, unsigned cell_bits) {
  const auto arrays = arrays_of(opened);
  if (!arrays) return failed(arrays.error());
  const std::size_t bytes = arrays->front().size();
  if (bytes == 0) return fmt::format("  (kind {} has no bit array to draw)\n", opened.filter.info().name);
  constexpr std::size_t columns = 64;
  constexpr std::size_t most_rows = 8;
  const chart_look look = look_of(opts, STDOUT_FILENO);
  const std::size_t rows = std::clamp<std::size_t>(bytes * arrays->size() / columns, 1, most_rows);
  const std::size_t per_array = std::clamp<std::size_t>(rows * columns / arrays->size(), 1, bytes);
  std::vector<double> shares;
  for (const auto& array : *arrays) {
    const auto own = fill_by_section(array, per_array, cell_bits);
    shares.insert(shares.end(), own.begin(), own.end());
  }
  const std::size_t sections = shares.size();
  const auto [least, most] = std::minmax_element(shares.begin(), shares.end());
  std::string out =
      fmt::format("\n  fill of {} sections of the array{}, {} each, from 0 % (blank) to 100 % (full)\n", sections,
                  arrays->size() == 1 ? "" : "s, shard by shard", human_size(bytes / per_array));
  for (std::size_t first = 0; first < sections; first += columns) {
    const std::size_t size = std::min(columns, sections - first);
    out.append(fmt::format("  |{}|\n", draw_heat(std::span(shares).subspan(first, size), 0.0, 1.0, look)));
  }
  out.append(fmt::format("  emptiest section {}, fullest section {}\n", percent(*least), percent(*most)));
  return out;
}

outcome<void> show(const options& opts, const std::string& path, output& out) {
  const auto opened = open_filter(opts, path);
  if (!opened) return failed(opened.error());
  const auto stats = opened->filter.stats();
  if (!stats) return fail_file(opened->name, stats.error());
  filter_report report{*opened, *stats, fullness_of(opened->filter.kind(), *stats)};
  if (opts.has(flag::json)) {
    auto shards = shards_of(*opened);
    if (!shards) return failed(shards.error());
    report.shards = std::move(*shards);
    if (opts.operands().size() == 1) {
      out.write_json(as_json(report));
    } else {
      out.write(as_json(report).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
      out.write('\n');
    }
    return {};
  }
  out.write(as_text(report, painter(opts, STDOUT_FILENO)));
  if (opts.has(flag::plot)) {
    const auto drawn = fill_chart(opts, *opened, stats->cell_bits);
    if (!drawn) return failed(drawn.error());
    out.write(*drawn);
  }
  return {};
}

// All filters as one page, because a family of figures has one head for all of them.
outcome<int> print_metrics(const options& opts) {
  std::vector<opened_filter> filters;
  std::vector<filter_metrics> sources;
  metrics page;
  for (const std::string& path : opts.operands()) {
    auto opened = open_filter(opts, path);
    if (!opened) return failed(opened.error());
    if (const auto stats = opened->filter.stats(); !stats) return fail_file(opened->name, stats.error());
    filters.push_back(std::move(*opened));
  }
  sources.reserve(filters.size());
  for (const opened_filter& each : filters) {
    sources.push_back({each.filter});
    if (auto done = page.add(each.name, sources.back()); !done) return fail_file(each.name, done.error());
  }
  memory_sink text;
  if (auto done = page.render(byte_sink(text)); !done) return fail_error(done.error());
  output out;
  out.write({reinterpret_cast<const char*>(text.bytes().data()), text.bytes().size()});
  if (auto done = out.flush(); !done) return failed(done.error());
  return 0;
}

outcome<int> run_info(const options& opts) {
  if (opts.operands().empty()) return fail_usage("give a filter: bloomery info FILE...");
  if (opts.has(flag::metrics)) {
    if (opts.has(flag::json)) return fail_usage("--metrics and --json contradict each other: give one");
    if (opts.has(flag::plot)) return fail_usage("--metrics and --plot contradict each other: give one");
    return print_metrics(opts);
  }
  if (opts.has(flag::json) && opts.has(flag::plot))
    return fail_usage("--plot and --json contradict each other: give one");
  output out;
  for (const std::string& path : opts.operands()) {
    if (auto shown = show(opts, path, out); !shown) {
      static_cast<void>(out.flush());
      return failed(shown.error());
    }
  }
  if (auto done = out.flush(); !done) return failed(done.error());
  return 0;
}

constexpr std::array info_examples = {
    example{"bloomery info seen.bloom", "kind, size, keys, false-positive rate now and promised"},
    example{"bloomery info --plot seen.bloom", "with a chart of how full the array is"},
    example{"bloomery info --metrics *.bloom > filters.prom", "the same for Prometheus"},
    example{"bloomery info --json *.bloom | jq -r 'select(.overfull).file'", "the filters that hold too many keys"},
};

}  // namespace

const verb info_verb = {
    .name = "info",
    .alias = "show",
    .bit = on_info,
    .summary = "describe a filter and how full it is",
    .usage = "[OPTIONS] FILE...",
    .description =
        "Describes each FILE, in any format that 'bloomery formats' lists: kind and parameters, hash, number of "
        "keys (exact, or estimated after a merge), capacity, fill, false-positive rate (FPR) promised and now "
        "(for kinds that may lose keys also the loss), memory and file size, and whether it holds more keys "
        "than its capacity. Several files print one block each, or with --json one object per line. For a "
        "filter in shards FILE is the name without the shard number; the file of one shard is described alone.\n\n"
        "--metrics prints keys, capacity, fill, false-positive rates and memory of all FILEs as one page in the text "
        "format of Prometheus, which its node exporter takes from a file.\n\n"
        "info reads and checks the complete file; with --trust it does not check. - is standard input.",
    .examples = info_examples,
    .exit_codes = "0: done; 2: error, such as a damaged file",
    .run = run_info,
};

}  // namespace bloomery::cli
