// bloomery count: how often a filter holds each key.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/filters/edit.hpp"
#include "cli/filters/open.hpp"
#include "cli/keys/digests.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/verbs/verb.hpp"

namespace bloomery::cli {
namespace {

// Done by the threads: counts the keys of a chunk, and writes its lines after their counts.
void answer(const opened_filter& opened, bool silent, bool json, char terminator, key_chunk& chunk) {
  std::vector<std::uint64_t> counts(chunk.size());
  if (auto counted = opened.filter.count(as_prehashed(chunk.digests64), counts); !counted) {
    return chunk.fail(fail_file(opened.name, counted.error()).value());
  }
  const auto records = chunk.records();
  for (std::size_t i = 0; i < records.size(); ++i) {
    chunk.tally += counts[i] != 0 ? 1 : 0;
    if (silent) continue;
    if (json) {
      const nlohmann::ordered_json object = {{"line", records.text(i)}, {"count", counts[i]}};
      chunk.text.append(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)).append("\n");
    } else {
      chunk.text.append(std::to_string(counts[i])).append("\t");
      chunk.text.append(records.text(i)).push_back(terminator);
    }
  }
}

// Unchanged lines, below one header; not objects.
bool prints_lines(const options& opts) { return !opts.has(flag::quiet) && !opts.has(flag::json); }

// Whether any count was above 0.
outcome<bool> count_all(const options& opts, digest_stream& stream, output& out) {
  progress line(opts, "counting", stream.reader().total_bytes());
  std::uint64_t keys = 0;
  bool any = false;
  bool header_due = prints_lines(opts);
  while (true) {
    const auto more = stream.next();
    if (more && std::exchange(header_due, false) && stream.reader().header()) {
      out.write("count\t");
      out.write(*stream.reader().header());
      out.write(stream.reader().terminator());
    }
    if (!more) {
      // What was answered before the input broke stays answered.
      static_cast<void>(out.flush());
      return failed(more.error());
    }
    if (!*more) return any;
    any |= stream.chunk().tally != 0;
    out.write(stream.chunk().text);
    if (stream.chunk().waited) {
      if (auto done = out.flush(); !done) return failed(done.error());
    }
    if (out.is_broken() || (opts.has(flag::quiet) && any)) return any;
    keys += stream.size();
    line.update(stream.reader().bytes_taken(), keys);
  }
}

outcome<int> run_count(const options& opts) {
  if (opts.operands().empty()) return fail_usage("give the filter: bloomery count FILE [KEYFILES]");
  const std::string& path = opts.operands().front();
  const std::span<const std::string> files = std::span(opts.operands()).subspan(1);
  if (path == "-" && (files.empty() || std::find(files.begin(), files.end(), "-") != files.end())) {
    return fail_usage("the filter comes from standard input, so the keys cannot: name their files");
  }
  const auto opened = open_filter(opts, path);
  if (!opened) return failed(opened.error());
  if (auto can = check_ability(opened->name, opened->filter, "count keys", &kind_capabilities::counts); !can) {
    return failed(can.error());
  }
  const auto hash = hasher_of(opts, *opened);
  if (!hash) return failed(hash.error());
  auto reader = key_reader::make(opts, files, *hash);
  if (!reader) return failed(reader.error());
  if (prints_lines(opts)) reader->require_same_header();
  const auto work = [&opened, silent = opts.has(flag::quiet), json = opts.has(flag::json),
                     terminator = reader->terminator()](key_chunk& chunk) {
    answer(*opened, silent, json, terminator, chunk);
  };
  digest_stream stream(std::move(*reader), *hash, opened->filter.digest_bits(), work);
  output out;
  const auto any = count_all(opts, stream, out);
  if (!any) return failed(any.error());
  if (auto done = out.flush(); !done) return failed(done.error());
  return *any ? 0 : 1;
}

constexpr std::array count_examples = {
    example{"bloomery count --u64 ids.bloom ids.txt", "each line after the count of its integer in the filter"},
    example{"bloomery count words.bloom words.txt | sort -rn",
            "most frequent first, of a filter built with --kind counting"},
    example{"bloomery count --u64 ids.bloom < ids.txt | grep -v ^0", "only those that are in it"},
};

}  // namespace

const verb count_verb = {
    .name = "count",
    .alias = "",
    .bit = on_count,
    .summary = "print how often a filter holds each key, for kinds that count",
    .usage = "[OPTIONS] FILE [KEYFILES]",
    .description =
        "Prints each line of KEYFILES, or of standard input, after a number and a tab: how often the filter "
        "FILE holds its key. The kind must support counting: 'bloomery kinds' lists those that do. A set, such "
        "as kind bitmap, holds a key 0 times or once. A filter with false positives, such as kind counting, may "
        "report too high a count, with the probability of a false positive, and never too low a count; its "
        "counters end at 15, which means 15 or more.\n\n"
        "With --header the header of the first file is printed first, after the word count and a tab, and files "
        "with other columns are refused.\n\n"
        "With --json each line becomes an object on its own line: {\"line\":\"...\",\"count\":1}.",
    .examples = count_examples,
    .exit_codes = "0: at least one count is above 0; 1: none is; 2: error",
    .run = run_count,
};

}  // namespace bloomery::cli
