#include "cli/terminal/chart.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/terminal/terminal.hpp"

namespace bloomery::cli {
namespace {

constexpr std::size_t min_columns = 40;
constexpr std::size_t max_columns = 100;

// A braille character has dots in 2 columns and 4 rows.
constexpr std::size_t dots_across = 2;
constexpr std::size_t dots_down = 4;
constexpr std::array<std::array<unsigned, dots_across>, dots_down> braille_bits = {
    {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}};

constexpr std::array<std::string_view, 4> ascii_lines = {"*", "+", "o", "x"};
constexpr std::array<std::string_view, 4> unicode_lines = {"•", "×", "◦", "▪"};
constexpr std::array<std::string_view, 2> ascii_points = {"O", "#"};
constexpr std::array<std::string_view, 2> unicode_points = {"◆", "■"};
constexpr std::array<std::string_view, 4> colours = {"36", "33", "35", "32"};

std::string utf8_braille(unsigned bits) {
  const unsigned code = 0x2800U + bits;
  return {static_cast<char>(0xE0U | (code >> 12U)), static_cast<char>(0x80U | ((code >> 6U) & 0x3FU)),
          static_cast<char>(0x80U | (code & 0x3FU))};
}

std::string coloured(std::string_view text, std::size_t curve, const chart_look& look) {
  if (!look.colour) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", colours[curve % colours.size()], text);
}

std::string tick_text(const chart_axis& axis, double value) {
  return axis.text == nullptr ? fmt::format("{:g}", value) : axis.text(value);
}

// The position of a value between the ends of its axis: 0 to 1, or outside.
double place(const chart_axis& axis, double value) {
  if (!axis.log) return (value - axis.low) / (axis.high - axis.low);
  return value > 0 ? std::log(value / axis.low) / std::log(axis.high / axis.low) : -1.0;
}

// Values worth a label: powers of ten on a logarithmic axis, quarters of the way on a linear one.
std::vector<double> ticks(const chart_axis& axis) {
  std::vector<double> out;
  if (axis.log) {
    const auto first = static_cast<int>(std::ceil(std::log10(axis.low) - 1e-9));
    const auto last = static_cast<int>(std::floor(std::log10(axis.high) + 1e-9));
    for (int power = first; power <= last; ++power) out.push_back(std::pow(10.0, power));
  } else {
    for (int quarter = 0; quarter <= 4; ++quarter) out.push_back(axis.low + (axis.high - axis.low) * quarter / 4.0);
  }
  return out;
}

struct cell {
  unsigned dots = 0;
  std::string_view mark{};
  std::size_t curve = 0;
};

// The area inside the axes, as cells; positions are in dots, row 0 on top.
class canvas {
 public:
  canvas(const line_chart& chart, const chart_look& look, std::size_t width)
      : chart_(&chart), look_(look), width_(width), cells_(width * chart.rows) {
    std::size_t joined = 0;
    for (const chart_curve& curve : chart.curves) joined += curve.joined ? 1 : 0;
    // Dots of two curves in one character could not be distinguished.
    braille_ = look.unicode && joined == 1;
    across_ = braille_ ? dots_across : 1;
    down_ = braille_ ? dots_down : 1;
    for (const bool points_pass : {false, true}) {
      for (std::size_t i = 0; i < chart.curves.size(); ++i) {
        if (chart.curves[i].joined != points_pass) add(i);
      }
    }
  }

  [[nodiscard]] std::string_view mark(std::size_t curve) const {
    const auto& lines = look_.unicode ? unicode_lines : ascii_lines;
    const auto& points = look_.unicode ? unicode_points : ascii_points;
    return chart_->curves[curve].joined ? lines[curve % lines.size()] : points[curve % points.size()];
  }

  [[nodiscard]] std::string row(std::size_t index) const {
    std::string out;
    std::size_t blanks = 0;
    for (std::size_t x = 0; x < width_; ++x) {
      const cell& at = cells_[index * width_ + x];
      if (at.mark.empty() && at.dots == 0) {
        ++blanks;
        continue;
      }
      out.append(blanks, ' ');
      blanks = 0;
      out.append(coloured(at.mark.empty() ? utf8_braille(at.dots) : std::string(at.mark), at.curve, look_));
    }
    return out;
  }

 private:
  [[nodiscard]] double dot_x(double value) const {
    return place(chart_->x, value) * static_cast<double>(width_ * across_ - 1);
  }
  [[nodiscard]] double dot_y(double value) const {
    return (1.0 - place(chart_->y, value)) * static_cast<double>(chart_->rows * down_ - 1);
  }

