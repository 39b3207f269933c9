// bloomery build: a filter from keys.
#include <fmt/core.h>

#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/build_request.hpp"
#include "cli/digests.hpp"
#include "cli/filter_output.hpp"
#include "cli/messages.hpp"
#include "cli/numbers.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/sizes.hpp"
#include "cli/verb.hpp"

namespace bloomery::cli {
namespace {

struct built {
  any_filter filter;
  std::uint64_t keys_read = 0;
  std::uint64_t keys_inserted = 0;
};

outcome<digest_stream> open_keys(const options& given, const build_request& request, unsigned digest_bits) {
  auto reader = key_reader::make(given, given.operands(), request.hash());
  if (!reader) return failed(reader.error());
  return digest_stream(std::move(*reader), request.hash(), digest_bits);
}

template <class Digest>
outcome<void> insert(built& into, std::span<const Digest> digests) {
  const auto changed = into.filter.insert(digests);
  if (!changed) return fail_error(changed.error());
  into.keys_read += digests.size();
  into.keys_inserted += *changed;
  return {};
}

// Keys straight from the input into a filter whose size is known.
outcome<built> build_direct(const options& given, const build_request& request, std::uint64_t keys) {
  auto filter = request.make(keys);
  if (!filter) return failed(filter.error());
  built made{std::move(*filter)};
  auto stream = open_keys(given, request, made.filter.digest_bits());
  if (!stream) return failed(stream.error());
  progress line(given, "building", stream->reader().total_bytes());
  while (true) {
    const auto more = stream->next();
    if (!more) return failed(more.error());
    if (!*more) return made;
    auto done = stream->is_wide() ? insert(made, stream->wide()) : insert(made, stream->narrow());
    if (!done) return failed(done.error());
    line.update(stream->reader().bytes_taken(), made.keys_read);
  }
}

outcome<std::uint64_t> count_keys(const options& given, const build_request& request) {
  auto reader = key_reader::make(given, given.operands(), request.hash());
  if (!reader) return failed(reader.error());
  progress line(given, "counting", reader->total_bytes());
  key_batch batch;
  while (true) {
    const auto more = reader->next(batch);
    if (!more) return failed(more.error());
    if (!*more) return reader->records_read();
    line.update(reader->bytes_taken(), reader->records_read());
  }
}

// Digests in blocks, so that growing never copies what is there.
template <class Digest>
class digest_pile {
 public:
  void add(std::span<const Digest> digests) {
    for (const Digest& digest : digests) {
      if (blocks_.empty() || blocks_.back().size() == block_digests) {
        blocks_.emplace_back();
        blocks_.back().reserve(block_digests);
      }
      blocks_.back().push_back(digest);
    }
  }
  [[nodiscard]] const std::vector<std::vector<Digest>>& blocks() const { return blocks_; }
  [[nodiscard]] std::uint64_t size_bytes() const { return blocks_.size() * block_digests * sizeof(Digest); }

