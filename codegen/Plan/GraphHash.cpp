//===- GraphHash.cpp - see GraphHash.h --------------------------------------------------------===//
//
// A setting is a double, so the hash has 52 bits. It is of a text with one line an op:
//
//   dl.convolution 0 1 {dilations = array<i64: 1, 1>, ...} f32
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/Plan/GraphHash.h"
#include "codegen/Kernel/KernelCache.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLVariableOps.h"
#include "llvm/ADT/DenseMap.h"
#include <set>

using namespace mlir;

namespace dlc::codegen {

/// Constants may have the batch in their shape; the value that fills them counts.
static void printAttribute(Attribute attribute, llvm::raw_ostream &out) {
  auto elements = dyn_cast<DenseElementsAttr>(attribute);
  if (!elements || !elements.isSplat())
    return attribute.print(out);
  elements.getSplatValue<Attribute>().print(out);
}

static void printOp(Operation &op, llvm::DenseMap<Value, unsigned> &numbers,
                    llvm::raw_ostream &out) {
  out << op.getName();
  for (Value operand : op.getOperands())
    out << ' ' << numbers.lookup(operand);
  // Which variable is read is a name.
  if (!isa<dl::ReadOp>(op))
    for (NamedAttribute attribute : op.getAttrDictionary()) {
      // How it is computed changes nothing of what is.
      if (isa<dl::WishAttr>(attribute.getValue()))
        continue;
      out << ' ' << attribute.getName().strref() << '=';
      printAttribute(attribute.getValue(), out);
    }
  for (Value result : op.getResults()) {
    out << ' ' << getElementTypeOrSelf(result.getType());
    numbers.try_emplace(result, numbers.size());
  }
  out << '\n';
}

static std::string printEntry(dl::EntryOp entry) {
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::DenseMap<Value, unsigned> numbers;
  for (Value argument : entry.getBlock().getArguments())
    numbers.try_emplace(argument, numbers.size());
  for (Operation &op : entry.getBlock())
    printOp(op, numbers, out);
  return text;
}

void recordGraphHash(ModuleOp module) {
  // The same for each batch size.
  std::set<std::string> texts;
  for (auto entry : module.getOps<dl::EntryOp>())
    if (entry.getKind() == program::EntryKind::Infer)
      texts.insert(printEntry(entry));
  if (texts.empty())
    return;
  std::string all;
  for (const std::string &text : texts)
    all += text + '\n';
  const KernelKey hash = hashText(all);
  uint64_t number = 0;
  for (size_t i = 0; i < sizeof(number); ++i)
    number = number << 8 | hash[i];
  auto type = IntegerType::get(module.getContext(), 64);
  module->setAttr("dl.graph", IntegerAttr::get(type, number >> 12));
}

} // namespace dlc::codegen
