// cli/terminal/standard_streams.hpp: descriptors 0 to 2 are the standard streams, also where the caller closed them.
//
// A program that is started with `<&-` or `>&-` gets its next opened file as descriptor 0 or 1: a filter would be read
// as keys, and lines would be written into a state file. So main calls guard_standard_streams() before anything is
// opened. A closed stream is replaced by /dev/null, opened so that every read from standard input and every write to
// the outputs fails.
#pragma once

#include "cli/terminal/problem.hpp"

namespace bloomery::cli {

// False when that is not possible: then nothing may be opened.
[[nodiscard]] bool guard_standard_streams();
// A problem when standard input was closed by the caller.
outcome<void> check_standard_input();
// Whether standard output was closed by the caller.
bool is_standard_output_closed();

}  // namespace bloomery::cli
