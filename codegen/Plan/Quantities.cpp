//===- Quantities.cpp - numbers of a report as texts ------------------------------------------===//
#include "codegen/Plan/Quantities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace json = llvm::json;
using llvm::StringRef;

namespace dlc::codegen {

int64_t get(const json::Object &object, StringRef name) {
  return object.getInteger(name).value_or(0);
}

std::string withFactor(double number, StringRef unit, int digits) {
  static constexpr StringRef factors[] = {"", "k", "M", "G", "T", "P"};
  size_t factor = 0;
  for (; number >= 1000 && factor + 1 < std::size(factors); ++factor)
    number /= 1000;
  const int before = number >= 100 ? 3 : number >= 10 ? 2 : 1;
  std::string text =
      llvm::formatv("{0} {1}{2}", llvm::format("%.*f", factor == 0 ? 0 : digits - before, number),
                    factors[factor], unit);
  return StringRef(text).rtrim().str();
}

std::string formatBytes(double bytes) {
  static constexpr StringRef units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit)
    bytes /= 1024;
  return llvm::formatv("{0} {1}", llvm::format(unit == 0 ? "%.0f" : "%.2f", bytes), units[unit]);
}

std::string formatSeconds(double seconds) {
  static constexpr StringRef units[] = {"ns", "us", "ms", "s"};
  double number = seconds * 1e9;
  size_t unit = 0;
  for (; number >= 1000 && unit + 1 < std::size(units); ++unit)
    number /= 1000;
  return llvm::formatv("{0} {1}", llvm::format("%.3g", number), units[unit]);
}

std::string formatShape(const json::Object &row) {
  const json::Array *shape = row.getArray("shape");
  if (!shape || shape->empty())
    return "-";
  std::string text = llvm::join(
      llvm::map_range(*shape,
                      [](const json::Value &v) { return std::to_string(*v.getAsInteger()); }),
      "x");
  for (StringRef key : {"type", "layout"})
    if (std::optional<StringRef> word = row.getString(key))
      text += " " + word->str();
  return text;
}

std::string formatFactor(int64_t bytes, int64_t least) {
  return least == 0 ? "-" : llvm::formatv("{0:F2}x", double(bytes) / double(least)).str();
}

} // namespace dlc::codegen
