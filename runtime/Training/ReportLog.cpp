// JSON lines and rows of columns.
#include "runtime/Training/ReportLog.h"
#include "runtime/Core/File.h"
#include "runtime/Core/Support.h"

#include <algorithm>

namespace dlc::runtime {

using Json = nlohmann::ordered_json;

static bool isCsv(const std::string &path) { return path.ends_with(".csv"); }

/// Names and words have no comma, quote or line break: of a name that had, these go.
static std::string cell(std::string text) {
  std::erase_if(text, [](char c) { return c == ',' || c == '"' || c == '\n' || c == '\r'; });
  return text;
}

static std::string rowOf(const std::vector<std::string> &cells) {
  std::string row;
  for (const std::string &each : cells)
    row += (&each == cells.data() ? "" : ",") + each;
  return row;
}

/// The columns of the first line; none where nothing is there.
static Result<std::vector<std::string>> columnsIn(const std::string &path) {
  DLC_TRY_ASSIGN(file, File::openForReading(path));
  constexpr uint64_t longest = 1 << 20;
  std::string start(std::min(longest, file.size()), ' ');
  DLC_TRY(file.readAt(0, std::as_writable_bytes(std::span(start))));
  const std::string line = start.substr(0, start.find('\n'));
  std::vector<std::string> columns;
  for (size_t at = 0; at < line.size();) {
    const size_t end = std::min(line.find(',', at), line.size());
    columns.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  if (!columns.empty() && columns[0] != "report")
    return invalid(path, ": is no log of a run: its first column is '", excerpt(columns[0]),
                   "', expected 'report'");
  return columns;
}

Result<std::unique_ptr<ReportLog>> ReportLog::open(Options options) {
  DLC_TRY_ASSIGN(file, LineWriter::open(options.path, options.append));
  std::vector<std::string> found;
  if (isCsv(options.path)) {
    DLC_TRY_ASSIGN(columns, columnsIn(options.path));
    found = std::move(columns);
    std::ranges::transform(options.columns, options.columns.begin(), cell);
    if (found.empty())
      DLC_TRY(file.add(rowOf(options.columns)));
    for (const std::string &wanted : options.columns)
      if (!found.empty() && std::ranges::find(found, wanted) == found.end())
        return invalid(options.path, ": has no column '", wanted,
                       "', which this run would write; name another file for its log");
    if (!found.empty())
      options.columns = std::move(found);
  }
  return std::unique_ptr<ReportLog>(new ReportLog(std::move(options), std::move(file)));
}

void ReportLog::onRate(const RatePoint &point) { write("rate", describe(point)); }

void ReportLog::onStep(const StepReport &report) { write("step", describe(report)); }

void ReportLog::onEvaluation(const EvaluationReport &report) {
  write("evaluation", describe(report, options.averaged));
}

void ReportLog::onEpoch(const EpochReport &report) {
  write("epoch", describe(report, options.averaged));
}

/// What stands under a name, or under that of an object in it, as rates do; tables are left out.
static std::string valueOf(const Json &line, const std::string &column) {
  for (const auto &[name, value] : line.items()) {
    if (value.is_object())
      for (const auto &[inner, of] : value.items())
        if (cell(name + "." + inner) == column)
          return of.dump();
    if (cell(name) == column && value.is_primitive() && !value.is_null())
      return value.is_string() ? cell(value.get<std::string>()) : value.dump();
  }
  return {};
}

void ReportLog::write(std::string_view report, const Json &line) {
  Json whole = {{"report", report}};
  whole.update(line);
  if (!isCsv(options.path))
    return add(lineOf(whole));
  std::vector<std::string> cells;
  for (const std::string &column : options.columns)
    cells.push_back(valueOf(whole, column));
  add(rowOf(cells));
}

void ReportLog::add(std::string_view line) {
  if (hasFailed)
    return;
  const Status added = file.add(line);
  hasFailed = !added.ok();
  if (hasFailed)
    options.failed(added);
}

} // namespace dlc::runtime
