// bloomery dedup: first occurrences, in order.
#include <fmt/core.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/build_request.hpp"
#include "cli/dedup_approx.hpp"
#include "cli/dedup_exact.hpp"
#include "cli/dedup_state.hpp"
#include "cli/digests.hpp"
#include "cli/filter_edit.hpp"
#include "cli/filter_output.hpp"
#include "cli/messages.hpp"
#include "cli/numbers.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/sizes.hpp"
#include "cli/verb.hpp"

namespace bloomery::cli {
namespace {

constexpr std::uint64_t least_memory_bytes = std::uint64_t{32} << 20U;

// Lines to standard output, or nowhere where only their number is asked for.
class line_sink final : public dedup_sink {
 public:
  line_sink(dedup_mode mode, char terminator, bool silent) : mode_(mode), terminator_(terminator), silent_(silent) {}
  void encode(std::string& to, std::uint64_t /*sequence*/, std::uint64_t count, std::string_view text) const override {
    if (silent_) return;
    if (mode_ == dedup_mode::counts) to.append(std::to_string(count)).push_back('\t');
    to.append(text).push_back(terminator_);
  }
  outcome<void> write(std::string_view encoded) override {
    out_.write(encoded);
    return out_.flush();
  }
  // The names of the fields stay in front of the lines. Once; the reader knows them from the first chunk on.
  outcome<void> write_header(const key_reader& reader) {
    if (header_done_ || silent_ || !reader.header()) return {};
    header_done_ = true;
    if (mode_ == dedup_mode::counts) out_.write("count\t");
    out_.write(*reader.header());
    out_.write(terminator_);
    return out_.flush();
  }

