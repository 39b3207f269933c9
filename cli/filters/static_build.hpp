// cli/filters/static_build.hpp: filters of static kinds, built from the complete key set.
//
// The digests of all keys, and those of --exclude, are buffered in memory; they must fit into half of what is
// available.
#pragma once

#include "cli/filters/builder.hpp"

namespace bloomery::cli {

outcome<built> build_static(const options& opts, const build_request& request);

// Of formats whose files have the order of their keys: the keys themselves are buffered and sorted.
outcome<built> build_from_keys(const options& opts, const build_request& request);

}  // namespace bloomery::cli
