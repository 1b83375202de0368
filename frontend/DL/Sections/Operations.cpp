// The operations of a model. A setting is a double, so their hash has 52 bits. It is of a text with
// one line an op:
//
//   dl.convolution 0 1 {dilations = array<i64: 1, 1>, ...} f32
#include "frontend/DL/Sections/Operations.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "dialects/Program/ProgramOps.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/xxhash.h"

namespace dlc::frontend {

/// Constants may have the batch in their shape; the value that fills them counts.
static void printAttribute(mlir::Attribute attribute, llvm::raw_ostream &out) {
  auto elements = llvm::dyn_cast<mlir::DenseElementsAttr>(attribute);
  if (!elements || !elements.isSplat())
    return attribute.print(out);
  elements.getSplatValue<mlir::Attribute>().print(out);
}

static void printOp(mlir::Operation &op, llvm::DenseMap<mlir::Value, unsigned> &numbers,
                    llvm::raw_ostream &out) {
  out << op.getName();
  for (mlir::Value operand : op.getOperands())
    out << ' ' << numbers.lookup(operand);
  // Which variable is read is a name.
  if (!llvm::isa<dl::ReadOp>(op))
    for (mlir::NamedAttribute attribute : op.getAttrDictionary()) {
      // How it is computed changes nothing of what is.
      if (llvm::isa<dl::WishAttr>(attribute.getValue()) || attribute.getName() == dl::precisionName)
        continue;
      out << ' ' << attribute.getName().strref() << '=';
      printAttribute(attribute.getValue(), out);
    }
  for (mlir::Value result : op.getResults()) {
    out << ' ' << mlir::getElementTypeOrSelf(result.getType());
    numbers.try_emplace(result, numbers.size());
  }
  out << '\n';
}

std::string describeOperations(dl::EntryOp entry) {
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::DenseMap<mlir::Value, unsigned> numbers;
  for (mlir::Value argument : entry.getBlock().getArguments())
    numbers.try_emplace(argument, numbers.size());
  for (mlir::Operation &op : entry.getBlock())
    printOp(op, numbers, out);
  return text;
}

void recordOperations(mlir::ModuleOp module, const std::set<std::string> &models) {
  std::string all;
  for (const std::string &text : models)
    all += text + '\n';
  const uint64_t hash = llvm::xxh3_64bits(all) >> 12;
  program::SettingsOp::getOrCreate(module).setOperations(int64_t(hash));
}

} // namespace dlc::frontend
