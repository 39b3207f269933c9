#include "cli/terminal/progress.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "cli/flags/numbers.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/signals.hpp"
#include "cli/terminal/terminal.hpp"

namespace bloomery::cli {
namespace {

constexpr auto first_draw = std::chrono::milliseconds(500);
constexpr auto between_draws = std::chrono::milliseconds(100);
constexpr auto between_lines = std::chrono::seconds(1);
constexpr std::size_t bar_cells = 20;

std::string bar(double share) {
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(bar_cells));
  std::string out;
  for (std::size_t i = 0; i < bar_cells; ++i) {
    if (has_utf8()) {
      out.append(i < filled ? "█" : "░");
    } else {
      out.append(i < filled ? "#" : ".");
    }
  }
  return out;
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(seconds + 0.5);
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

progress::progress(const options& opts, std::string_view label, std::uint64_t total)
    : label_(label), total_(total), terminal_(is_terminal(STDERR_FILENO)), start_(clock::now()) {
  on_ = !opts.has(flag::no_progress) && !opts.has(flag::quiet) && (terminal_ || opts.has(flag::progress));
  next_ = opts.has(flag::progress) ? start_ : start_ + first_draw;
}

std::string progress::line(std::uint64_t done, std::uint64_t keys, double seconds) const {
  const double rate = seconds > 0 ? static_cast<double>(keys) / seconds : 0;
  std::string text = fmt::format("{}: ", label_);
  if (total_ != 0) {
    const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
    text.append(fmt::format("{} {:3.0f} %  ", bar(share), share * 100.0));
    text.append(fmt::format("{} keys  {}/s", human_count(static_cast<double>(keys)), human_count(rate)));
    if (share > 0.01) text.append(fmt::format("  ETA {}", clock_text(seconds / share * (1.0 - share))));
  } else {
    text.append(fmt::format("{} keys  {}/s  {}", human_count(static_cast<double>(keys)), human_count(rate),
                            clock_text(seconds)));
  }
  return text;
}

void progress::update(std::uint64_t done, std::uint64_t keys) {
  if (!on_) return;
  const auto now = clock::now();
  if (now < next_) return;
  const std::string text = line(done, keys, std::chrono::duration<double>(now - start_).count());
  if (terminal_) {
    progress_line_is_shown(true);
    write_stderr(fmt::format("\r{}\x1b[K", text));
    drawn_ = true;
    next_ = now + between_draws;
  } else {
    write_stderr(text + "\n");
    next_ = now + between_lines;
  }
}

void progress::finish() {
  if (drawn_) write_stderr("\r\x1b[K");
  drawn_ = false;
  on_ = false;
  progress_line_is_shown(false);
}

}  // namespace bloomery::cli
