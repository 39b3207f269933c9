// bloomery verify: whether a filter keeps its two promises.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bloomery/core/binomial.hpp>
#include <bloomery/core/bytes.hpp>
#include <bloomery/hash/xxh3.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/digests.hpp"
#include "cli/filters.hpp"
#include "cli/numbers.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/sizes.hpp"
#include "cli/terminal.hpp"
#include "cli/verb.hpp"

namespace bloomery::cli {
namespace {

constexpr std::uint64_t default_probes = 1'000'000;
constexpr double confidence = 0.99;
constexpr double tolerance = 1.05;
constexpr std::size_t shown_missing = 5;

struct missing_key {
  std::uint64_t line = 0;
  std::string text;
};

struct findings {
  std::uint64_t keys = 0;
  std::uint64_t different = 0;
  std::uint64_t missing = 0;
  std::vector<missing_key> first_missing;
  std::uint64_t probes = 0;
  std::uint64_t hits = 0;
  std::uint64_t not_absent = 0;  // of --absent, left out because they are keys
  double low = 0;                // the true rate lies between, with the stated confidence
  double high = 1;
  filter_stats stats;
  bool exact = false;

  [[nodiscard]] bool keys_hold() const { return missing == 0; }
  [[nodiscard]] bool rate_holds() const { return exact ? hits == 0 : !(low > tolerance * stats.promised_fpr); }
};

// Which keys were seen, by fingerprints of a hash that has nothing to do with the filter's: what the filter confuses
// must not be left out of its measurement.
class seen_keys {
 public:
  void add(std::string_view key) { prints_.push_back(print(key)); }
  void sort() {
    std::sort(prints_.begin(), prints_.end());
    prints_.erase(std::unique(prints_.begin(), prints_.end()), prints_.end());
  }
  // Different ones, after sort().
  [[nodiscard]] std::uint64_t size() const { return prints_.size(); }
  [[nodiscard]] bool contains(std::string_view key) const {
    return std::binary_search(prints_.begin(), prints_.end(), print(key));
  }

 private:
  static std::uint64_t print(std::string_view key) {
    constexpr xxh3 hash{.seed = 0x76657269667920ULL};
    return hash(key.data(), key.size());
  }
  std::vector<std::uint64_t> prints_;
};

using answer_mask = std::vector<std::uint64_t>;

outcome<void> ask_keys(const options& given, const opened_filter& opened, digest_stream& stream, seen_keys& seen,
                       findings& found) {
  progress line(given, "asking for the keys", stream.reader().total_bytes());
  answer_mask mask;
  while (true) {
    const auto more = stream.next();
    if (!more) return failed(more.error());
    if (!*more) break;
    mask.resize(mask_words(stream.size()));
    if (auto asked = ask(opened.filter, stream, mask); !asked) return fail_file(opened.name, asked.error());
    const auto records = stream.records();
    found.keys += records.size();
    for (std::size_t i = 0; i < records.size(); ++i) {
      seen.add(records[i].key);
      if (bit_of(mask, i)) continue;
      ++found.missing;
      if (found.first_missing.size() < shown_missing) {
        found.first_missing.push_back({records[i].number, std::string(records[i].text.substr(0, 200))});
      }
    }
    line.update(stream.reader().bytes_taken(), found.keys);
  }
  seen.sort();
  found.different = seen.size();
  return {};
}

// Random keys of fixed seed: 16 bytes, or 8 where keys are integers.
class probe_keys {
 public:
  explicit probe_keys(std::size_t key_bytes) : key_bytes_(key_bytes) {}
  // The next `count` keys that were not seen.
  std::span<const std::string_view> next(std::size_t count, const seen_keys& seen) {
    bytes_.resize(count * key_bytes_);
    views_.clear();
    while (views_.size() < count) {
      std::byte* const at = reinterpret_cast<std::byte*>(bytes_.data()) + views_.size() * key_bytes_;
      for (std::size_t word = 0; word < key_bytes_; word += 8) store_le(at + word, mix64(++counter_));
      const std::string_view key(bytes_.data() + views_.size() * key_bytes_, key_bytes_);
      if (!seen.contains(key)) views_.push_back(key);
    }
    return views_;
  }

