// Charts of curves as an SVG picture, for light and dark pages: panels below each other that share
// the x-axis.
#ifndef DLC_TOOLS_DLC_RUN_CHART_H
#define DLC_TOOLS_DLC_RUN_CHART_H

#include <optional>
#include <string>
#include <vector>

namespace dlc::runtime::tool {

struct ChartPoint {
  double x, y; ///< y that is not finite: a gap
};

struct ChartCurve {
  enum class Look { Line, Faint, Dots };
  std::vector<ChartPoint> points; ///< by x
  unsigned colour = 0;
  Look look = Look::Line;
};

/// A point with a ring and what is said of it.
struct ChartMark {
  ChartPoint at;
  unsigned colour;
  std::string text;
};

struct ChartPanel {
  std::string title;
  std::vector<ChartCurve> curves;
  std::vector<ChartMark> marks;
  bool isLogarithmic = false; ///< shows no y of 0 and below
};

struct ChartKey {
  std::string text;
  unsigned colour;
  ChartCurve::Look look;
};

struct Chart {
  std::string title, xTitle;
  std::vector<ChartKey> keys;
  std::vector<ChartPanel> panels;
};

/// A picture of 860 points in width, whose size does not grow with the number of points: of those
/// in one column of it the lowest and the highest stay.
std::string drawSvg(const Chart &chart);

/// About `count` round numbers from `low` to `high`: 1, 2 or 5 times powers of ten apart.
std::vector<double> roundTicks(double low, double high, unsigned count);
/// Powers of ten between two positive numbers, with 2 and 5 times those where they are few; round
/// numbers where it is less than one power.
std::vector<double> logTicks(double low, double high);

/// With &, <, > and quotes as entities.
std::string escapeXml(std::string_view text);

} // namespace dlc::runtime::tool

#endif
