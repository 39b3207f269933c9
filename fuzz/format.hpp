// fuzz/format.hpp: the fuzz target of one format of another product. A target is a file of two lines:
//
//     #include "format.hpp"
//     BLOOMERY_FUZZ_FORMAT("dcso")
//
// and its corpus is a folder of real files: fuzz/corpus/format_dcso/. What it does with an input is in format_run.hpp; the program
// that replays every corpus compiles that once.
#pragma once

#include "target.hpp"

#ifdef BLOOMERY_REPLAY
namespace bloomery::fuzzing {
int run_format_once(std::string_view format, const std::uint8_t* data, std::size_t size);  // tests/replay/formats.cpp
}
#else
#include "format_run.hpp"
namespace bloomery::fuzzing {
inline int run_format_once(std::string_view format, const std::uint8_t* data, std::size_t size) {
  return run_format(format, data, size);
}
}  // namespace bloomery::fuzzing
#endif

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): a target is a function with a fixed name.
#define BLOOMERY_FUZZ_FORMAT(format)                                 \
  static int run_input(const std::uint8_t* data, std::size_t size) { \
    return bloomery::fuzzing::run_format_once(format, data, size);   \
  }                                                                  \
  BLOOMERY_FUZZ_TARGET(run_input)
