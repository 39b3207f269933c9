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
  const kind_info& kind = made.filter.info();
  if (kind.grows || kind.expires) return;
  if (!stats.target_known && request.keys()) {  // the file will not hold what was promised, but it is known here
    const auto planned_fpr = request.fpr_for(*request.keys());
    stats.target_known = planned_fpr.has_value();
    stats.target_fpr = planned_fpr.value_or(0);
    stats.capacity_keys = *request.keys();
  }
  const bool over_capacity = made.keys_inserted > stats.capacity_keys || fullness_of(kind, stats).overfull;
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
  for (const named_value& value : filter.describe()) {
    if (value.name == "hash functions") return static_cast<unsigned>(value.number);
  }
  return 0;
}

bool is_packed(const options& opts) { return opts.text(flag::compress, "none") != "none"; }

// What was chosen because the file is compressed, or that compressing it was in vain.
std::string packing_text(const options& opts, const built& made, const filter_stats& stats) {
  constexpr double worth_it = 0.97;
  constexpr std::uint64_t small_bytes = std::uint64_t{16} << 10U;  // where the header is most of the file
  const kind_info& kind = made.filter.info();
  const std::string_view codec = opts.text(flag::compress, "none");
  const std::uint64_t file_bytes = size_of_file(opts.text(flag::output));
  if (!is_packed(opts) || made.filter.info().exact || !output_format(opts).is_native()) return {};
  if (kind.packs && !opts.has(flag::hashes) && !opts.has(flag::bits_per_key) && stats.target_known) {
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
  if (kind.packs || file_bytes == 0 || stats.memory_bytes < small_bytes ||
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

outcome<int> run(const options& opts) {
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

constexpr std::array examples = {
    example{"bloomery build -o seen.bloom urls.txt", "a filter of the lines of urls.txt, wrong for 1 in 100 others"},
    example{"zcat logs/*.gz | cut -f 3 | bloomery build -o ips.bloom -p 1/1000", "from a pipe, wrong for 1 in 1000"},
    example{"bloomery build -o users.bloom --csv --header -f email people.csv", "one column of a CSV file"},
    example{"bloomery build -o ids.bloom --kind bitmap --u64 ids.txt", "integers, exactly"},
    example{"bloomery build -o seen.bloom --shards 16 urls.txt",
            "in 16 files, seen.bloom.00-of-16 and so on, for which other verbs are given seen.bloom"},
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
        "Builds a filter from the lines of KEYFILES, or of standard input, and writes it to FILE. "
        "Without -n it reads first and sizes the filter for the different keys that it found: "
        "exactly up to half a million, beyond that by an estimate (standard error 0.2 %) with 1 % added. "
        "The keys wait in memory as 8 bytes each. "
        "Where that would be too much, files are read twice, "
        "and a pipe fills the largest filter that memory allows, which is then folded down.\n\n"
        "Copies of keys take no room, but in kinds cuckoo and dleft, which count them: without -n there is room for "
        "them, "
        "too, and where a key comes too often, each is stored once, in mode set, with a warning.\n\n"
        "The false-positive rate is 1 % if neither -p nor --bits-per-key nor --mem says otherwise. "
        "--mem is a ceiling: alone, it gives the best rate that fits; with a rate that does not fit, "
        "build refuses and says which would. "
        "A size that leaves a rate above 50 % is refused, too, unless -p asks for such a rate. "
        "Keys that wait and the filter together stay below it too, or below 16 MiB.\n\n"
        "Kinds that are built at once, from all of their keys, take their size from them: -n is nothing to them, "
        "their keys wait in memory as 8 bytes each whatever --mem says, and nothing can be added later.\n\n"
        "Kind cascade is built from two lists: it matches every key of KEYFILES and none of --exclude. "
        "About keys of neither it says yes as often as the lists make it smallest, or at most at the rate -p.\n\n"
        "The kind is blocked unless --kind says otherwise, "
        "or bloom where blocked would be more than 25 % larger or would not fit. "
        "With --shards the filter is a set of files, each with a part of the keys, "
        "which can be made, sent and merged one by one; all of them appear or none. "
        "Each is made for its part and a little more, as keys do not fall into parts evenly: "
        "0.6 % for 4 parts of a million keys, a fifth for 16 of a thousand. "
        "Shards are filled side by side, also those of kinds that one thread fills otherwise. "
        "Of kind cascade both lists are cut, and the set is exact about both.\n\n"
        "With --compress, and unless --kind or --hashes says otherwise, the filter is of kind bloom "
        "and has fewer hash functions than usual: twice as large in memory and emptier, it packs to less "
        "than the usual one takes. At 1 % that is 8.9 bits per key in the file with rans, 9.2 with zstd and 9.1 with "
        "gzip, instead of 9.6.\n\n"
        "Input compressed with gzip, zstd or xz is unpacked.\n\n"
        "With --format the file is that of another product ('bloomery formats' lists them), with its kind, hash and "
        "sizes: byte for byte what that product makes of the same keys, where it always makes the same. "
        "Without -p its own default rate holds.\n\n"
        "The same keys and options give the same file, whatever -j. FILE appears whole or not at all.",
    .examples = examples,
    .exit_codes =
        "0: built; 1: built, with a warning and --strict; 2: error, and FILE is as it was, unless the line says that "
        "it is in place",
    .run = run,
};

}  // namespace bloomery::cli
