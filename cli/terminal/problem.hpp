// cli/terminal/problem.hpp: how a verb fails.
//
// A verb returns outcome<int>: the exit code (0 yes or done, 1 no), or a problem, which `main` prints as one line on
// standard error before it exits with 2. Errors of the library get the tool's words for what would help, and the name by
// which the user knows a file in place of the path that they carry.
//
//     if (!file) return fail_file(path, file.error());       // bloomery: seen.bloom: is a directory: give a file
//     return fail_usage("give -o FILE");                      // bloomery: build: give -o FILE
#pragma once

#include <bloomery/core/result.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "cli/terminal/remedies.hpp"

namespace bloomery::cli {

enum class problem_kind : std::uint8_t {
  error,  // bloomery: <text>
  usage,  // bloomery: <verb>: <text>
  quiet,  // nothing: the reader of our output has gone
};

struct problem {
  std::string text;
  problem_kind kind = problem_kind::error;
};

template <class T>
using outcome = tl::expected<T, problem>;
using failed = tl::unexpected<problem>;

inline failed fail_usage(std::string text) { return failed(problem{std::move(text), problem_kind::usage}); }
inline failed fail_text(std::string text) { return failed(problem{std::move(text), problem_kind::error}); }
inline failed fail_quiet() { return failed(problem{{}, problem_kind::quiet}); }
inline failed fail_error(const error& e) { return fail_text(std::string(describe(e, tool_words).view())); }
inline failed fail_file(std::string_view name, std::string_view text) {
  return fail_text(std::string(name).append(": ").append(text));
}
inline failed fail_file(std::string_view name, const error& e) { return fail_file(name, text_of(e)); }
// Parameters that the user gave and the library refused.
inline failed fail_parameter(const error& e) { return fail_usage(text_of(e)); }

}  // namespace bloomery::cli