 private:
  std::size_t key_bytes_;
  std::uint64_t counter_ = 0x9e3779b97f4a7c15ULL;
  std::string bytes_;
  std::vector<std::string_view> views_;
};

std::uint64_t hits_in(std::span<const std::uint64_t> mask, std::size_t count) {
  std::uint64_t hits = 0;
  for (std::size_t i = 0; i < count; ++i) hits += bit_of(mask, i) ? 1 : 0;
  return hits;
}

// How many of these keys the filter claims to hold.
outcome<std::uint64_t> count_hits(const opened_filter& opened, const hasher& hash,
                                  std::span<const std::string_view> keys) {
  answer_mask mask(mask_words(keys.size()));
  result<void> asked;
  if (opened.filter.digest_bits() == 128) {
    std::vector<digest128> digests(keys.size());
    hash.digests_wide(keys, digests);
    asked = opened.filter.may_contain(digests, mask);
  } else {
    std::vector<std::uint64_t> digests(keys.size());
    hash.digests(keys, digests);
    asked = opened.filter.may_contain(digests, mask);
  }
  if (!asked) return fail_file(opened.name, asked.error());
  return hits_in(mask, keys.size());
}

outcome<void> ask_generated(const options& given, const opened_filter& opened, const hasher& hash,
                            const seen_keys& seen, findings& found) {
  const std::uint64_t wanted = given.count(flag::probes).value_or(default_probes);
  progress line(given, "asking for absent keys", wanted);
  probe_keys source(given.has(flag::u64) ? 8 : 16);
  while (found.probes < wanted) {
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(key_reader::batch_records, wanted - found.probes));
    const auto hits = count_hits(opened, hash, source.next(count, seen));
    if (!hits) return failed(hits.error());
    found.hits += *hits;
    found.probes += count;
    line.update(found.probes, found.probes);
  }
  return {};
}

outcome<void> ask_absent(const options& given, const opened_filter& opened, const hasher& hash, const seen_keys& seen,
                         findings& found) {
  const std::array files = {std::string(given.text(flag::absent))};
  auto reader = key_reader::make(given, files, hash);
  if (!reader) return failed(reader.error());
  progress line(given, "asking for absent keys", reader->total_bytes());
  key_batch batch;
  std::vector<std::string_view> keys;
  while (true) {
    const auto more = reader->next(batch);
    if (!more) return failed(more.error());
    if (!*more) return {};
    keys.clear();
    for (const record& each : batch.records()) {
      if (seen.contains(each.key)) {
        ++found.not_absent;
      } else {
        keys.push_back(each.key);
      }
    }
    const auto hits = count_hits(opened, hash, keys);
    if (!hits) return failed(hits.error());
    found.hits += *hits;
    found.probes += keys.size();
    line.update(reader->bytes_taken(), found.probes);
  }
}

// What to change, one sentence each.
std::vector<std::string> advice(const findings& found, const opened_filter& opened) {
  std::vector<std::string> out;
  if (!found.keys_hold()) {
    const bool most = found.missing * 2 > found.keys;
    out.emplace_back(
        most ? "most keys are missing: give the options that it was built with (-f, -d, --csv, --hex, --u64, "
               "--crlf, -0), or the keys that it was built from"
             : "some keys are missing: build it again from these keys, or see whether they have changed since");
  }
  if (!found.rate_holds()) {
    const double keys =
        found.stats.keys.exact ? static_cast<double>(found.stats.keys.keys) : found.stats.estimated_keys;
    if (keys > static_cast<double>(found.stats.capacity_keys)) {
      // A filter that is too full hardly counts any more, but the keys are here.
      const auto needed = std::max(static_cast<std::uint64_t>(keys + 0.5), found.different);
      std::string text = fmt::format("it holds {} keys and was made for {}: build it again with -n {}",
                                     with_commas(needed), with_commas(found.stats.capacity_keys), needed);
      const auto plan = plan_kind(opened.filter.info(), {.keys = needed, .fpr = found.stats.promised_fpr});
      if (plan)
        text.append(
            fmt::format(", which takes {} ({:.2f} bits per key)", human_size(plan->memory_bytes), plan->bits_per_key));
      out.push_back(std::move(text));
    } else {
      out.emplace_back(
          "it is not overfull: the absent keys may not be absent, or the hash may be too weak for these keys (build it "
          "with --hash xxh3)");
    }
  }
  return out;
}

nlohmann::ordered_json as_json(const findings& found, const opened_filter& opened) {
  nlohmann::ordered_json out;
  out["filter"] = opened.name;
  out["holds"] = found.keys_hold() && found.rate_holds();
  out["keys"] = found.keys;
  out["false_negatives"] = found.missing;
  out["first_missing"] = nlohmann::ordered_json::array();
  for (const missing_key& key : found.first_missing)
    out["first_missing"].push_back({{"line", key.line}, {"text", key.text}});
  out["probes"] = found.probes;
  out["false_positives"] = found.hits;
  out["probes_that_are_keys"] = found.not_absent;
  out["fpr_measured"] = found.probes == 0 ? 0.0 : static_cast<double>(found.hits) / static_cast<double>(found.probes);
  out["fpr_low"] = found.low;
  out["fpr_high"] = found.high;
  out["confidence"] = confidence;
  out["fpr_promised"] = found.stats.promised_fpr;
  out["fpr_expected_now"] = found.stats.fpr_now;
  out["fpr_holds"] = found.rate_holds();
  out["advice"] = advice(found, opened);
  return out;
}

std::string as_text(const findings& found, const opened_filter& opened, const painter& paint) {
  const auto verdict = [&](bool good) { return good ? paint(style::good, "ok    ") : paint(style::bad, "BROKEN"); };
  std::string out = fmt::format("{}  false negatives  {} of {} keys\n", verdict(found.keys_hold()),
                                with_commas(found.missing), with_commas(found.keys));
  for (const missing_key& key : found.first_missing)
    out.append(fmt::format("          line {}: {}\n", key.line, key.text));
  if (found.missing > found.first_missing.size()) {
    out.append(fmt::format("          and {} more\n", with_commas(found.missing - found.first_missing.size())));
  }
  const double measured = found.probes == 0 ? 0.0 : static_cast<double>(found.hits) / static_cast<double>(found.probes);
  out.append(fmt::format("{}  false positives  {} of {} absent keys: {}\n", verdict(found.rate_holds()),
                         with_commas(found.hits), with_commas(found.probes), percent(measured)));
  out.append(fmt::format("          between {} and {} with 99 % confidence; promised {}, expected now {}\n",
                         percent(found.low), percent(found.high), percent(found.stats.promised_fpr),
                         percent(found.stats.fpr_now)));
  if (found.not_absent != 0) {
    out.append(
        fmt::format("          {} of the absent keys are keys and were left out\n", with_commas(found.not_absent)));
  }
  for (const std::string& text : advice(found, opened)) out.append(fmt::format("{}\n", paint(style::caution, text)));
  return out;
}

outcome<findings> examine(const options& given, const opened_filter& opened) {
  const auto hash = hasher_of(given, opened);
  if (!hash) return failed(hash.error());
  findings found;
  found.exact = opened.filter.info().exact;
  const auto stats = opened.filter.stats();
  if (!stats) return fail_file(opened.name, stats.error());
  found.stats = *stats;
  const std::array files = {std::string(given.text(flag::keys))};
  auto reader = key_reader::make(given, files, *hash);
  if (!reader) return failed(reader.error());
  digest_stream stream(std::move(*reader), *hash, opened.filter.digest_bits());
  seen_keys seen;
  if (auto done = ask_keys(given, opened, stream, seen, found); !done) return failed(done.error());
  auto done = given.has(flag::absent) ? ask_absent(given, opened, *hash, seen, found)
                                      : ask_generated(given, opened, *hash, seen, found);
  if (!done) return failed(done.error());
  const double each_side = (1.0 - confidence) / 2.0;
  found.low = binomial::lower_bound(found.hits, found.probes, each_side);
  found.high = binomial::upper_bound(found.hits, found.probes, each_side);
  return found;
}

outcome<int> run(const options& given) {
  if (given.operands().size() != 1) return fail_usage("give one filter: bloomery verify FILE --keys KEYFILE");
  if (!given.has(flag::keys)) return fail_usage("give the keys that it was built from: --keys KEYFILE");
  if (given.has(flag::absent) && given.has(flag::probes)) {
    return fail_usage("--absent and --probes contradict each other: give one");
  }
  const int from_input = (given.operands().front() == "-" ? 1 : 0) + (given.text(flag::keys) == "-" ? 1 : 0) +
                         (given.text(flag::absent) == "-" ? 1 : 0);
  if (from_input > 1) return fail_usage("standard input (-) can be read only once");
  const auto opened = open_filter(given, given.operands().front());
  if (!opened) return failed(opened.error());
  const auto found = examine(given, *opened);
  if (!found) return failed(found.error());
  output out;
  if (given.has(flag::json)) {
    out.write_json(as_json(*found, *opened));
  } else if (!given.has(flag::quiet)) {
    out.write(as_text(*found, *opened, painter(given, STDOUT_FILENO)));
  }
  if (auto done = out.flush(); !done) return failed(done.error());
  return found->keys_hold() && found->rate_holds() ? 0 : 1;
}

constexpr std::array examples = {
    example{"bloomery verify seen.bloom --keys urls.txt",
            "is every line in it, and is the rest wrong as rarely as promised?"},
    example{"bloomery verify seen.bloom --keys urls.txt --probes 100M", "a sharper measurement"},
    example{"bloomery verify seen.bloom --keys urls.txt --absent other.txt",
            "measured with real keys that are not in it"},
};

}  // namespace

const verb verify_verb = {
    .name = "verify",
    .alias = "",
    .bit = on_verify,
    .summary = "prove that a filter keeps its promises",
    .usage = "FILE --keys KEYFILE [OPTIONS]",
    .description =
        "Asks the filter FILE for every key of KEYFILE: none may be missing. Then asks for generated keys that are not "
        "in "
        "KEYFILE and counts how many it claims to hold. With 99 % confidence (Clopper-Pearson) the rate may not be "
        "more than "
        "1.05 times the promised one.\n\nKeys must be written as they were when the filter was built; what they take "
        "in memory "
        "is 8 bytes each.",
    .examples = examples,
    .exit_codes = "0: both promises hold; 1: one is broken, and the output says what to change; 2: error",
    .run = run,
};

}  // namespace bloomery::cli