 private:
  dedup_mode mode_;
  char terminator_;
  bool silent_;
  bool header_done_ = false;
  output out_;
};

struct tally {
  std::uint64_t lines = 0;
  std::uint64_t different = 0;
};

dedup_mode mode_of(const options& given) {
  if (given.has(flag::counts)) return dedup_mode::counts;
  return given.has(flag::repeated) ? dedup_mode::repeated : dedup_mode::first;
}

outcome<void> check_options(const options& given) {
  const auto both = [&](flag a, flag b, std::string_view text) -> outcome<void> {
    if (given.has(a) && given.has(b)) return fail_usage(std::string(text));
    return {};
  };
  if (auto fine = both(flag::counts, flag::repeated, "--counts and --repeated contradict each other: give one"); !fine)
    return fine;
  if (auto fine = both(flag::counts, flag::approx, "--counts is exact: leave --approx out"); !fine) return fine;
  if (auto fine = both(flag::counts, flag::state, "--counts counts one run: leave --state out"); !fine) return fine;
  if (given.has(flag::fpr) && !given.has(flag::approx)) {
    return fail_usage("-p is a share of mistakes and dedup makes none: give --approx as well, or leave -p out");
  }
  const auto memory = given.count(flag::memory);
  if (memory && !given.has(flag::approx) && *memory < least_memory_bytes) {
    return fail_usage(fmt::format("--mem: dedup needs {} at least", exact_size(least_memory_bytes)));
  }
  const std::string state(given.text(flag::state));
  if (state == "-") return fail_usage("--state: the state cannot be standard input: give a file");
  return state.empty() ? outcome<void>{} : check_not_input(state, given.operands());
}

// A seed that nobody can know beforehand: keys that collide on purpose would make exact de-duplication slow.
outcome<hasher> unpredictable_hash() {
  std::uint64_t seed = 0;
  if (getrandom(&seed, sizeof seed, 0) != sizeof seed) return fail_text("the system gives no random numbers");
  return hasher::of(xxh3{.seed = seed});
}

outcome<digest_stream> open_lines(const options& given, const hasher& hash) {
  auto reader = key_reader::make(given, given.operands(), hash);
  if (!reader) return failed(reader.error());
  return digest_stream(std::move(*reader), hash, 64);
}

// --mem, or half of what there is: two windows and the rest for the table.
void allot_memory(const options& given, dedup_settings& settings) {
  constexpr std::uint64_t largest_window = std::uint64_t{40} << 20U;
  constexpr std::uint64_t everything_else = std::uint64_t{16} << 20U;
  const std::uint64_t all =
      std::max(given.count(flag::memory).value_or(available_memory_bytes() / 2), least_memory_bytes);
  settings.window_bytes = static_cast<std::size_t>(std::min(all / 12, largest_window));
  settings.table_bytes = all - everything_else - 4 * settings.window_bytes;
}

outcome<tally> run_exact(const options& given, const hasher& hash, digest_stream& stream, line_sink& sink) {
  dedup_settings settings{.mode = mode_of(given), .hash = hash, .folder = spill_folder(given)};
  settings.background = stream.reader().jobs() > 1;
  allot_memory(given, settings);
  std::optional<dedup_state> state;
  std::unique_ptr<exact_dedup> dedup;
  if (given.has(flag::state)) {
    auto opened = dedup_state::open(std::string(given.text(flag::state)));
    if (!opened) return failed(opened.error());
    state.emplace(std::move(*opened));
    auto known = state->load(hash);
    if (!known) return failed(known.error());
    dedup = exact_dedup::resume(settings, sink, std::move(*known));
  } else {
    auto made = exact_dedup::make(settings, sink);
    if (!made) return failed(made.error());
    dedup = std::move(*made);
  }
  progress line(given, "reading", stream.reader().total_bytes());
  tally so_far;
  std::vector<dedup_entry> entries;
  outcome<bool> more = true;
  while ((more = stream.next()) && *more) {
    entries.clear();
    if (auto written = sink.write_header(stream.reader()); !written) return failed(written.error());
    const auto records = stream.records();
    for (std::size_t i = 0; i < records.size(); ++i) {
      entries.push_back({stream.keys()[i], records.text(i), so_far.lines++});
    }
    if (auto added = dedup->add(entries, stream.narrow()); !added) return failed(added.error());
    if (stream.chunk().waited) {
      if (auto flushed = dedup->flush(); !flushed) return failed(flushed.error());
    }
    line.update(stream.reader().bytes_taken(), so_far.lines);
  }
  line.finish();
  if (!more) {
    // Lines before the input broke are printed, but a state does not remember them.
    if (auto flushed = dedup->flush(); !flushed) return failed(flushed.error());
    return failed(more.error());
  }
  if (auto written = sink.write_header(stream.reader()); !written) return failed(written.error());
  if (auto finished = dedup->finish(); !finished) return failed(finished.error());
  if (state) {
    if (auto kept = state->commit(dedup->store()); !kept) return failed(kept.error());
  }
  so_far.different = dedup->different();
  return so_far;
}

bool is_there(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0;
}

struct approx_start {
  hasher hash;
  std::optional<any_filter> filter;  // none: a chain
  std::string new_state;             // the file to be made at the end; "" where there is one, or none is asked for
  std::optional<filter_edit> state;  // the file to be changed; its filter has gone to `filter` meanwhile
};

outcome<approx_start> continue_state(const options& given, const std::string& path) {
  if (given.has(flag::capacity) || given.has(flag::fpr) || given.has(flag::hash) || given.has(flag::seed)) {
    return fail_usage(fmt::format("{} has its own size, rate and hash: leave -n, -p, --hash and --seed out", path));
  }
  auto edit = filter_edit::open_file(path);
  if (!edit) return failed(edit.error());
  const auto hash = edit->hash(given);
  if (!hash) return failed(hash.error());
  any_filter filter = std::move(edit->filter());
  return approx_start{*hash, std::move(filter), {}, std::move(*edit)};
}

outcome<approx_start> start_approx(const options& given) {
  const std::string path(given.text(flag::state));
  if (!path.empty() && is_there(path)) return continue_state(given, path);
  const auto request = build_request::from(given);
  if (!request) return failed(request.error());
  approx_start start{request->hash(), {}, {}, {}};
  if (!path.empty()) {
    if (!request->keys()) {
      return fail_usage("--approx --state: give -n, the number of different lines that the state will hold one day");
    }
    start.new_state = path;
  }
  std::optional<std::uint64_t> keys = request->keys();
  const auto probe = key_reader::make(given, given.operands(), request->hash());
  if (!probe) return failed(probe.error());
  if (!keys && probe->all_regular()) {
    auto stream = open_lines(given, request->hash());
    if (!stream) return failed(stream.error());
    progress line(given, "counting", stream->reader().total_bytes());
    outcome<bool> more = true;
    while ((more = stream->next()) && *more)
      line.update(stream->reader().bytes_taken(), stream->reader().records_read());
    if (!more) return failed(more.error());
    keys = std::max<std::uint64_t>(1, stream->reader().records_read());
  }
  if (!keys) return start;
  auto filter = request->make(*keys);
  if (!filter) return failed(filter.error());
  start.filter = std::move(*filter);
  return start;
}

// What was seen is remembered: in the file that was continued, or in a new one.
outcome<void> keep_state(const options& given, approx_start& start, any_filter& seen) {
  const std::string name = start.state ? start.state->name() : start.new_state;
  if (name.empty()) return {};
  const auto stats = seen.stats();
  if (!stats) return fail_error(stats.error());
  const std::string overfull = overfull_text(seen, *stats);
  if (start.state) {
    start.state->filter() = std::move(seen);
    if (auto saved = start.state->save(); !saved) return saved;
  } else if (auto saved = seen.save(name.c_str()); !saved) {
    return fail_file(name, saved.error());
  }
  if (!overfull.empty()) warn(given, fmt::format("{} {}", name, overfull));
  return {};
}

// A chain, or a second filter of the same size for what has been printed.
outcome<seen_filter> make_seen(const options& given, const hasher& hash, std::optional<any_filter> filter) {
  if (filter) return seen_filter(std::move(*filter), hash);
  constexpr double default_fpr = 0.01;
  return seen_filter::growing(given.real(flag::fpr).value_or(default_fpr), hash, given.count(flag::memory));
}

outcome<tally> run_approx(const options& given, approx_start start, line_sink& sink) {
  std::optional<seen_filter> reported;
  if (given.has(flag::repeated)) {
    std::optional<any_filter> like;
    if (start.filter) {
      auto copy = start.filter->clone();
      if (!copy) return fail_error(copy.error());
      if (auto cleared = copy->clear(); !cleared) return fail_error(cleared.error());
      like = std::move(*copy);
    }
    auto made = make_seen(given, start.hash, std::move(like));
    if (!made) return failed(made.error());
    reported = std::move(*made);
  }
  auto seen = make_seen(given, start.hash, std::move(start.filter));
  if (!seen) return failed(seen.error());
  auto stream = open_lines(given, start.hash);
  if (!stream) return failed(stream.error());
  progress line(given, "reading", stream->reader().total_bytes());
  tally so_far;
  std::vector<bool> fresh;
  std::vector<std::string_view> again;
  std::vector<std::uint64_t> again_digests;
  std::vector<std::size_t> again_at;
  std::string lines;
  outcome<bool> more = true;
  while ((more = stream->next()) && *more) {
    if (auto written = sink.write_header(stream->reader()); !written) return failed(written.error());
    if (auto added = seen->add(stream->keys(), stream->narrow(), fresh); !added) return failed(added.error());
    const auto records = stream->records();
    lines.clear();
    again.clear();
    again_digests.clear();
    again_at.clear();
    for (std::size_t i = 0; i < records.size(); ++i) {
      so_far.different += fresh[i] ? 1 : 0;
      if (fresh[i] && !reported) sink.encode(lines, 0, 1, records.text(i));
      if (fresh[i] || !reported) continue;
      again.push_back(stream->keys()[i]);
      again_digests.push_back(stream->narrow()[i]);
      again_at.push_back(i);
    }
    if (reported) {
      if (auto added = reported->add(again, again_digests, fresh); !added) return failed(added.error());
      for (std::size_t i = 0; i < again.size(); ++i) {
        if (fresh[i]) sink.encode(lines, 0, 1, records.text(again_at[i]));
      }
    }
    if (auto written = sink.write(lines); !written) return failed(written.error());
    so_far.lines += records.size();
    line.update(stream->reader().bytes_taken(), so_far.lines);
  }
  line.finish();
  if (!more) return failed(more.error());
  if (auto written = sink.write_header(stream->reader()); !written) return failed(written.error());
  if (auto kept = keep_state(given, start, seen->filter()); !kept) return failed(kept.error());
  return so_far;
}

outcome<tally> run_mode(const options& given, line_sink& sink) {
  if (given.has(flag::approx)) {
    auto start = start_approx(given);
    if (!start) return failed(start.error());
    return run_approx(given, std::move(*start), sink);
  }
  auto hash = unpredictable_hash();
  if (given.has(flag::hash) || given.has(flag::seed) || given.has(flag::key_file)) {
    const auto request = build_request::from(given);
    if (!request) return failed(request.error());
    hash = request->hash();
  }
  if (!hash) return failed(hash.error());
  auto stream = open_lines(given, *hash);
  if (!stream) return failed(stream.error());
  return run_exact(given, *hash, *stream, sink);
}

outcome<int> run(const options& given) {
  if (auto fine = check_options(given); !fine) return failed(fine.error());
  line_sink sink(mode_of(given), given.has(flag::null) ? '\0' : '\n', given.has(flag::json));
  const auto done = run_mode(given, sink);
  if (!done) return failed(done.error());
  if (given.has(flag::json)) {
    output out;
    out.write_json({{"lines", done->lines},
                    {given.has(flag::state) ? "new" : "different", done->different},
                    {"repetitions", done->lines - done->different},
                    {"exact", !given.has(flag::approx)}});
    if (auto flushed = out.flush(); !flushed) return failed(flushed.error());
  }
  return 0;
}

constexpr std::array examples = {
    example{"bloomery dedup urls.txt > different.txt", "each line once, in order"},
    example{"tail -f access.log | bloomery dedup -f 1 -d ' '", "each client once, as it comes"},
    example{"bloomery dedup --state seen.state today.txt", "only lines that no earlier run has printed"},
    example{"bloomery dedup --counts urls.txt | sort -rn | head", "the most frequent lines"},
    example{"bloomery dedup --approx -p 1/10000 huge.txt", "in the smallest memory, at the cost of a few lines"},
};

}  // namespace

const verb dedup_verb = {
    .name = "dedup",
    .alias = "uniq",
    .bit = on_dedup,
    .summary = "print each line once, in order",
    .usage = "[OPTIONS] [FILES]",
    .description =
        "Prints the first occurrence of every line of FILES, or of standard input, in order. With -f and its like the "
        "key decides which lines are equal, and whole lines are printed; with --header the first file's header stays "
        "in "
        "front.\n\n"
        "Exact unless --approx is given: no line whose key is new is ever lost, and none is printed twice. A line is "
        "dropped only after its key has been compared, byte by byte, with an earlier one; hashes only say where to "
        "look. Memory holds 9 to 18 bytes for each different key, whatever its length, and some 100 MB of buffers; the "
        "keys themselves are on disk, in a file without a name in --temp-dir. When the keys need more than --mem (by "
        "default half of the memory that is free) the rest waits on disk and is printed at the end, still in order.\n\n"
        "--approx remembers lines in a filter instead, about 10 bits each. A share of at most -p of the new lines is "
        "then taken for known ones and lost; nothing is printed twice. Without -n, files are counted first and from a "
        "pipe filters are chained.\n\n"
        "--state FILE continues where the last run with FILE ended. An exact state holds the lines themselves and has "
        "its own format; with --approx it is an ordinary filter. A run that fails or is stopped leaves the state as it "
        "was, so what it printed will be printed again.",
    .examples = examples,
    .exit_codes = "0: done; 2: error",
    .run = run,
};

}  // namespace bloomery::cli
