// bloomery: the tool. Finds the verb, reads its options, runs it, and turns what comes back into an exit code.
#include <fmt/core.h>
#include <malloc.h>

#include <bloomery/bloomery.hpp>
#include <new>
#include <string_view>

#include "cli/messages.hpp"
#include "cli/output.hpp"
#include "cli/signals.hpp"
#include "cli/standard_streams.hpp"
#include "cli/verb.hpp"

namespace bloomery::cli {
namespace {

constexpr int exit_warned = 1;  // with --strict
constexpr int exit_error = 2;

int report(const problem& what, std::string_view verb_name) {
  if (what.kind == problem_kind::usage) say(fmt::format("bloomery: {}: {}\n", verb_name, what.text));
  if (what.kind == problem_kind::error) say(fmt::format("bloomery: {}\n", what.text));
  return exit_error;
}

// Text that was asked for goes to standard output.
int print(std::string_view text) {
  output out;
  out.write(text);
  const auto done = out.flush();
  return done ? 0 : report(done.error(), {});
}

int run_verb(const verb& of, std::span<char* const> arguments) {
  const auto given = options::parse(of, arguments);
  if (!given) return report(given.error(), of.name);
  if (given->has(flag::help)) return print(verb_help(of));
  const auto code = of.run(*given);
  if (code && *code == 0 && given->has(flag::strict) && has_warned()) return exit_warned;
  return code ? *code : report(code.error(), of.name);
}

int run(std::span<char* const> arguments) {
  if (arguments.size() < 2) {
    say(short_help());
    return exit_error;
  }
  const std::string_view word = arguments[1];
  if (word == "--help" || word == "-h") return print(main_help());
  if (word == "--version" || word == "-V") return print(fmt::format("bloomery {}\n", version));
  const verb* of = find_verb(word);
  return of == nullptr ? report({unknown_verb_text(word)}, {}) : run_verb(*of, arguments.subspan(1));
}

}  // namespace
}  // namespace bloomery::cli

int main(int argc, char** argv) {
  if (!bloomery::cli::guard_standard_streams()) {
    bloomery::cli::say("bloomery: a standard stream is closed and /dev/null cannot be opened in its place\n");
    return bloomery::cli::exit_error;
  }
#ifdef __GLIBC__
  // Large blocks are pages of their own for good: what is freed goes back to the system, so that --mem means something.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
  bloomery::enable_all();
  bloomery::cli::handle_signals();
  try {
    return bloomery::cli::run({argv, static_cast<std::size_t>(argc)});
  } catch (const std::bad_alloc&) {
    bloomery::cli::say("bloomery: the system refused memory: give fewer keys at a time, or a smaller -n\n");
    return bloomery::cli::exit_error;
  }
}
