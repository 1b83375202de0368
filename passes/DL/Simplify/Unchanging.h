//===- Unchanging.h - variables that stay as they are while a model is used ---------*- C++ -*-===//
#ifndef DLC_PASSES_DL_SIMPLIFY_UNCHANGING_H
#define DLC_PASSES_DL_SIMPLIFY_UNCHANGING_H

#include "dialects/DL/DL.h"
#include "llvm/ADT/DenseSet.h"

namespace dlc::dl {

class Unchanging {
public:
  explicit Unchanging(mlir::ModuleOp module);

  /// Whether `value` is read from a variable, through reshapes, in an entry that uses the model,
  /// and no such entry of the module writes the variable.
  bool contains(mlir::Value value) const;

private:
  llvm::DenseSet<mlir::StringAttr> written;
};

} // namespace dlc::dl

#endif
