// cli/filters/static_build.hpp: filters of kinds that are built from all of their keys at once.
//
// The digests of all keys wait in memory, and those of --exclude too; they must fit into half of what is available.
#pragma once

#include "cli/filters/builder.hpp"

namespace bloomery::cli {

outcome<built> build_static(const options& opts, const build_request& request);

}  // namespace bloomery::cli
