// bloomery dedup --approx: lines are remembered in a filter.
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "cli/dedup/approx.hpp"
#include "cli/filters/build_request.hpp"
#include "cli/filters/edit.hpp"
#include "cli/filters/output.hpp"
#include "cli/filters/shards.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/verbs/dedup.hpp"

namespace bloomery::cli {
namespace {

// Any number of lines at a fixed FPR, in one file.
constexpr std::string_view new_state_kind = "scalable";

outcome<bool> state_is_there(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return fail_file(path, fmt::format("cannot open: {}", std::strerror(errno)));
}

struct approx_run {
  hasher hash;
  std::optional<seen_filter> seen{};
  std::optional<seen_filter> reported{};  // of --repeated: what has been printed
  std::string new_state{};                // the file to be made at the end; "" where there is one, or none is requested
  std::optional<filter_edit> state{};     // the file to be changed; its filter has gone to `seen` meanwhile
};

// With --repeated there are two filters, and they share what --mem allows.
std::optional<std::uint64_t> ceiling_of(const options& opts) {
  const auto ceiling = opts.count(flag::memory);
  return ceiling && opts.has(flag::repeated) ? *ceiling / 2 : ceiling;
}

outcome<void> continue_state(const options& opts, const std::string& path, approx_run& run) {
  if (opts.has(flag::capacity) || opts.has(flag::fpr) || opts.has(flag::hash) || opts.has(flag::seed)) {
    return fail_usage(fmt::format("{} has its own size, FPR and hash: leave -n, -p, --hash and --seed out", path));
  }
  auto edit = filter_edit::open_file(opts, path);
  if (!edit) return failed(edit.error());
  const auto hash = edit->hash(opts);
  if (!hash) return failed(hash.error());
  run.hash = *hash;
  any_filter filter = std::move(edit->filter());
  run.state.emplace(std::move(*edit));
  auto seen = seen_filter::over(std::move(filter), path, run.hash, ceiling_of(opts));
  if (!seen) return failed(seen.error());
  run.seen.emplace(std::move(*seen));
  return {};
}

outcome<void> begin_state(const options& opts, const std::string& path, const build_request& request, approx_run& run) {
  if (!request.keys()) {
    return fail_usage("--approx --state: give -n, the number of different lines that the state will hold");
  }
  const filter_params params{.keys = *request.keys(), .fpr = opts.real(flag::fpr).value_or(default_fpr)};
  auto filter = any_filter::make(new_state_kind, params, run.hash.spec());
  if (!filter) return fail_parameter(filter.error());
  auto seen = seen_filter::over(std::move(*filter), path, run.hash, ceiling_of(opts));
  if (!seen) return failed(seen.error());
  run.seen.emplace(std::move(*seen));
  run.new_state = path;
  return {};
}

// How many lines there are, where the input can be read twice.
outcome<std::optional<std::uint64_t>> count_lines(const options& opts, const hasher& hash) {
  auto stream = open_lines(opts, hash);
  if (!stream) return failed(stream.error());
  if (!stream->reader().all_regular()) return std::optional<std::uint64_t>{};
  progress line(opts, "counting", stream->reader().total_bytes());
  outcome<bool> more = true;
  while ((more = stream->next()) && *more) line.update(stream->reader().bytes_taken(), stream->reader().records_read());
  if (!more) return failed(more.error());
  return std::optional(std::max<std::uint64_t>(1, stream->reader().records_read()));
}

outcome<void> begin_filters(const options& opts, const build_request& request, approx_run& run) {
  seen_settings settings{
      .hash = run.hash, .fpr = opts.real(flag::fpr).value_or(default_fpr), .ceiling_bytes = ceiling_of(opts)};
  if (request.keys()) settings.first_capacity = *request.keys();
  if (run.seen) {  // that of a state
    if (run.seen->target_fpr() > 0) settings.fpr = run.seen->target_fpr();
  } else {
    if (!request.keys()) {
      const auto counted = count_lines(opts, run.hash);
      if (!counted) return failed(counted.error());
      settings.grows = !*counted;
      settings.first_capacity = counted->value_or(settings.first_capacity);
    }
    auto seen = seen_filter::make(settings);
    if (!seen) return failed(seen.error());
    run.seen.emplace(std::move(*seen));
  }
  if (!opts.has(flag::repeated)) return {};
  auto reported = seen_filter::make(settings);
  if (!reported) return failed(reported.error());
  run.reported.emplace(std::move(*reported));
  return {};
}

outcome<approx_run> start_approx(const options& opts) {
  const std::string path(opts.text(flag::state));
  const auto shards = shards_at(path);
  if (!shards) return failed(shards.error());
  const outcome<bool> there = path.empty() || *shards != 0 ? outcome<bool>(*shards != 0) : state_is_there(path);
  if (!there) return failed(there.error());
  const auto request = build_request::from(opts);
  if (!request) return failed(request.error());
  approx_run run{.hash = request->hash()};
  if (*there) {
    if (auto done = continue_state(opts, path, run); !done) return failed(done.error());
  } else if (!path.empty()) {
    if (auto done = begin_state(opts, path, *request, run); !done) return failed(done.error());
  }
  if (auto done = begin_filters(opts, *request, run); !done) return failed(done.error());
  return run;
}

// What was seen is remembered: in the file that was continued, or in a new one.
outcome<void> keep_state(approx_run& run) {
  if (run.state) {
    run.state->filter() = std::move(run.seen->filter());
    return run.state->save();
  }
  if (run.new_state.empty()) return {};
  if (auto saved = run.seen->filter().save(run.new_state.c_str()); !saved) {
    return fail_file(run.new_state, saved.error());
  }
  return {};
}

// Which records of a chunk are to be printed.
class line_selection {
 public:
  explicit line_selection(approx_run& run) : run_(&run) {}
  // The first occurrences, or with --repeated the second ones, as lines.
  outcome<void> take(const digest_stream& stream, const dedup_lines& sink, std::string& lines) {
    lines.clear();
    if (auto added = run_->seen->add(stream.keys(), stream.digests64(), fresh_); !added) return added;
    const auto records = stream.records();
    again_.clear();
    again_digests_.clear();
    again_at_.clear();
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (fresh_[i]) {
        ++different_;
        if (!run_->reported) sink.encode(lines, 0, 1, records.text(i));
      } else if (run_->reported) {
        again_.push_back(stream.keys()[i]);
        again_digests_.push_back(stream.digests64()[i]);
        again_at_.push_back(i);
      }
    }
    if (again_.empty()) return {};
    if (auto added = run_->reported->add(again_, again_digests_, fresh_); !added) return added;
    for (std::size_t i = 0; i < again_.size(); ++i) {
      if (fresh_[i]) sink.encode(lines, 0, 1, records.text(again_at_[i]));
    }
    return {};
  }
  [[nodiscard]] std::uint64_t different() const { return different_; }