 private:
  static constexpr std::size_t block_digests = std::size_t{1} << 18U;
  std::vector<std::vector<Digest>> blocks_;
};

template <class Digest>
outcome<built> build_from_pile(const build_request& request, std::uint64_t keys, const digest_pile<Digest>& pile) {
  auto filter = request.make(keys);
  if (!filter) return failed(filter.error());
  built made{std::move(*filter)};
  for (const auto& block : pile.blocks()) {
    if (auto done = insert(made, std::span<const Digest>(block)); !done) return failed(done.error());
  }
  return made;
}

// From a pipe, in one pass: the digests wait in memory until the last key has been counted.
outcome<built> build_collected(const options& given, const build_request& request) {
  const bool both = request.may_need_wide();
  auto stream = open_keys(given, request, 64);
  if (!stream) return failed(stream.error());
  digest_pile<std::uint64_t> narrow;
  digest_pile<digest128> wide;
  std::vector<digest128> widened;
  std::uint64_t keys = 0;
  std::uint64_t checked_bytes = 0;
  progress line(given, "reading", 0);
  while (true) {
    const auto more = stream->next();
    if (!more) return failed(more.error());
    if (!*more) break;
    keys += stream->records().size();
    narrow.add(stream->narrow());
    if (both) {
      widened.resize(stream->keys().size());
      request.hash().digests_wide(stream->keys(), widened);
      wide.add(widened);
    }
    constexpr std::uint64_t check_step_bytes = std::uint64_t{1} << 28U;
    const std::uint64_t taken = narrow.size_bytes() + wide.size_bytes();
    if (taken - checked_bytes >= check_step_bytes) {
      checked_bytes = taken;
      if (available_memory_bytes() < check_step_bytes) {
        return fail_text(fmt::format("{} keys do not fit into memory while they are counted: give their number with -n",
                                     with_commas(keys)));
      }
    }
    line.update(0, keys);
  }
  line.finish();
  note(given, fmt::format("sized for {} read from the pipe", number_of(keys, "key")));
  const std::uint64_t capacity = keys == 0 ? 1 : keys;
  if (!both) return build_from_pile(request, capacity, narrow);
  const auto trial = request.make(capacity);
  if (!trial) return failed(trial.error());
  return trial->digest_bits() == 128 ? build_from_pile(request, capacity, wide)
                                     : build_from_pile(request, capacity, narrow);
}

outcome<built> build(const options& given, const build_request& request) {
  if (!request.needs_count()) return build_direct(given, request, request.keys().value_or(1));
  const auto reader = key_reader::make(given, given.operands(), request.hash());
  if (!reader) return failed(reader.error());
  if (!reader->all_regular()) return build_collected(given, request);
  const auto keys = count_keys(given, request);
  if (!keys) return failed(keys.error());
  note(given, fmt::format("sized for {} counted in the input", number_of(*keys, "key")));
  return build_direct(given, request, *keys == 0 ? 1 : *keys);
}

void warn_if_overfull(const options& given, const built& made, const filter_stats& stats) {
  if (made.filter.info().grows || made.keys_inserted <= stats.capacity_keys || stats.fpr_now <= stats.promised_fpr)
    return;
  // What was read, not what was inserted: in a filter that is too full, hardly an insert changes anything any more.
  warn(given,
       fmt::format("{} read into a filter made for {}: its false-positive rate is now {}, promised was {}; build it "
                   "again with -n {}",
                   number_of(made.keys_read, "key"), with_commas(stats.capacity_keys), percent(stats.fpr_now),
                   percent(stats.promised_fpr), made.keys_read));
}

std::string summary(const options& given, const built& made, const filter_stats& stats) {
  const std::uint64_t file_bytes = size_of_file(given.text(flag::output));
  const double keys = static_cast<double>(made.keys_inserted == 0 ? 1 : made.keys_inserted);
  std::string out = fmt::format("{}: {}, {} read, {} inserted, {}", given.text(flag::output), made.filter.info().name,
                                number_of(made.keys_read, "key"), with_commas(made.keys_inserted),
                                exact_size(file_bytes == 0 ? stats.memory_bytes : file_bytes));
  out.append(fmt::format(", {:.2f} bits per key", static_cast<double>(stats.memory_bytes) * 8.0 / keys));
  if (!made.filter.info().exact) {
    out.append(fmt::format("; FPR now {}, promised {} at {}", percent(stats.fpr_now), percent(stats.promised_fpr),
                           number_of(stats.capacity_keys, "key")));
  }
  return out;
}

nlohmann::ordered_json as_json(const options& given, const built& made, const filter_stats& stats) {
  nlohmann::ordered_json out;
  out["file"] = given.text(flag::output);
  out["kind"] = made.filter.info().name;
  out["keys_read"] = made.keys_read;
  out["keys_inserted"] = made.keys_inserted;
  out["capacity_keys"] =
      made.filter.info().grows ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(stats.capacity_keys);
  out["file_bytes"] = size_of_file(given.text(flag::output));
  out["memory_bytes"] = stats.memory_bytes;
  out["bits_per_key"] = made.keys_inserted == 0 ? nlohmann::ordered_json(nullptr)
                                                : nlohmann::ordered_json(static_cast<double>(stats.memory_bytes) * 8.0 /
                                                                         static_cast<double>(made.keys_inserted));
  out["fpr_promised"] = stats.promised_fpr;
  out["fpr_now"] = stats.fpr_now;
  out["fill"] = stats.fill;
  return out;
}

outcome<int> run(const options& given) {
  if (auto possible = check_output(given); !possible) return failed(possible.error());
  if (auto apart = check_not_input(std::string(given.text(flag::output)), given.operands()); !apart) {
    return failed(apart.error());
  }
  const auto request = build_request::from(given);
  if (!request) return failed(request.error());
  const auto made = build(given, *request);
  if (!made) return failed(made.error());
  const auto stats = made->filter.stats();
  if (!stats) return fail_error(stats.error());
  if (auto saved = save_filter(given, made->filter); !saved) return failed(saved.error());
  warn_if_overfull(given, *made, *stats);
  if (given.has(flag::json)) {
    output out;
    out.write_json(as_json(given, *made, *stats));
    if (auto done = out.flush(); !done) return failed(done.error());
  } else {
    note(given, summary(given, *made, *stats));
  }
  return 0;
}

constexpr std::array examples = {
    example{"bloomery build -o seen.bloom urls.txt", "a filter of the lines of urls.txt, wrong for 1 in 100 others"},
    example{"zcat logs/*.gz | cut -f 3 | bloomery build -o ips.bloom -p 1/1000", "from a pipe, wrong for 1 in 1000"},
    example{"bloomery build -o users.bloom --csv --header -f email people.csv", "one column of a CSV file"},
    example{"bloomery build -o ids.bloom --kind bitmap --u64 ids.txt", "integers, exactly"},
    example{"bloomery build -o users.bloom --key-file secret.key users.txt",
            "with a secret, for keys that others choose"},
};

}  // namespace

const verb build_verb = {
    .name = "build",
    .alias = "create",
    .bit = on_build,
    .summary = "build a filter from keys",
    .usage = "-o FILE [OPTIONS] [KEYFILES]",
    .description =
        "Builds a filter from the lines of KEYFILES, or of standard input, and writes it to FILE. Without -n the keys "
        "are "
        "counted: files are read twice, a pipe once, its keys waiting in memory as 8 bytes each. The filter is sized "
        "for "
        "as many different keys as there are lines.\n\nThe false-positive rate is 1 % if neither -p nor --bits-per-key "
        "nor "
        "--mem says otherwise; with --mem alone it is the best that fits. Input packed with gzip or zstd is unpacked. "
        "The same keys and options give the same file. FILE appears whole or not at all.",
    .examples = examples,
    .exit_codes = "0: built; 2: error, and FILE is as it was",
    .run = run,
};

}  // namespace bloomery::cli
