// The body of all format targets, compiled once.
#include "fuzz/format_run.hpp"

#include "fuzz/format.hpp"

namespace bloomery::fuzzing {

int run_format_once(std::string_view format, const std::uint8_t* data, std::size_t size) {
  return run_format(format, data, size);
}

}  // namespace bloomery::fuzzing
