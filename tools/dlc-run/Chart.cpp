// Places of points, ticks and texts, and their SVG.
#include "tools/dlc-run/Chart.h"
#include "runtime/Core/Support.h"
#include "tools/dlc-run/Output.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace dlc::runtime::tool {
namespace {

constexpr double width = 860, left = 70, right = 24, panelHeight = 250, panelGap = 44,
                 headHeight = 34, keyHeight = 20;
constexpr unsigned colours = 8;

/// Of Okabe and Ito, who chose them for all eyes; lighter on a dark page.
constexpr std::array<std::pair<const char *, const char *>, colours> palette = {
    {{"#0062a8", "#62b5f0"},
     {"#c34a00", "#f08a4b"},
     {"#007f5f", "#3fc79a"},
     {"#a83a7d", "#e58cc0"},
     {"#6a5acd", "#a99bf5"},
     {"#8a6d00", "#e0bf3a"},
     {"#3b6e8f", "#8cc7e8"},
     {"#7a3b2e", "#d69a8c"}}};

std::string style() {
  std::string light, dark;
  for (size_t i = 0; i < colours; ++i) {
    light += concat(".c", i, "{stroke:", palette[i].first, ";color:", palette[i].first, "}");
    dark += concat(".c", i, "{stroke:", palette[i].second, ";color:", palette[i].second, "}");
  }
  return "<style>"
         "text{font:12px sans-serif;fill:#333}.head{font-size:15px;font-weight:bold}"
         ".title{font-size:13px;font-weight:bold}.end{text-anchor:end}.mid{text-anchor:middle}"
         ".page{fill:#fff}.grid{stroke:#e3e3e3}.axis{stroke:#777}"
         "polyline,.line{fill:none;stroke-width:1.6;stroke-linejoin:round}"
         ".faint{stroke-opacity:.3;stroke-width:1}.dot{fill:currentColor;stroke:none}"
         ".mark{fill:none;stroke-width:2}"
         ".said{paint-order:stroke;stroke:#fff;stroke-width:4;stroke-opacity:.8}" +
         light +
         "@media(prefers-color-scheme:dark){text{fill:#d8d8d8}.page{fill:#16181c}"
         ".said{stroke:#16181c}"
         ".grid{stroke:#2e3238}.axis{stroke:#8a8f98}" +
         dark + "}</style>\n";
}

std::string colourClass(unsigned colour) { return concat("c", colour % colours); }

std::string number(double value) { return printf("%.1f", value); }

/// A number of an axis: 0.05, 200, 20 k.
std::string tickText(double value) {
  const double size = std::abs(value);
  if (size >= 1e6)
    return printf("%.6g M", value / 1e6);
  if (size >= 1e4)
    return printf("%.6g k", value / 1e3);
  return printf("%.6g", size < 1e-14 ? 0 : value);
}

std::string text(double x, double y, std::string_view classes, std::string_view content) {
  return concat("<text x=\"", number(x), "\" y=\"", number(y), "\" class=\"", classes, "\">",
                escapeXml(content), "</text>\n");
}

std::string line(double x1, double y1, double x2, double y2, std::string_view classes) {
  return concat("<line x1=\"", number(x1), "\" y1=\"", number(y1), "\" x2=\"", number(x2),
                "\" y2=\"", number(y2), "\" class=\"", classes, "\"/>\n");
}

/// Numbers of an axis, and where they are in the picture.
struct Scale {
  double low = INFINITY, high = -INFINITY;
  double first = 0, last = 1; ///< places of low and high
  bool isLogarithmic = false;

