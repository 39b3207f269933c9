// bloomery: the tool. Finds the verb, reads its options, runs it, and converts the result into an exit code.
#include <fmt/core.h>
#include <malloc.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <bloomery/bloomery.hpp>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>

#include "cli/filters/in_place.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/signals.hpp"
#include "cli/terminal/standard_streams.hpp"
#include "cli/verbs/verb.hpp"

namespace bloomery::cli {
namespace {

constexpr int exit_warned = 1;  // with --strict
constexpr int exit_error = 2;

// One line on standard error, in one call and without memory: there may be none.
void print_error(std::string_view who, std::string_view text) noexcept {
  const std::string_view file = file_in_place();
  std::array<std::string_view, 5> pieces = {"bloomery: ", who, who.empty() ? "" : ": ", text, "\n"};
  if (!file.empty()) pieces = {"bloomery: ", file, ": is written and in place, but ", text, "\n"};
  std::array<iovec, pieces.size()> vectors{};
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    vectors[i] = {const_cast<char*>(pieces[i].data()), pieces[i].size()};  // NOLINT(*-const-cast): is not written to
  }
  // Nowhere to report that standard error cannot be written.
  [[maybe_unused]] const auto written = writev(STDERR_FILENO, vectors.data(), static_cast<int>(vectors.size()));
}

int report(const problem& what, std::string_view verb_name) {
  if (what.kind == problem_kind::usage) print_error(verb_name, what.text);
  if (what.kind == problem_kind::error) print_error({}, what.text);
  return exit_error;
}

void print_out_of_memory() noexcept {
  print_error({}, file_in_place().empty() ? "the system refused memory: give fewer keys at a time, or a smaller -n"
                                          : "the system refused memory for the report");
}

// Unexpected exceptions, or out of memory. Called inside a handler.
void report_exception() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    print_out_of_memory();
  } catch (const std::system_error& what) {
    const bool threads = what.code() == std::errc::resource_unavailable_try_again;
    print_error({},
                threads ? "the system refused a thread: give --jobs 1, or raise the limit (ulimit -u)" : what.what());
  } catch (const std::exception& what) {
    print_error("internal error, please report it", what.what());
  } catch (...) {
    print_error({}, "internal error, please report it");
  }
}

// An exception that could not be thrown, for lack of memory, or not be caught.
[[noreturn]] void on_terminate() noexcept {
  remove_pending_temporaries();
  if (std::current_exception() != nullptr) {
    report_exception();
  } else {
    print_out_of_memory();
  }
  _exit(exit_error);
}

// Requested text goes to standard output.
int print(std::string_view text) {
  output out;
  out.write(text);
  const auto done = out.flush();
  return done ? 0 : report(done.error(), {});
}

int run_verb(const verb& command, std::span<char* const> arguments) {
  const auto opts = options::parse(command, arguments);
  if (!opts) return report(opts.error(), command.name);
  if (opts->has(flag::help)) return print(verb_help(command));
  const auto code = command.run(*opts);
  if (code && *code == 0 && opts->has(flag::strict) && has_warned()) return exit_warned;
  return code ? *code : report(code.error(), command.name);
}

int run(std::span<char* const> arguments) {
  if (arguments.size() < 2) {
    write_stderr(short_help());
    return exit_error;
  }
  const std::string_view word = arguments[1];
  if (word == "--help" || word == "-h") return print(main_help());
  if (word == "--version" || word == "-V") return print(fmt::format("bloomery {}\n", version));
  const verb* command = find_verb(word);
  return command == nullptr ? report({unknown_verb_text(word)}, {}) : run_verb(*command, arguments.subspan(1));
}

}  // namespace
}  // namespace bloomery::cli

int main(int argc, char** argv) {
  if (!bloomery::cli::guard_standard_streams()) {
    bloomery::cli::write_stderr("bloomery: a standard stream is closed and /dev/null cannot be opened in its place\n");
    return bloomery::cli::exit_error;
  }
#ifdef __GLIBC__
  // Large blocks are always mapped separately: freed ones return to the system, so that --mem holds.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
  std::set_terminate(bloomery::cli::on_terminate);
  try {
    bloomery::enable_all();
    bloomery::cli::handle_signals();
    return bloomery::cli::run({argv, static_cast<std::size_t>(argc)});
  } catch (...) {
    bloomery::cli::report_exception();
    return bloomery::cli::exit_error;
  }
}
