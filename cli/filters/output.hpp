// cli/filters/output.hpp: writing a filter to -o, with --force, --compress and --format.
//
//     if (auto possible = check_output(opts); !possible) return failed(possible.error());     // before any work
//     ...
//     if (auto saved = save_filter(opts, filter); !saved) return failed(saved.error());       // checks again
#pragma once

#include <bloomery/any_filter.hpp>
#include <bloomery/formats.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "cli/flags/flags.hpp"
#include "cli/terminal/problem.hpp"

namespace bloomery::cli {

// Whether the file can be written: it has a name, a folder, and is not there already unless --force. The same of the
// files of a filter in shards.
outcome<void> check_output(const options& opts, unsigned shards = 0);

// A problem when the file to be changed is one of those that keys are read from ("-" or none: standard input).
outcome<void> check_not_input(const std::string& path, std::span<const std::string> inputs);

// Whether both names lead to the same file; "-" is standard input.
bool is_same_file(const std::string& a, const std::string& b);

// In the format of --format or --to, else in `otherwise`, else as a native file.
outcome<void> save_filter(const options& opts, const any_filter& filter, const formats::format* otherwise = nullptr);

// 0 for standard output; for a set of shards, all of its files.
std::uint64_t size_of_file(std::string_view path);

}  // namespace bloomery::cli
