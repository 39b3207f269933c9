// bloomery dedup: first occurrences, in order.
#include <fmt/core.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <vector>

#include "cli/dedup/mapped.hpp"
#include "cli/dedup/state.hpp"
#include "cli/filters/build_request.hpp"
#include "cli/filters/output.hpp"
#include "cli/flags/numbers.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/terminal/sizes.hpp"
#include "cli/verbs/dedup.hpp"
#include "cli/verbs/verb.hpp"

namespace bloomery::cli {
namespace {

constexpr std::uint64_t least_memory_bytes = std::uint64_t{32} << 20U;

dedup_mode mode_of(const options& opts) {
  if (opts.has(flag::counts)) return dedup_mode::counts;
  return opts.has(flag::repeated) ? dedup_mode::repeated : dedup_mode::first;
}

outcome<void> check_options(const options& opts) {
  const auto both = [&](flag a, flag b, std::string_view text) -> outcome<void> {
    if (opts.has(a) && opts.has(b)) return fail_usage(std::string(text));
    return {};
  };
  if (auto fine = both(flag::counts, flag::repeated, "--counts and --repeated contradict each other: give one"); !fine)
    return fine;
  if (auto fine = both(flag::counts, flag::approx, "--counts is exact: leave --approx out"); !fine) return fine;
  if (auto fine = both(flag::counts, flag::state, "--counts counts one run: leave --state out"); !fine) return fine;
  if (opts.has(flag::fpr) && !opts.has(flag::approx)) {
    return fail_usage("-p is a share of mistakes and dedup makes none: give --approx as well, or leave -p out");
  }
  if (opts.has(flag::capacity) && !opts.has(flag::approx)) {
    return fail_usage("-n is the size of a filter and dedup needs none: give --approx as well, or leave -n out");
  }
  const auto memory = opts.count(flag::memory);
  if (memory && !opts.has(flag::approx) && *memory < least_memory_bytes) {
    return fail_usage(fmt::format("--mem: dedup needs {} at least", exact_size(least_memory_bytes)));
  }
  const std::string state(opts.text(flag::state));
  if (state == "-") return fail_usage("--state: the state cannot be standard input: give a file");
  return state.empty() ? outcome<void>{} : check_not_input(state, opts.operands());
}

// An unpredictable seed: keys that collide on purpose would make exact de-duplication slow.
outcome<hasher> unpredictable_hash() {
  std::uint64_t seed = 0;
  if (getrandom(&seed, sizeof seed, 0) != sizeof seed) return fail_text("the system returned no random numbers");
  return hasher::of(xxh3{.seed = seed});
}

// --mem, or half of what there is: two windows, with what belongs to them, and the rest for the table.
void allot_memory(const options& opts, std::uint64_t largest_window, dedup_settings& settings) {
  constexpr std::uint64_t everything_else = std::uint64_t{16} << 20U;
  const std::uint64_t all =
      std::max(opts.count(flag::memory).value_or(available_memory_bytes() / 2), least_memory_bytes);
  settings.window_bytes = static_cast<std::size_t>(std::min(all / 12, largest_window));
  settings.table_bytes = all - everything_else - 4 * settings.window_bytes;
}

// Files that can be mapped need no copies of their keys. None: not such files, or more keys than fit into memory.
outcome<std::optional<dedup_tally>> run_mapped(const options& opts, const hasher& hash, const key_reader& reader,
                                               dedup_lines& sink) {
  std::optional<dedup_tally> none;
  const auto format = key_format::from(opts);
  const bool whole_lines = format && format->is_plain() && !format->header && hash.accepts(0) && hash.accepts(1);
  if (!whole_lines || mode_of(opts) != dedup_mode::first || opts.has(flag::state)) return none;
  if (opts.has(flag::temp_dir)) {
    // It is not needed here, but an unusable folder should be reported now, not when the input grows.
    if (auto file = spill_file::make(spill_folder(opts)); !file) return failed(file.error());
  }
  // The system must be able to keep them at hand.
  const auto input = mapped_files::open(opts.operands(), available_memory_bytes() / 2);
  if (!input) return none;
  // For every window the file is read up to there, so a large file needs large windows.
  constexpr std::uint64_t usual_window = std::uint64_t{32} << 20U;
  constexpr std::uint64_t most_windows = 24;
  dedup_settings shares;
  allot_memory(opts, std::max(usual_window, input->size() / most_windows), shares);
  mapped_dedup::printer print;
  if (!opts.has(flag::json)) print = [&](std::string_view lines) { return sink.write(lines); };
  mapped_dedup dedup(*input,
                     {.hash = hash,
                      .terminator = format->terminator,
                      .jobs = reader.jobs(),
                      .table_bytes = shares.table_bytes,
                      .window_bytes = shares.window_bytes},
                     print);
  progress line(opts, "reading", input->content_bytes());
  const auto fits = dedup.run([&](std::uint64_t bytes, std::uint64_t lines) { line.update(bytes, lines); });
  line.finish();
  if (!fits) return failed(fits.error());
  if (!*fits) {
    sink.start_again();
    return none;
  }
  input->pass_standard_input();
  return std::optional(dedup_tally{dedup.lines(), dedup.different()});
}

// The engine, and what it goes on from. The state outlives the engine, which has its file.
struct exact_run {
  std::optional<dedup_state> state;
  std::unique_ptr<exact_dedup> dedup;
};

outcome<exact_run> start_exact(const options& opts, const dedup_settings& settings, dedup_lines& sink) {
  exact_run run;
  if (!opts.has(flag::state)) {
    auto made = exact_dedup::make(settings, sink);
    if (!made) return failed(made.error());
    run.dedup = std::move(*made);
    return run;
  }
  auto opened = dedup_state::open(std::string(opts.text(flag::state)));
  if (!opened) return failed(opened.error());
  run.state.emplace(std::move(*opened));
  auto known = run.state->load(settings.hash);
  if (!known) return failed(known.error());
  run.dedup = exact_dedup::resume(settings, sink, std::move(*known));
  return run;
}

// All lines of the input into the engine; how many there were.
outcome<std::uint64_t> add_lines(const options& opts, digest_stream& stream, exact_dedup& dedup, dedup_lines& sink) {
  progress line(opts, "reading", stream.reader().total_bytes());
  std::uint64_t lines = 0;
  std::vector<dedup_entry> entries;
  outcome<bool> more = true;
  while ((more = stream.next()) && *more) {
    entries.clear();
    if (auto written = sink.write_header(stream.reader()); !written) return failed(written.error());
    const auto records = stream.records();
    for (std::size_t i = 0; i < records.size(); ++i) {
      entries.push_back({stream.keys()[i], records.text(i), lines++});
    }
    if (auto added = dedup.add(entries, stream.digests64()); !added) return failed(added.error());
    // Lines that come together are checked together, which is several times faster.
    constexpr std::chrono::milliseconds patience{20};
    if (stream.chunk().waited && stream.is_idle_for(patience)) {
      if (auto flushed = dedup.flush(); !flushed) return failed(flushed.error());
    }
    line.update(stream.reader().bytes_taken(), lines);
  }
  line.finish();
  if (more) return lines;
  // Lines before the input broke are printed, but a state does not remember them.
  if (auto flushed = dedup.flush(); !flushed) return failed(flushed.error());
  return failed(more.error());
}

outcome<void> run_exact(const options& opts, const hasher& hash, digest_stream& stream, dedup_lines& sink) {
  dedup_settings settings{.mode = mode_of(opts), .hash = hash, .folder = spill_folder(opts)};
  settings.background = stream.reader().jobs() > 1;
  constexpr std::uint64_t largest_window = std::uint64_t{40} << 20U;
  allot_memory(opts, largest_window, settings);
  auto run = start_exact(opts, settings, sink);
  if (!run) return failed(run.error());
  const auto lines = add_lines(opts, stream, *run->dedup, sink);
  if (!lines) return failed(lines.error());
  if (auto written = sink.write_header(stream.reader()); !written) return failed(written.error());
  if (auto finished = run->dedup->finish(); !finished) return failed(finished.error());
  if (auto written = finish_output(opts, {*lines, run->dedup->different()}); !written) return written;
  return run->state ? run->state->commit(run->dedup->store()) : outcome<void>{};
}

outcome<void> run_mode(const options& opts, dedup_lines& sink) {
  if (opts.has(flag::approx)) return run_approx_dedup(opts, sink);
  auto hash = unpredictable_hash();
  if (opts.has(flag::hash) || opts.has(flag::seed) || opts.has(flag::key_file)) {
    const auto request = build_request::from(opts);
    if (!request) return failed(request.error());
    hash = request->hash();
  }
  if (!hash) return failed(hash.error());
  auto stream = open_lines(opts, *hash);
  if (!stream) return failed(stream.error());
  const auto done = run_mapped(opts, *hash, stream->reader(), sink);
  if (!done) return failed(done.error());
  return *done ? finish_output(opts, **done) : run_exact(opts, *hash, *stream, sink);
}

outcome<int> run_dedup(const options& opts) {
  if (auto fine = check_options(opts); !fine) return failed(fine.error());
  dedup_lines sink(mode_of(opts), opts.has(flag::null) ? '\0' : '\n', opts.has(flag::json));
  try {
    if (auto done = run_mode(opts, sink); !done) return failed(done.error());
  } catch (const std::bad_alloc&) {
    return fail_text("the system refused memory: give less of it with --mem");
  }
  return 0;
}

constexpr std::array dedup_examples = {
    example{"bloomery dedup urls.txt > different.txt", "each line once, in order"},
    example{"tail -f access.log | bloomery dedup -f 1 -d ' '", "each client once, as it comes"},
    example{"bloomery dedup --state seen.state today.txt", "only lines that no earlier run has printed"},
    example{"bloomery dedup --counts urls.txt | sort -rn | head", "the most frequent lines"},
    example{"bloomery dedup --approx -p 1/10000 huge.txt", "in the smallest memory, at the cost of a few lines"},
};

}  // namespace

outcome<void> finish_output(const options& opts, const dedup_tally& done) {
  const bool approx = opts.has(flag::approx);
  const bool has_state = opts.has(flag::state);
  if (opts.has(flag::json)) {
    // By hand: an object of the JSON library takes memory to be destroyed, and ends the program where that is refused.
    std::string report =
        fmt::format("{{\n  \"lines\": {},\n  \"{}\": {},\n  \"repetitions\": {},\n  \"exact\": {}", done.lines,
                    has_state ? "new" : "different", done.different, done.lines - done.different, !approx);
    if (approx) {
      report.append(fmt::format(",\n  \"target_fpr\": {},\n  \"fpr_now\": {}", done.target_fpr, done.fpr_now));
    }
    output out;
    out.write(report);
    out.write("\n}\n");
    if (auto flushed = out.flush(); !flushed) return flushed;
  }
  struct stat status {};
  if (!has_state || fstat(STDOUT_FILENO, &status) != 0 || !S_ISREG(status.st_mode)) return {};
  int synced = -1;
  do {
    synced = fsync(STDOUT_FILENO);
  } while (synced != 0 && errno == EINTR);
  // A file system may not support it.
  if (synced == 0 || errno == EINVAL || errno == ENOTSUP) return {};
  return fail_file("standard output", fmt::format("cannot write: {}", std::strerror(errno)));
}

const verb dedup_verb = {
    .name = "dedup",
    .alias = "uniq",
    .bit = on_dedup,
    .summary = "print each line once, in order",
    .usage = "[OPTIONS] [FILES]",
    .description =
        "Prints the first occurrence of every line of FILES, or of standard input, in order. With -f and "
        "related options the key decides which lines are equal, and complete lines are printed; with --header "
        "the header of the first file stays first.\n\n"
        "Exact unless --approx is set: no line with a new key is lost, and none is printed twice. A line is "
        "dropped only after its key has been compared, byte by byte, with an earlier one; hashes only locate "
        "candidates. Memory: 9 to 18 bytes for each different key, whatever its length, and about 100 MB of "
        "buffers. Plain lines of files are compared with the files themselves, which must not change meanwhile; "
        "for pipes, compressed files and other options, keys are stored on disk, in an unnamed file in "
        "--temp-dir. If the keys need more than --mem (default: half of the free memory), the rest is spilled "
        "there and printed at the end, still in order.\n\n"
        "--approx remembers lines in a filter instead, at about 10 bits each. A share of at most -p of the new "
        "lines is then taken for repetitions and lost; nothing is printed twice. With more lines than -n, "
        "filters are added, and all together keep -p; if they need more than --mem, the run ends with an error. "
        "Without -n, files are counted first.\n\n"
        "--state FILE continues where the last run with FILE ended. An exact state holds the lines themselves "
        "and has its own format; with --approx it is an ordinary filter, of kind scalable, which grows. A "
        "filter of another kind can be continued until it is full; the next new line is an error. The state is "
        "changed last, after all output has been written (and is on disk, if standard output is a file): a run "
        "that fails or is stopped leaves the state unchanged, so the next run prints the same lines again.",
    .examples = dedup_examples,
    .exit_codes = "0: done; 2: error",
    .run = run_dedup,
};

}  // namespace bloomery::cli