 private:
  approx_run* run_;
  std::vector<bool> fresh_;
  std::vector<std::string_view> again_;
  std::vector<std::uint64_t> again_digests_;
  std::vector<std::size_t> again_at_;
  std::uint64_t different_ = 0;
};

// All lines of the input through the filters, and what is left of them printed.
outcome<dedup_tally> print_lines(const options& opts, approx_run& run, dedup_lines& sink) {
  auto stream = open_lines(opts, run.hash);
  if (!stream) return failed(stream.error());
  progress line(opts, "reading", stream->reader().total_bytes());
  line_selection selected(run);
  dedup_tally so_far;
  std::string lines;
  outcome<bool> more = true;
  while ((more = stream->next()) && *more) {
    if (auto written = sink.write_header(stream->reader()); !written) return failed(written.error());
    const auto taken = selected.take(*stream, sink, lines);
    if (!taken) return failed(taken.error());
    if (auto written = sink.write(lines); !written) return failed(written.error());
    so_far.lines += stream->records().size();
    line.update(stream->reader().bytes_taken(), so_far.lines);
  }
  line.finish();
  if (!more) return failed(more.error());
  if (auto written = sink.write_header(stream->reader()); !written) return failed(written.error());
  so_far.different = selected.different();
  return so_far;
}

}  // namespace

outcome<void> run_approx_dedup(const options& opts, dedup_lines& sink) {
  auto run = start_approx(opts);
  if (!run) return failed(run.error());
  auto done = print_lines(opts, *run, sink);
  if (!done) return failed(done.error());
  if (opts.has(flag::json)) {
    const auto fpr = run->seen->fpr_now();
    if (!fpr) return failed(fpr.error());
    done->target_fpr = run->seen->target_fpr();
    done->fpr_now = *fpr;
  }
  if (auto written = finish_output(opts, *done); !written) return written;
  return keep_state(*run);
}

}  // namespace bloomery::cli
