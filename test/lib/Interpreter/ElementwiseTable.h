//===- ElementwiseTable.h - the element-wise ops, a row each ------------------------*- C++ -*-===//
//
// Ops whose operands and result have one type. The formula is the interpreter's; the tests of
// values, of gradients and of kernels on every target go through the rows.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TEST_LIB_INTERPRETER_ELEMENTWISETABLE_H
#define DLC_TEST_LIB_INTERPRETER_ELEMENTWISETABLE_H

#include "llvm/ADT/ArrayRef.h"
#include <string>
#include <vector>

namespace dlc::interpreter {

struct ElementwiseRow {
  std::string name; ///< "relu", of dl.relu
  unsigned operands;
  /// Null: it needs the op's attributes, see Elementwise.cpp.
  double (*formula)(llvm::ArrayRef<double> operands);
  /// Further element types that the op takes, beside floats.
  std::vector<const char *> integers = {};
  /// Gradients are checked within shift + [-scale, scale).
  double scale = 1, shift = 0;
  /// As the op's text has them behind its operands.
  std::string attributes = {};

  /// "dl.add %a, %b : tensor<4xf32>": one operand is %a, two are %a and %b.
  std::string opText(const std::string &type) const;
  /// "%a: tensor<4xf32>, %b: tensor<4xf32>"
  std::string argumentText(const std::string &type) const;
};

llvm::ArrayRef<ElementwiseRow> elementwiseTable();

/// A block that yields every op of the table on the same two operands, which are the block's
/// arguments, and how many.
std::string blockOfAllElementwise(const std::string &type, unsigned &results);

} // namespace dlc::interpreter

#endif
