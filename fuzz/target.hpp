// fuzz/target.hpp: what a fuzz target defines. One macro, in a file fuzz/<name>.cpp with a corpus in fuzz/corpus/<name>/:
//
//     BLOOMERY_FUZZ_TARGET(run_one)   // int run_one(const std::uint8_t* data, std::size_t size)
//
// Compiled for libFuzzer this is LLVMFuzzerTestOneInput. Compiled with BLOOMERY_REPLAY it registers the function under the name of
// its file, for the one program that replays every corpus (tests/replay).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace bloomery::fuzzing {

struct target {
  std::string_view name;
  int (*run)(const std::uint8_t* data, std::size_t size);
};

inline std::vector<target>& targets() {
  static std::vector<target> all;
  return all;
}

// The name of a file without its folders and its ending.
constexpr std::string_view stem_of(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);  // npos + 1 is 0
  return path.substr(0, path.rfind('.'));
}

struct registration {
  registration(std::string_view file, int (*run)(const std::uint8_t* data, std::size_t size)) {
    targets().push_back({stem_of(file), run});
  }
};

}  // namespace bloomery::fuzzing

// NOLINTBEGIN(cppcoreguidelines-macro-usage): libFuzzer calls a function of a fixed name, and __FILE__ is the target's.
#ifdef BLOOMERY_REPLAY
#define BLOOMERY_FUZZ_TARGET(function) \
  static const bloomery::fuzzing::registration registered_target(__FILE__, function);
#else
#define BLOOMERY_FUZZ_TARGET(function) \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { return function(data, size); }
#endif
// NOLINTEND(cppcoreguidelines-macro-usage)
