// bloomery dedup --approx: lines are remembered in a filter.
#include <fmt/core.h>
#include <sys/stat.h>

#include <optional>
#include <vector>

#include "cli/build_request.hpp"
#include "cli/dedup_approx.hpp"
#include "cli/filter_edit.hpp"
#include "cli/filter_output.hpp"
#include "cli/messages.hpp"
#include "cli/progress.hpp"
#include "cli/shards.hpp"
#include "cli/verb_dedup.hpp"

namespace bloomery::cli {
namespace {

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
  auto edit = filter_edit::open_file(given, path);
  if (!edit) return failed(edit.error());
  const auto hash = edit->hash(given);
  if (!hash) return failed(hash.error());
  any_filter filter = std::move(edit->filter());
  return approx_start{*hash, std::move(filter), {}, std::move(*edit)};
}

outcome<approx_start> start_approx(const options& given) {
  const std::string path(given.text(flag::state));
  const auto shards = shards_at(path);
  if (!shards) return failed(shards.error());
  if (!path.empty() && (*shards != 0 || is_there(path))) return continue_state(given, path);
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

outcome<dedup_tally> run_approx(const options& given, approx_start start, dedup_lines& sink) {
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
  dedup_tally so_far;
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

}  // namespace

outcome<dedup_tally> run_approx_dedup(const options& given, dedup_lines& sink) {
  auto start = start_approx(given);
  if (!start) return failed(start.error());
  return run_approx(given, std::move(*start), sink);
}

}  // namespace bloomery::cli
