// cli/flags/completions.hpp: completion scripts for shells, made from the tables of verbs and options.
//
// Completed are verbs and their other names, the options of the verb that was typed, the words that an option takes
// (kinds, hashes, choices), and files or folders where a value or an operand is one. A value that cannot be guessed,
// such as a number, is not completed.
//
// Each text stands alone: bash needs no bash-completion, zsh and fish need what comes with them.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace bloomery::cli {

struct shell_completions {
  std::string_view shell;
  std::string_view path;  // below share/, where the shell searches
  std::string (*text)();
};

std::span<const shell_completions> all_completions();

}  // namespace bloomery::cli
