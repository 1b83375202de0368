//===- Names.cpp - the list of a model's variables ------------------------------------------------------------------===//
#include "tools/dlc/Names.h"
#include "dialects/DL/DL.h"
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

std::string listNames(ModuleOp module) {
  size_t names = 0, types = 0;
  for (auto variable : module.getOps<dl::VariableOp>()) {
    names = std::max(names, variable.getSymName().size());
    types = std::max(types, describe(variable.getTensorType()).size());
  }
  std::string text;
  for (auto variable : module.getOps<dl::VariableOp>()) {
    auto place = variable.getLoc()->findInstanceOf<FileLineColLoc>();
    std::string line = place ? (place.getFilename().getValue() + ":" + llvm::Twine(place.getLine())).str() : "";
    std::string row;
    llvm::raw_string_ostream(row) << llvm::left_justify(variable.getSymName(), names) << "  "
                                  << llvm::left_justify(describe(variable.getTensorType()), types) << "  "
                                  << llvm::left_justify(dl::stringifyRole(variable.getRole()), 9) << "  " << line;
    text += StringRef(row).rtrim().str() + "\n";
  }
  return text;
}

} // namespace dlc::tool
