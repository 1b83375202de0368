// dlc-run plot: what logs of runs say, as a picture of curves.
#include "runtime/Core/FileWriter.h"
#include "runtime/Core/Support.h"
#include "tools/dlc-run/Chart.h"
#include "tools/dlc-run/Command.h"
#include "tools/dlc-run/RunLog.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

namespace dlc::runtime::tool {
namespace {

constexpr std::string_view ratePrefix = "learning_rates.";
constexpr size_t mostPanels = 16;
using Look = ChartCurve::Look;

/// What is drawn where it is asked for: how fast a run is, and what there is by parameter.
bool isAside(std::string_view name) {
  return name.ends_with("_per_second") || name == "gflops" || name == "mfu" ||
         name == "bad_records" || name.starts_with("weight_norms.") ||
         name.starts_with("gradient_norms.");
}
bool isRate(std::string_view name) { return name.starts_with(ratePrefix); }

/// Of what less is better, by its name: a log does not say which numbers are losses.
bool isLessBetter(std::string_view name) {
  return name.find("loss") != name.npos || name.find("perplexity") != name.npos ||
         name.find("error") != name.npos;
}

/// Where the end of a step stands on the x-axis.
class Axis {
public:
  Axis(const RunLog &log, PlotAxis kind) : kind(kind), perEpoch(log.epochSteps.value_or(1)) {
    if (kind == PlotAxis::Seconds)
      clock = log.clock();
  }
  double of(uint64_t step) const {
    if (kind == PlotAxis::Step)
      return static_cast<double>(step);
    if (kind == PlotAxis::Epoch)
      return static_cast<double>(step) / perEpoch;
    const auto after = std::ranges::upper_bound(clock, step, {}, &LogPoint::step);
    return after == clock.begin() ? 0 : std::prev(after)->value;
  }

private:
  PlotAxis kind;
  double perEpoch;
  std::vector<LogPoint> clock;
};

Status checkAxis(const RunLog &log, PlotAxis kind) {
  if (kind == PlotAxis::Epoch && !log.epochSteps)
    return invalid(log.path, ": no epoch has ended, --x=epoch needs one; --x=step does without");
  if (kind == PlotAxis::Seconds && log.seconds.empty())
    return invalid(log.path, ": no step says its `seconds`; --x=step does without");
  return {};
}

std::vector<ChartPoint> pointsOf(const std::vector<LogPoint> &points, const Axis &axis) {
  std::vector<ChartPoint> result;
  for (const LogPoint &point : points)
    result.push_back({axis.of(point.step), point.value});
  return result;
}

/// A sum of those values that are finite.
struct FiniteSum {
  double sum = 0;
  uint64_t count = 0;

  void add(double value) {
    if (std::isfinite(value)) {
      sum += value;
      ++count;
    }
  }
};

/// Means of each point and those before it, `count` together, without those that are not finite.
/// Each is a sum of the end of one block of `count` points and of the beginning of the next one:
/// where a sum took away what leaves it, one large value would spoil all that come after it.
std::vector<ChartPoint> smooth(const std::vector<ChartPoint> &points, uint64_t count) {
  std::vector<FiniteSum> ends(points.size() + 1);
  for (size_t i = points.size(); i-- > 0;) {
    if ((i + 1) % count != 0)
      ends[i] = ends[i + 1];
    ends[i].add(points[i].y);
  }
  std::vector<ChartPoint> result;
  FiniteSum begin;
  for (size_t i = 0; i < points.size(); ++i) {
    if (i % count == 0)
      begin = {};
    begin.add(points[i].y);
    // What of the block before belongs to the window.
    const bool hasEnd = i >= count && (i + 1) % count != 0;
    const FiniteSum end = hasEnd ? ends[i + 1 - count] : FiniteSum();
    const uint64_t finite = begin.count + end.count;
    result.push_back(
        {points[i].x, finite == 0 ? NAN : (begin.sum + end.sum) / static_cast<double>(finite)});
  }
  return result;
}

class Plotter {
public:
  Plotter(const PlotFlags &flags, const std::vector<RunLog> &logs) : flags(flags), logs(logs) {}