  bool shows(double value) const { return std::isfinite(value) && (!isLogarithmic || value > 0); }
  void include(double value) {
    if (!shows(value))
      return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  double measure(double value) const { return isLogarithmic ? std::log10(value) : value; }
  /// Room around what is there; of nothing, from 0 to 1. In halves, as a sum may overflow.
  void widen(double part) {
    if (low > high) {
      low = isLogarithmic ? 0.1 : 0;
      high = 1;
    }
    if (isLogarithmic) {
      const double by = low == high ? 0.5 : part * (std::log10(high) - std::log10(low));
      low = std::max(low / std::pow(10, by), 1e-300);
      high = std::min(high * std::pow(10, by), 1e300);
      return;
    }
    const double by =
        low == high ? std::max(std::abs(low) / 10, 1e-9) : part * (high / 2 - low / 2) * 2;
    low = std::max(low - by, -1e300);
    high = std::min(high + by, 1e300);
  }
  double place(double value) const {
    const double from = measure(low), to = measure(high);
    const double at = (measure(value) / 2 - from / 2) / (to / 2 - from / 2);
    return first + std::clamp(at, 0.0, 1.0) * (last - first);
  }
  std::vector<double> ticks(unsigned count) const {
    return isLogarithmic ? logTicks(low, high) : roundTicks(low, high, count);
  }
};

/// Of the points in one column of the picture, up to four: first, lowest, highest, last.
class Thinning {
public:
  void add(ChartPoint place) {
    if (!column.empty() && std::floor(column[0].x) != std::floor(place.x))
      flush();
    column.push_back(place);
  }
  std::vector<ChartPoint> take() {
    flush();
    return std::exchange(kept, {});
  }

private:
  void flush() {
    if (column.empty())
      return;
    const auto [low, high] = std::ranges::minmax_element(column, {}, &ChartPoint::y);
    const auto last = column.end() - 1;
    std::array all = {column.begin(), low, high, last};
    std::ranges::sort(all);
    for (size_t i = 0; i < all.size(); ++i)
      if (i == 0 || all[i] != all[i - 1])
        kept.push_back(*all[i]);
    column.clear();
  }
  std::vector<ChartPoint> column, kept;
};

/// Runs of places without a gap between them.
std::vector<std::vector<ChartPoint>> placeOf(const ChartCurve &curve, const Scale &x,
                                             const Scale &y) {
  std::vector<std::vector<ChartPoint>> runs;
  Thinning thinning;
  auto end = [&] {
    if (auto places = thinning.take(); !places.empty())
      runs.push_back(std::move(places));
  };
  for (const ChartPoint &point : curve.points) {
    if (y.shows(point.y))
      thinning.add({x.place(point.x), y.place(point.y)});
    else
      end();
  }
  end();
  return runs;
}

std::string drawCurve(const ChartCurve &curve, const Scale &x, const Scale &y) {
  std::string svg;
  const std::string colour = colourClass(curve.colour);
  const bool hasDots = curve.look == ChartCurve::Look::Dots;
  const std::string classes = colour + (curve.look == ChartCurve::Look::Faint ? " faint" : "");
  for (const auto &run : placeOf(curve, x, y)) {
    if (run.size() > 1) {
      svg += "<polyline class=\"" + classes + "\" points=\"";
      for (const ChartPoint &place : run)
        svg += (&place == run.data() ? "" : " ") + number(place.x) + "," + number(place.y);
      svg += "\"/>\n";
    }
    // Dots that would touch each other say no more than the line.
    const bool isSparse =
        run.size() < 2 || (run.back().x - run.front().x) / double(run.size() - 1) >= 7;
    if (run.size() == 1 || (hasDots && isSparse))
      for (const ChartPoint &place : run)
        svg += "<circle class=\"dot " + colour + "\" cx=\"" + number(place.x) + "\" cy=\"" +
               number(place.y) + "\" r=\"2.6\"/>\n";
  }
  return svg;
}

std::string drawMark(const ChartMark &mark, const Scale &x, const Scale &y) {
  const double atX = x.place(mark.at.x), atY = y.place(mark.at.y);
  // Text stands inside of the panel: beside the ring, on the side where there is room for it.
  const bool isLeft = atX > (x.first + x.last) / 2;
  const double textY = atY > (y.first + y.last) / 2 ? atY - 9 : atY + 18;
  return "<circle class=\"mark " + colourClass(mark.colour) + "\" cx=\"" + number(atX) +
         "\" cy=\"" + number(atY) + "\" r=\"5\"/>\n" +
         text(atX + (isLeft ? -8 : 8), textY, isLeft ? "said end" : "said", mark.text);
}

std::string drawPanel(const ChartPanel &panel, Scale x, double top, bool isLast,
                      const std::string &xTitle) {
  Scale y;
  y.isLogarithmic = panel.isLogarithmic;
  for (const ChartCurve &curve : panel.curves)
    for (const ChartPoint &point : curve.points)
      y.include(point.y);
  y.widen(0.05);
  y.first = top + panelHeight;
  y.last = top;
  std::string svg = "<g>\n" + text(left, top - 10, "title", panel.title);
  for (const double tick : y.ticks(5)) {
    svg += line(left, y.place(tick), width - right, y.place(tick), "grid");
    svg += text(left - 8, y.place(tick) + 4, "end", tickText(tick));
  }
  for (const double tick : x.ticks(8)) {
    svg += line(x.place(tick), top, x.place(tick), y.first, "grid");
    svg += text(x.place(tick), y.first + 18, "mid", tickText(tick));
  }
  svg += line(left, y.first, width - right, y.first, "axis");
  svg += line(left, top, left, y.first, "axis");
  for (const ChartCurve &curve : panel.curves)
    svg += drawCurve(curve, x, y);
  for (const ChartMark &mark : panel.marks)
    svg += drawMark(mark, x, y);
  if (isLast)
    svg += text((left + width - right) / 2, y.first + 38, "mid", xTitle);
  return svg + "</g>\n";
}

/// Texts of unknown fonts: about as wide as this.
double widthOf(std::string_view words) { return 7.0 * static_cast<double>(words.size()); }

std::string drawKey(const ChartKey &key, double x, double y) {
  std::string classes = colourClass(key.colour);
  std::string svg = line(x, y - 4, x + 24, y - 4,
                         "line " + classes + (key.look == ChartCurve::Look::Faint ? " faint" : ""));
  if (key.look == ChartCurve::Look::Dots)
    svg += "<circle class=\"dot " + classes + "\" cx=\"" + number(x + 12) + "\" cy=\"" +
           number(y - 4) + "\" r=\"2.6\"/>\n";
  return svg + text(x + 30, y, "", key.text);
}

} // namespace

std::string escapeXml(std::string_view text) {
  std::string escaped;
  // Control characters are no XML at all.
  for (const char c : printable(text)) {
    switch (c) {
    case '&':
      escaped += "&amp;";
      break;
    case '<':
      escaped += "&lt;";
      break;
    case '>':
      escaped += "&gt;";
      break;
    case '"':
      escaped += "&quot;";
      break;
    default:
      escaped += c;
    }
  }
  return escaped;
}

std::vector<double> roundTicks(double low, double high, unsigned count) {
  const double rough = (high / count - low / count);
  if (!(rough > 0) || !std::isfinite(rough))
    return {low};
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double part = rough / power;
  const double step = power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
  std::vector<double> ticks;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) {
    ticks.push_back(i * step);
    // Numbers so close to each other that a double tells few of them apart.
    if (ticks.size() > 2 * count + 2)
      return {low, high};
  }
  return ticks;
}