  void add(std::size_t index) {
    const chart_curve& curve = chart_->curves[index];
    for (std::size_t i = 0; i < curve.points.size(); ++i) {
      const chart_point& to = curve.points[i];
      const chart_point& from = curve.joined && i > 0 ? curve.points[i - 1] : to;
      const double x0 = dot_x(from.x);
      const double y0 = dot_y(from.y);
      const double dx = dot_x(to.x) - x0;
      const double dy = dot_y(to.y) - y0;
      // A point far outside would otherwise cost as many steps as it is far.
      const auto steps = static_cast<int>(std::clamp(std::ceil(std::max(std::fabs(dx), std::fabs(dy))), 1.0, 10'000.0));
      for (int step = 0; step <= steps; ++step) set(x0 + dx * step / steps, y0 + dy * step / steps, index);
    }
  }

  void set(double x, double y, std::size_t curve) {
    const double column = std::round(x);
    const double line = std::round(y);
    if (!(column >= 0 && column < static_cast<double>(width_ * across_))) return;
    if (!(line >= 0 && line < static_cast<double>(chart_->rows * down_))) return;
    const auto dot_column = static_cast<std::size_t>(column);
    const auto dot_line = static_cast<std::size_t>(line);
    cell& at = cells_[dot_line / down_ * width_ + dot_column / across_];
    at.curve = curve;
    if (braille_ && chart_->curves[curve].joined) {
      at.dots |= braille_bits[dot_line % dots_down][dot_column % dots_across];
    } else {
      at.mark = mark(curve);
    }
  }

  const line_chart* chart_;
  chart_look look_;
  std::size_t width_;
  std::vector<cell> cells_;
  bool braille_ = false;
  std::size_t across_ = 1;
  std::size_t down_ = 1;
};

// The label of each row of the y axis; empty where there is none.
std::vector<std::string> row_labels(const line_chart& chart) {
  std::vector<std::string> labels(chart.rows);
  for (const double value : ticks(chart.y)) {
    const double row = std::round((1.0 - place(chart.y, value)) * static_cast<double>(chart.rows - 1));
    if (row >= 0 && row < static_cast<double>(chart.rows)) {
      labels[static_cast<std::size_t>(row)] = tick_text(chart.y, value);
    }
  }
  return labels;
}

// The line of labels under the x axis; a label that would touch its neighbour is left out.
std::string column_labels(const chart_axis& axis, std::size_t margin, std::size_t width) {
  std::string line;
  for (const double value : ticks(axis)) {
    const std::string text = tick_text(axis, value);
    const double middle = static_cast<double>(margin) + place(axis, value) * static_cast<double>(width - 1);
    double start = middle - static_cast<double>(text.size() - 1) / 2.0;
    start = std::min(start, static_cast<double>(margin + width) - static_cast<double>(text.size()));
    const auto at = static_cast<std::size_t>(std::max(0.0, std::round(start)));
    if (!line.empty() && at < line.size() + 2) continue;
    line.append(at - line.size(), ' ').append(text);
  }
  return line;
}

std::string legend(const line_chart& chart, const canvas& area, const chart_look& look) {
  std::string out;
  for (std::size_t i = 0; i < chart.curves.size(); ++i) {
    out.append(out.empty() ? "" : "   ");
    out.append(coloured(area.mark(i), i, look)).append(" ").append(chart.curves[i].name);
  }
  return out;
}

}  // namespace

chart_look look_of(const options& opts, int descriptor) {
  chart_look look;
  look.unicode = is_terminal(descriptor) && has_utf8();
  look.colour = painter(opts, descriptor).on();
  look.columns = std::clamp(terminal_columns(descriptor), min_columns, max_columns);
  return look;
}

std::string draw(const line_chart& chart, const chart_look& look) {
  const std::vector<std::string> labels = row_labels(chart);
  std::size_t label_width = 0;
  for (const std::string& label : labels) label_width = std::max(label_width, label.size());
  const std::size_t margin = label_width + 2;  // a blank and the axis
  const std::size_t width = look.columns > margin + 11 ? look.columns - margin - 1 : 10;
  const canvas area(chart, look, width);
  std::string out = chart.title + "\n";
  for (std::size_t row = 0; row < chart.rows; ++row) {
    const std::string_view axis = look.unicode ? (labels[row].empty() ? "│" : "┤") : "|";
    out.append(fmt::format("{:>{}} {}{}\n", labels[row], label_width, axis, area.row(row)));
  }
  out.append(label_width + 1, ' ').append(look.unicode ? "└" : "+");
  for (std::size_t i = 0; i < width; ++i) out.append(look.unicode ? "─" : "-");
  out.append("\n").append(column_labels(chart.x, margin, width)).append("\n");
  out.append(margin, ' ').append(chart.x.label).append("\n");
  out.append(margin, ' ').append(legend(chart, area, look)).append("\n");
  return out;
}

std::string draw_bars(std::span<const chart_bar> bars, const chart_look& look) {
  constexpr std::array<std::string_view, 8> eighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  std::size_t label_width = 0;
  std::size_t text_width = 0;
  double most = 0;
  for (const chart_bar& bar : bars) {
    label_width = std::max(label_width, bar.label.size());
    text_width = std::max(text_width, bar.text.size());
    most = std::max(most, bar.value);
  }
  const std::size_t around = label_width + text_width + 3;
  const std::size_t width = look.columns > around + 10 ? look.columns - around : 10;
  std::string out;
  for (const chart_bar& bar : bars) {
    const double length = most > 0 ? bar.value / most * static_cast<double>(width) : 0.0;
    std::string drawn;
    if (look.unicode) {
      const auto parts = static_cast<std::size_t>(std::round(length * 8.0));
      for (std::size_t i = 0; i < parts / 8; ++i) drawn.append("█");
      drawn.append(eighths[parts % 8]);
    } else {
      drawn.append(static_cast<std::size_t>(std::round(length)), '#');
    }
    out.append(fmt::format("{:>{}} ", bar.label, label_width)).append(coloured(drawn, 0, look));
    out.append(drawn.empty() ? "" : " ").append(bar.text).append("\n");
  }
  return out;
}

std::string draw_heat(std::span<const double> values, double low, double high, const chart_look& look) {
  constexpr std::array<std::string_view, 9> unicode = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array<std::string_view, 9> ascii = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
  const auto& shades = look.unicode ? unicode : ascii;
  std::string out;
  for (const double value : values) {
    const double share = std::clamp((value - low) / (high - low), 0.0, 1.0);
    out.append(shades[static_cast<std::size_t>(std::round(share * static_cast<double>(shades.size() - 1)))]);
  }
  return coloured(out, 0, look);
}

}  // namespace bloomery::cli
