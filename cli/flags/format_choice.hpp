// cli/flags/format_choice.hpp: which format options ask for, and the parameters of formats.
//
// A parameter of a format is a member of formats::format_options, an option in the flag table with the same name, and a
// line in format_choice.cpp.
#pragma once

#include <bloomery/formats.hpp>

#include "cli/flags/flags.hpp"
#include "cli/terminal/problem.hpp"

namespace bloomery::cli {

// The parameters as they were given. Those that none of the formats in question takes are refused: of --format, --to and
// --from, where they are given.
outcome<formats::format_options> format_options_of(const options& opts);

// The flag, without dashes, of an option in formats::format::options.
std::string_view flag_name(std::string_view name);

// Whether a format takes the option of this name: see formats::format::options.
bool takes(const formats::format& format, std::string_view name);

// Whether a parameter that was given is one of the format that will be written.
outcome<void> check_parameters(const options& opts, const formats::format& format);

// Why a filter that was read as `from` cannot be written as `to`, and what to do instead.
failed cannot_become(std::string_view name, const any_filter& filter, const formats::format& from,
                     const formats::format& to);

// The format to be written: of --format or --to, else `otherwise`, else native.
const formats::format& output_format(const options& opts, const formats::format* otherwise = nullptr);

}  // namespace bloomery::cli
