//===- StateLayout.h - places of variables in the state -----------------------------*- C++ -*-===//
//
// The variables of one stream of a multi_tensor (all parameters of a group, all slots of a kind),
// or of one run of its results, follow each other, in the order of the stream, so that the launch
// passes one buffer. A variable that two multi_tensors list in different company can be placed for
// one of them only; the other then copies.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_CONVERSION_STATELAYOUT_H
#define DLC_PASSES_CONVERSION_STATELAYOUT_H

#include "passes/Conversion/FlatLayout.h"
#include "llvm/ADT/DenseMap.h"

namespace dlc {

/// `value` without the reshapes around it.
mlir::Value skipReshapes(mlir::Value value);

/// The name of the variable that `value` is read from, through reshapes; "" if it is none.
llvm::StringRef getReadVariable(mlir::Value value);

class StateLayout {
public:
  explicit StateLayout(mlir::ModuleOp module);

  int64_t getOffset(llvm::StringRef variable) const { return offsets.lookup(variable); }
  int64_t getTotalBytes() const { return total; }

  /// The first variable's name if `variables` stand at the offsets of `flat`, else "".
  llvm::StringRef findFlat(llvm::ArrayRef<llvm::StringRef> variables, const FlatBuffer &flat) const;

private:
  void place(llvm::StringRef variable, int64_t bytes);
  void placeStream(const FlatBuffer &flat, llvm::ArrayRef<llvm::StringRef> variables);

  llvm::DenseMap<llvm::StringRef, int64_t> offsets;
  int64_t total = 0;
};

} // namespace dlc

#endif
