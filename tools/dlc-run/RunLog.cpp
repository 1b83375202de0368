// Reading of JSON lines and of rows of columns.
#include "tools/dlc-run/RunLog.h"
#include "runtime/Core/File.h"
#include "runtime/Core/Json.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace dlc::runtime::tool {
namespace {

using Json = nlohmann::json;

/// A line of the log: which report, and its numbers by name. A NaN stands for what is not finite.
struct Line {
  std::string report;
  std::vector<std::pair<std::string, double>> numbers;
  bool isAveraged = false;
};

std::optional<double> find(const Line &line, std::string_view name) {
  for (const auto &[key, value] : line.numbers)
    if (key == name && std::isfinite(value))
      return value;
  return std::nullopt;
}

/// Numbers, and those of objects; tables are none.
void addNumber(Line &line, const std::string &name, const Json &value) {
  if (value.is_number())
    line.numbers.emplace_back(name, value.get<double>());
  else if (value.is_null())
    line.numbers.emplace_back(name, NAN);
}

std::optional<Line> parseJson(std::string_view text) {
  if (!checkJsonDepth(text).ok())
    return std::nullopt;
  const Json object = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object() || !object.contains("report") || !object["report"].is_string())
    return std::nullopt;
  Line line = {.report = object["report"].get<std::string>(), .numbers = {}};
  for (const auto &[name, value] : object.items()) {
    if (value.is_object())
      for (const auto &[inner, of] : value.items())
        addNumber(line, name + "." + inner, of);
    else
      addNumber(line, name, value);
  }
  line.isAveraged = object.contains("test_of") && object["test_of"] == "averages";
  return line;
}

std::vector<std::string> cellsOf(std::string_view text) {
  std::vector<std::string> cells;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    cells.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return cells;
}

std::optional<Line> parseRow(std::string_view text, const std::vector<std::string> &columns) {
  const std::vector<std::string> cells = cellsOf(text);
  if (cells.size() != columns.size())
    return std::nullopt;
  Line line = {.report = cells[0], .numbers = {}};
  for (size_t i = 1; i < cells.size(); ++i) {
    if (columns[i] == "test_of")
      line.isAveraged |= cells[i] == "averages";
    char *end = nullptr;
    const double value = std::strtod(cells[i].c_str(), &end);
    if (!cells[i].empty() && *end == '\0')
      line.numbers.emplace_back(columns[i], std::isfinite(value) ? value : NAN);
  }
  return line;
}

void addPoint(std::vector<LogPoint> &points, LogPoint point) {
  if (!points.empty() && points.back().step == point.step)
    points.back() = point;
  else if (points.empty() || points.back().step < point.step)
    points.push_back(point);
}

void dropFrom(std::vector<LogPoint> &points, uint64_t step) {
  const auto first = std::ranges::lower_bound(points, step, {}, &LogPoint::step);
  points.erase(first, points.end());
}

class Reader {
public:
  explicit Reader(const std::string &path) { log.path = path; }

  Result<RunLog> read() {
    DLC_TRY_ASSIGN(file, File::openForReading(log.path));
    if (file.size() == 0)
      return invalid(log.path, ": is empty: no step has been reported yet");
    // Of a table with many classes a line is long.
    constexpr uint64_t piece = 1 << 20, longest = 64 << 20;
    DLC_TRY(file.readPieces(
        piece, [&](std::span<const std::byte> bytes, uint64_t offset) -> Result<size_t> {
          const std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
          size_t taken = 0;
          for (size_t end; (end = text.find('\n', taken)) != text.npos; taken = end + 1)
            DLC_TRY(take(text.substr(taken, end - taken)));
          if (bytes.size() - taken > longest)
            return invalid(log.path, ": is no log of a run: a line of more than 64 MiB");
          if (offset + bytes.size() == file.size() && taken < bytes.size())
            takeLast(text.substr(taken));
          return taken;
        }));
    return finish();
  }

private:
  Status take(std::string_view text) {
    if (text.ends_with('\r'))
      text.remove_suffix(1);
    const bool isFirst = lines++ == 0;
    if (isFirst && text.starts_with("report,")) {
      columns = cellsOf(text);
      return {};
    }
    if (text.empty())
      return {};
    const std::optional<Line> line = columns.empty() ? parseJson(text) : parseRow(text, columns);
    if (!line && isFirst)
      return invalid(log.path, ": is no log of a run: its first line is '", excerpt(text),
                     "', expected a JSON object or columns that begin with 'report'");
    log.brokenLines += !line;
    if (line)
      add(*line);
    return {};
  }