std::vector<double> logTicks(double low, double high) {
  const double decades = std::log10(high) - std::log10(low);
  if (decades < 1)
    return roundTicks(low, high, 5);
  const double apart = std::ceil(decades / 8);
  std::vector<double> ticks;
  for (double power = std::floor(std::log10(low)); power <= std::log10(high); power += apart)
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double tick = factor * std::pow(10, power);
      if ((factor == 1 || decades < 3) && tick >= low && tick <= high)
        ticks.push_back(tick);
    }
  return ticks;
}

std::string drawSvg(const Chart &chart) {
  std::string keys;
  double keyX = left, keyY = headHeight + 14;
  for (const ChartKey &key : chart.keys) {
    const double room = 30 + widthOf(key.text) + 22;
    if (keyX > left && keyX + room > width - right) {
      keyX = left;
      keyY += keyHeight;
    }
    keys += drawKey(key, keyX, keyY);
    keyX += room;
  }
  Scale x;
  for (const ChartPanel &panel : chart.panels)
    for (const ChartCurve &curve : panel.curves)
      for (const ChartPoint &point : curve.points)
        x.include(point.x);
  x.widen(0.01);
  x.first = left;
  x.last = width - right;
  std::string panels;
  double top = keyY + 36;
  for (const ChartPanel &panel : chart.panels) {
    panels += drawPanel(panel, x, top, &panel == &chart.panels.back(), chart.xTitle);
    top += panelHeight + panelGap + 10;
  }
  const std::string size = number(width) + " " + number(top);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + size + "\" width=\"" +
         number(width) + "\" height=\"" + number(top) + "\" role=\"img\">\n<title>" +
         escapeXml(chart.title) + "</title>\n" + style() +
         "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n" +
         text(left, headHeight - 10, "head", chart.title) + keys + panels + "</svg>\n";
}

} // namespace dlc::runtime::tool
