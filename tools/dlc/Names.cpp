//===- Names.cpp - the list of a model's variables --------------------------------------------===//
#include "tools/dlc/Names.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "tools/dlc/Library.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace mlir;

namespace dlc::tool {

/// "f32[20, 1, 5, 5]", as the model language writes it.
static std::string describe(RankedTensorType type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (type.getElementType().isInteger(1))
    stream << "bool";
  else if (type.getElementType().isUnsignedInteger(8))
    stream << "u8";
  else
    stream << type.getElementType();
  stream << '[';
  llvm::interleaveComma(type.getShape(), stream);
  stream << ']';
  return text;
}

/// "lenet.dl:8", "std/resnet.dl:19"; empty for what stands nowhere.
static std::string placeOf(dl::VariableOp variable) {
  auto place = variable.getLoc()->findInstanceOf<FileLineColLoc>();
  return place ? withoutLibrary(place.getFilename()) + ":" + std::to_string(place.getLine()) : "";
}

/// "lr x 10, decay x 0", "frozen"; empty where it trains as its optimizer says.
static StringRef trainingOf(dl::VariableOp variable) {
  auto training = variable->getAttrOfType<StringAttr>("dl.training");
  return training ? training.getValue() : StringRef();
}

std::string listNames(ModuleOp module) {
  size_t names = 0, types = 0, places = 0;
  for (auto variable : module.getOps<dl::VariableOp>()) {
    names = std::max(names, variable.getSymName().size());
    types = std::max(types, describe(variable.getTensorType()).size());
    places = std::max(places, placeOf(variable).size());
  }
  std::string text;
  for (auto variable : module.getOps<dl::VariableOp>()) {
    std::string row;
    llvm::raw_string_ostream(row) << llvm::left_justify(variable.getSymName(), names) << "  "
                                  << llvm::left_justify(describe(variable.getTensorType()), types)
                                  << "  "
                                  << llvm::left_justify(program::stringifyRole(variable.getRole()),
                                                        9)
                                  << "  " << llvm::left_justify(placeOf(variable), places) << "  "
                                  << trainingOf(variable);
    text += StringRef(row).rtrim().str() + "\n";
  }
  return text;
}

namespace {
/// A line of an earlier list.
struct Row {
  StringRef type, role, place;
  unsigned line;
  bool isSeen = false;
};
} // namespace

void checkNames(ModuleOp module, StringRef path, StringRef list,
                frontend::DiagnosticEngine &engine) {
  llvm::MapVector<StringRef, Row> rows;
  SmallVector<StringRef> lines;
  list.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (auto [i, line] : llvm::enumerate(lines)) {
    SmallVector<StringRef> columns;
    for (StringRef rest = line; !rest.empty(); rest = rest.ltrim()) {
      columns.push_back(rest.take_front(rest.find("  ")).rtrim());
      rest = rest.drop_front(std::min(rest.size(), rest.find("  ")));
    }
    // Behind the place stands how it trains, which may change.
    if (columns.size() < 3 || columns.size() > 5) {
      engine.error({}, path + ":" + llvm::Twine(i + 1) +
                           ": expected a line of --emit=names, found '" + line.take_front(60) +
                           "'");
      return;
    }
    rows[columns[0]] = {columns[1], columns[2], columns.size() >= 4 ? columns[3] : "",
                        unsigned(i + 1)};
  }
  auto is = [](const llvm::Twine &type, StringRef role, StringRef place) {
    return ("the " + role + " " + type + (place.empty() ? "" : " of ") + place).str();
  };
  for (auto variable : module.getOps<dl::VariableOp>()) {
    std::string type = describe(variable.getTensorType()), place = placeOf(variable);
    StringRef role = program::stringifyRole(variable.getRole());
    auto found = rows.find(variable.getSymName());
    if (found == rows.end()) {
      engine.error({}, "'" + variable.getSymName() + "', " + is(type, role, place) +
                           ", is not in " + path);
      continue;
    }
    Row &row = found->second;
    row.isSeen = true;
    if (row.type != type || row.role != role)
      engine.error({}, "'" + variable.getSymName() + "' is " + is(type, role, place) + ", in " +
                           path + ":" + llvm::Twine(row.line) + " " +
                           is(row.type, row.role, row.place));
  }
  for (const auto &[name, row] : rows)
    if (!row.isSeen)
      engine.error({}, "there is no '" + name + "' any more, in " + path + ":" +
                           llvm::Twine(row.line) + " it is " + is(row.type, row.role, row.place));
}

} // namespace dlc::tool
