// cli/filters/in_place.hpp: once an output file has its name, errors must report that.
//
//     if (auto saved = save(...); !saved) return failed(saved.error());     // the file is as it was
//     set_in_place(path);
//     ...                                                                    // a report, which may fail
//
// main puts "FILE: is written and in place, but " before whatever goes wrong later, so that exit code 2 without these
// words means that FILE is as it was.
#pragma once

#include <string_view>

namespace bloomery::cli {

// Keeps a copy. Allocates nothing, because memory may have run out by then.
void set_in_place(std::string_view path) noexcept;
// Empty: no file is.
std::string_view file_in_place() noexcept;

}  // namespace bloomery::cli
