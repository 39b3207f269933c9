// cli/flags/format_choice.hpp: the format that options select, and the parameters of formats.
//
// A parameter of a format is a member of formats::format_options, an option in the flag table with the same name, and a
// line in format_choice.cpp.
#pragma once

#include <bloomery/formats.hpp>

#include "cli/flags/flags.hpp"
#include "cli/terminal/problem.hpp"

namespace bloomery::cli {

// The parameters of the command line. Those that none of --format, --to and --from takes are refused.
outcome<formats::format_options> format_options_of(const options& opts);

// Whether a format takes the option of this name: see formats::format::options.
bool takes(const formats::format& format, std::string_view name);

// A problem if a parameter is set that the format to be written does not take.
outcome<void> check_parameters(const options& opts, const formats::format& format);

// Why a filter that was read as `from` cannot be written as `to`, and what to do instead.
failed cannot_become(std::string_view name, const any_filter& filter, const formats::format& from,
                     const formats::format& to);

// The format to be written: of --format or --to, else `otherwise`, else native.
const formats::format& output_format(const options& opts, const formats::format* otherwise = nullptr);

}  // namespace bloomery::cli
