#include "cli/verbs/plan_answers.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bloomery/hash/list.hpp>
#include <cmath>
#include <limits>

#include "cli/filters/kind_table.hpp"
#include "cli/flags/numbers.hpp"

namespace bloomery::cli {
namespace {

constexpr std::uint64_t assumed_keys = 1'000'000;
constexpr std::string_view usual_kind = "blocked";

std::string over_memory(const plan_row& row, const plan_question& question) {
  std::string text = fmt::format("takes {} and --mem gives {}", exact_size(row.plan->memory_bytes),
                                 exact_size(*question.memory_ceiling));
  const auto within = row.solve({.keys = row.plan->keys, .memory_bytes = question.memory_ceiling}, question.layout);
  if (within && within->memory_bytes <= *question.memory_ceiling) {
    text.append(fmt::format("; within that, its FPR is {}", percent(within->fpr)));
  }
  return text;
}

// A filter that matches almost everything is useless.
constexpr double useless_fpr = 0.9;

std::string over_fpr(const plan_row& row, const plan_question& question) {
  const double wanted = question.fpr_ceiling ? *question.fpr_ceiling : default_fpr;
  std::string text = question.fpr_ceiling
                         ? fmt::format("gives {} and -p is {}", percent(row.plan->fpr), percent(wanted))
                         : fmt::format("is too small: it would match {} of absent keys; {} would be usual",
                                       percent(row.plan->fpr), percent(wanted));
  const auto enough = row.solve({.keys = row.plan->keys, .fpr = wanted}, question.layout);
  if (enough) text.append(fmt::format("; that needs {:.2f} bits per key", enough->bits_per_key));
  return text;
}

plan_row answer_of(const kind_entry& kind, const plan_question& question) {
  plan_row row{.info = kind.info, .can = kind.capabilities, .solve = kind.plan};
  size_request request = row.can.excludes ? question.two_lists : question.request;
  if (!question.codec.empty() && row.can.packs && request.keys && request.fpr && !request.hashes) {
    request.hashes = kind.packed_hashes(*request.fpr);
  }
  row.plan = kind.plan(request, question.layout);
  if (!row.plan) {
    row.why_not = text_of(row.plan.error());
  } else if (question.memory_ceiling && row.plan->memory_bytes > *question.memory_ceiling) {
    row.why_not = over_memory(row, question);
  } else if (!row.can.excludes && row.plan->fpr > (question.fpr_ceiling ? *question.fpr_ceiling : useless_fpr)) {
    row.why_not = over_fpr(row, question);
  }
  return row;
}

// The number of keys from which on a layout of fixed sizes reaches the FPR.
std::string plan_delivered_advice(const plan_question& question, const plan_row& row) {
  const double wanted = *question.request.fpr;
  std::string text = fmt::format(
      "Kind {} in layout {} delivers {}, above the {} of -p: all bits of a key come from two hashes, which too many "
      "keys "
      "share in a filter this small.",
      row.info->name, question.layout, percent(row.plan->fpr), percent(wanted));
  for (double keys = static_cast<double>(row.plan->keys) * 1.25; keys < static_cast<double>(max_keys); keys *= 1.25) {
    // Two digits, and the next numbers, too: sizes near a power of two are worse than others.
    const double digits = std::pow(10.0, std::max(0.0, std::floor(std::log10(keys)) - 1));
    const auto rounded = static_cast<std::uint64_t>(std::ceil(keys / digits) * digits);
    const auto at = row.solve({.keys = rounded, .fpr = wanted}, question.layout);
    if (!at) break;
    if (at->fpr > wanted) continue;
    return text.append(fmt::format(" Made for {} (-n {}) it keeps {}; other layouts do for any number.",
                                   number_of(rounded, "key"), rounded, percent(wanted)));
  }
  return text;
}

// Of the filter that was planned, not the one that would be chosen for other numbers.
std::string_view layout_of(const plan_question& question, const plan_row& row) {
  return row.plan->layout.empty() ? std::string_view(question.layout) : row.plan->layout;
}

std::string headroom_advice(const plan_question& question, const plan_row& row) {
  const auto later = static_cast<std::uint64_t>(std::ceil(static_cast<double>(row.plan->keys) * 1.25));
  const auto overfull =
      row.solve({.keys = later, .bits = row.plan->bits, .hashes = row.plan->hashes}, layout_of(question, row));
  const auto roomy = row.solve({.keys = later, .fpr = row.plan->fpr}, question.layout);
  std::string text = "Keep 20-30 % headroom.";
  if (overfull) {
    text.append(fmt::format(" With 25 % more keys than planned ({}), {} answers at {} instead of {}",
                            with_commas(later), row.info->name, percent(overfull->fpr), percent(row.plan->fpr)));
    text.append(roomy ? fmt::format("; planned for that many, it takes {}.", human_size(roomy->memory_bytes)) : ".");
  }
  return text;
}

// Where the exact kind for integers becomes the smaller one: it takes one bit for each integer of the range, as long as
// that is less than what it takes for each key of a sparse range.
std::string crossover_advice(const plan_row& row, const plan_row& exact) {
  const double one_in = std::min(row.plan->bits_per_key, exact.plan->bits_per_key);
  const double range = std::round(static_cast<double>(row.plan->keys) * one_in);
  return fmt::format(
      "Kind {} is exact, and smaller than {} at {}, when the keys are integers "
      "and at least one in {:.1f} of their range is a key: for {}, when the largest is below {}.",
      exact.info->name, row.info->name, percent(row.plan->fpr), one_in, number_of(row.plan->keys, "key"),
      range < 1.8e19 ? with_commas(static_cast<std::uint64_t>(range)) : fmt::format("{:.3g}", range));
}

// Unusual FPRs: one that a little more memory would make useful, one that wastes memory.
constexpr double high_fpr = 0.2;
constexpr double low_fpr = 1e-9;

std::string unusual_fpr_advice(const plan_question& question, const plan_row& row) {
  const double fpr = row.plan->fpr;
  if (fpr <= high_fpr && fpr >= low_fpr) return {};
  const double better = fpr > high_fpr ? default_fpr : low_fpr;
  const auto other = row.solve({.keys = row.plan->keys, .fpr = better}, question.layout);
  if (!other) return {};
  return fmt::format("An FPR of {} is {}: {} takes {} instead of {}.", percent(fpr),
                     fpr > high_fpr ? "high, and most of the work that a filter saves is done nevertheless"
                                    : "lower than almost any use needs",
                     percent(better), human_size(other->memory_bytes), human_size(row.plan->memory_bytes));
}

// What the file of a kind that packs takes, and whether a static one takes less uncompressed.
std::string packed_advice(const plan_question& question, const plan_row& row, const std::vector<plan_row>& rows) {
  const double bits = sizing::packed_bits_per_key(*row.plan);
  const double bytes = bits * static_cast<double>(row.plan->keys) / 8.0;
  std::string text = fmt::format("Compressed with {}, {} takes about {} in its file, {:.2f} bits per key{}.",
                                 question.codec, row.info->name, human_size(static_cast<std::uint64_t>(bytes)), bits,
                                 question.codec == "rans" ? "" : " and up to 4 % more");
  const plan_row* other = nullptr;
  for (const plan_row& each : rows) {
    if (!each.fits() || !each.can.is_static || each.plan->bits_per_key >= bits) continue;
    if (other == nullptr || each.plan->bits < other->plan->bits) other = &each;
  }
  if (other != nullptr) {
    text.append(fmt::format(" If no keys will be added, {} takes {} uncompressed.", other->info->name,
                            human_size(other->plan->memory_bytes)));
  }
  return text;
}

std::string names_of_128_bit_hashes() {
  std::string names;
  for_each_type(hash_list{}, [&](auto tag) {
    const hash_info& info = decltype(tag)::type::info;
    if (info.bits == 128 && !info.halves) names.append(names.empty() ? "" : ", ").append(info.name);
  });
  return names;
}

double decade_below(double value) { return std::pow(10.0, std::floor(std::log10(value) + 1e-9)); }

std::string percent_tick(double value) { return fmt::format("{:g} %", value); }
std::string fpr_axis_tick(double value) { return fmt::format("{:g} %", value * 100.0); }

// The rows that have curves.
std::vector<const plan_row*> curved(const std::vector<plan_row>& rows) {
  std::vector<const plan_row*> out;
  for (const plan_row& row : rows) {
    if (row.fits() && !row.info->exact && !row.can.excludes && row.plan->fpr > 0) out.push_back(&row);
  }
  return out;
}

line_chart fill_chart(const plan_question& question, const std::vector<const plan_row*>& rows) {
  constexpr int points = 40;
  double lowest = 1;
  for (const plan_row* row : rows) lowest = std::min(lowest, row->plan->fpr);
  line_chart chart{.title = "False-positive rate against keys, as planned at 100 %",
                   .x = {.label = "keys, in % of the number planned for", .low = 0, .high = 200, .text = percent_tick},
                   .y = {.low = decade_below(lowest) / 100.0, .high = 1, .log = true, .text = fpr_axis_tick}};
  for (const plan_row* row : rows) {
    chart_curve curve{.name = std::string(row->info->name)};
    for (int i = 1; i <= points; ++i) {
      const double share = 2.0 * i / points;
      const auto keys = static_cast<std::uint64_t>(std::ceil(static_cast<double>(row->plan->keys) * share));
      const auto at =
          row->solve({.keys = keys, .bits = row->plan->bits, .hashes = row->plan->hashes}, layout_of(question, *row));
      if (at) curve.points.push_back({share * 100.0, at->fpr});
    }
    chart.curves.push_back(std::move(curve));
  }
  return chart;
}

line_chart bits_chart(const plan_question& question, const std::vector<const plan_row*>& rows) {
  constexpr int points = 40;
  double most = 20;
  for (const plan_row* row : rows) most = std::max(most, std::ceil(row->plan->bits_per_key * 1.25 / 4.0) * 4.0);
  double lowest = 1;
  line_chart chart{.title = "False-positive rate against bits per key, with the best k for each",
                   .x = {.label = "bits per key", .low = 0, .high = most},
                   .y = {.high = 1, .log = true, .text = fpr_axis_tick}};
  for (const plan_row* row : rows) {
    chart_curve curve{.name = std::string(row->info->name)};
    for (int i = 2; i <= points; ++i) {
      const double bits = most * i / points;
      const auto at = row->solve({.keys = row->plan->keys, .hashes = question.request.hashes, .bits_per_key = bits},
                                 question.layout);
      if (!at) continue;
      curve.points.push_back({bits, at->fpr});
      lowest = std::min(lowest, at->fpr);
    }
    chart.curves.push_back(std::move(curve));
  }
  chart.y.low = std::min(decade_below(lowest), 0.1);
  return chart;
}

line_chart hashes_chart(const plan_question& question, const std::vector<const plan_row*>& rows) {
  constexpr double least = 1e-6;
  constexpr int steps_a_decade = 4;
  double most = 4;
  line_chart chart{.title = "k (hash functions) against the false-positive rate",
                   .x = {.label = "false-positive rate", .low = least, .high = 1, .log = true, .text = fpr_axis_tick},
                   .y = {.low = 0},
                   .rows = 9};
  for (const plan_row* row : rows) {
    chart_curve curve{.name = std::string(row->info->name)};
    for (int i = 0; i < 6 * steps_a_decade; ++i) {
      const double fpr = least * std::pow(10.0, static_cast<double>(i) / steps_a_decade);
      const auto at = row->solve({.keys = row->plan->keys, .fpr = fpr}, question.layout);
      if (!at) continue;
      curve.points.push_back({fpr, static_cast<double>(at->hashes)});
      most = std::max(most, std::ceil(static_cast<double>(at->hashes) / 4.0) * 4.0);
    }
    chart.curves.push_back(std::move(curve));
  }
  chart.y.high = most;
  return chart;
}

// How much larger others are that are exact about the same keys.
std::string exactness_advice(const plan_question& question, const plan_row& row) {
  const sizing::universe keys{.included = row.plan->keys, .excluded = *question.two_lists.excluded_keys};
  const auto size = [](double bits) { return human_size(static_cast<std::uint64_t>(bits / 8.0)); };
  return fmt::format(
      "Kind {} is exact about {} and {} to exclude: {} at most. A cascade of Bloom filters takes {}, the digests of "
      "the "
      "keys {}, a bit for each key of both lists {}; {} is the least possible.",
      row.info->name, number_of(keys.included, "key"), with_commas(keys.excluded), human_size(row.plan->memory_bytes),
      size(sizing::bloom_cascade_bits(keys)), human_size(8 * keys.included),
      human_size((keys.included + keys.excluded + 7) / 8), size(sizing::least_exact_bits(keys)));
}

// --exclude-keys: kinds that exclude keys are sized by both lists, and by an FPR only with -p.
outcome<void> take_excluded(const options& opts, plan_question& question) {
  const kind_entry* kind = find_kind(question.kind);
  const bool has_excluded = opts.has(flag::exclude_keys);
  if (kind != nullptr && kind->capabilities.excludes != has_excluded) {
    return fail_usage(kind->capabilities.excludes
                          ? fmt::format("kind {} is sized by two lists: give the number of keys that it must not match "
                                        "with --exclude-keys N",
                                        kind->info->name)
                          : fmt::format("kind {} cannot exclude keys: leave --exclude-keys out", kind->info->name));
  }
  if (has_excluded && !opts.has(flag::capacity)) {
    return fail_usage("--exclude-keys goes with the number of keys to include: give that with -n");
  }
  question.two_lists = {.keys = question.request.keys,
                        .fpr = opts.real(flag::fpr),
                        .hashes = question.request.hashes,
                        .bits_per_key = question.request.bits_per_key,
                        .excluded_keys = opts.count(flag::exclude_keys)};
  if (kind != nullptr && kind->capabilities.excludes) {  // no other limit
    question.request.fpr = question.two_lists.fpr;
    question.assumed.clear();
  }
  return {};
}

}  // namespace

bool plan_row::keeps(const plan_question& question) const {
  constexpr double worth_saying = 1.05;
  return can.excludes || !plan || !question.request.fpr || plan->fpr <= worth_saying * *question.request.fpr;
}

outcome<plan_question> read_question(const options& opts) {
  plan_question question{.layout = std::string(opts.text(flag::layout)), .kind = std::string(opts.text(flag::kind))};
  if (opts.text(flag::compress, "none") != "none") question.codec = opts.text(flag::compress);
  size_request& request = question.request;
  const auto fpr = opts.real(flag::fpr);
  const auto memory = opts.count(flag::memory);
  const auto bits_per_key = opts.real(flag::bits_per_key);
  request.keys = opts.count(flag::capacity);
  if (const auto hashes = opts.count(flag::hashes)) {
    request.hashes = static_cast<unsigned>(std::min<std::uint64_t>(*hashes, std::numeric_limits<unsigned>::max()));
  }
  if (!request.keys && !fpr && !memory && !bits_per_key) {
    return fail_usage("give what is known: -n KEYS, -p FPR, --mem SIZE or --bits-per-key B, such as -n 10M -p 1%");
  }
  if (!request.keys && memory && bits_per_key) {
    request.keys = static_cast<std::uint64_t>(static_cast<double>(*memory) * 8.0 / *bits_per_key);
    question.assumed.push_back(fmt::format("{} keys are what {:g} bits per key leave room for in {}.",
                                           with_commas(*request.keys), *bits_per_key, exact_size(*memory)));
  } else if (!request.keys && !memory) {
    request.keys = assumed_keys;
    question.assumed.push_back(fmt::format("Assuming {} keys (-n).", with_commas(assumed_keys)));
  }
  question.memory_ceiling = memory;
  if (bits_per_key) {
    request.bits_per_key = bits_per_key;
    question.fpr_ceiling = fpr;
  } else if (request.keys && memory && !fpr) {
    request.memory_bytes = memory;
  } else {
    request.fpr = fpr ? *fpr : default_fpr;
    if (!request.keys) request.memory_bytes = memory;
    if (!fpr)
      question.assumed.push_back(fmt::format("Assuming a false-positive rate of {} (-p).", percent(default_fpr)));
  }
  if (auto checked = sizing::check(request); !checked) return fail_parameter(checked.error());
  if (auto taken = take_excluded(opts, question); !taken) return failed(taken.error());
  return question;
}

std::vector<plan_row> answer(const plan_question& question) {
  std::vector<plan_row> rows;
  for (const kind_entry& kind : kinds()) {
    if (kind.capabilities.excludes && !question.two_lists.excluded_keys) continue;
    if (question.kind.empty() || question.kind == kind.info->name) rows.push_back(answer_of(kind, question));
  }
  return rows;
}

const plan_row* usual_row(const std::vector<plan_row>& rows) {
  const plan_row* found = nullptr;
  for (const plan_row& row : rows) {
    if (!row.fits() || row.info->exact || row.can.excludes) continue;
    if (row.info->name == usual_kind) return &row;
    if (found == nullptr || row.plan->bits < found->plan->bits) found = &row;
  }
  return found;
}

std::vector<std::string> advice_on(const plan_question& question, const std::vector<plan_row>& rows) {
  std::vector<std::string> out;
  const plan_row* usual = usual_row(rows);
  const plan_row* smallest = usual;
  for (const plan_row& row : rows) {
    // Of those that can take the place of the usual one, which merges.
    if (row.fits() && row.can.merges && !row.info->exact && row.plan->bits < smallest->plan->bits) smallest = &row;
  }
  const plan_row* any = usual;
  for (const plan_row& row : rows) {
    if (any == nullptr && row.fits()) any = &row;
  }
  if (any != nullptr && any->plan->keys < 100'000) {
    out.push_back(fmt::format("{} {} few: below 100,000 an exact set may do, and it has no false positives.",
                              number_of(any->plan->keys, "key"), any->plan->keys == 1 ? "is" : "are"));
  }
  for (const plan_row& row : rows) {
    if (row.fits() && row.can.excludes) out.push_back(exactness_advice(question, row));
    if (row.fits() && !row.keeps(question)) out.push_back(plan_delivered_advice(question, row));
  }
  if (usual == nullptr) return out;
  if (auto silly = unusual_fpr_advice(question, *usual); !silly.empty()) out.push_back(std::move(silly));
  out.push_back(headroom_advice(question, *usual));
  // Of the same question: with memory deciding, all are equally large and the FPR differs.
  if (smallest != usual && question.request.fpr.value_or(usual->plan->fpr) < 1e-4) {
    out.push_back(fmt::format("Below 0.01 %, kind {} is the better choice: {} against {} for {}.", smallest->info->name,
                              human_size(smallest->plan->memory_bytes), human_size(usual->plan->memory_bytes),
                              usual->info->name));
  }
  for (const plan_row& row : rows) {
    if (!row.fits()) continue;
    if (row.plan->digest_bits == 128) {
      out.push_back(fmt::format("Kind {} needs 128-bit digests for so many keys at this FPR: a hash of 128 bits ({}).",
                                row.info->name, names_of_128_bit_hashes()));
    }
    if (row.info->exact && row.info->integer_keys) out.push_back(crossover_advice(*usual, row));
    if (!question.codec.empty() && row.can.packs) out.push_back(packed_advice(question, row, rows));
  }
  return out;
}

std::vector<line_chart> plan_charts(const plan_question& question, const std::vector<plan_row>& rows) {
  const auto shown = curved(rows);
  if (shown.empty()) return {};
  return {fill_chart(question, shown), bits_chart(question, shown), hashes_chart(question, shown)};
}

}  // namespace bloomery::cli
