//===- ElementwiseTable.cpp - see ElementwiseTable.h ------------------------------------------===//
#include "test/lib/Interpreter/ElementwiseTable.h"
#include <algorithm>
#include <cmath>

namespace dlc::interpreter {

using Args = llvm::ArrayRef<double>;

/// The larger of two numbers where `sign` is 1, the smaller where it is -1; NaN if one is.
static double extremum(double a, double b, int sign) {
  if (std::isnan(a) || std::isnan(b))
    return std::nan("");
  return (a - b) * sign > 0 || a == b ? a : b;
}

llvm::ArrayRef<ElementwiseRow> elementwiseTable() {
  static const std::vector<ElementwiseRow> rows = {
      {"relu", 1, [](Args v) { return extremum(v[0], 0, 1); }},
      {"sigmoid", 1, [](Args v) { return 1 / (1 + std::exp(-v[0])); }, {}, 3},
      {"tanh", 1, [](Args v) { return std::tanh(v[0]); }, {}, 2},
      {"exp", 1, [](Args v) { return std::exp(v[0]); }},
      {"log", 1, [](Args v) { return std::log(v[0]); }, {}, 0.9, 1.3},
      {"sqrt", 1, [](Args v) { return std::sqrt(v[0]); }, {}, 0.9, 1.3},
      {"erf", 1, [](Args v) { return std::erf(v[0]); }, {}, 2},
      {"floor", 1, [](Args v) { return std::floor(v[0]); }, {}, 3},
      {"softsign", 1, [](Args v) { return v[0] / (1 + std::fabs(v[0])); }, {}, 2},
      {"silu", 1, [](Args v) { return v[0] / (1 + std::exp(-v[0])); }, {}, 3},
      {"hardswish", 1, [](Args v) { return v[0] * std::clamp(v[0] + 3, 0.0, 6.0) / 6; }, {}, 2},
      {"elu", 1, nullptr, {}, 2, 0, "alpha = 0.75"},
      {"negate", 1, [](Args v) { return -v[0]; }, {"i32"}},
      {"abs", 1, [](Args v) { return std::fabs(v[0]); }, {"i32", "ui8"}},
      {"add", 2, [](Args v) { return v[0] + v[1]; }, {"ui8"}},
      {"subtract", 2, [](Args v) { return v[0] - v[1]; }, {"i32"}},
      {"multiply", 2, [](Args v) { return v[0] * v[1]; }, {"i32"}},
      {"divide", 2, [](Args v) { return v[0] / v[1]; }, {"i32", "ui8"}, 0.9, 1.3},
      {"power", 2, [](Args v) { return std::pow(v[0], v[1]); }, {}, 0.9, 1.3},
      {"maximum", 2, [](Args v) { return extremum(v[0], v[1], 1); }, {"ui8"}},
      {"minimum", 2, [](Args v) { return extremum(v[0], v[1], -1); }, {"i64"}},
  };
  return rows;
}

std::string ElementwiseRow::opText(const std::string &type) const {
  return "dl." + name + (operands == 1 ? " %a " : " %a, %b ") + attributes + " : " + type;
}

std::string ElementwiseRow::argumentText(const std::string &type) const {
  return "%a: " + type + (operands == 1 ? "" : ", %b: " + type);
}

std::string blockOfAllElementwise(const std::string &type, unsigned &results) {
  std::string ops, values, types;
  results = 0;
  for (const ElementwiseRow &row : elementwiseTable()) {
    std::string value = "%" + std::to_string(results), comma = results++ == 0 ? "" : ", ";
    ops += "  " + value + " = " + row.opText(type) + "\n";
    values += comma + value;
    types += comma + type;
  }
  return "^bb0(%a: " + type + ", %b: " + type + "):\n" + ops + "  dl.yield " + values + " : " +
         types;
}

} // namespace dlc::interpreter
