// cli/filters/builder.hpp: keys into a new filter, whose size is known or found out.
//
//     auto made = build_filter(opts, *request);
//
// With -n, keys go straight into the filter. Without it, the digests are buffered in memory, 8 bytes each, until the
// last key has been read and the different ones are counted (distinct_counter.hpp): one pass. They may take a quarter
// of the memory that is available, and with --mem half of it or half of 16 MiB, whichever is more; together with the
// filter no more than all of that. Where this is not enough, files are read a second time, and from a pipe the largest
// filter that is possible is filled and then folded to the smallest that keeps the target FPR.
//
// In fixed-capacity kinds that count, copies of a key take room: the filter is sized for them, too, made larger when it
// is full all the same, and where no size would do (a key comes more often than it has places) made a set, with a
// warning.
//
// Static kinds: static_build.hpp.
#pragma once

#include <bloomery/any_filter.hpp>
#include <cstdint>
#include <optional>

#include "cli/filters/build_request.hpp"
#include "cli/flags/flags.hpp"
#include "cli/terminal/problem.hpp"

namespace bloomery::cli {

struct built {
  any_filter filter;
  std::uint64_t keys_read = 0;
  std::uint64_t keys_inserted = 0;
  // Where they were counted; an estimate has its margin added.
  std::optional<std::uint64_t> keys_different{};
  bool different_exact = true;
  // Of --exclude.
  std::optional<std::uint64_t> excluded_read{};
  std::uint64_t excluded = 0;  // different ones
};

outcome<built> build_filter(const options& opts, const build_request& request);

}  // namespace bloomery::cli