  Result<Chart> plot() {
    for (const RunLog &log : logs)
      DLC_TRY(checkAxis(log, flags.axis));
    nameRuns();
    Chart chart = {.title = logs.size() == 1 ? names[0] : concat(logs.size(), " runs"),
                   .xTitle = flags.axis == PlotAxis::Step    ? "step"
                             : flags.axis == PlotAxis::Epoch ? "epoch"
                                                             : "seconds in training steps",
                   .keys = keys(),
                   .panels = {}};
    DLC_TRY_ASSIGN(drawn, choose());
    for (const std::string &name : drawn)
      chart.panels.push_back(panelOf(name));
    if (rates())
      chart.panels.push_back(ratePanel());
    return chart;
  }
  /// Numbers that a logarithmic axis does not show.
  uint64_t notPositive() const { return leftOut; }

private:
  /// By their files' names, or where those are equal by the paths.
  void nameRuns() {
    std::set<std::string> distinct;
    for (const RunLog &log : logs)
      distinct.insert(names.emplace_back(std::filesystem::path(log.path).stem().string()));
    if (distinct.size() < logs.size())
      std::ranges::transform(logs, names.begin(), &RunLog::path);
  }

  std::vector<ChartKey> keys() const {
    const bool isAveraged = std::ranges::any_of(logs, &RunLog::isAveraged);
    const std::string evaluation = isAveraged ? "evaluation, of averages" : "evaluation";
    std::vector<ChartKey> all;
    if (logs.size() == 1) {
      if (flags.smooth > 1)
        all.push_back({"each step of training", 0, Look::Faint});
      all.push_back(
          {flags.smooth > 1 ? concat("means of ", flags.smooth) : "training", 0, Look::Line});
      all.push_back({evaluation, 1, Look::Dots});
      return all;
    }
    for (unsigned i = 0; i < logs.size(); ++i)
      all.push_back({names[i], i, Look::Dots});
    all.push_back({"with dots: " + evaluation, 0, Look::Dots});
    return all;
  }

  /// The numbers that have a panel of their own.
  Result<std::vector<std::string>> choose() const {
    std::set<std::string> all;
    for (const RunLog &log : logs)
      for (const auto &[name, curves] : log.curves)
        all.insert(name);
    if (!flags.metrics.empty()) {
      std::string known;
      for (const std::string &name : all)
        addItem(known, name);
      for (const std::string &name : flags.metrics)
        if (!all.contains(name))
          return invalid("no log has a '", name, "'; there are: ", known);
      return flags.metrics;
    }
    std::vector<std::string> chosen;
    for (const bool ofLosses : {true, false})
      for (const std::string &name : all)
        if (!isAside(name) && !isRate(name) && isLessBetter(name) == ofLosses)
          chosen.push_back(name);
    if (chosen.size() > mostPanels)
      return invalid("the logs have ", chosen.size(), " metrics, a picture shows ", mostPanels,
                     ": --metrics NAME,... says which");
    return chosen;
  }

  ChartPanel panelOf(const std::string &name) {
    ChartPanel panel = {.title = name, .curves = {}, .marks = {}, .isLogarithmic = flags.logY};
    for (unsigned run = 0; run < logs.size(); ++run) {
      const auto found = logs[run].curves.find(name);
      if (found == logs[run].curves.end())
        continue;
      const Axis axis(logs[run], flags.axis);
      const unsigned colour = run, ofTests = logs.size() == 1 ? 1 : run;
      const std::vector<ChartPoint> training = pointsOf(found->second.training, axis);
      const std::vector<ChartPoint> evaluation = pointsOf(found->second.evaluation, axis);
      countNotPositive(training);
      countNotPositive(evaluation);
      // Beside the evaluation of its run, and behind means, the steps are in the background.
      const bool isBehind = flags.smooth > 1 || (logs.size() > 1 && !evaluation.empty());
      panel.curves.push_back({training, colour, isBehind ? Look::Faint : Look::Line});
      if (flags.smooth > 1)
        panel.curves.push_back({smooth(training, flags.smooth), colour, Look::Line});
      panel.curves.push_back({evaluation, ofTests, Look::Dots});
      if (!isAside(name) && !isRate(name))
        markBest(panel, name,
                 evaluation.empty() ? found->second.training : found->second.evaluation, axis,
                 evaluation.empty() ? colour : ofTests);
    }
    return panel;
  }

