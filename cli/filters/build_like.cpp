// build --like: a filter that is empty and otherwise as another.
#include <fmt/core.h>

#include <memory>

#include "cli/filters/build_request.hpp"
#include "cli/filters/fullness.hpp"
#include "cli/filters/open.hpp"
#include "cli/keys/keys.hpp"
#include "cli/terminal/sizes.hpp"

namespace bloomery::cli {

outcome<build_request> build_request::from_like(const options& opts) {
  for (const flag_row& row : flag_table()) {
    const bool decides = row.group == flag_group::size || row.group == flag_group::hashing || row.id == flag::shards;
    if (!decides || row.id == flag::like || row.id == flag::key_file || !opts.has(row.id)) continue;
    return fail_usage(fmt::format("--like takes size, kind and hash from its file: leave --{} out", row.name));
  }
  auto opened = open_filter(opts, std::string(opts.text(flag::like)));
  if (!opened) return failed(opened.error());
  const any_filter& filter = opened->filter;
  if (!opened->format->is_native()) {
    return fail_text(fmt::format("{} is in format {}: --like takes native files", opened->name, opened->format->name));
  }
  if (filter.shards() != 0) {
    return fail_text(fmt::format("{} is in shards: --like takes a filter in one file", opened->name));
  }
  if (filter.capabilities().is_static) {
    return fail_text(fmt::format("{} is of kind {}, which is as large as its keys need: --like takes other kinds",
                                 opened->name, filter.info().name));
  }
  if (filter.info().integer_keys && !opts.has(flag::u64)) {
    return fail_usage(fmt::format("kind {} holds integers: give --u64", filter.info().name));
  }
  auto hash = hasher_of(opts, *opened);
  if (!hash) return failed(hash.error());
  build_request request;
  request.hash_ = *hash;
  request.kind_ = find_kind(filter.info().name);
  request.threads_ = jobs_of(opts);
  const stored_shape shape = filter.shape();
  if (shape.capacity_keys != 0) request.keys_ = shape.capacity_keys;
  if (shape.fpr > 0) request.fpr_ = shape.fpr;
  request.like_ = std::make_shared<const any_filter>(std::move(opened->filter));
  return request;
}

outcome<any_filter> build_request::make_like() const {
  const auto stats = like_->stats();  // reads the file whole, as the copy does
  if (!stats) return fail_error(stats.error());
  if (auto fits = check_memory(stats->memory_bytes); !fits) return failed(fits.error());
  auto filter = like_->clone();
  if (!filter) return fail_error(filter.error());
  if (const auto empty = filter->clear(); !empty) return fail_error(empty.error());
  return std::move(*filter);
}

}  // namespace bloomery::cli
