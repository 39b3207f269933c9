#include "cli/terminal/terminal.hpp"

#include <fmt/core.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <clocale>
#include <cstdlib>

namespace bloomery::cli {
namespace {

bool wants_colour(const options& opts, int descriptor) {
  const std::string_view choice = opts.text(flag::color, "auto");
  if (choice != "auto") return choice == "always";
  const char* forbidden = std::getenv("NO_COLOR");
  if (forbidden != nullptr && forbidden[0] != '\0') return false;
  const char* term = std::getenv("TERM");
  return is_terminal(descriptor) && term != nullptr && std::string_view(term) != "dumb";
}

}  // namespace

painter::painter(const options& opts, int descriptor) : on_(wants_colour(opts, descriptor)) {}

std::string painter::operator()(style how, std::string_view text) const {
  if (!on_) return std::string(text);
  constexpr std::array<std::string_view, 5> codes = {"1", "2", "32", "31", "33"};
  return fmt::format("\x1b[{}m{}\x1b[0m", codes[static_cast<std::size_t>(how)], text);
}

bool is_terminal(int descriptor) { return isatty(descriptor) == 1; }

bool has_utf8() {
  static const bool answer = [] {
    setlocale(LC_CTYPE, "");
    return std::string_view(nl_langinfo(CODESET)) == "UTF-8";
  }();
  return answer;
}

std::size_t terminal_columns(int descriptor) {
  struct winsize size {};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20) return size.ws_col;
  return 80;
}

}  // namespace bloomery::cli