  /// A line without its end: whole, or still being written. Of a cut row the last number may lack
  /// digits.
  void takeLast(std::string_view text) {
    if (const std::optional<Line> line = columns.empty() ? parseJson(text) : std::nullopt)
      add(*line);
  }

  void add(const Line &line) {
    isOfRates |= line.report == "rate";
    const std::optional<double> step = find(line, "step");
    if (!step || *step < 0 || *step > 0x1p53)
      return;
    const auto number = static_cast<uint64_t>(*step);
    const bool isStep = line.report == "step", isEpoch = line.report == "epoch";
    if (isStep && number <= lastStep)
      goBack(number);
    if (isStep) {
      lastStep = number;
      if (const auto seconds = find(line, "seconds"))
        addPoint(log.seconds, {number, *seconds});
    }
    if (const auto epoch = find(line, "epoch"); isEpoch && epoch && *epoch > 0)
      log.epochSteps = *step / *epoch;
    log.isAveraged |= line.isAveraged;
    for (const auto &[name, value] : line.numbers)
      addNumber(name, {number, value}, isEpoch);
  }

  void addNumber(const std::string &name, LogPoint point, bool isEpoch) {
    if (name == "step" || name == "epoch" || name == "seconds")
      return;
    const bool isTest = name.starts_with("test_");
    if (!std::isfinite(point.value))
      ++log.notFinite;
    if (isTest)
      addPoint(log.curves[name.substr(5)].evaluation, point);
    else
      addPoint(isEpoch ? epochs[name] : log.curves[name].training, point);
  }

  void goBack(uint64_t step) {
    dropFrom(log.seconds, step);
    for (auto &[name, curves] : log.curves) {
      dropFrom(curves.training, step);
      dropFrom(curves.evaluation, step);
    }
    for (auto &[name, points] : epochs)
      dropFrom(points, step);
  }

  Result<RunLog> finish() {
    // Means of epochs stand in for steps where the log has none.
    for (auto &[name, points] : epochs)
      if (LogCurves &curves = log.curves[name]; curves.training.empty())
        curves.training = std::move(points);
    std::erase_if(log.curves, [](const auto &entry) {
      return entry.second.training.empty() && entry.second.evaluation.empty();
    });
    if (log.curves.empty() && isOfRates)
      return invalid(log.path, ": is of a search for a learning rate, and has no steps");
    if (log.curves.empty())
      return invalid(log.path, ": no step and no evaluation has been reported in ",
                     lines == 0 ? "its only line, which is cut"
                                : concat("its ", lines, lines == 1 ? " line" : " lines"));
    return std::move(log);
  }

  RunLog log;
  std::vector<std::string> columns; ///< of CSV
  std::map<std::string, std::vector<LogPoint>> epochs;
  uint64_t lines = 0, lastStep = 0;
  bool isOfRates = false;
};

} // namespace

std::vector<LogPoint> RunLog::clock() const {
  std::vector<LogPoint> ends;
  double now = 0;
  for (const LogPoint &step : seconds)
    ends.push_back({step.step, now += step.value});
  return ends;
}

Result<RunLog> readRunLog(const std::string &path) { return Reader(path).read(); }

} // namespace dlc::runtime::tool
