#include "cli/filters/shards.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <bloomery/posix/shard_set.hpp>
#include <bloomery/wrappers/any_shards.hpp>
#include <limits>

#include "cli/filters/output.hpp"
#include "cli/keys/keys.hpp"
#include "cli/verbs/verb.hpp"

namespace bloomery::cli {
namespace {

bool file_exists(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0;
}

}  // namespace

unsigned shards_wanted(const options& opts) {
  constexpr std::uint64_t most = std::numeric_limits<unsigned>::max();
  return static_cast<unsigned>(std::min(opts.count(flag::shards).value_or(0), most));
}

outcome<unsigned> shards_at(const std::string& path) {
  if (path == "-" || path.empty() || file_exists(path)) return 0U;
  const auto found = find_shards(path.c_str());
  if (!found) return fail_file(path, found.error());
  return *found;
}

outcome<opened_filter> open_set(const options& opts, const std::string& path, const set_to_open& set) {
  const formats::format* from = formats::find(opts.text(flag::from));
  if (from != nullptr && !from->is_native()) {
    return fail_file(
        path, fmt::format("is a filter in shards, which is of format native, not {}: leave --from out", from->name));
  }
  auto opened = open_shard_files(path, set.shards,
                                 {.load = {.trust = opts.has(flag::trust)},
                                  .in_memory = set.in_memory,
                                  .first = set.first,
                                  .threads = jobs_of(opts)});
  if (!opened) return fail_file(path, opened.error());
  const file_header& header = opened->first;
  const formats::format* format = formats::find(header.text ? "text" : "native");
  return opened_filter{path, std::move(opened->filter), format, header, opened->size_bytes, header.codec};
}

std::string shard_file(const std::string& path, unsigned index, unsigned shards) {
  return fmt::format("{}.{}", path, shard_label(index, shards).c_str());
}

std::string first_file(const std::string& path, unsigned shards) {
  return shards == 0 ? path : shard_file(path, 0, shards);
}

bool takes_shard_alone(const options& opts) { return opts.command().bit == on_info; }

std::string set_of(const std::string& path, const shard_place& place) {
  return set_of(path, shard_label(place.index, place.count).c_str());
}

std::string set_of(const std::string& path, std::string_view label) {
  const std::string end = fmt::format(".{}", label);
  const bool named = path.size() > end.size() && path.compare(path.size() - end.size(), end.size(), end) == 0;
  return named ? path.substr(0, path.size() - end.size()) : std::string();
}

failed fail_opening(const std::string& path, const error& why) {
  std::string text = text_of(why);
  if (why.code == errc::shard_alone) {
    const std::string set = set_of(path, why.text_view());
    text.append(set.empty() ? ", by the name without .NN-of-NN" : fmt::format(", {}", set));
  }
  return fail_file(path, text);
}

outcome<void> check_set_output(const options& opts, const std::string& path, unsigned shards) {
  if (shards != 0) {
    if (auto usable = check_shards(shards); !usable) return fail_parameter(usable.error());
    if (path == "-") return fail_usage("a filter in shards is a set of files: give their name with -o FILE");
    if (file_exists(path)) {
      return fail_file(path,
                       "is there already, and shards of this name would not be found beside it: remove it, or use "
                       "another name");
    }
  } else if (path == "-" || file_exists(path)) {
    return {};
  }
  const auto there = find_shards(path.c_str());
  if (!there) return fail_file(path, there.error());
  if (*there == 0) return {};
  if (shards == 0) {
    return fail_file(path, fmt::format("is there already, in {} shards, which would not be found beside a file of this "
                                       "name: remove them, or use another name",
                                       *there));
  }
  if (*there != shards) return fail_file(path, make_error(errc::two_shard_sets, {}, {*there, shards}));
  if (!opts.has(flag::force)) {
    return fail_file(path,
                     fmt::format("exists already, in {} shards: use --force to replace them, or another name", *there));
  }
  return {};
}

outcome<void> check_set_not_input(const std::string& path, std::span<const std::string> inputs) {
  const auto shards = shards_at(path);
  for (unsigned i = 0; shards && i < *shards; ++i) {
    const std::string file = shard_file(path, i, *shards);
    bool same = inputs.empty() && is_same_file(file, "-");
    for (const std::string& input : inputs) same |= is_same_file(file, input);
    if (same) return fail_file(file, "is an input as well: give another name for the output");
  }
  return {};
}

std::uint64_t size_of_set(const std::string& path) {
  const auto shards = shards_at(path);
  std::uint64_t sum = 0;
  for (unsigned i = 0; shards && i < *shards; ++i) sum += size_of_file(shard_file(path, i, *shards));
  return sum;
}

}  // namespace bloomery::cli
