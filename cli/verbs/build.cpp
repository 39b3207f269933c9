// bloomery build: a filter from keys.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/filters/builder.hpp"
#include "cli/filters/fullness.hpp"
#include "cli/filters/kind_table.hpp"
#include "cli/filters/output.hpp"
#include "cli/filters/shards.hpp"
#include "cli/flags/format_choice.hpp"
#include "cli/flags/numbers.hpp"
#include "cli/terminal/json_values.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/terminal/sizes.hpp"
#include "cli/verbs/verb.hpp"

namespace bloomery::cli {
namespace {

void warn_if_overfull(const options& opts, const build_request& request, const built& made, filter_stats stats) {
  if (made.filter.info().grows || made.filter.capabilities().expires) return;
  if (!stats.target_known && request.keys()) {  // the file does not store the target FPR, but it is known here
    const auto planned_fpr = request.fpr_for(*request.keys());
    stats.target_known = planned_fpr.has_value();
    stats.target_fpr = planned_fpr.value_or(0);
    stats.capacity_keys = *request.keys();
  }
  const bool over_capacity =
      made.keys_inserted > stats.capacity_keys || fullness_of(made.filter.kind(), stats).overfull;
  if (!stats.target_known || !over_capacity || stats.fpr_now <= stats.target_fpr) return;
  // What was read, not what was inserted: in a filter that is too full, hardly an insert changes anything any more.
  warn(opts,
       fmt::format("{} read into a filter made for {}: its false-positive rate is now {}, promised was {}; build it "
                   "again with -n {}",
                   number_of(made.keys_read, "key"), with_commas(stats.capacity_keys), percent(stats.fpr_now),
                   percent(stats.target_fpr), made.keys_read));
}

// The kind, and the format where it is another product's.
std::string what_text(const options& opts, const built& made) {
  const formats::format& format = output_format(opts);
  if (made.filter.shards() != 0) {
    return fmt::format("{} in {}", made.filter.info().name, number_of(made.filter.shards(), "shard"));
  }
  if (format.is_native()) return std::string(made.filter.info().name);
  return fmt::format("{} of {}", made.filter.info().name, format.name);
}

unsigned hashes_of(const any_filter& filter) {
  const fact_list facts = filter.facts();
  const fact* hashes = facts.find("hash_functions");
  return hashes == nullptr ? 0 : static_cast<unsigned>(hashes->value.integer());
}

bool is_packed(const options& opts) { return opts.text(flag::compress, "none") != "none"; }

// What was chosen because the file is compressed, or that compression saved nothing.
std::string packing_text(const options& opts, const built& made, const filter_stats& stats) {
  constexpr double worth_it = 0.97;
  constexpr std::uint64_t small_bytes = std::uint64_t{16} << 10U;  // where the header is most of the file
  const kind_info& kind = made.filter.info();
  const std::string_view codec = opts.text(flag::compress, "none");
  const std::uint64_t file_bytes = size_of_file(opts.text(flag::output));
  if (!is_packed(opts) || made.filter.info().exact || !output_format(opts).is_native()) return {};
  if (made.filter.capabilities().packs && !opts.has(flag::hashes) && !opts.has(flag::bits_per_key) &&
      stats.target_known) {
    const unsigned fewer = hashes_of(made.filter);
    const auto plain = plan_kind(kind, {.keys = stats.capacity_keys, .fpr = stats.target_fpr});
    if (plain && plain->hashes > fewer) {
      return fmt::format(
          "for --compress {}: kind {} with {} instead of {}, {:.1f} times as large in memory and smaller "
          "in the file",
          codec, kind.name, number_of(fewer, "hash function"), plain->hashes,
          static_cast<double>(stats.memory_bytes) / static_cast<double>(plain->memory_bytes));
    }
  }
  if (made.filter.capabilities().packs || file_bytes == 0 || stats.memory_bytes < small_bytes ||
      static_cast<double>(file_bytes) < worth_it * static_cast<double>(stats.memory_bytes)) {
    return {};
  }
  return fmt::format(
      "--compress {} saves next to nothing: the bits of kind {} look random; leave it out, or leave the "
      "kind out, for one that packs",
      codec, kind.name);
}

std::string summary(const options& opts, const built& made, const filter_stats& stats) {
  const std::uint64_t file_bytes = size_of_file(opts.text(flag::output));
  const double keys = static_cast<double>(made.keys_inserted == 0 ? 1 : made.keys_inserted);
  std::string out = fmt::format("{}: {}, {} read, {} inserted, {}", opts.text(flag::output), what_text(opts, made),
                                number_of(made.keys_read, "key"), with_commas(made.keys_inserted),
                                exact_size(file_bytes == 0 ? stats.memory_bytes : file_bytes));
  const double in_memory = static_cast<double>(stats.memory_bytes) * 8.0 / keys;
  if (is_packed(opts) && file_bytes != 0) {
    out.append(fmt::format(", {:.2f} bits per key in the file, {:.2f} in memory",
                           static_cast<double>(file_bytes) * 8.0 / keys, in_memory));
  } else {
    out.append(fmt::format(", {:.2f} bits per key", in_memory));
  }
  if (made.excluded_read) {
    out.append(fmt::format("; {} to exclude read, {} excluded; exact about both, and yes to {} of other keys",
                           number_of(*made.excluded_read, "key"), with_commas(made.excluded), percent(stats.fpr_now)));
  } else if (!made.filter.info().exact) {
    out.append(fmt::format("; FPR now {}, {}", percent(stats.fpr_now), target_fpr_text(stats)));
    if (stats.target_known) out.append(fmt::format(" at {}", number_of(stats.capacity_keys, "key")));
  }
  return out;
}

nlohmann::ordered_json as_json(const options& opts, const built& made, const filter_stats& stats) {
  auto out = nlohmann::ordered_json::object();
  out["file"] = opts.text(flag::output);
  out["format"] = output_format(opts).name;
  out["kind"] = made.filter.info().name;
  if (made.filter.shards() != 0) out["shards"] = made.filter.shards();
  out["keys_read"] = made.keys_read;
  if (made.keys_different) {
    out["keys_different"] = *made.keys_different;
    out["keys_different_exact"] = made.different_exact;
  }
  out["keys_inserted"] = made.keys_inserted;
  if (made.excluded_read) {
    out["excluded_read"] = *made.excluded_read;
    out["excluded_keys"] = made.excluded;
  }
  out["capacity_keys"] = capacity_of(made.filter, stats);
  out["file_bytes"] = size_of_file(opts.text(flag::output));
  out["memory_bytes"] = stats.memory_bytes;
  out["bits_per_key"] = made.keys_inserted == 0 ? nlohmann::ordered_json(nullptr)
                                                : nlohmann::ordered_json(static_cast<double>(stats.memory_bytes) * 8.0 /
                                                                         static_cast<double>(made.keys_inserted));
  out["file_bits_per_key"] =
      made.keys_inserted == 0 || opts.text(flag::output) == "-"
          ? nlohmann::ordered_json(nullptr)
          : nlohmann::ordered_json(out["file_bytes"].get<double>() * 8.0 / static_cast<double>(made.keys_inserted));
  out["target_fpr"] = target_fpr_of(stats);
  out["fpr_now"] = stats.fpr_now;
  out["fill"] = stats.fill;
  return out;
}

// Key files are read, the output is written, and standard input is read once.
outcome<void> check_files(const options& opts) {
  if (auto possible = check_output(opts, shards_wanted(opts)); !possible) return possible;
  const std::string path(opts.text(flag::output));
  if (auto apart = check_not_input(path, opts.operands()); !apart) return apart;
  if (!opts.has(flag::exclude)) return {};
  const std::array excluded = {std::string(opts.text(flag::exclude))};
  const auto& keys = opts.operands();
  if (excluded[0] == "-" && (keys.empty() || std::find(keys.begin(), keys.end(), "-") != keys.end())) {
    return fail_usage("standard input (-) can be read only once");
  }
  return check_not_input(path, excluded);
}

outcome<int> run_build(const options& opts) {
  if (auto possible = check_files(opts); !possible) return failed(possible.error());
  const auto request = build_request::from(opts);
  if (!request) return failed(request.error());
  const auto made = build_filter(opts, *request);
  if (!made) return failed(made.error());
  const auto stats = made->filter.stats();
  if (!stats) return fail_error(stats.error());
  if (auto saved = save_filter(opts, made->filter); !saved) return failed(saved.error());
  warn_if_overfull(opts, *request, *made, *stats);
  if (const std::string text = delivered_advice(*stats); !text.empty()) {
    advise(opts, fmt::format("{}: {}", opts.text(flag::output), text));
  }
  if (const std::string text = packing_text(opts, *made, *stats); !text.empty()) note(opts, text);
  if (opts.has(flag::json)) {
    output out;
    out.write_json(as_json(opts, *made, *stats));
    if (auto done = out.flush(); !done) return failed(done.error());
  } else {
    note(opts, summary(opts, *made, *stats));
  }
  return 0;
}

constexpr std::array build_examples = {
    example{"bloomery build -o seen.bloom urls.txt", "a filter of the lines of urls.txt, wrong for 1 in 100 others"},
    example{"zcat logs/*.gz | cut -f 3 | bloomery build -o ips.bloom -p 1/1000", "from a pipe, wrong for 1 in 1000"},
    example{"bloomery build -o users.bloom --csv --header -f email people.csv", "one column of a CSV file"},
    example{"bloomery build -o ids.bloom --kind bitmap --u64 ids.txt", "integers, exactly"},
    example{"bloomery build -o seen.bloom --shards 16 urls.txt",
            "in 16 files, seen.bloom.00-of-16 and so on; other verbs take seen.bloom"},
    example{"bloomery build -o sent.bloom --compress rans urls.txt", "a small file, to be sent over a network"},
    example{"bloomery build -o users.bloom --key-file secret.key users.txt",
            "with a secret, for keys that others choose"},
    example{"bloomery build -o blocklist.bloom --format dcso -p 0.1% domains.txt", "as another product would"},
    example{"bloomery build -o revoked.bloom --kind cascade --exclude valid.txt revoked.txt",
            "exact about the lines of both files"},
};

}  // namespace

const verb build_verb = {
    .name = "build",
    .alias = "create",
    .bit = on_build,
    .summary = "build a filter from keys",
    .usage = "-o FILE [OPTIONS] [KEYFILES]",
    .description =
        "Builds a filter from the lines of KEYFILES, or of standard input, and writes it to FILE. Without -n, "
        "build reads the input first and sizes the filter for the number of different keys: counted exactly up "
        "to half a million, estimated above that (standard error 0.2 %, 1 % added). Keys are buffered in memory "
        "at 8 bytes each. If they do not fit, files are read twice, and keys from a pipe go into the largest "
        "filter that memory allows, which is then folded.\n\n"
        "Duplicate keys take no space, except in kinds cuckoo and dleft, which count them. Without -n these are "
        "sized for the duplicates too; if a key occurs too often, each key is stored once, in mode set, with a "
        "warning.\n\n"
        "The target false-positive rate (FPR) is 1 % unless -p, --bits-per-key or --mem sets it. --mem is a "
        "limit: alone, it yields the lowest FPR that fits; together with an FPR that does not fit, build fails "
        "and reports one that does. A size that leaves an FPR above 50 % is refused, unless -p requests it. "
        "Buffered keys and the filter together stay below --mem as well, or below 16 MiB if that is more.\n\n"
        "Static kinds (fuse, ribbon, cascade) size themselves from the input; -n is ignored. Their keys are "
        "buffered in memory at 8 bytes each, whatever --mem is, and no key can be added later.\n\n"
        "Kind cascade is built from two lists: it matches every key of KEYFILES and none of --exclude. For keys "
        "in neither list, its FPR is the one that makes it smallest, or at most -p.\n\n"
        "The kind is blocked unless --kind selects another, or bloom if blocked would be more than 25 % larger "
        "or would not fit. With --shards the filter is a set of files, each with a share of the keys, which can "
        "be built, sent and merged one by one; all of them appear or none. Keys do not fall into shards evenly, "
        "so each shard is a little larger than its share: 0.6 % for 4 shards of a million keys, 20 % for 16 of "
        "a thousand. Shards are filled in parallel, also for kinds that a single thread fills otherwise. For "
        "kind cascade both lists are sharded, and the set is exact about both.\n\n"
        "With --compress, and unless --kind or --hashes is set, the filter is of kind bloom with fewer hash "
        "functions: twice as large in memory and sparser, it compresses to less than the usual filter takes. At "
        "1 % that is 8.9 bits per key in the file with rans, 9.2 with zstd and 9.1 with gzip, instead of 9.6.\n\n"
        "Input compressed with gzip, zstd or xz is unpacked.\n\n"
        "With --format the file is that of another product ('bloomery formats' lists them), with its kind, hash "
        "and sizes: byte for byte what that product writes for the same keys, where its output is "
        "deterministic. Without -p the product's default FPR applies.\n\n"
        "The same keys and options produce the same file, whatever -j. FILE appears complete or not at all.",
    .examples = build_examples,
    .exit_codes =
        "0: built; 1: built, with a warning and --strict; 2: error, and FILE is unchanged, unless the message "
        "says that it is in place",
    .run = run_build,
};

}  // namespace bloomery::cli
