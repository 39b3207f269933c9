// cli/terminal/chart.hpp: small charts in plain text: curves, bars, a heat row.
//
// A chart is drawn into a string, for one `look`: how wide, and whether with characters outside ASCII and with colour.
// On a terminal with UTF-8 the look is blocks and braille dots; in a pipe or a file it is pure ASCII, so that it
// survives any mail and any log.
//
//     const chart_look look = look_of(opts, STDOUT_FILENO);
//     line_chart chart{.title = "FPR against keys", .x = {...}, .y = {.label = "FPR", .low = 1e-4, .high = 1, .log =
//     true}}; chart.curves.push_back({.name = "expected", .points = {{0, 0.001}, {100, 0.01}}}); out.write(draw(chart,
//     look));
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/flags/flags.hpp"

namespace bloomery::cli {

struct chart_look {
  bool unicode = false;
  bool colour = false;
  std::size_t columns = 80;
};

// Unicode on a terminal whose locale is UTF-8; as wide as the terminal, within what a chart needs and can use.
chart_look look_of(const options& opts, int descriptor);

struct chart_axis {
  std::string label{};
  double low = 0;
  double high = 1;
  bool log = false;                       // low and high are then above 0
  std::string (*text)(double) = nullptr;  // how a tick is written; %g without it
};

struct chart_point {
  double x = 0;
  double y = 0;
};

// A line through the points in their order, or the points alone. What is outside the axes is not drawn.
struct chart_curve {
  std::string name;
  bool joined = true;
  std::vector<chart_point> points{};
};

struct line_chart {
  std::string title;
  chart_axis x;
  chart_axis y;
  std::vector<chart_curve> curves{};
  std::size_t rows = 12;
};
std::string draw(const line_chart& chart, const chart_look& look);

struct chart_bar {
  std::string label;  // ASCII, as `text`
  double value = 0;   // 0 or more
  std::string text;   // after the bar
};
// One line each; the longest bar takes the width that is left.
std::string draw_bars(std::span<const chart_bar> bars, const chart_look& look);

// One character for each value from `low` (blank) to `high` (full).
std::string draw_heat(std::span<const double> values, double low, double high, const chart_look& look);

}  // namespace bloomery::cli
