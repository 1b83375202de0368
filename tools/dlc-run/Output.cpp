// JSON lines, tables, units.
#include "tools/dlc-run/Output.h"
#include "runtime/Core/LibraryCall.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <cctype>
#include <cstdarg>
#include <cstdio>

namespace dlc::runtime::tool {

void printJson(const Json &object) {
  const std::string line = lineOf(object) + "\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

/// Of a convolution's tensors; products are row-major.
static std::string_view layoutName(const dlc_library_call &call) {
  if (call.op == DLC_CALL_PRODUCT)
    return "rows";
  return call.layout == DLC_CALL_CHANNELS_LAST ? "nhwc" : "nchw";
}

/// Fields whose flags are not called as they are.
static std::string flagOf(std::string_view field) {
  constexpr std::pair<std::string_view, std::string_view> others[] = {
      {"overrides", "--override"},
      {"train", "--data"},
      {"test", "--data"},
      {"evaluateEvery", "--eval-every"},
      {"logFile", "--log"}};
  for (const auto &[name, flag] : others)
    if (name == field)
      return std::string(flag);
  std::string flag = "--";
  for (char letter : field) {
    if (std::isupper(static_cast<unsigned char>(letter)))
      flag += '-';
    flag += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return flag;
}

static bool isField(std::string_view text) {
  constexpr std::string_view fields[] = {
      "threads",     "data",           "train",           "test",
      "augment",     "seed",           "epochs",          "steps",
      "overrides",   "checkpoint",     "checkpointEvery", "resume",
      "overwrite",   "initFrom",       "checkRanks",      "deterministic",
      "keep",        "saveBest",       "evaluateEvery",   "patience",
      "minDelta",    "patienceMetric", "timeLimit",       "rename",
      "logFile",     "maxBadRecords",  "limit",           "overfitBatches",
      "fastDevRun",  "checkFinite",    "norms",           "share",
      "tensorboard", "histograms"};
  return std::ranges::find(fields, text) != std::end(fields);
}

std::string withFlags(std::string_view message) {
  std::string text;
  while (true) {
    const size_t begin = message.find('`');
    const size_t end = begin == message.npos ? begin : message.find('`', begin + 1);
    if (end == message.npos)
      return text.append(message);
    text.append(message.substr(0, begin));
    const std::string_view field = message.substr(begin + 1, end - begin - 1);
    if (!isField(field)) {
      // The second quote may begin a field.
      text.append(message.substr(begin, end - begin));
      message.remove_prefix(end);
      continue;
    }
    text += flagOf(field);
    message.remove_prefix(end + 1);
  }
}

void printLine(Severity severity, std::string_view line) {
  const char *kind = severity == Severity::Note      ? "note"
                     : severity == Severity::Warning ? "warning"
                                                     : "error";
  std::fprintf(stderr, "%s: %s\n", kind, withFlags(line).c_str());
}

void printNotes(const std::vector<std::string> &notes) {
  for (const std::string &note : notes)
    printLine(Severity::Note, note);
}

Json describeCall(const Plan &plan, uint32_t number) {
  const dlc_library_call &call = plan.calls[number];
  Json sizes = Json::array();
  size_t used = DLC_CALL_SIZES;
  while (used > 0 && call.sizes[used - 1] == 0)
    --used;
  for (size_t i = 0; i < used; ++i)
    sizes.push_back(call.sizes[i]);
  return {{"op", libraryOpName(call.op)},
          {"sizes", sizes},
          {"epilogue", call.epilogue},
          {"layout", layoutName(call)},
          {"dtype", dtypeName(callDtype(call))},
          {"math", call.math == DLC_MATH_TF32 ? "tf32" : "strict"},
          {"workspace_bytes", call.workspace_bytes},
          {"engine",
           call.engine.count == 0 ? Json("heuristic") : Json(plan.immediates[call.engine.first])}};
}

std::string printf(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char buffer[256];
  const int length = std::vsnprintf(buffer, sizeof(buffer), format, arguments);
  va_end(arguments);
  return std::string(buffer, static_cast<size_t>(std::clamp<int>(length, 0, sizeof(buffer) - 1)));
}

std::string bytesText(double bytes) {
  static constexpr const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit)
    bytes /= 1024;
  return printf(unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}

std::string countText(double count) {
  static constexpr const char *units[] = {"", " K", " M", " G", " T"};
  size_t unit = 0;
  for (; count >= 1000 && unit + 1 < std::size(units); ++unit)
    count /= 1000;
  return printf(unit == 0 ? "%.0f%s" : "%.2f%s", count, units[unit]);
}

std::string durationText(double seconds) {
  const auto whole = static_cast<long long>(std::clamp(seconds, 0.0, 1e9) + 0.5);
  if (whole >= 3600)
    return printf("%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
  return printf("%lld:%02lld", whole / 60, whole % 60);
}

std::string metricsText(const MetricValues &metrics) {
  std::string text;
  for (const auto &[name, value] : metrics) {
    if (!value.table.empty())
      continue;
    const bool share = name.find("accuracy") != std::string::npos;
    text += (text.empty() ? "" : "  ") + name + " " +
            (share ? printf("%.2f%%", value.number * 100) : printf("%.4f", value.number));
  }
  return text;
}

std::string badRecordsText(const std::optional<uint64_t> &count) {
  return count.value_or(0) == 0 ? std::string()
                                : concat("  ", *count, " bad record", *count == 1 ? "" : "s");
}

void printTables(const MetricValues &metrics) {
  for (const auto &[name, value] : metrics) {
    if (value.table.empty())
      continue;
    const size_t side = value.side();
    std::vector<std::string> headings = {name};
    for (size_t i = 0; i < side; ++i)
      headings.push_back(std::to_string(i));
    Table table(headings);
    for (size_t label = 0; label < side; ++label) {
      std::vector<std::string> row = {std::to_string(label)};
      for (size_t answer = 0; answer < side; ++answer)
        row.push_back(printf("%.0f", value.table[label * side + answer]));
      table.add(std::move(row));
    }
    table.print();
  }
}

/// Characters, not bytes, of UTF-8 text.
static size_t width(const std::string &text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

/// Numbers, units included, are aligned to the right.
static bool isNumeric(const std::string &text) {
  return text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) ||
         (text[0] == '-' && text.size() > 1 && std::isdigit(static_cast<unsigned char>(text[1])));
}

void Table::print(unsigned indent) const {
  const size_t columns = rows[0].size();
  std::vector<size_t> widths(columns, 0);
  std::vector<bool> right(columns, true);
  for (size_t r = 0; r < rows.size(); ++r)
    for (size_t c = 0; c < columns; ++c) {
      widths[c] = std::max(widths[c], width(rows[r][c]));
      right[c] = right[c] && (r == 0 || isNumeric(rows[r][c]));
    }
  for (const std::vector<std::string> &row : rows) {
    std::string line(indent, ' ');
    for (size_t c = 0; c < columns; ++c) {
      const std::string blanks(widths[c] - width(row[c]), ' ');
      line += right[c] ? blanks + row[c] : row[c] + blanks;
      line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::puts(line.c_str());
  }
}

} // namespace dlc::runtime::tool