  void markBest(ChartPanel &panel, const std::string &name, const std::vector<LogPoint> &points,
                const Axis &axis, unsigned colour) const {
    const LogPoint *best = nullptr;
    for (const LogPoint &point : points)
      if (std::isfinite(point.value) && (!flags.logY || point.value > 0) &&
          (!best || (isLessBetter(name) ? point.value < best->value : point.value > best->value)))
        best = &point;
    if (best)
      panel.marks.push_back({{axis.of(best->step), best->value},
                             colour,
                             printf("best %.4g, step %llu", best->value,
                                    static_cast<unsigned long long>(best->step))});
  }

  void countNotPositive(const std::vector<ChartPoint> &points) {
    if (flags.logY)
      leftOut += static_cast<uint64_t>(
          std::ranges::count_if(points, [](const ChartPoint &point) { return point.y <= 0; }));
  }

  bool rates() const {
    return flags.metrics.empty() && std::ranges::any_of(logs, [](const RunLog &log) {
             return std::ranges::any_of(log.curves,
                                        [](const auto &it) { return isRate(it.first); });
           });
  }

  /// All in one: of a run alone each in a colour of its own, else in the run's. Of several each
  /// has its name where it is highest.
  ChartPanel ratePanel() const {
    ChartPanel panel = {.title = "learning rate", .curves = {}, .marks = {}};
    for (unsigned run = 0; run < logs.size(); ++run) {
      const Axis axis(logs[run], flags.axis);
      std::vector<ChartMark> marks;
      for (const auto &[name, curves] : logs[run].curves) {
        const std::vector<LogPoint> &rates = curves.training;
        if (!isRate(name) || rates.empty())
          continue;
        const unsigned colour = run + (logs.size() == 1 ? static_cast<unsigned>(marks.size()) : 0);
        panel.curves.push_back({pointsOf(rates, axis), colour, Look::Line});
        const LogPoint &highest = *std::ranges::max_element(rates, {}, &LogPoint::value);
        marks.push_back(
            {{axis.of(highest.step), highest.value}, colour, name.substr(ratePrefix.size())});
      }
      if (logs.size() == 1 && marks.size() > 1)
        panel.marks = std::move(marks);
    }
    return panel;
  }

  const PlotFlags &flags;
  const std::vector<RunLog> &logs;
  std::vector<std::string> names;
  uint64_t leftOut = 0;
};

/// "3 numbers are", "1 number is".
std::string counted(uint64_t count, std::string_view what) {
  return concat(count, " ", what, count == 1 ? " is" : "s are");
}

void noteLeftOut(const RunLog &log) {
  if (const uint64_t lines = log.brokenLines)
    printNotes({concat(log.path, ": ", counted(lines, "line"), " cut or no report, left out")});
  if (const uint64_t numbers = log.notFinite)
    printNotes({concat(log.path, ": ", counted(numbers, "number"), " not finite, left out")});
}

} // namespace

Status plot(const PlotFlags &flags) {
  DLC_TRY(checkWritable(flags.output, flags.logs));
  std::vector<RunLog> logs;
  for (const std::string &path : flags.logs) {
    DLC_TRY_ASSIGN(log, readRunLog(path));
    noteLeftOut(log);
    logs.push_back(std::move(log));
  }
  Plotter plotter(flags, logs);
  DLC_TRY_ASSIGN(chart, plotter.plot());
  if (plotter.notPositive() > 0)
    printNotes(
        {concat(counted(plotter.notPositive(), "number"), " not above 0, left out by --log-y")});
  return writeFile(flags.output, drawSvg(chart));
}

} // namespace dlc::runtime::tool
