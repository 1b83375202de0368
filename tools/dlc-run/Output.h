// How dlc-run shows things: JSON lines, aligned tables, numbers with units.
#ifndef DLC_TOOLS_DLC_RUN_OUTPUT_H
#define DLC_TOOLS_DLC_RUN_OUTPUT_H

#include "dlc/log.h"
#include "dlc/plan.h"
#include "runtime/Training/Evaluate.h"
#include "runtime/Training/ReportLines.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace dlc::runtime::tool {

using Json = nlohmann::ordered_json;

/// One object on one line of standard output.
void printJson(const Json &object);
/// What the library says, a line on standard error, fields of its options as this tool's flags:
/// "`checkpointEvery`" is "--checkpoint-every".
void printLine(Severity severity, std::string_view line);
/// A message of the library with flags in the place of fields.
std::string withFlags(std::string_view message);
/// Lines on standard error, each "note: ...".
void printNotes(const std::vector<std::string> &notes);

/// Hears the library among ranks, and remembers whether a failure of all of them has been said.
class SharedLog {
public:
  explicit SharedLog(bool speaks) : speaks(speaks), said(std::make_shared<bool>(false)) {}
  void operator()(Severity severity, std::string_view line) const {
    *said |= severity == Severity::Error;
    if (speaks)
      printLine(severity, line);
  }
  /// What is left to say of a failure.
  Status unsaid(Status status) const {
    return *said ? Status(status.code(), "") : std::move(status);
  }

private:
  bool speaks;
  std::shared_ptr<bool> said;
};
/// A library call of the plan: what it computes and how.
Json describeCall(const Plan &plan, uint32_t number);

std::string printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
/// "12.3 KiB"
std::string bytesText(double bytes);
/// "1.23 M": with a decimal prefix.
std::string countText(double count);
/// "0:42", "1:02:03"
std::string durationText(double seconds);
/// "loss 0.3211  accuracy 90.30%"; without tables.
std::string metricsText(const MetricValues &metrics);
/// "  3 bad records": behind the metrics of a pass that did without them; empty without any.
std::string badRecordsText(const std::optional<uint64_t> &count);
/// Writes the tables among them to standard output: each row a label, each column an answer.
void printTables(const MetricValues &metrics);

/// Rows of text under headings, columns aligned; numbers to the right.
class Table {
public:
  explicit Table(std::vector<std::string> headings) : rows{std::move(headings)} {}
  void add(std::vector<std::string> row) { rows.push_back(std::move(row)); }
  bool empty() const { return rows.size() == 1; }
  /// Writes it to standard output, each line after `indent` blanks.
  void print(unsigned indent = 2) const;

private:
  std::vector<std::vector<std::string>> rows;
};

} // namespace dlc::runtime::tool

#endif
